//! The wiring of a host to its supervisor: what is started for it, and when it comes, goes and comes again.
//!
//! A host whose supervisor cannot be had works all the same, and says so. No child may ever hold the pipe between the two.

use std::ffi::{CStr, CString};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use hermes_supervisor::client::{Client, Launch, Unprotected};
use hermes_supervisor::message::Hello;
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags};
use tokio::sync::Notify;

use crate::children;
use crate::launch::{self, Image, Input, Streams};
use crate::pidfd;

/// The file name of the tiny program, beside that of this one.
const PROGRAM: &str = "hermes-supervisor";

/// Where cargo puts tests: one folder below the programs.
const TESTS_FOLDER: &str = "deps";

/// The number of the first process of a PID namespace (pid_namespaces(7)).
const INIT: i32 = 1;

/// How long a supervisor stays when nothing needs it, so that a busy host does not start one for each command.
const LINGER: Duration = Duration::from_secs(1);

/// One that lived shorter than this did not work: the next is started after a pause, so that a broken file does not
/// keep the machine busy.
const LIFE_MIN: Duration = Duration::from_secs(1);
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// What plays the supervisor where the tiny program is not beside this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// Nothing: what such a host starts outlives it when it is killed.
    Nothing,
    /// This program itself, which takes the role when this is its first argument, before it does anything else.
    Itself(&'static CStr),
}

/// A program that was found, and is held so that an upgrade on disk changes nothing for this host.
struct Held {
    file: OwnedFd,
    path: PathBuf,
    argument: Option<&'static CStr>,
}

impl Held {
    fn open(path: &Path, argument: Option<&'static CStr>) -> Option<Self> {
        rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::empty()).ok()?;
        let file = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        Some(Self { file, path: path.to_owned(), argument })
    }

    /// The tiny program beside this one, or what stands in for it.
    fn find(fallback: Fallback) -> Option<Self> {
        let own = std::env::current_exe().ok();
        let folder = own.as_deref().and_then(Path::parent);
        let above = folder.filter(|folder| folder.ends_with(TESTS_FOLDER)).and_then(Path::parent);
        let beside = [folder, above].into_iter().flatten().find_map(|folder| Self::open(&folder.join(PROGRAM), None));
        beside.or_else(|| match fallback {
            Fallback::Nothing => None,
            Fallback::Itself(argument) => Self::open(Path::new("/proc/self/exe"), Some(argument)),
        })
    }

    /// What it is started as: by the descriptor, or by the path where `/proc` does not let it be.
    fn paths(&self) -> io::Result<[CString; 2]> {
        let by_descriptor = format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd());
        Ok([CString::new(by_descriptor)?, CString::new(self.path.as_os_str().as_bytes())?])
    }
}

/// Starts supervisors.
struct Launcher {
    held: Option<Held>,
}

impl Launch for Launcher {
    fn launch(&self, input: OwnedFd) -> io::Result<i32> {
        let held = self.held.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let nowhere = rustix::fs::open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        let streams = Streams::Pipe { input: Input::Pipe(PipeReader::from(input)), output: PipeWriter::from(nowhere) };
        let argv: Vec<CString> = [c"hermes-supervisor"].into_iter().chain(held.argument).map(CStr::to_owned).collect();
        let mut started = Err(io::ErrorKind::NotFound.into());
        for path in held.paths()? {
            // No variables: it needs none, and must not carry the marker of whoever started this host.
            let image = Image { path, argv: argv.clone(), envp: Vec::new(), cwd: Some(c"/".to_owned()) };
            started = children::launch_supervisor(|| launch::launch(&image, &streams));
            if started.is_ok() {
                break;
            }
        }
        started
    }

    fn given_up(&self, pid: i32) {
        children::forget(pid);
    }
}

/// The protection of what a host starts.
pub(crate) struct Guardian {
    client: Client<Launcher>,
    /// Programs on their way from their start to their registration.
    expected: AtomicUsize,
    /// There is a new supervisor, or nothing for it to do.
    changed: Arc<Notify>,
    /// It was said that there is no protection.
    said: AtomicBool,
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // Its watcher finds nobody, and ends.
        self.changed.notify_one();
    }
}

impl Guardian {
    /// Finds the program, and starts nothing yet. None for the first process of a PID namespace, whose death is the end of
    /// everybody in it. Call it inside a runtime.
    pub(crate) fn start(hello: Hello, fallback: Fallback) -> Option<Arc<Self>> {
        if hello.host == INIT {
            return None;
        }
        let changed = Arc::new(Notify::new());
        let guardian = Arc::new(Self {
            client: Client::new(hello, Launcher { held: Held::find(fallback) }),
            expected: AtomicUsize::new(0),
            changed: Arc::clone(&changed),
            said: AtomicBool::new(false),
        });
        tokio::spawn(watch(Arc::downgrade(&guardian), changed));
        Some(guardian)
    }

    /// A program is about to start: whatever happens to this host from here on, it is found. Blocks.
    pub(crate) fn expect(&self) {
        self.expected.fetch_add(1, Ordering::SeqCst);
        self.note(self.client.ready());
    }

    /// It did not start.
    pub(crate) fn disappointed(&self) {
        self.expected.fetch_sub(1, Ordering::SeqCst);
        self.changed.notify_one();
    }

    /// It started, and leads this group. Blocks.
    pub(crate) fn register(&self, group: i32) {
        let registered = self.client.register(group);
        self.expected.fetch_sub(1, Ordering::SeqCst);
        self.note(registered);
    }

    /// Nobody of this group is left, and its leader is not reaped yet. Blocks.
    pub(crate) fn unregister(&self, group: i32) {
        let unregistered = self.client.unregister(group);
        self.note(unregistered);
        if self.is_idle() {
            self.changed.notify_one();
        }
    }

    /// The groups that are registered.
    pub(crate) fn registered(&self) -> Vec<i32> {
        self.client.registered()
    }

    /// The number of the supervisor, where there is one.
    pub(crate) fn supervisor(&self) -> Option<i32> {
        self.client.supervisor().map(|(_, pid)| pid)
    }

    fn is_idle(&self) -> bool {
        self.expected.load(Ordering::SeqCst) == 0 && self.client.registered().is_empty()
    }

    fn note(&self, told: Result<bool, Unprotected>) {
        match told {
            Ok(false) => {}
            Ok(true) => {
                self.said.store(false, Ordering::Relaxed);
                self.changed.notify_one();
            }
            Err(unprotected) => {
                if !self.said.swap(true, Ordering::Relaxed) {
                    let cause = std::error::Error::source(&unprotected).map(ToString::to_string).unwrap_or_default();
                    tracing::warn!(cause, "{unprotected}");
                }
            }
        }
    }

    /// The supervisor has ended although nobody let it go.
    fn restore(&self) {
        let restored = self.client.restore();
        if matches!(restored, Ok(true)) {
            tracing::warn!(losses = self.client.losses(), "the supervisor ended by itself; it was started again");
        }
        self.note(restored);
    }
}

/// Replaces a supervisor that ends, and lets one go that nobody needs, for as long as the host lives.
async fn watch(guardian: Weak<Guardian>, changed: Arc<Notify>) {
    let mut pause = Duration::ZERO;
    loop {
        let Some(now) = guardian.upgrade() else { return };
        let supervisor = now.client.supervisor().and_then(|(pidfd, _)| pidfd::watch_opened(pidfd).ok());
        let idle = supervisor.is_some() && now.is_idle();
        // Not for longer than somebody else has it.
        drop(now);
        let began = Instant::now();
        let todo: fn(&Guardian) = tokio::select! {
            () = changed.notified() => continue,
            () = ended(supervisor.as_ref()) => {
                pause = if began.elapsed() < LIFE_MIN { (pause * 2).clamp(PAUSE_FIRST, PAUSE_MAX) } else { Duration::ZERO };
                Guardian::restore
            }
            () = tokio::time::sleep(LINGER), if idle => |guardian| {
                // Asked again: somebody may have come meanwhile.
                if guardian.is_idle() {
                    guardian.client.release();
                }
            },
        };
        // The first loss is made good at once.
        if pause > PAUSE_FIRST {
            tokio::time::sleep(pause).await;
        }
        let Some(now) = guardian.upgrade() else { return };
        // Whether it came to an end does not matter: the next round looks.
        let _ = tokio::task::spawn_blocking(move || todo(&now)).await;
    }
}

async fn ended(supervisor: Option<&tokio::io::unix::AsyncFd<OwnedFd>>) {
    match supervisor {
        // Readable or not to be watched: it is looked at.
        Some(pidfd) => drop(pidfd.readable().await),
        None => std::future::pending().await,
    }
}
