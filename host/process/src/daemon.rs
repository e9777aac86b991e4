//! Starts another program of ours that outlives this one: a host in the background.
//!
//! It must never pass on a descriptor, and never start anything that a user named.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::{Pid, WaitId, WaitIdOptions};

use crate::environment::Environment;
use crate::launch::{self, Image, Input, Streams};
use crate::pidfd;

/// A program in the background, watched by whoever started it for as long as that cares.
pub struct Daemon {
    pid: i32,
}

/// Starts a program in a session of its own, in the root folder, with nothing to read. What it says goes to `log`.
///
/// # Errors
/// The program cannot be run, or a word or a value holds a zero byte.
pub fn start(program: &Path, args: &[OsString], environment: &Environment, log: OwnedFd) -> io::Result<Daemon> {
    let text = |bytes: &OsStr| CString::new(bytes.as_bytes()).map_err(io::Error::other);
    let words = std::iter::once(program.as_os_str()).chain(args.iter().map(OsString::as_os_str));
    let entries = environment.iter().map(|(name, value)| {
        CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).map_err(io::Error::other)
    });
    let image = Image {
        path: text(program.as_os_str())?,
        argv: words.map(text).collect::<Result<_, _>>()?,
        envp: entries.collect::<Result<_, _>>()?,
        // It keeps no folder busy that somebody may want to remove.
        cwd: Some(c"/".to_owned()),
    };
    let pid = launch::launch(&image, &Streams::Pipe { input: Input::Null, output: PipeWriter::from(log) })?;
    Ok(Daemon { pid })
}

impl Daemon {
    /// Its number.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Returns when it has ended, with its exit code if it exited by itself. Needs a runtime.
    pub async fn ended(&self) -> Option<i32> {
        // Our own child, which nobody else collects: its number is its own until then.
        if let Ok(Some(pidfd)) = pidfd::watch(self.pid)
            && pidfd.readable().await.is_ok()
            && let Ok(Some(status)) =
                rustix::process::waitid(WaitId::PidFd(pidfd.get_ref().as_fd()), WaitIdOptions::EXITED)
        {
            return status.exit_status();
        }
        let pid = Pid::from_raw(self.pid)?;
        let status = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        status.ok().flatten().and_then(|status| status.exit_status())
    }
}
