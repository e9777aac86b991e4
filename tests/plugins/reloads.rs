//! Ten thousand reloads under load: no call fails, and nothing is left of a generation that is over.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock, Weak};

use hermes_home::home::{Home, LocateArgs};
use hermes_model::config::Config;
use hermes_plugins::chain::Chain;
use hermes_plugins::change::{Editor, Install};
use hermes_plugins::generation::{Entry, GENERATIONS_KEPT};
use hermes_plugins::registry::{Depth, Plugins, store_of};
use hermes_tests::hosted::{Hosted, Kept};
use hermes_tests::wire::Wire;
use hermes_tests::{guests, home, manifests, policy};
use serde_json::json;

/// What the issue of a host that lives for months asks for.
const RELOADS: usize = 10_000;
/// After these, everything that is kept for good is there.
const WARM: usize = 1_000;
/// Threads that call all the time.
const CALLERS: usize = 2;
/// How much more memory there may be after all reloads than after the first ones: far less than an instance for each
/// reload would be, and room for what an allocator keeps.
const MEMORY_MORE: u64 = 48 * 1024 * 1024;
const SECRET: &str = "sekrit-4711";

/// What a process holds.
#[derive(Debug)]
struct Holds {
    memory: u64,
    descriptors: usize,
    threads: usize,
}

impl Holds {
    fn of(pid: &str) -> Self {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kib: u64 = memory.trim().trim_end_matches(" kB").trim().parse().unwrap();
        let count = |folder: &str| fs::read_dir(format!("/proc/{pid}/{folder}")).unwrap().count();
        Self { memory: kib * 1024, descriptors: count("fd"), threads: count("task") }
    }

    fn assert_no_more_than(&self, before: &Self) {
        let what = format!("before {before:?}, after {self:?}");
        assert!(self.memory <= before.memory + MEMORY_MORE, "memory: {what}");
        // Some may be there for a moment: a file that is being read, threads a runtime keeps for a while. Each reload that
        // left one would be many more.
        assert!(self.descriptors <= before.descriptors + 4, "descriptors: {what}");
        assert!(self.threads <= before.threads + 16, "threads: {what}");
    }
}

/// A home on a file system in memory, where there is one: what is flushed to a disk ten thousand times takes minutes.
fn quick_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        return tempfile::tempdir_in(memory).unwrap();
    }
    tempfile::tempdir().unwrap()
}

struct Place {
    folder: tempfile::TempDir,
    home: Home,
    config: Config,
    cache: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = quick_folder();
        let args = LocateArgs { home: Some(folder.path().join("home")), profile: None };
        let home = Home::locate(&args).unwrap();
        Self { home, config: Config::default(), cache: home::shared_cache().join("hermes"), folder }
    }

    fn editor(&self) -> Editor<'_> {
        Editor::new(&self.home, &self.config, &self.cache).unwrap()
    }

    /// Sets of plugins to go to and fro between: two versions of a redactor, a transform that comes and goes, two orders.
    fn sets(&self) -> Vec<Vec<Entry>> {
        let editor = self.editor();
        let install = |name: &str, hook: &str, about: &str| {
            let manifest = manifests::plain(name, hook).replace("of the tests", about);
            let source = guests::write(self.folder.path(), name, &manifest);
            let install = Install { source, name: None, allow_broken: false, digest: None, allow_private: false };
            editor.install(&install).unwrap().generation.plugins
        };
        for bundled in ["redact-secrets", "summarize-output"] {
            drop(editor.disable(&bundled.parse().unwrap()).unwrap());
        }
        install("quiet-notifier", "notify", "of the tests");
        install("good-transform", "transform", "of the tests");
        let first = install("good-redactor", "redact", "one");
        let second = install("good-redactor", "redact", "two");
        let mut ordered = first.clone();
        ordered.reverse();
        let mut without = first.clone();
        without.retain(|entry| entry.name.as_str() != "good-transform");
        // Most changes of a real home leave most plugins as they were.
        [&first, &ordered, &first, &ordered, &without, &ordered, &first, &second].map(Clone::clone).to_vec()
    }

    fn files(&self) -> usize {
        home::files_below(self.home.root()).len()
    }
}

/// What is in force, as a host keeps it.
struct InForce(RwLock<Arc<Chain>>);

impl InForce {
    fn chain(&self) -> Arc<Chain> {
        Arc::clone(&self.0.read().unwrap())
    }
}

#[test]
fn ten_thousand_reloads_under_load_leave_nothing_and_fail_no_call() {
    let place = Place::new();
    let sets = place.sets();
    let store = store_of(&place.home);
    // Before this there was no redactor.
    let oldest = store.current().unwrap().number;
    let mut newest = oldest;
    let mut plugins = Plugins::open(&place.home, &place.config, &place.cache, Depth::Enabled).unwrap();
    let in_force = InForce(RwLock::new(plugins.policy()));
    let (over, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut past: Vec<Weak<Chain>> = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..CALLERS {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let shown = policy::view(&*in_force.chain(), &format!("one {SECRET}\n"));
                    assert_eq!(shown.text.as_str(), "one [REDACTED:sekrit]\n", "{:?}", shown.report.withheld);
                    assert_eq!(shown.report.warnings, [""; 0]);
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Also when an assertion fails: a scope waits for its threads.
        let _end = End(&over);
        let mut before = None;
        for reload in 0..RELOADS {
            if reload % 3 == 0 {
                let set = sets[reload / 3 % sets.len()].clone();
                let put = |plugins: &mut Vec<Entry>| {
                    *plugins = set;
                    Ok::<_, Infallible>(())
                };
                let Ok(made) = store.change("another set", None, put) else { panic!("the change was refused") };
                newest = made.number;
            } else {
                store.rollback(Some(newest.saturating_sub((reload % 5) as u64).max(oldest))).unwrap();
            }
            let next = plugins.reopen(&place.home, &place.config).unwrap();
            past.push(Arc::downgrade(&plugins.policy()));
            *in_force.0.write().unwrap() = next.policy();
            plugins = next;
            if reload + 1 == WARM {
                before = Some((Holds::of("self"), place.files()));
            }
        }
        let after = (Holds::of("self"), place.files());
        let before = before.unwrap();
        after.0.assert_no_more_than(&before.0);
        assert!(after.1 <= before.1.max(GENERATIONS_KEPT + 16), "files: {} and then {}", before.1, after.1);
    });
    assert!(calls.load(Ordering::Relaxed) > RELOADS / 10, "hardly anybody called: {calls:?}");
    past.retain(|chain| chain.strong_count() > 0);
    assert!(past.is_empty(), "{} generations that are over are still held", past.len());
    let failures: u64 = plugins.rows().iter().filter_map(|row| row.failures).sum();
    assert_eq!(failures, 0);
}

/// Tells the callers to end.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn fifty_changes_through_the_verbs_under_load_leave_nothing_in_the_host() {
    let house = Hosted::new();
    let host = Kept::from(house.serve(&[]));
    house.home().install_guest("good-redactor", "redact");
    let pid = host.pid().to_string();
    let over = AtomicBool::new(false);
    let calls = AtomicUsize::new(0);
    let (before, after) = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut wire: Wire = house.wire();
            while !over.load(Ordering::Relaxed) {
                let command = json!({"command": format!("echo {SECRET}")});
                let Ok(document) = wire.call("terminal", command) else { panic!("the host went away") };
                let output = document["output"].as_str().unwrap_or_default().trim_end().to_owned();
                assert_eq!(output, "[REDACTED:sekrit]", "{document}");
                calls.fetch_add(1, Ordering::Relaxed);
            }
        });
        let _end = End(&over);
        let mut before = None;
        for round in 0..10 {
            for verb in [
                &["plugins", "disable", "summarize-output"][..],
                &["plugins", "order", "good-redactor"],
                &["plugins", "enable", "summarize-output"],
                &["plugins", "order", "redact-secrets"],
                &["plugins", "rollback"],
            ] {
                let said = house.run(verb).expect(0).stdout;
                assert!(said.contains("in force in 1 running host"), "{verb:?}: {said}");
            }
            if round == 2 {
                before = Some(Holds::of(&pid));
            }
        }
        (before.unwrap(), Holds::of(&pid))
    });
    after.assert_no_more_than(&before);
    assert!(calls.load(Ordering::Relaxed) > 0);
}
