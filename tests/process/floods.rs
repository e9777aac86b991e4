//! Floods: whatever is printed, however fast, and whoever reads it slowly or not at all, a host stays small.

use std::process::{Command, Stdio};

use hermes_tests::home::TestHome;
use hermes_tests::leavings;
use hermes_tests::wait::{self, PATIENCE};

use crate::verbs::{assert_nobody_left, events, host, hosted, kill, row, start, start_text, wait as wait_for};

/// The ring of one process and its first 256 KiB: docs/src/users/background.md.
const KEPT: u64 = (8 << 20) + (256 << 10);
/// What a host may need beside what it keeps.
const MORE: u64 = 16 << 20;

/// A host that has seen a flood before: its code and its buffers are there.
fn warm() -> (TestHome, i32) {
    let home = hosted();
    for pty in [false, true] {
        let all: Vec<&str> = pty.then_some("--pty").into_iter().chain(["-c", "yes | head -c 20M"]).collect();
        let id = start(&home, &all);
        assert_eq!(wait_for(&home, &id)["exit_code"], 0);
        drop(home.run(["logs", &id]).expect(0));
    }
    let host = host(&home);
    (home, host)
}

/// How far the memory of the host rises above what it is, while something happens.
fn rise(host: i32, happens: impl FnOnce()) -> u64 {
    let before = leavings::memory(host, "VmRSS").unwrap();
    leavings::reset_peak(host);
    happens();
    leavings::memory(host, "VmHWM").unwrap().saturating_sub(before)
}

/// Runs a flood to its last byte, and measures while nobody looks at it. Then it is looked at and ended.
fn flood(home: &TestHome, host: i32, what: &str, text: &str, bytes: u64) {
    // The command outlives its flood, so that nothing is shown of it yet; it says on the disk that it is through.
    let through = home.work().join("through");
    let mut id = String::new();
    let risen = rise(host, || {
        id = start_text(home, &format!("{text}; touch through; exec sleep 1000"));
        wait::until(what, 3 * PATIENCE, || through.exists().then_some(()));
    });
    assert!(risen <= KEPT + MORE, "{what}: the host grew by {} KiB", risen >> 10);
    wait::until("all of it to be read", PATIENCE, || {
        (row(home, &id)["output_bytes"].as_u64() == Some(bytes)).then_some(())
    });
    let logged = home.run(["logs", "--json", &id]).expect(0).json();
    assert!(logged["output"].as_str().unwrap().len() < 60_000, "{what}");
    let killed = kill(home, &id);
    assert_eq!(
        (&killed["result"], &killed["status"]["kind"]),
        (&"killed".into(), &"stopped".into()),
        "{what}: {killed}"
    );
    std::fs::remove_file(through).unwrap();
    assert_nobody_left(home, what);
}

#[test]
fn a_flood_of_lines_costs_no_memory_on_either_stream() {
    let (home, host) = warm();
    flood(&home, host, "stdout", "yes | head -c 1G", 1 << 30);
    flood(&home, host, "stderr", "yes | head -c 1G >&2", 1 << 30);
}

#[test]
fn a_line_of_a_gib_costs_no_memory() {
    let (home, host) = warm();
    flood(&home, host, "one line", "head -c 1G /dev/zero | tr '\\0' x", 1 << 30);
}

#[test]
fn noise_and_progress_cost_no_memory() {
    let (home, host) = warm();
    flood(&home, host, "noise", "head -c 300M /dev/urandom", 300 << 20);
    let progress = "yes $'\\r 50% [#####     ] 12 MB/s' | tr -d '\\n' | head -c 300M";
    flood(&home, host, "progress", progress, 300 << 20);
}

#[test]
fn a_flood_without_end_is_ended_and_looking_again_costs_no_more() {
    /// What one look at all that is kept may cost: a few copies of the ring, and the memory of a plugin.
    const LOOK: u64 = 96 << 20;
    let (home, host) = warm();
    let id = start_text(&home, "exec yes");
    wait::until("50 MiB", PATIENCE, || (row(&home, &id)["output_bytes"].as_u64() > Some(50 << 20)).then_some(()));
    let killed = kill(&home, &id);
    assert_eq!((&killed["result"], &killed["output_cut"]), (&"killed".into(), &true.into()), "{killed}");
    let looked = rise(host, || drop(home.run(["logs", &id]).expect(0)));
    assert!(looked <= LOOK, "{} KiB", looked >> 10);
    let look = || {
        drop(home.run(["logs", &id]).expect(0));
        wait_for(&home, &id);
    };
    // What an allocator keeps for the next one is there after a few; what leaks grows with each.
    for _ in 0..5 {
        look();
    }
    let seen = leavings::memory(host, "VmRSS").unwrap();
    for _ in 0..3 {
        let more = rise(host, look);
        assert!(more <= LOOK, "{} KiB", more >> 10);
    }
    let left = leavings::memory(host, "VmRSS").unwrap().saturating_sub(seen);
    assert!(left <= MORE, "{} KiB are left of three looks", left >> 10);
}

#[test]
fn a_flood_that_is_watched_costs_no_memory() {
    let (home, host) = warm();
    let line = "head -c 64M /dev/zero | tr '\\0' x; echo; echo the end";
    let id = start(&home, &["--watch", "the end", "-c", line]);
    let risen = rise(host, || {
        let ended = hermes_tests::home::finish(home.command(["wait", "--json", &id]), 3 * PATIENCE).expect(0).json();
        assert_eq!(ended["output_bytes"].as_u64(), Some((64 << 20) + 9), "{ended}");
    });
    assert!(risen <= KEPT + MORE, "the host grew by {} KiB", risen >> 10);
    let told = wait::until("the match", PATIENCE, || events(&home).into_iter().find(|event| event["kind"] == "match"));
    assert_eq!(told["pattern"], "the end", "{told}");
}

#[test]
fn a_reader_who_stands_still_holds_nobody_up_and_costs_no_memory() {
    let (home, host) = warm();
    let through = home.work().join("through");
    let id = start_text(&home, "until [ -e go ]; do sleep 0.02; done; seq 1 5000000; touch through; exec sleep 1000");
    let mut reader = home.command(["logs", "--follow", &id]).spawn().unwrap();
    let pid = i32::try_from(reader.id()).unwrap();
    let risen = rise(host, || {
        std::fs::write(home.work().join("go"), "").unwrap();
        wait::until("the last line", 3 * PATIENCE, || through.exists().then_some(()));
    });
    assert!(leavings::runs(pid), "the reader stands still, and has not read it all");
    assert!(risen <= KEPT + MORE, "the host grew by {} KiB", risen >> 10);
    wait::until("all of it to be read", PATIENCE, || (row(&home, &id)["output_bytes"] == 38_888_896).then_some(()));
    let last = home.run(["logs", &id]).expect(0).stdout;
    assert!(last.trim_end().ends_with("\n5000000"), "{last}");
    reader.kill().unwrap();
    reader.wait().unwrap();
    assert_eq!(kill(&home, &id)["result"], "killed");
    assert_eq!(home.host(), Some(host));
}

#[test]
fn a_flood_in_front_costs_no_memory_either() {
    /// Prints the peak of a program's memory in KiB, and nothing else of it.
    const PEAK: &str = "import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let home = TestHome::new();
    let peak = |arguments: &[&str]| -> u64 {
        let hermes = home.command(arguments);
        let mut command = Command::new("python3");
        command.args(["-c", PEAK]).arg(hermes.get_program()).args(hermes.get_args()).env_clear();
        command.envs(hermes.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(home.work());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let ran = hermes_tests::home::finish(command, 2 * PATIENCE).expect(0);
        ran.stdout.trim().parse::<u64>().unwrap() << 10
    };
    let small = peak(&["run", "--", "echo", "hi"]);
    let flood = peak(&["run", "--timeout", "2s", "--", "yes"]);
    assert!(flood <= small + KEPT + MORE, "{} KiB more", (flood - small) >> 10);
    assert_nobody_left(&home, "in front");
}
