//! Guards running user scripts: terminated when their caller is dropped; the tab's turn is held until they end.

use crate::tab::Turn;
use cdp::protocol::runtime::{Evaluate, TerminateExecution};
use cdp::{Channel, Deadline};
use std::time::Duration;

/// Timeout of a script's termination before the next command gets its turn anyway.
const TERMINATION_TIMEOUT: Duration = Duration::from_secs(3);

/// Pause before the termination is repeated; doubled each time.
const FIRST_INTERVAL: Duration = Duration::from_millis(20);

/// The turn on a tab while a user script runs there. Dropped, it terminates the script.
pub(crate) struct ScriptGuard {
    turn: Option<Turn>,
    /// The channel of the script: the tab's own, or that of an out-of-process frame.
    channel: Channel,
}

impl ScriptGuard {
    pub(crate) fn new(turn: Turn, channel: Channel) -> Self {
        Self { turn: Some(turn), channel }
    }

    /// Ends the guard: the script has finished, or must not be terminated.
    pub(crate) fn over(mut self) -> Turn {
        self.turn.take().expect("the turn is taken only once: here, or on drop")
    }
}

impl std::ops::Deref for ScriptGuard {
    type Target = Turn;
    fn deref(&self) -> &Turn {
        self.turn.as_ref().expect("the turn is present until this is consumed or dropped")
    }
}

impl Drop for ScriptGuard {
    fn drop(&mut self) {
        if let (Some(turn), Ok(runtime)) = (self.turn.take(), tokio::runtime::Handle::try_current())
        {
            runtime.spawn(end(turn, self.channel.clone()));
        }
    }
}

/// A trivial script to which a page responds unless it is busy.
pub(crate) fn question() -> Evaluate {
    Evaluate { expression: "0".into(), ..Evaluate::default() }
}

/// Terminates the script, if it keeps the page busy. `Runtime.terminateExecution` takes another way to the page than
/// the script did and may overtake it, so it is repeated until the page responds.
async fn end(turn: Turn, channel: Channel) {
    let deadline = Deadline::after(TERMINATION_TIMEOUT);
    let mut state = turn.state.subscribe();
    let ended = async {
        let mut terminations = Vec::new();
        // Evaluated after the script.
        let mut response = std::pin::pin!(channel.call(question(), deadline));
        let mut interval = FIRST_INTERVAL;
        loop {
            tokio::select! {
                biased;
                _ = &mut response => break,
                () = tokio::time::sleep(interval) => interval *= 2,
            }
            terminations.extend(channel.start(&TerminateExecution {}));
        }
        // A late termination ends whatever runs then: that is to be ours.
        let terminated = async {
            for termination in terminations {
                _ = termination.wait(deadline).await;
            }
        };
        let idle_evaluations = async { while channel.call(question(), deadline).await.is_ok() {} };
        tokio::select! {
            biased;
            () = terminated => {}
            () = idle_evaluations => {}
        }
    };
    tokio::select! {
        () = ended => {}
        blocked = turn.blocked(&mut state) => tracing::debug!(%blocked, "a script was left"),
    }
    if deadline.is_over() {
        tracing::debug!(tab = %turn.id, "a script did not end");
    }
}
