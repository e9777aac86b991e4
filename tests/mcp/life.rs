//! How servers begin and end: slow is not failed, a fault is bounded, and nobody waits for one that is gone.

use std::fs;
use std::time::{Duration, Instant};

use hermes_tests::hosted::{runs, signal, throughout, until_gone};
use hermes_tests::wait::{self, PATIENCE};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::served::{Served, end, failure};

/// What ought to be at once is quicker than this, on a busy machine too.
const AT_ONCE: Duration = Duration::from_secs(10);
/// A server that ends by itself again and again is started not more often than this.
const STARTS_MAX: usize = 8;
/// An end in steps takes no longer than this: two steps of two seconds, and what a busy machine adds.
const LADDER_MAX: Duration = Duration::from_secs(20);

#[test]
fn slow_is_not_failed_and_delays_nobody() {
    let served = Served::with(&[("slow", &["slow"], ""), ("one", &["ok"], ""), ("two", &["ok"], "")]);
    let client = served.client();
    client.until_tools(&["one__echo", "two__echo"]);
    assert_eq!(client.say("one__echo", &json!({"text": "x"})), "x");
    assert_eq!(served.row("slow")["state"], "starting");
    assert!(!client.tools().contains(&"slow__echo".to_owned()));
    let told = client.notifications("notifications/tools/list_changed").len();
    served.rude.open("slow");
    client.until_notified("notifications/tools/list_changed", told + 1);
    client.until_tools(&["slow__echo"]);
    assert_eq!(client.say("slow__echo", &json!({"text": "late"})), "late");
    assert_eq!(served.rude.starts("slow"), 1);
    end(&served, &client);
}

#[test]
fn one_that_never_answers_leaves_no_process_behind_for_each_try() {
    let served = Served::with(&[("slow", &["under-shell", "slow"], "connect_timeout = \"500ms\"")]);
    let client = served.client();
    wait::until("a second try", PATIENCE, || (served.rude.starts("slow") > 1).then_some(()));
    throughout(Duration::from_secs(2), || {
        // The shell and the server behind it.
        assert!(served.rude.running_of("slow").len() <= 2, "{:?}", served.rude.running_of("slow"));
    });
    let row = served.until_state("slow", &["parked"]);
    assert!(row["problem"].is_string() && row["tools"] == 0, "{row}");
    assert!(served.rude.starts("slow") <= 5, "{:?}", served.rude.lines("slow"));
    assert_eq!(served.rude.running_of("slow"), Vec::<i32>::new());
    end(&served, &client);
}

#[test]
fn one_that_greets_and_ends_is_started_a_few_times_whoever_comes() {
    let served = Served::with(&[("leaves", &["leaves"], ""), ("good", &["ok"], "")]);
    let host = served.host();
    let client = served.join();
    client.until_tools(&["good__echo"]);
    let row = served.until_state("leaves", &["parked"]);
    assert!(row["problem"].is_string() && row["pid"].is_null(), "{row}");
    let starts = served.rude.starts("leaves");
    assert!((2..=STARTS_MAX).contains(&starts), "{starts}");
    for _ in 0..10 {
        let client = served.join();
        client.until_tools(&["good__echo"]);
    }
    assert!(served.rude.starts("leaves") <= starts + 1, "sessions started it: {}", served.rude.starts("leaves"));
    signal(host.pid(), Signal::SIGTERM);
    assert_eq!(host.ended().code(), Some(0));
    served.rude.until_gone("after the host");
}

#[test]
fn one_that_cannot_start_is_tried_a_few_times_and_its_last_words_are_told_without_the_secret() {
    let secret = crate::served::TOKEN;
    let served = Served::with(&[("broken", &["--secret", secret, "broken"], ""), ("good", &["ok"], "")]);
    let client = served.client();
    client.until_tools(&["good__echo"]);
    let row = served.until_state("broken", &["parked"]);
    let problem = row["problem"].as_str().unwrap();
    assert!(problem.contains("NEEDED_BY_TEST is not set"), "{problem}");
    crate::served::nothing_of(secret, row.to_string().as_bytes(), "the list");
    let starts = served.rude.starts("broken");
    assert!((2..=5).contains(&starts), "{starts}");
    end(&served, &client);
}

#[test]
fn one_that_is_not_there_is_parked_at_once_and_the_others_serve() {
    let served = Served::with(&[("good", &["ok"], "")]);
    let config = served.home.root().join("config.toml");
    let more = "[mcp_servers.missing]\ncommand = \"no-such-program-anywhere\"\n";
    fs::write(&config, format!("{}{more}", fs::read_to_string(&config).unwrap())).unwrap();
    let client = served.client();
    client.until_tools(&["good__echo"]);
    let row = served.until_state("missing", &["parked"]);
    let problem = row["problem"].as_str().unwrap();
    assert!(problem.contains("mcp_servers.missing") && problem.contains("not found"), "{row}");
    assert_eq!(client.say("good__echo", &json!({"text": "x"})), "x");
    end(&served, &client);
}

/// Ends a server in the middle of a call, and gives the answer to the call and how long it took.
fn ended_in_the_middle(served: &Served, end_it: impl FnOnce(i32), tool: &str, arguments: &Value) -> Value {
    let client = served.client();
    client.until_tools(&["dies__echo"]);
    client.say("dies__echo", &json!({"text": "proven"}));
    let calls = served.rude.calls("dies");
    let id = client.begin_call(tool, arguments);
    wait::until("the call", PATIENCE, || (served.rude.calls("dies") > calls).then_some(()));
    end_it(served.rude.pid("dies").unwrap());
    let ended = Instant::now();
    let (mut answer, at) = client.answer_within(id, PATIENCE).expect("an answer");
    assert!(at.saturating_duration_since(ended) < AT_ONCE, "{:?}", at - ended);
    assert_eq!(client.say("dies__echo", &json!({"text": "again"})), "again");
    assert_eq!(served.rude.calls("dies"), calls + 2, "a call was repeated: {:?}", served.rude.lines("dies"));
    answer["result"].take()
}

#[test]
fn a_call_whose_server_ends_in_the_middle_fails_at_once_and_is_not_repeated() {
    for (what, tool, arguments) in [
        ("killed", "dies__wait", json!({"file": "/nonexistent/never"})),
        ("exit 0", "dies__exit", json!({"code": 0})),
        ("exit 1", "dies__exit", json!({"code": 1})),
        ("crash", "dies__crash", json!({})),
    ] {
        let served = Served::with(&[("dies", &["ok"], "")]);
        let kill = |pid: i32| {
            if what == "killed" {
                signal(pid, Signal::SIGKILL);
            }
        };
        let result = ended_in_the_middle(&served, kill, tool, &arguments);
        failure(&result);
        let document = &result["structuredContent"];
        let uncertain = [&document["outcome_uncertain"], &document["error"]["outcome_uncertain"]];
        assert!(uncertain.into_iter().any(|it| *it == true), "{what}: {result}");
        assert!(served.rude.starts("dies") >= 2, "{what}");
    }
}

#[test]
fn a_call_to_one_that_ended_before_it_starts_it_again() {
    let served = Served::with(&[("good", &["ok"], "")]);
    let client = served.client();
    client.until_tools(&["good__echo"]);
    client.say("good__echo", &json!({"text": "proven"}));
    let first = served.rude.pid("good").unwrap();
    signal(first, Signal::SIGKILL);
    until_gone(&[first]);
    wait::until("the host to have seen it", PATIENCE, || (served.row("good")["pid"] != first).then_some(()));
    let row = served.row("good");
    assert!(row["pid"].is_null() || row["pid"] != first, "a server that is gone has no process: {row}");
    assert_eq!(client.say("good__echo", &json!({"text": "again"})), "again");
    let row = served.until_state("good", &["proven"]);
    assert_eq!(row["pid"].as_i64(), served.rude.pid("good").map(i64::from), "{row}");
    assert_eq!((row["restarts"].as_u64(), served.rude.starts("good")), (Some(1), 2), "{row}");
    end(&served, &client);
}

#[test]
fn one_that_closes_its_output_and_stays_is_ended() {
    let served = Served::with(&[("mute", &["mute"], "")]);
    let client = served.client();
    served.rude.until_noted("mute", "closed");
    let first = served.rude.pid("mute").unwrap();
    until_gone(&[first]);
    end(&served, &client);
}

#[test]
fn an_end_goes_step_by_step_and_has_an_end_itself() {
    let served = Served::with(&[
        ("good", &["ok"], ""),
        ("busy", &["busy"], ""),
        ("deaf", &["deaf"], ""),
        ("stubborn", &["stubborn"], ""),
        ("shell", &["under-shell", "deaf"], ""),
        ("forked", &["twice-forked", "stubborn"], ""),
        ("daemon", &["daemon"], ""),
        ("fifty", &["fifty"], ""),
        ("heirs", &["heirs"], ""),
    ]);
    let client = served.client();
    client.until_tools(&["good__echo", "busy__echo", "deaf__echo", "stubborn__echo", "shell__echo", "daemon__echo"]);
    client.until_tools(&["forked__echo", "fifty__echo", "heirs__echo"]);
    let began = Instant::now();
    client.close();
    assert_eq!(client.ended().code(), Some(0), "{}", client.errors());
    assert!(began.elapsed() < LADDER_MAX, "{:?}", began.elapsed());
    assert_eq!(served.rude.running(), Vec::<i32>::new(), "left when the host had ended in order");
}

#[test]
fn whoever_ends_a_server_lets_it_tidy_up_first() {
    for how in [None, Some(Signal::SIGTERM), Some(Signal::SIGKILL)] {
        let served = Served::with(&[("tidy", &["tidy"], ""), ("launched", &["launcher", "tidy"], "")]);
        let client = served.client();
        client.until_tools(&["tidy__echo", "launched__echo"]);
        match how {
            None => client.close(),
            Some(how) => signal(client.pid(), how),
        }
        client.ended();
        served.rude.until_gone(&format!("the host ended by {how:?}"));
        for name in ["tidy", "launched"] {
            served.rude.until_noted(name, "tidied up");
        }
    }
}

#[test]
fn a_call_that_is_taken_back_frees_its_place_and_the_server_is_told() {
    let served = Served::with(&[("good", &["ok"], "parallel = 1")]);
    let client = served.client();
    client.until_tools(&["good__wait"]);
    let id = client.begin_call("good__wait", &json!({"file": "/nonexistent/never"}));
    wait::until("the call", PATIENCE, || (served.rude.calls("good") == 1).then_some(()));
    let second = client.begin_call("good__echo", &json!({"text": "next"}));
    client.notify("notifications/cancelled", &json!({"requestId": id, "reason": "enough"}));
    assert_eq!(client.answer(second)["result"]["content"][0]["text"], "next");
    served.rude.until_noted("good", "cancelled wait");
    assert_eq!(served.rude.starts("good"), 1);
    end(&served, &client);
}

#[test]
fn a_call_that_takes_too_long_is_given_up_and_the_server_is_told() {
    let served = Served::with(&[("dumb", &["dumb"], "timeout = \"1s\""), ("good", &["ok"], "timeout = \"1s\"")]);
    let client = served.client();
    client.until_tools(&["dumb__echo", "good__wait"]);
    let began = Instant::now();
    let result = client.call("dumb__echo", &json!({"text": "x"}));
    assert!(began.elapsed() >= Duration::from_secs(1) && began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    let message = failure(&result)["message"].as_str().unwrap();
    assert!(message.contains("dumb") && message.contains("timeout"), "{message}");
    served.rude.until_noted("dumb", "told notifications/cancelled");
    assert_eq!((served.rude.starts("dumb"), served.rude.calls("dumb")), (1, 1));

    // One that shows that it lives is given more time, whether or not anybody else wants to know of it.
    let gate = served.home.work().join("go");
    let params = json!({"name": "good__wait", "arguments": {"file": gate}, "_meta": {"progressToken": "p"}});
    let id = client.begin("tools/call", &params);
    throughout(Duration::from_millis(2500), || {});
    fs::write(&gate, "").unwrap();
    assert_eq!(client.answer(id)["result"]["content"][0]["text"], "waited");
    let progress = client.notifications("notifications/progress");
    assert!(progress.len() > 3 && progress.iter().all(|params| params["progressToken"] == "p"), "{progress:?}");
    end(&served, &client);
}

#[test]
fn a_server_that_a_cancellation_kills_is_no_more_than_a_server_that_ended() {
    let served = Served::with(&[("delicate", &["delicate"], "")]);
    let client = served.client();
    client.until_tools(&["delicate__wait"]);
    client.say("delicate__echo", &json!({"text": "proven"}));
    let first = served.rude.pid("delicate").unwrap();
    let id = client.begin_call("delicate__wait", &json!({"file": "/nonexistent/never"}));
    wait::until("the call", PATIENCE, || (served.rude.calls("delicate") == 2).then_some(()));
    client.notify("notifications/cancelled", &json!({"requestId": id}));
    until_gone(&[first]);
    // Until then a call could be given to a server that is gone, and its end be uncertain.
    wait::until("the host to have seen it", PATIENCE, || (served.row("delicate")["pid"] != first).then_some(()));
    assert_eq!(client.say("delicate__echo", &json!({"text": "again"})), "again");
    end(&served, &client);
}

#[test]
fn every_version_of_the_protocol_is_spoken() {
    let versions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
    let words: Vec<[&str; 2]> = versions.iter().map(|version| ["fixed", *version]).collect();
    let names = ["v0", "v1", "v2", "v3"];
    let entries: Vec<(&str, &[&str], &str)> =
        names.iter().zip(&words).map(|(name, words)| (*name, &words[..], "")).collect();
    let served = Served::with(&entries);
    let client = served.client();
    for (name, version) in names.iter().zip(versions) {
        client.until_tools(&[&format!("{name}__echo")]);
        assert_eq!(client.say(&format!("{name}__echo"), &json!({"text": version})), version);
        assert_eq!(served.row(name)["protocol"], version);
    }
    end(&served, &client);
    let served = Served::with(&[("odd", &["fixed", "1871-01-18"], ""), ("good", &["ok"], "")]);
    let client = served.client();
    client.until_tools(&["good__echo"]);
    wait::until("a word on the version nobody speaks", PATIENCE, || {
        let row = served.row("odd");
        (row["problem"].is_string() || row["protocol"] == "1871-01-18").then_some(())
    });
    end(&served, &client);
}

#[test]
fn one_that_nobody_asks_is_retired_and_comes_back_when_it_is_asked() {
    let served = Served::with(&[("idle", &["ok"], "idle_timeout = \"1s\"")]);
    let client = served.client();
    client.until_tools(&["idle__echo"]);
    client.say("idle__echo", &json!({"text": "x"}));
    let first = served.rude.pid("idle").unwrap();
    until_gone(&[first]);
    let row = served.until_state("idle", &["stopped"]);
    assert!(row["problem"].is_null() && row["pid"].is_null(), "{row}");
    assert!(client.tools().contains(&"idle__echo".to_owned()), "its tools stay");
    assert_eq!(client.say("idle__echo", &json!({"text": "back"})), "back");
    assert_eq!(served.rude.starts("idle"), 2);
    end(&served, &client);
}

#[test]
fn one_that_lives_and_does_nothing_is_left_alone() {
    let served = Served::with(&[("good", &["ok"], "")]);
    let client = served.client();
    client.until_tools(&["good__echo"]);
    let pid = served.rude.until_started("good");
    let asked = |served: &Served| served.rude.lines_with("good", "asked ping").len();
    throughout(Duration::from_secs(2), || assert!(runs(pid)));
    assert_eq!((served.rude.starts("good"), asked(&served)), (1, 0), "nobody asked for pings");
    end(&served, &client);
}
