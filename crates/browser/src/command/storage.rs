//! `storage`: saves and loads the cookies and local storage of a context.
//!
//! The caller writes and reads the file; here it is a byte array in the reply, or a value in the request.

use super::{
    Caller, CommandContext, ReplyFile, Run, Verb, VerbGroup, VerbReply, VerbSpec, encode_base64,
};
use crate::chromium::RunningBrowser;
use crate::error::{Code, Error, Result};
use crate::note::Note;
use crate::observe::json;
use crate::secret::{InClear, SecretString};
use crate::storage::{SavedCookie, SavedEntry, SavedOrigin, StorageState};
use crate::tab::{Phase, Tab, TabId};
use cdp::protocol::CdpEvent;
use cdp::protocol::fetch::{Enable, FulfillRequest, HeaderEntry, RequestPattern, RequestPaused};
use cdp::protocol::network::SetBypassServiceWorker;
use cdp::protocol::page::{CreateIsolatedWorld, Navigate};
use cdp::protocol::runtime::Evaluate;
use cdp::protocol::storage::{GetCookies, SetCookies};
use cdp::protocol::target::CloseTarget;
use cdp::{Deadline, Delivery, Events};
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Timeout for a page to read its local storage.
const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// The page that answers intercepted requests. It has an icon, so that the browser requests none afterwards.
const EMPTY_PAGE: &str = "<!doctype html><link rel=icon href=data:,>";

/// The isolated world of the storage scripts. Pages cannot see or tamper with it.
const WORLD: &str = "agbrowse storage";

/// Save the cookies and local storage of a context, or load them.
///
/// The file has Playwright's storage state format. Whoever has it is signed in as you: only you can read it, and none
/// of it is printed.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
pub struct StorageCommand {
    /// The storage action.
    #[command(subcommand)]
    #[serde(flatten)]
    pub action: StorageAction,
}

/// A storage action.
#[derive(Clone, Debug, Subcommand, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum StorageAction {
    /// Save all cookies, and the local storage of the open origins, to a file.
    Save(SaveStorage),
    /// Load the cookies and local storage of a file into the context, in addition to its own.
    Load(LoadStorage),
}

/// Arguments of `storage save`.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SaveStorage {
    /// The file to write.
    #[arg(value_name = "FILE", required = true)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<PathBuf>,
}

/// Arguments of `storage load`.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadStorage {
    /// The file to read.
    #[arg(value_name = "FILE", required = true)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<PathBuf>,
    /// The content of the file.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub state: Option<StorageState>,
}

/// The result of a save or load, as counts: the content stays in the file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageReply {
    /// `saved` or `loaded`.
    pub is: String,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<PathBuf>,
    /// Number of cookies.
    pub cookies: usize,
    /// Number of origins with local storage.
    pub origins: usize,
    /// Number of local storage entries.
    pub entries: usize,
    /// The content of the file.
    #[serde(skip)]
    pub data: Vec<u8>,
}

impl LoadStorage {
    /// Reads the file on the caller's side.
    ///
    /// # Errors
    /// `file.read-failed` or `storage.invalid`.
    pub fn read(&mut self) -> Result<()> {
        if let (None, Some(path)) = (&self.state, &self.path) {
            self.state = Some(StorageState::read(path)?);
        }
        Ok(())
    }
}

impl Verb for StorageCommand {
    type Reply = StorageReply;
    const SPEC: VerbSpec =
        VerbSpec { reads_files: true, ..VerbSpec::CONTROL.in_group(VerbGroup::Session) };

    fn spec(&self) -> VerbSpec {
        match &self.action {
            StorageAction::Save(_) => VerbSpec {
                not_in_batch: Some("`storage save` cannot be part of a batch"),
                ..Self::SPEC
            },
            StorageAction::Load(_) => VerbSpec { makes_session: true, ..Self::SPEC },
        }
    }

    fn localize(&mut self, _caller: &mut Caller<'_>) -> Result<()> {
        match &mut self.action {
            StorageAction::Load(load) => load.read(),
            StorageAction::Save(save) if save.path.as_deref() == Some(Path::new("-")) => {
                Err(Error::new(Code::CommandInvalid)
                    .message("saved storage is not printed: name a file"))
            }
            StorageAction::Save(_) => Ok(()),
        }
    }

    fn output_path(&self) -> Option<&Path> {
        match &self.action {
            StorageAction::Save(save) => save.path.as_deref(),
            StorageAction::Load(_) => None,
        }
    }
}

impl VerbReply for StorageReply {
    fn file(&mut self) -> Option<ReplyFile<'_>> {
        (self.is == "saved").then_some(ReplyFile {
            path: &mut self.path,
            data: &mut self.data,
            name: ("storage", "json"),
            is_private: true,
        })
    }
}

impl Run for StorageCommand {
    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<StorageReply> {
        match &self.action {
            StorageAction::Save(_) => save(cx).await,
            StorageAction::Load(load) => {
                let state = load.state.as_ref().ok_or_else(|| {
                    Error::new(Code::CommandInvalid).message("there is no saved storage to load")
                })?;
                state.check().map_err(|why| Error::new(Code::StorageInvalid).message(why))?;
                load_into(cx, state, load.path.clone()).await
            }
        }
    }
}

/// The context of the named tab, or the caller's.
fn context_of(cx: &CommandContext<'_>, live: &RunningBrowser) -> Result<Option<String>> {
    match cx.named_tab() {
        Some(id) => live.tab(id).map(|tab| tab.context.clone()),
        None => Ok(cx.context.clone()),
    }
}

async fn save(cx: &mut CommandContext<'_>) -> Result<StorageReply> {
    cx.unless_lost()?;
    let live = cx.live().await?;
    let context = context_of(cx, &live)?;
    let browser_context_id = match &context {
        Some(name) => Some(live.context_id(Some(name)).ok_or_else(|| live.no_context(name))?),
        None => None,
    };
    let get = GetCookies { browser_context_id };
    let cookies = live.connection.browser().call(get, cx.progress.deadline).await?.cookies;
    let cookies = cookies.unwrap_or_default().into_iter().map(SavedCookie::from).collect();
    let origins = local_storage(cx, &live, context.as_deref()).await;
    let state = StorageState { cookies, origins };
    let data = serde_json::to_vec(&InClear(&state))
        .map_err(|error| Error::new(Code::InternalUnhandled).message(error.to_string()))?;
    Ok(StorageReply::of(&state, "saved", None, data))
}

/// The local storage of an origin: the origin, its entries, and the number of unreadable ones.
type OriginStorage = (String, Vec<(String, SecretString)>, usize);

/// The local storage of the origins that are open in tabs. Storage of cross-site frames is partitioned by the page
/// around them, so frames are not read.
async fn local_storage(
    cx: &mut CommandContext<'_>,
    live: &RunningBrowser,
    context: Option<&str>,
) -> Vec<SavedOrigin> {
    let mut asked = JoinSet::new();
    let deadline = cx.progress.deadline.at_most(READ_TIMEOUT);
    for row in live.tabs().into_iter().filter(|row| row.tab.context.as_deref() == context) {
        let url = row.tab.state.borrow().url.clone();
        if url.starts_with("http://") || url.starts_with("https://") {
            asked.spawn(async move { (row.tab.id, url, read_origin(&row.tab, deadline).await) });
        }
    }
    let mut answers = asked.join_all().await;
    answers.sort_by_key(|(id, ..)| *id);
    let mut origins: Vec<SavedOrigin> = Vec::new();
    let mut silent: Vec<(TabId, String)> = Vec::new();
    let mut known: Vec<String> = Vec::new();
    for (id, url, answer) in answers {
        let Some((origin, entries, left_out)) = answer else {
            silent.push((id, url));
            continue;
        };
        if known.contains(&origin) {
            continue;
        }
        if left_out > 0 {
            let message =
                format!("{left_out} entries of an origin are not valid text and were left out");
            cx.progress.notes.push(Note::new("left-out", message).with_page_text(&origin));
        }
        known.push(origin.clone());
        if !entries.is_empty() {
            let entry = |(name, value)| SavedEntry { name, value };
            let local_storage = entries.into_iter().map(entry).collect();
            origins.push(SavedOrigin { origin, local_storage, has_databases: false });
        }
    }
    // Another tab may have the same origin.
    silent.retain(|(_, url)| {
        !known
            .iter()
            .any(|origin| url.strip_prefix(&**origin).is_some_and(|it| it.starts_with('/')))
    });
    for (id, _) in silent {
        let message =
            format!("tab {id} does not answer: the local storage of its origin is left out");
        cx.progress.notes.push(Note::new("left-out", message));
    }
    origins
}

/// Reads the local storage of a tab's origin; `None` if it does not respond.
async fn read_origin(tab: &Arc<Tab>, deadline: Deadline) -> Option<OriginStorage> {
    // An early script can crash a tab that is being created.
    if !tab.state.borrow().is_ready {
        return None;
    }
    match run_isolated::<OriginStorage>(
        tab,
        include_str!("../../js/local_storage_read.js").into(),
        deadline,
    )
    .await
    {
        Ok(origin) => Some(origin),
        Err(error) => {
            tracing::debug!(tab = %tab.id, code = %error.code(), "local storage not read");
            None
        }
    }
}

/// Runs a script in the isolated world of a page.
async fn run_isolated<T: DeserializeOwned>(
    tab: &Tab,
    expression: String,
    deadline: Deadline,
) -> Result<T> {
    let world =
        CreateIsolatedWorld { frame_id: tab.target_id.clone(), world_name: Some(WORLD.into()) };
    let context_id = tab.call(world, deadline).await?.execution_context_id;
    let evaluate = Evaluate {
        expression,
        context_id,
        return_by_value: Some(true),
        silent: Some(true),
        ..Evaluate::default()
    };
    let value = tab.call(evaluate, deadline).await?.result.and_then(|result| result.value);
    // The raw value may contain stored data, so it is not in the error.
    value
        .and_then(|value| serde_json::from_str(value.get()).ok())
        .ok_or_else(|| Error::new(Code::EvalThrew).message("the page has no local storage"))
}

async fn load_into(
    cx: &mut CommandContext<'_>,
    state: &StorageState,
    path: Option<PathBuf>,
) -> Result<StorageReply> {
    let live = cx.live().await?;
    let context = context_of(cx, &live)?;
    cx.acknowledge_loss();
    let browser_context_id = match &context {
        Some(name) => Some(live.context(name, cx.progress.deadline).await?),
        None => None,
    };
    let set =
        SetCookies { cookies: state.cookies.iter().map(Into::into).collect(), browser_context_id };
    live.connection.browser().call(set, cx.progress.deadline).await.map_err(
        |error| match error {
            // The browser sets all cookies or none.
            cdp::Error::Remote { .. } => {
                Error::new(Code::StorageInvalid).message("the browser rejects one of the cookies")
            }
            other => other.into(),
        },
    )?;
    for it in state.origins.iter().filter(|it| it.has_databases) {
        let message = "the databases of an origin are not restored";
        cx.progress.notes.push(Note::new("left-out", message).with_page_text(&it.origin));
    }
    if state.entries() > 0 {
        let temporary =
            TemporaryTab { tab: live.new_tab(context.as_deref(), cx.progress.deadline).await? };
        write(&live, &temporary.tab, &state.origins, cx.progress.deadline).await?;
        live.close_tab(&temporary.tab, cx.progress.deadline).await?;
    }
    Ok(StorageReply::of(state, "loaded", path, Vec::new()))
}

/// A tab that is closed when dropped.
struct TemporaryTab {
    tab: Arc<Tab>,
}

impl Drop for TemporaryTab {
    fn drop(&mut self) {
        if self.tab.state.borrow().end.is_none() {
            let close = CloseTarget { target_id: self.tab.target_id.clone() };
            self.tab.channel.connection().browser().post(&close);
        }
    }
}

/// Navigates a tab of ours through origins and writes their local storage. Requests are intercepted: no server is
/// contacted.
async fn write(
    live: &RunningBrowser,
    tab: &Tab,
    origins: &[SavedOrigin],
    deadline: Deadline,
) -> Result<()> {
    if let Some(session) = tab.channel.session() {
        live.proxies.leave(session);
    }
    let mut held = tab.channel.events(&[RequestPaused::NAME], 64);
    tab.call(SetBypassServiceWorker { bypass: true }, deadline).await?;
    let all = RequestPattern { url_pattern: Some("*".into()) };
    tab.call(Enable { patterns: vec![all], handle_auth_requests: None }, deadline).await?;
    tokio::select! {
        written = write_all(tab, origins, deadline) => written,
        () = answer(&mut held, tab) => Err(Error::new(Code::StorageNotLoaded)),
    }
}

async fn write_all(tab: &Tab, origins: &[SavedOrigin], deadline: Deadline) -> Result<()> {
    for (index, it) in origins.iter().filter(|it| !it.local_storage.is_empty()).enumerate() {
        let failed = |why: &str| {
            Error::new(Code::StorageNotLoaded)
                .message(format!("the local storage of `{}` was not restored: {why}", it.origin))
                .evidence("originsDone", index)
        };
        arrive(tab, &it.origin, deadline).await?.map_err(failed)?;
        let entries: Vec<_> = it.local_storage.iter().map(|it| (&it.name, &it.value)).collect();
        let script = include_str!("../../js/local_storage_write.js");
        let script = format!("({script})({}, {})", json(&it.origin), json(&InClear(&entries)));
        let why: String = run_isolated(tab, script, deadline).await?;
        if !why.is_empty() {
            return Err(failed(&why));
        }
    }
    Ok(())
}

/// Navigates to an origin and waits for our page; the inner error is the reason of a failure.
async fn arrive(
    tab: &Tab,
    origin: &str,
    deadline: Deadline,
) -> Result<std::result::Result<(), &'static str>> {
    let navigate = Navigate { url: format!("{origin}/"), ..Navigate::default() };
    let reply = tab.call(navigate, deadline).await?;
    if reply.error_text.is_some() {
        return Ok(Err("the browser does not navigate there"));
    }
    let loader = reply.loader_id.unwrap_or_default();
    let mut state = tab.state.subscribe();
    let there = state.wait_for(|state| {
        state.end.is_some() || state.loader == loader && state.phase >= Phase::DomReady
    });
    Ok(match tokio::time::timeout_at(deadline.at(), there).await {
        Ok(Ok(state)) if state.end.is_none() => Ok(()),
        Ok(_) => Err("the tab is gone"),
        Err(_) => Err("its page did not load in time"),
    })
}

/// Answers every request with an empty page, until the tab is closed.
async fn answer(held: &mut Events, tab: &Tab) {
    while let Some(delivery) = held.next().await {
        let Delivery::Event(event) = delivery else { continue };
        let Ok(RequestPaused { request_id: Some(request_id), .. }) = event.decode() else {
            continue;
        };
        let html =
            HeaderEntry { name: Some("Content-Type".into()), value: Some("text/html".into()) };
        tab.channel.post(&FulfillRequest {
            request_id,
            response_code: 200,
            response_headers: vec![html],
            body: encode_base64(EMPTY_PAGE),
        });
    }
}

impl StorageReply {
    fn of(state: &StorageState, is: &str, path: Option<PathBuf>, data: Vec<u8>) -> Self {
        let has_some = |it: &&SavedOrigin| !it.local_storage.is_empty();
        Self {
            is: is.to_owned(),
            path,
            cookies: state.cookies.len(),
            origins: state.origins.iter().filter(has_some).count(),
            entries: state.entries(),
            data,
        }
    }
}

impl fmt::Display for StorageReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |count: usize, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        };
        if let Some(path) = &self.path {
            write!(f, "{}  ", path.display())?;
        }
        write!(
            f,
            "{} {}, {} of {}",
            self.is,
            of(self.cookies, "cookie", "cookies"),
            of(self.entries, "entry", "entries"),
            of(self.origins, "origin", "origins")
        )
    }
}
