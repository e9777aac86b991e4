//! What a handle may ask of the task of a command.

use tokio::sync::oneshot;

use crate::kill::Verdict;

/// A request, answered after its effect.
pub(crate) enum Message {
    /// End the whole tree, whether the command itself still runs or has left survivors.
    Stop {
        /// Who asks, for the status.
        by: String,
        /// Gets the verdict.
        answer: oneshot::Sender<Verdict>,
    },
}
