//! A descriptor for a process: readable when it has ended, and never somebody else's by accident.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Watches the end of the process that has this number now; none when there is no such process. Needs a runtime.
///
/// # Errors
/// No descriptor left, or the kernel is older than 5.3.
pub(crate) fn watch(pid: i32) -> io::Result<Option<AsyncFd<OwnedFd>>> {
    let Some(pid) = Pid::from_raw(pid) else { return Ok(None) };
    let pidfd = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => pidfd,
        Err(Errno::SRCH) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    watch_opened(pidfd).map(Some)
}

/// The same for a descriptor that is there already.
///
/// # Errors
/// The runtime cannot watch it.
pub(crate) fn watch_opened(pidfd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open, names the same descriptor for as long as it lives, and is moved in here.
    #[expect(unsafe_code, reason = "tokio cannot check that a descriptor stays the same; here its type does")]
    let watched = unsafe { AsyncFd::register_with_interest(pidfd, Interest::READABLE) };
    watched.map_err(io::Error::from)
}
