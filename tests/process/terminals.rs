//! Terminals: questions are answered, shells are told no lies, and nothing in the output decides when a command has ended.

use std::fs;

use hermes_tests::agent::Agent;
use hermes_tests::leavings;
use hermes_tests::wait::{self, PATIENCE};
use serde_json::json;

use crate::verbs::{assert_nobody_left, hosted, kill, log, start, start_text, wait as wait_for};

/// Questions that programs ask a terminal, and how each answer ends. Who gets none waits for ever.
const QUESTIONS: [(&str, &str, &str); 6] = [
    ("where the cursor is", r"\033[6n", "R"),
    ("what it is", r"\033[c", "c"),
    ("how it is", r"\033[5n", "n"),
    ("how large it is", r"\033[18t", "t"),
    ("whether it knows a mode", r"\033[?2026$p", "y"),
    ("which colour is behind the text", r"\033]11;?\033\\", r"\\"),
];

#[test]
fn a_program_that_asks_its_terminal_is_answered_and_the_question_is_not_shown() {
    let home = hosted();
    for (what, question, last) in QUESTIONS {
        let text = format!(
            "stty -echo; printf '{question}'; IFS= read -rs -d {last} x </dev/tty; printf '%s' \"$x\" | tr -dc '0-9;?>[' \
             | sed 's/^/answer /'; echo"
        );
        let id = start(&home, &["--pty", "-c", &text]);
        let ended = wait_for(&home, &id);
        assert_eq!(ended["exit_code"], 0, "{what}: {ended}");
        let output = ended["output"].as_str().unwrap();
        let answer = output.trim_end().strip_prefix("answer ").unwrap_or_default();
        assert!(answer.chars().any(|found| found.is_ascii_digit()), "{what}: {ended}");
        assert!(!output.contains('\u{1b}') && !output.contains(&question[4..]), "{what}: {ended}");
    }
}

#[test]
fn a_shell_with_job_control_has_nothing_to_complain_about() {
    let home = hosted();
    for shell in ["bash", "sh"] {
        let id = start(&home, &["--pty", "--", shell, "-ic", "echo hi; tty >/dev/null && echo here"]);
        let ended = wait_for(&home, &id);
        let output = ended["output"].as_str().unwrap();
        assert_eq!(ended["exit_code"], 0, "{ended}");
        assert!(output.contains("hi\n") && output.contains("here\n"), "{shell}: {ended}");
        for complaint in ["job control", "process group", "Inappropriate", "tty:"] {
            assert!(!output.contains(complaint), "{shell}: {ended}");
        }
    }
    // Without a terminal, the shell of a text is none that wants one.
    let plain = home.run(["run", "--json", "-c", "echo hi"]).expect(0).json();
    assert_eq!(plain["output"], "hi\n");
    let id = start_text(&home, "echo hi");
    assert_eq!(wait_for(&home, &id)["output"], "hi\n");
}

#[test]
fn an_end_does_not_depend_on_what_is_printed() {
    let home = hosted();
    // Text that is no command, other shells, and marks that a shell with integration would print.
    let cases: [(&str, &[&str], i32); 5] = [
        ("a text that does not parse", &["-c", "tail x 2>1& | echo -"], 2),
        ("another shell", &["--", "dash", "-c", "exit 3"], 3),
        ("a mark of a prompt", &["-c", r"printf '\033]133;D;0\007'; exit 4"], 4),
        ("a mark that never ends", &["-c", r"printf '\033]633;'; exit 5"], 5),
        ("an open quotation", &["-c", "echo 'open"], 2),
    ];
    for (what, arguments, code) in cases {
        for pty in [false, true] {
            let all: Vec<&str> = pty.then_some("--pty").into_iter().chain(arguments.iter().copied()).collect();
            let id = start(&home, &all);
            let ended = wait_for(&home, &id);
            assert_eq!(
                (&ended["status"]["kind"], &ended["exit_code"]),
                (&"exited".into(), &code.into()),
                "{what}, pty {pty}: {ended}"
            );
        }
    }
}

#[test]
fn a_login_shell_that_hangs_or_grabs_the_terminal_holds_nobody_up() {
    let home = hosted();
    // Start-up files that say who reads them, read whatever they are given, ask the terminal, and never end.
    let profile = "cat /proc/$$/stat > ~/asked; cat >/dev/null; read x </dev/tty; sleep 1000\n";
    fs::write(home.everything().join("user/.bash_profile"), profile).unwrap();
    drop(home.run(["run", "-b", "--", "true"]).expect(0));
    let mut agent = Agent::of(&home);
    let told = agent.call("terminal", &json!({"command": "echo here"}));
    assert_eq!((&told["output"], &told["exit_code"]), (&"here\n".into(), &0.into()), "{told}");
    drop(agent);
    wait::until("the shell that was asked to be gone", PATIENCE, || home.running().is_empty().then_some(()));
    let asked = fs::read_to_string(home.everything().join("user/asked")).expect("the login shell was asked");
    let (pid, rest) = asked.split_once(' ').unwrap();
    // After the name and the state: the parent, the group, the session and the terminal; proc(5).
    let words: Vec<&str> = rest.rsplit(')').next().unwrap().split_whitespace().collect();
    assert_eq!(words[3], pid, "it has a session of its own: {asked}");
    assert_eq!(words[4], "0", "it has no terminal: {asked}");
}

#[test]
fn a_terminal_shows_a_prompt_and_takes_an_answer_that_it_does_not_show() {
    let home = hosted();
    let ask = "python3 -c 'import getpass; print(\"got\", len(getpass.getpass(\"Password: \")))'";
    let id = start(&home, &["--pty", "-c", ask]);
    wait::until("the prompt", PATIENCE, || log(&home, &id).contains("Password:").then_some(()));
    drop(home.run(["send", &id, "kleiner-hund", "--enter"]).expect(0));
    let ended = wait_for(&home, &id);
    let output = ended["output"].as_str().unwrap();
    assert!(output.contains("got 12") && !output.contains("kleiner-hund"), "{ended}");
    assert_eq!(home.files_with("kleiner-hund"), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_program_that_holds_its_terminal_is_killed_like_any_other() {
    let home = hosted();
    let id = start(&home, &["--pty", "-c", "trap '' HUP INT TERM; stty raw -echo; while :; do read x; done"]);
    wait::until("it to run", PATIENCE, || (!home.running().is_empty()).then_some(()));
    let host = home.host().unwrap();
    assert_eq!(kill(&home, &id)["result"], "killed");
    assert_nobody_left(&home, "on a terminal");
    assert!(leavings::runs(host));
}
