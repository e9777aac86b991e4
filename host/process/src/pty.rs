//! The master of a pseudo-terminal: what is printed on it is read here, and what is written here is typed.
//!
//! No child may ever have it, it must never become the host's own controlling terminal, and nothing is written to it on
//! the way out: closing it is all that ends it.

pub(crate) mod responder;

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::termios::{self, InputModes, OptionalActions, SpecialCodeIndex, Winsize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::environment::Environment;
use crate::spec::PtySize;

/// What a program on a terminal is told its terminal is where nothing better is known.
const TERM: &str = "xterm-256color";

/// Set for a program on a terminal that has no such variable: a pager would wait for a key.
const NO_PAGER: [(&str, &str); 2] = [("GIT_PAGER", "cat"), ("PAGER", "cat")];

/// How soon a terminal that nobody had open is looked at again: somebody may open it anew, and no event tells.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The master of a terminal, in non-blocking mode.
pub(crate) struct Terminal {
    master: AsyncFd<OwnedFd>,
    /// There was a moment when nobody had it open. From then on its readiness says nothing any more: the event of the
    /// hang-up stays, though somebody may open it anew.
    hung_up: AtomicBool,
    /// The last read found nothing.
    silent: AtomicBool,
}

/// Opens a new terminal of this size: its master, and the name a child opens it by.
pub(crate) fn open(size: PtySize) -> io::Result<(OwnedFd, CString)> {
    let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    rustix::pty::grantpt(&master)?;
    rustix::pty::unlockpt(&master)?;
    rustix::io::ioctl_fionbio(&master, true)?;
    set_size(&master, size)?;
    // So that an erase takes a whole character and not one byte of it.
    let mut modes = termios::tcgetattr(&master)?;
    modes.input_modes |= InputModes::IUTF8;
    termios::tcsetattr(&master, OptionalActions::Now, &modes)?;
    let name = rustix::pty::ptsname(&master, Vec::new())?;
    Ok((master, name))
}

/// Adds what a program on a terminal needs, and replaces nothing but a `TERM` that says that there is no terminal.
pub(crate) fn add_defaults(environment: &mut Environment) {
    if environment.get("TERM").is_none_or(|term| term.is_empty() || term == "dumb") {
        environment.set("TERM", TERM);
    }
    for (name, value) in NO_PAGER {
        if environment.get(name).is_none() {
            environment.set(name, value);
        }
    }
}

fn set_size(master: &OwnedFd, size: PtySize) -> io::Result<()> {
    let size = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(termios::tcsetwinsize(master, size)?)
}

impl Terminal {
    /// Takes what [`open`] returned. Needs a runtime.
    pub(crate) fn new(master: OwnedFd) -> io::Result<Self> {
        // SAFETY: an `OwnedFd` is open, names the same descriptor for as long as it lives, and is moved in here.
        #[expect(unsafe_code, reason = "tokio cannot check that a descriptor stays the same; here its type does")]
        let master = unsafe { AsyncFd::register_with_interest(master, Interest::READABLE | Interest::WRITABLE) };
        Ok(Self {
            master: master.map_err(io::Error::from)?,
            hung_up: AtomicBool::new(false),
            silent: AtomicBool::new(false),
        })
    }

    /// Its size as it is now, whoever set it last.
    pub(crate) fn size(&self) -> PtySize {
        let size = termios::tcgetwinsize(&self.master);
        size.map_or_else(|_| PtySize::default(), |size| PtySize { rows: size.ws_row, cols: size.ws_col })
    }

    /// Gives it another size and tells the program in its foreground (SIGWINCH).
    pub(crate) fn resize(&self, size: PtySize) -> io::Result<()> {
        set_size(self.master.get_ref(), size)
    }

    /// The character that ends an input (VEOF); none where the program switched it off.
    pub(crate) fn end_of_file(&self) -> io::Result<Option<u8>> {
        let character = termios::tcgetattr(&self.master)?.special_codes[SpecialCodeIndex::VEOF];
        Ok((character != 0).then_some(character))
    }

    /// Waits until it may be worth while to read.
    pub(crate) async fn readable(&self) {
        if self.hung_up.load(Ordering::Relaxed) {
            if self.silent.load(Ordering::Relaxed) {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        } else {
            // An error here is one of the runtime's ending; reading will say the same.
            let _ = self.master.readable().await;
        }
    }

    /// Waits until it may be worth while to write.
    pub(crate) async fn writable(&self) {
        if self.hung_up.load(Ordering::Relaxed) {
            tokio::time::sleep(LOOK_AGAIN).await;
        } else {
            let _ = self.master.writable().await;
        }
    }

    /// Reads what was printed. Zero: nobody has it open any more, for now. `WouldBlock`: everything that was printed
    /// has been read.
    pub(crate) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        // Asked at once, whatever its readiness says: "nothing there" must be the kernel's own word.
        let read = match self.read_now(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.master.try_io(Interest::READABLE, |_| self.read_now(buffer))
            }
            read => read,
        };
        self.silent.store(!matches!(read, Ok(1..)), Ordering::Relaxed);
        read
    }

    fn read_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match rustix::io::read(self.master.get_ref(), buffer) {
            Err(Errno::IO) => {
                self.hung_up.store(true, Ordering::Relaxed);
                Ok(0)
            }
            read => Ok(read?),
        }
    }

    /// Types some bytes; returns how many were taken.
    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.master.try_io(Interest::WRITABLE, |master| Ok(rustix::io::write(master, bytes)?))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn a_user_who_set_a_pager_or_a_terminal_keeps_them() {
        let mut environment =
            Environment::from_pairs([("PAGER".into(), "less".into()), ("TERM".into(), "foot".into())]);
        add_defaults(&mut environment);
        assert_eq!(environment.get("PAGER"), Some(OsStr::new("less")));
        assert_eq!(environment.get("GIT_PAGER"), Some(OsStr::new("cat")));
        assert_eq!(environment.get("TERM"), Some(OsStr::new("foot")));
    }

    #[test]
    fn a_terminal_is_never_a_dumb_one() {
        for term in [None, Some(""), Some("dumb")] {
            let mut environment = Environment::empty();
            term.map(|term| environment.set("TERM", term));
            add_defaults(&mut environment);
            assert_eq!(environment.get("TERM"), Some(OsStr::new(TERM)));
        }
    }
}
