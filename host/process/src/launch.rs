//! The one place where a process comes into being: `posix_spawn` in a new session, on pipes or on a terminal.
//!
//! `posix_spawn` and not `fork`: the cost does not grow with the host's memory, and no code of ours runs between the two.
//! It must never search `PATH` or guess: the caller says exactly which file runs.

use std::ffi::{CStr, CString};
use std::io::{self, PipeReader, PipeWriter};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::ptr;

/// Everything of ours that a child would inherit starts here; 0, 1 and 2 are its own.
#[cfg(target_env = "gnu")]
const FIRST_FOREIGN_FD: libc::c_int = 3;

/// What a child is started with, as the kernel wants it.
pub(crate) struct Image {
    pub(crate) path: CString,
    pub(crate) argv: Vec<CString>,
    pub(crate) envp: Vec<CString>,
    pub(crate) cwd: Option<CString>,
}

/// What a child's three standard streams are. The host must drop it once the child has them.
pub(crate) enum Streams {
    /// Both outputs go into one pipe.
    Pipe {
        /// What it reads.
        input: Input,
        /// Where it prints to.
        output: PipeWriter,
    },
    /// Three pipes, one for each.
    Three {
        /// What it reads.
        input: PipeReader,
        /// Where it prints to.
        output: PipeWriter,
        /// Where it complains to.
        errors: PipeWriter,
    },
    /// All three are the terminal of this name, which becomes the session's own.
    Terminal(CString),
}

/// What a child without a terminal reads.
pub(crate) enum Input {
    /// Nothing.
    Null,
    /// What the host reads.
    Inherit,
    /// This.
    Pipe(PipeReader),
}

/// Starts a child and returns its pid once the program runs (or an error when it could not).
///
/// It leads a session of its own, has no controlling terminal but the one in `streams`, default signal dispositions
/// where Rust changed them, and no other descriptor of the host: what the host itself inherited is closed as well.
pub(crate) fn launch(image: &Image, streams: &Streams) -> io::Result<i32> {
    let mut actions = Actions::new()?;
    let (output, errors) = match streams {
        Streams::Pipe { input, output } => {
            match input {
                Input::Null => actions.open(libc::STDIN_FILENO, c"/dev/null", libc::O_RDONLY)?,
                Input::Inherit => {}
                Input::Pipe(input) => actions.duplicate(input.as_raw_fd(), libc::STDIN_FILENO)?,
            }
            (output.as_raw_fd(), output.as_raw_fd())
        }
        Streams::Three { input, output, errors } => {
            actions.duplicate(input.as_raw_fd(), libc::STDIN_FILENO)?;
            (output.as_raw_fd(), errors.as_raw_fd())
        }
        Streams::Terminal(name) => {
            // The session is new by now and has no terminal: the first one it opens without O_NOCTTY becomes its own.
            actions.open(libc::STDIN_FILENO, name, libc::O_RDWR)?;
            (libc::STDIN_FILENO, libc::STDIN_FILENO)
        }
    };
    actions.duplicate(output, libc::STDOUT_FILENO)?;
    actions.duplicate(errors, libc::STDERR_FILENO)?;
    if let Some(cwd) = &image.cwd {
        actions.change_folder(cwd)?;
    }
    actions.close_the_rest()?;
    let attributes = Attributes::new()?;
    let (argv, envp) = (pointers(&image.argv), pointers(&image.envp));
    let mut pid = 0;
    // SAFETY: the path, both arrays (each ended by a null pointer), the actions and the attributes are initialised and
    // outlive the call, which copies what it needs; it does not write through the string pointers.
    #[expect(unsafe_code, reason = "posix_spawn has no safe wrapper")]
    let result = unsafe {
        libc::posix_spawn(
            &mut pid,
            image.path.as_ptr(),
            &actions.0,
            &attributes.0,
            argv.as_ptr().cast_mut().cast(),
            envp.as_ptr().cast_mut().cast(),
        )
    };
    check(result).map(|()| pid)
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

/// These functions return their error number and leave `errno` alone.
fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(result)) }
}

/// What happens to descriptors and the folder in the child, in order.
struct Actions(libc::posix_spawn_file_actions_t);

#[expect(unsafe_code, reason = "the actions of posix_spawn have no safe wrapper")]
impl Actions {
    fn new() -> io::Result<Self> {
        let mut actions = MaybeUninit::uninit();
        // SAFETY: the pointer is valid for writes; on success the value is initialised.
        unsafe {
            check(libc::posix_spawn_file_actions_init(actions.as_mut_ptr()))?;
            Ok(Self(actions.assume_init()))
        }
    }

    fn open(&mut self, to: libc::c_int, path: &CStr, flags: libc::c_int) -> io::Result<()> {
        // SAFETY: the actions are initialised, and the path is copied before the call returns.
        check(unsafe { libc::posix_spawn_file_actions_addopen(&mut self.0, to, path.as_ptr(), flags, 0) })
    }

    fn duplicate(&mut self, from: libc::c_int, to: libc::c_int) -> io::Result<()> {
        // SAFETY: the actions are initialised; a descriptor that is not open in the child only fails the spawn.
        check(unsafe { libc::posix_spawn_file_actions_adddup2(&mut self.0, from, to) })
    }

    fn change_folder(&mut self, path: &CStr) -> io::Result<()> {
        // SAFETY: the actions are initialised, and the path is copied before the call returns.
        check(unsafe { libc::posix_spawn_file_actions_addchdir_np(&mut self.0, path.as_ptr()) })
    }

    /// glibc has this since 2.34. Elsewhere close-on-exec, which every descriptor of ours has, must do.
    fn close_the_rest(&mut self) -> io::Result<()> {
        #[cfg(target_env = "gnu")]
        // SAFETY: the actions are initialised.
        check(unsafe { libc::posix_spawn_file_actions_addclosefrom_np(&mut self.0, FIRST_FOREIGN_FD) })?;
        Ok(())
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: initialised by `new`, destroyed once.
        #[expect(unsafe_code, reason = "the actions of posix_spawn have no safe wrapper")]
        unsafe {
            libc::posix_spawn_file_actions_destroy(&mut self.0);
        }
    }
}

/// The child's session and signals.
struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    #[expect(unsafe_code, reason = "the attributes of posix_spawn have no safe wrapper")]
    fn new() -> io::Result<Self> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the pointer is valid for writes; on success the value is initialised.
        let mut attributes = unsafe {
            check(libc::posix_spawnattr_init(attributes.as_mut_ptr()))?;
            Self(attributes.assume_init())
        };
        let mut signals = MaybeUninit::uninit();
        // SAFETY: `sigemptyset` initialises the set that the others then use; the attributes are initialised.
        unsafe {
            libc::sigemptyset(signals.as_mut_ptr());
            let mut signals = signals.assume_init();
            check(libc::posix_spawnattr_setsigmask(&mut attributes.0, &signals))?;
            // Rust ignores SIGPIPE at start-up, and what is ignored stays ignored in a child.
            libc::sigaddset(&mut signals, libc::SIGPIPE);
            check(libc::posix_spawnattr_setsigdefault(&mut attributes.0, &signals))?;
            let flags = libc::POSIX_SPAWN_SETSID as libc::c_int
                | libc::POSIX_SPAWN_SETSIGMASK as libc::c_int
                | libc::POSIX_SPAWN_SETSIGDEF as libc::c_int;
            check(libc::posix_spawnattr_setflags(&mut attributes.0, flags as libc::c_short))?;
        }
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: initialised by `new`, destroyed once.
        #[expect(unsafe_code, reason = "the attributes of posix_spawn have no safe wrapper")]
        unsafe {
            libc::posix_spawnattr_destroy(&mut self.0);
        }
    }
}
