//! The environment of a browser process: an allow-list of variables.
//!
//! An agent's environment holds keys and passwords (`AGBROWSE_SECRET_…`, those of model APIs). Every process of the
//! browser would inherit them, and so would an exploit of one.

use std::ffi::OsString;

/// Variables that are passed on.
const NAMES: &[&str] = &[
    // User and paths.
    "HOME",
    "USER",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TMPDIR",
    "TZ",
    // Language.
    "LANG",
    "LANGUAGE",
    // Display, input methods, desktop session.
    "DISPLAY",
    "XAUTHORITY",
    "XMODIFIERS",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DESKTOP_SESSION",
    "GTK_IM_MODULE",
    "GTK_THEME",
    "QT_IM_MODULE",
    // Sound and graphics.
    "ALSA_CONFIG_PATH",
    "DRI_PRIME",
    "PULSE_SERVER",
    // Libraries and certificates in unusual places.
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "SSLKEYLOGFILE",
    // Network proxies.
    "ALL_PROXY",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SOCKS_SERVER",
    "SOCKS_VERSION",
    // macOS.
    "__CF_USER_TEXT_ENCODING",
];

/// Prefixes of variables that are passed on.
const PREFIXES: &[&str] = &[
    "CHROME_",
    "CHROMIUM_",
    "FONTCONFIG_",
    "GDK_",
    "LC_",
    "LIBGL_",
    "LIBVA_",
    "MESA_",
    "NIX_",
    "VK_",
    "WAYLAND_",
    "XDG_",
];

/// A variable with one of these words is never passed on, whatever its prefix.
const PRIVATE: &[&str] = &["SECRET", "TOKEN", "PASSWORD", "PASSWD", "CREDENTIAL", "API_KEY"];

/// The environment variables for a browser.
pub(super) fn for_browser() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_for_browser))
}

fn is_for_browser(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    // Proxy variables are written in either case.
    let is_named = NAMES.contains(&name) || name.ends_with("_proxy") && NAMES.contains(&&*upper);
    (is_named || PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
        && !PRIVATE.iter().any(|word| upper.contains(word))
}

#[cfg(test)]
mod tests {
    use super::is_for_browser;

    #[test]
    fn environment_excludes_secrets() {
        for name in [
            "HOME",
            "PATH",
            "LC_ALL",
            "XDG_RUNTIME_DIR",
            "https_proxy",
            "NO_PROXY",
            "WAYLAND_DISPLAY",
        ] {
            assert!(is_for_browser(name), "{name}");
        }
        for name in [
            "AGBROWSE_SECRET_PIN",
            "AGBROWSE_TIMEOUT",
            "ANTHROPIC_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "CHROME_SIGN_IN_TOKEN",
            "GITHUB_TOKEN",
            "SHOP_PASSWORD",
            "home",
            "my_proxy",
            "",
        ] {
            assert!(!is_for_browser(name), "{name}");
        }
    }
}
