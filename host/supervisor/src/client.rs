//! The host's handle of its supervisor: which groups are protected, and a supervisor that knows them.
//!
//! The set is the truth, not the pipe: whatever becomes of a supervisor, the next one is told all of it. It starts no
//! process by itself, and every failure of it is survivable: a host that cannot be protected works all the same.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use rustix::time::Timespec;

use crate::message::{Hello, Message};

/// How long a supervisor that was released has to leave (5 s is usual for this).
const LEAVE: Duration = Duration::from_secs(5);

/// How long a host that ends waits for it: nobody is harmed if it leaves a moment later.
const LEAVE_AT_THE_END: Duration = Duration::from_secs(1);

/// How long a full pipe is waited for. A supervisor that reads nothing for so long is none.
const PATIENCE: Duration = Duration::from_secs(1);

/// What starts a supervisor.
pub trait Launch: Send + Sync {
    /// Starts one with this as its standard input, in a session of its own, without any other descriptor and without
    /// variables. Returns its number.
    ///
    /// # Errors
    /// It cannot be started.
    fn launch(&self, input: OwnedFd) -> io::Result<i32>;

    /// This one is not needed any more: its status was taken, or is left to whoever collects orphans.
    fn given_up(&self, pid: i32);
}

/// Nothing would be done now about what the host has started, if it died.
#[derive(Debug)]
pub enum Unprotected {
    /// No supervisor can be started.
    Launch(io::Error),
    /// One was started and did not listen.
    Lost(io::Error),
}

impl fmt::Display for Unprotected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Launch(_) => f.write_str(
                "the supervisor cannot be started, so processes would outlive a host that is killed; put hermes-supervisor beside hermes",
            ),
            Self::Lost(_) => f.write_str(
                "the supervisor does not listen, so processes would outlive a host that is killed; it is started again for the next process",
            ),
        }
    }
}

impl std::error::Error for Unprotected {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Launch(error) | Self::Lost(error) => Some(error),
        }
    }
}

/// The groups of a host, and its supervisor where there are any. Dropping it lets the supervisor go: quietly if nothing
/// is registered, and to its work if something is.
pub struct Client<L: Launch> {
    launch: L,
    hello: Hello,
    inner: Mutex<Inner>,
}

struct Inner {
    groups: BTreeSet<i32>,
    running: Option<Running>,
    /// How many supervisors were lost.
    losses: u64,
}

struct Running {
    pid: i32,
    pidfd: OwnedFd,
    pipe: OwnedFd,
}

impl<L: Launch> Client<L> {
    /// A host without processes, and so without a supervisor.
    pub fn new(hello: Hello, launch: L) -> Self {
        Self { launch, hello, inner: Mutex::new(Inner { groups: BTreeSet::new(), running: None, losses: 0 }) }
    }

    /// What starts supervisors.
    pub fn launcher(&self) -> &L {
        &self.launch
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes sure that a supervisor is there, before something starts that is to be registered. True: a new one is. Blocks.
    ///
    /// # Errors
    /// [`Unprotected`]. What is started can be registered all the same.
    pub fn ready(&self) -> Result<bool, Unprotected> {
        self.say(&mut self.lock(), &[])
    }

    /// Takes a group into protection: the number of the process that leads it, which must be unreaped. True: a new
    /// supervisor was started for it. Blocks.
    ///
    /// # Errors
    /// [`Unprotected`]. The group counts as registered all the same, and the next change tries again.
    pub fn register(&self, group: i32) -> Result<bool, Unprotected> {
        let mut inner = self.lock();
        let mut changes = prune(&mut inner.groups);
        inner.groups.insert(group);
        changes.push(Message::Register(group));
        self.say(&mut inner, &changes)
    }

    /// Nobody of this group is left: to be told before its leader is reaped. True: a new supervisor was started for the
    /// others. Blocks.
    ///
    /// # Errors
    /// [`Unprotected`]: the others are not protected.
    pub fn unregister(&self, group: i32) -> Result<bool, Unprotected> {
        let mut inner = self.lock();
        inner.groups.remove(&group);
        let mut changes = prune(&mut inner.groups);
        changes.push(Message::Unregister(group));
        if inner.groups.is_empty() && self.living(&mut inner).is_none() {
            return Ok(false);
        }
        self.say(&mut inner, &changes)
    }

    /// The supervisor may have ended: starts another one, if something is registered. True: it did. Blocks.
    ///
    /// # Errors
    /// [`Unprotected`].
    pub fn restore(&self) -> Result<bool, Unprotected> {
        let mut inner = self.lock();
        if self.living(&mut inner).is_some() || inner.groups.is_empty() {
            return Ok(false);
        }
        self.say(&mut inner, &[])
    }

    /// Lets the supervisor go if nothing is registered, and waits for its end. Blocks, usually for less than a
    /// millisecond.
    pub fn release(&self) {
        let mut inner = self.lock();
        if inner.groups.is_empty()
            && let Some(running) = inner.running.take()
        {
            // A supervisor may be needed again meanwhile; that is another one.
            drop(inner);
            self.let_go(running, LEAVE);
        }
    }

    /// The groups that are registered.
    pub fn registered(&self) -> Vec<i32> {
        self.lock().groups.iter().copied().collect()
    }

    /// How many supervisors were lost so far.
    pub fn losses(&self) -> u64 {
        self.lock().losses
    }

    /// A descriptor that is readable once the supervisor has ended, and its number. None without one.
    pub fn supervisor(&self) -> Option<(OwnedFd, i32)> {
        let inner = self.lock();
        let running = inner.running.as_ref()?;
        Some((running.pidfd.try_clone().ok()?, running.pid))
    }

    /// The supervisor, if there is one and it lives.
    fn living<'a>(&self, inner: &'a mut Inner) -> Option<&'a Running> {
        if inner.running.as_ref().is_some_and(|running| ended(&running.pidfd, Duration::ZERO)) {
            self.lose(inner);
        }
        inner.running.as_ref()
    }

    /// Says this to a supervisor that lives, or everything to a new one.
    fn say(&self, inner: &mut Inner, changes: &[Message]) -> Result<bool, Unprotected> {
        if let Some(running) = self.living(inner) {
            let text: String = changes.iter().map(Message::to_string).collect();
            if write(&running.pipe, text.as_bytes()).is_ok() {
                return Ok(false);
            }
            self.lose(inner);
        }
        let running = self.start().map_err(Unprotected::Launch)?;
        let all = inner.groups.iter().map(|group| Message::Register(*group).to_string());
        let text: String = std::iter::once(self.hello.to_string()).chain(all).collect();
        let written = write(&running.pipe, text.as_bytes());
        inner.running = Some(running);
        match written {
            Ok(()) => Ok(true),
            Err(error) => {
                self.lose(inner);
                Err(Unprotected::Lost(error))
            }
        }
    }

    fn start(&self) -> io::Result<Running> {
        let (input, pipe) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        // Only this end: what reads the other has its own say.
        rustix::fs::fcntl_setfl(&pipe, rustix::fs::OFlags::NONBLOCK)?;
        let pid = self.launch.launch(input)?;
        let pidfd = Pid::from_raw(pid)
            .ok_or_else(|| io::Error::other("the supervisor has no number"))
            .and_then(|pid| Ok(rustix::process::pidfd_open(pid, PidfdFlags::empty())?));
        match pidfd {
            Ok(pidfd) => Ok(Running { pid, pidfd, pipe }),
            Err(error) => {
                // It reads the end of its pipe and leaves.
                self.launch.given_up(pid);
                Err(error)
            }
        }
    }

    /// The supervisor is gone, or as good as gone.
    fn lose(&self, inner: &mut Inner) {
        if let Some(running) = inner.running.take() {
            inner.losses += 1;
            // One that does not read must not act on the end of its pipe either.
            let _ = rustix::process::pidfd_send_signal(&running.pidfd, Signal::KILL);
            self.collect(running.pid, &running.pidfd, LEAVE);
        }
    }

    fn let_go(&self, running: Running, patience: Duration) {
        let _ = write(&running.pipe, Message::Release.to_string().as_bytes());
        let Running { pid, pidfd, pipe } = running;
        drop(pipe);
        self.collect(pid, &pidfd, patience);
    }

    fn collect(&self, pid: i32, pidfd: &OwnedFd, patience: Duration) {
        if ended(pidfd, patience) {
            // Its status says nothing that matters; an error means that somebody else took it.
            let _ =
                rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
        self.launch.given_up(pid);
    }
}

impl<L: Launch> Drop for Client<L> {
    fn drop(&mut self) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(running) = inner.running.take() else { return };
        prune(&mut inner.groups);
        if inner.groups.is_empty() {
            self.let_go(running, LEAVE_AT_THE_END);
        } else {
            // It reads the end of its pipe, and ends what is left.
            self.launch.given_up(running.pid);
        }
    }
}

/// Forgets the groups of which nobody is left. What cannot be told stays: losing protection is worse.
fn prune(groups: &mut BTreeSet<i32>) -> Vec<Message> {
    let is_gone = |group: &i32| {
        Pid::from_raw(*group).is_none_or(|group| rustix::process::test_kill_process_group(group) == Err(Errno::SRCH))
    };
    let gone: Vec<i32> = groups.iter().copied().filter(is_gone).collect();
    for group in &gone {
        groups.remove(group);
    }
    gone.into_iter().map(Message::Unregister).collect()
}

/// Whether a process ends within this time.
fn ended(pidfd: &OwnedFd, patience: Duration) -> bool {
    wait_for(pidfd, PollFlags::IN, Instant::now() + patience)
}

fn wait_for(descriptor: &OwnedFd, what: PollFlags, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).unwrap_or_default();
        match rustix::event::poll(&mut [PollFd::new(descriptor, what)], Some(&timeout)) {
            Ok(0) if left.is_zero() => return false,
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return true,
            Err(_) => return false,
        }
    }
}

/// Writes all of it, or fails within a bounded time.
fn write(pipe: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !bytes.is_empty() {
        match rustix::io::write(pipe, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                if !wait_for(pipe, PollFlags::OUT, deadline) {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
