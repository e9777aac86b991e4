//! Letting clients in: one session a connection, each on its own, and all of them ended with the host.
//!
//! It must never let in another user, and never let one session harm another.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hermes_model::id::Owner;
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
    /// How many sessions each agent has.
    agents: Arc<Mutex<BTreeMap<Owner, usize>>>,
}

impl Clients {
    /// How many there are now.
    pub fn count(&self) -> usize {
        *self.count.borrow()
    }

    /// How many sessions of agents there are.
    pub fn agents(&self) -> usize {
        self.by_owner().values().sum()
    }

    fn by_owner(&self) -> MutexGuard<'_, BTreeMap<Owner, usize>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a session of an agent.
    pub(crate) fn comes(&self, owner: &Owner) {
        *self.by_owner().entry(owner.clone()).or_default() += 1;
    }

    /// A session of an agent ended. True: it was the last one.
    pub(crate) fn goes(&self, owner: &Owner) -> bool {
        let mut agents = self.by_owner();
        let Some(count) = agents.get_mut(owner) else { return true };
        *count = count.saturating_sub(1);
        let last = *count == 0;
        if last {
            agents.remove(owner);
        }
        last
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
    /// Begins to let people in: the command line. Call it inside a runtime.
    ///
    /// # Errors
    /// The runtime cannot watch the socket.
    pub fn start(bound: Bound, offer: Arc<Offer>) -> io::Result<Self> {
        Self::start_for(bound, offer, Clients::default(), || Ok(Asker::Person))
    }

    /// Begins to let clients in, each as `who` says. `clients` counts them, also those that come another way. Call it
    /// inside a runtime.
    ///
    /// # Errors
    /// The runtime cannot watch the socket.
    pub fn start_for(
        bound: Bound,
        offer: Arc<Offer>,
        clients: Clients,
        who: impl Fn() -> io::Result<Asker> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let ending = CancellationToken::new();
        let listener = bound.listener()?;
        let door = Door { offer, clients: clients.clone(), who: Box::new(who), ending: ending.clone() };
        let accepting = tokio::spawn(accept(bound, listener, door));
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

/// Who is let in, and to what.
struct Door {
    offer: Arc<Offer>,
    clients: Clients,
    who: Box<dyn Fn() -> io::Result<Asker> + Send + Sync>,
    ending: CancellationToken,
}

impl Door {
    /// A session for a client that came, if there is room for it.
    fn let_in(&self) -> Option<(Admitted, Arc<Session>)> {
        let Some(admitted) = self.clients.admit(SESSIONS_MAX) else {
            tracing::warn!(max = SESSIONS_MAX, "a client is turned away: there are too many");
            return None;
        };
        match (self.who)() {
            Ok(asker) => Some((admitted, Session::new(Arc::clone(&self.offer), asker, self.clients.clone()))),
            Err(error) => {
                tracing::warn!(%error, "a client is turned away: there are no random numbers for its name");
                None
            }
        }
    }
}

async fn accept(bound: Bound, listener: UnixListener, door: Door) {
    let mut sessions = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = door.ending.cancelled() => break,
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
                    if let Some((admitted, session)) = door.let_in() {
                        let ending = door.ending.clone();
                        sessions.spawn(async move {
                            let (read, write) = stream.into_split();
                            converse(session, read, write, ending.cancelled()).await;
                            drop(admitted);
                        });
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
    let over = speak(Speaker::new(Arc::clone(&session)), frames, gone.clone());
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
