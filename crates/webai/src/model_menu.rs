//! The menu of models: opened by a click, read, and always closed again, also when the caller gives up.

use crate::resolve::resolve;
use crate::tab::{SelectorCount, Tab, TabChoice};
use crate::vendor::{Feature, ModelChoice, Models, Vendor};
use browser::command::{ActionKind, Click, Press, SettleArgs, TargetArgs};
use browser::{Command, Driver, Result, Target};
use serde::Deserialize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;

const MODEL_MENU: &str = include_str!("../js/model_menu.js");

/// Pause between two looks at a menu that opens or closes.
const PAUSE: Duration = Duration::from_millis(50);
/// Time that a menu gets to open or to close after one key.
const PATIENCE: Duration = Duration::from_millis(750);
/// Times that Escape is pressed to close a menu.
const ESCAPES: u32 = 3;

/// What the menu and the picker show.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct MenuState {
    pub(crate) items: Vec<MenuItem>,
    pub(crate) pickers: Vec<PickerState>,
}

/// An item of the open menu.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MenuItem {
    pub(crate) text: String,
    pub(crate) role: String,
    pub(crate) test_id: String,
    pub(crate) active: bool,
    pub(crate) disabled: bool,
}

/// The button that opens the menu.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct PickerState {
    pub(crate) text: String,
    pub(crate) label: String,
}

impl MenuItem {
    pub(crate) fn is(&self, choice: &ModelChoice) -> bool {
        let by_id = choice.test_ids.contains(&self.test_id);
        by_id || choice.labels.iter().any(|label| label.is_match(&self.text))
    }
}

impl MenuState {
    /// The item of a model.
    pub(crate) fn item(&self, choice: &ModelChoice) -> Option<&MenuItem> {
        // A test id decides; labels of other items may begin alike.
        let by_id = |item: &&MenuItem| choice.test_ids.contains(&item.test_id);
        self.items.iter().find(by_id).or_else(|| self.items.iter().find(|item| item.is(choice)))
    }

    /// True if the menu of models is open.
    pub(crate) fn is_open(&self, models: &Models) -> bool {
        self.items.iter().any(|item| models.choices.iter().any(|choice| item.is(choice)))
    }

    /// The active model, as the picker names it.
    pub(crate) fn active_on_picker<'m>(&self, models: &'m Models) -> Option<&'m ModelChoice> {
        let names = |choice: &&ModelChoice| {
            self.pickers.iter().any(|picker| {
                let shown = [&picker.text, &picker.label];
                choice.labels.iter().any(|label| shown.iter().any(|text| label.is_match(text)))
            })
        };
        models.choices.iter().find(names)
    }
}

/// Tasks that close what a cancelled command had opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cleanup(Arc<CleanupTasks>);

#[derive(Debug, Default)]
struct CleanupTasks(Mutex<JoinSet<()>>);

impl CleanupTasks {
    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CleanupTasks {
    fn drop(&mut self) {
        // Nobody waits for them any more; they end by themselves.
        self.tasks().detach_all();
    }
}

impl Cleanup {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if tokio::runtime::Handle::try_current().is_ok() {
            self.0.tasks().spawn(task);
        }
    }

    /// Waits until all are done.
    pub(crate) async fn finish(&self) {
        let tasks = std::mem::take(&mut *self.0.tasks());
        tasks.join_all().await;
    }
}

/// An open menu. It closes when it is dropped, in the background.
pub(crate) struct OpenMenu<D: Driver + Send + Sync + 'static> {
    driver: Arc<D>,
    choice: TabChoice,
    vendor: Arc<Vendor>,
    cleanup: Cleanup,
    is_closed: bool,
}

/// Reads menu and picker.
pub(crate) async fn read<D: Driver>(tab: &Tab<'_, D>, vendor: &Vendor) -> Result<MenuState> {
    let pickers = vendor.target(Feature::ModelPicker).map(|target| &*target.css_fallbacks);
    let argument =
        serde_json::json!({ "items": vendor.models.items, "pickers": pickers.unwrap_or_default() });
    tab.call(MODEL_MENU, &argument).await
}

/// Opens the menu. `None` when it does not open, or its button is not found.
pub(crate) async fn open<D: Driver + Send + Sync + 'static>(
    driver: &Arc<D>,
    choice: &TabChoice,
    vendor: &Arc<Vendor>,
    counts: &[SelectorCount],
    cleanup: &Cleanup,
) -> Result<Option<(OpenMenu<D>, MenuState)>> {
    let tab = Tab::new(&**driver, choice, vendor);
    let Some(target) = vendor.target(Feature::ModelPicker) else { return Ok(None) };
    let Ok(picker) = resolve(&tab, target, ActionKind::Click, counts).await? else {
        return Ok(None);
    };
    let mut menu = OpenMenu {
        driver: driver.clone(),
        choice: choice.clone(),
        vendor: vendor.clone(),
        cleanup: cleanup.clone(),
        is_closed: false,
    };
    tab.run(click(picker.target)).await?;
    let begun = tokio::time::Instant::now();
    loop {
        let state = read(&tab, vendor).await?;
        if state.is_open(&vendor.models) {
            return Ok(Some((menu, state)));
        }
        if begun.elapsed() > PATIENCE {
            // It may be open all the same, with items that are not recognized.
            menu.is_closed = close(&tab, vendor, 1).await?;
            return Ok(None);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// A click.
pub(crate) fn click(target: Target) -> Command {
    Command::Click(Click {
        target_args: TargetArgs::at(target),
        button: Default::default(),
        count: 1,
        modifiers: Vec::new(),
        hold_ms: None,
        after: SettleArgs::default(),
    })
}

impl<D: Driver + Send + Sync + 'static> OpenMenu<D> {
    /// Closes the menu; `false` if it stays open.
    pub(crate) async fn close(&mut self) -> Result<bool> {
        let closed =
            close(&Tab::new(&*self.driver, &self.choice, &self.vendor), &self.vendor, 0).await?;
        self.is_closed = true;
        Ok(closed)
    }
}

impl<D: Driver + Send + Sync + 'static> Drop for OpenMenu<D> {
    fn drop(&mut self) {
        if self.is_closed {
            return;
        }
        let (driver, choice, vendor) =
            (self.driver.clone(), self.choice.clone(), self.vendor.clone());
        self.cleanup.spawn(async move {
            if let Err(error) = close(&Tab::new(&*driver, &choice, &vendor), &vendor, 1).await {
                tracing::debug!(code = %error.code(), "the menu of models was not closed");
            }
        });
    }
}

/// Presses Escape until the menu is closed, at least as often as asked for: a menu whose items are not recognized may be open.
async fn close<D: Driver>(tab: &Tab<'_, D>, vendor: &Vendor, least: u32) -> Result<bool> {
    for press in 0..ESCAPES {
        if press >= least && !read(tab, vendor).await?.is_open(&vendor.models) {
            return Ok(true);
        }
        let after = SettleArgs::default();
        let escape = Press { keys: vec!["Escape".into()], on: None, after };
        tab.run(Command::Press(escape)).await?;
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < PATIENCE {
            if !read(tab, vendor).await?.is_open(&vendor.models) {
                return Ok(true);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
    Ok(false)
}
