//! The few calls that have no safe wrapper.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use rustix::process::Signal;

/// `PIDFD_SIGNAL_PROCESS_GROUP` (pidfd_send_signal(2), since Linux 6.9): the group this process leads or led.
const PROCESS_GROUP: libc::c_uint = 1 << 2;

/// What a terminal, a shell or a session manager sends to whole groups, and SIGTERM: see [`ignore_signals`].
const IGNORED: [libc::c_int; 8] = [
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGPIPE,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGTERM,
];

/// Ignores whatever is sent to many at once.
///
/// SIGTERM as well: whoever ends everything by it (a shutdown, `killall`) ends the host too, and if that does not listen
/// and is killed a moment later, this process must still be there. It needs no signal to end: it leaves when the host does.
pub(crate) fn ignore_signals() {
    for signal in IGNORED {
        // SAFETY: no handler is installed, so no code of ours runs in a signal.
        #[expect(unsafe_code, reason = "there is no safe wrapper for signal(2)")]
        unsafe {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
}

/// Closes every descriptor above the standard ones but this. Kernels older than 5.9 cannot; there, close-on-exec must do.
pub(crate) fn close_all_but(kept: BorrowedFd<'_>) {
    let kept = kept.as_raw_fd();
    let close = |first: RawFd, last: libc::c_uint| {
        if let Ok(first) = libc::c_uint::try_from(first)
            && first <= last
        {
            // SAFETY: nothing in this process holds a descriptor yet but `kept`, which is in neither range.
            #[expect(unsafe_code, reason = "there is no safe wrapper for close_range(2)")]
            unsafe {
                libc::syscall(libc::SYS_close_range, first, last, 0);
            }
        }
    };
    const FIRST: RawFd = 3;
    if kept > FIRST {
        close(FIRST, libc::c_uint::try_from(kept - 1).unwrap_or(0));
    }
    close(FIRST.max(kept + 1), libc::c_uint::MAX);
}

/// Lets go of whatever stdout and stderr were: somebody may wait for their end.
pub(crate) fn silence(nowhere: BorrowedFd<'_>) {
    for stream in [libc::STDOUT_FILENO, libc::STDERR_FILENO] {
        // SAFETY: `nowhere` is open, and nothing in this process owns descriptors 1 and 2.
        #[expect(unsafe_code, reason = "there is no safe wrapper for dup2(2) onto a standard stream")]
        unsafe {
            libc::dup2(nowhere.as_raw_fd(), stream);
        }
    }
}

/// Signals the group that a process leads or led, without naming it by a number; none: asks whether it has members.
///
/// # Errors
/// ESRCH: it has none. EINVAL: the kernel is older than 6.9. EPERM: none of them may be signalled.
pub(crate) fn signal_led_group(leader: impl AsFd, signal: Option<Signal>) -> io::Result<()> {
    let signal = signal.map_or(0, Signal::as_raw);
    // SAFETY: the descriptor is open for the call, and no siginfo is passed.
    #[expect(unsafe_code, reason = "the wrapper of pidfd_send_signal(2) knows no flags")]
    let result = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            leader.as_fd().as_raw_fd(),
            signal,
            std::ptr::null::<libc::siginfo_t>(),
            PROCESS_GROUP,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
