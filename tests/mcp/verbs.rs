//! What the command line says of servers: states of hosts that run, and codes that tell the truth.

use std::time::{Duration, Instant};

use hermes_tests::home::snapshot;
use hermes_tests::mcp::Manners;
use hermes_tests::wait::{self, PATIENCE};
use serde_json::json;

use crate::served::{Served, end};

/// How long a list may take while a host does not answer.
const LIST_MAX: Duration = Duration::from_secs(30);

#[test]
fn the_list_has_the_states_of_the_host_that_runs() {
    let served = Served::with(&[
        ("good", &["ok"], ""),
        ("slow", &["slow"], ""),
        ("off", &["ok"], "enabled = false"),
        ("broken", &["broken"], ""),
    ]);
    for name in ["good", "slow", "off", "broken"] {
        let row = served.row(name);
        assert_eq!((row["state"].as_str(), &row["pid"]), (Some("stopped"), &json!(null)), "without a host: {row}");
    }
    let client = served.client();
    client.until_tools(&["good__echo"]);
    let row = served.until_state("good", &["ready"]);
    assert_eq!(row["pid"].as_i64(), served.rude.pid("good").map(i64::from), "{row}");
    assert_eq!((&row["tools"], &row["restarts"], &row["problem"]), (&json!(15), &json!(0), &json!(null)), "{row}");
    assert_eq!(row["protocol"].as_str().map(str::len), Some("2025-06-18".len()), "{row}");
    assert!(row["uptime_ms"].is_u64() && row["command"].as_str().is_some_and(|it| it.contains("rude-server")), "{row}");
    client.say("good__echo", &json!({"text": "x"}));
    served.until_state("good", &["proven"]);
    assert_eq!(served.row("slow")["state"], "starting");
    assert_eq!(served.row("off")["state"], "stopped");
    let row = served.until_state("broken", &["degraded", "parked"]);
    assert!(row["problem"].is_string(), "{row}");
    let table = served.home.run(["mcp", "list"]).expect(0);
    for word in ["good", "proven", "slow", "starting", "off", "disabled"] {
        assert!(table.stdout.contains(word), "no {word} in {table:?}");
    }
    end(&served, &client);
    let row = served.row("good");
    assert_eq!((row["state"].as_str(), &row["pid"]), (Some("stopped"), &json!(null)), "{row}");
}

#[test]
fn a_lazy_server_is_started_by_the_first_look_at_its_tools() {
    let served = Served::with(&[("good", &["ok"], ""), ("lazy", &["ok"], "lazy = true")]);
    let client = served.client();
    served.rude.until_started("good");
    client.call("terminal", &json!({"command": "true"}));
    let row = served.until_state("lazy", &["stopped"]);
    assert_eq!((&row["pid"], served.rude.starts("lazy")), (&json!(null), 0), "{row}");
    assert!(client.tools().contains(&"lazy__echo".to_owned()), "the first list has them");
    assert_eq!(served.rude.starts("lazy"), 1);
    end(&served, &client);
}

#[test]
fn a_list_starts_nothing_and_creates_nothing() {
    let served = Served::with(&[("good", &["ok"], "")]);
    let before = snapshot(&served.home.root());
    served.row("good");
    assert_eq!(served.rude.starts("good"), 0);
    assert_eq!(snapshot(&served.home.root()), before);
}

#[test]
fn a_host_that_does_not_answer_does_not_hold_the_list() {
    let served = Served::with(&[("good", &["ok"], "")]);
    let client = served.client();
    client.until_tools(&["good__echo"]);
    hermes_tests::hosted::signal(client.pid(), nix::sys::signal::Signal::SIGSTOP);
    let began = Instant::now();
    let row = served.row("good");
    assert!(began.elapsed() < LIST_MAX, "{:?} for {row}", began.elapsed());
    hermes_tests::hosted::signal(client.pid(), nix::sys::signal::Signal::SIGCONT);
    served.until_state("good", &["ready"]);
    end(&served, &client);
}

#[test]
fn a_host_that_crashed_is_no_host() {
    let served = Served::with(&[("good", &["ok"], "")]);
    let client = served.client();
    client.until_tools(&["good__echo"]);
    drop(client);
    served.rude.until_gone("after a crash");
    assert_eq!(served.row("good")["state"], "stopped");
}

#[test]
fn a_test_says_whether_a_server_is_well() {
    let served = Served::with(&[("good", &["ok"], ""), ("junk", &["junk"], ""), ("leaves", &["leaves"], "")]);
    for name in ["good", "junk"] {
        let ran = served.home.run(["mcp", "test", name, "--json"]).expect(0);
        let told = ran.json();
        assert_eq!((told["name"].as_str(), &told["ok"], &told["problem"]), (Some(name), &json!(true), &json!(null)));
        assert!(told["connect_ms"].is_u64() && told["protocol"].is_string(), "{told}");
        let tools = told["tools"].as_array().unwrap();
        assert!(tools.contains(&json!("echo")) && tools.len() == 15, "{told}");
        assert_eq!(served.rude.running_of(name), Vec::<i32>::new(), "a test leaves nobody");
        let ran = served.home.run(["mcp", "test", name]).expect(0);
        assert!(ran.stdout.contains(name), "{ran:?}");
    }
}

#[test]
fn a_test_of_one_that_is_not_well_says_why_and_fails() {
    let served = Served::with(&[
        ("broken", &["broken"], ""),
        ("slow", &["under-shell", "stubborn-never"], ""),
        ("dumb", &["slow"], "connect_timeout = \"1s\""),
    ]);
    for name in ["broken", "slow", "dumb"] {
        let ran = served.home.run(["mcp", "test", name, "--json"]).expect(1);
        let told = ran.json();
        assert_eq!(told["ok"], false, "{told}");
        assert!(told["problem"].as_str().is_some_and(|problem| !problem.is_empty()), "{told}");
        assert_eq!(served.rude.running(), Vec::<i32>::new(), "{name}: a test leaves nobody");
    }
    let ran = served.home.run(["mcp", "test", "broken"]).expect(1);
    assert!(ran.all().contains("NEEDED_BY_TEST is not set"), "{ran:?}");
    let ran = served.home.run(["mcp", "test", "brokn"]);
    assert!([Some(1), Some(2)].contains(&ran.code) && ran.stderr.contains("broken"), "did you mean: {ran:?}");
}

#[test]
fn a_test_that_is_interrupted_leaves_nobody() {
    let served = Served::with(&[("slow", &["under-shell", "slow"], "")]);
    for signal in [nix::sys::signal::Signal::SIGINT, nix::sys::signal::Signal::SIGKILL] {
        let test = hermes_tests::mcp::Client::raw(served.home.command(["mcp", "test", "slow"]), Manners::default());
        wait::until("it to run", PATIENCE, || (!served.rude.running().is_empty()).then_some(()));
        hermes_tests::hosted::signal(test.pid(), signal);
        test.ended();
        served.rude.until_gone(&format!("a test that got {signal}"));
    }
}
