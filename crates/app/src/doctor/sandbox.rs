//! Check `sandbox`: whether Chromium's sandbox is available and enabled.

use super::{Finding, Severity, program};
use crate::config::Config;
use browser::launch::{Sandbox, sandbox};

pub(super) async fn run(config: &Config) -> Finding {
    let Ok(found) = program(config) else {
        return Finding::new(Severity::Warn, "not checked: no browser found")
            .fix("run `agbrowse install`");
    };
    finding(&sandbox(&found.path), config.settings.no_sandbox == Some(true))
}

fn finding(sandbox: &Sandbox, is_disabled: bool) -> Finding {
    match sandbox {
        Sandbox::Usable if is_disabled => {
            Finding::new(Severity::Warn, "available, but disabled by the setting `no-sandbox`")
                .fix("unset `no-sandbox`; `agbrowse config show` shows where it is set")
        }
        Sandbox::Usable => Finding::new(Severity::Info, "pages run in Chromium's sandbox"),
        Sandbox::Unusable(why) => {
            Finding::new(Severity::Warn, format!("the browser runs without a sandbox: {why}"))
                .fix(fix(rustix::process::geteuid().is_root()))
        }
    }
}

fn fix(is_root: bool) -> &'static str {
    if is_root {
        return "run agbrowse as a user other than root";
    }
    "allow user namespaces (`sysctl kernel.unprivileged_userns_clone=1`, on Ubuntu `sysctl \
     kernel.apparmor_restrict_unprivileged_userns=0`), or make the browser's `chrome-sandbox` \
     helper setuid root"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_or_disabled_sandbox_is_a_warning() {
        let unusable = Sandbox::Unusable("no namespaces");
        for (sandbox, is_disabled, severity, part) in [
            (&Sandbox::Usable, false, Severity::Info, "in Chromium's sandbox"),
            (&Sandbox::Usable, true, Severity::Warn, "`no-sandbox`"),
            (&unusable, false, Severity::Warn, "no namespaces"),
            (&unusable, true, Severity::Warn, "no namespaces"),
        ] {
            let found = finding(sandbox, is_disabled);
            assert_eq!(found.severity, severity, "{found:?}");
            assert!(found.detail.contains(part), "{found:?}");
            assert_eq!(found.fix.is_some(), !found.ok, "{found:?}");
        }
    }

    #[test]
    fn fix_for_root_is_another_user() {
        assert!(fix(true).contains("other than root"));
        assert!(fix(false).contains("user namespaces"));
    }
}
