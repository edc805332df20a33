//! A tab of a chat app: the verbs that this crate uses, through any driver.

use crate::vendor::Vendor;
use browser::command::{
    ActionKind, Can, Eval, EvalReply, Snapshot, SnapshotReply, TabInfo, Tabs, TargetArgs,
};
use browser::page::capability::CapabilityRow;
use browser::page::refs::Dialect;
use browser::page::snapshot::WebAiSnapshot;
use browser::{Code, Command, Driver, Error, Outcome, Reply, Request, Result, TabId, Target};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

const INSPECT: &str = include_str!("../js/inspect.js");

/// Length of a tag skeleton, in characters: more than the hash takes.
const SKELETON_LIMIT: usize = 64 << 10;

/// The tab that commands go to.
#[derive(Clone, Debug, Default)]
pub struct TabChoice {
    /// The context; the default one, if none is named.
    pub context: Option<String>,
    /// The tab; the current one, if none is named.
    pub tab: Option<TabId>,
    /// Time limit of each command.
    pub timeout: Option<Duration>,
}

/// A tab, driven by verbs. Nothing is read from a page of another host than the vendor's.
#[derive(Debug)]
pub(crate) struct Tab<'d, D> {
    driver: &'d D,
    choice: &'d TabChoice,
    vendor: &'d Vendor,
}

/// Counts of the elements that match a selector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SelectorCount {
    pub(crate) selector: String,
    pub(crate) matched: u32,
    /// One of the first ten is visible.
    pub(crate) visible: bool,
    /// The page does not understand the selector.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) invalid: bool,
}

/// What a page shows, as counts.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Inspection {
    /// Counts by key, in the order of the selectors.
    pub(crate) features: BTreeMap<String, Vec<SelectorCount>>,
    /// Tags of the first match, by key.
    #[serde(default)]
    pub(crate) skeletons: BTreeMap<String, Option<String>>,
}

impl Inspection {
    /// The first selector with a visible match.
    pub(crate) fn visible(&self, key: &str) -> Option<&SelectorCount> {
        self.features.get(key)?.iter().find(|count| count.visible)
    }

    /// The first selector with a match.
    pub(crate) fn matched(&self, key: &str) -> Option<&SelectorCount> {
        self.features.get(key)?.iter().find(|count| count.matched > 0)
    }
}

/// What a script of ours returned.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Answer<T> {
    /// The result.
    Here(T),
    /// The page is of another host; nothing was read.
    Elsewhere,
}

/// Selectors to count, by key.
pub(crate) type Selectors<'s> = BTreeMap<&'s str, &'s [String]>;

impl<'d, D: Driver> Tab<'d, D> {
    pub(crate) fn new(driver: &'d D, choice: &'d TabChoice, vendor: &'d Vendor) -> Self {
        Self { driver, choice, vendor }
    }

    /// Runs a command in the tab.
    pub(crate) async fn run(&self, command: Command) -> Result<Outcome> {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let request = Request {
            command,
            context: self.choice.context.clone(),
            tab: self.choice.tab,
            timeout_ms: self.choice.timeout.map(milliseconds),
            patience_ms: None,
            dialect: Dialect::Cli,
            access: None,
        };
        self.driver.run(request).await
    }

    /// The tab's state, as the browser knows it: nothing is read from the page.
    pub(crate) async fn info(&self) -> Result<Option<TabInfo>> {
        let Reply::Tabs(reply) = self.run(Command::Tabs(Tabs {})).await?.reply else {
            return Err(unexpected("tabs"));
        };
        let is_it = |tab: &TabInfo| match self.choice.tab {
            Some(wanted) => tab.id == wanted,
            None => tab.current && tab.context == self.choice.context,
        };
        Ok(reply.tabs.into_iter().find(is_it))
    }

    /// Calls a function of the isolated world with an argument, if the page is one of the vendor's hosts when it runs.
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        function: &str,
        argument: &impl Serialize,
    ) -> Result<T> {
        let argument = serde_json::to_string(argument).map_err(|error| broken(&error))?;
        let hosts = serde_json::to_string(&self.vendor.hosts).map_err(|error| broken(&error))?;
        let script = format!(
            "{hosts}.includes(location.hostname.replace(/^www\\./, '').toLowerCase()) \
             ? {{ here: ({function})({argument}) }} : {{ elsewhere: null }}"
        );
        let eval = Eval { script, isolated: true, ..Eval::default() };
        let Reply::Eval(EvalReply { value: Some(value), .. }) =
            self.run(Command::Eval(eval)).await?.reply
        else {
            return Err(unexpected("eval"));
        };
        match serde_json::from_str(value.0.get()).map_err(|error| broken(&error))? {
            Answer::Here(answer) => Ok(answer),
            Answer::Elsewhere => Err(Error::new(Code::CdpTargetMismatch)
                .message(format!("the tab shows another site than {}", self.vendor.name))
                .evidence("expected", self.vendor.hosts.clone())),
        }
    }

    /// Fails if the page is not one of the vendor's now.
    pub(crate) async fn require_host(&self) -> Result<()> {
        self.call::<bool>("() => true", &()).await.map(drop)
    }

    /// Counts the matches of selectors.
    pub(crate) async fn inspect(
        &self,
        features: &Selectors<'_>,
        skeletons: &Selectors<'_>,
    ) -> Result<Inspection> {
        let argument = serde_json::json!({
            "features": features,
            "skeletons": skeletons,
            "skeletonLimit": SKELETON_LIMIT,
        });
        self.call(INSPECT, &argument).await
    }

    /// Takes a snapshot with refs that are bound to its hashes.
    pub(crate) async fn snapshot(&self, options: Snapshot) -> Result<WebAiSnapshot> {
        let options = Snapshot { strict: true, ..options };
        match self.run(Command::Snapshot(options)).await?.reply {
            Reply::Snapshot(SnapshotReply::Full(snapshot)) => Ok(*snapshot),
            _ => Err(unexpected("snapshot")),
        }
    }

    /// Checks an element without touching it.
    pub(crate) async fn can(&self, action: ActionKind, target: Target) -> Result<CapabilityRow> {
        let target_args = TargetArgs::at(target);
        match self.run(Command::Can(Can { action, target_args })).await?.reply {
            Reply::Can(row) => Ok(row),
            _ => Err(unexpected("can")),
        }
    }
}

fn unexpected(verb: &str) -> Error {
    Error::new(Code::InternalUnhandled).message(format!("`{verb}` gave an unexpected reply"))
}

fn broken(error: &serde_json::Error) -> Error {
    Error::new(Code::InternalUnhandled).message(format!("a reply cannot be read: {error}"))
}
