//! Finding the running host of a home, or starting one.
//!
//! Any number of callers may start one at the same time: one of them becomes the host, and all of them ask it.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use hermes_home::files::{self, CreateError};
use hermes_mcp::client::{Client, ConnectError};
use hermes_mcp::socket::SocketPath;
use hermes_model::exit;
use hermes_process::daemon;
use hermes_process::environment::Environment;
use tokio::time::Instant;

use crate::cli::Global;
use crate::place::Place;
use crate::printer::Printer;
use crate::progress::Progress;

/// How long a host may take to start: the first time its plugins are compiled, which takes seconds, and machines are busy.
const START: Duration = Duration::from_secs(120);
/// How soon connecting is tried again.
const AGAIN: Duration = Duration::from_millis(20);
/// How long a host that ends may take to go, once it answers nobody any more (it says so itself after a second).
const GOING: Duration = Duration::from_secs(10);
/// A log larger than this begins anew with the next host.
const LOG_MAX: u64 = 1 << 20;

/// Why there is no host to ask.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoHost {
    /// There is no runtime.
    #[error("the runtime cannot start; free threads or open files (ulimit -a)")]
    Runtime(#[source] io::Error),
    /// Somebody listens who cannot be asked.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The home cannot be made.
    #[error(transparent)]
    Home(#[from] CreateError),
    /// The log cannot be written.
    #[error("the log of the host, '{path}', cannot be opened; check the permissions of its folder")]
    Log {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It was not started.
    #[error("the host in the background could not be started")]
    Start(#[source] io::Error),
    /// It ended before it could be asked.
    #[error("the host in the background ended at once{code}; its log says why: '{log}'", code = exit_words(*.code), log = .log.display())]
    Ended {
        /// Its exit code.
        code: Option<i32>,
        /// Its log.
        log: PathBuf,
    },
    /// It does not listen.
    #[error("the host in the background does not listen after {} s; its log says more: '{log}'", START.as_secs(), log = .log.display())]
    Silent {
        /// Its log.
        log: PathBuf,
    },
}

fn exit_words(code: Option<i32>) -> String {
    code.map_or_else(String::new, |code| format!(" with exit code {code}"))
}

/// The socket of a home's host.
pub(crate) fn socket(place: &Place) -> SocketPath {
    SocketPath::in_home(place.home.root())
}

/// The host that runs, if one does.
pub(crate) async fn running(place: &Place) -> Result<Option<Client>, NoHost> {
    if !place.home.exists() {
        return Ok(None);
    }
    connect(place).await
}

/// Connects to the host. One that ends, or was just killed, may still take a connection and close it: soon nobody
/// listens there, or the next one does.
async fn connect(place: &Place) -> Result<Option<Client>, NoHost> {
    let deadline = Instant::now() + GOING;
    loop {
        match Client::connect(&socket(place)).await {
            Err(ConnectError::Closed { .. }) if Instant::now() < deadline => tokio::time::sleep(AGAIN).await,
            connected => return Ok(connected?),
        }
    }
}

/// The host that runs, or one that is started now.
pub(crate) async fn running_or_started(place: &Place, global: &Global, printer: &Printer) -> Result<Client, NoHost> {
    if let Some(client) = running(place).await? {
        return Ok(client);
    }
    let _progress = Progress::start(printer, "starting a host in the background");
    place.home.ensure()?;
    let path = log_path(place);
    let log = open_log(&path)?;
    let program = std::env::current_exe().map_err(NoHost::Start)?;
    let daemon = daemon::start(&program, &args(place, global), &Environment::inherit(), log).map_err(NoHost::Start)?;
    let deadline = Instant::now() + START;
    let ended = daemon.ended();
    tokio::pin!(ended);
    let mut over = None;
    loop {
        if let Some(client) = connect(place).await? {
            return Ok(client);
        }
        match over {
            // Another one was faster: it is about to listen.
            Some(Some(exit::OK)) | None if Instant::now() < deadline => {}
            Some(code) => return Err(NoHost::Ended { code, log: path }),
            None => return Err(NoHost::Silent { log: path }),
        }
        tokio::select! {
            code = &mut ended, if over.is_none() => over = Some(code),
            () = tokio::time::sleep(AGAIN) => {}
        }
    }
}

/// What the host is started with. The home is named whole: it runs in another folder.
fn args(place: &Place, global: &Global) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec!["serve".into(), "--background".into()];
    match (&global.home, place.home.profile()) {
        // The root of a profile's home is the profile's folder, so the home itself is named as it was.
        (Some(home), _) => {
            args.extend(["--home".into(), std::path::absolute(home).unwrap_or_else(|_| home.clone()).into()]);
        }
        (None, None) => args.extend(["--home".into(), place.home.root().into()]),
        (None, Some(_)) => {}
    }
    if let Some(profile) = place.home.profile() {
        args.extend(["--profile".into(), profile.into()]);
    }
    args
}

/// Where the host in the background logs.
pub(crate) fn log_path(place: &Place) -> PathBuf {
    place.home.root().join("logs").join("host.log")
}

fn open_log(path: &std::path::Path) -> Result<OwnedFd, NoHost> {
    if let Some(folder) = path.parent() {
        files::create_private_dir(folder)?;
    }
    let fresh = std::fs::metadata(path).is_ok_and(|found| found.len() > LOG_MAX);
    let open = || -> io::Result<File> {
        if fresh {
            File::options().write(true).open(path)?.set_len(0)?;
        }
        OpenOptions::new().append(true).create(true).mode(0o600).open(path)
    };
    open().map(OwnedFd::from).map_err(|source| NoHost::Log { path: path.to_owned(), source })
}
