//! The walk: each step is a command line, read by the program's own parser and shown as it is run; its answer is
//! printed, and checked.

use super::Site;
use crate::cli::{self, Cli, Subcommand};
use crate::config::DEFAULT_SESSION;
use crate::output::{self, Output, say};
use anstyle::{AnsiColor, Style};
use browser::page::refs::Dialect;
use browser::page::sanitize::escape_unsafe;
use browser::{Browser, Code, Command, Error, Outcome, Reply, Request, Result, SecretString};
use clap::Parser;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::time::Instant;

/// The secret that Ada signs in with. Callers have theirs in their environment; the shop's is known.
const PASSWORD_NAME: &str = "FERNWAY_PASSWORD";

const TITLE: Style = AnsiColor::Cyan.on_default().bold();
const PROMPT: Style = AnsiColor::Green.on_default();
const DIM: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// What came of the walk.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TourReport {
    /// Whether every step did what it promised.
    pub(super) ok: bool,
    /// The steps.
    pub(super) steps: Vec<Step>,
    /// How long the walk took.
    pub(super) ms: u64,
    /// Where its files are.
    pub(super) pictures: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    command: String,
    ok: bool,
    ms: u64,
}

/// Walks through the shop.
pub(super) async fn walk(
    browser: &Browser,
    site: &Site,
    folder: &Path,
    output: Output,
) -> Result<TourReport> {
    let began = Instant::now();
    let mut walk = Tour { browser, quiet: output.json, steps: Vec::new() };
    let shop = &*site.origin;
    let at = |path: &str| format!("{shop}{path}");
    let file = |name: &str| folder.join(name).display().to_string();

    walk.title("A browser comes up, and a page is there when `open` returns");
    walk.run(&["open", shop], |done| is_titled(done, "Fernway")).await;
    let count = "document.querySelectorAll('[data-product]').length";
    walk.run(&["eval", count], |done| prints(done, "12")).await;
    walk.run(&["screenshot", "--full-page", &file("shop.png")], StepResult::is_ok).await;

    walk.title("A page in few words, with a ref for everything that can be acted on");
    walk.run(&["open", &at("/product/camp-kettle")], |done| is_titled(done, "Kettle")).await;
    walk.run(&["snapshot", "--find", "quantity"], |done| shows(done, "[ref=@e")).await;

    walk.title("What is done is done to that element alone, and comes with a receipt");
    walk.run(&["fill", "label=quantity", "2"], |done| shows(done, "value=2")).await;
    let add = "role=button[name=\"add to cart\"]";
    walk.run(&["click", add], |done| shows(done, "navigated")).await;

    walk.title("Several things in one go; frames of other sites are part of the page");
    let checkout = r#"{"verb":"click","target":"text=Checkout"}"#;
    let name = r#"{"verb":"fill","target":"label=full name","value":"Ada Fern"}"#;
    walk.run(&["batch", checkout, name], |done| shows(done, "value=\"Ada Fern\"")).await;
    walk.run(&["fill", "label=expiry", "12/30"], |done| shows(done, "12/30")).await;
    walk.run(&["tabs", "--json"], |done| {
        matches!(done, Ok(Outcome { reply: Reply::Tabs(list), .. }) if list.tabs.iter().any(|tab| tab.frames == 1))
    })
    .await;
    walk.run(&["pdf", &file("checkout.pdf")], StepResult::is_ok).await;

    walk.title("What is not ready is waited for, and what changed is told alone");
    walk.run(&["open", &at("/lab")], StepResult::is_ok).await;
    let slow = "role=region[name=\"slow to enable\"]";
    // On a slow machine it may be ready before it is looked at; then nothing changes.
    let mut was_disabled = false;
    walk.run(&["snapshot", "--root", slow], |done| {
        was_disabled = shows(done, "disabled=true");
        shows(done, "Pour the tea")
    })
    .await;
    walk.run(&["wait", "text=Pour the tea", "--state", "enabled"], StepResult::is_ok).await;
    walk.run(&["snapshot", "--delta", "--root", slow], |done| {
        done.is_ok() && shows(done, "was [disabled=true]") == was_disabled
    })
    .await;

    walk.title("Shadow trees, closed ones too, are part of the page");
    walk.run(&["snapshot", "--find", "dial"], |done| shows(done, "\"Turn the dial\" [ref=@e"))
        .await;
    walk.run(&["click", "text=Turn the dial"], |done| shows(done, "Facing east")).await;
    walk.run(&["screenshot", &file("lab.png")], StepResult::is_ok).await;

    walk.title("What cannot be done is refused with the reason, and nothing else is hit instead");
    walk.run(&["can", "click", "text=Pick the berry"], |done| shows(done, "fail")).await;
    walk.run(&["click", "text=Pick the berry", "--timeout", "1500ms"], |done| {
        fails(done, Code::ActCovered)
    })
    .await;

    walk.title("A file is there when `download` returns");
    let catalogue = file("catalogue.csv");
    walk.run(&["download", "text=Download the catalogue", "--to", &catalogue], |done| {
        done.is_ok() && Path::new(&catalogue).exists()
    })
    .await;

    walk.title("A context is a cookie jar of its own: Ada is signed in here, nobody there");
    let ada = ["--context", "ada"];
    let tea = at("/account/subscription");
    // Who is not signed in is asked to, and comes back here.
    walk.run_in(ada, &["open", &tea], StepResult::is_ok).await;
    walk.run_in(ada, &["fill", "label=e-mail", "ada.fern@example.com"], StepResult::is_ok).await;
    let password = ["fill", "label=password", "--secret", PASSWORD_NAME, "--submit"];
    walk.run_in(ada, &password, |done| shows(done, "navigated")).await;
    let who = "document.querySelector('#user-name')?.textContent ?? 'nobody'";
    walk.run_in(ada, &["eval", who], |done| prints(done, "Ada Fern")).await;
    walk.run(&["eval", who], |done| prints(done, "nobody")).await;
    let kept = file("ada.json");
    walk.run_in(ada, &["storage", "save", &kept], |done| shows(done, "saved 1 cookie")).await;
    let later = ["--context", "later"];
    walk.run_in(later, &["storage", "load", &kept], |done| shows(done, "loaded 1 cookie")).await;
    walk.run_in(later, &["open", shop], StepResult::is_ok).await;
    walk.run_in(later, &["eval", who], |done| prints(done, "Ada Fern")).await;

    walk.title("A dialog never blocks in silence: it is an error that says how to go on");
    walk.run(&["eval", "confirm('Empty your saved items?')"], |done| {
        fails(done, Code::PageDialogOpen)
    })
    .await;
    walk.run(&["dialog", "accept"], StepResult::is_ok).await;

    walk.title("A page in an endless loop: its command ends in time, everything else goes on");
    let stuck = "data:text/html,<script>setTimeout(() => { while (true) {} }, 0)</script>";
    walk.run(&["open", "--new-tab", "--until", "commit", stuck], StepResult::is_ok).await;
    walk.run(&["eval", "1", "--timeout", "800ms"], |done| fails(done, Code::PageUnresponsive))
        .await;
    walk.run(&["status"], StepResult::is_ok).await;
    walk.run(&["tab", "new", shop], StepResult::is_ok).await;
    walk.run(&["eval", "document.title"], |done| shows(done, "Fernway")).await;

    walk.title("A crash is told as what it is, and mended by a reload");
    walk.run(&["open", "chrome://crash"], |done| fails(done, Code::TabCrashed)).await;
    walk.run(&["eval", "1"], |done| fails(done, Code::TabCrashed)).await;
    walk.run(&["reload"], |done| is_titled(done, "Fernway")).await;

    let ok = walk.steps.iter().all(|step| step.ok);
    Ok(TourReport {
        ok,
        steps: walk.steps,
        ms: millis(began),
        pictures: folder.display().to_string(),
    })
}

struct Tour<'a> {
    browser: &'a Browser,
    quiet: bool,
    steps: Vec<Step>,
}

type StepResult = Result<Outcome>;

impl Tour<'_> {
    fn title(&self, text: &str) {
        if !self.quiet {
            say(&format!("\n{TITLE}{text}{TITLE:#}"));
        }
    }

    async fn run_in(
        &mut self,
        context: [&str; 2],
        words: &[&str],
        promise: impl FnOnce(&StepResult) -> bool,
    ) {
        self.run(&[&context, words].concat(), promise).await;
    }

    /// Runs a command line, tells it with its answer, and notes whether that is what was promised.
    async fn run(&mut self, words: &[&str], promise: impl FnOnce(&StepResult) -> bool) {
        let shown = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let cli = Cli::try_parse_from([&["agbrowse"], words].concat());
        let is_json = cli.as_ref().is_ok_and(|cli| cli.settings.json == Some(true));
        let began = Instant::now();
        let done = match cli {
            Ok(cli) => self.ask(cli).await,
            Err(wrong) => Err(Error::new(Code::CommandInvalid).message(wrong.to_string())),
        };
        let (ms, ok) = (millis(began), promise(&done));
        if !self.quiet {
            say(&format!("{PROMPT}$ agbrowse {shown}{PROMPT:#}  {DIM}{ms} ms{DIM:#}"));
            tell(&done, is_json);
            if !ok {
                say(&format!("  {BAD}this is not what was promised{BAD:#}"));
            }
        }
        self.steps.push(Step { command: shown, ok, ms });
    }

    /// Does what the program does with a command line, with our browser in the daemon's place.
    async fn ask(&self, Cli { settings, command }: Cli) -> StepResult {
        let Subcommand::Browser(mut command) = command else {
            return Err(Error::new(Code::CommandInvalid).message("this is no verb of the browser"));
        };
        if let Command::Fill(fill) = &mut command
            && fill.secret.as_deref() == Some(PASSWORD_NAME)
        {
            fill.value = Some(SecretString::from(super::site::PASSWORD));
        }
        let output = Output { json: settings.json.unwrap_or_default() };
        cli::localize(&mut command, output)?;
        let timeout_ms = settings.timeout.map(|span| cli::millis(span.0));
        let request = Request {
            command: command.clone(),
            context: settings.context.map(|name| name.0),
            tab: settings.tab,
            timeout_ms,
            patience_ms: timeout_ms,
            dialect: Dialect::Cli,
            access: None,
        };
        let mut outcome = self.browser.run(request).await?;
        output::write_file(&command, &mut outcome.reply)?;
        Ok(outcome)
    }
}

/// Says what the program would say.
fn tell(done: &StepResult, is_json: bool) {
    match done {
        Ok(outcome) if is_json => say(&format!("  {}", output::json(DEFAULT_SESSION, outcome))),
        Ok(outcome) => {
            for note in &outcome.notes {
                say(&format!("  {DIM}note: {}{DIM:#}", escape_unsafe(&note.to_string())));
            }
            for line in outcome.reply.to_string().lines() {
                say(&format!("  {}", escape_unsafe(line)));
            }
        }
        Err(error) => {
            let details = error.details();
            say(&format!("  error: {}", escape_unsafe(&details.message)));
            say(&format!("  {DIM}[{}] {}{DIM:#}", error.code(), details.retry_hint.advice()));
        }
    }
}

/// A word as one would type it at a shell.
fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:@,+%".contains(c);
    match word {
        _ if !word.is_empty() && word.chars().all(is_plain) => Cow::Borrowed(word),
        _ if !word.contains('\'') => Cow::Owned(format!("'{word}'")),
        _ if !word.contains(['"', '$', '`', '\\', '!']) => Cow::Owned(format!("\"{word}\"")),
        _ => Cow::Owned(format!("'{}'", word.replace('\'', r"'\''"))),
    }
}

fn shows(done: &StepResult, part: &str) -> bool {
    matches!(done, Ok(outcome) if outcome.reply.to_string().contains(part))
}

fn prints(done: &StepResult, text: &str) -> bool {
    matches!(done, Ok(outcome) if outcome.reply.to_string() == text)
}

fn is_titled(done: &StepResult, part: &str) -> bool {
    matches!(done, Ok(Outcome { reply: Reply::Open(there) | Reply::Reload(there), .. }) if there.title.contains(part))
}

fn fails(done: &StepResult, code: Code) -> bool {
    matches!(done, Err(error) if error.code() == code)
}

fn millis(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl fmt::Display for TourReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let good = self.steps.iter().filter(|step| step.ok).count();
        write!(
            f,
            "\n{good} of {} steps did what they promised, in {}.{} s. Files: {}\nThe browser and the shop are closed. Next: agbrowse open URL",
            self.steps.len(),
            self.ms / 1000,
            self.ms % 1000 / 100,
            self.pictures
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_a_shell_takes_it() {
        for (word, shown) in [
            ("label=quantity", "label=quantity"),
            ("http://127.0.0.1:80/lab", "http://127.0.0.1:80/lab"),
            ("", "''"),
            ("text=Pick the berry", "'text=Pick the berry'"),
            ("role=button[name=\"x\"]", "'role=button[name=\"x\"]'"),
            ("confirm('sure?')", "\"confirm('sure?')\""),
            ("'a' + \"b\"", r#"''\''a'\'' + "b"'"#),
        ] {
            assert_eq!(quoted(word), shown);
        }
    }
}
