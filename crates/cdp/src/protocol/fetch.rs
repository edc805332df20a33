//! Requests that are held until we say what becomes of them.

use super::domain;
use crate::LossyString;

domain! { "Fetch";
    types {
        /// Which requests are held.
        type RequestPattern {
            /// Their addresses, with `*` and `?`.
            url_pattern: String,
        }
        /// What is asked for.
        type Request {
            /// Its address.
            url: LossyString,
        }
        /// A header.
        type HeaderEntry {
            /// Its name.
            name: String,
            /// What it says.
            value: String,
        }
        /// Who wants to know who we are.
        type AuthChallenge {
            /// `Server` or `Proxy`.
            source: String,
        }
        /// What is said to that.
        type AuthChallengeResponse {
            /// `Default`, `CancelAuth` or `ProvideCredentials`.
            response: String,
            /// Who we are.
            username: String,
            /// What proves it.
            password: String,
        }
    }
    methods {
        /// Begins to hold requests.
        fn "enable" Enable {
            /// Which.
            patterns: Vec<RequestPattern>,
            /// Also ask us when somebody wants to know who we are.
            handle_auth_requests: Option<bool>,
        } -> EnableReply {}
        /// Lets go of all that are held, and holds no more.
        fn "disable" Disable {} -> DisableReply {}
        /// Lets a request go on.
        fn "continueRequest" ContinueRequest {
            /// Which.
            request_id: String,
        } -> ContinueRequestReply {}
        /// Has a request fail.
        fn "failRequest" FailRequest {
            /// Which.
            request_id: String,
            /// Such as `AccessDenied`.
            error_reason: String,
        } -> FailRequestReply {}
        /// Answers a request in the server's place.
        fn "fulfillRequest" FulfillRequest {
            /// Which.
            request_id: String,
            /// Such as 200.
            response_code: u32,
            /// What comes before the body.
            response_headers: Vec<HeaderEntry>,
            /// The body, as base64.
            body: String,
        } -> FulfillRequestReply {}
        /// Says who we are, or that we do not.
        fn "continueWithAuth" ContinueWithAuth {
            /// Which request.
            request_id: String,
            /// What is said.
            auth_challenge_response: Option<AuthChallengeResponse>,
        } -> ContinueWithAuthReply {}
    }
    events {
        /// A request is held.
        event "requestPaused" RequestPaused {
            /// Which.
            request_id: String,
            /// What it asks for.
            request: Request,
        }
        /// Somebody wants to know who we are.
        event "authRequired" AuthRequired {
            /// For which request.
            request_id: String,
            /// Who.
            auth_challenge: AuthChallenge,
        }
    }
}
