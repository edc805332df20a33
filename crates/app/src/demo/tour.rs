//! The tour: each step is a command line that is parsed by the program's own parser, printed and run; its result is printed
//! and checked.

use super::Site;
use crate::cli::{self, Cli, Subcommand};
use crate::config::DEFAULT_SESSION;
use crate::output::{self, Output, say};
use anstyle::{AnsiColor, Style};
use browser::page::refs::Dialect;
use browser::page::sanitize::escape_unsafe;
use browser::{Browser, Code, Command, Error, Outcome, Reply, Request, Result, SecretString};
use chatapps::ChatApps;
use clap::Parser;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Name of the secret that Ada signs in with. Users set theirs in the environment; the shop's is built in.
const PASSWORD_NAME: &str = "FERNWAY_PASSWORD";

const TITLE: Style = AnsiColor::Cyan.on_default().bold();
const PROMPT: Style = AnsiColor::Green.on_default();
const DIM: Style = Style::new().dimmed();
const FAILED: Style = AnsiColor::Red.on_default().bold();

/// Most lines of a reply that is not of a verb.
const MAX_LINES: usize = 12;

/// Result of the tour.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TourReport {
    /// True if all steps passed.
    pub(super) ok: bool,
    /// The steps in order.
    pub(super) steps: Vec<Step>,
    /// Duration in milliseconds.
    pub(super) ms: u64,
    /// Folder of the screenshots and other files.
    pub(super) pictures: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    command: String,
    ok: bool,
    ms: u64,
}

/// Runs all steps of the tour.
pub(super) async fn run(
    browser: &Arc<Browser>,
    site: &Site,
    apps: &ChatApps,
    folder: &Path,
    output: Output,
) -> Result<TourReport> {
    let started = Instant::now();
    let mut tour = Tour { browser, quiet: output.json, steps: Vec::new() };
    let shop = &*site.origin;
    let url = |path: &str| format!("{shop}{path}");
    let file = |name: &str| folder.join(name).display().to_string();

    tour.title("`open` launches the browser and returns when the page has loaded");
    tour.run(&["open", shop], |result| is_titled(result, "Fernway")).await;
    let count = "document.querySelectorAll('[data-product]').length";
    tour.run(&["eval", count], |result| equals(result, "12")).await;
    tour.run(&["screenshot", "--full-page", &file("shop.png")], StepResult::is_ok).await;

    tour.title("A snapshot is compact text with a ref for each interactive element");
    tour.run(&["open", &url("/product/camp-kettle")], |result| is_titled(result, "Kettle")).await;
    tour.run(&["snapshot", "--find", "quantity"], |result| contains(result, "[ref=@e")).await;

    tour.title("An action hits its target only and returns a receipt of its effects");
    tour.run(&["fill", "label=quantity", "2"], |result| contains(result, "value=2")).await;
    let add = "role=button[name=\"add to cart\"]";
    tour.run(&["click", add], |result| contains(result, "navigated")).await;

    tour.title("A batch runs several commands; cross-origin frames are part of the page");
    let checkout = r#"{"verb":"click","target":"text=Checkout"}"#;
    let name = r#"{"verb":"fill","target":"label=full name","value":"Ada Fern"}"#;
    tour.run(&["batch", checkout, name], |result| contains(result, "value=\"Ada Fern\"")).await;
    tour.run(&["fill", "label=expiry", "12/30"], |result| contains(result, "12/30")).await;
    tour.run(&["tabs", "--json"], |result| {
        matches!(result, Ok(Outcome { reply: Reply::Tabs(list), .. }) if list.tabs.iter().any(|tab| tab.frames == 1))
    })
    .await;
    tour.run(&["pdf", &file("checkout.pdf")], StepResult::is_ok).await;

    tour.title("`wait` waits for an element state; a delta snapshot has the changes only");
    tour.run(&["open", &url("/lab")], StepResult::is_ok).await;
    let region = "role=region[name=\"slow to enable\"]";
    // On a slow machine it may be enabled before the snapshot; then there is no change.
    let mut was_disabled = false;
    tour.run(&["snapshot", "--root", region], |result| {
        was_disabled = contains(result, "disabled=true");
        contains(result, "Pour the tea")
    })
    .await;
    tour.run(&["wait", "text=Pour the tea", "--state", "enabled"], StepResult::is_ok).await;
    tour.run(&["snapshot", "--delta", "--root", region], |result| {
        result.is_ok() && contains(result, "was [disabled=true]") == was_disabled
    })
    .await;

    tour.title("Shadow roots, closed ones too, are part of the page");
    tour.run(&["snapshot", "--find", "dial"], |result| {
        contains(result, "\"Turn the dial\" [ref=@e")
    })
    .await;
    tour.run(&["click", "text=Turn the dial"], |result| contains(result, "Facing east")).await;
    tour.run(&["screenshot", &file("lab.png")], StepResult::is_ok).await;

    tour.title("A covered element is refused with the reason, and nothing else is clicked");
    tour.run(&["can", "click", "text=Pick the berry"], |result| contains(result, "fail")).await;
    tour.run(&["click", "text=Pick the berry", "--timeout", "1500ms"], |result| {
        fails(result, Code::ActCovered)
    })
    .await;

    tour.title("`download` returns when the file is complete");
    let csv_file = file("catalogue.csv");
    tour.run(&["download", "text=Download the catalogue", "--to", &csv_file], |result| {
        result.is_ok() && Path::new(&csv_file).exists()
    })
    .await;

    tour.title("Contexts have separate cookies and storage, which can be saved and loaded");
    let ada = ["--context", "ada"];
    let subscription = url("/account/subscription");
    // Redirects to the sign-in form, which leads back.
    tour.run_in_context(ada, &["open", &subscription], StepResult::is_ok).await;
    tour.run_in_context(ada, &["fill", "label=e-mail", "ada.fern@example.com"], StepResult::is_ok)
        .await;
    let password = ["fill", "label=password", "--secret", PASSWORD_NAME, "--submit"];
    tour.run_in_context(ada, &password, |result| contains(result, "navigated")).await;
    let user_name = "document.querySelector('#user-name')?.textContent ?? 'nobody'";
    tour.run_in_context(ada, &["eval", user_name], |result| equals(result, "Ada Fern")).await;
    tour.run(&["eval", user_name], |result| equals(result, "nobody")).await;
    let storage_file = file("ada.json");
    tour.run_in_context(ada, &["storage", "save", &storage_file], |result| {
        contains(result, "saved 1 cookie")
    })
    .await;
    let later = ["--context", "later"];
    tour.run_in_context(later, &["storage", "load", &storage_file], |result| {
        contains(result, "loaded 1 cookie")
    })
    .await;
    tour.run_in_context(later, &["open", shop], StepResult::is_ok).await;
    tour.run_in_context(later, &["eval", user_name], |result| equals(result, "Ada Fern")).await;

    tour.title("An open dialog is an error that names the command to answer it");
    tour.run(&["eval", "confirm('Empty your saved items?')"], |result| {
        fails(result, Code::PageDialogOpen)
    })
    .await;
    tour.run(&["dialog", "accept"], StepResult::is_ok).await;

    super::chat::ask(&mut tour, browser, apps).await?;

    tour.title("A page in an endless loop: its command times out, other tabs keep working");
    let looping_page = "data:text/html,<script>setTimeout(() => { while (true) {} }, 0)</script>";
    tour.run(&["open", "--new-tab", "--until", "commit", looping_page], StepResult::is_ok).await;
    tour.run(&["eval", "1", "--timeout", "800ms"], |result| fails(result, Code::PageUnresponsive))
        .await;
    tour.run(&["status"], StepResult::is_ok).await;
    tour.run(&["tab", "new", shop], StepResult::is_ok).await;
    tour.run(&["eval", "document.title"], |result| contains(result, "Fernway")).await;

    tour.title("A crashed tab is reported as such and recovers with `reload`");
    tour.run(&["open", "chrome://crash"], |result| fails(result, Code::TabCrashed)).await;
    tour.run(&["eval", "1"], |result| fails(result, Code::TabCrashed)).await;
    tour.run(&["reload"], |result| is_titled(result, "Fernway")).await;

    let ok = tour.steps.iter().all(|step| step.ok);
    Ok(TourReport {
        ok,
        steps: tour.steps,
        ms: millis(started),
        pictures: folder.display().to_string(),
    })
}

pub(super) struct Tour<'a> {
    browser: &'a Browser,
    quiet: bool,
    steps: Vec<Step>,
}

type StepResult = Result<Outcome>;

impl Tour<'_> {
    pub(super) fn title(&self, text: &str) {
        if !self.quiet {
            say(&format!("\n{TITLE}{text}{TITLE:#}"));
        }
    }

    async fn run_in_context(
        &mut self,
        context: [&str; 2],
        args: &[&str],
        check: impl FnOnce(&StepResult) -> bool,
    ) {
        self.run(&[&context, args].concat(), check).await;
    }

    /// Runs a command line, prints it with its result and records whether the check passed.
    pub(super) async fn run(&mut self, args: &[&str], check: impl FnOnce(&StepResult) -> bool) {
        let line = args.iter().map(|arg| quote(arg)).collect::<Vec<_>>().join(" ");
        let cli = Cli::try_parse_from([&["agbrowse"], args].concat());
        let is_json = cli.as_ref().is_ok_and(|cli| cli.settings.json == Some(true));
        let started = Instant::now();
        let result = match cli {
            Ok(cli) => self.execute(cli).await,
            Err(error) => Err(Error::new(Code::CommandInvalid).message(error.to_string())),
        };
        let (ms, ok) = (millis(started), check(&result));
        if !self.quiet {
            say(&format!("{PROMPT}$ agbrowse {line}{PROMPT:#}  {DIM}{ms} ms{DIM:#}"));
            print_result(&result, is_json);
            if !ok {
                say(&format!("  {FAILED}unexpected result{FAILED:#}"));
            }
        }
        self.steps.push(Step { command: line, ok, ms });
    }

    /// True if nothing is printed meanwhile.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Runs something else that a command line stands for, prints both and records whether the check passed.
    pub(super) async fn step<T: fmt::Display>(
        &mut self,
        args: &[&str],
        run: impl Future<Output = Result<T>>,
        check: impl FnOnce(&T) -> bool,
    ) {
        let line = args.iter().map(|arg| quote(arg)).collect::<Vec<_>>().join(" ");
        if !self.quiet {
            say(&format!("{PROMPT}$ agbrowse {line}{PROMPT:#}"));
        }
        let started = Instant::now();
        let result = run.await;
        let (ms, ok) = (millis(started), result.as_ref().is_ok_and(check));
        if !self.quiet {
            match &result {
                Ok(reply) => {
                    let text = reply.to_string();
                    for line in text.lines().take(MAX_LINES) {
                        say(&format!("  {}", escape_unsafe(line)));
                    }
                }
                Err(error) => print_result(&Err(error.clone()), false),
            }
            say(&format!("  {DIM}{ms} ms{DIM:#}"));
            if !ok {
                say(&format!("  {FAILED}unexpected result{FAILED:#}"));
            }
        }
        self.steps.push(Step { command: line, ok, ms });
    }

    /// Runs a parsed command line as the program does, with this browser instead of a daemon.
    async fn execute(&self, Cli { settings, command }: Cli) -> StepResult {
        let Subcommand::Browser(mut command) = command else {
            return Err(Error::new(Code::CommandInvalid).message("not a browser command"));
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

/// Prints a result as the program does.
fn print_result(result: &StepResult, is_json: bool) {
    match result {
        Ok(outcome) if is_json => {
            say(&format!("  {}", output::json(DEFAULT_SESSION, outcome, None)));
        }
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

/// Quotes an argument for a shell.
fn quote(arg: &str) -> Cow<'_, str> {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_=./:@,+%".contains(c);
    match arg {
        _ if !arg.is_empty() && arg.chars().all(is_safe) => Cow::Borrowed(arg),
        _ if !arg.contains('\'') => Cow::Owned(format!("'{arg}'")),
        _ if !arg.contains(['"', '$', '`', '\\', '!']) => Cow::Owned(format!("\"{arg}\"")),
        _ => Cow::Owned(format!("'{}'", arg.replace('\'', r"'\''"))),
    }
}

fn contains(result: &StepResult, part: &str) -> bool {
    matches!(result, Ok(outcome) if outcome.reply.to_string().contains(part))
}

fn equals(result: &StepResult, text: &str) -> bool {
    matches!(result, Ok(outcome) if outcome.reply.to_string() == text)
}

fn is_titled(result: &StepResult, part: &str) -> bool {
    matches!(result, Ok(Outcome { reply: Reply::Open(there) | Reply::Reload(there), .. }) if there.title.contains(part))
}

fn fails(result: &StepResult, code: Code) -> bool {
    matches!(result, Err(error) if error.code() == code)
}

fn millis(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl fmt::Display for TourReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passed = self.steps.iter().filter(|step| step.ok).count();
        write!(
            f,
            "\n{passed} of {} steps passed in {}.{} s. Files: {}\nThe browser and the shop are closed. Next: agbrowse open URL",
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
    fn arguments_are_quoted_for_a_shell() {
        for (arg, line) in [
            ("label=quantity", "label=quantity"),
            ("http://127.0.0.1:80/lab", "http://127.0.0.1:80/lab"),
            ("", "''"),
            ("text=Pick the berry", "'text=Pick the berry'"),
            ("role=button[name=\"x\"]", "'role=button[name=\"x\"]'"),
            ("confirm('sure?')", "\"confirm('sure?')\""),
            ("'a' + \"b\"", r#"''\''a'\'' + "b"'"#),
        ] {
            assert_eq!(quote(arg), line);
        }
    }
}
