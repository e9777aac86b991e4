//! Many agents of one wrapped server, each with a process of its own.
//!
//! It must never let one session harm another, and never leave one running when it has ended.

use std::sync::{Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Why, Wrapped, run};

/// The sessions of a server. Dropping it kills the servers of all of them at once.
pub struct Sessions {
    wrapped: Wrapped,
    running: Mutex<JoinSet<()>>,
    over: CancellationToken,
}

impl Sessions {
    /// No session yet.
    pub fn new(wrapped: Wrapped) -> Self {
        Self { wrapped, running: Mutex::default(), over: CancellationToken::new() }
    }

    /// Begins a session with an agent of which these are the streams. Call it inside a runtime; it does not block.
    pub fn begin<R, W>(&self, read: R, write: W)
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (wrapped, over) = (self.wrapped.clone(), self.over.clone().cancelled_owned());
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that have ended take no room.
        while running.try_join_next().is_some() {}
        running.spawn(async move {
            let name = wrapped.name.clone();
            let end = run(wrapped, read, write, over).await;
            if let Why::NotStarted(error) = &end.why {
                // Its words name the program, and that is text which was typed.
                let code = error.exit_code();
                tracing::warn!(server = name, code, "a session ended at once: the server cannot be started");
            }
        });
    }

    /// Ends all of them, and kills what is left of them once `hurry` returns. When this returns nothing of any server is
    /// left.
    pub async fn shut_down(&self, hurry: impl Future<Output = ()>) {
        self.over.cancel();
        let mut running = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        tokio::select! {
            () = async { while running.join_next().await.is_some() {} } => return,
            () = hurry => {}
        }
        // A session that is dropped kills its server.
        running.shutdown().await;
    }
}
