//! Requests for local files from pages of restricted callers, by frames, images, scripts or links. Each such request
//! is paused with the Fetch domain, and failed if the caller may not read the file.

use crate::access::Access;
use cdp::Channel;
use cdp::protocol::fetch::{Disable, Enable, RequestPattern};
use cdp::protocol::target::TargetInfo;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Sessions of tabs with restricted callers.
#[derive(Debug, Default)]
pub(crate) struct LocalFiles(Mutex<Restrictions>);

#[derive(Debug, Default)]
struct Restrictions {
    /// Access policy of the latest caller, by the tab's main session.
    access: HashMap<Arc<str>, Access>,
    sessions: HashMap<Arc<str>, OwningTab>,
}

/// The tab that a session belongs to.
#[derive(Debug)]
struct OwningTab {
    /// The tab's main session.
    tab: Arc<str>,
    /// The session's target id.
    target: String,
    /// All requests are paused for proxy authentication.
    is_paused: bool,
}

impl Restrictions {
    fn access(&self, session: &Arc<str>) -> Option<&Access> {
        self.access.get(&self.sessions.get(session)?.tab)
    }

    /// The tab that contains or opened a new target.
    fn origin(&self, info: &TargetInfo, parent: Option<&Arc<str>>) -> Option<Arc<str>> {
        let owner = match (parent, &info.opener_id) {
            (Some(parent), _) => self.sessions.get(parent)?,
            (None, Some(opener)) => self.sessions.values().find(|it| it.target == *opener)?,
            (None, None) => return None,
        };
        Some(owner.tab.clone())
    }
}

impl LocalFiles {
    fn lock(&self) -> MutexGuard<'_, Restrictions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a new target the restriction of the tab that contains or opened it. `is_paused`: all its requests are
    /// paused anyway.
    pub(super) fn prepare(
        &self,
        channel: &Channel,
        info: &TargetInfo,
        parent: Option<&Arc<str>>,
        is_paused: bool,
    ) {
        let (Some(session), Some(target)) = (channel.session(), info.target_id.clone()) else {
            return;
        };
        let mut restrictions = self.lock();
        let origin = restrictions.origin(info, parent);
        let tab = origin.clone().filter(|_| parent.is_some()).unwrap_or_else(|| session.clone());
        let access = origin.and_then(|origin| restrictions.access.get(&origin).cloned());
        if access.is_some() && !is_paused {
            pause_file_requests(channel);
        }
        if let Some(access) = access {
            restrictions.access.insert(tab.clone(), access);
        }
        restrictions.sessions.insert(session.clone(), OwningTab { tab, target, is_paused });
    }

    /// Sets or lifts the restriction of a tab.
    pub(crate) fn restrict(&self, channel: &Channel, access: Option<&Access>) {
        let Some(tab) = channel.session() else { return };
        let mut restrictions = self.lock();
        let previous = match access {
            Some(access) => restrictions.access.insert(tab.clone(), access.clone()),
            None => restrictions.access.remove(tab),
        };
        if previous.is_some() == access.is_some() {
            return;
        }
        for (session, owner) in &restrictions.sessions {
            if owner.tab != *tab || owner.is_paused {
                continue;
            }
            let channel = channel.connection().session(session.clone());
            match access {
                Some(_) => pause_file_requests(&channel),
                None => channel.post(&Disable {}),
            }
        }
    }

    /// Removes an ended session.
    pub(super) fn remove_session(&self, session: &Arc<str>) {
        let mut restrictions = self.lock();
        restrictions.sessions.retain(|it, owner| it != session && owner.tab != *session);
        restrictions.access.remove(session);
    }

    pub(super) fn is_restricted(&self, session: &Arc<str>) -> bool {
        self.lock().access(session).is_some()
    }

    /// True if a session's request for this URL must fail.
    pub(super) fn refuses(&self, session: &Arc<str>, url: &str) -> bool {
        let is_file = url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
        is_file && self.lock().access(session).is_some_and(|it| it.check_url(url).is_err())
    }
}

fn pause_file_requests(channel: &Channel) {
    let files = RequestPattern { url_pattern: Some("file://*".into()) };
    channel.post(&Enable { patterns: vec![files], handle_auth_requests: None });
}
