//! `web-ai status`: live capability rows, the answer to "can I safely send now?". Nothing is sent, and menus that a
//! probe opens are closed again.

use crate::capability::{Capability, ProbeResult, define_capability, run_capabilities};
use crate::model_menu::{self, Cleanup};
use crate::resolve::{Found, names_itself, resolve};
use crate::tab::{Inspection, SelectorCount, Selectors, Tab, TabChoice};
use crate::targets::observe_target;
use crate::vendor::{Feature, ModelAlias, ReadModel, Vendor, content_safe_url, host_of};
use browser::command::{ActionKind, Snapshot, Status};
use browser::page::capability::{CapabilityRow, CapabilityState, worst_capability_state};
use browser::page::text::mask_url;
use browser::{Command, Driver, Reply, Result};
use futures_util::FutureExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// Time that the composer of a loading app gets to appear.
const COMPOSER_PATIENCE: Duration = Duration::from_millis(1400);
/// Pause between two looks for it.
const COMPOSER_PAUSE: Duration = Duration::from_millis(100);

/// Options of `web-ai status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusOptions {
    /// Only this row.
    pub probe: Option<String>,
    /// The model that is about to be used.
    pub model: Option<String>,
    /// Files are about to be sent.
    pub with_files: bool,
    /// The profile that the browser should run with.
    pub profile: Option<String>,
}

/// The reply of `web-ai status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebAiStatus {
    /// No row failed.
    pub ok: bool,
    /// The vendor.
    pub vendor: String,
    /// `ready`, or `blocked` if a row failed.
    pub status: String,
    /// The tab's address without query; secrets are masked.
    pub url: Option<String>,
    /// The rows.
    pub capabilities: Vec<CapabilityRow>,
    /// The worst state of all rows.
    pub capability_state: CapabilityState,
    /// Remarks.
    pub warnings: Vec<String>,
}

impl fmt::Display for WebAiStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.as_deref().unwrap_or("no tab");
        write!(f, "{}: {}  {url}", self.vendor, self.status)?;
        let width = self.capabilities.iter().map(|row| row.capability_id.len()).max();
        for row in &self.capabilities {
            let width = width.unwrap_or_default();
            write!(f, "\n  {:<7} {:<width$}  next: {}", row.state, row.capability_id, row.next)?;
            let facts = row.evidence.iter().flatten().map(|(key, value)| format!("{key}={value}"));
            let facts = facts.collect::<Vec<_>>().join(" ");
            if !facts.is_empty() && row.state != CapabilityState::Ok {
                write!(f, "  ({facts})")?;
            }
        }
        for warning in &self.warnings {
            write!(f, "\nwarning: {warning}")?;
        }
        Ok(())
    }
}

/// What the probes of a run share.
pub(crate) struct StatusContext<D: Driver + Send + Sync + 'static> {
    driver: Arc<D>,
    choice: TabChoice,
    vendor: Arc<Vendor>,
    options: StatusOptions,
    cleanup: Cleanup,
    /// The tab's address, without a look at its page.
    url: Option<String>,
    /// The latest look at the page.
    inspection: Mutex<Option<Inspection>>,
}

/// Probes a vendor's tab.
pub(crate) async fn status<D: Driver + Send + Sync + 'static>(
    driver: &Arc<D>,
    choice: &TabChoice,
    vendor: &Arc<Vendor>,
    options: &StatusOptions,
    cleanup: &Cleanup,
) -> Result<WebAiStatus> {
    let info = Tab::new(&**driver, choice, vendor).info().await?;
    let mut cx = StatusContext {
        driver: driver.clone(),
        choice: choice.clone(),
        vendor: vendor.clone(),
        options: options.clone(),
        cleanup: cleanup.clone(),
        url: info.as_ref().map(|info| info.url.clone()),
        inspection: Mutex::default(),
    };
    // All probes see the same tab, also if another one becomes the current one.
    if let Some(info) = &info {
        cx.choice.tab = Some(info.id);
    }
    let rows = run_capabilities(&cx, &capabilities(vendor), options.probe.as_deref()).await?;
    // A menu of a probe that took too long.
    cleanup.finish().await;
    let is_blocked = rows.iter().any(|row| row.state == CapabilityState::Fail);
    Ok(WebAiStatus {
        ok: !is_blocked,
        vendor: vendor.id.clone(),
        status: if is_blocked { "blocked" } else { "ready" }.into(),
        url: cx.url.as_deref().map(bare_url),
        capability_state: worst_capability_state(&rows),
        capabilities: rows,
        warnings: Vec::new(),
    })
}

/// An address without query and fragment, secrets masked.
pub(crate) fn bare_url(url: &str) -> String {
    let bare = url.split(['?', '#']).next().unwrap_or_default();
    mask_url(bare)
}

/// The capabilities of a vendor, in declared order.
pub(crate) fn capabilities<D: Driver + Send + Sync + 'static>(
    vendor: &Vendor,
) -> Vec<Capability<StatusContext<D>>> {
    let ms = Duration::from_millis;
    let own = |name: &str| format!("{}-{name}", vendor.id);
    vec![
        define_capability(own("active-tab-verification"), ms(1000), |cx| cx.active_tab().boxed()),
        define_capability(own("composer-visible"), ms(5000), |cx| cx.composer().boxed()),
        define_capability(own("session-logged-in"), ms(2000), |cx| cx.login().boxed()),
        define_capability(own("model-alias-selectable"), ms(8000), |cx| cx.model().boxed()),
        define_capability(own("upload-surface-visible"), ms(3000), |cx| cx.upload().boxed()),
        define_capability(own("copy-button-present"), ms(3000), |cx| cx.copy().boxed()),
        define_capability(own("response-streaming"), ms(2000), |cx| cx.streaming().boxed()),
        define_capability("agbrowse-cdp-connected", ms(1000), |cx| cx.connected().boxed()),
        define_capability("agbrowse-profile-matches", ms(1000), |cx| cx.profile().boxed()),
    ]
}

/// The keys of inspected selectors that are no features.
const LOGGED_OUT: &str = "loggedOut";
const LOGGED_IN: &str = "loggedIn";
const DONE: &str = "done";

impl<D: Driver + Send + Sync + 'static> StatusContext<D> {
    fn tab(&self) -> Tab<'_, D> {
        Tab::new(&*self.driver, &self.choice, &self.vendor)
    }

    /// The row of a probe that does not apply, because the tab shows another site: its page is not read.
    fn elsewhere(&self) -> Option<ProbeResult> {
        let is_there =
            self.url.as_deref().is_some_and(|url| self.vendor.matching_host(url).is_some());
        (!is_there).then(|| {
            ProbeResult::new(CapabilityState::Unknown, "tab-switch").with("hostMismatch", true)
        })
    }

    /// Looks at the page anew.
    async fn look(&self) -> Result<Inspection> {
        let mut selectors: Selectors<'_> = self
            .vendor
            .targets
            .iter()
            .map(|(it, target)| (it.key(), &*target.css_fallbacks))
            .collect();
        selectors.insert(LOGGED_OUT, &self.vendor.login.logged_out);
        selectors.insert(LOGGED_IN, &self.vendor.login.logged_in);
        selectors.insert(DONE, &self.vendor.answer.done);
        let inspection = self.tab().inspect(&selectors, &Selectors::new()).await?;
        *self.inspection.lock().await = Some(inspection.clone());
        Ok(inspection)
    }

    /// The latest look at the page.
    async fn looked(&self) -> Result<Inspection> {
        let latest = self.inspection.lock().await.clone();
        match latest {
            Some(inspection) => Ok(inspection),
            None => self.look().await,
        }
    }

    async fn active_tab(&self) -> Result<ProbeResult> {
        let url = self.url.as_deref();
        let matching = url.and_then(|url| self.vendor.matching_host(url));
        let host = url.and_then(host_of);
        let (state, next) = match matching {
            Some(_) => (CapabilityState::Ok, "send"),
            None => (CapabilityState::Fail, "tab-switch"),
        };
        let mut found = ProbeResult::new(state, next)
            .with("url", url.map_or(Value::Null, |url| content_safe_url(url, &self.vendor).into()))
            .with("host", host);
        if matching.is_none() {
            found = found.with("expected", self.vendor.hosts.clone());
        }
        Ok(found)
    }

    async fn composer(&self) -> Result<ProbeResult> {
        if let Some(elsewhere) = self.elsewhere() {
            return Ok(elsewhere);
        }
        let Some(target) = self.vendor.target(Feature::Composer) else {
            return Ok(ProbeResult::default());
        };
        let key = Feature::Composer.key();
        let begun = Instant::now();
        loop {
            let seen = self.look().await?;
            // An id or a test id is a contract; what any other selector finds is checked.
            if let Some(count) = seen.visible(key).filter(|count| names_itself(&count.selector)) {
                return Ok(visible(count));
            }
            let counts = seen.features.get(key).map(Vec::as_slice).unwrap_or_default();
            let resolved = match counts.iter().any(|count| count.visible)
                || begun.elapsed() > COMPOSER_PATIENCE / 2
            {
                true => Some(resolve(&self.tab(), target, ActionKind::Fill, counts).await?),
                false => None,
            };
            if let Some(Ok(resolved)) = &resolved {
                let found = ProbeResult::new(CapabilityState::Ok, "send");
                let found = match &resolved.found {
                    Found::Css(selector) => found.with("selector", selector.clone()),
                    Found::Observed => found.with("ref", resolved.target.to_string()),
                };
                return Ok(found
                    .with("matched", 1)
                    .with("visible", true)
                    .with("source", resolved.found.to_string())
                    .with("score", resolved.score));
            }
            if begun.elapsed() < COMPOSER_PATIENCE {
                tokio::time::sleep(COMPOSER_PAUSE).await;
                continue;
            }
            let tried: Vec<&str> = counts.iter().map(|count| &*count.selector).collect();
            let reason = resolved.and_then(std::result::Result::err).map(|it| it.reason().as_str());
            // It is there, but hidden, covered or inert.
            let hidden = seen
                .matched(key)
                .filter(|_| matches!(reason, None | Some("not-visible" | "not-enabled")));
            return Ok(match hidden {
                Some(count) => ProbeResult::new(CapabilityState::Warn, "re-snapshot")
                    .with("selector", count.selector.clone())
                    .with("matched", count.matched)
                    .with("visible", false),
                None => ProbeResult::new(CapabilityState::Fail, "re-snapshot")
                    .with("selectorsTried", tried)
                    .with("reason", reason),
            });
        }
    }

    async fn login(&self) -> Result<ProbeResult> {
        if let Some(elsewhere) = self.elsewhere() {
            return Ok(elsewhere);
        }
        let seen = self.looked().await?;
        Ok(match (seen.visible(LOGGED_OUT), seen.visible(LOGGED_IN)) {
            (Some(wall), _) => ProbeResult::new(CapabilityState::Fail, "login")
                .with("selector", wall.selector.clone())
                .with("loggedIn", false),
            (None, Some(sign)) => ProbeResult::new(CapabilityState::Ok, "send")
                .with("selector", sign.selector.clone())
                .with("loggedIn", true),
            (None, None) => {
                ProbeResult::new(CapabilityState::Unknown, "send").with("loggedIn", Value::Null)
            }
        })
    }

    async fn model(&self) -> Result<ProbeResult> {
        let Some(requested) = &self.options.model else {
            return Ok(
                ProbeResult::new(CapabilityState::Unknown, "send").with("requested", Value::Null)
            );
        };
        let models = &self.vendor.models;
        let choice = match models.find(requested) {
            None => {
                let known: Vec<&str> = models.choices.iter().map(|choice| &*choice.id).collect();
                return Ok(ProbeResult::new(CapabilityState::Fail, "model-fallback")
                    .with("requested", requested.clone())
                    .with("known", known));
            }
            Some(ModelAlias::Tool(tool)) => {
                return Ok(ProbeResult::new(CapabilityState::Unknown, "send")
                    .with("requested", requested.clone())
                    .with("tool", tool.id.clone()));
            }
            Some(ModelAlias::Choice(choice)) => choice,
        };
        if let Some(elsewhere) = self.elsewhere() {
            return Ok(elsewhere.with("requested", choice.id.clone()));
        }
        let row = |state, next| ProbeResult::new(state, next).with("requested", choice.id.clone());
        let ok = |active: &str| row(CapabilityState::Ok, "send").with("active", active);
        let before = model_menu::read(&self.tab(), &self.vendor).await?;
        let was_open = before.is_open(models);
        let on_picker = before.active_on_picker(models).map(|active| &*active.id);
        if models.read == ReadModel::Pill && on_picker == Some(&*choice.id) {
            return Ok(ok(&choice.id));
        }
        let opened = match was_open {
            true => Some((None, before.clone())),
            false => {
                let seen = self.looked().await?;
                let counts = seen.features.get(Feature::ModelPicker.key());
                let counts: &[SelectorCount] = counts.map(Vec::as_slice).unwrap_or_default();
                let opened = model_menu::open(
                    &self.driver,
                    &self.choice,
                    &self.vendor,
                    counts,
                    &self.cleanup,
                );
                opened.await?.map(|(menu, state)| (Some(menu), state))
            }
        };
        let Some((menu, state)) = opened else {
            let bad =
                if models.selectable_is_ok { CapabilityState::Fail } else { CapabilityState::Warn };
            return Ok(row(bad, "model-fallback")
                .with("active", on_picker)
                .with("menuOpenFailed", true));
        };
        let is_closed = match menu {
            Some(mut menu) => menu.close().await?,
            None => true,
        };
        let active = state.items.iter().find(|item| item.active);
        let active = active.and_then(|item| models.choices.iter().find(|choice| item.is(choice)));
        let active = active.map(|choice| &*choice.id).or(on_picker);
        let found = match state.item(choice).filter(|item| !item.disabled) {
            Some(item) if item.active || active == Some(&*choice.id) => ok(&choice.id),
            Some(_) => {
                let is_ok = models.selectable_is_ok && is_closed;
                let (state, next) = match is_ok {
                    true => (CapabilityState::Ok, "send"),
                    false => (CapabilityState::Warn, "model-fallback"),
                };
                row(state, next).with("active", active).with("selectable", true)
            }
            None => row(CapabilityState::Fail, "model-fallback")
                .with("active", active)
                .with("selectable", false),
        };
        Ok(found.with("menuClosed", is_closed))
    }

    async fn upload(&self) -> Result<ProbeResult> {
        if !self.options.with_files && !self.is_asked("upload-surface-visible") {
            return Ok(not_required());
        }
        let missing = ProbeResult::new(CapabilityState::Fail, "inline-only");
        self.presence(Feature::UploadSurface, ActionKind::Click, missing).await
    }

    async fn copy(&self) -> Result<ProbeResult> {
        if !self.is_asked("copy-button-present") {
            return Ok(not_required());
        }
        let missing = ProbeResult::new(CapabilityState::Warn, "send");
        self.presence(Feature::CopyButton, ActionKind::Click, missing).await
    }

    async fn streaming(&self) -> Result<ProbeResult> {
        if let Some(elsewhere) = self.elsewhere() {
            return Ok(elsewhere);
        }
        let seen = self.looked().await?;
        let streaming = |selector: &str| {
            ProbeResult::new(CapabilityState::Warn, "poll")
                .with("streaming", true)
                .with("selector", selector)
        };
        if let Some(count) = seen.visible(Feature::StreamingIndicator.key()) {
            return Ok(streaming(&count.selector));
        }
        let quiet = ProbeResult::new(CapabilityState::Ok, "send").with("streaming", false);
        if self.vendor.answer.done_means_complete
            && let Some(turn) = seen.matched(Feature::ResponseFeed.key())
        {
            return Ok(match seen.visible(DONE) {
                Some(done) => quiet.with("completionSelector", done.selector.clone()),
                None => streaming(&turn.selector),
            });
        }
        // An app whose selectors have changed is read by roles and names.
        let is_known = seen.matched(Feature::Composer.key()).is_some();
        if let (false, Some(target)) = (is_known, self.vendor.target(Feature::StreamingIndicator)) {
            let options = Snapshot { max_depth: Some(u32::MAX), ..Snapshot::default() };
            let snapshot = self.tab().snapshot(options).await?;
            if let Some(found) = observe_target(target, &snapshot.refs, &[]).first() {
                return Ok(ProbeResult::new(CapabilityState::Warn, "poll")
                    .with("streaming", true)
                    .with("ref", found.ref_name.clone()));
            }
        }
        Ok(quiet)
    }

    /// True if the caller named this row.
    fn is_asked(&self, name: &str) -> bool {
        self.options.probe.as_deref().is_some_and(|id| id == format!("{}-{name}", self.vendor.id))
    }

    /// The row of a feature that is visible, or missing.
    async fn presence(
        &self,
        feature: Feature,
        action: ActionKind,
        missing: ProbeResult,
    ) -> Result<ProbeResult> {
        if let Some(elsewhere) = self.elsewhere() {
            return Ok(elsewhere);
        }
        let seen = self.looked().await?;
        if let Some(count) = seen.visible(feature.key()) {
            return Ok(visible(count));
        }
        let counts = seen.features.get(feature.key()).map(Vec::as_slice).unwrap_or_default();
        if let Some(target) = self.vendor.target(feature)
            && let Ok(resolved) = resolve(&self.tab(), target, action, counts).await?
        {
            return Ok(ProbeResult::new(CapabilityState::Ok, "send")
                .with("matched", 1)
                .with("visible", true)
                .with("source", resolved.found.to_string()));
        }
        let tried: Vec<&str> = counts.iter().map(|count| &*count.selector).collect();
        Ok(missing.with("selectorsTried", tried))
    }

    async fn connected(&self) -> Result<ProbeResult> {
        let status = self.browser_status().await?;
        let (state, next) = match status["state"] == "running" {
            true => (CapabilityState::Ok, "send"),
            false => (CapabilityState::Fail, "start-or-check-port"),
        };
        let browser = &status["browser"];
        Ok(ProbeResult::new(state, next)
            .with("state", status["state"].clone())
            .with("product", browser["product"].clone())
            .with("headed", browser["headed"].clone()))
    }

    async fn profile(&self) -> Result<ProbeResult> {
        let status = self.browser_status().await?;
        if status["state"] != "running" {
            return Ok(ProbeResult::new(CapabilityState::Unknown, "start-or-check-port"));
        }
        let running = status["browser"]["profile"].clone();
        let expected = json!(self.options.profile);
        let (state, next) = match running == expected {
            true => (CapabilityState::Ok, "send"),
            false => (CapabilityState::Fail, "use-another-profile"),
        };
        Ok(ProbeResult::new(state, next).with("profile", running).with("expected", expected))
    }

    async fn browser_status(&self) -> Result<Value> {
        let reply = self.tab().run(Command::Status(Status {})).await?.reply;
        Ok(match reply {
            Reply::Status(status) => serde_json::to_value(status).unwrap_or_default(),
            _ => Value::Null,
        })
    }
}

fn visible(count: &SelectorCount) -> ProbeResult {
    ProbeResult::new(CapabilityState::Ok, "send")
        .with("selector", count.selector.clone())
        .with("matched", count.matched)
        .with("visible", true)
}

fn not_required() -> ProbeResult {
    ProbeResult::new(CapabilityState::Unknown, "send").with("required", false)
}
