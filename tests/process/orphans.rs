//! Nobody outlives who started him: whatever a command leaves in the way of being found is found, and a host that goes
//! takes its processes along or hands them on.

use std::fs;

use hermes_tests::home::TestHome;
use hermes_tests::leavings::{self, runs};
use hermes_tests::wait::{self, PATIENCE};
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;

use crate::verbs::{assert_nobody_left, host, hosted, kill, named, row, start, start_text, wait};

/// A shape of a tree, how many `sleep` it has, and whether its leader is gone before it is killed.
const SHAPES: [(&str, &str, usize, bool); 9] = [
    ("a shell in between", "sh -c 'sleep 1000; true'; true", 1, false),
    ("a pipeline", "sleep 1000 | sleep 1000", 2, false),
    ("a child that nobody waits for", "bash -c 'sleep 1000 & exit 0'", 1, true),
    ("a child in a session of its own", "setsid sleep 1000 & exit 0", 1, true),
    ("the same, and nothing behind it", "setsid sleep 1000 &", 1, true),
    ("a child of a child that left", "( ( setsid sleep 1000 & ) & )", 1, true),
    ("one that ignores what it can", "trap '' TERM INT HUP QUIT; sleep 1000; sleep 1000; true", 1, false),
    (
        "one that is stopped",
        "sleep 1000 & until grep -q sleep /proc/$!/comm; do :; done; kill -STOP $!; wait",
        1,
        false,
    ),
    // Without an environment, without the folder and without the session; only its name still holds the folder.
    (
        "one that keeps nothing of where it came from",
        "env -i setsid bash -c 'cd /; exec -a \"$0\" sleep 1000' \"$PWD/escaped\" & wait",
        1,
        false,
    ),
];

#[test]
fn a_kill_reaches_everybody_however_far_he_went() {
    let home = hosted();
    for (what, text, sleepers, leader_gone) in SHAPES {
        let id = start_text(&home, text);
        let sleeping = named(&home, "sleep", sleepers);
        if leader_gone {
            let ended = wait(&home, &id);
            assert_eq!(
                (&ended["status"]["kind"], &ended["exit_code"]),
                (&"exited".into(), &0.into()),
                "{what}: {ended}"
            );
            let named: Vec<i64> =
                ended["survivors"].as_array().unwrap().iter().map(|pid| pid.as_i64().unwrap()).collect();
            assert_eq!(named, sleeping.iter().copied().map(i64::from).collect::<Vec<_>>(), "{what}: {ended}");
        }
        let ran = home.run(["kill", "--json", &id]).expect(0);
        let killed = ran.json();
        let result = if leader_gone { "already-ended" } else { "killed" };
        assert_eq!(killed["result"], result, "{what}: {killed}");
        assert_eq!(killed["survivors"], serde_json::json!([]), "{what}: {killed}");
        assert_nobody_left(&home, what);
        assert_eq!(row(&home, &id)["survivors"], serde_json::json!([]), "{what}");
    }
}

#[test]
fn what_a_foreground_command_leaves_is_named_and_ended_and_nobody_waits_for_it() {
    let home = TestHome::new();
    let ran = home.run(["run", "--", "sh", "-c", "sleep 1000 & echo done"]).expect(0);
    assert_eq!(ran.stdout, "done\n");
    assert!(ran.stderr.contains("outlived"), "{ran:?}");
    assert_nobody_left(&home, "a foreground command");
    let server = "python3 -c 'import http.server as s; s.test(port=0)' >/dev/null 2>&1 & echo up";
    let document = home.run(["run", "--json", "-c", server]).expect(0).json();
    assert_eq!((&document["output"], &document["status"]["kind"]), (&"up\n".into(), &"exited".into()), "{document}");
    // Where `python3` is a script that looks for one, it may have children of its own at that moment.
    assert!(!document["survivors"].as_array().unwrap().is_empty(), "{document}");
    assert_nobody_left(&home, "a server");
}

#[test]
fn a_time_limit_ends_what_spins_behind_the_shell() {
    let home = hosted();
    let text = "for i in 1 2 3 4; do (while :; do :; done) & done; sleep 1000";
    let ran = home.run(["run", "--json", "--timeout", "1s", "-c", text]).expect(124);
    assert_eq!(ran.json()["status"]["kind"], "timed-out");
    assert_nobody_left(&home, "in front");
    let id = start(&home, &["--timeout", "1s", "-c", text]);
    let ended = wait(&home, &id);
    assert_eq!((&ended["status"]["kind"], &ended["exit_code"]), (&"timed-out".into(), &124.into()), "{ended}");
    assert_nobody_left(&home, "in the background");
}

#[test]
fn a_tree_that_forks_faster_than_it_is_looked_at_is_gone_or_named() {
    let home = hosted();
    let trap = "trap '' TERM; while :; do (trap '' TERM; exec sleep 3) & sleep 0.01; done";
    // Each generation leaves the session of the last and outlives it by nothing.
    let hop = home.work().join("hop.sh");
    fs::write(&hop, "trap '' TERM\nsleep 0.02\nsetsid bash hop.sh &\n").unwrap();
    for (what, text) in [("a shell that forks", trap), ("a runner", "bash hop.sh; exec sleep 1000")] {
        let id = start_text(&home, text);
        named(&home, "sleep", 1);
        let ran = home.run(["kill", "--json", &id]);
        let killed = ran.json();
        let left = home.running();
        match killed["result"].as_str() {
            Some("killed") => {
                assert!(left.is_empty(), "{what}: {left:?} {killed}");
                assert_eq!(ran.code, Some(0), "{what}");
            }
            Some("incomplete") => {
                let named = killed["survivors"].as_array().unwrap();
                assert!(!named.is_empty() && named.iter().all(|one| one["pid"].is_i64()), "{what}: {killed}");
                assert_eq!(ran.code, Some(1), "{what}");
            }
            other => panic!("{what}: {other:?}"),
        }
        assert_eq!(killed["status"]["kind"], "stopped", "{what}: {killed}");
    }
    fs::remove_file(hop).unwrap();
}

#[test]
fn a_kill_in_the_moment_of_the_start_hits_nobody_else() {
    let home = hosted();
    start_text(&home, "true");
    let host = host(&home);
    for _ in 0..20 {
        let id = start(&home, &["--", "sleep", "1000"]);
        let killed = kill(&home, &id);
        assert_eq!((&killed["result"], &killed["status"]["kind"]), (&"killed".into(), &"stopped".into()), "{killed}");
    }
    assert_eq!(home.host(), Some(host), "the host lives");
    assert_nobody_left(&home, "after 20 kills");
}

#[test]
fn every_way_to_end_a_host_in_order_ends_what_it_started() {
    let tree = "sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &) ; wait";
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let home = hosted();
        start_text(&home, tree);
        start(&home, &["--pty", "-c", tree]);
        start(&home, &["--persist", "-c", tree]);
        named(&home, "sleep", 9);
        let host = host(&home);
        signal::kill(Pid::from_raw(host), signal).unwrap();
        wait::until("the host to end", PATIENCE, || (!runs(host)).then_some(()));
        // The host ends after what it started.
        assert_nobody_left(&home, signal.as_str());
        assert!(!home.root().join("host.sock").exists(), "{signal}: the socket is left");
    }
}

#[test]
fn what_persists_is_taken_over_from_a_killed_host_and_the_rest_has_ended_with_it() {
    let home = hosted();
    let spin = "python3 - <<'E'\nwhile True: pass\nE";
    let spinning = start_text(&home, spin);
    let kept = start(&home, &["--persist", "-c", "exec sleep 1000"]);
    named(&home, "sleep", 1);
    let python = wait::until("python", PATIENCE, || {
        home.running().into_iter().find(|pid| leavings::name(*pid).starts_with("python"))
    });
    let first = host(&home);
    signal::kill(Pid::from_raw(first), Signal::SIGKILL).unwrap();
    wait::until("the host to end", PATIENCE, || (!runs(first)).then_some(()));
    wait::until("what spins to end with its host", PATIENCE, || (!runs(python)).then_some(()));
    let found = row(&home, &kept);
    assert_eq!(
        (&found["status"]["kind"], &found["detached"], &found["exit_code"]),
        (&"running".into(), &true.into(), &serde_json::Value::Null),
        "{found}"
    );
    assert_ne!(host(&home), first);
    let lost = wait(&home, &spinning);
    assert_eq!((&lost["status"]["kind"], &lost["exit_code"]), (&"lost".into(), &serde_json::Value::Null), "{lost}");
    let killed = kill(&home, &kept);
    assert_eq!((&killed["result"], &killed["status"]["kind"]), (&"killed".into(), &"stopped".into()), "{killed}");
    assert_nobody_left(&home, "after the second host");
}

#[test]
fn what_an_ended_command_left_can_still_be_ended_when_its_host_was_killed() {
    let home = hosted();
    let id = start(&home, &["--persist", "-c", "setsid sleep 1000 & exit 0"]);
    let left = named(&home, "sleep", 1);
    assert_eq!(wait(&home, &id)["survivors"], serde_json::json!(left));
    let first = host(&home);
    signal::kill(Pid::from_raw(first), Signal::SIGKILL).unwrap();
    wait::until("the host to end", PATIENCE, || (!runs(first)).then_some(()));
    start_text(&home, "true");
    let killed = kill(&home, &id);
    assert_eq!(killed["survivors"], serde_json::json!([]), "{killed}");
    assert_nobody_left(&home, "after the second host");
}
