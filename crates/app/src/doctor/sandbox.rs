//! Do pages run inside Chromium's sandbox?

use super::{Finding, Severity, program};
use crate::config::Config;
use browser::launch::{Sandbox, sandbox};

pub(super) async fn look(config: &Config) -> Finding {
    let Ok(found) = program(config) else {
        return Finding::new(Severity::Warn, "cannot be told without a browser")
            .fix("run `agbrowse install`");
    };
    finding(&sandbox(&found.path), config.settings.no_sandbox == Some(true))
}

fn finding(sandbox: &Sandbox, is_turned_off: bool) -> Finding {
    match sandbox {
        Sandbox::Usable if is_turned_off => {
            Finding::new(Severity::Warn, "it can work, but the setting `no-sandbox` turns it off")
                .fix("leave out `no-sandbox`; `agbrowse config show` tells where it is set")
        }
        Sandbox::Usable => Finding::new(Severity::Info, "pages run inside Chromium's sandbox"),
        Sandbox::Unusable(why) => {
            Finding::new(Severity::Warn, format!("the browser runs without it: {why}"))
                .fix(fix(rustix::process::geteuid().is_root()))
        }
    }
}

fn fix(is_root: bool) -> &'static str {
    if is_root {
        return "run agbrowse as another user than root";
    }
    "allow user namespaces (`sysctl kernel.unprivileged_userns_clone=1`, on Ubuntu `sysctl \
     kernel.apparmor_restrict_unprivileged_userns=0`), or make the browser's `chrome-sandbox` \
     helper setuid root"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_without_a_sandbox_are_warned_about() {
        let unusable = Sandbox::Unusable("it is so");
        for (sandbox, is_turned_off, severity, part) in [
            (&Sandbox::Usable, false, Severity::Info, "inside"),
            (&Sandbox::Usable, true, Severity::Warn, "`no-sandbox`"),
            (&unusable, false, Severity::Warn, "it is so"),
            (&unusable, true, Severity::Warn, "it is so"),
        ] {
            let found = finding(sandbox, is_turned_off);
            assert_eq!(found.severity, severity, "{found:?}");
            assert!(found.detail.contains(part), "{found:?}");
            assert_eq!(found.fix.is_some(), !found.ok, "{found:?}");
        }
    }

    #[test]
    fn root_is_told_to_be_somebody_else() {
        assert!(fix(true).contains("another user"));
        assert!(fix(false).contains("user namespaces"));
    }
}
