//! What the handles of a server tell its task.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::link::Link;

/// One message.
pub(super) enum Message {
    /// Somebody needs the server: the link, or why there is none.
    Want(oneshot::Sender<Result<Arc<Link>, String>>),
    /// It answered a call.
    Succeeded,
    /// Nobody needs it for now.
    Retire,
    /// It is to end.
    Stop {
        /// Whether it never runs again.
        for_good: bool,
        /// Told when nothing of it is left.
        done: oneshot::Sender<()>,
    },
}
