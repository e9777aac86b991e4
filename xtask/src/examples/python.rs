//! What the example plugins in Python are built with: componentize-py, installed as locked, once for all of them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::error::TaskError;
use crate::peers::PYTHON_FITS;
use crate::run;
use crate::workspace::Workspace;

/// Where packages are installed. `hermes plugins build` finds them there, above each example.
const PACKAGES: &str = ".venv";
/// What says which versions are installed: the same file new projects get.
const LOCK: &str = "requirements.txt";
/// What was installed, kept in the folder of packages.
const STAMP: &str = "installed";

/// Installs the tool, unless exactly this one is there.
pub(crate) fn ensure(workspace: &Workspace) -> Result<(), TaskError> {
    let folder = workspace.root.join("plugins").join("examples").join("python");
    if !run::works(Command::new("python3").args(["-c", PYTHON_FITS])) {
        return Err(TaskError::NoProgram {
            program: "python3".to_owned(),
            remedy: "install Python 3.10 or later with venv: `apt install python3 python3-venv`".to_owned(),
        });
    }
    let wanted = wanted(&folder)?;
    let packages = folder.join(PACKAGES);
    if fs::read_to_string(packages.join(STAMP)).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    // What is half installed is not mended.
    if packages.exists() {
        fs::remove_dir_all(&packages).map_err(TaskError::file("remove", &packages))?;
    }
    run::visibly(Command::new("python3").current_dir(&folder).args(["-m", "venv", PACKAGES]))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", LOCK];
    run::visibly(Command::new(packages.join("bin").join("python")).current_dir(&folder).args(pip))?;
    fs::write(packages.join(STAMP), wanted).map_err(TaskError::file("write", packages.join(STAMP)))
}

/// What must be installed: the versions, for this Python, in this place. A virtual environment cannot be moved.
fn wanted(folder: &Path) -> Result<String, TaskError> {
    let python = run::answer(Command::new("python3").arg("--version"))?;
    let lock = fs::read_to_string(folder.join(LOCK)).map_err(TaskError::file("read", folder.join(LOCK)))?;
    Ok(format!("{}\n{python}{lock}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_and_another_place_are_installed_anew() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for folder in &folders {
            fs::write(folder.path().join(LOCK), "componentize-py==1\n").unwrap();
        }
        let [here, there] = &folders;
        let one = wanted(here.path()).unwrap();
        assert_eq!(one, wanted(here.path()).unwrap());
        assert_ne!(one, wanted(there.path()).unwrap());
        fs::write(here.path().join(LOCK), "componentize-py==2\n").unwrap();
        assert_ne!(one, wanted(here.path()).unwrap());
    }
}
