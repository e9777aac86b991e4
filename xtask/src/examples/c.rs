//! The compiler of the examples in C: Zig from PyPI, as pinned by the SDK, once for all of them.

use std::fs;
use std::process::Command;

use crate::error::TaskError;
use crate::peers::PYTHON_FITS;
use crate::run;
use crate::workspace::Workspace;

/// What was installed, kept in the environment.
const STAMP: &str = "installed";

/// Installs the compiler into `plugins/examples/c/.venv`, unless exactly this one is there.
pub(crate) fn install(workspace: &Workspace) -> Result<(), TaskError> {
    if !run::works(Command::new("python3").args(["-c", PYTHON_FITS])) {
        return Err(TaskError::NoProgram {
            program: "python3".to_owned(),
            remedy: "install Python 3.10 or later with venv: `apt install python3 python3-venv`".to_owned(),
        });
    }
    let wanted = workspace.root.join("plugin-sdk").join("c").join("compiler.txt");
    let pinned = fs::read_to_string(&wanted).map_err(TaskError::file("read", &wanted))?;
    let venv = workspace.root.join("plugins").join("examples").join("c").join(".venv");
    let stamp = venv.join(STAMP);
    // An environment cannot be moved, so where it is belongs to what it is.
    let state = format!("{}\n{pinned}", venv.display());
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == state) {
        println!("  the C compiler is installed in {}", venv.display());
        return Ok(());
    }
    if venv.exists() {
        fs::remove_dir_all(&venv).map_err(TaskError::file("remove", &venv))?;
    }
    run::visibly(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"];
    let only = ["--only-binary", ":all:", "-r"];
    run::visibly(Command::new(venv.join("bin").join("python")).args(pip).args(only).arg(&wanted))?;
    fs::write(&stamp, state).map_err(TaskError::file("write", &stamp))
}
