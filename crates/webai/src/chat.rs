//! Sending a prompt and waiting for its answer. The intent to send is on the disk before the prompt is sent, and a prompt whose
//! fate is not known is looked for on the page before anything is sent again.

use crate::completion::{AnswerState, CompletionWatch};
use crate::conversation::{
    ConversationLook, Interstitial, LookOptions, look, prompt_hash, prompt_head,
};
use crate::envelope::{Envelope, PromptParts, render};
use crate::model_menu::{self, Cleanup, click};
use crate::resolve::{Resolved, resolve};
use crate::session::{EnvelopeSummary, SessionRecord, SessionStatus, SessionStore, now_ms, ulid};
use crate::status::{StatusOptions, WebAiStatus, bare_url, status};
use crate::tab::{Selectors, Tab, TabChoice};
use crate::vendor::{Feature, ModelAlias, ModelChoice, Vendor};
use browser::command::{
    ActionKind, Fill, Open, SettleArgs, SwitchTab, TabAction, TabCommand, TargetArgs, Upload,
};
use browser::page::capability::{CapabilityRow, CapabilityState};
use browser::page::snapshot::ElementRef;
use browser::{
    Code, Command, Driver, Error, Evidence, Result, RetryHint, SecretString, TabId, Target,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Time that the app gets to take a prompt.
const COMMIT_PATIENCE: Duration = Duration::from_secs(15);
/// Time that a draft has to stay in the composer before it counts as not sent.
const DRAFT_STAYS: Duration = Duration::from_secs(2);
/// Time that the app gets to take files.
const UPLOAD_PATIENCE: Duration = Duration::from_secs(60);
/// Time that a restored conversation gets to show its turns.
const RESTORE_PATIENCE: Duration = Duration::from_secs(15);
/// Shortest and longest pause between two looks at an answer.
const POLL_PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(500));
/// Pause between two looks in the shorter waits.
const PAUSE: Duration = Duration::from_millis(100);
/// The field that a file goes into, visible or not.
const FILE_FIELD: &str = "input[type=file]";
/// Time after which turns of the user that are not recognized are looked for by their text.
const UNKNOWN_TURNS: Duration = Duration::from_secs(2);
/// Time that another process gets to send in the same tab.
const LOCK_PATIENCE: Duration = Duration::from_secs(30);
/// Looks at an answer that may fail in a row.
const MAX_FAILURES: u32 = 5;
/// Largest attachment.
const MAX_FILE: u64 = 100 << 20;

/// Options of `web-ai send`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SendOptions {
    /// The parts of the prompt.
    pub parts: PromptParts,
    /// The model to choose first.
    pub model: Option<String>,
    /// Files to attach.
    pub files: Vec<PathBuf>,
    /// The prompt goes without files.
    pub inline_only: bool,
    /// Time for the answer, instead of the vendor's.
    pub timeout: Option<Duration>,
    /// The profile that the browser should run with.
    pub profile: Option<String>,
}

/// Progress of an answer, for a person who waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatProgress {
    /// The prompt was sent; its session.
    Sent(String),
    /// The answer has this many characters so far.
    Streaming(u32),
}

/// Called with progress.
pub type OnProgress<'p> = &'p (dyn Fn(ChatProgress) + Send + Sync);

/// The reply of `send`, `poll`, `query` and `stop`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatReply {
    /// False if the answer cannot come any more.
    pub ok: bool,
    /// The vendor.
    pub vendor: String,
    /// The state of the session.
    pub status: SessionStatus,
    /// The session.
    pub session_id: String,
    /// The address of the conversation, if it has one.
    pub url: Option<String>,
    /// The answer, as far as it is there.
    pub answer: Option<String>,
    /// Remarks.
    pub warnings: Vec<String>,
    /// The suggested next step.
    pub next: String,
}

impl ChatReply {
    fn of(session: &SessionRecord) -> Self {
        let next = match session.status {
            SessionStatus::Complete | SessionStatus::Aborted => "send",
            SessionStatus::Blocked => "login",
            SessionStatus::Error | SessionStatus::Failed => "re-snapshot",
            _ => "poll",
        };
        Self {
            ok: !matches!(
                session.status,
                SessionStatus::Error | SessionStatus::Failed | SessionStatus::Blocked
            ),
            vendor: session.vendor.clone(),
            status: session.status,
            session_id: session.session_id.clone(),
            url: session.conversation_url.clone(),
            answer: session.answer.clone(),
            warnings: session.warnings.clone(),
            next: next.into(),
        }
    }
}

impl fmt::Display for ChatReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.answer {
            Some(answer) => f.write_str(answer),
            None => write!(
                f,
                "{}: session {}; next: {}",
                self.status.as_str(),
                self.session_id,
                self.next
            ),
        }
    }
}

/// A chat app in a tab, with the sessions of all.
pub(crate) struct Chat<'c, D: Driver + Send + Sync + 'static> {
    pub(crate) driver: &'c Arc<D>,
    pub(crate) choice: TabChoice,
    pub(crate) vendor: &'c Arc<Vendor>,
    pub(crate) store: &'c SessionStore,
    pub(crate) cleanup: &'c Cleanup,
    /// The daemon's session.
    pub(crate) browser_session: &'c str,
}

impl<D: Driver + Send + Sync + 'static> Chat<'_, D> {
    fn tab(&self) -> Tab<'_, D> {
        Tab::new(&**self.driver, &self.choice, self.vendor)
    }

    async fn look(&self) -> Result<ConversationLook> {
        self.look_with(LookOptions::default()).await
    }

    async fn look_with(&self, options: LookOptions<'_>) -> Result<ConversationLook> {
        look(&self.tab(), self.vendor, options).await
    }

    /// Sends a prompt. Only one process at a time sends in a tab.
    pub(crate) async fn send(
        &mut self,
        options: &SendOptions,
        progress: OnProgress<'_>,
    ) -> Result<SessionRecord> {
        let envelope = self.preflight(options)?;
        let hash = prompt_hash(&envelope.text);
        self.stay_in_tab().await?;
        let _lock = self.send_lock(self.browser_session, self.choice.tab).await?;
        // The fate of an earlier attempt with the same prompt comes first.
        if let Some(earlier) = self.unknown_fate(&hash)? {
            let is_ours =
                earlier.browser_session == self.browser_session && earlier.tab == self.choice.tab;
            if !is_ours
                && self.store.try_send_lock(&earlier.browser_session, earlier.tab)?.is_none()
            {
                return Err(Error::new(Code::TabBusy)
                    .message("another process sends the same prompt in another tab"));
            }
            let choice = self.choice.clone();
            let found = self.reconcile(&earlier, Some(&prompt_head(&envelope.text))).await?;
            self.choice = choice;
            if let Some(sent) = found {
                progress(ChatProgress::Sent(sent.session_id.clone()));
                return Ok(sent);
            }
        }
        let rows = self.capability_rows(options).await?;
        let sent = self.send_checked(options, &envelope, &hash).await;
        let session = sent.map_err(|error| match error.details().mutation_allowed {
            true => error,
            false => error.evidence("capabilities", Evidence::Rows(rows)),
        })?;
        progress(ChatProgress::Sent(session.session_id.clone()));
        Ok(session)
    }

    /// Waits for the right to send in a tab.
    async fn send_lock(&self, browser_session: &str, tab: Option<TabId>) -> Result<File> {
        let begun = Instant::now();
        loop {
            if let Some(lock) = self.store.try_send_lock(browser_session, tab)? {
                return Ok(lock);
            }
            if begun.elapsed() > LOCK_PATIENCE {
                return Err(
                    Error::new(Code::TabBusy).message("another process sends a prompt in this tab")
                );
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Checks what needs no browser.
    fn preflight(&self, options: &SendOptions) -> Result<Envelope> {
        let envelope = render(&options.parts)?;
        let refused =
            |message: String| Error::new(Code::ProviderAttachmentPreflight).message(message);
        match (options.inline_only, options.files.is_empty()) {
            (false, true) => {
                return Err(refused(
                    "say that no file goes along: `--inline-only`, or name files: `--file PATH`"
                        .into(),
                ));
            }
            (true, false) => {
                return Err(refused("`--inline-only` cannot be combined with `--file`".into()));
            }
            _ => {}
        }
        for path in &options.files {
            check_file(path)?;
        }
        if let Some(model) = &options.model
            && self.vendor.models.find(model).is_none()
        {
            let known: Vec<String> =
                self.vendor.models.choices.iter().map(|choice| choice.id.clone()).collect();
            return Err(Error::new(Code::ProviderModelMismatch)
                .message(format!(
                    "{} has no model `{model}`: expected one of `{}`",
                    self.vendor.name,
                    known.join("`, `")
                ))
                .evidence("known", known));
        }
        Ok(envelope)
    }

    /// All commands go to the tab that is the current one now, whatever becomes current meanwhile.
    async fn stay_in_tab(&mut self) -> Result<()> {
        if let Some(info) = self.tab().info().await? {
            self.choice.tab = Some(info.id);
        }
        Ok(())
    }

    /// Collects the rows, and fails by the first that forbids to send.
    async fn capability_rows(&self, options: &SendOptions) -> Result<Vec<CapabilityRow>> {
        let asked = StatusOptions {
            probe: None,
            model: options.model.clone(),
            with_files: !options.files.is_empty(),
            profile: options.profile.clone(),
        };
        let WebAiStatus { capabilities: rows, .. } =
            status(self.driver, &self.choice, self.vendor, &asked, self.cleanup).await?;
        let own = |name: &str| format!("{}-{name}", self.vendor.id);
        let row = |id: &str| rows.iter().find(|row| row.capability_id == id);
        let state = |name: &str| row(&own(name)).map_or(CapabilityState::Unknown, |row| row.state);
        let name = &self.vendor.name;
        let is_headless = row("agbrowse-cdp-connected")
            .and_then(|row| row.evidence.as_ref()?.get("headed")?.as_bool())
            .is_some_and(|headed| !headed);
        let failed = |code, message: String| Some(Error::new(code).message(message));
        let is_fail = |id: &str| row(id).is_some_and(|row| row.state == CapabilityState::Fail);
        // Its probe failed or took too long.
        let is_unchecked = |name: &str| {
            let evidence = row(&own(name)).and_then(|row| row.evidence.as_ref());
            evidence.is_some_and(|evidence| evidence.contains_key("error"))
        };
        let is_there = state("active-tab-verification") == CapabilityState::Ok;
        let interstitial = match state("composer-visible") {
            CapabilityState::Ok => None,
            _ if is_there => self.look().await?.interstitial(),
            _ => None,
        };
        let bad = |state| matches!(state, CapabilityState::Fail | CapabilityState::Warn);
        let error = match () {
            () if state("active-tab-verification") == CapabilityState::Fail => failed(
                Code::CdpTargetMismatch,
                format!("the tab does not show {name}: `agbrowse open {}`", self.vendor.url),
            ),
            () if self.vendor.headed && is_headless => failed(
                Code::CdpHeadless,
                format!(
                    "{name} is driven in a browser with a window only: start it with `--headed`"
                ),
            ),
            () if state("session-logged-in") == CapabilityState::Fail => failed(
                Code::ProviderLoginRequired,
                format!("{name} asks for a login: a person has to sign in"),
            ),
            () if interstitial == Some(Interstitial::Login) => failed(
                Code::ProviderLoginRequired,
                format!("{name} asks for a login: a person has to sign in"),
            ),
            () if interstitial == Some(Interstitial::Challenge) => failed(
                Code::ProviderComposerNotVisible,
                format!(
                    "{name} checks who is there: a person has to answer, in the browser's window"
                ),
            ),
            () if state("composer-visible") != CapabilityState::Ok => failed(
                Code::ProviderComposerNotVisible,
                format!("the composer of {name} cannot be used"),
            ),
            () if bad(state("response-streaming")) => failed(
                Code::ProviderAnswerStreaming,
                format!("{name} still answers the last prompt"),
            ),
            () if state("model-alias-selectable") == CapabilityState::Fail => failed(
                Code::ProviderModelMismatch,
                format!(
                    "the model `{}` cannot be chosen",
                    options.model.as_deref().unwrap_or_default()
                ),
            ),
            () if state("upload-surface-visible") == CapabilityState::Fail => {
                failed(Code::ProviderAttachmentPreflight, format!("{name} takes no files here"))
            }
            () if is_unchecked("session-logged-in") || is_unchecked("response-streaming") => {
                failed(
                    Code::ProviderComposerNotVisible,
                    format!("the page of {name} could not be checked"),
                )
            }
            () if is_fail("agbrowse-profile-matches") => failed(
                Code::BrowserOptionsConflict,
                "the browser runs with another profile than the settings ask for".into(),
            ),
            () => None,
        };
        match error {
            Some(error) => Err(error.evidence("capabilities", Evidence::Rows(rows))),
            None => Ok(rows),
        }
    }

    async fn send_checked(
        &self,
        options: &SendOptions,
        envelope: &Envelope,
        hash: &str,
    ) -> Result<SessionRecord> {
        let names: Vec<String> = options.files.iter().filter_map(|path| file_name(path)).collect();
        let mut choice = None;
        match options.model.as_deref().and_then(|model| self.vendor.models.find(model)) {
            Some(ModelAlias::Choice(wanted)) => {
                self.select_model(wanted).await?;
                choice = Some(wanted);
            }
            Some(ModelAlias::Tool(tool)) => {
                return Err(Error::new(Code::CapabilityUnsupported)
                    .message(format!("the tool `{}` cannot be switched on yet", tool.id)));
            }
            None => {}
        }
        let needle = prompt_head(&envelope.text);
        if !options.files.is_empty() {
            self.attach(&options.files, &names).await?;
        }
        let before = self.write_prompt(&envelope.text, hash, &needle).await?;
        let now = now_ms();
        let session = SessionRecord {
            session_id: ulid(),
            vendor: self.vendor.id.clone(),
            created_at: now,
            updated_at: now,
            deadline_at: now + milliseconds(self.answer_time(options, choice)),
            browser_session: self.browser_session.to_owned(),
            tab: self.choice.tab,
            original_url: self.tab().info().await?.map(|info| bare_url(&info.url)),
            conversation_url: None,
            prompt_hash: hash.to_owned(),
            prompt_chars: u32::try_from(envelope.text.chars().count()).unwrap_or(u32::MAX),
            envelope_summary: EnvelopeSummary {
                model: choice.map(|choice| choice.id.clone()),
                attachment_policy: if names.is_empty() { "inline-only" } else { "upload" }.into(),
                file_count: names.len() as u32,
                assistant_count: before.answers,
                user_count: before.users,
                shown_count: before.needle_count,
            },
            status: SessionStatus::Sending,
            answer: None,
            last_error: None,
            warnings: envelope.warnings.clone(),
            last_response_chars: 0,
        };
        let send = self.element(Feature::SendButton, ActionKind::Click).await?;
        // Nobody has written anything else meanwhile.
        self.check_draft(&self.look().await?, hash, &envelope.text)?;
        // From here on it may be sent, also if this process ends.
        self.store.add(session.clone())?;
        let told = |error: Error| {
            error.evidence("sessionId", session.session_id.clone()).mutation_allowed(true)
        };
        if let Err(error) = self.tab().run(click(send.target)).await {
            // Refused before any input: it is still in the composer.
            let is_unsent = is_before_input(error.code());
            let status = if is_unsent { SessionStatus::Failed } else { SessionStatus::Sending };
            self.store.update(&session.session_id, |it| {
                it.status = status;
                it.last_error = Some(error.code().to_string());
            })?;
            return Err(if is_unsent { error } else { told(error) });
        }
        self.verify_commit(&session, &needle).await.map_err(told)
    }

    /// The time for an answer: the caller's, that of the model's tier, or the vendor's.
    fn answer_time(&self, options: &SendOptions, choice: Option<&ModelChoice>) -> Duration {
        let tier = choice.and_then(|choice| self.vendor.tiers.get(choice.tier.as_ref()?));
        options.timeout.or(tier.copied()).unwrap_or(self.vendor.answer_timeout)
    }

    /// The element of a feature.
    async fn element(&self, feature: Feature, action: ActionKind) -> Result<Resolved> {
        let target = self.vendor.target(feature).ok_or_else(|| {
            Error::new(Code::TargetUnresolved).message(format!(
                "the vendor file of {} has no target `{}`",
                self.vendor.name,
                feature.key()
            ))
        })?;
        let tab = self.tab();
        let selectors: Selectors<'_> = [(feature.key(), &*target.css_fallbacks)].into();
        let seen = tab.inspect(&selectors, &Selectors::new()).await?;
        let counts = seen.features.get(feature.key()).map(Vec::as_slice).unwrap_or_default();
        let found = resolve(&tab, target, action, counts).await?;
        found.map_err(|unresolved| unresolved.error(self.vendor, feature))
    }

    /// Chooses a model, and reads back whether it is active.
    async fn select_model(&self, wanted: &ModelChoice) -> Result<()> {
        let models = &self.vendor.models;
        let mismatch = |message: String| Error::new(Code::ProviderModelMismatch).message(message);
        if self.active_model().await?.as_deref() == Some(&*wanted.id) {
            return Ok(());
        }
        let (mut menu, state) = self
            .open_menu()
            .await?
            .ok_or_else(|| mismatch("the menu of models did not open".into()))?;
        let Some(item) = state.item(wanted).filter(|item| !item.disabled) else {
            menu.close().await?;
            return Err(mismatch(format!("the model `{}` is not in the menu", wanted.id)));
        };
        if !item.active {
            let id = &item.test_id;
            let by_id = || Target::Css(format!("[data-testid={id:?}], [data-test-id={id:?}]"));
            let target = match id.is_empty() {
                false => by_id(),
                true => format!("role={}[name={:?}]", item.role, item.text)
                    .parse()
                    .map_err(|error: String| mismatch(error))?,
            };
            self.tab().run(click(target)).await?;
        }
        menu.close().await?;
        match self.active_model().await? {
            Some(active) if active == wanted.id => Ok(()),
            active => Err(mismatch(format!(
                "the model `{}` was chosen, but `{}` is active",
                wanted.id,
                active.as_deref().unwrap_or("another one")
            ))
            .evidence(
                "models",
                models.choices.iter().map(|choice| choice.id.clone()).collect::<Vec<_>>(),
            )),
        }
    }

    /// The active model: read from the picker, or from the open menu, which is closed again.
    async fn active_model(&self) -> Result<Option<String>> {
        let models = &self.vendor.models;
        let shown = model_menu::read(&self.tab(), self.vendor).await?;
        if let Some(choice) = shown.active_on_picker(models) {
            return Ok(Some(choice.id.clone()));
        }
        let Some((mut menu, state)) = self.open_menu().await? else { return Ok(None) };
        menu.close().await?;
        let active = state.items.iter().find(|item| item.active);
        let choice = active.and_then(|item| models.choices.iter().find(|choice| item.is(choice)));
        Ok(choice.map(|choice| choice.id.clone()))
    }

    async fn open_menu(&self) -> Result<Option<(model_menu::OpenMenu<D>, model_menu::MenuState)>> {
        let Some(target) = self.vendor.target(Feature::ModelPicker) else { return Ok(None) };
        let key = Feature::ModelPicker.key();
        let selectors: Selectors<'_> = [(key, &*target.css_fallbacks)].into();
        let seen = self.tab().inspect(&selectors, &Selectors::new()).await?;
        let counts = seen.features.get(key).map(Vec::as_slice).unwrap_or_default();
        model_menu::open(self.driver, &self.choice, self.vendor, counts, self.cleanup).await
    }

    /// Attaches files, and waits until the app shows all of them and is done with them.
    async fn attach(&self, files: &[PathBuf], names: &[String]) -> Result<()> {
        let looking = LookOptions { files: Some(names), ..LookOptions::default() };
        let before = self.look_with(looking).await?.file_counts;
        self.give_files(files).await?;
        let begun = Instant::now();
        loop {
            let seen = self.look_with(looking).await?;
            // Earlier turns may name files too.
            let is_shown = |name: &&String| seen.file_counts.get(*name) > before.get(*name);
            if names.iter().all(|name| is_shown(&name)) && !seen.busy {
                return Ok(());
            }
            if begun.elapsed() > UPLOAD_PATIENCE {
                let missing: Vec<String> =
                    names.iter().filter(|name| !is_shown(name)).cloned().collect();
                return Err(Error::new(Code::ProviderAttachmentEvidenceMissing)
                    .message(format!(
                        "{} does not show `{}` as attached",
                        self.vendor.name,
                        missing.join("`, `")
                    ))
                    .evidence("missing", missing));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Gives the files to the app: to its only file field, else by its upload button, or by an item of the menu that the
    /// button opens.
    async fn give_files(&self, files: &[PathBuf]) -> Result<()> {
        let upload = |target| {
            Command::Upload(Upload {
                target_args: Some(TargetArgs::at(target)),
                files: files.to_vec(),
                chooser: None,
                after: SettleArgs::default(),
            })
        };
        let fields = [FILE_FIELD.to_owned()];
        let selectors: Selectors<'_> = [("fields", &fields[..])].into();
        let seen = self.tab().inspect(&selectors, &Selectors::new()).await?;
        if seen.matched("fields").is_some_and(|count| count.matched == 1) {
            return self.tab().run(upload(Target::Css(FILE_FIELD.into()))).await.map(drop);
        }
        let surface = self.element(Feature::UploadSurface, ActionKind::Click).await?;
        let refused = match self.tab().run(upload(surface.target)).await {
            Err(error) if error.code() == Code::ActNotTaken => error,
            done => return done.map(drop),
        };
        match self.upload_item().await? {
            Some(item) => self.tab().run(upload(item)).await.map(drop),
            None => Err(refused),
        }
    }

    /// The item of an open menu that takes files.
    async fn upload_item(&self) -> Result<Option<Target>> {
        let snapshot = self.tab().snapshot(Default::default()).await?;
        let is_it = |it: &&ElementRef| {
            let name = it.name.to_lowercase();
            it.role.starts_with("menuitem")
                && ["file", "upload", "computer", "device"].iter().any(|word| name.contains(word))
        };
        let item = snapshot.refs.iter().find(is_it).and_then(|it| it.live_ref.as_ref());
        Ok(item.and_then(|name| name.parse().ok()))
    }

    /// Writes the prompt into the composer, and reads back whether it holds it.
    async fn write_prompt(&self, text: &str, hash: &str, needle: &str) -> Result<ConversationLook> {
        self.tab().require_host().await?;
        let composer =
            self.element(Feature::Composer, ActionKind::Fill).await.map_err(|error| match error
                .code()
            {
                Code::TargetUnresolved => Error::new(Code::ProviderComposerNotVisible)
                    .message(error.details().message.clone()),
                _ => error,
            })?;
        let fill = Fill {
            target_args: TargetArgs::at(composer.target),
            value: Some(SecretString::from(text)),
            secret: None,
            submit: false,
            after: SettleArgs::default(),
        };
        self.tab().run(Command::Fill(fill)).await?;
        let seen =
            self.look_with(LookOptions { needle: Some(needle), ..LookOptions::default() }).await?;
        self.check_draft(&seen, hash, text)?;
        Ok(seen)
    }

    /// Fails if the composer holds another text than the prompt. One that is not recognized in the page was read back by
    /// `fill` itself.
    fn check_draft(&self, seen: &ConversationLook, hash: &str, text: &str) -> Result<()> {
        match &seen.draft {
            Some(draft) if prompt_hash(draft) != hash => {
                Err(Error::new(Code::ProviderCommitNotVerified)
                    .message("the composer holds another text than the prompt; it was not sent")
                    .evidence("promptChars", text.chars().count())
                    .evidence("draftChars", draft.chars().count()))
            }
            _ => Ok(()),
        }
    }

    /// Waits until the app has taken the prompt: a new turn of the user, and an empty composer.
    async fn verify_commit(&self, session: &SessionRecord, needle: &str) -> Result<SessionRecord> {
        let begun = Instant::now();
        let counting = LookOptions { needle: Some(needle), ..LookOptions::default() };
        loop {
            let seen = self.look_with(counting).await?;
            let before = &session.envelope_summary;
            // Where turns are not recognized, the prompt itself is looked for.
            let has_turn = match seen.knows_user_turns() {
                true => seen.users > before.user_count && seen.has_prompt_head(needle),
                false => begun.elapsed() > UNKNOWN_TURNS && seen.needle_count > before.shown_count,
            };
            if has_turn && (seen.has_empty_composer() || seen.draft.is_none()) {
                let url = self.conversation_url(&seen);
                return self.store.update(&session.session_id, |it| {
                    it.status = SessionStatus::Sent;
                    it.conversation_url = url;
                });
            }
            if begun.elapsed() > COMMIT_PATIENCE {
                let error = Error::new(Code::ProviderCommitNotVerified)
                    .message(format!("{} did not show the prompt as sent", self.vendor.name))
                    .evidence("sessionId", session.session_id.clone())
                    .evidence("composerEmpty", seen.has_empty_composer())
                    .evidence("newUserTurn", has_turn);
                self.store
                    .update(&session.session_id, |it| it.last_error = Some(error.to_string()))?;
                return Err(error);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The address of the conversation that a page shows.
    fn conversation_url(&self, seen: &ConversationLook) -> Option<String> {
        let is_one =
            self.vendor.conversation_path.as_ref().is_some_and(|path| path.is_match(&seen.path));
        // The port too, where it is not the usual one.
        let origin = self.vendor.url.split('/').take(3).collect::<Vec<_>>().join("/");
        let origin = match self.vendor.matching_host(&origin) {
            Some(host) if host == seen.host => origin,
            _ => format!("https://{}", seen.host),
        };
        is_one.then(|| format!("{origin}{}", seen.path))
    }

    /// An earlier session with the same prompt whose fate is not known.
    fn unknown_fate(&self, hash: &str) -> Result<Option<SessionRecord>> {
        let mut all = self.store.all()?;
        all.retain(|it| {
            // Of any browser: the session of a server that was killed has another name when it is started anew.
            it.status == SessionStatus::Sending
                && it.vendor == self.vendor.id
                && it.prompt_hash == hash
        });
        Ok(all.pop())
    }

    /// Finds out whether the prompt of a session was sent. `None` if it surely was not: it can be sent again.
    async fn reconcile(
        &mut self,
        session: &SessionRecord,
        needle: Option<&str>,
    ) -> Result<Option<SessionRecord>> {
        let unknown = |why: &str| {
            Error::new(Code::ProviderCommitUnknown)
                .message(format!(
                    "the same prompt may have been sent before, by session {}: {why}; look in {}, then `agbrowse web-ai \
                     sessions forget {0}`",
                    session.session_id, self.vendor.name
                ))
                .evidence("sessionId", session.session_id.clone())
        };
        if !self.show(session).await? {
            return Err(unknown("its tab is gone, and its conversation had no address yet"));
        }
        let begun = Instant::now();
        let before = &session.envelope_summary;
        let mut draft_since = None;
        let unsent = loop {
            let seen = self.look_with(LookOptions { needle, ..LookOptions::default() }).await?;
            let is_draft = seen
                .draft
                .as_deref()
                .is_some_and(|draft| prompt_hash(draft) == session.prompt_hash);
            let has_turn = match seen.knows_user_turns() {
                true => seen.users > before.user_count && seen.has_prompt(&session.prompt_hash),
                false => !is_draft && seen.needle_count > before.shown_count,
            };
            if has_turn {
                let url = self.conversation_url(&seen);
                let sent = self.store.update(&session.session_id, |it| {
                    it.status = SessionStatus::Sent;
                    it.conversation_url = url;
                })?;
                return Ok(Some(sent));
            }
            // A click that was on its way when its process ended may still arrive.
            match is_draft && seen.users == before.user_count {
                true => {
                    if draft_since.get_or_insert_with(Instant::now).elapsed() > DRAFT_STAYS {
                        break true;
                    }
                }
                false => draft_since = None,
            }
            if begun.elapsed() > COMMIT_PATIENCE {
                break false;
            }
            tokio::time::sleep(PAUSE).await;
        };
        if !unsent {
            return Err(unknown("the page shows neither the prompt nor a draft of it"));
        }
        self.store.update(&session.session_id, |it| {
            it.status = SessionStatus::Failed;
            it.last_error = Some("never sent: the prompt was still in the composer".into());
        })?;
        Ok(None)
    }

    /// Goes to the tab of a session, or opens its conversation. `false` if there is no way to it.
    async fn show(&mut self, session: &SessionRecord) -> Result<bool> {
        if let Some(tab) = session.tab
            && session.browser_session == self.browser_session
            && self.shows(tab, session).await?
        {
            self.choice.tab = Some(tab);
            return Ok(true);
        }
        let Some(url) = &session.conversation_url else { return Ok(false) };
        self.choice.tab = None;
        let open = Open { url: url.clone(), new_tab: true, ..Open::default() };
        let opened = self.tab().run(Command::Open(open)).await?;
        self.choice.tab = opened.tab;
        let browser_session = self.browser_session.to_owned();
        self.store.update(&session.session_id, |it| {
            it.tab = opened.tab;
            it.browser_session = browser_session;
        })?;
        self.tab().require_host().await?;
        Ok(true)
    }

    /// True if a tab shows the session's conversation, or, before it has an address, the page it was sent from.
    async fn shows(&self, tab: TabId, session: &SessionRecord) -> Result<bool> {
        let choice = TabChoice { tab: Some(tab), ..self.choice.clone() };
        let Some(info) = Tab::new(&**self.driver, &choice, self.vendor).info().await? else {
            return Ok(false);
        };
        let url = bare_url(&info.url);
        let is_vendor = self.vendor.matching_host(&url).is_some() && !info.crashed;
        Ok(is_vendor && session.conversation_url.as_ref().is_none_or(|wanted| *wanted == url))
    }

    /// Waits for the answer of a session: until it is complete, or for a time.
    pub(crate) async fn poll(
        &mut self,
        id: &str,
        wait: Duration,
        progress: OnProgress<'_>,
    ) -> Result<SessionRecord> {
        let mut session = self.store.get(id)?;
        if session.status == SessionStatus::Sending {
            // Its process is still at it.
            if self.store.try_send_lock(&session.browser_session, session.tab)?.is_none() {
                return Ok(session);
            }
            match self.reconcile(&session, None).await? {
                Some(sent) => session = sent,
                None => return self.store.get(id),
            }
        }
        if !session.status.is_active() {
            return Ok(session);
        }
        if !self.show(&session).await? {
            return Err(Error::new(Code::TabTargetLost).message(format!(
                "the tab of session {} is gone, and its conversation had no address yet",
                session.session_id
            )));
        }
        let begun = Instant::now();
        let session_id = session.session_id.clone();
        let answer_at = Some(session.envelope_summary.assistant_count);
        let looking = LookOptions { answer_at, ..LookOptions::default() };
        let mut watch =
            CompletionWatch::new(&self.vendor.answer, session.envelope_summary.assistant_count);
        let mut pause = POLL_PAUSE.0;
        let mut chars = 0;
        let mut failures = 0;
        let told = |error: Error| {
            let error = error.evidence("sessionId", session_id.clone());
            error.mutation_allowed(true).hint(RetryHint::PollOrResume)
        };
        loop {
            let seen = match self.look_with(looking).await {
                Ok(seen) => seen,
                // A page that was busy or just navigated; nothing is lost by another look.
                Err(error)
                    if failures < MAX_FAILURES && error.code() != Code::CdpTargetMismatch =>
                {
                    failures += 1;
                    tokio::time::sleep(pause).await;
                    continue;
                }
                Err(error) => return Err(told(error)),
            };
            failures = 0;
            if let Some(what) =
                seen.interstitial().filter(|_| begun.elapsed() > RESTORE_PATIENCE / 3)
            {
                return self.blocked(&session, what);
            }
            self.require_conversation(&session, &seen).map_err(told)?;
            if session.conversation_url.is_none()
                && let Some(url) = self.conversation_url(&seen)
            {
                session =
                    self.store.update(&session.session_id, |it| it.conversation_url = Some(url))?;
            }
            let state = watch.judge(&seen.answer_look(), begun.elapsed());
            if state == AnswerState::Streaming && seen.answer_chars != chars {
                chars = seen.answer_chars;
                pause = POLL_PAUSE.0;
                progress(ChatProgress::Streaming(chars));
            }
            if state == AnswerState::Complete
                && let Some(done) =
                    self.complete(&session, SessionStatus::Complete).await.map_err(told)?
            {
                return Ok(done);
            }
            if begun.elapsed() >= wait {
                let status = match (now_ms() >= session.deadline_at, state) {
                    (true, _) => SessionStatus::Timeout,
                    (false, AnswerState::Waiting) => SessionStatus::Polling,
                    (false, _) => SessionStatus::Streaming,
                };
                return self.store.update(&session.session_id, |it| {
                    it.status = status;
                    it.last_response_chars = chars;
                });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(POLL_PAUSE.1);
        }
    }

    fn blocked(&self, session: &SessionRecord, what: Interstitial) -> Result<SessionRecord> {
        self.store.update(&session.session_id, |it| {
            it.status = SessionStatus::Blocked;
            it.last_error = Some(what.as_str().to_owned());
            it.warnings
                .push(format!("{} stands in the way: a person has to deal with it", what.as_str()));
            it.warnings.dedup();
        })
    }

    /// Fails if the tab shows another conversation than that of a session.
    fn require_conversation(&self, session: &SessionRecord, seen: &ConversationLook) -> Result<()> {
        let shown = self.conversation_url(seen);
        match &session.conversation_url {
            Some(url) if shown.as_ref() != Some(url) => Err(Error::new(Code::TabTargetLost)
                .message("the tab shows another conversation now; poll again to open this one")),
            _ => Ok(()),
        }
    }

    /// Reads the answer and ends the session. `None` if the page shows no answer just now.
    async fn complete(
        &self,
        session: &SessionRecord,
        status: SessionStatus,
    ) -> Result<Option<SessionRecord>> {
        let answer_at = Some(session.envelope_summary.assistant_count);
        let options = LookOptions { with_answer: true, answer_at, ..LookOptions::default() };
        let seen = self.look_with(options).await?;
        self.require_conversation(session, &seen)?;
        let is_there = seen.answers > session.envelope_summary.assistant_count;
        let answer = seen.answer.filter(|_| is_there);
        if answer.is_none() && status == SessionStatus::Complete {
            return Ok(None);
        }
        let ended = self.store.update(&session.session_id, |it| {
            it.status = status;
            it.last_response_chars =
                answer.as_ref().map_or(0, |answer| answer.chars().count() as u32);
            it.answer = answer;
        })?;
        Ok(Some(ended))
    }

    /// Stops an answer that streams.
    pub(crate) async fn stop(&mut self, id: &str) -> Result<SessionRecord> {
        let mut session = self.store.get(id)?;
        if session.status == SessionStatus::Sending {
            match self.reconcile(&session, None).await? {
                Some(sent) => session = sent,
                None => return self.store.get(id),
            }
        }
        if !session.status.is_active() {
            return Ok(session);
        }
        if !self.show(&session).await? {
            return Err(Error::new(Code::TabTargetLost).message(format!(
                "the tab of session {} is gone, and its conversation had no address yet",
                session.session_id
            )));
        }
        let seen = self.look().await?;
        self.require_conversation(&session, &seen)?;
        if seen.streaming {
            let button = self.element(Feature::StreamingIndicator, ActionKind::Click).await?;
            self.tab().run(click(button.target)).await?;
            let begun = Instant::now();
            while self.look().await?.streaming {
                if begun.elapsed() > COMMIT_PATIENCE {
                    return Err(Error::new(Code::ActNoEffect)
                        .message(format!("{} did not stop its answer", self.vendor.name)));
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        match self.complete(&session, SessionStatus::Aborted).await? {
            Some(stopped) => Ok(stopped),
            None => self.store.get(id),
        }
    }

    /// Makes the tab of a session the current one, opening its conversation if needed.
    pub(crate) async fn reattach(&mut self, id: &str) -> Result<SessionRecord> {
        let session = self.store.get(id)?;
        if !self.show(&session).await? {
            return Err(Error::new(Code::TabTargetLost).message(format!(
                "the tab of session {} is gone, and its conversation had no address yet",
                session.session_id
            )));
        }
        if let Some(id) = self.choice.tab {
            let action = TabAction::Switch(SwitchTab { id });
            self.tab().run(Command::Tab(TabCommand { action })).await?;
        }
        self.store.get(id)
    }
}

impl From<&SessionRecord> for ChatReply {
    fn from(session: &SessionRecord) -> Self {
        Self::of(session)
    }
}

/// True for errors that say that no input was sent to the page.
fn is_before_input(code: Code) -> bool {
    matches!(
        code,
        Code::ActHidden
            | Code::ActDisabled
            | Code::ActInert
            | Code::ActCovered
            | Code::ActMoving
            | Code::ActMissed
            | Code::TargetNotFound
            | Code::TargetAmbiguous
            | Code::SnapshotRefNotFound
            | Code::SnapshotRefStale
    )
}

/// Checks a file that is to be attached.
fn check_file(path: &Path) -> Result<()> {
    let failed = |error: std::io::Error| {
        Error::new(Code::FileReadFailed)
            .message(format!("`{}` cannot be read: {error}", path.display()))
    };
    let about = std::fs::symlink_metadata(path).map_err(failed)?;
    if about.is_symlink() {
        return Err(Error::new(Code::ContextSymlinkRejected)
            .message(format!("`{}` is a symbolic link: name the file itself", path.display())));
    }
    if !about.is_file() {
        return Err(failed(std::io::Error::other("not a regular file")));
    }
    if about.len() > MAX_FILE {
        return Err(Error::new(Code::ContextOverBudget)
            .message(format!(
                "`{}` has {} bytes: at most {MAX_FILE} can be attached",
                path.display(),
                about.len()
            ))
            .evidence("bytes", about.len())
            .evidence("limit", MAX_FILE));
    }
    File::open(path).map(drop).map_err(failed)
}

fn file_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().into_owned())
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
