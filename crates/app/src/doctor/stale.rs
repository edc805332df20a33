//! Check `stale`: profiles, locks and sockets of exited processes, and daemons that do not respond.

use super::daemons::{Condition, Daemon, query_all};
use super::{Finding, Severity};
use crate::config::Config;
use browser::launch::{StaleProfiles, stale_profiles};

pub(super) async fn run(_config: &Config) -> Finding {
    let profiles = tokio::task::spawn_blocking(stale_profiles).await.unwrap_or_default();
    match query_all().await {
        Ok(daemons) => finding(&profiles, &daemons),
        Err(error) => Finding::new(Severity::Warn, error.details().message.clone())
            .fix("apply the fix of check `socket`"),
    }
}

fn finding(profiles: &StaleProfiles, daemons: &[Daemon]) -> Finding {
    let mut found = Vec::new();
    let mut fixes = Vec::new();
    if !profiles.fresh.is_empty() {
        found.push(format!("temporary profiles of exited processes: {}", profiles.fresh.len()));
        fixes.push("the next browser launch removes temporary profiles".to_owned());
    }
    for lock in &profiles.locks {
        let name = lock.parent().and_then(|folder| folder.file_name()).unwrap_or_default();
        let name = name.display();
        found.push(format!("profile `{name}` is locked by an exited process"));
        fixes.push(format!("the next launch with `--profile {name}` removes the lock"));
    }
    for Daemon { session, condition } in daemons {
        let stop = format!("`agbrowse daemon stop --session {session}`");
        let (detail, fix) = match condition {
            Condition::Running(_) => continue,
            Condition::Stuck(why) => (format!("session `{session}` is stuck: {why}"), stop),
            Condition::Lost(why) => (format!("session `{session}` is lost: {why}"), stop),
            Condition::NoListener => (
                format!("the socket of session `{session}` has no listener"),
                format!("the next command of session `{session}` replaces the socket"),
            ),
        };
        found.push(detail);
        fixes.push(fix);
    }
    if found.is_empty() {
        return Finding::new(Severity::Info, "no stale profiles, locks, sockets or daemons");
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
    fn running_daemons_are_not_stale() {
        let running = [daemon("default", Condition::Running("0.1.0".into()))];
        for daemons in [&running[..], &[]] {
            let found = finding(&StaleProfiles::default(), daemons);
            assert!(found.ok && found.fix.is_none(), "{found:?}");
        }
    }

    #[test]
    fn each_stale_item_has_a_fix() {
        let profiles = StaleProfiles {
            fresh: vec!["/tmp/p/a".into(), "/tmp/p/b".into()],
            locks: vec!["/home/me/profiles/work/profile.lock".into()],
        };
        let daemons = [
            daemon("a", Condition::Lost("it was killed".into())),
            daemon("b", Condition::Stuck("no response".into())),
            daemon("c", Condition::NoListener),
        ];
        let found = finding(&profiles, &daemons);
        assert_eq!(found.severity, Severity::Warn);
        for part in ["exited processes: 2", "`work`", "`a` is lost: it was killed", "`b` is stuck"]
        {
            assert!(found.detail.contains(part), "{part}: {found:?}");
        }
        let fix = found.fix.unwrap();
        for part in ["--profile work", "daemon stop --session a", "stop --session b", "`c`"] {
            assert!(fix.contains(part), "{part}: {fix}");
        }
    }
}
