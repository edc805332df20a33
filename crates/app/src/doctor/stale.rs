//! Has something been left behind by processes that are gone, or does a daemon no longer answer?

use super::daemons::{Condition, Daemon, ask_all};
use super::{Finding, Severity};
use crate::config::Config;
use browser::launch::{StaleProfiles, stale_profiles};

pub(super) async fn look(_config: &Config) -> Finding {
    let profiles = tokio::task::spawn_blocking(stale_profiles).await.unwrap_or_default();
    match ask_all().await {
        Ok(daemons) => finding(&profiles, &daemons),
        Err(error) => Finding::new(Severity::Warn, error.details().message.clone())
            .fix("do what the check `socket` says"),
    }
}

fn finding(profiles: &StaleProfiles, daemons: &[Daemon]) -> Finding {
    let mut found = Vec::new();
    let mut fixes = Vec::new();
    if !profiles.fresh.is_empty() {
        found.push(format!("temporary profiles of dead owners: {}", profiles.fresh.len()));
        fixes.push("temporary profiles are removed by the next start of a browser".to_owned());
    }
    for lock in &profiles.locks {
        let name = lock.parent().and_then(|folder| folder.file_name()).unwrap_or_default();
        let name = name.display();
        found.push(format!("profile `{name}` is locked by a dead owner"));
        fixes.push(format!("the lock is removed by the next start with `--profile {name}`"));
    }
    for Daemon { session, condition } in daemons {
        let stop = format!("`agbrowse daemon stop --session {session}`");
        let (what, fix) = match condition {
            Condition::Running(_) => continue,
            Condition::Stuck(why) => (format!("session `{session}` is stuck: {why}"), stop),
            Condition::Lost(why) => (format!("session `{session}` is lost: {why}"), stop),
            Condition::Deaf => (
                format!("nobody listens on the socket of session `{session}`"),
                format!("the socket is replaced by the next command of session `{session}`"),
            ),
        };
        found.push(what);
        fixes.push(fix);
    }
    if found.is_empty() {
        return Finding::new(Severity::Info, "nothing is left behind");
    }
    Finding::new(Severity::Warn, found.join("; ")).fix(fixes.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn daemon(session: &str, condition: Condition) -> Daemon {
        Daemon { session: session.into(), condition }
    }

    #[test]
    fn what_lives_is_not_left_behind() {
        let running = [daemon("default", Condition::Running("0.1.0".into()))];
        for daemons in [&running[..], &[]] {
            let found = finding(&StaleProfiles::default(), daemons);
            assert!(found.ok && found.fix.is_none(), "{found:?}");
        }
    }

    #[test]
    fn each_leftover_has_its_fix() {
        let profiles = StaleProfiles {
            fresh: vec!["/tmp/p/a".into(), "/tmp/p/b".into()],
            locks: vec!["/home/me/profiles/work/profile.lock".into()],
        };
        let daemons = [
            daemon("a", Condition::Lost("it was killed".into())),
            daemon("b", Condition::Stuck("it says nothing".into())),
            daemon("c", Condition::Deaf),
        ];
        let found = finding(&profiles, &daemons);
        assert_eq!(found.severity, Severity::Warn);
        for part in ["dead owners: 2", "`work`", "`a` is lost: it was killed", "`b` is stuck"] {
            assert!(found.detail.contains(part), "{part}: {found:?}");
        }
        let fix = found.fix.unwrap();
        for part in ["--profile work", "daemon stop --session a", "stop --session b", "`c`"] {
            assert!(fix.contains(part), "{part}: {fix}");
        }
    }
}
