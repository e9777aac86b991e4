//! Listening on this machine, and the life of connections.
//!
//! It must never listen where another machine can reach it, and never let connections take more than their share.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::endpoint::Endpoint;
use super::streams::{SessionId, Streams};
use super::token::Token;

/// How many connections there may be: a session of an agent holds a few, one for each stream.
const CONNECTIONS_MAX: usize = 256;
/// How long the head of a request may take, and how long a connection may wait for its next request.
const HEAD: Duration = Duration::from_secs(30);
/// How long the head of a request may be, in bytes.
const HEAD_MAX: usize = 64 << 10;
/// How many headers it may have.
const HEADERS_MAX: usize = 64;
/// How long connections may take to end with the server, all together.
const END: Duration = Duration::from_secs(1);
/// How soon connections are taken again after the system had no room for one.
const AGAIN: Duration = Duration::from_millis(100);
/// What a connection is told that is one too many.
const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// How to listen.
pub struct HttpOptions {
    /// Where: an address of this machine only; port 0: any free one.
    pub addr: SocketAddr,
    /// What a caller must bring; none: everybody on this machine may call.
    pub token: Option<Token>,
    /// The path that is answered.
    pub path: &'static str,
    /// How many sessions there may be.
    pub sessions_max: usize,
    /// How long a session lives in which nothing is said and nothing is being answered.
    pub idle: Duration,
    /// How long a session is left alone, with nobody reading and nothing being answered, before it makes room for a new one
    /// where there are as many as there may be.
    pub spare: Duration,
    /// How long nothing happens on a stream before something is sent, so that a client that vanished is noticed.
    pub beat: Duration,
}

impl HttpOptions {
    /// As usual at `addr`: the path `/mcp`, 64 sessions, ended when they were idle for 30 minutes, a beat every 15 seconds.
    pub fn new(addr: SocketAddr, token: Option<Token>) -> Self {
        Self {
            addr,
            token,
            path: "/mcp",
            sessions_max: 64,
            idle: Duration::from_mins(30),
            spare: Duration::from_mins(1),
            beat: Duration::from_secs(15),
        }
    }
}

/// Why nothing listens.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Others could reach it.
    #[error(
        "{0} can be reached from other machines, and the agents that may call run on this one: use 127.0.0.1 or [::1], and a tunnel (ssh -L) from elsewhere"
    )]
    NotLoopback(IpAddr),
    /// The system refuses.
    #[error("cannot listen at {0}: {1}; choose another port, or 0 for any free one")]
    Bind(SocketAddr, #[source] io::Error),
}

/// A server that listens, and answers once it is told to.
pub struct HttpServer {
    listener: TcpListener,
    local: SocketAddr,
    options: HttpOptions,
}

impl HttpServer {
    /// Listens. Call it inside a runtime.
    ///
    /// # Errors
    /// The address is not one of this machine only, or is taken.
    pub async fn bind(options: HttpOptions) -> Result<Self, HttpError> {
        let addr = options.addr;
        if !addr.ip().to_canonical().is_loopback() {
            return Err(HttpError::NotLoopback(addr.ip()));
        }
        let refused = |error| HttpError::Bind(addr, error);
        let listener = TcpListener::bind(addr).await.map_err(refused)?;
        let local = listener.local_addr().map_err(refused)?;
        Ok(Self { listener, local, options })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// What a client is given: `http://127.0.0.1:PORT/mcp`.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.local, self.options.path)
    }

    /// Answers until `ending`, then ends every session and connection within about a second. `connect` makes the streams
    /// of each new session; it must not block, and what is written into them must have been revealed.
    pub async fn serve<C>(self, connect: C, ending: impl Future<Output = ()>)
    where
        C: Fn(SessionId) -> Streams + Send + Sync + 'static,
    {
        let over = CancellationToken::new();
        let endpoint = Endpoint::new(self.options, Box::new(connect), over.clone());
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let mut connections = JoinSet::new();
        tokio::pin!(ending);
        loop {
            tokio::select! {
                biased;
                () = &mut ending => break,
                Some(ended) = connections.join_next(), if !connections.is_empty() => {
                    if let Err(error) = ended && error.is_panic() {
                        tracing::error!("a connection broke down; the others go on");
                    }
                }
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => match Arc::clone(&room).try_acquire_owned() {
                        Ok(place) => {
                            let (endpoint, over) = (Arc::clone(&endpoint), over.clone());
                            connections.spawn(async move {
                                converse(stream, endpoint, over).await;
                                drop(place);
                            });
                        }
                        Err(_) => turn_away(stream),
                    },
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be taken");
                        tokio::time::sleep(AGAIN).await;
                    }
                }
            }
        }
        drop(self.listener);
        over.cancel();
        if tokio::time::timeout(END, async { while connections.join_next().await.is_some() {} }).await.is_err() {
            tracing::debug!(connections = connections.len(), "connections did not end in time and are cut");
        }
    }
}

async fn converse(stream: TcpStream, endpoint: Arc<Endpoint>, over: CancellationToken) {
    // Answers are small and waited for. Without it they only come later.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let endpoint = Arc::clone(&endpoint);
        async move { Ok::<_, Infallible>(endpoint.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_header_size(HEAD_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = over.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if ended.is_err() {
        tracing::debug!("a connection ended early");
    }
}

/// Says that there is no room, to somebody who may not listen.
fn turn_away(mut stream: TcpStream) {
    tracing::warn!(max = CONNECTIONS_MAX, "a connection is turned away: there are too many");
    tokio::spawn(async move {
        // It was turned away whether it hears why or not.
        let _ = tokio::time::timeout(END, stream.write_all(FULL)).await;
    });
}
