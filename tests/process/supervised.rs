//! A host that is killed takes everything along that was not started to persist, whatever killed it and however the
//! processes behave.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hermes_tests::home::{self, TestHome};
use hermes_tests::hosted::{Hosted, pid_in, signal, until_gone};
use hermes_tests::leavings::{parent, runs, supervisor_of, supervisors_of};
use hermes_tests::wait::{self, PATIENCE};
use nix::sys::signal::Signal;

use crate::verbs::host;

/// How a process behaves, and how many numbers it writes into `pids`, one a line.
const MANNERS: [(&str, &str, usize); 8] = [
    ("a plain one", "echo $$ >> pids; exec sleep 1000", 1),
    ("one that ignores what it can", "trap '' TERM INT HUP; echo $$ >> pids; while :; do sleep 0.1; done", 1),
    ("a shell around it", "sh -c 'sh -c \"echo \\$\\$ >> pids; sleep 1000; true\" & wait'; true", 1),
    ("one that spins", "echo $$ >> pids; while :; do :; done", 1),
    ("another session", "setsid bash -c 'echo $$ >> pids; exec sleep 1000' & wait", 1),
    (
        "a child of a child that left",
        "( ( setsid bash -c 'echo $$ >> pids; exec sleep 1000' & ) & ) ; exec sleep 1000",
        1,
    ),
    ("without variables", "env -i bash -c 'echo $$ >> pids; exec sleep 1000' & wait", 1),
    (
        "one that forks while it dies",
        "heir=\"trap '' TERM; while :; do sleep 0.05; done\"; \
         trap 'for i in 1 2 3; do setsid bash -c \"$heir\" & done; exit 0' TERM; echo $$ >> pids; while :; do sleep 0.05; done",
        1,
    ),
];

/// The numbers that processes wrote down, once there are as many.
fn pids(work: &Path, count: usize) -> Vec<i32> {
    wait::until(&format!("{count} numbers"), PATIENCE, || {
        let text = fs::read_to_string(work.join("pids")).ok()?;
        let found: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        (found.len() == count && text.ends_with('\n')).then_some(found)
    })
}

/// Starts one of each manner, and returns their numbers.
fn one_of_each(house: &Hosted) -> Vec<i32> {
    for (_, script, _) in MANNERS {
        house.background(&["-c", script]);
    }
    pids(&house.home().work(), MANNERS.iter().map(|manner| manner.2).sum())
}

/// Waits until nobody of a home runs but those, its host included.
fn until_nobody_but(house: &Hosted, spared: &[i32]) {
    wait::until("nobody to be left", PATIENCE, || {
        let left: Vec<i32> = house.home().running().into_iter().filter(|pid| !spared.contains(pid)).collect();
        (left.is_empty() && house.home().host().is_none()).then_some(())
    });
}

#[test]
fn nobody_outlives_a_host_that_is_killed_but_those_who_may() {
    let house = Hosted::new();
    let started = one_of_each(&house);
    house.background(&["--persist", "-c", "echo $$ > persistent; exec sleep 1000"]);
    let persistent = pid_in(&house.home().work().join("persistent"));
    let supervisor = supervisor_of(house.host().unwrap());
    house.crash();
    until_nobody_but(&house, &[persistent]);
    until_gone(&started);
    until_gone(&[supervisor]);
    assert!(runs(persistent), "it was started to outlive its host");
}

#[test]
fn polite_ones_are_gone_within_a_moment() {
    let house = Hosted::new();
    for at in 0..10 {
        house.background(&["-c", &format!("sh -c 'echo $$ > {at}.pid; sleep 1000' & wait")]);
    }
    let started: Vec<i32> = (0..10).map(|at| pid_in(&house.home().work().join(format!("{at}.pid")))).collect();
    let began = Instant::now();
    house.crash();
    until_gone(&started);
    assert!(began.elapsed() < Duration::from_secs(3), "they were killed, not asked: {:?}", began.elapsed());
}

#[test]
fn a_kill_of_the_hosts_whole_group_does_not_reach_its_supervisor() {
    let house = Hosted::new();
    let mut command = house.home().command(["serve"]);
    let mut serving = command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().unwrap();
    let pid = i32::try_from(serving.id()).unwrap();
    wait::until("a host that listens", PATIENCE, || hermes_tests::wire::Wire::connect(&house.root()).map(drop));
    let started = one_of_each(&house);
    signal(-pid, Signal::SIGKILL);
    serving.wait().unwrap();
    until_nobody_but(&house, &[]);
    until_gone(&started);
}

#[test]
fn a_supervisor_that_is_killed_is_replaced_and_the_next_one_ends_everybody() {
    let house = Hosted::new();
    let started = one_of_each(&house);
    let host = house.host().unwrap();
    for _ in 0..2 {
        let killed = supervisor_of(host);
        signal(killed, Signal::SIGKILL);
        wait::until("another one", PATIENCE, || {
            let now = supervisors_of(host);
            (now.len() == 1 && now[0] != killed).then_some(())
        });
    }
    assert!(started.iter().all(|pid| runs(*pid)), "the loss of a supervisor ended somebody");
    house.crash();
    until_nobody_but(&house, &[]);
}

#[test]
fn there_is_no_supervisor_without_processes_and_no_trace_of_one_that_left() {
    let house = Hosted::new();
    let id = house.background(&["--", "sleep", "1000"]);
    let host = house.host().unwrap();
    let supervisor = supervisor_of(host);
    drop(house.run(&["kill", &id]).expect(0));
    wait::until("no supervisor", PATIENCE, || (!Path::new(&format!("/proc/{supervisor}")).exists()).then_some(()));
    assert_eq!(house.host(), Some(host));
    assert!(supervisors_of(host).is_empty());
    house.background(&["--persist", "--", "sleep", "1000"]);
    assert!(supervisors_of(host).is_empty(), "what persists needs none");
}

#[test]
fn an_orderly_end_of_the_host_leaves_no_supervisor() {
    let house = Hosted::new();
    let started = one_of_each(&house);
    let host = house.host().unwrap();
    let supervisor = supervisor_of(host);
    signal(host, Signal::SIGTERM);
    until_gone(&[host, supervisor]);
    until_nobody_but(&house, &[]);
    until_gone(&started);
}

#[test]
fn a_foreground_command_does_not_outlive_a_hermes_that_is_killed() {
    let home = TestHome::new();
    for (what, script, count) in MANNERS {
        let _ = fs::remove_file(home.work().join("pids"));
        let mut ran = home.command(["run", "-c", script]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let pids = pids(&home.work(), count);
        ran.kill().unwrap();
        ran.wait().unwrap();
        until_gone(&pids);
        wait::until(&format!("nobody: {what}"), PATIENCE, || home.running().is_empty().then_some(()));
    }
}

#[test]
fn who_leaves_everything_behind_that_tells_whose_it_is_escapes() {
    let house = Hosted::new();
    let far = house.home().work().join("far");
    // No parent, no session, no variable: nothing is left to prove whose it is, and nobody is signalled without a proof.
    let script =
        format!("(cd /; env -i setsid bash -c 'echo $$ > {}; exec sleep 1000' &) & exec sleep 1000", far.display());
    house.background(&["-c", &script]);
    let escaped = pid_in(&far);
    let host = house.host().unwrap();
    wait::until("an orphan", PATIENCE, || (parent(escaped) == Some(host)).then_some(()));
    let supervisor = supervisor_of(host);
    house.crash();
    until_gone(&[supervisor]);
    assert!(runs(escaped), "it was found: say so in SECURITY.md");
    signal(escaped, Signal::SIGKILL);
    until_gone(&[escaped]);
}

/// A copy of the program of its own, with the supervisor beside it or not.
fn copied(house: &Hosted, with_supervisor: bool) -> PathBuf {
    let folder = house.home().everything().join("installed");
    fs::create_dir(&folder).unwrap();
    let program = home::hermes();
    fs::copy(&program, folder.join("hermes")).unwrap();
    if with_supervisor {
        fs::copy(program.with_file_name("hermes-supervisor"), folder.join("hermes-supervisor")).unwrap();
    }
    folder
}

/// Starts something in the background with another program.
fn background(house: &Hosted, program: &Path, script: &str) {
    let usual = house.home().command(["run", "-b", "-c", script]);
    let mut command = Command::new(program);
    command.args(usual.get_args()).env_clear().current_dir(house.home().work());
    command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert!(command.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap().success());
}

#[test]
fn a_host_protects_its_processes_after_its_files_were_replaced() {
    let house = Hosted::new();
    let folder = copied(&house, true);
    background(&house, &folder.join("hermes"), "echo $$ >> pids; exec sleep 1000");
    let host = host(house.home());
    assert!(fs::read_link(format!("/proc/{host}/exe")).unwrap().starts_with(&folder));
    for name in ["hermes", "hermes-supervisor"] {
        let garbage = folder.join(format!("{name}.new"));
        fs::write(&garbage, "no program").unwrap();
        fs::rename(garbage, folder.join(name)).unwrap();
    }
    house.background(&["-c", "echo $$ >> pids; exec sleep 1000"]);
    let ended = house.background(&["-c", "exec sleep 1000"]);
    assert_eq!(house.json(&["kill", &ended])["result"], "killed");
    let killed = supervisor_of(host);
    signal(killed, Signal::SIGKILL);
    wait::until("another one", PATIENCE, || {
        supervisors_of(host).first().is_some_and(|pid| *pid != killed).then_some(())
    });
    house.background(&["-c", "echo $$ >> pids; exec sleep 1000"]);
    let started = pids(&house.home().work(), 3);
    house.crash();
    until_gone(&started);
    until_nobody_but(&house, &[]);
}

#[test]
fn where_the_small_program_is_missing_hermes_plays_the_role_itself() {
    let house = Hosted::new();
    let folder = copied(&house, false);
    background(&house, &folder.join("hermes"), "echo $$ >> pids; exec sleep 1000");
    let host = host(house.home());
    let supervisor = supervisor_of(host);
    assert_eq!(
        fs::read_link(format!("/proc/{supervisor}/exe")).unwrap(),
        fs::read_link(format!("/proc/{host}/exe")).unwrap()
    );
    let started = pids(&house.home().work(), 1);
    house.crash();
    until_gone(&started);
    until_gone(&[supervisor]);
}
