//! The `Browser` domain: version, shutdown, downloads and permissions.

use super::domain;

domain! { "Browser";
    methods {
        /// Reads the browser's version.
        fn "getVersion" GetVersion {} -> GetVersionReply {
            /// Name and version, such as `Chrome/156.0.0.0` or `HeadlessChrome/…`.
            product: String,
            /// The protocol version.
            protocol_version: String,
            /// The user agent.
            user_agent: String,
        }
        /// Closes the browser gracefully.
        fn "close" Close {} -> CloseReply {}
        /// Sets the download behaviour of a browser context.
        fn "setDownloadBehavior" SetDownloadBehavior {
            /// `deny`, `allow`, `allowAndName` or `default`.
            behavior: String,
            /// The browser context; the default one when absent.
            browser_context_id: Option<String>,
            /// Directory for downloaded files.
            download_path: Option<String>,
            /// Emit download events.
            events_enabled: Option<bool>,
        } -> SetDownloadBehaviorReply {}
        /// Grants permissions to an origin, without a prompt.
        fn "grantPermissions" GrantPermissions {
            /// The permissions, such as `clipboardReadWrite`.
            permissions: Vec<String>,
            /// The origin; all origins when absent.
            origin: Option<String>,
            /// The browser context; the default one when absent.
            browser_context_id: Option<String>,
        } -> GrantPermissionsReply {}
    }
    events {
        /// A download started.
        event "downloadWillBegin" DownloadWillBegin {
            /// The frame that initiated it.
            frame_id: String,
            /// Global id of the download.
            guid: String,
            /// URL of the downloaded resource.
            url: crate::LossyString,
            /// File name suggested by the server.
            suggested_filename: crate::LossyString,
        }
        /// A download progressed.
        event "downloadProgress" DownloadProgress {
            /// Global id of the download.
            guid: String,
            /// Bytes received so far.
            received_bytes: f64,
            /// `inProgress`, `completed` or `canceled`.
            state: String,
        }
    }
}
