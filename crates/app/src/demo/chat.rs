//! The part of the tour that shows `web-ai`: a local app under ChatGPT's host name, before and after its page has changed.

use super::tour::Tour;
use browser::{Browser, Code, Error, Result};
use chatapps::{App, ChatApps, Scenario, Variant};
use std::path::Path;
use std::sync::Arc;
use webai::vendor::{DEFAULT_VENDOR, Vendors};
use webai::{
    ChatProgress, ChatReply, PromptParts, SendOptions, SessionStatus, SessionStore, StatusOptions,
    WebAi,
};

const QUESTION: &str = "Which kettle for two?";

/// The demonstration's browser has no window, which the vendor file asks for.
const WITHOUT_WINDOW: &str = "format = 1\nid = \"chatgpt\"\nheaded = false\n";

/// Asks the app twice: as it is, and with other ids, classes, tags and names.
pub(super) async fn ask(
    tour: &mut Tour<'_>,
    browser: &Arc<Browser>,
    apps: &ChatApps,
) -> Result<()> {
    let folder = tempfile::tempdir().map_err(|error| {
        Error::new(Code::FileWriteFailed).message(format!("no temporary folder: {error}"))
    })?;
    let web_ai = web_ai(browser, folder.path())?;
    let app = |variant| {
        let scenario = Scenario { variant, seed: 3, token_ms: 20, ..Scenario::default() };
        apps.url(App::ChatGpt, &scenario)
    };
    tour.title("Chat apps are checked before anything is sent (a local app under ChatGPT's name)");
    tour.run(&["open", &app(Variant::Baseline)], std::result::Result::is_ok).await;
    let options = StatusOptions::default();
    let status = web_ai.status(DEFAULT_VENDOR, &options);
    tour.step(&["web-ai", "status"], status, |status| status.ok).await;
    query(tour, &web_ai).await;
    tour.title("The same after its ids, classes and tags have changed: found by role and name");
    tour.run(&["open", &app(Variant::Structural)], std::result::Result::is_ok).await;
    query(tour, &web_ai).await;
    Ok(())
}

fn web_ai(browser: &Arc<Browser>, folder: &Path) -> Result<WebAi<Arc<Browser>>> {
    let vendors = folder.join("vendors");
    let written = std::fs::create_dir(&vendors)
        .and_then(|()| std::fs::write(vendors.join("chatgpt.toml"), WITHOUT_WINDOW));
    written.map_err(|error| {
        Error::new(Code::FileWriteFailed).message(format!("`{}`: {error}", vendors.display()))
    })?;
    let store = SessionStore::new(folder.join("sessions.json"));
    Ok(WebAi::new(browser.clone(), Vendors::load(Some(&vendors))?).with_sessions(store, "demo"))
}

async fn query(tour: &mut Tour<'_>, web_ai: &WebAi<Arc<Browser>>) {
    let parts = PromptParts { prompt: Some(QUESTION.to_owned()), ..PromptParts::default() };
    let options = SendOptions { parts, inline_only: true, ..SendOptions::default() };
    let quiet = tour.is_quiet();
    let progress = move |step| {
        if let (ChatProgress::Streaming(count), false) = (step, quiet) {
            crate::output::say(&format!("  … {count} characters"));
        }
    };
    let asked = async {
        let sent = web_ai.send(DEFAULT_VENDOR, &options, &progress).await?;
        let wait = std::time::Duration::from_secs(30);
        let answered = web_ai.poll(&sent.session_id, wait, &progress).await?;
        Ok(ChatReply::from(&answered))
    };
    let args = ["web-ai", "query", "--inline-only", "--prompt", QUESTION];
    let is_answered =
        |reply: &ChatReply| reply.status == SessionStatus::Complete && reply.answer.is_some();
    tour.step(&args, asked, is_answered).await;
}
