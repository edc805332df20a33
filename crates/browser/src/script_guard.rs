//! Scripts of a caller under way: ended when their caller goes away, and the tab's turn is kept until they are.

use crate::tab::Turn;
use cdp::protocol::runtime::{Evaluate, TerminateExecution};
use cdp::{Channel, Deadline};
use std::time::Duration;

/// How long a script may take to end before the next command gets its turn all the same.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long to wait before a script is told to end again; twice as long each time.
const FIRST_PACE: Duration = Duration::from_millis(20);

/// The turn on a tab while a script of ours runs there. Dropped, it ends the script.
pub(crate) struct ScriptGuard {
    turn: Option<Turn>,
    /// Where it runs: the tab's own channel, or that of a frame in another process.
    channel: Channel,
}

impl ScriptGuard {
    pub(crate) fn new(turn: Turn, channel: Channel) -> Self {
        Self { turn: Some(turn), channel }
    }

    /// The script is over, or its end is not ours to bring about.
    pub(crate) fn over(mut self) -> Turn {
        self.turn.take().expect("it is taken here, where nobody can ask again, or at the end")
    }
}

impl std::ops::Deref for ScriptGuard {
    type Target = Turn;
    fn deref(&self) -> &Turn {
        self.turn.as_ref().expect("it is taken when this is consumed or dropped")
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

/// What any page that is not busy answers.
pub(crate) fn question() -> Evaluate {
    Evaluate { expression: "0".into(), ..Evaluate::default() }
}

/// Ends the script, if it keeps the page from answering. The order to end goes another way to the page than the script did and may be there before it, so it
/// is given until the page answers again.
async fn end(turn: Turn, channel: Channel) {
    let deadline = Deadline::after(PATIENCE);
    let mut state = turn.state.subscribe();
    let ended = async {
        let mut orders = Vec::new();
        // What is asked after the script is answered after it.
        let mut answer = std::pin::pin!(channel.call(question(), deadline));
        let mut pace = FIRST_PACE;
        loop {
            tokio::select! {
                biased;
                _ = &mut answer => break,
                () = tokio::time::sleep(pace) => pace *= 2,
            }
            orders.extend(channel.start(&TerminateExecution {}));
        }
        // An order that comes late ends whatever runs then: that is to be ours.
        let heard = async {
            for order in orders {
                _ = order.wait(deadline).await;
            }
        };
        let distraction = async { while channel.call(question(), deadline).await.is_ok() {} };
        tokio::select! {
            biased;
            () = heard => {}
            () = distraction => {}
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
