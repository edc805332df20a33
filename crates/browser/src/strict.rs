//! Errors of the hash-bound ref policy, for a page that differs from its snapshot. The registry itself is data and
//! lives in `page::refs::hash_bound`.

use crate::error::{Code, Error};
use page::refs::hash_bound::HashBoundError;

impl From<HashBoundError> for Error {
    fn from(problem: HashBoundError) -> Self {
        let message = problem.to_string();
        let (code, facts) = match problem {
            HashBoundError::NotFound { name, snapshot_id } => {
                (Code::SnapshotRefNotFound, vec![("ref", Some(name)), ("snapshotId", snapshot_id)])
            }
            HashBoundError::Stale(stale) => {
                let facts = vec![
                    ("snapshotId", stale.snapshot_id),
                    ("expectedSnapshotId", stale.expected_snapshot_id),
                    ("domHash", stale.dom_hash),
                    ("currentDomHash", stale.current_dom_hash),
                    ("axHash", stale.ax_hash),
                    ("currentAxHash", stale.current_ax_hash),
                ];
                (Code::SnapshotRefStale, facts)
            }
        };
        let error = Self::new(code).message(message);
        facts.into_iter().fold(error, |error, (key, fact)| error.evidence(key, fact))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use page::refs::hash_bound::{CurrentHashes, HashBoundRegistry};

    /// A registry's error for a ref, as JSON.
    fn error_json(registry: &HashBoundRegistry, name: &str, now: &CurrentHashes<'_>) -> String {
        let error = Error::from(registry.resolve(name, now).unwrap_err());
        serde_json::to_string(&error).unwrap()
    }

    #[test]
    fn problems_have_the_specified_codes_stages_hints_and_evidence() {
        let registry = HashBoundRegistry {
            snapshot_id: Some("s1".into()),
            ax_hash: Some("sha256:a".into()),
            dom_hash: Some("sha256:d".into()),
            ..HashBoundRegistry::default()
        };
        assert_eq!(
            error_json(&registry, "e9", &CurrentHashes::default()),
            r#"{"name":"AgbrowseError","errorCode":"snapshot.ref-not-found","stage":"snapshot-ref-resolve","message":"ref @e9 not found in current snapshot registry","retryHint":"re-snapshot","mutationAllowed":false,"selectorsTried":[],"evidence":{"ref":"@e9","snapshotId":"s1"}}"#
        );
        assert!(
            error_json(&HashBoundRegistry::default(), "e9", &CurrentHashes::default())
                .ends_with(r#""evidence":{"ref":"@e9","snapshotId":null}}"#)
        );
        let now = CurrentHashes {
            expected_snapshot_id: Some("s2"),
            dom_hash: Some("sha256:e"),
            ..CurrentHashes::default()
        };
        assert_eq!(
            error_json(&registry, "@e1", &now),
            r#"{"name":"AgbrowseError","errorCode":"snapshot.ref-stale","stage":"snapshot-ref-resolve","message":"ref @e1 belongs to a stale snapshot registry","retryHint":"re-snapshot","mutationAllowed":false,"selectorsTried":[],"evidence":{"axHash":"sha256:a","currentAxHash":null,"currentDomHash":"sha256:e","domHash":"sha256:d","expectedSnapshotId":"s2","snapshotId":"s1"}}"#
        );
    }
}
