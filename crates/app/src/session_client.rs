//! A client of the selected session with the user's settings: defaults of requests, the check before a session starts.

use crate::cli::millis;
use crate::config::{Config, DEFAULT_SESSION};
use crate::daemon::{self, DaemonClient, SessionPaths};
use crate::sessions;
use browser::page::refs::Dialect;
use browser::{Command, Driver as _, Note, Outcome, Request, Result};

/// A daemon client and the settings of its requests.
pub(crate) struct SessionClient {
    client: DaemonClient,
    config: Config,
}

impl SessionClient {
    pub(crate) fn new(config: &Config) -> Result<Self> {
        let paths = SessionPaths::of(config.session())?;
        let overrides = config.launch_overrides();
        let client = DaemonClient::new(paths, overrides, config.timeout(), config.idle_timeout());
        Ok(Self { client, config: config.clone() })
    }

    /// The daemon client.
    pub(crate) fn into_client(self) -> DaemonClient {
        self.client
    }

    /// The session's name.
    pub(crate) fn session(&self) -> &str {
        self.client.session()
    }

    /// Notes about ignored settings.
    pub(crate) fn notes(&self) -> &[Note] {
        &self.config.notes
    }

    /// A request with the context, tab and time limit of the settings.
    pub(crate) fn request(&self, command: Command) -> Request {
        let settings = &self.config.settings;
        Request {
            command,
            context: settings.context.as_ref().map(|name| name.0.clone()),
            tab: settings.tab,
            timeout_ms: Some(millis(self.config.timeout())),
            // A time limit that the caller set also limits the wait for the element.
            patience_ms: settings.timeout.map(|_| millis(self.config.timeout())),
            dialect: Dialect::Cli,
            access: None,
        }
    }

    /// Checks a command before it starts a session: fails if the verb needs an existing session, and warns if the name
    /// looks like a typo of an existing one.
    pub(crate) async fn check(&self, command: &Command) -> Result<Option<Note>> {
        self.check_session(command.spec().makes_session).await
    }

    /// The same for a command that makes a session, or does not.
    pub(crate) async fn check_session(&self, makes_session: bool) -> Result<Option<Note>> {
        if self.client.is_running().await {
            return Ok(None);
        }
        let name = self.session();
        let known = daemon::list();
        // Lost sessions are listed too: their next daemon reports the loss.
        if name == DEFAULT_SESSION || known.iter().any(|session| session == name) {
            return Ok(None);
        }
        if !makes_session {
            return Err(sessions::not_found(name));
        }
        let near = known.iter().find(|session| is_typo(name, session));
        let message =
            near.map(|near| format!("starting session `{name}`; `{near}` is there already"));
        Ok(message.map(|message| Note::new("session-started", message)))
    }

    /// Runs a request; the warning of its check comes with the outcome or the error.
    pub(crate) async fn run(&self, request: Request, warning: Option<Note>) -> Result<Outcome> {
        match (self.client.run(request).await, warning) {
            (Ok(mut outcome), warning) => {
                outcome.notes.splice(0..0, warning);
                Ok(outcome)
            }
            (Err(error), Some(warning)) => Err(error.evidence("note", warning.message)),
            (Err(error), None) => Err(error),
        }
    }
}

/// True if a name is likely a typo of another. `agent2` is no typo of `agent1`.
fn is_typo(typed: &str, known: &str) -> bool {
    let letters =
        |name: &str| name.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>();
    letters(typed) != letters(known)
        && strsim::damerau_levenshtein(typed, known) <= 1
        && typed.len() > 3
}
