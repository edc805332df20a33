//! AI chat web apps (ChatGPT, Gemini, Grok, and those that a user adds), driven by vendor files.
//!
//! Everything is done with the verbs of [`browser`], through any [`Driver`]: a live browser in this process, or the
//! client of a daemon. What is known about an app is data in its [vendor file](vendor). Before anything is touched, the
//! [capability rows](WebAi::status) answer whether it can be done.
//!
//! There is no stealth here, no way around a CAPTCHA, and no answer to a login: a person does that.

mod capability;
mod catalogue;
mod chat;
mod churn;
mod completion;
mod conversation;
mod doctor;
mod envelope;
mod model_menu;
mod resolve;
mod session;
mod status;
mod tab;
mod targets;
pub mod vendor;

pub use capability::{Capability, Probe, ProbeResult, define_capability, run_capabilities};
pub use catalogue::{
    CapabilityFamily, Catalogue, CatalogueFilter, CatalogueRow, CatalogueStatus, FrontendStatus,
    catalogue, require_capability_or_fail_closed,
};
pub use chat::{ChatProgress, ChatReply, OnProgress, SendOptions};
pub use churn::ChurnRecord;
pub use doctor::{
    CandidateReport, DoctorOptions, DoctorReport, DomHash, FeatureReport, LastSession,
    SelectorCounts, SelectorMatch, SnapshotReport,
};
pub use envelope::{Envelope, INLINE_LIMIT, PromptParts, render};
pub use session::{EnvelopeSummary, SessionRecord, SessionStatus, SessionStore};
pub use status::{StatusOptions, WebAiStatus};
pub use tab::TabChoice;
pub use targets::CandidateSource;

use browser::command::Snapshot;
use browser::page::snapshot::WebAiSnapshot;
use browser::{Code, Driver, Error, Result};
use chat::Chat;
use model_menu::Cleanup;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tab::Tab;
use vendor::{Vendor, Vendors};

/// Drives chat apps through a driver.
#[derive(Debug)]
pub struct WebAi<D> {
    driver: Arc<D>,
    vendors: Vendors,
    choice: TabChoice,
    /// The churn log, if it is wanted.
    churn_log: Option<PathBuf>,
    store: Option<SessionStore>,
    browser_session: String,
    cleanup: Cleanup,
}

/// Options of `web-ai snapshot`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotOptions {
    /// All elements with their containers, not only interactive ones.
    pub all_nodes: bool,
    /// Every text on a line of its own.
    pub is_expanded: bool,
    /// Maximum depth.
    pub max_depth: Option<u32>,
    /// Only the first element that matches this CSS selector.
    pub root_selector: Option<String>,
    /// Replace names, values and texts by hashes.
    pub redact: bool,
}

impl<D: Driver + Send + Sync + 'static> WebAi<D> {
    /// Drives the apps of these vendors.
    pub fn new(driver: D, vendors: Vendors) -> Self {
        Self {
            driver: Arc::new(driver),
            vendors,
            choice: TabChoice::default(),
            churn_log: None,
            store: None,
            browser_session: String::new(),
            cleanup: Cleanup::default(),
        }
    }

    /// Sets the tab.
    #[must_use]
    pub fn with_tab(self, choice: TabChoice) -> Self {
        Self { choice, ..self }
    }

    /// Sets the file that changes of an app's structure are logged to.
    #[must_use]
    pub fn with_churn_log(self, path: Option<PathBuf>) -> Self {
        Self { churn_log: path, ..self }
    }

    /// The known vendors.
    pub fn vendors(&self) -> &Vendors {
        &self.vendors
    }

    fn vendor(&self, id: &str) -> Result<Arc<Vendor>> {
        self.vendors.get(id).cloned().map(Arc::new)
    }

    /// Captures a vendor's tab as a compact accessibility tree whose refs are valid only for this snapshot.
    ///
    /// # Errors
    /// `cdp.target-mismatch` if the tab shows another site: nothing is read from it. Those of `snapshot`.
    pub async fn snapshot(&self, vendor: &str, options: &SnapshotOptions) -> Result<WebAiSnapshot> {
        let vendor = self.vendor(vendor)?;
        let tab = Tab::new(&*self.driver, &self.choice, &vendor);
        require_vendor_tab(&tab, &vendor).await?;
        let taken = tab.snapshot(Snapshot {
            no_interactive: options.all_nodes,
            no_compact: options.is_expanded,
            max_depth: options.max_depth,
            root_selector: options.root_selector.clone(),
            redact: options.redact,
            ..Snapshot::default()
        });
        let snapshot = taken.await.map_err(|error| of_vendor(error, &vendor))?;
        Ok(WebAiSnapshot { provider: Some(vendor.id.clone()), ..snapshot })
    }

    /// Probes what can be done on a vendor's tab now.
    ///
    /// # Errors
    /// `command.invalid` for an unknown vendor, `capability.unsupported` for an unknown row. What a page or browser does
    /// is reported in the rows.
    pub async fn status(&self, vendor: &str, options: &StatusOptions) -> Result<WebAiStatus> {
        let vendor = self.vendor(vendor)?;
        let found = status::status(&self.driver, &self.choice, &vendor, options, &self.cleanup);
        found.await.map_err(|error| of_vendor(error, &vendor))
    }

    /// Reports what of a vendor's app is recognized, without any text of the page.
    ///
    /// # Errors
    /// `command.invalid` for an unknown vendor; those of the driver.
    pub async fn doctor(
        &self,
        vendor: &str,
        options: DoctorOptions,
        captured_at: String,
    ) -> Result<DoctorReport> {
        let vendor = self.vendor(vendor)?;
        let report = doctor::doctor(&*self.driver, &self.choice, &vendor, options, captured_at);
        let mut report = report.await.map_err(|error| of_vendor(error, &vendor))?;
        // A damaged store is reported by the commands that need it.
        let sessions = self.store.as_ref().and_then(|store| store.all().ok()).unwrap_or_default();
        let last = sessions.iter().rev().find(|session| session.vendor == vendor.id);
        report.last_session = last.map(LastSession::from);
        let is_there = !report.warnings.iter().any(|warning| warning.starts_with("host-mismatch"));
        if let (Some(path), true) = (&self.churn_log, is_there)
            && let Err(error) = churn::record(path, &report)
        {
            report.warnings.push(format!("churn-log-failed:{:?}", error.kind()));
        }
        Ok(report.clamped(options))
    }

    /// Sets the store of sessions, and the name of the daemon's session that they run in.
    #[must_use]
    pub fn with_sessions(self, store: SessionStore, browser_session: &str) -> Self {
        Self { store: Some(store), browser_session: browser_session.to_owned(), ..self }
    }

    /// The store of sessions.
    ///
    /// # Errors
    /// Without one.
    pub fn sessions(&self) -> Result<&SessionStore> {
        let missing =
            || Error::new(Code::StorageInvalid).message("there is no folder for sessions");
        self.store.as_ref().ok_or_else(missing)
    }

    fn chat<'c>(&'c self, vendor: &'c Arc<Vendor>) -> Result<Chat<'c, D>> {
        Ok(Chat {
            driver: &self.driver,
            choice: self.choice.clone(),
            vendor,
            store: self.sessions()?,
            cleanup: &self.cleanup,
            browser_session: &self.browser_session,
        })
    }

    /// Sends a prompt, after all rows were checked, and verifies that the app took it.
    ///
    /// # Errors
    /// Before anything was touched: with the rows in `evidence.capabilities`. `provider.commit-not-verified` if the app does
    /// not show the prompt as sent; `provider.commit-unknown` if the same prompt may have been sent before.
    pub async fn send(
        &self,
        vendor: &str,
        options: &SendOptions,
        progress: OnProgress<'_>,
    ) -> Result<SessionRecord> {
        let vendor = self.vendor(vendor)?;
        let sent = self.chat(&vendor)?.send(options, progress).await;
        sent.map_err(|error| of_vendor(error, &vendor))
    }

    /// Waits for the answer of a session.
    ///
    /// # Errors
    /// `session.not-found`; `tab.target-lost` if there is no way back to its conversation; those of the browser.
    pub async fn poll(
        &self,
        id: &str,
        wait: Duration,
        progress: OnProgress<'_>,
    ) -> Result<SessionRecord> {
        let session = self.sessions()?.get(id)?;
        let vendor = self.vendor(&session.vendor)?;
        let polled = self.chat(&vendor)?.poll(&session.session_id, wait, progress).await;
        polled.map_err(|error| of_vendor(error, &vendor))
    }

    /// Stops the answer of a session, and keeps what there is of it.
    ///
    /// # Errors
    /// As [`poll`](Self::poll); `act.no-effect` if the app goes on.
    pub async fn stop(&self, id: &str) -> Result<SessionRecord> {
        let session = self.sessions()?.get(id)?;
        let vendor = self.vendor(&session.vendor)?;
        let stopped = self.chat(&vendor)?.stop(&session.session_id).await;
        stopped.map_err(|error| of_vendor(error, &vendor))
    }

    /// Makes the tab of a session the current one, opening its conversation if it has no tab any more.
    ///
    /// # Errors
    /// As [`poll`](Self::poll).
    pub async fn reattach(&self, id: &str) -> Result<SessionRecord> {
        let session = self.sessions()?.get(id)?;
        let vendor = self.vendor(&session.vendor)?;
        let attached = self.chat(&vendor)?.reattach(&session.session_id).await;
        attached.map_err(|error| of_vendor(error, &vendor))
    }

    /// Waits until everything that a cancelled command had opened is closed.
    pub async fn finish(&self) {
        self.cleanup.finish().await;
    }
}

/// Fails when a tab shows another site than the vendor's. The page is not read.
async fn require_vendor_tab<D: Driver>(tab: &Tab<'_, D>, vendor: &Vendor) -> Result<()> {
    let url = tab.info().await?.map(|info| info.url);
    if url.as_deref().is_some_and(|url| vendor.matching_host(url).is_some()) {
        return Ok(());
    }
    let message = match &url {
        Some(url) => format!(
            "the tab shows `{}`, not {}: expected {}",
            vendor::content_safe_url(url, vendor),
            vendor.name,
            vendor.hosts.join(" or ")
        ),
        None => format!("no tab is open: `agbrowse open {}` opens {}", vendor.url, vendor.name),
    };
    let error = Error::new(Code::CdpTargetMismatch).message(message);
    Err(of_vendor(error.evidence("expected", vendor.hosts.clone()), vendor))
}

/// The same error, with the vendor concerned.
fn of_vendor(error: Error, vendor: &Vendor) -> Error {
    error.vendor(&vendor.id)
}
