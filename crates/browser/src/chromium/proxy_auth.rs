//! Proxy authentication of contexts.
//!
//! The browser reports `Fetch.authRequired` only for requests that it pauses for us, so in such a context every
//! request is paused for a moment. Elsewhere only requests for local files are paused, see [`super::local_files`];
//! all are continued or failed here.

use super::RunningBrowser;
use crate::proxy::ProxyCredentials;
use cdp::protocol::CdpEvent;
use cdp::protocol::fetch::{
    AuthChallengeResponse, AuthRequired, ContinueRequest, ContinueWithAuth, Disable, Enable,
    FailRequest, RequestPattern, RequestPaused,
};
use cdp::protocol::target::TargetInfo;
use cdp::{Channel, Delivery, Event, Events};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// CDP events of paused requests.
pub(super) const EVENTS: &[&str] = &[RequestPaused::NAME, AuthRequired::NAME];

/// Capacity of the event queue.
pub(super) const QUEUE: usize = 4096;

/// Requests remembered as having received credentials.
const MAX_TRIED: usize = 10_000;

/// Proxy credentials by context, and the sessions that need them.
#[derive(Debug, Default)]
pub(crate) struct ProxyAuth(Mutex<ProxyLogins>);

#[derive(Debug, Default)]
struct ProxyLogins {
    /// By browser context id.
    logins: HashMap<String, ProxyCredentials>,
    /// The browser context of each session whose requests are paused.
    sessions: HashMap<Arc<str>, String>,
}

impl ProxyAuth {
    fn lock(&self) -> MutexGuard<'_, ProxyLogins> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a context before its first page.
    pub(super) fn add(&self, context_id: &str, login: ProxyCredentials) {
        self.lock().logins.insert(context_id.to_owned(), login);
    }

    /// Removes a context.
    pub(super) fn remove(&self, context_id: &str) {
        let mut logins = self.lock();
        logins.logins.remove(context_id);
        logins.sessions.retain(|_, context| context != context_id);
    }

    /// Pauses all requests of a new target if its context has credentials; returns true if so.
    pub(super) fn prepare(&self, channel: &Channel, info: &TargetInfo) -> bool {
        let (Some(session), Some(context)) = (channel.session(), &info.browser_context_id) else {
            return false;
        };
        let mut logins = self.lock();
        let is_paused = logins.logins.contains_key(context);
        if is_paused {
            logins.sessions.insert(session.clone(), context.clone());
            pause_requests(channel);
        }
        is_paused
    }

    /// Stops handling the requests of a session.
    pub(crate) fn leave(&self, session: &Arc<str>) {
        self.lock().sessions.remove(session);
    }

    fn login(&self, session: &Arc<str>) -> Option<ProxyCredentials> {
        let logins = self.lock();
        logins.logins.get(logins.sessions.get(session)?).cloned()
    }
}

fn pause_requests(channel: &Channel) {
    let all = RequestPattern { url_pattern: Some("*".into()) };
    channel.post(&Enable { patterns: vec![all], handle_auth_requests: Some(true) });
}

/// Continues paused requests and answers authentication challenges until the browser is gone.
pub(super) async fn run_event_loop(mut events: Events, live: Weak<RunningBrowser>) {
    let mut tried = HashSet::new();
    while let Some(delivery) = events.next().await {
        let Some(live) = live.upgrade() else { return };
        match delivery {
            Delivery::Event(event) => _ = live.request_event(&event, &mut tried),
            Delivery::Lagged(lost) => {
                tracing::warn!(lost, "paused requests lost, continuing all");
                let sessions: Vec<_> = live.proxies.lock().sessions.keys().cloned().collect();
                // Requests that still need a check stay paused.
                let is_free = |session: &Arc<str>| !live.local_files.is_restricted(session);
                for session in sessions.into_iter().filter(is_free) {
                    let channel = live.connection.session(session);
                    channel.post(&Disable {});
                    pause_requests(&channel);
                }
            }
        }
    }
}

impl RunningBrowser {
    /// Continues, fails or authenticates a paused request.
    fn request_event(&self, event: &Event, tried: &mut HashSet<String>) -> Option<()> {
        let session = event.session.as_ref()?;
        let login = self.proxies.login(session);
        let channel = self.connection.session(session.clone());
        if &*event.method == RequestPaused::NAME {
            if login.is_none() && !self.local_files.is_restricted(session) {
                return None;
            }
            let RequestPaused { request_id, request } = event.decode().ok()?;
            let (request_id, url) = (request_id?, request.and_then(|it| it.url));
            if self.local_files.refuses(session, url.as_deref().unwrap_or_default()) {
                let error_reason = "AccessDenied".into();
                channel.post(&FailRequest { request_id, error_reason });
            } else {
                channel.post(&ContinueRequest { request_id });
            }
            return Some(());
        }
        let login = login?;
        let challenge: AuthRequired = event.decode().ok()?;
        let request_id = challenge.request_id?;
        let is_proxy = challenge.auth_challenge?.source.as_deref() == Some("Proxy");
        if tried.len() >= MAX_TRIED {
            tried.clear();
        }
        let response = match is_proxy {
            // Server authentication is left to the browser.
            false => {
                AuthChallengeResponse { response: Some("Default".into()), ..Default::default() }
            }
            true if tried.insert(format!("{session} {request_id}")) => AuthChallengeResponse {
                response: Some("ProvideCredentials".into()),
                username: Some(login.username),
                password: Some(login.password.reveal().to_owned()),
            },
            // Challenged again: the credentials were wrong.
            true => {
                AuthChallengeResponse { response: Some("CancelAuth".into()), ..Default::default() }
            }
        };
        channel.post(&ContinueWithAuth { request_id, auth_challenge_response: Some(response) });
        Some(())
    }
}
