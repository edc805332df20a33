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

/// What scripts run with: room for 16 MB of new things from the start. With the usual half a megabyte a look at a large page
/// fills it dozens of times; what is in use each time counts as old, and after some of that the browser goes through the whole
/// page to clean up, in the middle of the look. And for 64 MB of old ones: with the usual 26 MB it does so right after the look,
/// on the core on which we read what was seen.
const JS_FLAGS: &str = "--min-semi-space-size=16 --initial-old-space-size=64";

/// How a caller says more of that. Chromium heeds only the last one.
const JS_FLAGS_ARGUMENT: &str = "--js-flags=";

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
    fn flags_for_scripts_are_added_to_ours() {
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
