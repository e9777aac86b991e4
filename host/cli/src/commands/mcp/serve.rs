//! `hermes mcp serve`: what an agent connects to. It ends with its client, and leaves nothing.
//!
//! Stdout belongs to the protocol: everything hermes itself has to say goes to stderr.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use hermes_home::files::{self, CreateError, LockError};
use hermes_mcp::hosts;
use hermes_mcp::http::server::{HttpError, HttpOptions, HttpServer};
use hermes_mcp::http::streams::Streams;
use hermes_mcp::idle::{Idle, Verdict};
use hermes_mcp::offer::Offer;
use hermes_mcp::serve::{Clients, Server, converse};
use hermes_mcp::servers::all::Servers;
use hermes_mcp::session::{Asker, Session, fresh_owner};
use hermes_mcp::socket::{self, BindError, SocketPath};
use hermes_model::exit;
use hermes_model::id::Owner;
use hermes_plugins::registry::Depth;
use hermes_process::registry::handle::Registry;

use super::token::{self, TokenError};
use crate::cli::Global;
use crate::commands::serve::take_place;
use crate::foreground::signals::Signals;
use crate::host::compose::{self, ComposeError, ForAgents};
use crate::host::current::Current;
use crate::place::Place;
use crate::printer::Printer;
use crate::report::Report;

/// The socket in a home where nobody names another.
const SOCKET: &str = "mcp.sock";
/// What is behind the name of a socket in that of its lock: whoever listens holds it.
const LOCK: &str = ".lock";
/// How long nobody is connected before the servers are ended; whoever comes then starts them again.
const NOBODY: Duration = Duration::from_secs(300);
/// How long the sessions may take to end, when everything they started has.
const LAST: Duration = Duration::from_secs(2);
/// How often it is looked whether anybody is connected.
const LOOK: Duration = Duration::from_secs(1);

/// Give an agent commands and all your MCP servers, behind the policy
///
/// Written into an agent's configuration as its one MCP server: it gets the tools 'terminal' and 'process' and, as
/// SERVER__TOOL, every tool of the servers in config.toml. Without --socket and --http it speaks with one agent over stdin
/// and stdout. When that closes stdin, or on Ctrl-C, SIGTERM or SIGHUP, every process and server it started is ended.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hermes mcp serve\n  hermes mcp serve --socket   many agents, at mcp.sock in the home\n  \
                        hermes mcp serve --http 127.0.0.1:8810"
)]
pub(crate) struct ServeArgs {
    /// Let in many agents at a socket that only you can reach; in place of the one in the home, another path.
    #[arg(long, value_name = "PATH", conflicts_with = "http")]
    socket: Option<Option<PathBuf>>,
    /// Offer it over Streamable HTTP at an address of this machine. Callers bring the token that stands in http-token in
    /// the home.
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// Let everybody on this machine call.
    #[arg(long, requires = "http")]
    no_token: bool,
    /// Whose the processes are that agents start; otherwise each session is an owner of its own.
    #[arg(long, value_name = "ID")]
    owner: Option<String>,
}

impl ServeArgs {
    /// Where agents connect to; none: not at a socket.
    fn socket_at(&self, place: &Place) -> Result<Option<SocketPath>, ServeError> {
        let Some(path) = &self.socket else { return Ok(None) };
        let path = path.clone().unwrap_or_else(|| place.home.root().join(SOCKET));
        SocketPath::at(&path).ok_or(ServeError::NoName(path)).map(Some)
    }
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
enum ServeError {
    #[error("the runtime for processes cannot start; free threads or open files (ulimit -a)")]
    Runtime(#[source] io::Error),
    #[error("signals cannot be listened to")]
    Signals(#[source] io::Error),
    #[error("the system gives no random bytes for the name of a session")]
    Owner(#[source] io::Error),
    #[error("'{0}' names no socket: it needs a folder and a name in it")]
    NoName(PathBuf),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error(transparent)]
    Compose(#[from] ComposeError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Folder(#[from] CreateError),
}

pub(crate) fn run(args: &ServeArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    place.home.ensure().map_err(|error| Report::of(&error))?;
    let at = args.socket_at(&place).map_err(|error| Report::of(&error))?;
    // Two that start at the same instant must not both find nobody there. The file stays, as that of the home's host does.
    let _lock = match &at {
        None => None,
        Some(at) => {
            let mut lock = at.path().into_os_string();
            lock.push(LOCK);
            match take_place(lock.as_ref(), at) {
                Ok(lock) => Some(lock),
                Err(LockError::Busy { .. }) => {
                    return Err(Report::new(format!("agents are served at '{}' already", at.path().display()))
                        .hint("they can all use that one; another program needs another --socket PATH"));
                }
                Err(error) => return Err(Report::of(&error)),
            }
        }
    };
    let plugins = place.open(Depth::Enabled, printer)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Report::of(&ServeError::Runtime(error)))?;
    let served = runtime.block_on(serve(args, at, &place, Current::new(plugins, &place), printer));
    // A thread that reads stdin cannot be told to stop, and everything else has ended.
    runtime.shutdown_background();
    served.map_err(|error| Report::of(&error))
}

async fn serve(
    args: &ServeArgs,
    at: Option<SocketPath>,
    place: &Place,
    current: Arc<Current>,
    printer: &Printer,
) -> Result<i32, ServeError> {
    // Before anything runs: a signal in between would leave it behind.
    let mut signals = Signals::listen().map_err(ServeError::Signals)?;
    let ForAgents { registry, offer, servers } = compose::compose_for_agents(place, current.clone()).await?;
    let people = for_people(place, &offer, printer);
    let clients = Clients::default();
    let way = Way { args, at, place, offer, clients: clients.clone(), printer };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = way.serve(async { drop(stopped.await) });
    tokio::pin!(serving);
    let over = tokio::select! {
        over = &mut serving => Some(over),
        _ = signals.next() => None,
        () = retire_when_alone(&clients, &servers) => None,
        () = current.keep_up() => None,
    };
    let left = end(&registry, &servers, &mut signals).await;
    drop(stop);
    let served = match over {
        Some(over) => over,
        None => tokio::time::timeout(LAST, serving).await.unwrap_or(Ok(())),
    };
    if let Some(people) = people {
        people.shut_down().await;
    }
    served?;
    if left.is_empty() {
        return Ok(exit::OK);
    }
    printer.own(&format!("could not be ended: {}", left.join(", ")));
    Ok(exit::FAILED)
}

/// Ends the servers and the processes at the same time. Returns who could not be ended.
async fn end(registry: &Registry, servers: &Servers, signals: &mut Signals) -> Vec<String> {
    let ending = async { tokio::join!(registry.shut_down(), servers.shut_down()).0 };
    tokio::pin!(ending);
    let killed = loop {
        tokio::select! {
            killed = &mut ending => break killed,
            // A second signal cuts every grace short.
            _ = signals.next() => registry.hurry().await,
        }
    };
    killed.iter().flat_map(|killed| killed.survivors.iter().map(|survivor| survivor.pid.to_string())).collect()
}

/// Listens for the command line, so that `hermes mcp list` can ask. A host that cannot serves its agents all the same.
fn for_people(place: &Place, offer: &Arc<Offer>, printer: &Printer) -> Option<Server> {
    let root = place.home.root();
    let listen = || -> Result<Server, ServeError> {
        files::create_private_dir(&hosts::folder(root))?;
        // Hosts that were killed left theirs.
        hosts::found(root);
        let own = hosts::own(root).ok_or_else(|| ServeError::NoName(root.to_owned()))?;
        Server::start(socket::bind(&own)?, Arc::clone(offer)).map_err(ServeError::Runtime)
    };
    match listen() {
        Ok(server) => Some(server),
        Err(error) => {
            printer.warn(&format!("`hermes mcp list` cannot ask this host: {error}"));
            None
        }
    }
}

/// Ends the servers whenever no agent was there for a while. Never returns.
async fn retire_when_alone(clients: &Clients, servers: &Servers) {
    let (mut idle, began) = (Idle::new(NOBODY), Instant::now());
    loop {
        tokio::time::sleep(LOOK).await;
        if idle.on(began.elapsed(), 0, 0, clients.agents()) == Verdict::Exit {
            servers.retire_idle();
            idle = Idle::new(NOBODY);
        }
    }
}

/// How agents reach this host.
struct Way<'a> {
    args: &'a ServeArgs,
    /// The socket, where there is one.
    at: Option<SocketPath>,
    place: &'a Place,
    offer: Arc<Offer>,
    clients: Clients,
    printer: &'a Printer,
}

impl Way<'_> {
    /// Serves agents until `ending`, or until the one at stdin is gone.
    async fn serve(&self, ending: impl Future<Output = ()>) -> Result<(), ServeError> {
        match (&self.at, self.args.http) {
            (Some(at), _) => self.socket(at, ending).await,
            (None, Some(addr)) => self.http(addr, ending).await,
            (None, None) => {
                let asker = asker(self.args.owner.as_deref()).map_err(ServeError::Owner)?;
                let session = Session::new(Arc::clone(&self.offer), asker, self.clients.clone());
                converse(session, tokio::io::stdin(), tokio::io::stdout(), ending).await;
                Ok(())
            }
        }
    }

    async fn socket(&self, at: &SocketPath, ending: impl Future<Output = ()>) -> Result<(), ServeError> {
        let owner = self.args.owner.clone();
        let who = move || asker(owner.as_deref());
        let server = Server::start_for(socket::bind(at)?, Arc::clone(&self.offer), self.clients.clone(), who)
            .map_err(ServeError::Runtime)?;
        self.printer.own(&format!("listening at {}", at.path().display()));
        ending.await;
        server.shut_down().await;
        Ok(())
    }

    async fn http(&self, addr: SocketAddr, ending: impl Future<Output = ()>) -> Result<(), ServeError> {
        let token = if self.args.no_token { None } else { Some(token::of(self.place)?) };
        let server = HttpServer::bind(HttpOptions::new(addr, token)).await?;
        self.printer.own(&format!("listening at {}", server.url()));
        let (offer, clients, owner) = (Arc::clone(&self.offer), self.clients.clone(), self.args.owner.clone());
        let connect = move |_| {
            let (near, far) = Streams::pair();
            match asker(owner.as_deref()) {
                Ok(asker) => {
                    let session = Session::new(Arc::clone(&offer), asker, clients.clone());
                    let (read, write) = tokio::io::split(far);
                    // It ends with its streams, which end with this host.
                    tokio::spawn(converse(session, read, write, std::future::pending()));
                }
                // The other end is closed at once, and so is the session.
                Err(error) => {
                    tracing::warn!(%error, "a client is turned away: there are no random numbers for its name")
                }
            }
            near
        };
        server.serve(connect, ending).await;
        Ok(())
    }
}

/// Who an agent is.
fn asker(owner: Option<&str>) -> io::Result<Asker> {
    owner.map_or_else(fresh_owner, |name| Ok(Owner::new(name))).map(Asker::Agent)
}
