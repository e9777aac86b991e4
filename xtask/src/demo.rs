//! Shows the main job on real input: plugins listed, a noisy command summarised and redacted, a plugin that cannot
//! load and why. Everything happens in a throwaway folder; it fails loudly if anything that must be hidden is shown.

mod broken;
mod credentials;
mod project;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::error::TaskError;
use crate::plugins;
use crate::run;
use crate::steps::Steps;
use crate::tools;
use crate::workspace::Workspace;
use credentials::Credentials;

/// What `cargo test` ends with when a test failed. The demo's project has one failing test, and hermes passes it on.
const TESTS_FAILED: i32 = 101;

/// Variables of the person's environment that cargo and git need. No other is passed on: the script prints them all.
const PASSED_ON: [&str; 9] =
    ["PATH", "HOME", "USER", "LANG", "TMPDIR", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUSTUP_AUTO_INSTALL"];

/// `cargo xtask demo`.
pub(crate) fn run(keep: bool) -> Result<(), TaskError> {
    let workspace = Workspace::find()?;
    let mut steps = Steps::new(7);
    steps.step("the tools: git and the WASM target", || {
        tools::require("git", "the demo prints a `git remote -v`; install git")?;
        tools::ensure_plugin_target()
    })?;
    steps.step("the plugins", || plugins::build(&workspace).map(drop))?;
    steps.step("the host (the first build compiles a compiler: 5 to 10 minutes)", || {
        let mut build = run::cargo(&workspace.root);
        // For this machine, whatever the person builds for otherwise: the demo runs it.
        build.env_remove("CARGO_BUILD_TARGET");
        run::visibly(build.args(["build", "-p", "hermes", "--bin", "hermes"]))
    })?;

    let folder = tempfile::Builder::new()
        .prefix("hermes-demo-")
        .disable_cleanup(keep)
        .tempdir()
        .map_err(TaskError::file("create a folder in", std::env::temp_dir()))?;
    let stage = Stage::new(workspace.target.join("debug").join("hermes"), folder.path())?;

    steps.step("hermes plugins list", || stage.hermes(&["plugins", "list"])?.expect_success())?;
    let raw = steps.step("a noisy command, as it is", || stage.run_plainly())?;
    steps.step("the same command, as an agent gets it", || stage.run_as_agent(&raw))?;
    steps.step("a plugin that cannot load, and why", || stage.show_broken())?;

    if keep {
        println!("\nThe home and the project are in {}", folder.path().display());
    }
    steps.finish(
        "demo",
        &[
            "cargo install --path host/cli              hermes as one binary, with its plugins inside",
            "hermes run -- cargo test                   your own commands",
            "hermes plugins new my-rule --hook redact   your own plugin",
            "cargo xtask test                           every test",
        ],
    );
    Ok(())
}

/// The throwaway place and what stands in it.
struct Stage {
    hermes: PathBuf,
    folder: PathBuf,
    project: PathBuf,
    credentials: Credentials,
}

/// What a command showed.
struct Shown {
    command: String,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    status: ExitStatus,
}

impl Shown {
    fn expect_success(self) -> Result<(), TaskError> {
        if self.status.success() {
            return Ok(());
        }
        Err(TaskError::Command { command: self.command, status: self.status })
    }
}

impl Stage {
    fn new(hermes: PathBuf, folder: &Path) -> Result<Self, TaskError> {
        let credentials = Credentials::invent();
        let project = folder.join("project");
        project::write(&project, &credentials)?;
        Ok(Self { hermes, folder: folder.to_owned(), project, credentials })
    }

    /// A command in the project, with the credentials in its environment as a build machine has them.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.project).env_clear();
        for name in PASSED_ON {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(self.credentials.in_environment.iter().map(|(name, value)| (name, value)));
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("HERMES_HOME", self.folder.join("home")).env("XDG_CACHE_HOME", self.folder.join("cache"));
        command
    }

    /// Runs hermes, and prints the command line and everything it showed.
    fn hermes(&self, arguments: &[&str]) -> Result<Shown, TaskError> {
        let mut command = self.command(&self.hermes);
        command.args(arguments);
        let text = run::shown(&command);
        println!("\n  $ {text}");
        let output = command.output().map_err(|source| TaskError::Start { program: text.clone(), source })?;
        let show = |bytes: &[u8]| std::io::stdout().write_all(bytes).map_err(TaskError::file("write to", "stdout"));
        show(&output.stdout)?;
        show(&output.stderr)?;
        Ok(Shown { command: text, stdout: output.stdout, stderr: output.stderr, status: output.status })
    }

    /// Runs the script without hermes and gives what it printed. Nothing of it is shown: it holds credentials.
    fn run_plainly(&self) -> Result<Vec<u8>, TaskError> {
        project::clean(&self.project)?;
        let path = self.folder.join("raw.txt");
        let file = fs::File::create(&path).map_err(TaskError::file("create", &path))?;
        let other = file.try_clone().map_err(TaskError::file("write to", &path))?;
        let mut command = self.command("bash");
        command.arg(project::SCRIPT).stdout(file).stderr(other);
        let text = run::shown(&command);
        println!("\n  $ {text} > raw.txt 2>&1");
        let status = command.status().map_err(|source| TaskError::Start { program: text, source })?;
        let raw = fs::read(&path).map_err(TaskError::file("read", &path))?;
        if status.code() != Some(TESTS_FAILED) {
            println!("{}", self.credentials.masked_for_a_person(&String::from_utf8_lossy(&raw)));
            return Err(TaskError::Demo(format!("the script ended with {status} instead of exit code {TESTS_FAILED}")));
        }
        for (name, secret) in &self.credentials.secrets {
            if !contains(&raw, secret) {
                return Err(TaskError::Demo(format!(
                    "the script did not print {name}, so hiding it would show nothing"
                )));
            }
        }
        println!(
            "  {} bytes, exit code {TESTS_FAILED}, {} credentials in it",
            raw.len(),
            self.credentials.secrets.len()
        );
        Ok(raw)
    }

    /// Runs the script through hermes and checks what came out.
    fn run_as_agent(&self, raw: &[u8]) -> Result<(), TaskError> {
        project::clean(&self.project)?;
        let shown = self.hermes(&["run", "--view", "--", "bash", project::SCRIPT])?;
        for (name, secret) in &self.credentials.secrets {
            if contains(&shown.stdout, secret) || contains(&shown.stderr, secret) {
                return Err(TaskError::Demo(format!("{name} was shown; this must never happen")));
            }
        }
        if shown.status.code() != Some(TESTS_FAILED) {
            let status = shown.status;
            return Err(TaskError::Demo(format!("hermes ended with {status} instead of the command's {TESTS_FAILED}")));
        }
        let text = String::from_utf8_lossy(&shown.stdout);
        for wanted in [project::FAILING_TEST, "[REDACTED:"] {
            if !text.contains(wanted) {
                return Err(TaskError::Demo(format!("'{wanted}' is not in what an agent gets")));
            }
        }
        let factor = raw.len() as f64 / shown.stdout.len().max(1) as f64;
        println!("\n  {} bytes printed, {} bytes shown: {factor:.1} times smaller", raw.len(), shown.stdout.len());
        println!("  none of the {} credentials is in it; the failing test is", self.credentials.secrets.len());
        println!("  the exit code {TESTS_FAILED} came through");
        Ok(())
    }

    /// Publishes a plugin that needs what no host offers, and shows what is said about it.
    fn show_broken(&self) -> Result<(), TaskError> {
        let folder = self.folder.join(broken::NAME);
        broken::write(&folder)?;
        let folder = folder.to_string_lossy().into_owned();
        self.hermes(&["plugins", "install", "--allow-broken", &folder])?.expect_success()?;
        self.hermes(&["plugins", "list"])?.expect_success()?;
        let why = self.hermes(&["plugins", "why", broken::NAME])?;
        if !contains(&why.stdout, broken::IMPORT) && !contains(&why.stderr, broken::IMPORT) {
            return Err(TaskError::Demo(format!("`hermes plugins why` does not name {}", broken::IMPORT)));
        }
        Ok(())
    }
}

/// Whether a text is somewhere in bytes.
fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A program in place of hermes: it runs the script and shows what the test wants.
    fn stage(folder: &Path, shows: &str) -> Stage {
        let hermes = folder.join("stand-in");
        fs::write(&hermes, format!("#!/bin/bash\nbash ci.sh > ../out.txt 2>&1; code=$?\n{shows}\n")).unwrap();
        fs::set_permissions(&hermes, fs::Permissions::from_mode(0o700)).unwrap();
        Stage::new(hermes, folder).unwrap()
    }

    #[test]
    fn the_demo_fails_when_a_credential_is_shown_or_the_exit_code_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let honest = "echo \"totals_include_tax FAILED [REDACTED:x]\"; exit $code";
        let stage_of = |shows| stage(folder.path(), shows);
        let raw = stage_of(honest).run_plainly().unwrap();
        stage_of(honest).run_as_agent(&raw).unwrap();

        let failure = |shows| stage_of(shows).run_as_agent(&raw).unwrap_err().to_string();
        let leak = failure("grep -o 'ghp_[A-Za-z0-9]*' ../out.txt | tail -n 1 >&2; echo '[REDACTED:x]'; exit $code");
        assert!(leak.contains("was shown"), "{leak}");
        assert!(failure("echo 'totals_include_tax [REDACTED:x]'").contains("instead of the command's 101"));
        assert!(failure("echo 'all well [REDACTED:x]'; exit $code").contains("'totals_include_tax' is not in"));
    }
}
