//! Check `launch`: launches the browser, evaluates a script and measures the time.

use super::{Finding, Severity, ms_since};
use crate::config::Config;
use browser::command::Eval;
use browser::launch::{LaunchOverrides, Options};
use browser::{Browser, Code, Command, Error, Evidence, Request};
use std::time::Instant;

/// Shorter than the check's limit, so that the launch error is reported instead of a timeout.
const TIMEOUT_MS: u64 = 30_000;

pub(super) async fn run(config: &Config) -> Finding {
    let options = options(config);
    let headed = options.headed;
    let browser = Browser::new(options);
    let sum = Command::Eval(Eval { script: "1+1".into(), ..Eval::default() });
    let started = Instant::now();
    let result = browser.run(Request { timeout_ms: Some(TIMEOUT_MS), ..Request::new(sum) }).await;
    let ms = ms_since(started);
    browser.close().await;
    match result.map(|outcome| outcome.reply.to_string()) {
        Ok(sum) if sum == "2" => {
            Finding::new(Severity::Info, format!("started and answered within {ms} ms"))
        }
        Ok(sum) => Finding::new(Severity::Fail, format!("the browser evaluates `1+1` to `{sum}`"))
            .fix("install another browser with `agbrowse install --force`"),
        Err(error) => Finding::new(Severity::Fail, failure_text(&error)).fix(fix(&error, headed)),
    }
}

/// Returns the configured launch options without the user's own browser, profile and trace.
fn options(config: &Config) -> Options {
    let overrides =
        LaunchOverrides { cdp: None, profile: None, trace: None, ..config.launch_overrides() };
    overrides.apply(&Options::default()).0
}

/// Returns the error message with the browser's fatal line on stderr.
fn failure_text(error: &Error) -> String {
    let details = error.details();
    let stderr = match details.evidence.as_ref().and_then(|evidence| evidence.get("stderr")) {
        Some(Evidence::Text(text)) => fatal_line(text),
        _ => None,
    };
    match stderr {
        Some(line) => format!("{}: {line}", details.message),
        None => details.message.clone(),
    }
}

/// Returns the fatal line, which comes before a stack trace and after irrelevant warnings, else the last line.
fn fatal_line(stderr: &str) -> Option<&str> {
    let is_fatal = |line: &&str| line.contains("FATAL") || line.contains("error while loading");
    let mut lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.clone().find(is_fatal).or_else(|| lines.next_back())
}

fn fix(error: &Error, headed: bool) -> &'static str {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let has_display =
        !cfg!(target_os = "linux") || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(is_set);
    match error.code() {
        Code::BrowserNotFound => "run `agbrowse install`",
        Code::ProfileUnusable => "set TMPDIR to a writable folder",
        _ if headed && !has_display => "unset `headed`, or provide a display with `xvfb-run`",
        _ => {
            "run the browser by hand to see the error, or install another with `agbrowse install --force`"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SessionName;

    #[test]
    fn user_browser_profile_and_trace_are_not_used() {
        let mut config = Config::default();
        config.settings.cdp = Some("9222".into());
        config.settings.profile = Some(SessionName("work".into()));
        config.settings.trace_cdp = Some("/tmp/trace".into());
        config.settings.chrome_arg = Some(vec!["--lang=de".into()]);
        let expected = Options { args: vec!["--lang=de".into()], ..Options::default() };
        assert_eq!(options(&config), expected);
    }

    #[test]
    fn fatal_line_of_the_browser_is_reported() {
        let stderr = "[1:ERROR:dbus] no bus\n[1:FATAL:zygote] No usable sandbox!\n#0 0x55\n\n";
        let error = Error::new(Code::BrowserLaunchFailed).message("it ended");
        assert_eq!(failure_text(&error), "it ended");
        let error = error.evidence("stderr", stderr);
        assert_eq!(failure_text(&error), "it ended: [1:FATAL:zygote] No usable sandbox!");
        assert_eq!(fatal_line("one\ntwo\n"), Some("two"));
        assert_eq!(fatal_line(" \n"), None);
    }

    #[test]
    fn fix_depends_on_the_error_code() {
        let fix = |code| fix(&Error::new(code), false);
        assert!(fix(Code::BrowserNotFound).contains("`agbrowse install`"));
        assert!(fix(Code::ProfileUnusable).contains("TMPDIR"));
        assert!(fix(Code::BrowserLaunchFailed).contains("--force"));
    }
}
