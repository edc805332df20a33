//! The arguments that a browser is started with, and why.

use super::{Found, Options, Sandbox, sandbox, shared_memory_mb};
use crate::note::Note;
use std::ffi::OsString;
use std::path::Path;

/// Chromium's own features that talk to the network, nag or slow down, by name. Those of its own surface
/// (`WebUI…`) and the renderer it keeps in reserve cost a fifth of the time until the first page answers. After a click
/// a page would draw before it answers anybody (`…AfterInput`): good for eyes, a quarter of the time of a click for us.
const FEATURES_OFF: &str = "AcceptCHFrame,AiModeOmniboxEntryPoint,AutofillServerCommunication,\
    CertificateTransparencyComponentUpdater,DeferRendererTasksAfterInput,DestroyProfileOnBrowserClose,\
    DialMediaRouteProvider,\
    GlobalMediaControls,HttpsUpgrades,InitialWebUI,LensOverlay,MediaRouter,OptimizationHints,\
    PaintHolding,PreloadTopChromeWebUI,PrioritizeCompositingAfterInput,SpareRendererForSitePerProcess,Translate,WebUIOmniboxAimPopup,\
    WebUIOmniboxFullPopup,WebUIOmniboxPopup,WebUIReloadButton";

/// What every browser of ours gets. Chromium's protection against a page that changes its address without end stays on:
/// without it, such a page occupies the browser process and no tab answers.
const ALWAYS: &[&str] = &[
    // The protocol over two pipes: no port is opened, and the browser ends when they close.
    "--remote-debugging-pipe",
    // Nothing that asks, updates, reports or syncs.
    "--no-first-run",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-field-trial-config",
    "--disable-search-engine-choice-screen",
    "--disable-sync",
    "--metrics-recording-only",
    "--password-store=basic",
    "--use-mock-keychain",
    // A tab that is not in front works as well as one that is.
    "--disable-back-forward-cache-timeout",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    // A page that hangs is ours to report; Chromium would ask a person.
    "--disable-hang-monitor",
    // A pop-up that is swallowed in silence is a click without effect.
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--force-color-profile=srgb",
    "--export-tagged-pdf",
];

/// The size of a window unless another is asked for.
pub(crate) const VIEWPORT: (u32, u32) = (1280, 720);

/// Below this, pages crash when Chromium shares its memory through `/dev/shm`.
const SHARED_MEMORY_NEEDED_MB: u64 = 256;

pub(super) fn flags(
    options: &Options,
    found: &Found,
    profile: &Path,
) -> (Vec<OsString>, Vec<Note>) {
    let mut notes = Vec::new();
    let mut args: Vec<OsString> = ALWAYS.iter().map(Into::into).collect();
    args.push(format!("--disable-features={FEATURES_OFF}").into());
    let mut user_data = OsString::from("--user-data-dir=");
    user_data.push(profile);
    args.push(user_data);

    let (width, height) = options.viewport.unwrap_or(VIEWPORT);
    args.push(format!("--window-size={width},{height}").into());
    if !options.headed {
        args.push(if found.is_headless_shell() { "--headless" } else { "--headless=new" }.into());
        args.extend(["--hide-scrollbars", "--mute-audio"].map(Into::into));
    }
    match sandbox(&found.path) {
        _ if options.no_sandbox => args.push("--no-sandbox".into()),
        Sandbox::Usable => {}
        Sandbox::Unusable(why) => {
            args.push("--no-sandbox".into());
            notes.push(Note::new(
                "no-sandbox",
                format!("running without Chromium's sandbox: {why}"),
            ));
        }
    }
    if shared_memory_mb().is_some_and(|size| size < SHARED_MEMORY_NEEDED_MB) {
        args.push("--disable-dev-shm-usage".into());
    }
    args.extend(options.args.iter().map(Into::into));
    args.push("about:blank".into());
    (args, notes)
}
