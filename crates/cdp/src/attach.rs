//! Recursive auto-attach: tabs and pop-ups from the browser session, out-of-process frames and workers from
//! their tab's session, nested ones from their parent's.
//!
//! Chromium auto-attaches one level only, so every new session enables auto-attach for its own children. New
//! targets stay paused until `prepare` has queued their initial commands; no reply is awaited, so the pause
//! lasts one round trip.

use crate::protocol::CdpEvent;
use crate::protocol::runtime::RunIfWaitingForDebugger;
use crate::protocol::target::{
    AttachedToTarget, DetachedFromTarget, FilterEntry, GetTargets, SetAutoAttach,
    SetDiscoverTargets, TargetCrashed, TargetCreated, TargetDestroyed, TargetInfo,
    TargetInfoChanged,
};
use crate::{Channel, Connection, Deadline, Error, Event, Reply};
use std::sync::Arc;

/// A change of a target or session.
#[derive(Debug)]
pub enum TargetChange {
    /// A session was attached to a target.
    Attached {
        /// The channel to the target.
        channel: Channel,
        /// Target information.
        info: TargetInfo,
        /// The parent session; `None` for a target of the browser session.
        parent: Option<Arc<str>>,
        /// Resolves when the target has processed the prepared commands. Earlier commands can crash a page
        /// that is still being created.
        ready: Reply<RunIfWaitingForDebugger>,
    },
    /// A session was detached.
    Detached {
        /// The session.
        session: Arc<str>,
    },
    /// A target was created, or its title or URL changed.
    Changed {
        /// Current target information.
        info: TargetInfo,
    },
    /// A target was destroyed.
    Destroyed {
        /// The target.
        target_id: String,
    },
    /// The target's process crashed.
    Crashed {
        /// The target.
        target_id: String,
        /// Termination status as reported by the browser.
        status: String,
    },
}

/// Keeps a session attached to every target, at any depth.
pub struct AutoAttach<P> {
    connection: Connection,
    prepare: P,
}

impl<P: Fn(&Channel, &TargetInfo, Option<&Arc<str>>)> AutoAttach<P> {
    /// Events that [`AutoAttach::absorb`] handles.
    pub const EVENTS: [&'static str; 6] = [
        AttachedToTarget::NAME,
        DetachedFromTarget::NAME,
        TargetCreated::NAME,
        TargetInfoChanged::NAME,
        TargetDestroyed::NAME,
        TargetCrashed::NAME,
    ];

    /// Creates an auto-attacher. `prepare` queues the commands a new target needs before its first script
    /// runs; it gets the parent session, unless that is the browser session.
    pub fn new(connection: Connection, prepare: P) -> Self {
        Self { connection, prepare }
    }

    /// Enables discovery and auto-attach on the browser session. Subscribe to [`Self::EVENTS`] before.
    ///
    /// # Errors
    /// When the browser cannot be reached or refuses.
    pub async fn start(&self, deadline: Deadline) -> Result<(), Error> {
        let browser = self.connection.browser();
        let discover = browser.start(&SetDiscoverTargets { discover: true })?;
        let attach = browser.start(&auto_attach_options())?;
        discover.wait(deadline).await?;
        attach.wait(deadline).await?;
        Ok(())
    }

    /// Handles one event and returns the change it stands for.
    pub fn absorb(&self, event: &Event) -> Option<TargetChange> {
        let change = match &*event.method {
            AttachedToTarget::NAME => {
                let AttachedToTarget { session_id, target_info, .. } = event.decode().ok()?;
                let (session, info) = (session_id?, target_info?);
                let channel = self.connection.session(session.into());
                (self.prepare)(&channel, &info, event.session.as_ref());
                channel.post(&auto_attach_options());
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

    /// Lists the current targets, for a listener that has lost events.
    ///
    /// # Errors
    /// When the browser cannot be reached or refuses.
    pub async fn targets(&self, deadline: Deadline) -> Result<Vec<TargetInfo>, Error> {
        let reply = self.connection.browser().call(GetTargets {}, deadline).await?;
        Ok(reply.target_infos.unwrap_or_default())
    }
}

/// Filter that excludes the browser itself, its tab strip and its own UI: these hold no page, and attaching
/// to them only delays them.
fn auto_attach_options() -> SetAutoAttach {
    let exclude = |kind: &str| FilterEntry { r#type: Some(kind.into()), exclude: Some(true) };
    SetAutoAttach {
        auto_attach: true,
        wait_for_debugger_on_start: true,
        flatten: true,
        filter: Some(vec![
            exclude("browser"),
            exclude("tab"),
            exclude("browser_ui"),
            FilterEntry::default(),
        ]),
    }
}
