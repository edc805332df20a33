//! The browser as a whole.

use super::domain;

domain! { "Browser";
    methods {
        /// Which browser this is.
        fn "getVersion" GetVersion {} -> GetVersionReply {
            /// Name and version, such as `Chrome/156.0.0.0` or `HeadlessChrome/…`.
            product: String,
            /// The version of the protocol.
            protocol_version: String,
            /// What it tells servers it is.
            user_agent: String,
        }
        /// Ends the browser in an orderly way.
        fn "close" Close {} -> CloseReply {}
        /// Says what happens to downloads of a context.
        fn "setDownloadBehavior" SetDownloadBehavior {
            /// `deny`, `allow`, `allowAndName` or `default`.
            behavior: String,
            /// The context; the default one when absent.
            browser_context_id: Option<String>,
            /// Where files go.
            download_path: Option<String>,
            /// Whether download events are sent.
            events_enabled: Option<bool>,
        } -> SetDownloadBehaviorReply {}
        /// Allows pages what they would have to ask a person for.
        fn "grantPermissions" GrantPermissions {
            /// What: `clipboardReadWrite` …
            permissions: Vec<String>,
            /// Whose pages; all when absent.
            origin: Option<String>,
            /// The context; the default one when absent.
            browser_context_id: Option<String>,
        } -> GrantPermissionsReply {}
    }
    events {
        /// A download began.
        event "downloadWillBegin" DownloadWillBegin {
            /// The frame that caused it.
            frame_id: String,
            /// Its id.
            guid: String,
            /// Where it comes from.
            url: crate::LossyString,
            /// What the server calls it.
            suggested_filename: crate::LossyString,
        }
        /// A download went on.
        event "downloadProgress" DownloadProgress {
            /// Its id.
            guid: String,
            /// How many bytes there are.
            received_bytes: f64,
            /// `inProgress`, `completed` or `canceled`.
            state: String,
        }
    }
}
