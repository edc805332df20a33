//! The `Page` domain: navigation, frames, lifecycle, dialogs, screenshots and PDF.

use super::domain;
use crate::LossyString;

domain! { "Page";
    types {
        /// A frame with its current document.
        type Frame {
            /// Frame id.
            id: String,
            /// Id of the parent frame.
            parent_id: String,
            /// Loader id of its document.
            loader_id: String,
            /// URL of its document.
            url: LossyString,
            /// The frame's `name` attribute.
            name: LossyString,
            /// Its security origin.
            security_origin: String,
            /// The URL that failed to load, when an error page is shown.
            unreachable_url: LossyString,
        }
        /// A frame with its child frames.
        type FrameTree {
            /// The frame.
            frame: Frame,
            /// Its child frames.
            child_frames: Vec<FrameTree>,
        }
        /// A resource of a document.
        type FrameResource {
            /// Its URL.
            url: String,
            /// The resource failed to load.
            failed: bool,
            /// Loading was canceled.
            canceled: bool,
        }
        /// A frame tree with resources.
        type FrameResourceTree {
            /// The frame.
            frame: Frame,
            /// Its resources.
            resources: Vec<FrameResource>,
            /// Resources of its child frames.
            child_frames: Vec<FrameResourceTree>,
        }
        /// An entry of a tab's navigation history.
        type NavigationEntry {
            /// Entry id.
            id: i64,
            /// Its URL.
            url: LossyString,
            /// Its title.
            title: LossyString,
        }
        /// A clip region of the page, in CSS pixels.
        type Viewport {
            /// Left offset.
            x: f64,
            /// Top offset.
            y: f64,
            /// Width.
            width: f64,
            /// Height.
            height: f64,
            /// Page scale factor.
            scale: f64,
        }
        /// A rectangle.
        type Rect {
            /// Left offset.
            x: f64,
            /// Top offset.
            y: f64,
            /// Width.
            width: f64,
            /// Height.
            height: f64,
        }
        /// The layout viewport.
        type LayoutViewport {
            /// Horizontal scroll offset.
            page_x: i64,
            /// Vertical scroll offset.
            page_y: i64,
            /// Width.
            client_width: i64,
            /// Height.
            client_height: i64,
        }
    }
    methods {
        /// Enables the domain's events.
        fn "enable" Enable {} -> EnableReply {}
        /// Evaluates a script in every new document of the target, before the page's own scripts.
        fn "addScriptToEvaluateOnNewDocument" AddScriptToEvaluateOnNewDocument {
            /// The script source.
            source: String,
            /// Name of the isolated world to run in; the main world when absent.
            world_name: Option<String>,
            /// Also run in existing documents immediately.
            run_immediately: Option<bool>,
        } -> AddScriptToEvaluateOnNewDocumentReply {}
        /// Reads the resource tree of the target's documents.
        fn "getResourceTree" GetResourceTree {} -> GetResourceTreeReply {
            /// The frame tree with resources.
            frame_tree: FrameResourceTree,
        }
        /// Reads the content of a resource.
        fn "getResourceContent" GetResourceContent {
            /// The frame that loaded it.
            frame_id: String,
            /// Its URL.
            url: String,
        } -> GetResourceContentReply {
            /// The content.
            content: LossyString,
            /// The content is base64.
            base64_encoded: bool,
        }
        /// Enables `lifecycleEvent`.
        fn "setLifecycleEventsEnabled" SetLifecycleEventsEnabled {
            /// Enable or disable.
            enabled: bool,
        } -> SetLifecycleEventsEnabledReply {}
        /// Navigates a frame to a URL.
        fn "navigate" Navigate {
            /// The URL.
            url: String,
            /// The referrer.
            referrer: Option<String>,
        } -> NavigateReply {
            /// The frame that navigates.
            frame_id: String,
            /// Loader id of the new document; absent for a same-document navigation.
            loader_id: String,
            /// Network error of a failed navigation, such as `net::ERR_NAME_NOT_RESOLVED`.
            error_text: String,
            /// The navigation became a download.
            is_download: bool,
        }
        /// Reloads the document.
        fn "reload" Reload {
            /// Bypass the HTTP cache.
            ignore_cache: Option<bool>,
        } -> ReloadReply {}
        /// Stops loading.
        fn "stopLoading" StopLoading {} -> StopLoadingReply {}
        /// Reads the tab's navigation history.
        fn "getNavigationHistory" GetNavigationHistory {} -> GetNavigationHistoryReply {
            /// Index of the current entry.
            current_index: i64,
            /// All entries.
            entries: Vec<NavigationEntry>,
        }
        /// Navigates to a history entry.
        fn "navigateToHistoryEntry" NavigateToHistoryEntry {
            /// The entry id.
            entry_id: i64,
        } -> NavigateToHistoryEntryReply {}
        /// Reads the frame tree of this target's process.
        fn "getFrameTree" GetFrameTree {} -> GetFrameTreeReply {
            /// The root frame.
            frame_tree: FrameTree,
        }
        /// Creates an isolated world in a frame.
        fn "createIsolatedWorld" CreateIsolatedWorld {
            /// The frame.
            frame_id: String,
            /// Name of the world.
            world_name: Option<String>,
        } -> CreateIsolatedWorldReply {
            /// Execution context id of the world.
            execution_context_id: i64,
        }
        /// Captures a screenshot.
        fn "captureScreenshot" CaptureScreenshot {
            /// `png`, `jpeg` or `webp`.
            format: String,
            /// 0 to 100, for jpeg and webp.
            quality: Option<u32>,
            /// The region to capture.
            clip: Option<Viewport>,
            /// Capture content outside the viewport, too.
            capture_beyond_viewport: Option<bool>,
            /// Optimize for encoding speed instead of size.
            optimize_for_speed: Option<bool>,
        } -> CaptureScreenshotReply {
            /// The image in base64.
            data: String,
        }
        /// Reads viewport and content size of the page.
        fn "getLayoutMetrics" GetLayoutMetrics {} -> GetLayoutMetricsReply {
            /// The layout viewport in CSS pixels.
            css_layout_viewport: LayoutViewport,
            /// The size of the scrollable content in CSS pixels.
            css_content_size: Rect,
        }
        /// Prints the page to PDF.
        fn "printToPDF" PrintToPdf {
            /// Landscape orientation.
            landscape: Option<bool>,
            /// Print background graphics.
            print_background: Option<bool>,
            /// Paper width in inches.
            paper_width: Option<f64>,
            /// Paper height in inches.
            paper_height: Option<f64>,
            /// Scale factor of the rendering.
            scale: Option<f64>,
            /// Top margin in inches.
            margin_top: Option<f64>,
            /// Bottom margin in inches.
            margin_bottom: Option<f64>,
            /// Left margin in inches.
            margin_left: Option<f64>,
            /// Right margin in inches.
            margin_right: Option<f64>,
            /// Page ranges, such as `1-3,5`.
            page_ranges: Option<String>,
            /// Prefer the page size of the CSS `@page` rule.
            #[serde(rename = "preferCSSPageSize")]
            prefer_css_page_size: Option<bool>,
            /// `ReturnAsStream` returns a stream handle instead of inline data.
            transfer_mode: Option<String>,
        } -> PrintToPdfReply {
            /// The stream handle.
            stream: String,
        }
        /// Accepts or dismisses a JavaScript dialog.
        fn "handleJavaScriptDialog" HandleJavaScriptDialog {
            /// Accept or dismiss.
            accept: bool,
            /// Text to enter in a prompt.
            prompt_text: Option<String>,
        } -> HandleJavaScriptDialogReply {}
        /// Intercepts file choosers: emits `fileChooserOpened` instead of opening one.
        fn "setInterceptFileChooserDialog" SetInterceptFileChooserDialog {
            /// Enable or disable.
            enabled: bool,
        } -> SetInterceptFileChooserDialogReply {}
    }
    events {
        /// A file chooser was opened.
        event "fileChooserOpened" FileChooserOpened {
            /// The frame of the file input.
            frame_id: String,
            /// The file input; absent for a chooser opened without one.
            backend_node_id: i64,
            /// `selectSingle` or `selectMultiple`.
            mode: String,
        }
        /// A frame requested a navigation.
        event "frameRequestedNavigation" FrameRequestedNavigation {
            /// The frame.
            frame_id: String,
            /// The URL.
            url: String,
            /// Disposition: `currentTab`, `newTab`, `newWindow`, `download`.
            disposition: String,
        }
        /// A frame started navigating.
        event "frameStartedNavigating" FrameStartedNavigating {
            /// The frame.
            frame_id: String,
            /// Loader id of the new document.
            loader_id: String,
            /// The URL.
            url: String,
            /// Navigation type: `differentDocument`, `sameDocument`, `reload` …
            navigation_type: String,
        }
        /// A navigation was committed: a new document replaced the old one.
        event "frameNavigated" FrameNavigated {
            /// The frame with its new document.
            frame: Frame,
            /// `Navigation` or `BackForwardCacheRestore`.
            r#type: String,
        }
        /// A frame was removed, or swapped into another process.
        event "frameDetached" FrameDetached {
            /// The frame.
            frame_id: String,
        }
        /// The URL changed by a same-document navigation.
        event "navigatedWithinDocument" NavigatedWithinDocument {
            /// The frame.
            frame_id: String,
            /// The new URL.
            url: LossyString,
        }
        /// A document reached a lifecycle event.
        event "lifecycleEvent" LifecycleEvent {
            /// The frame.
            frame_id: String,
            /// Loader id.
            loader_id: String,
            /// `init`, `DOMContentLoaded`, `load`, `networkIdle` …
            name: String,
        }
        /// A JavaScript dialog opened and blocks the page.
        event "javascriptDialogOpening" JavascriptDialogOpening {
            /// `alert`, `confirm`, `prompt` or `beforeunload`.
            r#type: String,
            /// The dialog's message.
            message: LossyString,
            /// Default text of a prompt.
            default_prompt: LossyString,
            /// URL of the frame.
            url: LossyString,
        }
        /// A JavaScript dialog was closed.
        event "javascriptDialogClosed" JavascriptDialogClosed {
            /// Accepted or dismissed.
            result: bool,
        }
    }
}
