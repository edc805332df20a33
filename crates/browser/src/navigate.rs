//! Navigation: opens, reloads and history steps, and the wait for their load state.

use crate::error::{Code, Error, Result};
use crate::note::Note;
use crate::observe::WORLD;
use crate::progress::Progress;
use crate::tab::{Phase, Tab, TabState};
use cdp::protocol::page::{
    CreateIsolatedWorld, GetNavigationHistory, Navigate, NavigateToHistoryEntry, Reload,
    StopLoading,
};
use cdp::protocol::runtime::Evaluate;
use cdp::{Deadline, LossyString};
use clap::ValueEnum;
use page::mask::mask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The load state to wait for.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// The `load` event.
    #[default]
    Load,
    /// The `DOMContentLoaded` event.
    Dom,
    /// The server has responded.
    Commit,
}

impl Until {
    fn phase(self) -> Phase {
        match self {
            Self::Load => Phase::Loaded,
            Self::Dom => Phase::DomReady,
            Self::Commit => Phase::Committed,
        }
    }
}

/// A page after a navigation.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Arrival {
    /// The URL after redirects; secrets in it are masked.
    pub url: String,
    /// The title.
    pub title: String,
    /// The HTTP status, such as 200; absent without a server.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// The load state.
    pub phase: Phase,
}

/// Timeout of the page info query when the load is not waited for.
const SHORT_QUERY: Duration = Duration::from_millis(200);

/// Timeout of the page info query; without a response the arrival is reported without it.
const QUERY: Duration = Duration::from_secs(2);

/// Timeout of the busy check.
const BUSY_CHECK: Duration = Duration::from_secs(1);

/// A navigation: its tab, the load state to wait for, and the progress of its command.
pub(crate) struct Navigation<'a> {
    pub(crate) tab: &'a Tab,
    pub(crate) until: Until,
    /// Time reserved for what follows the navigation: a page still loading by then counts as loaded.
    pub(crate) reserved: Duration,
    pub(crate) progress: &'a mut Progress,
}

/// Navigates to a URL.
pub(crate) async fn go(navigation: Navigation<'_>, url: &str) -> Result<Arrival> {
    let (tab, deadline) = (navigation.tab, navigation.progress.deadline);
    let before = require_no_dialog(tab)?;
    navigation.progress.step("requested the page");
    let navigate = Navigate { url: url.to_owned(), ..Navigate::default() };
    // `Page.navigate` responds when the server has. A crashed page does not block it: it gets a new process.
    let call = tab.channel.call(navigate, deadline);
    let guard = StopIfDropped { tab: Some(tab) };
    let outcome = or_dialog(tab, call).await;
    guard.disarm();
    let reply = match outcome {
        Some(Ok(reply)) => reply,
        Some(Err(cdp::Error::Timeout { .. })) => return Err(no_commit_error(tab, deadline).await),
        Some(Err(cdp::Error::Remote { message, .. })) => {
            return Err(Error::new(Code::NavigationFailed)
                .message(format!("`{}` cannot be opened: {message}", short(url))));
        }
        Some(Err(other)) => return Err(tab.explain(other)),
        None => return handle_dialog(navigation, &before).await,
    };
    if let Some(error) = reply.error_text.filter(|text| !text.is_empty()) {
        if reply.is_download == Some(true) {
            let note = "the address is a download; the page stays where it was";
            navigation.progress.notes.push(Note::new("download", note));
            return arrival(navigation).await;
        }
        if error == "net::ERR_ABORTED"
            && let Some(crash) = crash_error(tab).await
        {
            return Err(crash);
        }
        return Err(Error::new(Code::NavigationFailed)
            .message(format!("`{}` could not be loaded: {error}", short(url)))
            .evidence("netError", error));
    }
    if let Some(loader) = reply.loader_id {
        // Only this load: a script of the previous page may have navigated elsewhere meanwhile.
        return wait(navigation, |state| state.recent.contains(&loader)).await;
    }
    arrival(navigation).await
}

/// Stops an abandoned load: a page that waits for a server does not respond.
struct StopIfDropped<'a> {
    tab: Option<&'a Tab>,
}

impl StopIfDropped<'_> {
    fn disarm(mut self) {
        self.tab = None;
    }
}

impl Drop for StopIfDropped<'_> {
    fn drop(&mut self) {
        if let Some(tab) = self.tab {
            tab.channel.post(&StopLoading {});
        }
    }
}

/// The tab's state; an error if a dialog is open.
fn require_no_dialog(tab: &Tab) -> Result<TabState> {
    let state = tab.state.borrow().clone();
    match tab.obstacle(&state).filter(|_| state.dialog.is_some()) {
        Some(obstacle) => Err(obstacle),
        None => Ok(state),
    }
}

/// The error if a load failed because the renderer crashed. The crash event arrives some time after the failure;
/// until then the page does not respond.
async fn crash_error(tab: &Tab) -> Option<Error> {
    let info = page_info(tab, Deadline::after(QUERY)).await;
    info.err().filter(|error| error.code() == Code::TabCrashed)
}

/// Time for the event that a crashed page is alive again.
const REVIVAL: Duration = Duration::from_secs(2);

/// Reloads the page.
pub(crate) async fn reload(navigation: Navigation<'_>, ignore_cache: bool) -> Result<Arrival> {
    let tab = navigation.tab;
    let before = require_no_dialog(tab)?;
    let call =
        tab.channel.call(Reload { ignore_cache: Some(ignore_cache) }, navigation.progress.deadline);
    match or_dialog(tab, call).await {
        Some(reply) => reply.map_err(|error| tab.explain(error))?,
        None => return handle_dialog(navigation, &before).await,
    };
    // The event that ends a crash may come after the response.
    if before.end.is_some() {
        let mut states = tab.state.subscribe();
        let revived = states.wait_for(|state| state.end.is_none());
        _ = tokio::time::timeout_at(navigation.progress.deadline.at_most(REVIVAL).at(), revived)
            .await;
    }
    wait(navigation, |state| state.documents > before.documents).await
}

/// Moves `by` entries through the history.
pub(crate) async fn history(navigation: Navigation<'_>, by: i64) -> Result<Arrival> {
    let tab = navigation.tab;
    let before = require_no_dialog(tab)?;
    let explain = |error| tab.explain(error);
    let history = tab
        .channel
        .call(GetNavigationHistory {}, navigation.progress.deadline)
        .await
        .map_err(explain)?;
    let here = history.current_index.unwrap_or_default();
    let entries = history.entries.unwrap_or_default();
    let entry = usize::try_from(here + by).ok().and_then(|index| entries.get(index));
    let Some((entry_id, url)) = entry.and_then(|entry| Some((entry.id?, entry.url.as_deref()?)))
    else {
        let way = if by < 0 { "back" } else { "forward" };
        return Err(Error::new(Code::NavigationNoEntry)
            .message(format!("tab {} has no history entry to go {way} to", tab.id))
            .evidence("position", here)
            .evidence("entries", entries.len()));
    };
    let call = tab.channel.call(NavigateToHistoryEntry { entry_id }, navigation.progress.deadline);
    match or_dialog(tab, call).await {
        Some(reply) => reply.map_err(explain)?,
        None => return handle_dialog(navigation, &before).await,
    };
    // A page may change its own URL at any time; only the requested entry counts as arrival.
    let is_same_document_step = |state: &TabState| state.steps > before.steps && state.url == url;
    wait(navigation, |state| state.documents > before.documents || is_same_document_step(state))
        .await
}

/// Handles a dialog that opened during the navigation. From the new page it becomes a note; from the old page
/// (`beforeunload`) the navigation has not happened.
async fn handle_dialog(navigation: Navigation<'_>, before: &TabState) -> Result<Arrival> {
    let state = navigation.tab.state.borrow().clone();
    if state.documents == before.documents
        && let Some(obstacle) = navigation.tab.obstacle(&state)
    {
        return Err(obstacle);
    }
    arrival(navigation).await
}

/// Waits for a call, unless a dialog of the page opens meanwhile: then there is no response.
async fn or_dialog<T>(
    tab: &Tab,
    call: impl Future<Output = std::result::Result<T, cdp::Error>>,
) -> Option<std::result::Result<T, cdp::Error>> {
    let mut state = tab.state.subscribe();
    tokio::select! {
        biased;
        reply = call => Some(reply),
        _ = state.wait_for(|state| state.dialog.is_some()) => None,
    }
}

/// Waits until the page has committed and reached the load state. A page at `DOMContentLoaded` that is still loading
/// at the deadline counts as loaded, with a note.
async fn wait(navigation: Navigation<'_>, moved: impl Fn(&TabState) -> bool) -> Result<Arrival> {
    let (tab, deadline) = (navigation.tab, navigation.progress.deadline);
    navigation.progress.step("waiting for the page to load");
    let mut states = tab.state.subscribe();
    let has_arrived = |state: &TabState| {
        state.dialog.is_some()
            || state.end.is_some()
            || (moved(state) && state.phase >= navigation.until.phase())
    };
    let mut is_reached = false;
    // With a follow-up action, the page is used as loaded as far as it is when time gets short.
    if !navigation.reserved.is_zero() {
        let early = deadline.at() - navigation.reserved;
        is_reached = tokio::time::timeout_at(early, states.wait_for(has_arrived)).await.is_ok();
    }
    let moved_or_arrived =
        |state: &TabState| has_arrived(state) || !navigation.reserved.is_zero() && moved(state);
    if !is_reached {
        let limit = deadline.at();
        is_reached =
            tokio::time::timeout_at(limit, states.wait_for(moved_or_arrived)).await.is_ok();
    }
    let state = tab.state.borrow().clone();
    let is_early = is_reached && !has_arrived(&state);
    if is_reached && !is_early {
        return match tab.obstacle(&state) {
            // A `beforeunload` dialog of the old page, or the tab is gone.
            Some(obstacle) if state.end.is_some() || !moved(&state) => Err(obstacle),
            _ => arrival(navigation).await,
        };
    }
    if !moved(&state) {
        return Err(no_commit_error(tab, deadline).await);
    }
    if state.phase < Phase::DomReady && !is_early {
        return Err(timeout_error(tab, deadline, "the page came but did not become ready"));
    }
    let after = deadline.total().saturating_sub(deadline.left()).as_millis();
    navigation
        .progress
        .notes
        .push(Note::new("still-loading", format!("still loading after {after} ms")));
    arrival(navigation).await
}

/// The error for a navigation that did not commit. A busy page cannot be left, whatever the server responds; no event
/// distinguishes the two, as the response is reported by the page.
async fn no_commit_error(tab: &Tab, deadline: Deadline) -> Error {
    // Stops the load: a page that is about to be left does not respond.
    let error = timeout_error(tab, deadline, "no answer from the server");
    match page_info(tab, Deadline::after(BUSY_CHECK)).await {
        Err(stuck) if stuck.code() == Code::PageUnresponsive => Error::new(Code::PageUnresponsive)
            .message(format!(
                "the page on tab {} could not be left within {} ms: a script of it is busy",
                tab.id,
                deadline.total().as_millis()
            ))
            .evidence("tab", tab.id.to_string()),
        _ => error,
    }
}

fn timeout_error(tab: &Tab, deadline: Deadline, what: &str) -> Error {
    tab.channel.post(&StopLoading {});
    Error::new(Code::NavigationTimeout)
        .message(format!("{what} within {} ms", deadline.total().as_millis()))
        .evidence("tab", tab.id.to_string())
}

/// Reports the arrival with URL, title and status. If the page does not respond, with what the target table knows.
async fn arrival(navigation: Navigation<'_>) -> Result<Arrival> {
    let mut arrival = query_arrival(navigation).await?;
    arrival.url = mask(&arrival.url).into_owned();
    arrival.title = mask(&arrival.title).into_owned();
    Ok(arrival)
}

async fn query_arrival(navigation: Navigation<'_>) -> Result<Arrival> {
    let Navigation { tab, until, progress, .. } = navigation;
    let (deadline, notes) = (progress.deadline, &mut progress.notes);
    let state = tab.state.borrow().clone();
    let mut arrival =
        Arrival { url: state.url, title: state.title, status: None, phase: state.phase };
    if let Some(dialog) = state.dialog {
        let note = Note::new("dialog-open", format!("{} waits for an answer", dialog.named()));
        notes.push(note.with_page_text(&dialog.message));
        return Ok(arrival);
    }
    // With `commit`, the page info query is short too.
    let limit = if until == Until::Commit { SHORT_QUERY } else { QUERY };
    let limit = deadline.at_most(limit).left().max(SHORT_QUERY);
    match page_info(tab, Deadline::after(limit)).await {
        Ok((url, title, status)) => {
            (arrival.url, arrival.title) = (url.into_string(), title.into_string());
            tab.state.send_modify(|state| state.title.clone_from(&arrival.title));
            // Chromium reports 200 for files and `data:` URLs too.
            let is_served = arrival.url.starts_with("http");
            arrival.status = u16::try_from(status).ok().filter(|status| is_served && *status > 0);
        }
        Err(error) if error.code() == Code::PageUnresponsive => {
            notes.push(Note::new("unresponsive", "the page is there, but a script of it is busy"));
        }
        Err(error) if error.code() == Code::PageDialogOpen => {
            notes.push(Note::new("dialog-open", error.details().message.clone()));
        }
        Err(error)
            if matches!(
                error.code(),
                Code::TabCrashed | Code::TabTargetLost | Code::BrowserLost
            ) =>
        {
            return Err(error);
        }
        Err(error) => tracing::debug!(code = %error.code(), "page info query failed"),
    }
    Ok(arrival)
}

/// URL, title and HTTP status of the current page.
pub(crate) async fn page_info(
    tab: &Tab,
    deadline: Deadline,
) -> Result<(LossyString, LossyString, i64)> {
    let world =
        CreateIsolatedWorld { frame_id: tab.target_id.clone(), world_name: Some(WORLD.into()) };
    let context_id = tab.call(world, deadline).await?.execution_context_id;
    let evaluate = Evaluate {
        expression: include_str!("../js/page_info.js").into(),
        context_id,
        return_by_value: Some(true),
        silent: Some(true),
        ..Evaluate::default()
    };
    let value = tab.call(evaluate, deadline).await?.result.and_then(|result| result.value);
    let value = value.ok_or_else(|| {
        Error::new(Code::InternalUnhandled).message("the page info query returned nothing")
    })?;
    serde_json::from_str(value.get())
        .map_err(|error| Error::new(Code::InternalUnhandled).message(error.to_string()))
}

/// Normalizes a typed address to a URL.
pub(crate) fn address(typed: &str) -> Result<String> {
    let typed = typed.trim();
    if typed.is_empty() {
        return Err(Error::new(Code::CommandInvalid).message("the address is empty"));
    }
    if typed.starts_with('/') {
        return Ok(format!("file://{typed}"));
    }
    let scheme = typed.split_once(':').filter(|(scheme, rest)| {
        let is_name = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        // `localhost:8080` is a host and its port, not a scheme.
        let is_port = rest.starts_with(|c: char| c.is_ascii_digit());
        is_name && (!is_port || scheme.eq_ignore_ascii_case("javascript"))
    });
    match scheme {
        // A `javascript:` URL is no page: it would run and count as a failure.
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("javascript") => {
            return Err(Error::new(Code::CommandInvalid)
                .message("an address that is a script is not opened; `eval` runs scripts"));
        }
        Some((scheme, _)) if is_foreign(typed) => {
            return Err(Error::new(Code::CommandInvalid)
                .message(format!("`{scheme}:` is for another program: a browser cannot show it"))
                .evidence("scheme", scheme));
        }
        Some(_) => return Ok(typed.to_owned()),
        None => {}
    }
    let host = typed.split(['/', '?', '#']).next().unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let is_local = name == "localhost" || name.ends_with(".localhost") || name.starts_with('[');
    let is_ip = name.parse::<std::net::Ipv4Addr>().is_ok();
    Ok(format!("{}://{typed}", if is_local || is_ip { "http" } else { "https" }))
}

/// Schemes that the browser displays itself.
const BROWSER_SCHEMES: &[&str] = &[
    "about",
    "blob",
    "brave",
    "chrome",
    "chrome-error",
    "chrome-extension",
    "chrome-search",
    "chrome-untrusted",
    "cid",
    "data",
    "devtools",
    "edge",
    "file",
    "filesystem",
    "ftp",
    "http",
    "https",
    "isolated-app",
    "javascript",
    "view-source",
];

/// The origin of an `http` or `https` URL.
pub(crate) fn origin(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next().filter(|host| !host.is_empty())?;
    matches!(scheme, "http" | "https").then(|| format!("{scheme}://{host}"))
}

/// True for a URL with an external protocol handler, such as `tel:` and `mailto:`.
pub(crate) fn is_foreign(url: &str) -> bool {
    url.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
            && !BROWSER_SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known))
    })
}

/// A short URL for messages, without its query, which may hold a secret.
fn short(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    if plain.chars().count() > 100 {
        plain.chars().take(99).chain(['…']).collect()
    } else {
        plain.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_addresses_are_normalized() {
        for (typed, expected) in [
            ("example.com", "https://example.com"),
            ("example.com/a?b", "https://example.com/a?b"),
            ("localhost:8080/x", "http://localhost:8080/x"),
            ("shop.localhost", "http://shop.localhost"),
            ("127.0.0.1:99", "http://127.0.0.1:99"),
            ("[::1]:80", "http://[::1]:80"),
            ("http://a", "http://a"),
            ("about:blank", "about:blank"),
            ("data:text/html,1", "data:text/html,1"),
            ("chrome://crash", "chrome://crash"),
            ("/tmp/x.html", "file:///tmp/x.html"),
            ("  example.com ", "https://example.com"),
        ] {
            assert_eq!(address(typed).unwrap(), expected, "{typed}");
        }
        for wrong in [" ", "javascript:alert(1)", "JavaScript:1", "nosuch://x", "mailto:a@b.org"] {
            assert_eq!(address(wrong).unwrap_err().code(), Code::CommandInvalid, "{wrong}");
        }
    }

    #[test]
    fn observer_has_the_same_schemes() {
        let list = format!("BROWSER_SCHEMES = new Set({BROWSER_SCHEMES:?})");
        assert!(crate::observe::SOURCE.contains(&list), "{list}");
    }

    #[test]
    fn message_urls_have_no_query() {
        assert_eq!(short("https://a/b?token=secret#x"), "https://a/b");
        assert!(short(&"a".repeat(500)).chars().count() <= 100);
    }
}
