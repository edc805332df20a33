//! The mouse of the verb `mouse`: moved, pressed and released in separate commands.
//!
//! A held button stays down between commands. It is released by `mouse up`, by any other mouse action, and when its tab
//! is closed or the session ends. The data of an intercepted drag moves with the mouse meanwhile.

use super::armed::ArmedState;
use super::pointer::{Button, at, drag_event};
use super::{Action, ActionPoint};
use crate::error::{Code, Error, Result};
use crate::note::Note;
use cdp::protocol::CdpEvent;
use cdp::protocol::input::{DispatchMouseEvent, DragData, DragIntercepted, SetInterceptDrags};
use cdp::{Delivery, Events};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Wait for the page to start a drag.
const DRAG: Duration = Duration::from_millis(150);

/// A mouse button that stays down between commands.
pub(crate) struct HeldButton {
    button: Button,
    /// The mouse position; shared with the release.
    place: Arc<Mutex<(f64, f64)>>,
    drags: Events,
    /// The data being dragged.
    data: Option<DragData>,
    is_entered: bool,
    /// Releases the button at the mouse position.
    pressed: ArmedState,
    /// Ends the interception of drags.
    intercepted: ArmedState,
}

impl Action<'_> {
    /// Moves the mouse, with the held button.
    pub(crate) async fn move_mouse(&mut self, to: (f64, f64)) -> Result<()> {
        self.observation.mouse = None;
        let Some(mut held) = self.observation.held.take() else {
            self.send(at("mouseMoved", to.0, to.1)).await?;
            self.observation.pointer = Some(to);
            return Ok(());
        };
        let moved = self.move_held(&mut held, to).await;
        self.observation.held = Some(held);
        moved
    }

    async fn move_held(&mut self, held: &mut HeldButton, to: (f64, f64)) -> Result<()> {
        match &held.data {
            Some(data) => {
                let kind = if held.is_entered { "dragOver" } else { "dragEnter" };
                self.send_drag(kind, to, data).await?;
                held.is_entered = true;
            }
            None => {
                let moved = DispatchMouseEvent {
                    button: Some(held.button.word()),
                    buttons: Some(held.button.bit()),
                    ..at("mouseMoved", to.0, to.1)
                };
                self.send(moved).await?;
                let begun = tokio::time::timeout(DRAG, held.drags.next()).await;
                if let Ok(Some(Delivery::Event(event))) = begun {
                    held.data = event.decode::<DragIntercepted>().ok().and_then(|it| it.data);
                }
            }
        }
        self.observation.pointer = Some(to);
        *held.place.lock().unwrap_or_else(PoisonError::into_inner) = to;
        Ok(())
    }

    /// Presses a button at the mouse position and leaves it down.
    pub(crate) async fn press_button(&mut self, button: Button) -> Result<()> {
        if self.observation.held.is_some() {
            return Err(Error::new(Code::CommandInvalid)
                .message("a mouse button is down already: release it with `mouse up`"));
        }
        let (x, y) = self.mouse_place()?;
        let channel = self.tab.channel.clone();
        let drags = channel.events(&[DragIntercepted::NAME], 8);
        let post = channel.clone();
        let intercepted = ArmedState::new(move || post.post(&SetInterceptDrags { enabled: false }));
        channel
            .call(SetInterceptDrags { enabled: true }, self.progress.deadline)
            .await
            .map_err(|error| self.tab.explain(error))?;
        let place = Arc::new(Mutex::new((x, y)));
        let (post, at_end) = (channel.clone(), place.clone());
        let pressed = ArmedState::new(move || {
            let (x, y) = *at_end.lock().unwrap_or_else(PoisonError::into_inner);
            post.post(&button_event("mouseReleased", button, (x, y)));
        });
        self.send(button_event("mousePressed", button, (x, y))).await?;
        let (data, is_entered) = (None, false);
        self.observation.held =
            Some(HeldButton { button, place, drags, data, is_entered, pressed, intercepted });
        self.observation.mouse = None;
        Ok(())
    }

    /// Releases the held button and drops what is being dragged.
    pub(crate) async fn release_button(&mut self) -> Result<()> {
        let Some(held) = self.observation.held.take() else {
            return Err(Error::new(Code::CommandInvalid)
                .message("no mouse button is down: press one with `mouse down`"));
        };
        let place = *held.place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(data) = &held.data {
            self.send_drag("dragOver", place, data).await?;
            self.send_drag("drop", place, data).await?;
        }
        self.send(button_event("mouseReleased", held.button, place)).await?;
        held.pressed.disarm();
        drop(held.intercepted);
        Ok(())
    }

    /// Releases a button held by `mouse down`, before another mouse action.
    pub(crate) fn drop_held(&mut self) {
        if let Some(held) = self.observation.held.take() {
            if let Some(data) = &held.data {
                let place = *held.place.lock().unwrap_or_else(PoisonError::into_inner);
                self.tab.channel.post(&drag_event("dragCancel", place, data));
            }
            let message = "the button held by `mouse down` was released first";
            self.progress.notes.push(Note::new("button-released", message));
        }
    }

    /// Turns the wheel at the mouse position, or in the middle of the viewport.
    pub(crate) async fn turn_wheel(&mut self, (across, down): (f64, f64)) -> Result<()> {
        let (x, y) = match self.observation.pointer {
            Some(place) => place,
            None => {
                let (width, height): (f64, f64) =
                    self.ask_main("[innerWidth, innerHeight]").await?;
                (width / 2.0, height / 2.0)
            }
        };
        let (delta_x, delta_y) = (Some(across), Some(down));
        self.send(DispatchMouseEvent { delta_x, delta_y, ..at("mouseWheel", x, y) }).await
    }

    /// Presses a button at a point, holds it and releases it.
    pub(crate) async fn hold(
        &mut self,
        point: &ActionPoint,
        press: super::pointer::ClickSpec,
        time: Duration,
    ) -> Result<()> {
        let place = (point.x, point.y);
        self.observation.mouse = None;
        self.observation.pointer = Some(place);
        let modifiers = Some(press.modifiers).filter(|bits| *bits != 0);
        let event = |kind: &str| DispatchMouseEvent {
            modifiers,
            ..button_event(kind, press.button, place)
        };
        self.send(DispatchMouseEvent { modifiers, ..at("mouseMoved", place.0, place.1) }).await?;
        let (post, release) = (self.tab.channel.clone(), event("mouseReleased"));
        let pressed = ArmedState::new(move || post.post(&release));
        self.send(event("mousePressed")).await?;
        let end = tokio::time::Instant::now() + time;
        let mut state = self.tab.state.subscribe();
        loop {
            let now = tokio::time::Instant::now();
            if now >= end || self.left_page() {
                break;
            }
            let pause = (end - now).min(HOLD_TICK);
            _ = tokio::time::timeout(pause, state.changed()).await;
            // The guard expires unless it is renewed.
            _ = self.ask::<bool>(point, "agbrowse.renewLease()").await;
        }
        self.send(event("mouseReleased")).await?;
        pressed.disarm();
        self.mark_dispatched();
        Ok(())
    }

    fn mouse_place(&self) -> Result<(f64, f64)> {
        self.observation.pointer.ok_or_else(|| {
            Error::new(Code::CommandInvalid).message(
                "the mouse has no position yet: name a target, or move it with `mouse move`",
            )
        })
    }
}

/// Interval of the guard's renewal while a button is held.
const HOLD_TICK: Duration = Duration::from_millis(500);

fn button_event(kind: &str, button: Button, (x, y): (f64, f64)) -> DispatchMouseEvent {
    let buttons = Some(if kind == "mousePressed" { button.bit() } else { 0 });
    DispatchMouseEvent {
        button: Some(button.word()),
        buttons,
        click_count: Some(1),
        ..at(kind, x, y)
    }
}
