//! Letting clients in: one session a connection, each on its own, and all of them ended with the host.
//!
//! It must never let in another user, and never let one session harm another.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::service::serve_server_with_ct;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::frames::ServerFrames;
use crate::offer::Offer;
use crate::session::{Asker, Session};
use crate::socket::{self, Bound};
use crate::speaker::Speaker;

/// How many clients there may be at the same time: more than any machine has agents, and a bound for one that leaks
/// connections.
const SESSIONS_MAX: usize = 256;
/// How long a client may take to say who it is.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long calls that cannot be interrupted may take when their client is gone or the host ends.
const LAST_CALLS: Duration = Duration::from_millis(500);
/// How long the sessions may take to end with the host, all together.
const END: Duration = Duration::from_secs(1);
/// How soon clients are let in again after the system had no room for one.
const AGAIN: Duration = Duration::from_millis(100);

/// How many clients there are. Cloning it gives another handle to the same count.
#[derive(Clone, Debug, Default)]
pub struct Clients {
    count: watch::Sender<usize>,
}

impl Clients {
    /// How many there are now.
    pub fn count(&self) -> usize {
        *self.count.borrow()
    }

    /// Counts one for as long as what is returned lives; none where there are `max` of them.
    fn admit(&self, max: usize) -> Option<Admitted> {
        let admitted = self.count.send_if_modified(|count| {
            let room = *count < max;
            *count += usize::from(room);
            room
        });
        admitted.then(|| Admitted(self.clone()))
    }
}

struct Admitted(Clients);

impl Drop for Admitted {
    fn drop(&mut self) {
        self.0.count.send_modify(|count| *count -= 1);
    }
}

/// A host that listens. Dropping it ends its sessions without waiting for them.
pub struct Server {
    clients: Clients,
    ending: CancellationToken,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Begins to let clients in. Call it inside a runtime.
    ///
    /// # Errors
    /// The runtime cannot watch the socket.
    pub fn start(bound: Bound, offer: Arc<Offer>) -> io::Result<Self> {
        let (clients, ending) = (Clients::default(), CancellationToken::new());
        let listener = bound.listener()?;
        let accepting = tokio::spawn(accept(bound, listener, offer, clients.clone(), ending.clone()));
        Ok(Self { clients, ending, accepting })
    }

    /// How many clients are connected.
    pub fn clients(&self) -> usize {
        self.clients.count()
    }

    /// Lets nobody in any more, removes the socket, and ends every session, within about a second.
    pub async fn shut_down(mut self) {
        self.ending.cancel();
        // It is bounded, and what breaks in it has been said.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ending.cancel();
    }
}

async fn accept(bound: Bound, listener: UnixListener, offer: Arc<Offer>, clients: Clients, ending: CancellationToken) {
    let mut sessions = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = ending.cancelled() => break,
            Some(ended) = sessions.join_next(), if !sessions.is_empty() => {
                if let Err(error) = ended && error.is_panic() {
                    tracing::error!("a session broke down; the others go on");
                }
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if !belongs_to(&stream, socket::own_user()) {
                        continue;
                    }
                    match clients.admit(SESSIONS_MAX) {
                        None => tracing::warn!(max = SESSIONS_MAX, "a client is turned away: there are too many"),
                        Some(admitted) => {
                            let session = Session::new(Arc::clone(&offer), Asker::Person, clients.clone());
                            let ending = ending.clone();
                            sessions.spawn(async move {
                                let (read, write) = stream.into_split();
                                converse(session, read, write, ending.cancelled()).await;
                                drop(admitted);
                            });
                        }
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "a client could not be let in");
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }
    drop((listener, bound));
    if tokio::time::timeout(END, async { while sessions.join_next().await.is_some() {} }).await.is_err() {
        tracing::warn!(sessions = sessions.len(), "sessions did not end in time");
    }
}

/// Whether the other end belongs to this user.
fn belongs_to(stream: &UnixStream, own: u32) -> bool {
    match socket::peer(stream) {
        Ok(user) if user == own => true,
        Ok(user) => {
            tracing::warn!(user, "another user tried to reach this host and was turned away");
            false
        }
        Err(error) => {
            tracing::warn!(%error, "a client is turned away: the kernel does not say who it is");
            false
        }
    }
}

/// Speaks with one client until it leaves, breaks the protocol, or `ending` says that the host ends. A client that closes
/// its end has left: its calls are given up, and the session is ended.
pub async fn converse<R, W>(session: Arc<Session>, read: R, write: W, ending: impl Future<Output = ()>)
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let gone = CancellationToken::new();
    let frames = ServerFrames::new(read, write, gone.clone());
    let over = speak(Speaker(Arc::clone(&session)), frames, gone.clone());
    tokio::pin!(over);
    let left = tokio::select! {
        () = &mut over => true,
        () = gone.cancelled() => false,
        () = ending => false,
    };
    gone.cancel();
    if !left {
        // What takes longer goes on by itself, and its answer is for nobody.
        let _ = tokio::time::timeout(LAST_CALLS, over).await;
    }
    session.end().await;
}

async fn speak<R, W>(speaker: Speaker, frames: ServerFrames<R, W>, gone: CancellationToken)
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    match tokio::time::timeout(HANDSHAKE, serve_server_with_ct(speaker, frames, gone)).await {
        // How it ended is of no use: the other end is gone, or is to be.
        Ok(Ok(speaking)) => drop(speaking.waiting().await),
        Ok(Err(_)) => tracing::debug!("a client left before it said who it is"),
        Err(_) => tracing::debug!("a client did not say who it is and was cut off"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn another_user_is_turned_away() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let own = socket::own_user();
        assert!(belongs_to(&ours, own));
        assert!(!belongs_to(&ours, own + 1));
    }

    #[test]
    fn no_more_clients_are_counted_in_than_there_is_room_for() {
        let clients = Clients::default();
        let inside: Vec<_> = (0..3).map(|_| clients.admit(3)).collect();
        assert!(inside.iter().all(Option::is_some) && clients.admit(3).is_none());
        assert_eq!(clients.count(), 3);
        drop(inside);
        assert_eq!(clients.count(), 0);
        assert!(clients.admit(3).is_some());
    }
}
