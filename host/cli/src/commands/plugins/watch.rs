//! `hermes plugins watch`: on each save a plugin is built and tested, and put in force if that is asked for.
//!
//! A build that fails is shown, and the watch goes on. Nothing but Ctrl-C and other signals ends it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, SystemTime};

use clap::Args;
use hermes_model::exit;
use hermes_plugins::change::Install;
use hermes_plugins::lab::TestOptions;
use hermes_plugins::project;

use super::change::{self, Done};
use super::{build, test};
use crate::cli::Global;
use crate::foreground::signals::Signals;
use crate::printer::Printer;
use crate::report::Report;

/// How often the files are looked at: sooner than anybody expects an answer after a save (a tenth of a second feels
/// immediate), and rarely enough to cost nothing.
const LOOK: Duration = Duration::from_millis(100);
/// How long the files must have been left alone: editors write in several steps, and formatters after them.
const QUIET: Duration = Duration::from_millis(300);
/// Folders that hold no sources.
const LEFT_OUT: [&str; 7] = ["build", "target", "node_modules", ".venv", "dist", ".git", "__pycache__"];
/// The most files looked at: a project has tens of them.
const FILES_MAX: usize = 20_000;

/// Build and test a plugin on each save
///
/// With --install each version that passes its test is put in force, and running hosts take it up. Ctrl-C ends it.
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes plugins watch ./my-rule\n  hermes plugins watch --install ./my-rule")]
pub(crate) struct WatchArgs {
    /// A plugin's folder.
    #[arg(value_name = "PATH", default_value = ".")]
    path: PathBuf,
    /// Install each version that passes its test.
    #[arg(long)]
    install: bool,
}

/// What a watch works with. It goes to a thread of its own.
struct Watch {
    path: PathBuf,
    install: bool,
    global: Global,
    printer: Printer,
}

pub(crate) fn run(args: &WatchArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    // A folder that is no project would never become one that builds.
    drop(project::steps(&args.path)?);
    let watch =
        Watch { path: args.path.clone(), install: args.install, global: global.clone(), printer: printer.clone() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|_| Report::new("the runtime cannot start; free threads or open files (ulimit -a)"))?;
    runtime.block_on(async {
        let mut signals = Signals::listen().map_err(|_| Report::new("signals cannot be listened to"))?;
        let (ended, end) = mpsc::channel();
        let (busy, is_busy) = mpsc::channel();
        // Whatever it does then, it ends with this process; a build under way hears the signal itself.
        std::thread::spawn(move || {
            let code = watch.until_stopped(&busy);
            let _ = ended.send(code);
        });
        let caught = signals.next().await;
        let code = exit::SIGNAL_BASE + caught.number();
        Ok(if building(&is_busy) { end.recv().unwrap_or(code) } else { code })
    })
}

/// Whether the last word was that a build begins.
fn building(is_busy: &Receiver<bool>) -> bool {
    is_busy.try_iter().last().unwrap_or(false)
}

impl Watch {
    /// Works until a build is stopped by a signal; the exit code then.
    fn until_stopped(&self, busy: &mpsc::Sender<bool>) -> i32 {
        let mut seen = Sources::of(&self.path);
        loop {
            if let Some(code) = self.round(busy) {
                return code;
            }
            self.printer.confirm(&format!("watching {}; Ctrl-C ends", self.path.display()));
            // What was saved while it was built is not built yet: `seen` is from before.
            seen = self.until_saved(seen);
        }
    }

    /// Waits until something was saved and then left alone; the files as they are built next.
    fn until_saved(&self, seen: Sources) -> Sources {
        let mut now = Sources::of(&self.path);
        while now == seen {
            std::thread::sleep(LOOK);
            now = Sources::of(&self.path);
        }
        loop {
            std::thread::sleep(QUIET);
            let later = Sources::of(&self.path);
            if later == now {
                break;
            }
            now = later;
        }
        let changed = now.changed_since(&seen);
        self.printer.confirm(&format!("\nsaved: {changed}"));
        now
    }

    /// Builds, tests and installs. An exit code: a signal ended the build.
    fn round(&self, busy: &mpsc::Sender<bool>) -> Option<i32> {
        let _ = busy.send(true);
        let built = build::build(&self.path, &self.global, &self.printer);
        let _ = busy.send(false);
        match built {
            Ok(None) => {}
            Ok(Some(code)) => return Some(code),
            Err(report) => {
                self.printer.report(&report);
                return None;
            }
        }
        match test::test(&self.path, TestOptions { seed: test::seed(), update: false }, &self.printer) {
            Ok(report) => {
                if self.printer.is_json() {
                    self.printer.document(&report);
                } else {
                    test::show(&report, self.global.verbose > 0, &self.printer);
                }
                if report.ok() && self.install {
                    self.put_in_force();
                }
            }
            Err(error) => self.printer.report(&Report::from(error)),
        }
        None
    }

    fn put_in_force(&self) {
        let done = change::make(&self.global, &self.printer, |editor| {
            let install = Install {
                source: self.path.clone(),
                name: None,
                allow_broken: false,
                digest: None,
                allow_private: false,
            };
            let changed = editor.install(&install)?;
            let name = changed.name.as_ref().map_or("the plugin", |name| name.as_str());
            Ok(Done::examined(format!("installed {name}"), changed))
        });
        if let Err(report) = done {
            self.printer.report(&report);
        }
    }
}

/// The sources of a project, each with the time and the size it had.
#[derive(Debug, PartialEq, Eq)]
struct Sources(BTreeMap<PathBuf, (SystemTime, u64)>);

impl Sources {
    fn of(folder: &Path) -> Self {
        let mut found = BTreeMap::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            for entry in next.read_dir().into_iter().flatten().flatten() {
                let name = entry.file_name();
                // What a link leads to may be anything, and large.
                let Ok(metadata) = entry.metadata() else { continue };
                if metadata.is_dir() && !LEFT_OUT.iter().any(|left_out| name == *left_out) {
                    folders.push(entry.path());
                } else if metadata.is_file() && is_source(&entry.path()) && found.len() < FILES_MAX {
                    let time = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    found.insert(entry.path(), (time, metadata.len()));
                }
            }
        }
        Self(found)
    }

    /// The names of the files that are new, changed or gone.
    fn changed_since(&self, before: &Self) -> String {
        let changed = self.0.iter().filter(|(path, state)| before.0.get(*path) != Some(state)).map(|(path, _)| path);
        let gone = before.0.keys().filter(|path| !self.0.contains_key(*path));
        let names: Vec<String> = changed.chain(gone).map(|path| path.display().to_string()).collect();
        names.join(", ")
    }
}

/// Whether a file is something a build reads and nothing it writes: no component, no lock file, no editor's own.
fn is_source(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let written = name == "Cargo.lock" || name.ends_with(".wasm");
    !written && !name.ends_with('~') && !name.ends_with(".swp") && !name.starts_with(".#")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_change_with_a_save_and_not_with_a_build() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("src/lib.rs", "one");
        write("plugin.toml", "");
        let before = Sources::of(folder.path());
        assert_eq!(before.0.len(), 2);
        for built in ["target/a.o", "build/a.wasm", "node_modules/x/y.js", ".venv/z.py", "dist/a.wasm", "a.wasm", "b~"]
        {
            write(built, "x");
        }
        assert_eq!(Sources::of(folder.path()), before);
        write("src/lib.rs", "another");
        write("cases/a.jsonl", "{}");
        std::fs::remove_file(folder.path().join("plugin.toml")).unwrap();
        let after = Sources::of(folder.path());
        let changed = after.changed_since(&before);
        for name in ["src/lib.rs", "cases/a.jsonl", "plugin.toml"] {
            assert!(changed.contains(name), "{changed}");
        }
    }
}
