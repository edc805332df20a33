//! Check `version`: running daemons have the version of this program. A daemon of another version rejects commands.

use super::daemons::{Condition, Daemon, query_all};
use super::{Finding, Severity};
use crate::VERSION;
use crate::config::Config;

pub(super) async fn run(_config: &Config) -> Finding {
    match query_all().await {
        Ok(daemons) => finding(&daemons, VERSION),
        Err(error) => Finding::new(Severity::Warn, error.details().message.clone())
            .fix("apply the fix of check `socket`"),
    }
}

fn finding(daemons: &[Daemon], ours: &str) -> Finding {
    let running: Vec<(&str, &str)> = daemons
        .iter()
        .filter_map(|daemon| match &daemon.condition {
            Condition::Running(version) => Some((&*daemon.session, &**version)),
            _ => None,
        })
        .collect();
    let others: Vec<_> = running.iter().filter(|(_, version)| *version != ours).collect();
    if others.is_empty() {
        let detail = match running.len() {
            0 => format!("{ours}; no daemon is running"),
            1 => format!("{ours}, same as the running daemon"),
            count => format!("{ours}, same as all {count} running daemons"),
        };
        return Finding::new(Severity::Info, detail);
    }
    let describe =
        |(session, version): &&(&str, &str)| format!("session `{session}` runs {version}");
    let stop_command =
        |(session, _): &&(&str, &str)| format!("`agbrowse daemon stop --session {session}`");
    let detail = others.iter().map(describe).collect::<Vec<_>>().join(", ");
    let fix = others.iter().map(stop_command).collect::<Vec<_>>().join(", ");
    Finding::new(Severity::Warn, format!("{detail}; this is {ours}")).fix(fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(session: &str, version: &str) -> Daemon {
        Daemon { session: session.into(), condition: Condition::Running(version.into()) }
    }

    #[test]
    fn only_running_daemons_of_other_versions_are_reported() {
        let lost = || Daemon { session: "gone".into(), condition: Condition::Lost("so".into()) };
        assert_eq!(finding(&[lost()], "1.0.0").detail, "1.0.0; no daemon is running");
        assert!(finding(&[running("a", "1.0.0"), running("b", "1.0.0")], "1.0.0").ok);

        let found = finding(&[running("a", "1.0.0"), running("b", "0.9.0"), lost()], "1.0.0");
        assert_eq!(found.severity, Severity::Warn);
        assert_eq!(found.detail, "session `b` runs 0.9.0; this is 1.0.0");
        assert_eq!(found.fix.as_deref(), Some("`agbrowse daemon stop --session b`"));
    }
}
