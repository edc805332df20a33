//! Mouse input. Events are sent in a row without waiting: each response costs a frame.

use super::armed::ArmedState;
use super::{Action, ActionPoint};
use crate::error::Result;
use crate::tab::Tab;
use cdp::protocol::input::{
    DispatchDragEvent, DispatchMouseEvent, DragData, DragIntercepted, SetInterceptDrags,
};
use cdp::protocol::{CdpEvent, Method};
use cdp::{Delivery, Reply};
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A mouse button.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the words say it")]
pub enum Button {
    #[default]
    Left,
    Middle,
    Right,
}

impl Button {
    pub(super) fn word(self) -> String {
        match self {
            Self::Left => "left",
            Self::Middle => "middle",
            Self::Right => "right",
        }
        .to_owned()
    }

    pub(super) fn bit(self) -> i64 {
        match self {
            Self::Left => 1,
            Self::Right => 2,
            Self::Middle => 4,
        }
    }
}

/// A modifier key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the words say it")]
pub enum Modifier {
    #[serde(alias = "Alt")]
    Alt,
    #[value(alias = "ctrl")]
    #[serde(alias = "ctrl", alias = "Control")]
    Control,
    /// `meta` on macOS, `control` elsewhere.
    #[serde(alias = "ControlOrMeta")]
    ControlOrMeta,
    #[value(alias = "cmd")]
    #[serde(alias = "cmd", alias = "Meta")]
    Meta,
    #[serde(alias = "Shift")]
    Shift,
}

impl Modifier {
    pub(super) fn bit(self) -> i64 {
        match self {
            Self::Alt => 1,
            Self::ControlOrMeta if cfg!(target_os = "macos") => 4,
            Self::Control | Self::ControlOrMeta => 2,
            Self::Meta => 4,
            Self::Shift => 8,
        }
    }
}

/// The bits of several modifiers.
pub(crate) fn bits(modifiers: &[Modifier]) -> i64 {
    modifiers.iter().fold(0, |bits, modifier| bits | modifier.bit())
}

/// Button, count, modifiers and hold time of a click.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClickSpec {
    pub(crate) button: Button,
    pub(crate) count: u8,
    pub(crate) modifiers: i64,
    /// Time between press and release.
    pub(crate) hold: Option<Duration>,
}

/// Modifiers that open a link in another tab or window: control, meta and shift.
const ELSEWHERE: i64 = 2 | 4 | 8;

/// While it lives, new tabs without an opener are attributed to this tab.
pub(super) struct PopupAttribution<'t>(&'t Tab);

impl<'t> PopupAttribution<'t> {
    pub(super) fn by(tab: &'t Tab, press: ClickSpec) -> Option<Self> {
        let opens = press.button == Button::Middle || press.modifiers & ELSEWHERE != 0;
        tab.opens_tabs.store(opens, Ordering::Release);
        opens.then_some(Self(tab))
    }
}

impl Drop for PopupAttribution<'_> {
    fn drop(&mut self) {
        self.0.opens_tabs.store(false, Ordering::Release);
    }
}

/// Maximum distance of two moves of a drag in pixels, up to [`MOST_STEPS`] moves.
const STRIDE: f64 = 40.0;
const LEAST_STEPS: u32 = 6;
const MOST_STEPS: u32 = 20;

/// First move of a drag, in pixels, so that browser and page detect it.
const THRESHOLD: f64 = 6.0;

/// Wait for the page to start a drag.
const DRAG: Duration = Duration::from_millis(150);

impl Action<'_> {
    /// Moves the mouse to a point.
    pub(crate) async fn hover(&mut self, point: &ActionPoint) -> Result<()> {
        self.move_mouse((point.x, point.y)).await?;
        self.mark_dispatched();
        Ok(())
    }

    /// Presses and releases a button at a point. The pending replies resolve when the page has processed the events.
    pub(crate) fn click(
        &mut self,
        point: &ActionPoint,
        press: ClickSpec,
    ) -> Result<Vec<Reply<DispatchMouseEvent>>> {
        let ClickSpec { button, count, modifiers, .. } = press;
        let modifiers = Some(modifiers).filter(|bits| *bits != 0);
        let mut sent = Vec::new();
        // A mouse that is already there does not move.
        let here = Some((self.tab.state.borrow().loader.clone(), point.x, point.y));
        if self.observation.mouse != here || self.live.options.headed {
            let moved = DispatchMouseEvent { modifiers, ..at("mouseMoved", point.x, point.y) };
            sent.push(self.mouse(&moved)?);
            self.observation.mouse = here;
        }
        self.observation.pointer = Some((point.x, point.y));
        for number in 1..=count {
            for kind in ["mousePressed", "mouseReleased"] {
                let is_down = kind == "mousePressed";
                let event = DispatchMouseEvent {
                    modifiers,
                    button: Some(button.word()),
                    buttons: Some(if is_down { button.bit() } else { 0 }),
                    click_count: Some(number.into()),
                    ..at(kind, point.x, point.y)
                };
                sent.push(self.mouse(&event)?);
            }
        }
        self.mark_dispatched();
        Ok(sent)
    }

    /// Drags from one point to another, with the data if the page starts a native drag.
    pub(crate) async fn drag(&mut self, from: &ActionPoint, to: (f64, f64)) -> Result<bool> {
        self.drop_held();
        let channel = self.tab.channel.clone();
        self.observation.mouse = None;
        self.observation.pointer = Some(to);
        let mut drags = channel.events(&[DragIntercepted::NAME], 8);
        let post = channel.clone();
        let intercepted = ArmedState::new(move || post.post(&SetInterceptDrags { enabled: false }));
        channel
            .call(SetInterceptDrags { enabled: true }, self.progress.deadline)
            .await
            .map_err(|error| self.tab.explain(error))?;
        let left = |kind: &str, x: f64, y: f64, buttons: i64| DispatchMouseEvent {
            button: Some("left".into()),
            buttons: Some(buttons),
            click_count: Some(1),
            ..at(kind, x, y)
        };
        let (across, down) = (to.0 - from.x, to.1 - from.y);
        let distance = across.hypot(down);
        let count = ((distance / STRIDE) as u32).clamp(LEAST_STEPS, MOST_STEPS);
        let place = |step: u32| {
            let share = f64::from(step) / f64::from(count);
            (from.x + across * share, from.y + down * share)
        };
        self.send(at("mouseMoved", from.x, from.y)).await?;
        // An interrupted drag ends where it began: released anywhere else, it would drop its data there.
        let (post, (x, y)) = (channel.clone(), (from.x, from.y));
        let pressed = ArmedState::new(move || {
            post.post(&left("mouseMoved", x, y, 1));
            post.post(&left("mouseReleased", x, y, 0));
        });
        self.send(left("mousePressed", x, y, 1)).await?;
        self.frames(from).await;
        // Towards the end: pages that draw or slide follow every move.
        let begin = if distance > 0.0 { (THRESHOLD / distance).min(1.0) } else { 0.0 };
        self.send(left("mouseMoved", from.x + across * begin, from.y + down * begin, 1)).await?;
        let (x, y) = place(1);
        self.send(left("mouseMoved", x, y, 1)).await?;
        let begun = tokio::time::timeout(DRAG, drags.next()).await;
        let data = match begun {
            Ok(Some(Delivery::Event(event))) => {
                event.decode::<DragIntercepted>().ok().and_then(|it| it.data)
            }
            _ => None,
        };
        let carried = data.clone().map(|data| {
            let post = channel.clone();
            ArmedState::new(move || post.post(&drag_event("dragCancel", (x, y), &data)))
        });
        let is_data = data.is_some();
        self.frames(from).await;
        // Each move is acknowledged before the next one: moves sent together reach the page as one.
        for step in 2..=count {
            let (x, y) = place(step);
            match &data {
                Some(data) => {
                    let kind = if step == 2 { "dragEnter" } else { "dragOver" };
                    self.send_drag(kind, (x, y), data).await?;
                }
                None => self.send(left("mouseMoved", x, y, 1)).await?,
            }
        }
        // Pages react in the next frame or with a timer, and move elements to make room.
        self.rest(from).await;
        match &data {
            Some(data) => {
                self.send_drag("dragOver", to, data).await?;
                self.frames(from).await;
                self.send_drag("drop", to, data).await?;
                carried.into_iter().for_each(ArmedState::disarm);
            }
            None => {
                self.send(left("mouseMoved", to.0, to.1, 1)).await?;
                self.frames(from).await;
            }
        }
        let sent = vec![self.mouse(&left("mouseReleased", to.0, to.1, 0))?];
        pressed.disarm();
        self.await_input_acks(sent).await;
        drop(intercepted);
        self.mark_dispatched();
        Ok(is_data)
    }

    /// Sends a mouse event and waits until the page has processed it.
    pub(super) async fn send(&self, event: DispatchMouseEvent) -> Result<()> {
        let sent = self.mouse(&event)?;
        self.await_input_acks(vec![sent]).await;
        Ok(())
    }

    /// Sends a drag event with data and waits until the page has processed it.
    pub(super) async fn send_drag(
        &self,
        kind: &str,
        (x, y): (f64, f64),
        data: &DragData,
    ) -> Result<()> {
        let event = drag_event(kind, (x, y), data);
        let sent = self.tab.channel.start(&event).map_err(|error| self.tab.explain(error))?;
        self.await_input_acks(vec![sent]).await;
        Ok(())
    }

    /// Waits for the page's next two frames.
    async fn frames(&self, point: &ActionPoint) {
        _ = self.run_in::<bool>(point, "agbrowse.nextTwoFrames", "").await;
    }

    /// Waits until the page has reacted to the mouse position.
    async fn rest(&self, point: &ActionPoint) {
        _ = self.run_in::<bool>(point, "agbrowse.waitForQuietDom", "").await;
    }

    fn mouse(&self, event: &DispatchMouseEvent) -> Result<Reply<DispatchMouseEvent>> {
        self.tab.channel.start(event).map_err(|error| self.tab.explain(error))
    }

    /// Waits until the page has processed the input, unless a dialog, its end or a navigation comes first.
    pub(super) async fn await_input_acks<M: Method>(&self, sent: Vec<Reply<M>>) {
        let mut state = self.tab.state.subscribe();
        let all = async {
            for reply in sent {
                if let Err(error) = reply.wait(self.progress.deadline).await {
                    tracing::debug!(%error, "an event was not answered");
                }
            }
        };
        let loader = &self.baseline.state.loader;
        tokio::select! {
            biased;
            () = all => {}
            _ = state.wait_for(|state| {
                state.dialog.is_some() || state.end.is_some() || state.loader != *loader
            }) => {}
        }
    }
}

pub(super) fn drag_event(kind: &str, (x, y): (f64, f64), data: &DragData) -> DispatchDragEvent {
    DispatchDragEvent { r#type: kind.into(), x, y, data: Some(data.clone()), modifiers: None }
}

pub(super) fn at(kind: &str, x: f64, y: f64) -> DispatchMouseEvent {
    DispatchMouseEvent { r#type: kind.into(), x, y, ..DispatchMouseEvent::default() }
}
