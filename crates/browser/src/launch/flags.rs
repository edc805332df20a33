//! Command-line flags of a browser, with their reasons.

use super::{Found, Options, Sandbox, sandbox, shared_memory_mb};
use crate::note::Note;
use std::ffi::OsString;
use std::path::Path;

/// Disabled Chromium features: those that contact the network, prompt or cost time. Features of its own UI (`WebUI…`)
/// and the spare renderer cost a fifth of the time to the first response of a page. After a click, the page would
/// paint before it responds (`…AfterInput`): good for people, a quarter of a click's time for us.
const FEATURES_OFF: &str = "AcceptCHFrame,AiModeOmniboxEntryPoint,AutofillServerCommunication,\
    CertificateTransparencyComponentUpdater,DeferRendererTasksAfterInput,DestroyProfileOnBrowserClose,\
    DialMediaRouteProvider,\
    GlobalMediaControls,HttpsUpgrades,InitialWebUI,LensOverlay,MediaRouter,OptimizationHints,\
    PaintHolding,PreloadTopChromeWebUI,PrioritizeCompositingAfterInput,SpareRendererForSitePerProcess,Translate,WebUIOmniboxAimPopup,\
    WebUIOmniboxFullPopup,WebUIOmniboxPopup,WebUIReloadButton";

/// V8 flags. V8 starts with a 16 MB semi-space: with the default 0.5 MB a walk of a large page fills it dozens of
/// times; survivors are promoted, and after some of that a mark-compact of the whole heap runs during the walk. And
/// with a 64 MB old space: with the default 26 MB the mark-compact runs right after the walk, on the core on which
/// the report is parsed.
const JS_FLAGS: &str = "--min-semi-space-size=16 --initial-old-space-size=64";

/// A caller's V8 flags are merged: Chromium reads only the last `--js-flags`.
const JS_FLAGS_ARGUMENT: &str = "--js-flags=";

/// Flags of every browser. Chromium's IPC flooding protection against endless URL changes stays on: without it, such
/// a page occupies the browser process and no tab responds.
const ALWAYS: &[&str] = &[
    // CDP over two pipes: no port is opened, and the browser ends when they close.
    "--remote-debugging-pipe",
    // No prompts, updates, reports or sync.
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
    // A background tab works as well as the front one.
    "--disable-back-forward-cache-timeout",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    // We report a hanging page; Chromium would prompt.
    "--disable-hang-monitor",
    // A silently blocked pop-up is a click without effect.
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--force-color-profile=srgb",
    "--export-tagged-pdf",
];

/// The default window size.
pub(crate) const VIEWPORT: (u32, u32) = (1280, 720);

/// Below this, pages crash when Chromium uses `/dev/shm`.
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
    let mut js_flags = format!("{JS_FLAGS_ARGUMENT}{JS_FLAGS}");
    for arg in &options.args {
        match arg.strip_prefix(JS_FLAGS_ARGUMENT) {
            Some(more) => js_flags.extend([" ", more]),
            None => args.push(arg.into()),
        }
    }
    args.push(js_flags.into());
    args.push("about:blank".into());
    (args, notes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Origin;

    #[test]
    fn js_flags_are_merged() {
        let said = ["--js-flags=--expose-gc", "--mute-audio", "--js-flags=--random-seed=7"];
        let options = Options { args: said.map(Into::into).to_vec(), ..Options::default() };
        let found = Found { path: "/usr/bin/chromium".into(), origin: Origin::Path };
        let (args, _) = flags(&options, &found, Path::new("/tmp/profile"));
        let for_scripts: Vec<_> =
            args.iter().filter_map(|arg| arg.to_str()?.strip_prefix(JS_FLAGS_ARGUMENT)).collect();
        assert_eq!(for_scripts, [format!("{JS_FLAGS} --expose-gc --random-seed=7")]);
        assert!(args.contains(&OsString::from("--mute-audio")));
    }
}
