//! `cargo xtask bench quality`: one table of what the redactor and the summariser find, lose and cost.
//!
//! Other programs are installed as locked, each in an environment of its own: two of them bring a program of the same
//! name. They get generated texts only.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::error::TaskError;
use crate::peers::PYTHON_FITS;
use crate::plugins;
use crate::run;
use crate::steps::Steps;
use crate::testing::BENCHES;
use crate::tools;
use crate::workspace::Workspace;

/// The package that measures.
const QUALITY: &str = "hermes-quality";
/// The other programs; each has its versions and hashes in `bench/quality/peers/NAME.txt`.
const PEERS: [&str; 4] = ["gitleaks", "betterleaks", "credsweeper", "kingfisher"];
/// What was installed, kept beside it.
const STAMP: &str = "installed";

/// Builds what is measured, installs the other programs unless `quick`, and measures.
pub(crate) fn run(quick: bool, arguments: &[String]) -> Result<(), TaskError> {
    let workspace = Workspace::find()?;
    let mut steps = Steps::new(4);
    steps.step("the WASM target", tools::ensure_plugin_target)?;
    steps.step("the plugins", || plugins::build(&workspace).map(drop))?;
    // The packages of `cargo xtask bench`, so that nothing heavy is compiled twice.
    steps.step("an optimised build of the host (10 minutes the first time)", || {
        let packages = ["-p", "hermes", "-p", BENCHES, "-p", QUALITY];
        run::visibly(run::cargo(&workspace.root).args(["build", "--release", "--bins"]).args(packages))
    })?;
    let peers = workspace.target.join("quality-peers");
    if !quick {
        PEERS.iter().try_for_each(|peer| ensure(&workspace.root, &peers, peer))?;
    }
    steps.step("the measurements", || {
        let mut command = Command::new(workspace.target.join("release").join(QUALITY));
        run::visibly(command.arg("all").args(quick.then_some("--quick")).arg("--peers").arg(&peers).args(arguments))
    })?;
    steps.finish("bench", &["docs/src/reference/quality.md    what each row means"]);
    Ok(())
}

/// Installs one of them, unless exactly this version is there.
fn ensure(root: &Path, peers: &Path, name: &str) -> Result<(), TaskError> {
    if !run::works(Command::new("python3").args(["-c", PYTHON_FITS])) {
        return Err(TaskError::NoProgram {
            program: "python3".to_owned(),
            remedy: "install Python 3.10 or later with venv: `apt install python3 python3-venv`; or use --quick"
                .to_owned(),
        });
    }
    let lock = root.join("bench").join("quality").join("peers").join(format!("{name}.txt"));
    let to = peers.join(name);
    let locked = fs::read_to_string(&lock).map_err(TaskError::file("read", &lock))?;
    let wanted = format!("{}\n{}{locked}", to.display(), run::answer(Command::new("python3").arg("--version"))?);
    let stamp = to.join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        println!("  {name} is installed in {}", to.display());
        return Ok(());
    }
    // What is half installed is not mended.
    if to.exists() {
        fs::remove_dir_all(&to).map_err(TaskError::file("remove", &to))?;
    }
    fs::create_dir_all(peers).map_err(TaskError::file("create", peers))?;
    run::visibly(Command::new("python3").args(["-m", "venv"]).arg(&to))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r"];
    run::visibly(Command::new(to.join("bin").join("python")).args(pip).arg(&lock))?;
    fs::write(&stamp, wanted).map_err(TaskError::file("write", &stamp))
}
