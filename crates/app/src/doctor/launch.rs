//! Does the browser really start, and how soon does it answer?

use super::{Finding, Severity, ms_since};
use crate::config::Config;
use browser::command::Eval;
use browser::launch::{LaunchOverrides, Options};
use browser::{Browser, Code, Command, Error, Evidence, Request};
use std::time::Instant;

/// Less than the check's own limit, so that the browser's reason is told and not only that it is late.
const TIMEOUT_MS: u64 = 30_000;

pub(super) async fn look(config: &Config) -> Finding {
    let options = options(config);
    let headed = options.headed;
    let browser = Browser::new(options);
    let sum = Command::Eval(Eval { script: "1+1".into(), ..Eval::default() });
    let began = Instant::now();
    let answer = browser.run(Request { timeout_ms: Some(TIMEOUT_MS), ..Request::new(sum) }).await;
    let ms = ms_since(began);
    browser.close().await;
    match answer.map(|outcome| outcome.reply.to_string()) {
        Ok(sum) if sum == "2" => {
            Finding::new(Severity::Info, format!("started and answered within {ms} ms"))
        }
        Ok(sum) => Finding::new(Severity::Fail, format!("the browser says that 1+1 is `{sum}`"))
            .fix("get another browser with `agbrowse install --force`"),
        Err(error) => Finding::new(Severity::Fail, words(&error)).fix(fix(&error, headed)),
    }
}

/// What is configured, except what would touch the user's own browser, profile or trace.
fn options(config: &Config) -> Options {
    let overrides =
        LaunchOverrides { cdp: None, profile: None, trace: None, ..config.launch_overrides() };
    overrides.apply(&Options::default()).0
}

/// What happened, with the line in which the browser says why.
fn words(error: &Error) -> String {
    let details = error.details();
    let stderr = match details.evidence.as_ref().and_then(|facts| facts.get("stderr")) {
        Some(Evidence::Text(text)) => telling_line(text),
        _ => None,
    };
    match stderr {
        Some(line) => format!("{}: {line}", details.message),
        None => details.message.clone(),
    }
}

/// A fatal message is followed by its stack and preceded by complaints that matter to nobody.
fn telling_line(stderr: &str) -> Option<&str> {
    let is_fatal = |line: &&str| line.contains("FATAL") || line.contains("error while loading");
    let mut lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.clone().find(is_fatal).or_else(|| lines.next_back())
}

fn fix(error: &Error, headed: bool) -> &'static str {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let has_screen =
        !cfg!(target_os = "linux") || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(is_set);
    match error.code() {
        Code::BrowserNotFound => "run `agbrowse install`",
        Code::ProfileUnusable => "set TMPDIR to a folder that you may write to",
        _ if headed && !has_screen => "leave out `headed`, or provide a screen with `xvfb-run`",
        _ => "run the browser by hand to see why, or get another with `agbrowse install --force`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SessionName;

    #[test]
    fn nothing_of_the_users_is_touched() {
        let mut config = Config::default();
        config.settings.cdp = Some("9222".into());
        config.settings.profile = Some(SessionName("work".into()));
        config.settings.trace_cdp = Some("/tmp/trace".into());
        config.settings.chrome_arg = Some(vec!["--lang=de".into()]);
        let expected = Options { args: vec!["--lang=de".into()], ..Options::default() };
        assert_eq!(options(&config), expected);
    }

    #[test]
    fn the_browsers_reason_is_told() {
        let stderr = "[1:ERROR:dbus] no bus\n[1:FATAL:zygote] No usable sandbox!\n#0 0x55\n\n";
        let error = Error::new(Code::BrowserLaunchFailed).message("it ended");
        assert_eq!(words(&error), "it ended");
        let error = error.evidence("stderr", stderr);
        assert_eq!(words(&error), "it ended: [1:FATAL:zygote] No usable sandbox!");
        assert_eq!(telling_line("one\ntwo\n"), Some("two"));
        assert_eq!(telling_line(" \n"), None);
    }

    #[test]
    fn the_fix_fits_the_failure() {
        let fix = |code| fix(&Error::new(code), false);
        assert!(fix(Code::BrowserNotFound).contains("`agbrowse install`"));
        assert!(fix(Code::ProfileUnusable).contains("TMPDIR"));
        assert!(fix(Code::BrowserLaunchFailed).contains("--force"));
    }
}
