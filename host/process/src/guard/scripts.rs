//! The scripts a command runs, read so that nothing can be made of the reading: no wait, no device, no end.
//!
//! It must never open what is no regular file: opening a pipe waits, and opening a device may already do something.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::limits::BYTES_MAX;

/// What there is to know of a script. Raw text, so it is not shown.
pub enum ScriptRead {
    /// Its text.
    Text(String),
    /// There is nothing a shell would run: no such file, a folder, a binary.
    Nothing,
    /// We may not read it.
    Denied,
    /// A device, a pipe or a socket.
    NoRegularFile,
    /// More than 1 MiB of text.
    TooLarge {
        /// The first line, which says whether a shell runs it.
        first_line: String,
    },
}

/// Where the scripts come from that a command names.
pub trait Scripts {
    /// Looks at one script. The path is as the command has it: relative to the folder the command runs in.
    fn read(&self, path: &Path) -> ScriptRead;
}

/// The scripts of this machine.
#[derive(Debug, Clone)]
pub struct Files {
    folder: PathBuf,
}

/// How much of a file bash looks at to tell whether it is a binary (`check_binary_file` gets 80 bytes).
const START: usize = 80;

impl Files {
    /// Scripts as a command sees them that runs in this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn look(path: &Path) -> io::Result<ScriptRead> {
        let found = fs::metadata(path)?;
        if found.is_dir() || path == Path::new("/dev/null") {
            return Ok(ScriptRead::Nothing);
        }
        if !found.is_file() {
            return Ok(ScriptRead::NoRegularFile);
        }
        // What was a file a moment ago may be a pipe now: then this does not wait.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Ok(ScriptRead::NoRegularFile);
        }
        let mut bytes = Vec::new();
        let mut file = file.take(BYTES_MAX as u64 + 1);
        file.by_ref().take(START as u64).read_to_end(&mut bytes)?;
        if is_binary(&bytes) {
            return Ok(ScriptRead::Nothing);
        }
        file.read_to_end(&mut bytes)?;
        if bytes.len() > BYTES_MAX {
            let start = &bytes[..START.min(bytes.len())];
            let first_line = start.split(|&b| b == b'\n').next().unwrap_or_default();
            return Ok(ScriptRead::TooLarge { first_line: String::from_utf8_lossy(first_line).into_owned() });
        }
        // bash leaves NUL bytes out.
        bytes.retain(|&b| b != 0);
        Ok(ScriptRead::Text(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// What bash calls a binary: an ELF file, or a NUL byte in the part of the first line it looks at.
fn is_binary(start: &[u8]) -> bool {
    let line = start.split(|&b| b == b'\n').next().unwrap_or_default();
    start.starts_with(b"\x7fELF") || line.contains(&0)
}

impl Scripts for Files {
    fn read(&self, path: &Path) -> ScriptRead {
        match Self::look(&self.folder.join(path)) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => ScriptRead::Denied,
            Err(error) if is_absence(&error) => ScriptRead::Nothing,
            // It is there, and it cannot be read: nobody knows what it would do.
            Err(_) => ScriptRead::Denied,
        }
    }
}

fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename | InvalidInput)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(folder: &Path, name: &str) -> String {
        match Files::new(folder).read(Path::new(name)) {
            ScriptRead::Text(text) => format!("text: {text}"),
            ScriptRead::Nothing => "nothing".to_owned(),
            ScriptRead::Denied => "denied".to_owned(),
            ScriptRead::NoRegularFile => "no regular file".to_owned(),
            ScriptRead::TooLarge { first_line } => format!("too large: {first_line}"),
        }
    }

    #[test]
    fn a_script_is_read_from_the_folder_of_the_command() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.sh"), b"pkill x\n\0y\xff").unwrap();
        assert_eq!(kind(folder.path(), "./a.sh"), "text: pkill x\ny\u{fffd}");
    }

    #[test]
    fn binaries_folders_and_what_is_missing_are_nothing_to_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("elf"), b"\x7fELF pkill x").unwrap();
        fs::write(folder.path().join("nul"), [b"a\0".as_slice(), &vec![b'x'; BYTES_MAX + 1]].concat()).unwrap();
        for name in ["elf", "nul", ".", "missing", "elf/x", "/dev/null", "a\0b"] {
            assert_eq!(kind(folder.path(), name), "nothing", "{name:?}");
        }
        assert_eq!(kind(folder.path(), &"x".repeat(300)), "nothing");
    }

    #[test]
    fn a_pipe_and_a_device_are_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for name in ["pipe", "/dev/zero", "/dev/tty"] {
            assert_eq!(kind(folder.path(), name), "no regular file", "{name}");
        }
    }

    #[test]
    fn a_script_that_is_too_large_says_so_and_whose_it_is() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("big"), format!("#!/bin/sh\n{}", "x".repeat(BYTES_MAX))).unwrap();
        fs::write(folder.path().join("fits"), "x".repeat(BYTES_MAX)).unwrap();
        assert_eq!(kind(folder.path(), "big"), "too large: #!/bin/sh");
        assert!(kind(folder.path(), "fits").starts_with("text: xx"));
    }

    #[test]
    fn a_link_is_followed_and_a_circle_of_links_is_not_taken_for_absence() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "b").unwrap();
        std::os::unix::fs::symlink("a", folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink("round", folder.path().join("round")).unwrap();
        assert_eq!(kind(folder.path(), "link"), "text: b");
        assert_eq!(kind(folder.path(), "round"), "denied");
    }
}
