//! `hermes serve`: the running host of a home, in the foreground. It ends in order, and leaves nothing.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use hermes_home::files::{self, FileLock, LockError};
use hermes_mcp::idle::{Idle, Verdict};
use hermes_mcp::serve::Server;
use hermes_mcp::socket::{self, BindError, SocketPath};
use hermes_model::exit;
use hermes_plugins::registry::Depth;
use hermes_process::registry::handle::{Registry, Who};

use crate::cli::Global;
use crate::foreground::signals::Signals;
use crate::host::compose::{self, ComposeError, Composed};
use crate::host::current::Current;
use crate::host::start;
use crate::place::Place;
use crate::printer::Printer;
use crate::report::Report;

/// The file whose lock the host of a home holds.
const LOCK: &str = "host.lock";
/// How long the place of a host that does not listen is waited for: it ends in order, or it was killed and a program it
/// was about to start holds its lock for a moment.
const MAKE_WAY: Duration = Duration::from_secs(20);
/// How long the lock is waited for between two looks at the socket.
const AGAIN: Duration = Duration::from_millis(200);
/// How often a host looks whether it has anything to do.
const LOOK: Duration = Duration::from_secs(1);

/// Run the host of this home: background commands live in it
///
/// `hermes run -b` starts one by itself when none runs. It listens on a socket in the home that only you can reach, and
/// speaks MCP there. Ctrl-C, SIGTERM and SIGHUP end it in order: every process it started is ended first.
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes serve\n  hermes serve --idle-exit 30m   end when there is nothing to do")]
pub(crate) struct ServeArgs {
    /// End after this time without a process, an event that waits, or a client.
    #[arg(long, value_name = "TIME", value_parser = super::run::time_limit)]
    idle_exit: Option<Duration>,
    /// Started by `run -b`: end when idle as config.toml says, and make way for another host silently.
    #[arg(long, hide = true)]
    background: bool,
}

/// Why no host runs, or how it ended badly.
#[derive(Debug, thiserror::Error)]
enum ServeError {
    #[error("the runtime for processes cannot start; free threads or open files (ulimit -a)")]
    Runtime(#[source] io::Error),
    #[error("signals cannot be listened to")]
    Signals(#[source] io::Error),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    Compose(#[from] ComposeError),
}

pub(crate) fn run(args: &ServeArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    place.home.ensure().map_err(|error| Report::of(&error))?;
    // One host a home: whoever has the lock listens. The file stays.
    let _lock = match take_place(&place.home.root().join(LOCK), &start::socket(&place)) {
        Ok(lock) => lock,
        Err(LockError::Busy { .. }) if args.background => return Ok(exit::OK),
        Err(LockError::Busy { .. }) => {
            return Err(Report::new(format!("a host of this home runs already: '{}'", place.home.root().display()))
                .hint("`hermes ps` asks it; one host is enough, and another home can have another"));
        }
        Err(error) => return Err(Report::of(&error)),
    };
    let plugins = place.open(Depth::Enabled, printer)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Report::of(&ServeError::Runtime(error)))?;
    let idle = args.idle_exit.or(args.background.then_some(place.config.host.idle_exit));
    let served = runtime.block_on(serve(&place, Current::new(plugins, &place), idle, printer));
    runtime.shutdown_timeout(Duration::from_secs(5));
    served.map_err(|error| Report::of(&error))
}

/// Takes the lock of whoever is to listen at `at`. One that listens has it, and one that does not may be about to let go.
///
/// # Errors
/// Somebody listens there or does not let go in time, or the file of the lock cannot be opened.
pub(crate) fn take_place(lock: &Path, at: &SocketPath) -> Result<FileLock, LockError> {
    let began = Instant::now();
    loop {
        match files::lock_within(lock, AGAIN) {
            Err(LockError::Busy { .. }) if began.elapsed() < MAKE_WAY && !socket::has_listener(at) => {}
            taken => return taken,
        }
    }
}

async fn serve(
    place: &Place,
    current: std::sync::Arc<Current>,
    idle: Option<Duration>,
    printer: &Printer,
) -> Result<i32, ServeError> {
    // Before anything runs: a signal in between would leave it behind.
    let mut signals = Signals::listen().map_err(ServeError::Signals)?;
    let Composed { registry, offer, recovered } = compose::compose(place, current.clone(), idle).await?;
    let socket = start::socket(place);
    let server = Server::start(socket::bind(&socket)?, offer).map_err(ServeError::Runtime)?;
    printer.own(&format!("listening at {}", socket.path().display()));
    if recovered.running + recovered.lost > 0 {
        printer.own(&format!(
            "took over from a host that ended without an end: {} running, {} lost",
            recovered.running, recovered.lost
        ));
    }
    let stopped = tokio::select! {
        caught = signals.next() => Some(caught),
        () = until_idle(&registry, &server, idle) => None,
        () = current.keep_up() => None,
    };
    match stopped {
        Some(caught) => printer.own(&format!("ending ({})", caught.name())),
        None => printer.own("ending: there is nothing to do"),
    }
    let ending = async {
        let killed = registry.shut_down().await;
        server.shut_down().await;
        killed
    };
    tokio::pin!(ending);
    let killed = loop {
        tokio::select! {
            killed = &mut ending => break killed,
            // A second signal cuts every grace short.
            _ = signals.next() => registry.hurry().await,
        }
    };
    let left: Vec<String> =
        killed.iter().flat_map(|killed| killed.survivors.iter().map(|survivor| survivor.pid.to_string())).collect();
    if left.is_empty() {
        return Ok(exit::OK);
    }
    printer.own(&format!("could not be ended: {}", left.join(", ")));
    Ok(exit::FAILED)
}

/// Returns when there was nothing to do for the whole time; never without such a time.
async fn until_idle(registry: &Registry, server: &Server, limit: Option<Duration>) {
    let Some(limit) = limit else { return std::future::pending().await };
    let (mut idle, began) = (Idle::new(limit), Instant::now());
    loop {
        // A ledger that cannot be read may hold events.
        let pending = registry.pending(&Who::Anybody).await.unwrap_or(1);
        match idle.on(began.elapsed(), registry.count_running(), pending, server.clients()) {
            // Whoever came in between has started something, or starts nothing any more.
            Verdict::Exit if registry.close_if_idle() => return,
            Verdict::Exit => idle = Idle::new(limit),
            Verdict::ExitIn(left) => tokio::time::sleep(left.min(LOOK)).await,
            Verdict::Stay => tokio::time::sleep(LOOK).await,
        }
    }
}
