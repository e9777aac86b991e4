//! A number is not a process: whoever has a number that was somebody else's is left alone. And nothing is left of those
//! who ended: no descriptor, no thread, no zombie.

use std::fs;
use std::process::{Command, Stdio};

use hermes_tests::agent::Agent;
use hermes_tests::home::{Ran, TestHome, finish};
use hermes_tests::leavings;
use hermes_tests::wait::{self, PATIENCE};
use serde_json::json;

use crate::verbs::{host, hosted, start_text};

/// Runs a script as pid 1 of a PID namespace of its own, in which numbers can be chosen. `$1` is hermes.
fn in_namespace(home: &TestHome, script: &str) -> Ran {
    let hermes = home.command(["--version"]);
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"]);
    command.args(["bash", "-c", script, "bash"]).arg(hermes.get_program()).env_clear();
    command.envs(hermes.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(home.work());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(command, 2 * PATIENCE)
}

/// Shell functions: `gone PID` waits until nobody has the number; `decoy PID` gives it to a `sleep` in a session of its
/// own; `field NAME FILE` reads a field of a document.
const FUNCTIONS: &str = r#"
set -eu
hermes=$1
gone() { for _ in $(seq 3000); do [ -e "/proc/$1" ] || return 0; sleep 0.01; done; echo "$1 stays"; exit 9; }
decoy() {
    for _ in $(seq 200); do
        echo $(($1 - 1)) > /proc/sys/kernel/ns_last_pid
        setsid sleep 999 & decoy=$!
        [ "$decoy" = "$1" ] && return 0
        kill -9 "$decoy"
    done
    echo "number $1 cannot be had"; exit 9
}
field() { python3 -c 'import json, sys; print(json.load(open(sys.argv[2]))[sys.argv[1]])' "$1" "$2"; }
lives() { [ "$(cat "/proc/$1/comm" 2>/dev/null)" = sleep ] && echo "$2 lives"; }
host() { for one in /proc/[0-9]*; do [ "$one" != "/proc/$$" ] || continue; if [ "$(tr '\0' '\n' < "$one/cmdline" | sed -n 2p)" = serve ]; then basename "$one"; return; fi; done; }
"#;

#[test]
fn whoever_has_the_number_of_a_lost_process_is_left_alone() {
    let home = hosted();
    let script = format!(
        "{FUNCTIONS}{}",
        r#"
"$hermes" run -b --persist --json -- sleep 1000 > started
pid=$(field pid started); id=$(field id started); host=$(host)
kill -9 "$host" "$pid"; gone "$host"; gone "$pid"
decoy "$pid"
"$hermes" ps --json > listed
"$hermes" kill --json "$id" > killed || true
"$hermes" kill --all --json > all
lives "$pid" decoy
kill "$(host)"
"#
    );
    let ran = in_namespace(&home, &script).expect(0);
    assert_eq!(ran.stdout, "decoy lives\n", "{ran:?}");
    let read = |name: &str| fs::read_to_string(home.work().join(name)).unwrap();
    let listed: serde_json::Value = serde_json::from_str(&read("listed")).unwrap();
    let status = &listed["processes"][0]["status"];
    assert!(status["kind"] == "lost" || status.is_null(), "{listed}");
    let killed = read("killed");
    assert!(!killed.contains("\"killed\""), "{killed}");
}

#[test]
fn whoever_has_the_number_of_an_ended_process_or_of_one_it_left_is_left_alone() {
    let home = hosted();
    let script = format!(
        "{FUNCTIONS}{}",
        r#"
"$hermes" run -b --json -- true > first
"$hermes" run -b --json -c 'sleep 1000 & echo $! > left' > second
first=$(field pid first); second=$(field pid second)
"$hermes" wait --json "$(field id first)" > waited-first
"$hermes" wait --json "$(field id second)" > waited-second
left=$(cat left); kill -9 "$left"
gone "$first"; gone "$second"; gone "$left"
decoy "$first"; decoy "$second"; decoy "$left"
"$hermes" kill --json "$(field id first)" > killed-first
"$hermes" kill --json "$(field id second)" > killed-second
"$hermes" kill --all --json > all
lives "$first" first; lives "$second" second; lives "$left" left
kill "$(host)"
"#
    );
    let ran = in_namespace(&home, &script).expect(0);
    assert_eq!(ran.stdout, "first lives\nsecond lives\nleft lives\n", "{ran:?}");
    for name in ["killed-first", "killed-second"] {
        let text = fs::read_to_string(home.work().join(name)).unwrap();
        let killed: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&killed["result"], &killed["survivors"]), (&"already-ended".into(), &json!([])), "{killed}");
    }
}

#[test]
fn two_thousand_commands_leave_no_descriptor_no_thread_no_zombie_and_no_memory() {
    const COMMANDS: usize = 2_000;
    /// What the memory of an allocator may differ by from one moment to another.
    const SLACK: u64 = 8 << 20;
    let home = hosted();
    start_text(&home, "true");
    let host = host(&home);
    let mut agent = Agent::of(&home);
    for pty in [false, true] {
        let mut run = |count: usize| {
            for _ in 0..count {
                let started = agent.call("terminal", &json!({"program": ["true"], "background": true, "pty": pty}));
                let id = started["id"].as_str().unwrap();
                let ended = agent.call("process", &json!({"action": "wait", "id": id}));
                assert_eq!(ended["exit_code"], 0, "{ended}");
            }
        };
        // Until all that is kept of those that ended is there: the last 64, and what is shared by all.
        run(200);
        let quiet = |what: &str| {
            // Threads that block are kept for a while and then given up.
            wait::until(what, PATIENCE, || leavings::zombies(host).is_empty().then_some(()));
            (leavings::descriptors_and_threads(host), leavings::memory(host, "VmRSS").unwrap())
        };
        let ((descriptors, threads), memory) = quiet("those before to be gone");
        run(COMMANDS);
        wait::until("as few descriptors and threads as before", PATIENCE, || {
            let (descriptors_after, threads_after) = leavings::descriptors_and_threads(host);
            (descriptors_after <= descriptors && threads_after <= threads).then_some(())
        });
        let (_, memory_after) = quiet("all to be gone");
        let grown = memory_after.saturating_sub(memory);
        assert!(grown <= SLACK, "memory grew by {} KiB, pty {pty}", grown >> 10);
    }
    assert!(home.running().is_empty());
}

#[test]
fn a_host_that_is_pid_1_collects_the_orphans_of_its_commands() {
    let home = hosted();
    let hermes = home.command(["serve"]);
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"]);
    command.arg(hermes.get_program()).args(hermes.get_args()).env_clear().current_dir(home.work());
    command.envs(hermes.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut outside = command.spawn().unwrap();
    let mut agent = Agent::of(&home);
    let host = host(&home);
    let status = fs::read_to_string(format!("/proc/{host}/status")).unwrap();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap();
    assert_eq!(numbers.split_whitespace().last(), Some("1"), "it is pid 1 where it lives");
    for _ in 0..100 {
        let started = agent.call("terminal", &json!({"command": "(sleep 0.05 &) ; exit 0", "background": true}));
        let ended = agent.call("process", &json!({"action": "wait", "id": started["id"]}));
        assert_eq!((&ended["status"]["kind"], &ended["exit_code"]), (&"exited".into(), &0.into()), "{ended}");
    }
    let unshare = i32::try_from(outside.id()).unwrap();
    wait::until("the orphans to end", PATIENCE, || {
        home.running().iter().all(|pid| *pid == unshare || *pid == host).then_some(())
    });
    wait::until("no zombie", PATIENCE, || leavings::zombies(host).is_empty().then_some(()));
    drop(agent);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(host), nix::sys::signal::Signal::SIGTERM).unwrap();
    wait::until("the host to end", PATIENCE, || outside.try_wait().unwrap());
}
