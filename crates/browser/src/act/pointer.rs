//! The mouse. Events are sent one after the other without waiting in between: each answer costs a frame.

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

/// A button of the mouse.
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

/// A key that is held down while something else is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the words say it")]
pub enum Modifier {
    #[serde(alias = "Alt")]
    Alt,
    #[value(alias = "ctrl")]
    #[serde(alias = "ctrl", alias = "Control")]
    Control,
    /// `meta` on a Mac, `control` elsewhere.
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

/// The bits of several.
pub(crate) fn bits(modifiers: &[Modifier]) -> i64 {
    modifiers.iter().fold(0, |bits, modifier| bits | modifier.bit())
}

/// How to click.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClickSpec {
    pub(crate) button: Button,
    pub(crate) count: u8,
    pub(crate) modifiers: i64,
    /// How long the button stays down.
    pub(crate) hold: Option<Duration>,
}

/// Keys that have a link open in another tab or window: control, meta and shift.
const ELSEWHERE: i64 = 2 | 4 | 8;

/// For as long as it lives, a tab that comes from nowhere comes from this one.
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

/// How many pixels lie between two moves of a drag at most, as long as there are not more than [`MOST_STEPS`].
const STRIDE: f64 = 40.0;
const LEAST_STEPS: u32 = 6;
const MOST_STEPS: u32 = 20;

/// How far the mouse moves at first, so that browser and page know that it drags.
const THRESHOLD: f64 = 6.0;

/// How long a page may take to say that it lets something be dragged.
const DRAG: Duration = Duration::from_millis(150);

impl Action<'_> {
    /// Moves the mouse to a spot.
    pub(crate) async fn hover(&mut self, point: &ActionPoint) -> Result<()> {
        self.move_mouse((point.x, point.y)).await?;
        self.mark_dispatched();
        Ok(())
    }

    /// Presses and releases a button at a spot. The answers to come say when the page has taken it in.
    pub(crate) fn click(
        &mut self,
        point: &ActionPoint,
        press: ClickSpec,
    ) -> Result<Vec<Reply<DispatchMouseEvent>>> {
        let ClickSpec { button, count, modifiers, .. } = press;
        let modifiers = Some(modifiers).filter(|bits| *bits != 0);
        let mut sent = Vec::new();
        // A mouse that is there already does not move.
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

    /// Drags from one spot to another. Where the page lets data be dragged, the data goes along.
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
        // A drag that is cut off ends where it began: released anywhere else, it would drop what it holds there.
        let (post, (x, y)) = (channel.clone(), (from.x, from.y));
        let pressed = ArmedState::new(move || {
            post.post(&left("mouseMoved", x, y, 1));
            post.post(&left("mouseReleased", x, y, 0));
        });
        self.send(left("mousePressed", x, y, 1)).await?;
        self.frames(from).await;
        // On the way to the end: who draws or slides must not be led astray.
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
        // Every move is answered before the next one: what is sent at once reaches the page as one.
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
        // Pages follow the mouse in the next frame or with a timer, and move things to make room.
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

    /// Sends an event of the mouse and waits until the page has taken it in.
    pub(super) async fn send(&self, event: DispatchMouseEvent) -> Result<()> {
        let sent = self.mouse(&event)?;
        self.await_input_acks(vec![sent]).await;
        Ok(())
    }

    /// Sends an event of a drag with data and waits until the page has taken it in.
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

    /// Lets the page run what it does in its next two frames.
    async fn frames(&self, point: &ActionPoint) {
        _ = self.run_in::<bool>(point, "agbrowse.nextTwoFrames", "").await;
    }

    /// Lets the page finish what it does about the mouse being where it is.
    async fn rest(&self, point: &ActionPoint) {
        _ = self.run_in::<bool>(point, "agbrowse.waitForQuietDom", "").await;
    }

    fn mouse(&self, event: &DispatchMouseEvent) -> Result<Reply<DispatchMouseEvent>> {
        self.tab.channel.start(event).map_err(|error| self.tab.explain(error))
    }

    /// Waits until the page has taken in what was sent, unless a dialog or its end comes first.
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
