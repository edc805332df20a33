//! Documents: going somewhere, looking at it, answering its dialogs.

use super::domain;
use crate::LossyString;

domain! { "Page";
    types {
        /// A document in a frame.
        type Frame {
            /// The frame.
            id: String,
            /// The frame around it.
            parent_id: String,
            /// Which load of it.
            loader_id: String,
            /// Its address.
            url: LossyString,
            /// Its `name`.
            name: LossyString,
            /// The origin that security decisions go by.
            security_origin: String,
            /// The address that could not be reached, when that is what is shown.
            unreachable_url: LossyString,
        }
        /// Frames within frames.
        type FrameTree {
            /// This one.
            frame: Frame,
            /// Those in it.
            child_frames: Vec<FrameTree>,
        }
        /// Something that a document was made of.
        type FrameResource {
            /// Its address.
            url: String,
            /// Whether it did not come.
            failed: bool,
            /// Whether it was given up.
            canceled: bool,
        }
        /// Resources by frame.
        type FrameResourceTree {
            /// The frame.
            frame: Frame,
            /// Its resources.
            resources: Vec<FrameResource>,
            /// Those of the frames in it.
            child_frames: Vec<FrameResourceTree>,
        }
        /// One step of a tab's history.
        type NavigationEntry {
            /// Its number.
            id: i64,
            /// Its address.
            url: LossyString,
            /// Its title.
            title: LossyString,
        }
        /// A part of the page, in CSS pixels.
        type Viewport {
            /// From the left.
            x: f64,
            /// From the top.
            y: f64,
            /// Across.
            width: f64,
            /// Down.
            height: f64,
            /// Enlarged by.
            scale: f64,
        }
        /// A size and a place.
        type Rect {
            /// From the left.
            x: f64,
            /// From the top.
            y: f64,
            /// Across.
            width: f64,
            /// Down.
            height: f64,
        }
        /// What of the page is in view.
        type LayoutViewport {
            /// Scrolled right by.
            page_x: i64,
            /// Scrolled down by.
            page_y: i64,
            /// Across.
            client_width: i64,
            /// Down.
            client_height: i64,
        }
    }
    methods {
        /// Asks for this domain's events.
        fn "enable" Enable {} -> EnableReply {}
        /// Runs a script in every document of the target before its own scripts.
        fn "addScriptToEvaluateOnNewDocument" AddScriptToEvaluateOnNewDocument {
            /// The script.
            source: String,
            /// The world it runs in; the page's own when absent.
            world_name: Option<String>,
            /// In the documents that are there already, too.
            run_immediately: Option<bool>,
        } -> AddScriptToEvaluateOnNewDocumentReply {}
        /// What the documents of the target were made of.
        fn "getResourceTree" GetResourceTree {} -> GetResourceTreeReply {
            /// The frames with their resources.
            frame_tree: FrameResourceTree,
        }
        /// The text of a resource.
        fn "getResourceContent" GetResourceContent {
            /// The frame that asked for it.
            frame_id: String,
            /// Its address.
            url: String,
        } -> GetResourceContentReply {
            /// The text.
            content: LossyString,
            /// Whether it is encoded.
            base64_encoded: bool,
        }
        /// Asks for `lifecycleEvent`.
        fn "setLifecycleEventsEnabled" SetLifecycleEventsEnabled {
            /// On or off.
            enabled: bool,
        } -> SetLifecycleEventsEnabledReply {}
        /// Goes to an address.
        fn "navigate" Navigate {
            /// Where to.
            url: String,
            /// Where from, for the server.
            referrer: Option<String>,
        } -> NavigateReply {
            /// The frame that goes there.
            frame_id: String,
            /// The new document; absent when only the fragment changes.
            loader_id: String,
            /// Why it failed, such as `net::ERR_NAME_NOT_RESOLVED`.
            error_text: String,
            /// It became a download.
            is_download: bool,
        }
        /// Loads the document again.
        fn "reload" Reload {
            /// Without the cache.
            ignore_cache: Option<bool>,
        } -> ReloadReply {}
        /// Stops loading.
        fn "stopLoading" StopLoading {} -> StopLoadingReply {}
        /// The tab's history.
        fn "getNavigationHistory" GetNavigationHistory {} -> GetNavigationHistoryReply {
            /// Where in it we are.
            current_index: i64,
            /// All of it.
            entries: Vec<NavigationEntry>,
        }
        /// Goes to a step of the history.
        fn "navigateToHistoryEntry" NavigateToHistoryEntry {
            /// Which.
            entry_id: i64,
        } -> NavigateToHistoryEntryReply {}
        /// The frames of this process.
        fn "getFrameTree" GetFrameTree {} -> GetFrameTreeReply {
            /// From the top.
            frame_tree: FrameTree,
        }
        /// Makes a world in a frame that the page's scripts cannot see.
        fn "createIsolatedWorld" CreateIsolatedWorld {
            /// The frame.
            frame_id: String,
            /// The world's name.
            world_name: Option<String>,
        } -> CreateIsolatedWorldReply {
            /// The world.
            execution_context_id: i64,
        }
        /// Takes a picture.
        fn "captureScreenshot" CaptureScreenshot {
            /// `png`, `jpeg` or `webp`.
            format: String,
            /// 0 to 100, for jpeg and webp.
            quality: Option<u32>,
            /// Only this part.
            clip: Option<Viewport>,
            /// Also what is out of view.
            capture_beyond_viewport: Option<bool>,
            /// Encode quickly.
            optimize_for_speed: Option<bool>,
        } -> CaptureScreenshotReply {
            /// Base64.
            data: String,
        }
        /// How large the page is.
        fn "getLayoutMetrics" GetLayoutMetrics {} -> GetLayoutMetricsReply {
            /// What is in view.
            css_layout_viewport: LayoutViewport,
            /// All of it.
            css_content_size: Rect,
        }
        /// Prints.
        fn "printToPDF" PrintToPdf {
            /// Sideways.
            landscape: Option<bool>,
            /// With backgrounds.
            print_background: Option<bool>,
            /// Inches.
            paper_width: Option<f64>,
            /// Inches.
            paper_height: Option<f64>,
            /// Enlarged by.
            scale: Option<f64>,
            /// Inches.
            margin_top: Option<f64>,
            /// Inches.
            margin_bottom: Option<f64>,
            /// Inches.
            margin_left: Option<f64>,
            /// Inches.
            margin_right: Option<f64>,
            /// Pages, such as `1-3,5`.
            page_ranges: Option<String>,
            /// Let the page's own `@page` size win.
            #[serde(rename = "preferCSSPageSize")]
            prefer_css_page_size: Option<bool>,
            /// `ReturnAsStream` keeps the file out of the message.
            transfer_mode: Option<String>,
        } -> PrintToPdfReply {
            /// The stream.
            stream: String,
        }
        /// Answers a dialog.
        fn "handleJavaScriptDialog" HandleJavaScriptDialog {
            /// OK or Cancel.
            accept: bool,
            /// What to type into a prompt.
            prompt_text: Option<String>,
        } -> HandleJavaScriptDialogReply {}
        /// Tells of file choosers instead of showing them.
        fn "setInterceptFileChooserDialog" SetInterceptFileChooserDialog {
            /// On or off.
            enabled: bool,
        } -> SetInterceptFileChooserDialogReply {}
    }
    events {
        /// A page asks for files.
        event "fileChooserOpened" FileChooserOpened {
            /// The frame that asks.
            frame_id: String,
            /// The field; absent when it asks without one.
            backend_node_id: i64,
            /// `selectSingle` or `selectMultiple`.
            mode: String,
        }
        /// A frame wants to go somewhere.
        event "frameRequestedNavigation" FrameRequestedNavigation {
            /// The frame.
            frame_id: String,
            /// Where to.
            url: String,
            /// Where the result shall be shown: `currentTab`, `newTab`, `newWindow`, `download`.
            disposition: String,
        }
        /// A frame goes somewhere.
        event "frameStartedNavigating" FrameStartedNavigating {
            /// The frame.
            frame_id: String,
            /// Which load it will be.
            loader_id: String,
            /// Where to.
            url: String,
            /// How: `differentDocument`, `sameDocument`, `reload` …
            navigation_type: String,
        }
        /// A document replaced another.
        event "frameNavigated" FrameNavigated {
            /// The new one.
            frame: Frame,
            /// `Navigation` or `BackForwardCacheRestore`.
            r#type: String,
        }
        /// A frame went away, or into another process.
        event "frameDetached" FrameDetached {
            /// The frame.
            frame_id: String,
        }
        /// The address changed without a new document.
        event "navigatedWithinDocument" NavigatedWithinDocument {
            /// Where.
            frame_id: String,
            /// The address.
            url: LossyString,
        }
        /// A document reached a point of its loading.
        event "lifecycleEvent" LifecycleEvent {
            /// Where.
            frame_id: String,
            /// Which load.
            loader_id: String,
            /// `init`, `DOMContentLoaded`, `load`, `networkIdle` …
            name: String,
        }
        /// The page opened a dialog and waits.
        event "javascriptDialogOpening" JavascriptDialogOpening {
            /// `alert`, `confirm`, `prompt` or `beforeunload`.
            r#type: String,
            /// Its text.
            message: LossyString,
            /// What a prompt suggests.
            default_prompt: LossyString,
            /// The page's address.
            url: LossyString,
        }
        /// The dialog is closed.
        event "javascriptDialogClosed" JavascriptDialogClosed {
            /// OK or Cancel.
            result: bool,
        }
    }
}
