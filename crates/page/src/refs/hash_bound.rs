//! Hash-bound refs of one phase-7 snapshot: any change of the page's structure or text makes them stale.

use crate::snapshot::{ElementRef, WebAiSnapshot};
use std::fmt;

/// The refs of a snapshot with the hashes they are bound to.
#[derive(Clone, Debug, Default)]
pub struct HashBoundRegistry {
    /// Id of their snapshot.
    pub snapshot_id: Option<String>,
    /// Hash of the snapshot's text.
    pub ax_hash: Option<String>,
    /// Hash of the document structure.
    pub dom_hash: Option<String>,
    /// The refs.
    pub refs: Vec<ElementRef>,
    /// The page has changed since.
    pub is_stale: bool,
}

/// Current hashes of the page. Unknown ones are not compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct CurrentHashes<'a> {
    /// Id of the snapshot that the caller refers to.
    pub expected_snapshot_id: Option<&'a str>,
    /// Hash of the document structure.
    pub dom_hash: Option<&'a str>,
    /// Hash of the page's text.
    pub ax_hash: Option<&'a str>,
    /// Accept refs of a changed page.
    pub allow_stale: bool,
}

/// Error of a ref lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the evidence that the specification names")]
pub enum HashBoundError {
    /// The page has changed.
    Stale(Box<StaleEvidence>),
    /// The snapshot has no such ref.
    NotFound { name: String, snapshot_id: Option<String> },
}

/// Evidence that a page has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the evidence that the specification names")]
pub struct StaleEvidence {
    pub name: String,
    pub snapshot_id: Option<String>,
    pub expected_snapshot_id: Option<String>,
    pub dom_hash: Option<String>,
    pub current_dom_hash: Option<String>,
    pub ax_hash: Option<String>,
    pub current_ax_hash: Option<String>,
}

impl fmt::Display for HashBoundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale(stale) => {
                write!(f, "ref {} belongs to a stale snapshot registry", stale.name)
            }
            Self::NotFound { name, .. } => {
                write!(f, "ref {name} not found in current snapshot registry")
            }
        }
    }
}

impl std::error::Error for HashBoundError {}

impl HashBoundRegistry {
    /// Binds the refs of a snapshot.
    pub fn new(snapshot: &WebAiSnapshot) -> Self {
        Self {
            snapshot_id: Some(snapshot.snapshot_id.clone()),
            ax_hash: Some(snapshot.ax_hash.clone()),
            dom_hash: snapshot.dom_hash.clone(),
            refs: snapshot.refs.clone(),
            is_stale: false,
        }
    }

    /// Looks up the target of a ref; `e3` means `@e3`.
    ///
    /// # Errors
    /// When the page has changed, or the snapshot has no such ref.
    pub fn resolve(
        &self,
        name: &str,
        now: &CurrentHashes<'_>,
    ) -> Result<&ElementRef, HashBoundError> {
        let name = match name.trim() {
            bare if !bare.is_empty() && !bare.starts_with('@') => format!("@{bare}"),
            name => name.to_owned(),
        };
        let owned = |text: Option<&str>| text.map(str::to_owned);
        if !now.allow_stale && self.is_stale_for(now) {
            return Err(HashBoundError::Stale(Box::new(StaleEvidence {
                name,
                snapshot_id: self.snapshot_id.clone(),
                expected_snapshot_id: owned(now.expected_snapshot_id),
                dom_hash: self.dom_hash.clone(),
                current_dom_hash: owned(now.dom_hash),
                ax_hash: self.ax_hash.clone(),
                current_ax_hash: owned(now.ax_hash),
            })));
        }
        let found = self.refs.iter().find(|it| it.ref_name == name);
        found
            .ok_or_else(|| HashBoundError::NotFound { name, snapshot_id: self.snapshot_id.clone() })
    }

    /// True when the page has changed.
    pub fn is_stale_for(&self, now: &CurrentHashes<'_>) -> bool {
        self.is_stale
            || now.expected_snapshot_id.is_some_and(|id| self.snapshot_id.as_deref() != Some(id))
            || differs(&self.dom_hash, now.dom_hash)
            || differs(&self.ax_hash, now.ax_hash)
    }

    /// Drops all refs if the page has changed; returns `true` in that case.
    pub fn invalidate_on_change(&mut self, dom_hash: Option<&str>, ax_hash: Option<&str>) -> bool {
        if !differs(&self.dom_hash, dom_hash) && !differs(&self.ax_hash, ax_hash) {
            return false;
        }
        self.refs.clear();
        self.dom_hash = dom_hash.map(str::to_owned).or(self.dom_hash.take());
        self.ax_hash = ax_hash.map(str::to_owned).or(self.ax_hash.take());
        self.is_stale = true;
        true
    }
}

fn differs(was: &Option<String>, now: Option<&str>) -> bool {
    matches!((was, now), (Some(was), Some(now)) if was != now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ax::testing::golden;
    use crate::snapshot::{BuildOptions, build};
    use crate::view::{SequentialRefs, ViewOptions, view};

    fn snapshot() -> WebAiSnapshot {
        let tree = golden();
        let mut numbers = SequentialRefs::default();
        let number = &mut |frame, element| numbers.number(frame, element);
        let view = view(&tree, &ViewOptions::default(), number);
        let options = BuildOptions {
            snapshot_id: "s1",
            html: Some("<body></body>"),
            ..BuildOptions::default()
        };
        build(&tree, &view, &options)
    }

    fn check(name: &str, now: &CurrentHashes<'_>, expected: Result<&str, &str>) {
        let registry = HashBoundRegistry::new(&snapshot());
        let found = registry.resolve(name, now).map(|it| it.name.clone());
        let found = found.map_err(|problem| problem.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected);
    }

    const MESSAGE: Result<&str, &str> = Ok("Message ChatGPT");
    const STALE: Result<&str, &str> = Err("ref @e1 belongs to a stale snapshot registry");

    #[test]
    fn create_ref_registry_binds_refs_to_snapshot_id_ax_hash_and_dom_hash() {
        let (snapshot, registry) = (snapshot(), HashBoundRegistry::new(&snapshot()));
        assert_eq!(registry.snapshot_id.as_deref(), Some("s1"));
        assert_eq!(registry.ax_hash, Some(snapshot.ax_hash));
        assert_eq!(registry.dom_hash, snapshot.dom_hash);
        assert!(registry.dom_hash.is_some() && registry.refs.len() == 4 && !registry.is_stale);
    }

    #[test]
    fn resolve_ref_returns_entry_when_registry_is_fresh() {
        check("@e1", &CurrentHashes::default(), MESSAGE);
        let snapshot = snapshot();
        let now = CurrentHashes {
            expected_snapshot_id: Some("s1"),
            dom_hash: snapshot.dom_hash.as_deref(),
            ax_hash: Some(&snapshot.ax_hash),
            allow_stale: false,
        };
        check("@e1", &now, MESSAGE);
    }

    #[test]
    fn resolve_ref_accepts_e_n_without_at_sign_by_normalizing_to_at_e_n() {
        check(" e1 ", &CurrentHashes::default(), MESSAGE);
    }

    #[test]
    fn resolve_ref_throws_ref_stale_when_expected_snapshot_id_mismatches() {
        check(
            "e1",
            &CurrentHashes { expected_snapshot_id: Some("s2"), ..CurrentHashes::default() },
            STALE,
        );
    }

    #[test]
    fn resolve_ref_throws_ref_stale_when_current_dom_hash_mismatches() {
        check(
            "@e1",
            &CurrentHashes { dom_hash: Some("sha256:0"), ..CurrentHashes::default() },
            STALE,
        );
    }

    #[test]
    fn resolve_ref_throws_ref_stale_when_current_ax_hash_mismatches() {
        let now = CurrentHashes { ax_hash: Some("sha256:0"), ..CurrentHashes::default() };
        check("@e1", &now, STALE);
        check("@e1", &CurrentHashes { allow_stale: true, ..now }, MESSAGE);
    }

    #[test]
    fn resolve_ref_throws_ref_not_found_for_unknown_ref() {
        let expected = Err("ref @e9 not found in current snapshot registry");
        check("@e9", &CurrentHashes::default(), expected);
        check("", &CurrentHashes::default(), Err("ref  not found in current snapshot registry"));
    }

    #[test]
    fn invalidate_refs_on_dom_change_clears_refs_when_dom_hash_changes() {
        let mut registry = HashBoundRegistry::new(&snapshot());
        assert!(registry.invalidate_on_change(Some("sha256:0"), None));
        assert!(registry.refs.is_empty() && registry.is_stale);
        assert_eq!(registry.dom_hash.as_deref(), Some("sha256:0"));
        assert!(registry.is_stale_for(&CurrentHashes::default()));
    }

    #[test]
    fn invalidate_refs_on_dom_change_clears_refs_when_ax_hash_changes() {
        let mut registry = HashBoundRegistry::new(&snapshot());
        assert!(registry.invalidate_on_change(None, Some("sha256:0")));
        assert!(registry.refs.is_empty() && registry.dom_hash.is_some());
    }

    #[test]
    fn invalidate_refs_on_dom_change_preserves_refs_when_hashes_match() {
        let mut registry = HashBoundRegistry::new(&snapshot());
        let (dom, ax) = (registry.dom_hash.clone(), registry.ax_hash.clone());
        assert!(!registry.invalidate_on_change(dom.as_deref(), ax.as_deref()));
        assert!(!registry.invalidate_on_change(None, None));
        assert!(registry.refs.len() == 4 && !registry.is_stale);
    }
}
