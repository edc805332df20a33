//! Signing in to the proxies of contexts.
//!
//! The browser asks us only about requests that it holds for us, so in such a context every request is held for a
//! moment. Elsewhere only those for local files are held, see [`super::local_files`]; all are let go or refused here.

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

/// What is listened to.
pub(super) const EVENTS: &[&str] = &[RequestPaused::NAME, AuthRequired::NAME];

/// How many events may wait to be answered.
pub(super) const QUEUE: usize = 4096;

/// How many requests are remembered as signed in.
const MOST_TRIED: usize = 10_000;

/// Who signs in where.
#[derive(Debug, Default)]
pub(crate) struct ProxyAuth(Mutex<ProxyLogins>);

#[derive(Debug, Default)]
struct ProxyLogins {
    /// By the browser's id of a context.
    logins: HashMap<String, ProxyCredentials>,
    /// The context of each session whose requests are held.
    sessions: HashMap<Arc<str>, String>,
}

impl ProxyAuth {
    fn known(&self) -> MutexGuard<'_, ProxyLogins> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a context, before it has any pages.
    pub(super) fn add(&self, context_id: &str, login: ProxyCredentials) {
        self.known().logins.insert(context_id.to_owned(), login);
    }

    /// Forgets a context.
    pub(super) fn remove(&self, context_id: &str) {
        let mut known = self.known();
        known.logins.remove(context_id);
        known.sessions.retain(|_, context| context != context_id);
    }

    /// Has all requests of a new target held, if it is in such a context. Says whether they are.
    pub(super) fn prepare(&self, channel: &Channel, info: &TargetInfo) -> bool {
        let (Some(session), Some(context)) = (channel.session(), &info.browser_context_id) else {
            return false;
        };
        let mut known = self.known();
        let is_held = known.logins.contains_key(context);
        if is_held {
            known.sessions.insert(session.clone(), context.clone());
            hold(channel);
        }
        is_held
    }

    /// Leaves the requests of a session to somebody else.
    pub(crate) fn leave(&self, session: &Arc<str>) {
        self.known().sessions.remove(session);
    }

    fn login(&self, session: &Arc<str>) -> Option<ProxyCredentials> {
        let known = self.known();
        known.logins.get(known.sessions.get(session)?).cloned()
    }
}

fn hold(channel: &Channel) {
    let all = RequestPattern { url_pattern: Some("*".into()) };
    channel.post(&Enable { patterns: vec![all], handle_auth_requests: Some(true) });
}

/// Lets requests go on and signs in until the browser is gone.
pub(super) async fn keep(mut events: Events, live: Weak<RunningBrowser>) {
    let mut tried = HashSet::new();
    while let Some(delivery) = events.next().await {
        let Some(live) = live.upgrade() else { return };
        match delivery {
            Delivery::Event(event) => _ = live.request_event(&event, &mut tried),
            Delivery::Lagged(lost) => {
                tracing::warn!(lost, "held requests lost, letting go of all");
                let sessions: Vec<_> = live.proxies.known().sessions.keys().cloned().collect();
                // What nobody allowed stays held.
                let is_free = |session: &Arc<str>| !live.local_files.is_restricted(session);
                for session in sessions.into_iter().filter(is_free) {
                    let channel = live.connection.session(session);
                    channel.post(&Disable {});
                    hold(&channel);
                }
            }
        }
    }
}

impl RunningBrowser {
    /// What becomes of a request that is held.
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
        let asked: AuthRequired = event.decode().ok()?;
        let request_id = asked.request_id?;
        let is_proxy = asked.auth_challenge?.source.as_deref() == Some("Proxy");
        if tried.len() >= MOST_TRIED {
            tried.clear();
        }
        let response = match is_proxy {
            // Servers are no business of ours.
            false => {
                AuthChallengeResponse { response: Some("Default".into()), ..Default::default() }
            }
            true if tried.insert(format!("{session} {request_id}")) => AuthChallengeResponse {
                response: Some("ProvideCredentials".into()),
                username: Some(login.username),
                password: Some(login.password.reveal().to_owned()),
            },
            // Asked again, it was not the right one.
            true => {
                AuthChallengeResponse { response: Some("CancelAuth".into()), ..Default::default() }
            }
        };
        channel.post(&ContinueWithAuth { request_id, auth_challenge_response: Some(response) });
        Some(())
    }
}
