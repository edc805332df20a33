//! What a page asks of servers.

use super::domain;
use crate::LossyString;

domain! { "Network";
    types {
        /// What was asked.
        type Request {
            /// The address.
            url: LossyString,
            /// `GET`, `POST` …
            method: String,
        }
        /// Who made a request.
        type Initiator {
            /// `script`, `parser`, `preload`, `other` …
            r#type: String,
        }
        /// What was answered.
        type Response {
            /// The address.
            url: LossyString,
            /// Such as 200.
            status: f64,
            /// What kind of data it is.
            mime_type: String,
        }
    }
    methods {
        /// Begins to tell.
        fn "enable" Enable {
            /// How much of what was answered is kept, in bytes.
            max_total_buffer_size: Option<i64>,
            /// How much of one answer is kept.
            max_resource_buffer_size: Option<i64>,
            /// How much of what is sent is told.
            max_post_data_size: Option<i64>,
        } -> EnableReply {}
        /// Asks servers themselves, not the service workers of a page.
        fn "setBypassServiceWorker" SetBypassServiceWorker {
            /// On or off.
            bypass: bool,
        } -> SetBypassServiceWorkerReply {}
    }
    events {
        /// A request went out.
        event "requestWillBeSent" RequestWillBeSent {
            /// Its id.
            request_id: String,
            /// The load it belongs to.
            loader_id: String,
            /// What was asked.
            request: Request,
            /// `Document`, `XHR`, `Fetch`, `Image` …
            r#type: String,
            /// The frame that asked.
            frame_id: String,
            /// What was answered to the one before, when this follows it elsewhere.
            redirect_response: Response,
            /// Who made it.
            initiator: Initiator,
            /// When, in seconds since 1970.
            wall_time: f64,
        }
        /// A server began to answer.
        event "responseReceived" ResponseReceived {
            /// Which request.
            request_id: String,
            /// The answer.
            response: Response,
        }
        /// An answer is complete.
        event "loadingFinished" LoadingFinished {
            /// Which request.
            request_id: String,
            /// How many bytes came.
            encoded_data_length: f64,
        }
        /// An answer did not come.
        event "loadingFailed" LoadingFailed {
            /// Which request.
            request_id: String,
            /// Why.
            error_text: LossyString,
            /// Whether it was given up.
            canceled: bool,
        }
        /// A WebSocket was made.
        event "webSocketCreated" WebSocketCreated {
            /// Its id.
            request_id: String,
        }
        /// Something was sent through a WebSocket.
        event "webSocketFrameSent" WebSocketFrameSent {
            /// Which.
            request_id: String,
        }
        /// A WebSocket was closed.
        event "webSocketClosed" WebSocketClosed {
            /// Which.
            request_id: String,
        }
    }
}
