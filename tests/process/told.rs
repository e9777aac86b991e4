//! What is told of an end: a kill is never a success, an end is told once, and to somebody.

use std::fs;

use hermes_tests::agent::Agent;
use hermes_tests::wait::{self, PATIENCE};
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::verbs::{
    assert_nobody_left, events, host, hosted, hosted_with, kill, named, row, start, start_text, wait as wait_for,
};

/// How a command ends, and how that is told: the kind, the code, the signal and the exit code.
type Told = (&'static str, &'static [&'static str], &'static str, Value, Value, i32);

fn endings() -> Vec<Told> {
    let none = Value::Null;
    vec![
        ("a success", &["-c", "true"], "exited", json!(0), none.clone(), 0),
        ("a failure", &["-c", "exit 7"], "exited", json!(7), none.clone(), 7),
        ("a kill by itself", &["-c", "kill -9 $$"], "signalled", none.clone(), json!(9), 137),
        ("a signal it sends itself", &["-c", "kill -TERM $$"], "signalled", none.clone(), json!(15), 143),
        ("a crash", &["-c", "kill -SEGV $$"], "signalled", none.clone(), json!(11), 139),
        // A shell that was told of a killed child ends by itself, with a code: that is what is known.
        ("a kill of a child", &["-c", "sh -c 'kill -9 $$'; exit $?"], "exited", json!(137), none.clone(), 137),
        ("a time limit", &["--timeout", "500ms", "--", "sleep", "1000"], "timed-out", none.clone(), none.clone(), 124),
        (
            "a time limit that is answered with a success",
            &["--timeout", "500ms", "-c", "trap 'echo bye; exit 0' TERM; sleep 1000 & wait"],
            "timed-out",
            none.clone(),
            none,
            124,
        ),
    ]
}

#[test]
fn an_end_is_what_it_was_in_front_and_in_the_background() {
    let home = hosted();
    for (what, arguments, kind, code, signal, exit) in endings() {
        let mut in_front = vec!["run", "--json"];
        in_front.extend(arguments);
        let front = home.run(&in_front).expect(exit).json();
        let id = start(&home, arguments);
        let ran = home.run(["wait", "--json", &id]).expect(exit);
        let shown = row(&home, &id);
        for document in [front, ran.json(), shown] {
            let status = &document["status"];
            assert_eq!(
                (&status["kind"], &status["code"], &status["signal"], &document["exit_code"]),
                (&kind.into(), &code, &signal, &exit.into()),
                "{what}: {document}"
            );
        }
    }
}

#[test]
fn a_kill_that_was_asked_for_is_told_as_one_whatever_the_command_says_to_it() {
    let home = hosted();
    let obeys =
        ["sleep 1000", "trap 'echo bye; exit 0' TERM; sleep 1000 & wait", "trap '' TERM; sleep 1000; sleep 1000"];
    for text in obeys {
        let id = start_text(&home, text);
        named(&home, "sleep", 1);
        let killed = kill(&home, &id);
        for document in [killed.clone(), row(&home, &id)] {
            let status = &document["status"];
            assert_eq!((&status["kind"], &status["by"]), (&"stopped".into(), &"kill".into()), "{text}: {document}");
            assert_ne!(document["exit_code"], 0, "{text}: {document}");
        }
        assert_eq!(killed["result"], "killed", "{text}");
    }
}

#[test]
fn a_verdict_waits_for_the_last_of_the_tree() {
    let home = hosted();
    // The child ignores TERM and would finish what it does: the file says whether it did.
    let text =
        "(trap '' TERM; echo $BASHPID > child; until [ -e go ]; do sleep 0.02; done; echo finished > result) & wait";
    let id = start(&home, &["--notify", "-c", text]);
    let child = wait::until("the child", PATIENCE, || {
        fs::read_to_string(home.work().join("child")).ok()?.trim().parse::<i32>().ok()
    });
    assert_eq!(kill(&home, &id)["result"], "killed");
    assert!(!hermes_tests::leavings::runs(child), "it is told as killed and a part of it runs");
    fs::write(home.work().join("go"), "").unwrap();
    assert_nobody_left(&home, "after the verdict");
    assert!(!home.work().join("result").exists());
}

#[test]
fn ends_that_nobody_asked_about_are_ends_for_ever() {
    let home = hosted();
    let ids: Vec<String> = (0..5).map(|code| start(&home, &["--notify", "-c", &format!("exit {code}")])).collect();
    wait::until("all to end", PATIENCE, || {
        let document = home.run(["ps", "--json"]).expect(0).json();
        let rows = document["processes"].as_array()?.clone();
        rows.iter().all(|row| row["status"]["kind"] == "exited").then_some(())
    });
    let told = wait::until("all to be told", PATIENCE, {
        let mut told = Vec::new();
        let home = &home;
        move || {
            told.extend(events(home));
            (told.len() >= 5).then(|| told.clone())
        }
    });
    assert_eq!(told.len(), 5, "{told:?}");
    for (code, id) in ids.iter().enumerate() {
        let of: Vec<&Value> = told.iter().filter(|event| event["process"] == id.as_str()).collect();
        assert_eq!(of.len(), 1, "{id}: {told:?}");
        assert_eq!((&of[0]["kind"], &of[0]["exit_code"]), (&"completion".into(), &code.into()), "{told:?}");
        let again = row(&home, id);
        assert_eq!((&again["status"]["kind"], &again["exit_code"]), (&"exited".into(), &code.into()), "{again}");
        assert_eq!(kill(&home, id)["result"], "already-ended");
    }
    assert_eq!(events(&home), Vec::<Value>::new(), "each is told once");
}

#[test]
fn who_waited_for_an_end_is_not_told_of_it_again_and_who_did_not_is() {
    let home = hosted();
    let waited = start(&home, &["--notify", "-c", "echo one"]);
    wait_for(&home, &waited);
    let ignored = start(&home, &["--notify", "-c", "echo two"]);
    let told = wait::until("an event", PATIENCE, || Some(events(&home)).filter(|told| !told.is_empty()));
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["process"], &told[0]["output"]), (&ignored.into(), &"two\n".into()), "{told:?}");
    assert_eq!(events(&home), Vec::<Value>::new());
}

#[test]
fn notifications_that_are_off_are_off_for_every_kind() {
    let home = hosted_with("[notifications]\nbackground = \"off\"\n");
    let id = start(&home, &["--notify", "--watch", "ready", "-c", "echo ready; echo ready; exit 3"]);
    wait::until("its end", PATIENCE, || (row(&home, &id)["status"]["kind"] == "exited").then_some(()));
    assert_eq!(events(&home), Vec::<Value>::new());
    let muted = start(&home, &["--watch", "ready", "-c", "echo ready; sleep 1000"]);
    wait::until("the word", PATIENCE, || crate::verbs::log(&home, &muted).contains("ready").then_some(()));
    assert_eq!(events(&home), Vec::<Value>::new());
    assert_eq!(kill(&home, &muted)["result"], "killed");
}

#[test]
fn a_word_that_comes_again_and_again_is_told_once_and_then_counted() {
    let home = hosted();
    let text = "for i in 1 2 3 4 5; do echo ERROR $i; done; read x; echo ERROR last; read x";
    let id = start(&home, &["--stdin", "--watch", "ERROR", "-c", text]);
    let first = wait::until("a match", PATIENCE, || events(&home).into_iter().next());
    assert_eq!((&first["kind"], &first["pattern"]), (&"match".into(), &"ERROR".into()), "{first}");
    drop(home.run(["send", &id, "", "--enter"]).expect(0));
    wait::until("the last", PATIENCE, || crate::verbs::log(&home, &id).contains("last").then_some(()));
    assert_eq!(events(&home), Vec::<Value>::new(), "within the rest after a match");
    kill(&home, &id);
}

#[test]
fn a_word_that_never_stops_wakes_nobody_for_ever() {
    let home = hosted();
    let id = start(&home, &["--watch", "ERROR", "-c", "while :; do echo ERROR; sleep 0.2; done"]);
    let mut told = Vec::new();
    // Three spans of 15 s in a row with matches that were only counted.
    wait::until("the end of the watch", 3 * PATIENCE, || {
        told.extend(events(&home));
        told.iter().any(|event| event["kind"] == "watch-disabled").then_some(())
    });
    let matches = told.iter().filter(|event| event["kind"] == "match").count();
    assert!((1..=8).contains(&matches), "{told:?}");
    assert!(told.iter().any(|event| event["suppressed"].as_u64().is_some_and(|lines| lines > 0)), "{told:?}");
    kill(&home, &id);
}

#[test]
fn many_who_match_at_once_are_told_together() {
    let home = hosted();
    start_text(&home, "true");
    let mut agent = Agent::of(&home);
    // 15 matches in ten seconds are told, of all processes together.
    for _ in 0..20 {
        let told = agent
            .call("terminal", &json!({"command": "echo ERROR; sleep 1000", "background": true, "watch": ["ERROR"]}));
        assert_eq!(told["status"]["kind"], "running", "{told}");
    }
    drop(agent);
    let mut told = Vec::new();
    wait::until("the overflow", PATIENCE, || {
        told.extend(events(&home));
        told.iter().any(|event| event["kind"] == "watch-overflow").then_some(())
    });
    assert!(told.iter().filter(|event| event["kind"] == "match").count() <= 15, "{told:?}");
    drop(home.run(["kill", "--all"]).expect(0));
    assert_nobody_left(&home, "the watched");
}

#[test]
fn a_waiter_that_goes_away_takes_nothing_with_it() {
    let home = hosted();
    let id = start(&home, &["--notify", "-c", "until [ -e go ]; do sleep 0.02; done; echo done"]);
    let host = host(&home);
    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        let mut waiter = home.command(["wait", &id]).spawn().unwrap();
        let pid = i32::try_from(waiter.id()).unwrap();
        // It waits once it is connected: it holds a socket then.
        wait::until("it to wait", PATIENCE, || {
            let open = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
            let sockets = open.filter(|entry| {
                fs::read_link(entry.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
            });
            (sockets.count() > 0).then_some(())
        });
        signal::kill(Pid::from_raw(pid), signal).unwrap();
        wait::until("it to end", PATIENCE, || waiter.try_wait().unwrap());
        assert_eq!(row(&home, &id)["status"]["kind"], "running", "{signal}");
    }
    fs::write(home.work().join("go"), "").unwrap();
    let told = wait::until("its end", PATIENCE, || events(&home).into_iter().next());
    assert_eq!((&told["process"], &told["output"]), (&id.into(), &"done\n".into()), "{told}");
    assert_eq!(home.host(), Some(host));
}

#[test]
fn a_call_that_is_taken_back_ends_its_command_and_no_other() {
    let home = hosted();
    let other = start_text(&home, "exec sleep 1000");
    let mut agent = Agent::of(&home);
    let call = agent.begin("terminal", &json!({"command": "setsid sleep 1000 & sleep 1000"}));
    named(&home, "sleep", 3);
    agent.cancel(call);
    wait::until("the command to end", PATIENCE, || (home.running().len() == 1).then_some(()));
    wait::until("the host to know it", PATIENCE, || {
        (agent.call("process", &json!({"action": "status"}))["running"] == 1).then_some(())
    });
    // The end of the client is an end of its calls too.
    agent.begin("terminal", &json!({"command": "setsid sleep 1000 & sleep 1000"}));
    named(&home, "sleep", 3);
    drop(agent);
    wait::until("the command to end", PATIENCE, || (home.running().len() == 1).then_some(()));
    assert_eq!(row(&home, &other)["status"]["kind"], "running");
    assert_eq!(kill(&home, &other)["result"], "killed");
}
