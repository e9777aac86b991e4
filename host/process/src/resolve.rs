//! Which file a program's name stands for, as the child would see it: its `PATH`, its folder.
//!
//! It must never run anything, and never fall back to another file than the one a shell would have taken.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::Access;

/// Where programs are looked for in an environment without `PATH` (what POSIX systems answer to `getconf PATH`).
const DEFAULT_PATH: &str = "/usr/local/bin:/bin:/usr/bin";

/// Why a name stands for nothing that can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unresolved {
    /// There is no such file.
    NotFound,
    /// There is one, and it is a folder.
    IsADirectory,
    /// There is one, and it may not be run.
    NotExecutable,
}

/// Finds the file to run. A name with a slash is a path, from the child's folder; others are looked up in `path`.
///
/// The answer is right for a child that changes to `cwd` first.
pub(crate) fn resolve(program: &OsStr, path: Option<&OsStr>, cwd: Option<&Path>) -> Result<PathBuf, Unresolved> {
    if program.is_empty() {
        return Err(Unresolved::NotFound);
    }
    if program.as_bytes().contains(&b'/') {
        return runnable(Path::new(program), cwd);
    }
    let mut worst = Unresolved::NotFound;
    for entry in path.unwrap_or(OsStr::new(DEFAULT_PATH)).as_bytes().split(|&b| b == b':') {
        // An empty entry means the current folder, by an old custom that shells still keep.
        let folder = if entry.is_empty() { b"." } else { entry };
        let candidate = Path::new(OsStr::from_bytes(folder)).join(program);
        match runnable(&candidate, cwd) {
            Ok(found) => return Ok(found),
            // A folder that happens to have the name is passed over; a file that may not be run is worth reporting.
            Err(Unresolved::NotExecutable) => worst = Unresolved::NotExecutable,
            Err(_) => {}
        }
    }
    Err(worst)
}

fn runnable(path: &Path, cwd: Option<&Path>) -> Result<PathBuf, Unresolved> {
    let seen = cwd.map_or_else(|| path.to_owned(), |cwd| cwd.join(path));
    match fs::metadata(&seen) {
        Ok(found) if found.is_dir() => Err(Unresolved::IsADirectory),
        Ok(_) if rustix::fs::access(&seen, Access::EXEC_OK).is_err() => Err(Unresolved::NotExecutable),
        Ok(_) => Ok(path.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(Unresolved::NotExecutable),
        Err(_) => Err(Unresolved::NotFound),
    }
}

/// How much of a script's first line the kernel looks at (`BINPRM_BUF_SIZE`).
const FIRST_LINE_MAX: usize = 256;

/// The interpreter a script names in its first line, if it is a script and that interpreter does not exist.
pub(crate) fn missing_interpreter(script: &Path) -> Option<OsString> {
    use std::io::Read;
    let mut start = Vec::with_capacity(FIRST_LINE_MAX);
    fs::File::open(script).ok()?.take(FIRST_LINE_MAX as u64).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|&b| b == b'\n').next()?;
    let name = line.trim_ascii().split(u8::is_ascii_whitespace).next()?;
    let interpreter = OsString::from_vec(name.to_vec());
    (!Path::new(&interpreter).exists()).then_some(interpreter)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn file(folder: &Path, name: &str, mode: u32, text: &str) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn a_name_is_looked_up_in_the_childs_path_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let plain = file(folder.path(), "a/tool", 0o644, "");
        let good = file(folder.path(), "b/tool", 0o755, "");
        let path =
            OsString::from(format!("{}:{}", plain.parent().unwrap().display(), good.parent().unwrap().display()));
        assert_eq!(resolve("tool".as_ref(), Some(&path), None), Ok(good));
        let first = plain.parent().unwrap().as_os_str();
        assert_eq!(resolve("tool".as_ref(), Some(first), None), Err(Unresolved::NotExecutable));
        assert_eq!(resolve("none".as_ref(), Some(&path), None), Err(Unresolved::NotFound));
        assert_eq!(resolve("".as_ref(), Some(&path), None), Err(Unresolved::NotFound));
        assert!(resolve("sh".as_ref(), None, None).is_ok());
    }

    #[test]
    fn a_path_counts_from_the_childs_folder() {
        let folder = tempfile::tempdir().unwrap();
        file(folder.path(), "bin/tool", 0o755, "");
        let cwd = Some(folder.path());
        assert_eq!(resolve("./bin/tool".as_ref(), None, cwd), Ok("./bin/tool".into()));
        assert_eq!(resolve("tool".as_ref(), Some("bin".as_ref()), cwd), Ok("bin/tool".into()));
        assert_eq!(resolve("./bin".as_ref(), None, cwd), Err(Unresolved::IsADirectory));
        assert_eq!(resolve("./bin/tool".as_ref(), None, None), Err(Unresolved::NotFound));
    }

    #[test]
    fn a_script_whose_interpreter_is_missing_says_which() {
        let folder = tempfile::tempdir().unwrap();
        let missing = |name, text| missing_interpreter(&file(folder.path(), name, 0o755, text));
        assert_eq!(missing("a", "#! /no/such/python -u\nx"), Some("/no/such/python".into()));
        assert_eq!(missing("b", "#!/bin/sh\n"), None);
        assert_eq!(missing("c", "no script"), None);
        assert_eq!(missing("d", ""), None);
    }
}
