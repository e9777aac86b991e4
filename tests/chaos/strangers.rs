//! A number alone proves nothing: whoever has the number of a process that is gone is left alone.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};
use std::time::SystemTime;

use hermes_ledger::checkpoint::{Checkpoint, LeaderIdentity};
use hermes_ledger::host::HostIdentity;
use hermes_ledger::live::handle::Ledger;
use hermes_model::id::Owner;
use hermes_tests::hosted::{Hosted, runs};
use hermes_tests::policy;

/// A process of somebody else. It ends with the test.
struct Stranger(Child);

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Stranger {
    /// A program that stays, with the words of a command of ours.
    fn begin() -> Self {
        let mut command = Command::new("sleep");
        command.arg("1000").env_clear().env("PATH", "/usr/bin:/bin");
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }

    /// When it started, in clock ticks since boot.
    fn ticks(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        // Field 22; the second, which may hold anything, is in parentheses.
        stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap().parse().unwrap()
    }
}

/// A host that is gone, in this boot or in another.
fn gone(boot: &str, marker: &str) -> HostIdentity {
    let pid_namespace = fs::metadata("/proc/self/ns/pid").unwrap().ino();
    // Nobody that runs now started at the first tick.
    let (pid, start_ticks) = (i32::try_from(std::process::id()).unwrap(), 1);
    HostIdentity { boot_id: boot.to_owned(), pid_namespace, pid, start_ticks, marker: marker.to_owned() }
}

fn this_boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim().to_owned()
}

/// Writes what such a host would have written of a process with this leader.
fn left_behind(house: &Hosted, host: HostIdentity, id: &str, leader: LeaderIdentity) {
    let plugins = policy::open(house.home());
    let text = |text: &str| policy::view(&*plugins.policy(), text).text;
    let checkpoint = Checkpoint {
        id: id.parse().unwrap(),
        owner: Owner::default(),
        command: text("sleep 1000"),
        cwd: text("/"),
        leader,
        pty: false,
        persist: true,
        notify: true,
        completion_bytes: 2000,
        heartbeat: None,
        watch: Vec::new(),
        started_at: SystemTime::now(),
        scope_unit: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let ledger = Ledger::open(&policy::located(house.home()), host).unwrap();
        ledger.started(checkpoint).await.unwrap();
    });
}

/// Everything that could signal it, and nothing does.
fn is_left_alone(house: &Hosted, id: &str, stranger: &Stranger) {
    let told = house.events(1, &[]);
    assert_eq!((&told[0]["process"], &told[0]["status"]["kind"]), (&id.into(), &"lost".into()), "{told:#?}");
    assert_eq!(house.json(&["kill", id])["result"], "already-ended");
    assert!(house.json(&["kill", "--all"])["killed"].as_array().unwrap().is_empty());
    assert!(house.rows(&["--all"]).iter().all(|row| row["pid"] != stranger.pid() || row["status"]["kind"] == "lost"));
    assert!(house.events_in_the_end().is_empty());
    assert!(runs(stranger.pid()), "a stranger was signalled");
}

#[test]
fn whoever_has_the_number_of_a_process_that_is_gone_is_left_alone() {
    let (house, stranger) = (Hosted::new(), Stranger::begin());
    let leader = LeaderIdentity { pid: stranger.pid(), start_ticks: stranger.ticks() - 1 };
    left_behind(&house, gone(&this_boot(), "host_gone"), "proc_0123456789ab", leader);
    is_left_alone(&house, "proc_0123456789ab", &stranger);
}

#[test]
fn a_number_and_a_start_of_another_boot_prove_nothing() {
    let (house, stranger) = (Hosted::new(), Stranger::begin());
    let leader = LeaderIdentity { pid: stranger.pid(), start_ticks: stranger.ticks() };
    let boot = "00000000-0000-4000-8000-000000000000";
    left_behind(&house, gone(boot, "host_of_another_boot"), "proc_0123456789ac", leader);
    is_left_alone(&house, "proc_0123456789ac", &stranger);
}

#[test]
fn a_number_and_a_start_of_another_namespace_prove_nothing() {
    let (house, stranger) = (Hosted::new(), Stranger::begin());
    let leader = LeaderIdentity { pid: stranger.pid(), start_ticks: stranger.ticks() };
    let host = HostIdentity { pid_namespace: 1, ..gone(&this_boot(), "host_elsewhere") };
    left_behind(&house, host, "proc_0123456789ad", leader);
    is_left_alone(&house, "proc_0123456789ad", &stranger);
}

#[test]
fn the_number_of_the_one_who_asks_is_left_alone_too() {
    let (house, stranger) = (Hosted::new(), Stranger::begin());
    let leader = LeaderIdentity { pid: i32::try_from(std::process::id()).unwrap(), start_ticks: 1 };
    left_behind(&house, gone(&this_boot(), "host_gone"), "proc_0123456789ae", leader);
    is_left_alone(&house, "proc_0123456789ae", &stranger);
}

#[test]
fn the_same_words_make_nobody_a_process_of_ours() {
    let (house, stranger) = (Hosted::new(), Stranger::begin());
    let id = house.background(&["--notify", "--persist", "--", "sleep", "1000"]);
    let pid = i32::try_from(house.row(&id).unwrap()["pid"].as_i64().unwrap()).unwrap();
    house.crash();
    assert_eq!(house.json(&["kill", &id])["result"], "killed");
    assert!(!runs(pid) && runs(stranger.pid()));
    let next = house.background(&["--", "sleep", "1000"]);
    assert_eq!(house.json(&["kill", "--all"])["killed"][0]["id"], next);
    assert!(house.events_in_the_end().is_empty());
    assert!(runs(stranger.pid()), "a stranger was signalled");
}
