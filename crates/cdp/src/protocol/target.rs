//! The `Target` domain: tabs, frames, workers, sessions and browser contexts.

use super::domain;
use crate::LossyString;

domain! { "Target";
    types {
        /// A target: tab, frame, worker …
        type TargetInfo {
            /// Target id; for a tab also the id of its main frame.
            target_id: String,
            /// `page`, `iframe`, `worker`, `service_worker` …
            r#type: String,
            /// Title of the document.
            title: LossyString,
            /// URL of the document.
            url: LossyString,
            /// A client is attached to it.
            attached: bool,
            /// Parent frame of an out-of-process frame.
            parent_frame_id: String,
            /// The target that opened this one.
            opener_id: String,
            /// Its browser context.
            browser_context_id: String,
            /// Subtype of a `page`, such as `prerender`.
            subtype: String,
        }
        /// An entry of a target filter.
        type FilterEntry {
            /// Target type; every type when absent.
            r#type: String,
            /// Exclude matching targets.
            exclude: bool,
        }
    }
    methods {
        /// Attaches to new targets automatically.
        fn "setAutoAttach" SetAutoAttach {
            /// Enable or disable.
            auto_attach: bool,
            /// Pause new targets until `runIfWaitingForDebugger`.
            wait_for_debugger_on_start: bool,
            /// Use flat sessions.
            flatten: bool,
            /// The target filter.
            filter: Option<Vec<FilterEntry>>,
        } -> SetAutoAttachReply {}
        /// Enables discovery events for all targets.
        fn "setDiscoverTargets" SetDiscoverTargets {
            /// Enable or disable.
            discover: bool,
        } -> SetDiscoverTargetsReply {}
        /// Lists the targets.
        fn "getTargets" GetTargets {} -> GetTargetsReply {
            /// All targets.
            target_infos: Vec<TargetInfo>,
        }
        /// Attaches to a target.
        fn "attachToTarget" AttachToTarget {
            /// The target.
            target_id: String,
            /// Use a flat session.
            flatten: bool,
        } -> AttachToTargetReply {
            /// The session id.
            session_id: String,
        }
        /// Opens a tab.
        fn "createTarget" CreateTarget {
            /// URL to open.
            url: String,
            /// The browser context; the default one when absent.
            browser_context_id: Option<String>,
            /// Open a new window.
            new_window: Option<bool>,
            /// Open in the background, without focus.
            background: Option<bool>,
            /// Width of the viewport in CSS pixels.
            width: Option<u32>,
            /// Height of the viewport in CSS pixels.
            height: Option<u32>,
        } -> CreateTargetReply {
            /// The new tab.
            target_id: String,
        }
        /// Closes a tab.
        fn "closeTarget" CloseTarget {
            /// The tab.
            target_id: String,
        } -> CloseTargetReply {}
        /// Activates a tab: brings it to the front.
        fn "activateTarget" ActivateTarget {
            /// The tab.
            target_id: String,
        } -> ActivateTargetReply {}
        /// Creates a browser context with its own cookie jar.
        fn "createBrowserContext" CreateBrowserContext {
            /// Dispose of the context when the connection ends.
            dispose_on_detach: Option<bool>,
            /// Proxy server of the context.
            proxy_server: Option<String>,
            /// Proxy bypass list.
            proxy_bypass_list: Option<String>,
        } -> CreateBrowserContextReply {
            /// The browser context.
            browser_context_id: String,
        }
        /// Disposes of a browser context with all its tabs and data.
        fn "disposeBrowserContext" DisposeBrowserContext {
            /// The browser context.
            browser_context_id: String,
        } -> DisposeBrowserContextReply {}
    }
    events {
        /// A session was attached to a target.
        event "attachedToTarget" AttachedToTarget {
            /// The new session.
            session_id: String,
            /// The target.
            target_info: TargetInfo,
            /// The target is paused until `runIfWaitingForDebugger`.
            waiting_for_debugger: bool,
        }
        /// A session was detached.
        event "detachedFromTarget" DetachedFromTarget {
            /// The session.
            session_id: String,
        }
        /// A target was created.
        event "targetCreated" TargetCreated {
            /// The target.
            target_info: TargetInfo,
        }
        /// The title or URL of a target changed.
        event "targetInfoChanged" TargetInfoChanged {
            /// The target.
            target_info: TargetInfo,
        }
        /// A target was destroyed.
        event "targetDestroyed" TargetDestroyed {
            /// The target.
            target_id: String,
        }
        /// A target crashed.
        event "targetCrashed" TargetCrashed {
            /// The target.
            target_id: String,
            /// Termination status, such as `crashed` or `killed`.
            status: String,
            /// Signal or exit code.
            error_code: i64,
        }
    }
}
