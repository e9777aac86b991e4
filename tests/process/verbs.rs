//! The verbs as the tests of this harness use them.

use hermes_tests::home::TestHome;
use hermes_tests::leavings;
use hermes_tests::wait::{self, PATIENCE};
use serde_json::Value;

/// A home whose host ends by itself soon after a test that died, and is short with those that do not obey.
pub(crate) fn hosted() -> TestHome {
    hosted_with("")
}

/// The same, with more in `config.toml`: sections other than `host` and `terminal`.
pub(crate) fn hosted_with(more: &str) -> TestHome {
    let home = TestHome::new();
    home.configure(&format!("[host]\nidle_exit = \"60s\"\n[terminal]\nterm_grace = \"300ms\"\n{more}"));
    home
}

/// Starts in the background; gives the id.
pub(crate) fn start(home: &TestHome, arguments: &[&str]) -> String {
    let all = ["run", "-b", "--json"].iter().chain(arguments);
    let document = home.run(all).expect(0).json();
    assert_eq!(document["status"]["kind"], "running", "{document}");
    document["id"].as_str().unwrap().to_owned()
}

/// Starts a text for the shell in the background; gives the id.
pub(crate) fn start_text(home: &TestHome, text: &str) -> String {
    start(home, &["-c", text])
}

/// Waits for the end of a process.
pub(crate) fn wait(home: &TestHome, id: &str) -> Value {
    let document = home.run(["wait", "--json", id]).json();
    assert_eq!(document["timed_out"], false, "{document}");
    document
}

/// Kills it with everything it started.
pub(crate) fn kill(home: &TestHome, id: &str) -> Value {
    home.run(["kill", "--json", id]).json()
}

/// The row of a process.
pub(crate) fn row(home: &TestHome, id: &str) -> Value {
    let document = home.run(["ps", "--all", "--json"]).expect(0).json();
    let rows = document["processes"].as_array().unwrap();
    rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("{id} is not in {document}")).clone()
}

/// The events that wait for the owner `cli`.
pub(crate) fn events(home: &TestHome) -> Vec<Value> {
    let ran = home.run(["events", "--json"]).expect(0);
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A part of what a process printed so far.
pub(crate) fn log(home: &TestHome, id: &str) -> String {
    home.run(["logs", "--json", id]).expect(0).json()["output"].as_str().unwrap().to_owned()
}

/// The processes of a home with this name, once there are as many.
pub(crate) fn named(home: &TestHome, name: &str, count: usize) -> Vec<i32> {
    wait::until(&format!("{count} times {name}"), PATIENCE, || {
        let found: Vec<i32> = home.running().into_iter().filter(|pid| leavings::name(*pid) == name).collect();
        (found.len() >= count).then_some(found)
    })
}

/// Fails if anything runs of the home but its host.
pub(crate) fn assert_nobody_left(home: &TestHome, what: &str) {
    let left: Vec<(i32, String)> = home.running().into_iter().map(|pid| (pid, leavings::name(pid))).collect();
    assert!(left.is_empty(), "{what}: still running: {left:?}");
}

/// The host of a home.
pub(crate) fn host(home: &TestHome) -> i32 {
    wait::until("a host", PATIENCE, || home.host())
}
