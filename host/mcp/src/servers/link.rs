//! One connection to a server: rmcp makes the handshake and counts the requests, and what is said goes past it.
//!
//! It must never send a request twice, never leave a caller without an answer when the connection ends, and never wait
//! for a server that does not read.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientNotification, ClientRequest, CustomNotification, CustomRequest,
    Implementation, ProtocolVersion, RequestId,
};
use rmcp::service::{
    ClientLifecycleMode, Peer, PeerRequestOptions, RequestHandle, RoleClient, RunningService, serve_client_with_ct,
    serve_client_with_lifecycle_and_ct,
};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::flight::{Outcome, Slot};
use self::wire::{Beside, Ears, Loss, Shared, Wire};
use super::raw::Raw;

mod flight;
mod hello;
mod sift;
pub(crate) mod wire;

/// How long a notification may take to be written to a server that may not read any more.
const NOTICE: Duration = Duration::from_secs(2);

/// How long a server may take to read a message before a request that timed out is believed to be its last (half the time
/// the request had, where that is less): one that does one thing at a time reads nothing while it works.
const DEAF: Duration = Duration::from_secs(30);

/// How long a request may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Without any sign of life.
    pub(crate) quiet: Duration,
    /// In all, however lively it is.
    pub(crate) total: Duration,
}

impl Patience {
    /// Progress keeps a request alive for ten times as long, or for an hour where that is longer: somebody waits for it,
    /// and a server that says "still working" for ever is as good as silent.
    pub(crate) fn of(quiet: Duration) -> Self {
        Self { quiet, total: (quiet * 10).max(Duration::from_secs(3600)) }
    }

    /// So long and no longer.
    pub(crate) fn in_all(total: Duration) -> Self {
        Self { quiet: total, total }
    }
}

/// Why a handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HelloError {
    /// The server closed its output, or does not read.
    Gone,
    /// It answered with this error.
    Refused(i64),
    /// What it answered is no answer, or names no version that is known.
    Nonsense,
}

/// Why a request has no answer.
pub(crate) enum LinkError {
    /// Nothing of it was sent.
    NotSent,
    /// It was sent, and the connection ended.
    Uncertain,
    /// It was answered with something that cannot be read, or was too long.
    Unreadable,
    /// It took too long; the server was told.
    TimedOut(Duration),
    /// Whoever asked gave up; the server was told.
    Cancelled,
    /// The server answered with an error.
    Refused {
        /// Its code.
        code: i64,
        /// All of it.
        error: Raw,
    },
}

/// A connection that is made. Dropping it is the end of the server's input.
pub(crate) struct Link {
    peer: Peer<RoleClient>,
    shared: Arc<Shared>,
    writer: Writer,
    serving: CancellationToken,
    _service: Mutex<RunningService<RoleClient, ClientConfig>>,
}

/// The task that writes. Dropping this ends it, and with it the input of the server.
struct Writer(AbortHandle);

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The server's output after the link is closed.
pub(crate) struct Rest<R>(Wire<R>);

impl<R: AsyncRead + Unpin> Rest<R> {
    /// Reads on for nobody until the server ends.
    pub(crate) async fn drain(self) {
        self.0.drain().await;
    }
}

fn about_hermes() -> ClientConfig {
    ClientConfig::new(ClientCapabilities::default(), Implementation::new("hermes", env!("CARGO_PKG_VERSION")))
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

impl Link {
    /// Makes the handshake: `initialize`, and `server/discover` only with a server that says it knows no `initialize`. It
    /// waits for as long as the server takes; dropping the future is the end of its input.
    pub(crate) async fn connect<R, W>(read: R, write: W, ears: Ears) -> Result<(Self, Rest<R>), HelloError>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let shared = Shared::new(ears);
        let (out, queue) = wire::queue();
        let writing = wire::write(write, queue, Arc::clone(&shared));
        let writer = Writer(tokio::spawn(writing).abort_handle());
        let wire = Wire::new(read, out, Arc::clone(&shared));
        let serving = CancellationToken::new();
        let mut served = serve_client_with_ct(about_hermes(), wire.clone(), serving.clone()).await;
        let modern_only =
            |shared: &Shared| shared.hello.lock().unwrap_or_else(PoisonError::into_inner).is_modern_only();
        if served.is_err() && modern_only(&shared) {
            let preferred_versions = vec![ProtocolVersion::LATEST];
            let mode = ClientLifecycleMode::Discover { preferred_versions };
            served = serve_client_with_lifecycle_and_ct(about_hermes(), wire.clone(), mode, serving.clone()).await;
        }
        match served {
            Ok(service) => {
                let peer = service.peer().clone();
                Ok((Self { peer, shared, writer, serving, _service: Mutex::new(service) }, Rest(wire)))
            }
            // rmcp's error may quote what was said, so it is only looked at.
            Err(_) if shared.ended.is_cancelled() => Err(HelloError::Gone),
            Err(_) => {
                let refused = shared.hello.lock().unwrap_or_else(PoisonError::into_inner).refused;
                Err(refused.map_or(HelloError::Nonsense, HelloError::Refused))
            }
        }
    }

    /// What the server answered to the handshake.
    pub(crate) fn hello(&self) -> Raw {
        self.shared.hello.lock().unwrap_or_else(PoisonError::into_inner).result.clone()
    }

    /// The version that was agreed on; none: the server named none that is a version by its shape.
    pub(crate) fn protocol(&self) -> Option<String> {
        let hello = self.shared.hello.lock().unwrap_or_else(PoisonError::into_inner);
        hello.version.as_ref().map(|version| version.as_str().to_owned())
    }

    /// Whether the server tells of changes only to those who asked to be told.
    pub(crate) fn must_be_listened_to(&self) -> bool {
        let hello = self.shared.hello.lock().unwrap_or_else(PoisonError::into_inner);
        hello.version.as_ref().is_some_and(|version| !version.has_initialize())
    }

    /// Returns when nothing more comes of it, and says why.
    pub(crate) async fn ended(&self) -> Loss {
        self.shared.ended.cancelled().await;
        self.shared.loss().unwrap_or(Loss::Closed)
    }

    /// Whether nothing more comes of it.
    pub(crate) fn has_ended(&self) -> bool {
        self.shared.ended.is_cancelled()
    }

    /// Ends it: whoever waits is told at once, and the server's input is closed.
    pub(crate) fn close(&self, loss: Loss) {
        self.shared.lose(loss);
        self.writer.0.abort();
        self.serving.cancel();
    }

    /// Sends a request and waits for its answer. If the future is dropped the server is told that nobody waits.
    ///
    /// # Errors
    /// [`LinkError`].
    pub(crate) async fn ask(
        &self,
        method: &'static str,
        params: Arc<Map<String, Value>>,
        progress: Option<mpsc::Sender<Raw>>,
        patience: Patience,
        cancelled: &CancellationToken,
    ) -> Result<Raw, LinkError> {
        let slot = Slot::new(progress);
        let mut request = CustomRequest::new(method, None);
        request.extensions.insert(Beside { params, slot: Some(Arc::clone(&slot)) });
        let request = ClientRequest::CustomRequest(request);
        let sending = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        let handle = tokio::select! {
            biased;
            () = cancelled.cancelled() => return Err(LinkError::Cancelled),
            () = self.shared.ended.cancelled() => return Err(LinkError::NotSent),
            handle = sending => handle.map_err(|_| LinkError::NotSent)?,
        };
        let mut pending = Pending { shared: Arc::clone(&self.shared), slot: Arc::clone(&slot), handle: Some(handle) };
        let start = Instant::now();
        let mut quiet_until = start + patience.quiet;
        loop {
            let deadline = quiet_until.min(start + patience.total);
            tokio::select! {
                biased;
                answered = pending.answered() => return answered,
                () = cancelled.cancelled() => return Err(LinkError::Cancelled),
                () = slot.alive.notified() => quiet_until = Instant::now() + patience.quiet,
                () = tokio::time::sleep_until(deadline) => {
                    if self.shared.stuck_for() >= DEAF.min(patience.total / 2) {
                        // What cannot even be written piles up, and no other request fares better.
                        self.shared.lose(Loss::Deaf);
                    }
                    return Err(LinkError::TimedOut(start.elapsed()));
                }
            }
        }
    }

    /// Whether the server answers, with whatever, within this time.
    pub(crate) async fn is_alive(&self, within: Duration) -> bool {
        let patience = Patience::in_all(within);
        let answer = self.ask("ping", Arc::default(), None, patience, &CancellationToken::new()).await;
        matches!(answer, Ok(_) | Err(LinkError::Refused { .. } | LinkError::Unreadable))
    }

    /// Sends a notification, within a bound.
    pub(crate) async fn tell(&self, method: &'static str, params: Map<String, Value>) {
        let mut notification = CustomNotification::new(method, None);
        notification.extensions.insert(Beside { params: Arc::new(params), slot: None });
        let sending = self.peer.send_notification(ClientNotification::CustomNotification(notification));
        // A server that does not read is noticed by its requests.
        let _ = tokio::time::timeout(NOTICE, sending).await;
    }
}

/// A request that is waited for. Dropping it tells the server that it is not.
struct Pending {
    shared: Arc<Shared>,
    slot: Arc<Slot>,
    handle: Option<RequestHandle<RoleClient>>,
}

impl Pending {
    /// Waits for the answer, or for the end of the link. May be dropped and called again until it returned.
    async fn answered(&mut self) -> Result<Raw, LinkError> {
        let Some(handle) = &mut self.handle else { return Err(LinkError::Uncertain) };
        tokio::select! {
            biased;
            _ = &mut handle.rx => {}
            () = self.shared.ended.cancelled() => {}
        }
        self.handle = None;
        match self.slot.take() {
            Some(Outcome::Answer(raw)) => Ok(raw),
            Some(Outcome::Refused { code, error }) => Err(LinkError::Refused { code, error }),
            Some(Outcome::Lost) => Err(LinkError::Unreadable),
            None if self.slot.withdraw() => Err(LinkError::NotSent),
            None => Err(LinkError::Uncertain),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        self.slot.withdraw();
        if let RequestId::Number(id) = handle.id {
            self.shared.flight.abandon(id);
        }
        // Without a runtime there is nobody who could tell the server.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // A server that does not read it has its own end.
                let _ = tokio::time::timeout(NOTICE, handle.cancel(None)).await;
            });
        }
    }
}

#[cfg(test)]
mod tests;
