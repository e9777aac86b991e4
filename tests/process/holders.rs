//! A command has ended when its process has, whoever still holds its output. Each of these would hang whoever waits for
//! the end of a pipe: what they leave sleeps for longer than any patience.

use std::fs;

use hermes_tests::home::TestHome;
use hermes_tests::leavings;
use hermes_tests::wait::{self, PATIENCE};

use crate::verbs::{assert_nobody_left, host, hosted, kill, named, row, start, start_text, wait};

/// What holds the output, what is shown all the same, and how many are left.
const HOLDERS: [(&str, &str, &str, usize); 7] = [
    ("a child", "sleep 1000 & echo done", "done\n", 1),
    ("a silent child", "sleep 1000 >/dev/null 2>&1 & echo done", "done\n", 1),
    ("a child in another session", "setsid sleep 1000 & echo done", "done\n", 1),
    ("a child on one stream", "sleep 1000 2>/dev/null & echo done >&2", "done\n", 1),
    ("a process substitution", "exec > >(tee -a copy) 2>&1; sleep 1000 & echo done", "done\n", 2),
    ("the last of a chain", "echo done && sleep 1000 &", "done\n", 2),
    ("a makefile", "make -s -f makefile", "done\n", 1),
];

fn with_makefile(home: &TestHome) {
    fs::write(home.work().join("makefile"), "all:\n\t@sleep 1000 & echo done\n").unwrap();
}

#[test]
fn nobody_waits_for_those_who_hold_the_output_in_front() {
    let home = TestHome::new();
    with_makefile(&home);
    for (what, text, shown, left) in HOLDERS {
        let document = home.run(["run", "--json", "-c", text]).expect(0).json();
        // In a chain in the background the shell may be gone before the chain begins.
        let chain = text.ends_with('&');
        assert!(document["output"] == shown || chain, "{what}: {document}");
        assert_eq!(document["status"]["kind"], "exited", "{what}: {document}");
        let named = document["survivors"].as_array().unwrap().len();
        assert!((1..=left).contains(&named), "{what}: {document}");
        assert_nobody_left(&home, what);
    }
}

#[test]
fn nobody_waits_for_those_who_hold_the_output_in_the_background() {
    let home = hosted();
    with_makefile(&home);
    for (what, text, shown, left) in HOLDERS {
        let id = start_text(&home, text);
        let ended = wait(&home, &id);
        assert_eq!((&ended["status"]["kind"], &ended["exit_code"]), (&"exited".into(), &0.into()), "{what}: {ended}");
        assert!(ended["output"] == shown || text.ends_with('&'), "{what}: {ended}");
        let named = ended["survivors"].as_array().unwrap().len();
        assert!((1..=left).contains(&named), "{what}: {ended}");
        assert_eq!(row(&home, &id)["survivors"].as_array().unwrap().len(), named, "{what}");
        assert_eq!(kill(&home, &id)["result"], "already-ended", "{what}");
        assert_nobody_left(&home, what);
    }
}

#[test]
fn a_pipe_that_never_ends_does_not_hold_up_a_time_limit() {
    let home = hosted();
    let text = "mkfifo p; (while :; do echo c; sleep 0.1; done) >p & cat p";
    let ran = home.run(["run", "--json", "--timeout", "1s", "-c", text]).expect(124).json();
    assert!(ran["output"].as_str().unwrap().contains("c\n"), "{ran}");
    assert_nobody_left(&home, "in front");
    fs::remove_file(home.work().join("p")).unwrap();
    let id = start(&home, &["--timeout", "1s", "-c", text]);
    assert_eq!(wait(&home, &id)["status"]["kind"], "timed-out");
    assert_nobody_left(&home, "in the background");
}

#[test]
fn a_command_that_starts_a_daemon_runs_to_its_end() {
    let home = hosted();
    let id = start(&home, &["--", "sh", "-c", "setsid sleep 1000 & until [ -e go ]; do sleep 0.05; done; echo END"]);
    named(&home, "sleep", 1);
    assert_eq!(row(&home, &id)["status"]["kind"], "running");
    fs::write(home.work().join("go"), "").unwrap();
    let ended = wait(&home, &id);
    assert_eq!((&ended["output"], &ended["exit_code"]), (&"END\n".into(), &0.into()), "{ended}");
    let daemon = named(&home, "sleep", 1);
    assert_eq!(ended["survivors"], serde_json::json!(daemon), "{ended}");
    kill(&home, &id);
    assert_nobody_left(&home, "the daemon");
}

#[test]
fn a_server_that_was_left_behind_may_go_on_printing() {
    let home = hosted();
    let id =
        start_text(&home, "(while :; do echo tick; date +%N > beat; sleep 0.05; done) & until [ -e beat ]; do :; done");
    assert_eq!(wait(&home, &id)["exit_code"], 0);
    // It prints after the end of the command: no broken pipe ends it.
    let beat = || fs::read_to_string(home.work().join("beat")).unwrap_or_default();
    for _ in 0..5 {
        let last = beat();
        wait::until("it to go on", PATIENCE, || (beat() != last && !beat().is_empty()).then_some(()));
    }
    kill(&home, &id);
    assert_nobody_left(&home, "the server");
}

#[test]
fn a_terminal_is_closed_with_what_ran_in_it() {
    let home = hosted();
    start_text(&home, "true");
    let host = host(&home);
    let masters = || {
        let open = fs::read_dir(format!("/proc/{host}/fd")).unwrap().flatten();
        open.filter(|entry| fs::read_link(entry.path()).is_ok_and(|to| to.ends_with("ptmx"))).count()
    };
    let before = leavings::descriptors_and_threads(host);
    let ids: Vec<String> = (0..4).map(|_| start(&home, &["--pty", "--", "sleep", "1000"])).collect();
    assert!(masters() >= 4, "they have terminals");
    for id in &ids {
        assert_eq!(kill(&home, id)["result"], "killed");
    }
    wait::until("the terminals to be closed", PATIENCE, || (masters() == 0).then_some(()));
    wait::until("the descriptors to be closed", PATIENCE, || {
        (leavings::descriptors_and_threads(host).0 <= before.0 + 1).then_some(())
    });
}
