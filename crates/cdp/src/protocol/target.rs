//! Tabs, frames and workers as the browser sees them.

use super::domain;
use crate::LossyString;

domain! { "Target";
    types {
        /// A tab, frame, worker …
        type TargetInfo {
            /// Its id; for a tab also the id of its main frame.
            target_id: String,
            /// `page`, `iframe`, `worker`, `service_worker` …
            r#type: String,
            /// The document's title.
            title: LossyString,
            /// The document's address.
            url: LossyString,
            /// Whether somebody is attached.
            attached: bool,
            /// The frame around it, when it is a frame.
            parent_frame_id: String,
            /// The tab that opened it.
            opener_id: String,
            /// The context it lives in.
            browser_context_id: String,
            /// What kind of `page` it is, such as `prerender`.
            subtype: String,
        }
        /// Which targets a call is about.
        type FilterEntry {
            /// The type meant; every type when absent.
            r#type: String,
            /// Leave it out.
            exclude: bool,
        }
    }
    methods {
        /// Attaches to every target to come.
        fn "setAutoAttach" SetAutoAttach {
            /// On or off.
            auto_attach: bool,
            /// Hold new targets until we let them run.
            wait_for_debugger_on_start: bool,
            /// Use flat sessions.
            flatten: bool,
            /// Which targets.
            filter: Option<Vec<FilterEntry>>,
        } -> SetAutoAttachReply {}
        /// Asks to be told of all targets.
        fn "setDiscoverTargets" SetDiscoverTargets {
            /// On or off.
            discover: bool,
        } -> SetDiscoverTargetsReply {}
        /// Lists the targets.
        fn "getTargets" GetTargets {} -> GetTargetsReply {
            /// All of them.
            target_infos: Vec<TargetInfo>,
        }
        /// Attaches to one target.
        fn "attachToTarget" AttachToTarget {
            /// The target.
            target_id: String,
            /// Use a flat session.
            flatten: bool,
        } -> AttachToTargetReply {
            /// The session.
            session_id: String,
        }
        /// Opens a tab.
        fn "createTarget" CreateTarget {
            /// Its address.
            url: String,
            /// The context it shall live in.
            browser_context_id: Option<String>,
            /// In a window of its own.
            new_window: Option<bool>,
            /// Without taking the focus.
            background: Option<bool>,
            /// CSS pixels.
            width: Option<u32>,
            /// CSS pixels.
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
        /// Brings a tab to the front.
        fn "activateTarget" ActivateTarget {
            /// The tab.
            target_id: String,
        } -> ActivateTargetReply {}
        /// Makes a context with a cookie jar of its own.
        fn "createBrowserContext" CreateBrowserContext {
            /// Remove it when our connection ends.
            dispose_on_detach: Option<bool>,
            /// The proxy that its requests go through.
            proxy_server: Option<String>,
            /// What does not go through it.
            proxy_bypass_list: Option<String>,
        } -> CreateBrowserContextReply {
            /// The context.
            browser_context_id: String,
        }
        /// Removes a context and everything in it.
        fn "disposeBrowserContext" DisposeBrowserContext {
            /// The context.
            browser_context_id: String,
        } -> DisposeBrowserContextReply {}
    }
    events {
        /// We are attached to a target.
        event "attachedToTarget" AttachedToTarget {
            /// The new session.
            session_id: String,
            /// What it leads to.
            target_info: TargetInfo,
            /// Whether the target waits for us.
            waiting_for_debugger: bool,
        }
        /// A session has ended.
        event "detachedFromTarget" DetachedFromTarget {
            /// Which.
            session_id: String,
        }
        /// A target appeared.
        event "targetCreated" TargetCreated {
            /// Which.
            target_info: TargetInfo,
        }
        /// A target's title or address changed.
        event "targetInfoChanged" TargetInfoChanged {
            /// Which.
            target_info: TargetInfo,
        }
        /// A target is gone.
        event "targetDestroyed" TargetDestroyed {
            /// Which.
            target_id: String,
        }
        /// A target's process died.
        event "targetCrashed" TargetCrashed {
            /// Which.
            target_id: String,
            /// How it ended, such as `crashed` or `killed`.
            status: String,
            /// The signal or exit code.
            error_code: i64,
        }
    }
}
