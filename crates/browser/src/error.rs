//! Errors for agents: code, stage, message, retry hint, evidence.
//!
//! The code is chosen where the failure happens. One table below lists every code with its default stage and hint;
//! `docs/errors.md` is generated from it.

use crate::note::Note;
use page::capability::CapabilityRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Larger evidence, in bytes of JSON, is truncated: an error has to fit into a model's context.
const EVIDENCE_BUDGET: usize = 4096;

/// The result of a command.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure that an agent can act on. See `docs/errors.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Error(Box<Details>);

/// The fields of an [`Error`], in output order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// The family of the error object.
    pub name: String,
    /// The documented error code.
    #[serde(rename = "errorCode")]
    pub code: Code,
    /// The stage of the failure.
    pub stage: Stage,
    /// One lower-case sentence.
    pub message: String,
    /// The retry hint.
    pub retry_hint: RetryHint,
    /// The chat app concerned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub vendor: Option<String>,
    /// True if the page may have been changed before the failure.
    #[serde(default)]
    pub mutation_allowed: bool,
    /// Selectors that were tried.
    #[serde(default)]
    pub selectors_tried: Vec<String>,
    /// Small facts: ids, counts, hashes.
    #[serde(default)]
    pub evidence: Option<BTreeMap<String, Evidence>>,
    /// The trace with details.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trace_id: Option<String>,
    /// The policy rule that decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rule_id: Option<String>,
    /// Notes of the command, as with a reply.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<Note>,
}

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Evidence {
    /// Unknown.
    Unknown,
    /// A boolean.
    Flag(bool),
    /// A count or an id.
    Number(i64),
    /// A name, a hash, an address.
    Text(String),
    /// Several texts.
    List(Vec<String>),
    /// Capability rows.
    Rows(Vec<CapabilityRow>),
}

impl Evidence {
    /// Its texts.
    pub(crate) fn texts_mut(&mut self) -> Vec<&mut String> {
        match self {
            Self::Text(text) => vec![text],
            Self::List(all) => all.iter_mut().collect(),
            Self::Rows(rows) => rows.iter_mut().flat_map(CapabilityRow::texts_mut).collect(),
            Self::Unknown | Self::Flag(_) | Self::Number(_) => Vec::new(),
        }
    }
}

impl From<bool> for Evidence {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}
impl From<u32> for Evidence {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}
impl From<u64> for Evidence {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}
impl From<i64> for Evidence {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}
impl From<usize> for Evidence {
    fn from(number: usize) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}
impl From<&str> for Evidence {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
impl From<String> for Evidence {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}
impl From<Option<String>> for Evidence {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::Unknown, Self::Text)
    }
}
impl From<Vec<String>> for Evidence {
    fn from(list: Vec<String>) -> Self {
        Self::List(list)
    }
}

impl Error {
    /// An error with the code's default stage, hint and message.
    pub fn new(code: Code) -> Self {
        let usual = code.usual();
        Self(Box::new(Details {
            name: "AgbrowseError".into(),
            code,
            stage: usual.stage,
            message: sentence(usual.means),
            retry_hint: usual.hint,
            vendor: None,
            mutation_allowed: usual.mutation_allowed,
            selectors_tried: Vec::new(),
            evidence: None,
            trace_id: None,
            rule_id: None,
            notes: Vec::new(),
        }))
    }

    /// Sets the message: one lower-case sentence, no full stop, names in backticks.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.0.message = page::mask::mask(&message.into()).into_owned();
        self
    }

    /// Sets the stage, when it is not the code's default.
    #[must_use]
    pub fn stage(mut self, stage: Stage) -> Self {
        self.0.stage = stage;
        self
    }

    /// Sets the retry hint, when it is not the code's default.
    #[must_use]
    pub fn hint(mut self, hint: RetryHint) -> Self {
        self.0.retry_hint = hint;
        self
    }

    /// Sets whether the page may have been changed before the failure.
    #[must_use]
    pub fn mutation_allowed(mut self, allowed: bool) -> Self {
        self.0.mutation_allowed = allowed;
        self
    }

    /// Sets the chat app concerned.
    #[must_use]
    pub fn vendor(mut self, id: &str) -> Self {
        self.0.vendor = Some(id.to_owned());
        self
    }

    /// Adds evidence, its secrets masked. Beyond the budget it is truncated or omitted.
    #[must_use]
    pub fn evidence(mut self, key: &str, fact: impl Into<Evidence>) -> Self {
        let mut fact = fact.into().masked();
        let evidence = self.0.evidence.get_or_insert_default();
        let used = evidence.iter().map(|(key, fact)| key.len() + fact.weight()).sum::<usize>();
        let left = EVIDENCE_BUDGET.saturating_sub(used + key.len());
        if fact.weight() > left {
            fact.cut(left);
        }
        if fact.weight() <= left {
            evidence.insert(key.to_owned(), fact);
        }
        self
    }

    /// Adds the notes of the command that failed.
    #[must_use]
    pub(crate) fn with_notes(mut self, notes: Vec<Note>) -> Self {
        self.0.notes.extend(notes);
        self
    }

    /// Splits off the notes.
    pub fn without_notes(mut self) -> (Self, Vec<Note>) {
        let notes = std::mem::take(&mut self.0.notes);
        (self, notes)
    }

    /// The error code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The fields, mutable.
    pub(crate) fn details_mut(&mut self) -> &mut Details {
        &mut self.0
    }

    /// The fields.
    pub fn details(&self) -> &Details {
        &self.0
    }
}

/// A code's description as a message: lower-case, no full stop.
fn sentence(means: &str) -> String {
    let mut letters = means.trim_end_matches('.').chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

impl Evidence {
    fn masked(self) -> Self {
        let masked = |text: &String| page::mask::mask(text).into_owned();
        match self {
            Self::Text(text) => Self::Text(masked(&text)),
            Self::List(list) => Self::List(list.iter().map(masked).collect()),
            mut rows @ Self::Rows(_) => {
                rows.texts_mut().into_iter().for_each(|text| *text = masked(text));
                rows
            }
            plain => plain,
        }
    }

    fn weight(&self) -> usize {
        match self {
            Self::Unknown | Self::Flag(_) => 8,
            Self::Number(_) => 24,
            Self::Text(text) => text.len() + 8,
            Self::List(list) => list.iter().map(|text| text.len() + 4).sum::<usize>() + 8,
            Self::Rows(rows) => serde_json::to_string(rows).map_or(usize::MAX, |json| json.len()),
        }
    }

    fn cut(&mut self, to: usize) {
        match self {
            Self::Text(text) => {
                let mut end = to.saturating_sub(12).min(text.len());
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                text.truncate(end);
                text.push('…');
            }
            Self::List(list) => {
                while !list.is_empty()
                    && list.iter().map(|text| text.len() + 4).sum::<usize>() + 8 > to
                {
                    list.pop();
                }
            }
            Self::Rows(rows) => {
                while serde_json::to_string(rows).is_ok_and(|json| json.len() > to) {
                    rows.pop();
                }
            }
            Self::Unknown | Self::Flag(_) | Self::Number(_) => {}
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)
    }
}

impl std::error::Error for Error {}

/// Defaults of a code.
#[derive(Clone, Copy, Debug)]
pub struct CodeInfo {
    /// The default stage.
    pub stage: Stage,
    /// The default hint.
    pub hint: RetryHint,
    /// True if the page may have been changed before the failure.
    pub mutation_allowed: bool,
    /// The description.
    pub means: &'static str,
}

/// Enums with a documented wire spelling.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $( $variant:ident = $word:literal ),* $(,)? }) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        pub enum $name { $(
            #[doc = concat!("`", $word, "`")]
            #[serde(rename = $word)]
            $variant,
        )* }

        impl $name {
            /// All variants.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The wire spelling.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// The stage at which a command failed.
    Stage {
        Usage = "usage",
        Config = "config",
        Install = "install",
        Launch = "launch",
        Connect = "connect",
        Daemon = "daemon",
        TargetResolution = "target-resolution",
        Navigate = "navigate",
        Evaluate = "evaluate",
        Capture = "capture",
        SnapshotCapture = "snapshot-capture",
        SnapshotRefResolve = "snapshot-ref-resolve",
        VisualFallback = "visual-fallback",
        CapabilityPreflight = "capability-preflight",
        ContextPreflight = "context-preflight",
        ComposerPrereq = "composer-prereq",
        ProviderSelectMode = "provider-select-mode",
        AttachmentPreflight = "attachment-preflight",
        AttachmentVerify = "attachment-verify",
        CommitVerify = "commit-verify",
        Actionability = "actionability",
        Act = "act",
        Wait = "wait",
        Output = "output",
        Internal = "internal",
    }
}

words! {
    /// The suggested reaction to a failure.
    RetryHint {
        AnswerDialog = "answer-dialog",
        AskPerson = "ask-person",
        CheckUrl = "check-url",
        CheckValue = "check-value",
        ChooseOption = "choose-option",
        ClearTheWay = "clear-the-way",
        CloseOrNewSession = "close-or-new-session",
        CloseTabOrWait = "close-tab-or-wait",
        FeatureFallback = "feature-fallback",
        FixConfig = "fix-config",
        FixExpression = "fix-expression",
        FixFile = "fix-file",
        FixPath = "fix-path",
        FixRootSelector = "fix-root-selector",
        FixUsage = "fix-usage",
        InlineOnlyOrFile = "inline-only-or-file",
        InstallBrowser = "install-browser",
        ListContexts = "list-contexts",
        ListSessions = "list-sessions",
        ListTabs = "list-tabs",
        Login = "login",
        LookAgain = "look-again",
        ModelFallback = "model-fallback",
        OpenAgain = "open-again",
        PassNth = "pass-nth",
        PassSession = "pass-session",
        PassSessionOrNavigate = "pass-session-or-navigate",
        PassYes = "pass-yes",
        PathList = "path-list",
        PollOrResume = "poll-or-resume",
        PinSource = "pin-playwright-or-add-cdp-fallback",
        ReSnapshot = "re-snapshot",
        ReUpload = "re-upload",
        ReduceFiles = "reduce-files",
        ReloadTab = "reload-tab",
        Report = "report",
        RestartDaemon = "restart-daemon",
        RestartHeaded = "restart-headed",
        Retry = "retry",
        RetryOrSkipVisual = "retry-or-skip-visual",
        RunDoctor = "run-doctor",
        SetDisplay = "set-display",
        SetSecret = "set-secret",
        StartOrCheckPort = "start-or-check-port",
        TabSwitch = "tab-switch",
        UseAnotherProfile = "use-another-profile",
        UseDistribution = "use-distribution-package",
        WaitLonger = "wait-longer",
    }
}

impl RetryHint {
    /// The hint as a sentence for people.
    pub fn advice(self) -> &'static str {
        match self {
            Self::AnswerDialog => {
                "answer it: `agbrowse dialog accept` or `agbrowse dialog dismiss`"
            }
            Self::CheckUrl => "check the address and that its server runs",
            Self::CheckValue => {
                "read its value with `agbrowse get value`, and check what it accepts"
            }
            Self::ChooseOption => "choose one of the listed options",
            Self::ClearTheWay => "close or move what is in the way, or wait until it is gone",
            Self::CloseOrNewSession => {
                "run `agbrowse close` first, or name another session with `--session`"
            }
            Self::CloseTabOrWait => {
                "wait, or give up on it: `agbrowse tab close`; a new tab works meanwhile"
            }
            Self::InlineOnlyOrFile => "say which: `--inline-only`, or `--file PATH`",
            Self::Login => "sign in by hand, in the browser's window",
            Self::ModelFallback => "choose another model, or leave `--model` out",
            Self::PathList => "name the files themselves",
            Self::PollOrResume => "wait for the answer: `agbrowse web-ai poll`",
            Self::ReUpload => "attach the file again",
            Self::ReduceFiles => "send less, or attach it as a file",
            Self::FeatureFallback => "do without it, or use another way to the same end",
            Self::FixConfig => {
                "fix the named file; `agbrowse config show` lists where each value comes from"
            }
            Self::FixExpression => {
                "fix the script; convert the result with `JSON.stringify` or `String`"
            }
            Self::FixFile => "fix the file, or save it again",
            Self::FixPath => "check the path and its permissions",
            Self::FixRootSelector => {
                "check the selector with `agbrowse eval 'document.querySelector(…)'`"
            }
            Self::FixUsage => "see `agbrowse help`",
            Self::InstallBrowser => {
                "run `agbrowse install`, or name a browser with `--chrome PATH`"
            }
            Self::ListContexts => "see `agbrowse status`, which names the contexts",
            Self::ListSessions => "see `agbrowse sessions`",
            Self::ListTabs => "see `agbrowse tabs`",
            Self::LookAgain => "look at the page before you try again: it may have worked",
            Self::OpenAgain => "open the page again: `agbrowse open URL`",
            Self::PassNth => "use one of the refs, or say which with `--nth`",
            Self::PassSession => "name the session with `--session`",
            Self::PassSessionOrNavigate => {
                "choose a tab with `agbrowse tab switch ID`, or open the page again"
            }
            Self::PassYes => "pass `--yes` to agree",
            Self::PinSource => "update the browser, then try again",
            Self::ReSnapshot => "take a new snapshot and use its refs",
            Self::ReloadTab => "run `agbrowse reload`, or open another page",
            Self::Report => "this is a bug in agbrowse; `agbrowse daemon logs` may have details",
            Self::RestartDaemon => "run `agbrowse daemon stop`, then try again",
            Self::RestartHeaded => "run `agbrowse close`, then try again with `--headed`",
            Self::Retry => "try again",
            Self::RetryOrSkipVisual => "try again, or go on without the screenshot",
            Self::RunDoctor => "run `agbrowse doctor`",
            Self::SetDisplay => {
                "set DISPLAY and run `agbrowse daemon stop` first, or leave out `--headed`"
            }
            Self::AskPerson => "ask the person what to do instead",
            Self::SetSecret => {
                "set it in the environment, or write it to a file that only you can read: see `agbrowse help fill`"
            }
            Self::StartOrCheckPort => {
                "start the browser with `--remote-debugging-port`, or check the address"
            }
            Self::TabSwitch => "choose a tab: `agbrowse tab switch ID`",
            Self::UseAnotherProfile => {
                "close the other user of the profile, or name another with `--profile`"
            }
            Self::UseDistribution => "install your distribution's Chromium package",
            Self::WaitLonger => "give it more time with `--timeout`",
        }
    }
}

/// The table of error codes: one row each, never reused for another meaning.
macro_rules! codes {
    ($( $(#[doc = $means:literal])+ $variant:ident = $code:literal, $stage:ident, $hint:ident, $mutates:literal; )*) => {
        /// The error codes. A code never changes its meaning.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[non_exhaustive]
        pub enum Code { $(
            $(#[doc = $means])+
            #[serde(rename = $code)]
            $variant,
        )* }

        impl Code {
            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The wire spelling.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code),* }
            }

            /// The default stage and hint, and the description.
            pub fn usual(self) -> CodeInfo {
                match self { $(Self::$variant => CodeInfo {
                    stage: Stage::$stage,
                    hint: RetryHint::$hint,
                    mutation_allowed: $mutates,
                    means: concat!($($means),+).trim_ascii(),
                }),* }
            }
        }

        impl fmt::Display for Code {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

codes! {
    /// The element is not visible.
    ActHidden = "act.hidden", Actionability, ReSnapshot, false;
    /// The element is disabled.
    ActDisabled = "act.disabled", Actionability, WaitLonger, false;
    /// The element is inert, for example behind a modal dialog.
    ActInert = "act.inert", Actionability, ClearTheWay, false;
    /// Another element covers the element, or pointer events pass through it.
    ActCovered = "act.covered", Actionability, ClearTheWay, false;
    /// The element does not stop moving.
    ActMoving = "act.moving", Actionability, WaitLonger, false;
    /// The element is not editable.
    ActNotEditable = "act.not-editable", Actionability, ReSnapshot, false;
    /// The page changed at the last moment; the input would have hit another element and was blocked.
    ActMissed = "act.missed", Act, ReSnapshot, false;
    /// The control does not hold the value that was entered.
    ActNotTaken = "act.not-taken", Act, CheckValue, true;
    /// The action was dispatched, but the expected effect did not occur.
    ActNoEffect = "act.no-effect", Act, LookAgain, true;
    /// There is no such option.
    ActNoOption = "act.no-option", Act, ChooseOption, true;
    /// A person was asked and declined.
    AskDeclined = "ask.declined", Usage, AskPerson, false;
    /// Approval by a person is required, and this client cannot ask.
    AskUnavailable = "ask.unavailable", Usage, AskPerson, false;
    /// No Chromium was found on this machine.
    BrowserNotFound = "browser.not-found", Launch, InstallBrowser, false;
    /// The browser was started but did not become ready.
    BrowserLaunchFailed = "browser.launch-failed", Launch, RunDoctor, false;
    /// The browser ended and its tabs are gone.
    BrowserLost = "browser.lost", Connect, OpenAgain, true;
    /// There is no such context in the browser.
    BrowserContextNotFound = "browser.context-not-found", TargetResolution, ListContexts, false;
    /// The session's browser runs with other launch options than requested.
    BrowserOptionsConflict = "browser.options-conflict", Connect, CloseOrNewSession, false;
    /// There is no such capability, or it cannot be used.
    CapabilityUnsupported = "capability.unsupported", CapabilityPreflight, FeatureFallback, false;
    /// The browser rejected a CDP call.
    CdpRefused = "cdp.refused", Internal, Report, true;
    /// The browser cannot be reached.
    CdpUnreachable = "cdp.unreachable", Connect, StartOrCheckPort, false;
    /// The address leads to another target than the requested one.
    CdpTargetMismatch = "cdp.target-mismatch", TargetResolution, TabSwitch, false;
    /// The browser runs without a window where one is needed.
    CdpHeadless = "cdp.headless", Connect, RestartHeaded, false;
    /// The command or one of its arguments is invalid.
    CommandInvalid = "command.invalid", Usage, FixUsage, false;
    /// The command did not finish before its deadline.
    CommandTimeout = "command.timeout", Internal, WaitLonger, true;
    /// A configuration file or variable has an invalid value.
    ConfigInvalid = "config.invalid", Config, FixConfig, false;
    /// A prompt or a file is larger than a chat app takes.
    ContextOverBudget = "context.over-budget", ContextPreflight, ReduceFiles, false;
    /// A file to attach is a symbolic link.
    ContextSymlinkRejected = "context.symlink-rejected", ContextPreflight, PathList, false;
    /// The daemon could not be started.
    DaemonStartFailed = "daemon.start-failed", Daemon, RunDoctor, false;
    /// The daemon ended while it ran the command.
    DaemonLost = "daemon.lost", Daemon, Retry, true;
    /// The daemon is stopping and accepts no more commands.
    DaemonStopping = "daemon.stopping", Daemon, Retry, false;
    /// The daemon does not respond.
    DaemonUnresponsive = "daemon.unresponsive", Daemon, RestartDaemon, true;
    /// The daemon has no room for another large request now.
    DaemonBusy = "daemon.busy", Daemon, Retry, false;
    /// The daemon of this session has another version.
    DaemonVersionMismatch = "daemon.version-mismatch", Daemon, RestartDaemon, false;
    /// The data on the socket is not a request.
    DaemonBadFrame = "daemon.bad-frame", Daemon, Report, false;
    /// A request is larger than the daemon accepts.
    DaemonFrameTooLarge = "daemon.frame-too-large", Daemon, FixUsage, false;
    /// The script threw.
    EvalThrew = "eval.threw", Evaluate, FixExpression, true;
    /// The script's result cannot be serialized as JSON.
    EvalNotSerializable = "eval.not-serializable", Evaluate, FixExpression, true;
    /// The download did not start or did not complete.
    DownloadFailed = "download.failed", Act, Retry, true;
    /// A result could not be written to its file.
    FileWriteFailed = "file.write-failed", Output, FixPath, false;
    /// The caller may not access this address or file.
    AccessDenied = "access.denied", Usage, FixPath, false;
    /// A file that the command names could not be read.
    FileReadFailed = "file.read-failed", Usage, FixPath, false;
    /// The browser could not be installed.
    InstallFailed = "install.failed", Install, RunDoctor, false;
    /// The installation was not confirmed.
    InstallDeclined = "install.declined", Install, PassYes, false;
    /// The downloaded file is damaged.
    InstallCorrupt = "install.corrupt", Install, Retry, false;
    /// There is no build for this system.
    InstallUnsupported = "install.unsupported", Install, UseDistribution, false;
    /// An unexpected internal error.
    InternalUnhandled = "internal.unhandled", Internal, Report, false;
    /// The page could not be loaded.
    NavigationFailed = "navigation.failed", Navigate, CheckUrl, true;
    /// The page did not load before the deadline.
    NavigationTimeout = "navigation.timeout", Navigate, WaitLonger, true;
    /// The history has no entry in that direction.
    NavigationNoEntry = "navigation.no-entry", Navigate, OpenAgain, false;
    /// A dialog of the page is open and blocks the page.
    PageDialogOpen = "page.dialog-open", TargetResolution, AnswerDialog, true;
    /// No dialog is open.
    PageNoDialog = "page.no-dialog", TargetResolution, Retry, false;
    /// The page does not respond: a script keeps it busy.
    PageUnresponsive = "page.unresponsive", TargetResolution, CloseTabOrWait, true;
    /// Attachments were not decided on, or cannot be taken.
    ProviderAttachmentPreflight = "provider.attachment-preflight", AttachmentPreflight, InlineOnlyOrFile, false;
    /// The chat app does not show a file as attached.
    ProviderAttachmentEvidenceMissing = "provider.attachment-evidence-missing", AttachmentVerify, ReUpload, true;
    /// The chat app still answers the last prompt.
    ProviderAnswerStreaming = "provider.answer-streaming", ComposerPrereq, PollOrResume, false;
    /// The chat app did not show the prompt as sent.
    ProviderCommitNotVerified = "provider.commit-not-verified", CommitVerify, ReSnapshot, true;
    /// The same prompt may have been sent before; nobody can tell.
    ProviderCommitUnknown = "provider.commit-unknown", CommitVerify, AskPerson, false;
    /// The composer of the chat app cannot be used.
    ProviderComposerNotVisible = "provider.composer-not-visible", ComposerPrereq, ReSnapshot, false;
    /// The chat app asks for a login.
    ProviderLoginRequired = "provider.login-required", ComposerPrereq, Login, false;
    /// The model cannot be chosen.
    ProviderModelMismatch = "provider.model-mismatch", ProviderSelectMode, ModelFallback, false;
    /// The page could not be printed to PDF.
    PdfFailed = "pdf.failed", Capture, Retry, false;
    /// The profile is in use.
    ProfileLocked = "profile.locked", Launch, UseAnotherProfile, false;
    /// The profile folder cannot be used.
    ProfileUnusable = "profile.unusable", Launch, UseAnotherProfile, false;
    /// The screenshot could not be taken.
    ScreenshotCaptureFailed = "screenshot.capture-failed", VisualFallback, RetryOrSkipVisual, false;
    /// There is no such secret.
    SecretNotFound = "secret.not-found", Usage, SetSecret, false;
    /// The reply contains a secret that cannot be masked, so it is withheld.
    SecretWithheld = "secret.withheld", Output, ReSnapshot, true;
    /// There is no such session.
    SessionNotFound = "session.not-found", Daemon, ListSessions, false;
    /// More than one session matches.
    SessionTargetAmbiguous = "session.target-ambiguous", TargetResolution, PassSession, false;
    /// A saved storage state has an unexpected format.
    StorageInvalid = "storage.invalid", Usage, FixFile, false;
    /// The saved storage state could not be restored completely.
    StorageNotLoaded = "storage.not-loaded", Act, Retry, true;
    /// No element matches the target.
    TargetNotFound = "target.not-found", TargetResolution, ReSnapshot, false;
    /// No element of a chat app is surely the one that is needed.
    TargetUnresolved = "target.unresolved", TargetResolution, ReSnapshot, false;
    /// More than one element matches the target.
    TargetAmbiguous = "target.ambiguous", TargetResolution, PassNth, false;
    /// Neither snapshot source is available.
    SnapshotUnavailable = "snapshot.unavailable", SnapshotCapture, PinSource, false;
    /// The root element of the snapshot does not exist.
    SnapshotRootNotFound = "snapshot.root-not-found", SnapshotCapture, FixRootSelector, false;
    /// The ref belongs to an older snapshot.
    SnapshotRefStale = "snapshot.ref-stale", SnapshotRefResolve, ReSnapshot, false;
    /// No snapshot has issued this ref.
    SnapshotRefNotFound = "snapshot.ref-not-found", SnapshotRefResolve, ReSnapshot, false;
    /// Earlier commands on the tab did not finish before the deadline.
    TabBusy = "tab.busy", TargetResolution, CloseTabOrWait, false;
    /// The page's process crashed.
    TabCrashed = "tab.crashed", TargetResolution, ReloadTab, true;
    /// There is no such tab.
    TabNotFound = "tab.not-found", TargetResolution, ListTabs, false;
    /// The tab of the command is gone.
    TabTargetLost = "tab.target-lost", TargetResolution, PassSessionOrNavigate, true;
    /// The condition was not met in time.
    WaitTimeout = "wait.timeout", Wait, WaitLonger, false;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_documented_keys_in_order() {
        let error =
            Error::new(Code::SnapshotRefStale).message("`@e3` belongs to an older snapshot");
        assert_eq!(
            serde_json::to_string(&error).unwrap(),
            r#"{"name":"AgbrowseError","errorCode":"snapshot.ref-stale","stage":"snapshot-ref-resolve","message":"`@e3` belongs to an older snapshot","retryHint":"re-snapshot","mutationAllowed":false,"selectorsTried":[],"evidence":null}"#
        );
        let read: Error = serde_json::from_str(&serde_json::to_string(&error).unwrap()).unwrap();
        assert_eq!(read, error);
    }

    #[test]
    fn codes_are_unique_and_well_formed() {
        let mut seen = std::collections::BTreeSet::new();
        for code in Code::ALL {
            let (family, name) = code.as_str().split_once('.').unwrap();
            assert!(
                !family.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-'),
                "{code}"
            );
            assert!(seen.insert(code.as_str()), "{code} twice");
        }
    }

    #[test]
    fn evidence_has_no_secrets() {
        let error = Error::new(Code::EvalThrew)
            .evidence("one", "card 4111 1111 1111 1111")
            .evidence("many", vec!["https://a.test/?token=abcdef0123456789".to_owned()]);
        let json = serde_json::to_string(&error.details().evidence).unwrap();
        assert!(!json.contains("4111") && !json.contains("abcdef"), "{json}");
        assert!(json.contains("card") && json.contains("a.test"), "{json}");
    }

    #[test]
    fn evidence_stays_within_its_budget() {
        let error = Error::new(Code::EvalThrew)
            .evidence("long", "é".repeat(10_000))
            .evidence("list", vec!["x".repeat(100); 100])
            .evidence("late", "y".repeat(100));
        let json = serde_json::to_string(&error.details().evidence).unwrap();
        assert!(json.len() <= EVIDENCE_BUDGET + 200, "{}", json.len());
        assert!(json.contains('…'));
    }
}
