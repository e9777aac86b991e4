//! No secret leaves a host: not in a reply, not in an event, not on disk, not over the socket.

use std::fs;

use hermes_tests::home::{self, TestHome};
use hermes_tests::hosted::Hosted;
use hermes_tests::wait;
use serde_json::json;

/// A token with its own shape. Nothing real.
const TOKEN: &str = "ghp_Zq8xPl0aMn3vKc7dRt5yWb2eHu9jLs4gTf6k";
/// What only the name of its variable makes a secret.
const PASSWORD: &str = "correct-horse-battery-staple-42";
/// Given to one command only.
const GIVEN: &str = "given-to-one-command-only-7731";
/// So much of a secret in a row counts as shown.
const PIECE: usize = 10;

/// A piece of a secret that is in some bytes.
fn piece_in(bytes: &[u8]) -> Option<String> {
    [TOKEN, PASSWORD, GIVEN].into_iter().find_map(|secret| {
        let pieces = (0..=secret.len() - PIECE).map(|at| &secret[at..at + PIECE]);
        pieces.map(str::to_owned).find(|piece| home::contains(bytes, piece.as_bytes()))
    })
}

fn nothing_in(bytes: &[u8], what: &str) {
    if let Some(piece) = piece_in(bytes) {
        panic!("{what} shows '{piece}':\n{}", String::from_utf8_lossy(bytes));
    }
}

/// Looks at every file that hermes could have written.
fn nothing_on_disk(house: &Hosted) {
    let files = home::files_below(&house.root());
    assert!(files.iter().any(|path| path.ends_with("state.db")), "no ledger to look at: {files:?}");
    for path in files {
        // A socket cannot be read.
        if let Ok(bytes) = fs::read(&path) {
            nothing_in(&bytes, &path.display().to_string());
        }
    }
}

fn secretive() -> Hosted {
    let home = TestHome::new().with("DB_PASSWORD", PASSWORD).with("HERMES_LOG", "trace");
    Hosted::of(home, "")
}

/// Says every secret in several ways, and one in its own command line.
fn telltale() -> String {
    format!(
        "echo token {TOKEN}; echo $DB_PASSWORD $API_TOKEN; printenv; echo \"{{\\\"password\\\": \\\"$DB_PASSWORD\\\"}}\""
    )
}

#[test]
fn no_secret_is_in_a_reply_an_event_a_file_or_the_log() {
    let house = secretive();
    let given = format!("API_TOKEN={GIVEN}");
    let script = telltale();
    let started =
        house.run(&["run", "-b", "--notify", "--env", &given, "--watch", "token", "--json", "-c", &script]).expect(0);
    nothing_in(started.all().as_bytes(), "the answer to a start");
    let id = started.json()["id"].as_str().unwrap().to_owned();
    house.until_ended(&id);
    for ask in [&["ps", "--all"][..], &["ps", "--all", "--json"], &["events", "--json"]] {
        let ran = house.run(ask).expect(0);
        assert!(ran.stdout.contains(&id), "{ask:?} tells nothing: {ran:?}");
        nothing_in(ran.all().as_bytes(), &format!("{ask:?}"));
    }
    for ask in [
        &["logs", &id][..],
        &["logs", &id, "--json"],
        &["logs", &id, "--follow"],
        &["wait", &id],
        &["wait", &id, "--json"],
        &["kill", &id, "--json"],
    ] {
        let ran = house.run(ask).expect(0);
        assert!(ran.stdout.contains("[REDACTED:"), "{ask:?} shows no mask: {ran:?}");
        nothing_in(ran.all().as_bytes(), &format!("{ask:?}"));
    }
    nothing_on_disk(&house);
    house.crash();
    let log = house.run(&["logs", &id]).expect(0);
    assert!(log.stdout.contains("[REDACTED:"), "{log:?}");
    nothing_in(log.all().as_bytes(), "the log of the next host");
    nothing_on_disk(&house);
}

#[test]
fn no_secret_is_in_what_a_crashed_host_leaves_of_a_process_that_runs() {
    let house = secretive();
    let given = format!("API_TOKEN={GIVEN}");
    let script = format!("{}; exec sleep 1000", telltale());
    let id = house.background(&["--notify", "--persist", "--env", &given, "--watch", "token", "-c", &script]);
    wait::until("its output", wait::PATIENCE, || house.row(&id).filter(|row| row["output_bytes"] != 0));
    nothing_on_disk(&house);
    house.crash();
    nothing_on_disk(&house);
    let row = house.row(&id).unwrap();
    assert_eq!(row["detached"], true);
    nothing_in(row.to_string().as_bytes(), "the list of the next host");
    nothing_in(house.run(&["kill", &id, "--json"]).expect(0).all().as_bytes(), "the kill");
    nothing_on_disk(&house);
}

#[test]
fn no_secret_goes_over_the_socket() {
    let house = secretive();
    house.background(&["--", "true"]);
    let mut wire = house.wire();
    let asked = json!({
        "command": telltale(), "background": true, "notify": true, "watch": ["token"],
        "env": {"API_TOKEN": GIVEN, "DB_PASSWORD": PASSWORD},
    });
    let id = wire.call("terminal", asked).unwrap()["id"].as_str().unwrap().to_owned();
    for action in ["wait", "poll", "log", "follow", "kill"] {
        wire.call("process", json!({"action": action, "id": id})).unwrap();
    }
    for action in ["list", "events", "status"] {
        wire.call("process", json!({"action": action, "all": true})).unwrap();
    }
    // What is refused quotes nothing.
    for wrong in [
        json!({"command": TOKEN, "cwd": 1}),
        json!({"command": "true", "timeout_ms": TOKEN}),
        json!({"command": format!("pkill hermes; echo {TOKEN}")}),
    ] {
        wire.call("terminal", wrong).unwrap();
    }
    wire.call("process", json!({"action": TOKEN})).unwrap();
    let foreground = json!({"command": telltale(), "env": {"API_TOKEN": GIVEN, "DB_PASSWORD": PASSWORD}});
    let shown = wire.call("terminal", foreground).unwrap();
    assert!(shown["output"].as_str().unwrap().contains("[REDACTED:"), "{shown}");
    nothing_in(&wire.heard, "the socket");
    nothing_on_disk(&house);
}

#[test]
fn a_secret_that_comes_in_two_writes_is_masked_for_whoever_follows() {
    let house = secretive();
    let (front, rest) = TOKEN.split_at(17);
    // The command says nothing of it: both halves are in files.
    fs::write(house.home().work().join("front"), format!("token {front}")).unwrap();
    let id = house.background(&["-c", "cat front; until [ -e go ]; do sleep 0.05; done; cat go"]);
    wait::until("the first write", wait::PATIENCE, || house.row(&id).filter(|row| row["output_bytes"] != 0));
    let child = house.home().command(["logs", &id, "--follow"]).spawn().unwrap();
    let mut wire = house.wire();
    // Somebody else looks at the half of it, and sees nothing of it either.
    let half = wire.call("process", json!({"action": "log", "id": id})).unwrap();
    // Whole when it is there: it is moved, not written.
    fs::write(house.home().work().join("rest"), format!("{rest} end\n")).unwrap();
    fs::rename(house.home().work().join("rest"), house.home().work().join("go")).unwrap();
    let shown = home::ran(wait::end_of("logs --follow", child, wait::PATIENCE)).expect(0);
    assert!(shown.stdout.contains("[REDACTED:") && shown.stdout.ends_with(" end\n"), "{shown:?}");
    nothing_in(shown.all().as_bytes(), "logs --follow");
    nothing_in(&wire.heard, &format!("the half of it, {half},"));
    nothing_in(house.run(&["logs", &id]).expect(0).stdout.as_bytes(), "logs");
}

#[test]
fn what_a_process_is_sent_and_repeats_is_masked() {
    let house = secretive();
    let id = house.background(&["--pty", "--notify", "-c", "echo begun; read answer; echo got $answer"]);
    wait::until("its first output", wait::PATIENCE, || house.row(&id).filter(|row| row["output_bytes"] != 0));
    let sent = house.run(&["send", &id, TOKEN, "--enter", "--json"]).expect(0);
    nothing_in(sent.all().as_bytes(), "send");
    let told = house.events(1, &[]);
    assert!(told[0]["output"].as_str().unwrap().contains("got [REDACTED:"), "{told:#?}");
    nothing_in(format!("{told:?}").as_bytes(), "the event");
    nothing_in(house.run(&["logs", &id]).expect(0).all().as_bytes(), "logs");
    nothing_on_disk(&house);
}
