//! Recursive auto-attach: tabs and pop-ups from the browser, out-of-process frames and workers from their
//! tab, and those nested in them from theirs.
//!
//! Chromium attaches one level only, so every new session is asked to attach its own children. New targets
//! are held until `prepare` has queued what they need from the first moment on; nothing is awaited, so a
//! target is held for one trip of the wire.

use crate::protocol::CdpEvent;
use crate::protocol::runtime::RunIfWaitingForDebugger;
use crate::protocol::target::{
    AttachedToTarget, DetachedFromTarget, FilterEntry, GetTargets, SetAutoAttach,
    SetDiscoverTargets, TargetCrashed, TargetCreated, TargetDestroyed, TargetInfo,
    TargetInfoChanged,
};
use crate::{Channel, Connection, Deadline, Error, Event, Reply};
use std::sync::Arc;

/// What happened to a target.
#[derive(Debug)]
pub enum TargetChange {
    /// We are attached to it.
    Attached {
        /// The channel to it.
        channel: Channel,
        /// What it is.
        info: TargetInfo,
        /// The session it belongs to; `None` when it is a target of the browser itself.
        parent: Option<Arc<str>>,
        /// Answered when the target has taken in what was prepared for it. Commands that come before can
        /// crash a page that is being made.
        ready: Reply<RunIfWaitingForDebugger>,
    },
    /// A session has ended.
    Detached {
        /// Which.
        session: Arc<str>,
    },
    /// It appeared, or its title or address changed.
    Changed {
        /// What it is now.
        info: TargetInfo,
    },
    /// It is gone.
    Destroyed {
        /// Which.
        target_id: String,
    },
    /// Its process died.
    Crashed {
        /// Which.
        target_id: String,
        /// How, in the browser's words.
        status: String,
    },
}

/// Keeps every target attached, at any depth.
pub struct AutoAttach<P> {
    connection: Connection,
    prepare: P,
}

impl<P: Fn(&Channel, &TargetInfo, Option<&Arc<str>>)> AutoAttach<P> {
    /// Events that [`AutoAttach::absorb`] wants to see.
    pub const EVENTS: [&'static str; 6] = [
        AttachedToTarget::NAME,
        DetachedFromTarget::NAME,
        TargetCreated::NAME,
        TargetInfoChanged::NAME,
        TargetDestroyed::NAME,
        TargetCrashed::NAME,
    ];

    /// `prepare` queues what a new target needs before its first script runs; it gets the session that the target came
    /// through, unless that is the browser's own.
    pub fn new(connection: Connection, prepare: P) -> Self {
        Self { connection, prepare }
    }

    /// Begins with the browser's own targets. Listen to [`Self::EVENTS`] before.
    ///
    /// # Errors
    /// When the browser cannot be reached or refuses.
    pub async fn start(&self, deadline: Deadline) -> Result<(), Error> {
        let browser = self.connection.browser();
        let discover = browser.start(&SetDiscoverTargets { discover: true })?;
        let attach = browser.start(&all())?;
        discover.wait(deadline).await?;
        attach.wait(deadline).await?;
        Ok(())
    }

    /// Follows one event, and says what it means.
    pub fn absorb(&self, event: &Event) -> Option<TargetChange> {
        let change = match &*event.method {
            AttachedToTarget::NAME => {
                let AttachedToTarget { session_id, target_info, .. } = event.decode().ok()?;
                let (session, info) = (session_id?, target_info?);
                let channel = self.connection.session(session.into());
                (self.prepare)(&channel, &info, event.session.as_ref());
                channel.post(&all());
                let ready = channel.start(&RunIfWaitingForDebugger {}).ok()?;
                TargetChange::Attached { channel, info, parent: event.session.clone(), ready }
            }
            DetachedFromTarget::NAME => TargetChange::Detached {
                session: event.decode::<DetachedFromTarget>().ok()?.session_id?.into(),
            },
            TargetCreated::NAME => {
                TargetChange::Changed { info: event.decode::<TargetCreated>().ok()?.target_info? }
            }
            TargetInfoChanged::NAME => TargetChange::Changed {
                info: event.decode::<TargetInfoChanged>().ok()?.target_info?,
            },
            TargetDestroyed::NAME => TargetChange::Destroyed {
                target_id: event.decode::<TargetDestroyed>().ok()?.target_id?,
            },
            TargetCrashed::NAME => {
                let TargetCrashed { target_id, status, .. } = event.decode().ok()?;
                TargetChange::Crashed { target_id: target_id?, status: status.unwrap_or_default() }
            }
            _ => return None,
        };
        Some(change)
    }

    /// What there is now: for a listener that has lost events.
    ///
    /// # Errors
    /// When the browser cannot be reached or refuses.
    pub async fn targets(&self, deadline: Deadline) -> Result<Vec<TargetInfo>, Error> {
        let reply = self.connection.browser().call(GetTargets {}, deadline).await?;
        Ok(reply.target_infos.unwrap_or_default())
    }
}

/// Everything but the browser itself, its tab strip and its own surfaces: they hold no page, and attaching
/// to them only holds them up.
fn all() -> SetAutoAttach {
    let leave = |kind: &str| FilterEntry { r#type: Some(kind.into()), exclude: Some(true) };
    SetAutoAttach {
        auto_attach: true,
        wait_for_debugger_on_start: true,
        flatten: true,
        filter: Some(vec![
            leave("browser"),
            leave("tab"),
            leave("browser_ui"),
            FilterEntry::default(),
        ]),
    }
}
