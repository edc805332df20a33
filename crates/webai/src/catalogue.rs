//! The catalogue of capabilities: static rows on what is implemented, planned or refused, apart from live rows.

use browser::{Code, Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

const CATALOGUE: &str = include_str!("../capabilities.toml");

/// Words with a fixed spelling, each a value of a row.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum $name { $(
            #[doc = concat!("`", $word, "`")]
            #[serde(rename = $word)]
            $variant,
        )* }

        impl $name {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The wire spelling.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> std::result::Result<Self, String> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text).ok_or_else(|| {
                    let known: Vec<_> = Self::ALL.iter().map(|value| value.as_str()).collect();
                    format!("expected one of {}", known.join(", "))
                })
            }
        }
    };
}

words! {
    /// The family of a capability.
    CapabilityFamily {
        ModelSelection = "modelSelection",
        Attachments = "attachments",
        WebSearch = "webSearch",
        Tools = "tools",
        ImageGeneration = "imageGeneration",
        DeepThink = "deepThink",
        ResponseCapture = "responseCapture",
        SessionReattach = "sessionReattach",
        StopGeneration = "stopGeneration",
        CopyOrExport = "copyOrExport",
        Diagnostics = "diagnostics",
        ProductSurface = "productSurface",
        Safety = "safety",
        Unclassified = "unclassified",
    }
}

words! {
    /// What is known of a capability in the app.
    FrontendStatus {
        Observed = "observed",
        Actionable = "actionable",
        SchemaReady = "schema-ready",
        Implemented = "implemented",
        Unsupported = "unsupported",
        Unstable = "unstable",
        NotObserved = "not-observed",
    }
}

words! {
    /// What this program does with a capability. It is enabled with one of the first two.
    CatalogueStatus {
        Implemented = "implemented-30_browser",
        Ported = "ported-cli-jaw",
        Planned = "planned",
        FailClosed = "fail-closed",
        Rejected = "rejected-until-verified",
        Deferred = "deferred",
        OutOfScope = "out-of-scope",
        Unknown = "unknown",
    }
}

/// A row of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CatalogueRow {
    /// The vendor, or `shared`.
    pub provider_id: String,
    /// The id.
    pub capability_id: String,
    /// The family.
    pub family: CapabilityFamily,
    /// What this program does with it.
    pub status: CatalogueStatus,
    /// What is known of it in the app.
    pub frontend_status: FrontendStatus,
    /// It may change the page.
    pub mutation_allowed: bool,
    /// What is clicked to reach it.
    pub activation_path: Vec<String>,
    /// Signs that it is active.
    pub active_state_signals: Vec<String>,
    /// The stage of the error when it fails.
    pub failure_stage: String,
}

impl CatalogueRow {
    /// True if this program can use it.
    pub fn is_enabled(&self) -> bool {
        matches!(self.status, CatalogueStatus::Implemented | CatalogueStatus::Ported)
    }
}

/// Which rows are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogueFilter {
    /// Those of this vendor, and the shared ones.
    pub vendor: Option<String>,
    /// Those of this family.
    pub family: Option<CapabilityFamily>,
    /// Those with this status in the app.
    pub frontend_status: Option<FrontendStatus>,
}

/// The reply of `web-ai capabilities`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Catalogue {
    /// Always `true`.
    pub ok: bool,
    /// The vendor asked for, or `all`.
    pub vendor: String,
    /// Always `ready`.
    pub status: String,
    /// The rows.
    pub capabilities: Vec<CatalogueRow>,
    /// Remarks.
    pub warnings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogueFile {
    capability: Vec<CatalogueRow>,
}

/// Returns the rows that a filter asks for.
///
/// # Errors
/// `internal.unhandled` if the catalogue that ships with the program is broken, which a test rules out.
pub fn catalogue(filter: &CatalogueFilter) -> Result<Catalogue> {
    let file: CatalogueFile = toml::from_str(CATALOGUE)
        .map_err(|error| Error::new(Code::InternalUnhandled).message(error.message().to_owned()))?;
    let is_wanted = |row: &CatalogueRow| {
        filter
            .vendor
            .as_ref()
            .is_none_or(|it| *it == row.provider_id || row.provider_id == "shared")
            && filter.family.is_none_or(|it| it == row.family)
            && filter.frontend_status.is_none_or(|it| it == row.frontend_status)
    };
    Ok(Catalogue {
        ok: true,
        vendor: filter.vendor.clone().unwrap_or_else(|| "all".into()),
        status: "ready".into(),
        capabilities: file.capability.into_iter().filter(is_wanted).collect(),
        warnings: Vec::new(),
    })
}

/// Returns an enabled capability.
///
/// # Errors
/// `capability.unsupported` for one that is unknown or not enabled.
pub fn require_capability_or_fail_closed(id: &str) -> Result<CatalogueRow> {
    let row = catalogue(&CatalogueFilter::default())?
        .capabilities
        .into_iter()
        .find(|row| row.capability_id == id);
    let status = row.as_ref().map_or(CatalogueStatus::Unknown, |row| row.status);
    row.filter(CatalogueRow::is_enabled).ok_or_else(|| {
        Error::new(Code::CapabilityUnsupported)
            .message(format!("the capability `{id}` cannot be used: it is {}", status.as_str()))
            .evidence("capabilityId", id)
            .evidence("status", status.as_str())
    })
}

impl fmt::Display for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} capabilities", self.capabilities.len())?;
        let width =
            self.capabilities.iter().map(|row| row.capability_id.len()).max().unwrap_or_default();
        for row in &self.capabilities {
            write!(
                f,
                "\n  {:<width$}  {:<24} {:<12} {}",
                row.capability_id,
                row.status.as_str(),
                row.frontend_status.as_str(),
                row.family.as_str()
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn ids(filter: &CatalogueFilter) -> Vec<String> {
        catalogue(filter).unwrap().capabilities.into_iter().map(|row| row.capability_id).collect()
    }

    #[test]
    fn catalogue_has_each_capability_once_with_hyphenated_ids() {
        let all = ids(&CatalogueFilter::default());
        assert_eq!(all.len(), 35);
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 35);
        assert!(
            all.iter().all(|id| id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
        );
    }

    #[test]
    fn rows_are_filtered_by_vendor_family_and_frontend_status() {
        let vendor = Some("gemini".to_owned());
        let gemini = ids(&CatalogueFilter { vendor, ..CatalogueFilter::default() });
        assert!(gemini.contains(&"gemini-deep-think".to_owned()));
        assert!(gemini.contains(&"web-ai-session-lifecycle".to_owned()), "shared rows stay");
        assert!(!gemini.iter().any(|id| id.starts_with("chatgpt-")));
        let family = Some(CapabilityFamily::ModelSelection);
        let models = ids(&CatalogueFilter { family, ..CatalogueFilter::default() });
        assert_eq!(
            models,
            ["web-ai-model-selection", "chatgpt-model-selection", "gemini-model-picker"]
        );
        let frontend_status = Some(FrontendStatus::Unsupported);
        let unsupported = ids(&CatalogueFilter { frontend_status, ..CatalogueFilter::default() });
        assert_eq!(unsupported, ["web-ai-captcha-bypass", "web-ai-cross-vendor-fallback"]);
    }

    #[test]
    fn what_is_not_enabled_or_unknown_fails_closed() {
        assert!(require_capability_or_fail_closed("web-ai-failure-diagnostics").is_ok());
        for (id, status) in [("web-ai-captcha-bypass", "out-of-scope"), ("no-such", "unknown")] {
            let error = require_capability_or_fail_closed(id).unwrap_err();
            assert_eq!(error.code(), Code::CapabilityUnsupported);
            assert!(error.details().message.ends_with(status), "{error}");
        }
    }
}
