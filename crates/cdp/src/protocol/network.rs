//! The `Network` domain: requests, responses and WebSockets.

use super::domain;
use crate::LossyString;

domain! { "Network";
    types {
        /// An HTTP request.
        type Request {
            /// The URL.
            url: LossyString,
            /// The method: `GET`, `POST` …
            method: String,
        }
        /// The initiator of a request.
        type Initiator {
            /// `script`, `parser`, `preload`, `other` …
            r#type: String,
        }
        /// An HTTP response.
        type Response {
            /// The URL.
            url: LossyString,
            /// HTTP status, such as 200.
            status: f64,
            /// MIME type.
            mime_type: String,
        }
    }
    methods {
        /// Enables the domain's events.
        fn "enable" Enable {
            /// Total buffer size for response bodies, in bytes.
            max_total_buffer_size: Option<i64>,
            /// Buffer size for one response body, in bytes.
            max_resource_buffer_size: Option<i64>,
            /// Longest request body included in `requestWillBeSent`, in bytes.
            max_post_data_size: Option<i64>,
        } -> EnableReply {}
        /// Bypasses the page's service workers.
        fn "setBypassServiceWorker" SetBypassServiceWorker {
            /// Enable or disable.
            bypass: bool,
        } -> SetBypassServiceWorkerReply {}
    }
    events {
        /// A request is about to be sent.
        event "requestWillBeSent" RequestWillBeSent {
            /// Request id.
            request_id: String,
            /// Loader id of the document load it belongs to.
            loader_id: String,
            /// The request.
            request: Request,
            /// `Document`, `XHR`, `Fetch`, `Image` …
            r#type: String,
            /// The frame that sent it.
            frame_id: String,
            /// The redirect response that led to this request.
            redirect_response: Response,
            /// Its initiator.
            initiator: Initiator,
            /// Seconds since 1970.
            wall_time: f64,
        }
        /// Response headers were received.
        event "responseReceived" ResponseReceived {
            /// Request id.
            request_id: String,
            /// The response.
            response: Response,
        }
        /// A request finished loading.
        event "loadingFinished" LoadingFinished {
            /// Request id.
            request_id: String,
            /// Encoded bytes received.
            encoded_data_length: f64,
        }
        /// A request failed.
        event "loadingFailed" LoadingFailed {
            /// Request id.
            request_id: String,
            /// Error text.
            error_text: LossyString,
            /// The request was canceled.
            canceled: bool,
        }
        /// A WebSocket was created.
        event "webSocketCreated" WebSocketCreated {
            /// Request id of the WebSocket.
            request_id: String,
        }
        /// A WebSocket message was sent.
        event "webSocketFrameSent" WebSocketFrameSent {
            /// Request id of the WebSocket.
            request_id: String,
        }
        /// A WebSocket was closed.
        event "webSocketClosed" WebSocketClosed {
            /// Request id of the WebSocket.
            request_id: String,
        }
    }
}
