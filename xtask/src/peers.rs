//! The programs of others that the tests speak with: installed as locked, once, into `target/peers`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::error::TaskError;
use crate::run;
use crate::tools;
use crate::workspace::Workspace;

/// What says which versions are installed, in `tests/peers`.
const LOCKS: [&str; 3] = ["package.json", "package-lock.json", "requirements.txt"];
/// What was installed, kept beside it.
const STAMP: &str = "installed";
/// What Python must be able to do.
pub(crate) const PYTHON_FITS: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";

/// Installs the peers, unless exactly these are there.
pub(crate) fn ensure(workspace: &Workspace) -> Result<(), TaskError> {
    let (from, to) = (workspace.root.join("tests").join("peers"), workspace.target.join("peers"));
    tools::require("node", "install Node.js 20 or later: https://nodejs.org, or `apt install nodejs`")?;
    tools::require("npm", "it comes with Node.js: https://nodejs.org, or `apt install npm`")?;
    if !run::works(Command::new("python3").args(["-c", PYTHON_FITS])) {
        return Err(TaskError::NoProgram {
            program: "python3".to_owned(),
            remedy: "install Python 3.10 or later with venv: `apt install python3 python3-venv`".to_owned(),
        });
    }
    let wanted = wanted(&from, &to)?;
    let stamp = to.join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        println!("  they are installed in {}", to.display());
        return Ok(());
    }
    // What is half installed is not mended.
    if to.exists() {
        fs::remove_dir_all(&to).map_err(TaskError::file("remove", &to))?;
    }
    fs::create_dir_all(&to).map_err(TaskError::file("create", &to))?;
    for lock in LOCKS {
        fs::copy(from.join(lock), to.join(lock)).map_err(TaskError::file("copy", from.join(lock)))?;
    }
    // Nothing of what is installed may run before a test starts it.
    let npm = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    run::visibly(Command::new("npm").current_dir(&to).args(npm))?;
    run::visibly(Command::new("python3").current_dir(&to).args(["-m", "venv", "python"]))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"];
    run::visibly(Command::new(to.join("python").join("bin").join("python")).current_dir(&to).args(pip))?;
    fs::write(&stamp, wanted).map_err(TaskError::file("write", &stamp))
}

/// What must be installed: the versions, for this Python, in this place. A virtual environment cannot be moved.
fn wanted(from: &Path, to: &Path) -> Result<String, TaskError> {
    let python = run::answer(Command::new("python3").arg("--version"))?;
    let mut text = format!("{}\n{python}", to.display());
    for lock in LOCKS {
        text += &fs::read_to_string(from.join(lock)).map_err(TaskError::file("read", from.join(lock)))?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_another_python_and_another_place_are_installed_anew() {
        let from = tempfile::tempdir().unwrap();
        for lock in LOCKS {
            fs::write(from.path().join(lock), lock).unwrap();
        }
        let here = wanted(from.path(), Path::new("/here")).unwrap();
        assert_eq!(here, wanted(from.path(), Path::new("/here")).unwrap());
        assert_ne!(here, wanted(from.path(), Path::new("/there")).unwrap());
        fs::write(from.path().join("requirements.txt"), "mcp==1\n").unwrap();
        assert_ne!(here, wanted(from.path(), Path::new("/here")).unwrap());
        fs::remove_file(from.path().join("package.json")).unwrap();
        assert!(wanted(from.path(), Path::new("/here")).is_err());
    }
}
