//! The `Fetch` domain: request interception and proxy authentication.

use super::domain;
use crate::LossyString;

domain! { "Fetch";
    types {
        /// A filter for intercepted requests.
        type RequestPattern {
            /// URL pattern with the wildcards `*` and `?`.
            url_pattern: String,
        }
        /// An intercepted request.
        type Request {
            /// The URL.
            url: LossyString,
        }
        /// An HTTP header.
        type HeaderEntry {
            /// Its name.
            name: String,
            /// Its value.
            value: String,
        }
        /// An authentication challenge.
        type AuthChallenge {
            /// `Server` or `Proxy`.
            source: String,
        }
        /// The response to an authentication challenge.
        type AuthChallengeResponse {
            /// `Default`, `CancelAuth` or `ProvideCredentials`.
            response: String,
            /// The user name.
            username: String,
            /// The password.
            password: String,
        }
    }
    methods {
        /// Enables request interception.
        fn "enable" Enable {
            /// The requests to intercept.
            patterns: Vec<RequestPattern>,
            /// Also emit `authRequired` for authentication challenges.
            handle_auth_requests: Option<bool>,
        } -> EnableReply {}
        /// Disables interception and continues all paused requests.
        fn "disable" Disable {} -> DisableReply {}
        /// Continues a paused request.
        fn "continueRequest" ContinueRequest {
            /// The paused request.
            request_id: String,
        } -> ContinueRequestReply {}
        /// Fails a paused request.
        fn "failRequest" FailRequest {
            /// The paused request.
            request_id: String,
            /// Network error reason, such as `AccessDenied`.
            error_reason: String,
        } -> FailRequestReply {}
        /// Fulfills a paused request with a given response.
        fn "fulfillRequest" FulfillRequest {
            /// The paused request.
            request_id: String,
            /// HTTP status, such as 200.
            response_code: u32,
            /// The response headers.
            response_headers: Vec<HeaderEntry>,
            /// The body in base64.
            body: String,
        } -> FulfillRequestReply {}
        /// Answers an authentication challenge: with credentials, by default handling, or by cancelling.
        fn "continueWithAuth" ContinueWithAuth {
            /// The paused request.
            request_id: String,
            /// The response to the challenge.
            auth_challenge_response: Option<AuthChallengeResponse>,
        } -> ContinueWithAuthReply {}
    }
    events {
        /// A request was paused.
        event "requestPaused" RequestPaused {
            /// The paused request.
            request_id: String,
            /// The request's URL.
            request: Request,
        }
        /// A server or proxy requires authentication.
        event "authRequired" AuthRequired {
            /// The paused request.
            request_id: String,
            /// The challenge.
            auth_challenge: AuthChallenge,
        }
    }
}
