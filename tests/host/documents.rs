//! What `--json` prints has every field it promises, with `null` for what is unknown.

use hermes_tests::hosted::Hosted;
use serde_json::Value;

const RUN: &str = "id command owner pid status exit_code output output_bytes output_cut duration_ms survivors policy";
const ROW: &str = "id command owner pid pty cwd started_at ended_at uptime_ms status exit_code output_bytes preview \
                   watch notify heartbeat_ms persist detached";
const LOG: &str = "id command status exit_code output first_line lines total_lines output_bytes output_cut policy";
const KILL: &str = "id result status exit_code survivors output output_cut policy";
const SEND: &str = "id bytes_written result";
const EVENT: &str = "id seq kind process owner at status exit_code output output_cut pattern suppressed hidden policy";
const STATUS: &str = "kind code signal by reason";
const POLICY: &str = "generation transformed_by redactions withheld warnings";

fn has(document: &Value, fields: &str) {
    let object = document.as_object().unwrap_or_else(|| panic!("no object: {document}"));
    for field in fields.split_whitespace() {
        assert!(object.contains_key(field), "'{field}' is missing: {document:#}");
    }
    if let Some(status) = object.get("status") {
        let status = status.as_object().unwrap_or_else(|| panic!("no status: {document}"));
        assert!(STATUS.split(' ').all(|field| status.contains_key(field)), "{document:#}");
    }
    if let Some(policy) = object.get("policy") {
        let policy = policy.as_object().unwrap_or_else(|| panic!("no policy: {document}"));
        assert!(POLICY.split(' ').all(|field| policy.contains_key(field)), "{document:#}");
    }
}

/// A moment as RFC 3339 says it in UTC.
fn is_time(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.len() >= 20 && text.as_bytes()[10] == b'T' && text.ends_with('Z'))
}

#[test]
fn a_start_is_told_with_every_field() {
    let house = Hosted::new();
    let run = house.json(&["run", "-b", "--owner", "agent-1", "--", "sleep", "1000"]);
    has(&run, RUN);
    assert_eq!((&run["status"]["kind"], &run["exit_code"]), (&"running".into(), &Value::Null));
    assert_eq!((&run["output"], &run["owner"]), (&"".into(), &"agent-1".into()));
    assert!(run["command"].as_str().unwrap().contains("sleep"), "{run}");
    let pid = run["pid"].as_i64().unwrap();
    assert!(hermes_tests::hosted::runs(i32::try_from(pid).unwrap()));
}

#[test]
fn a_row_has_every_field() {
    let house = Hosted::new();
    let args =
        ["--pty", "--notify", "--persist", "--watch", "ready", "--heartbeat", "2m", "-c", "echo begun; sleep 1000"];
    let id = house.background(&args);
    let row = hermes_tests::wait::until("its first output", hermes_tests::wait::PATIENCE, || {
        house.row(&id).filter(|row| row["preview"].as_str().is_some_and(|text| text.contains("begun")))
    });
    has(&row, ROW);
    assert!(is_time(&row["started_at"]) && row["ended_at"].is_null(), "{row}");
    for field in ["pty", "notify", "persist"] {
        assert_eq!(row[field], true, "{field} of {row}");
    }
    assert_eq!((&row["detached"], &row["heartbeat_ms"]), (&false.into(), &120_000.into()));
    assert_eq!(row["watch"], serde_json::json!(["ready"]));
    let cwd = std::fs::canonicalize(house.home().work()).unwrap();
    assert_eq!(row["cwd"], cwd.to_str().unwrap());
    assert!(row["uptime_ms"].as_u64().is_some() && row["output_bytes"].as_u64().unwrap() >= 5, "{row}");

    let over = house.background(&["-c", "exit 7"]);
    let row = house.until_ended(&over);
    has(&row, ROW);
    assert!(is_time(&row["ended_at"]), "{row}");
    assert_eq!((&row["status"]["kind"], &row["exit_code"]), (&"exited".into(), &7.into()));
    assert_eq!((&row["heartbeat_ms"], &row["persist"]), (&Value::Null, &false.into()));
}

#[test]
fn a_log_has_every_field_and_the_lines_that_were_asked_for() {
    let house = Hosted::new();
    let id = house.background(&["-c", "seq 1 500; exit 3"]);
    house.until_ended(&id);
    let log = house.json(&["logs", &id]);
    has(&log, LOG);
    assert_eq!((&log["total_lines"], &log["lines"], &log["first_line"]), (&500.into(), &200.into(), &300.into()));
    assert_eq!((&log["status"]["kind"], &log["exit_code"]), (&"exited".into(), &3.into()));
    assert!(log["output"].as_str().unwrap().starts_with("301\n"), "{log}");
    let head = house.json(&["logs", &id, "--offset", "0", "--limit", "2"]);
    assert_eq!((&head["output"], &head["first_line"], &head["lines"]), (&"1\n2\n".into(), &0.into(), &2.into()));
    // 1 to 9, 10 to 99, 100 to 500, each with a line end.
    assert_eq!(head["output_bytes"], 9 * 2 + 90 * 3 + 401 * 4);
}

#[test]
fn a_wait_has_every_field_of_a_run_and_says_whether_it_ran_out() {
    let house = Hosted::new();
    let id = house.background(&["-c", "echo done; exit 3"]);
    let ran = house.run(&["wait", &id, "--json"]).expect(3);
    let over = ran.json();
    has(&over, RUN);
    assert_eq!((&over["timed_out"], &over["exit_code"], &over["output"]), (&false.into(), &3.into(), &"done\n".into()));

    let id = house.background(&["-c", "echo begun; sleep 1000"]);
    let ran = house.run(&["wait", &id, "--timeout", "300ms", "--json"]).expect(124);
    let under_way = ran.json();
    has(&under_way, RUN);
    assert_eq!((&under_way["timed_out"], &under_way["status"]["kind"]), (&true.into(), &"running".into()));
    assert_eq!(under_way["exit_code"], Value::Null);
    assert_eq!(house.row(&id).unwrap()["status"]["kind"], "running", "the wait ended it");
}

#[test]
fn a_kill_has_every_field_and_is_never_success() {
    let house = Hosted::new();
    let id = house.background(&["--notify", "-c", "echo begun; exec sleep 1000"]);
    hermes_tests::wait::until("its first output", hermes_tests::wait::PATIENCE, || {
        house.row(&id).filter(|row| row["output_bytes"] != 0)
    });
    let killed = house.json(&["kill", &id]);
    has(&killed, KILL);
    assert_eq!((&killed["result"], &killed["status"]["kind"]), (&"killed".into(), &"stopped".into()));
    assert_ne!(killed["exit_code"], 0);
    assert_eq!((&killed["survivors"], &killed["output"]), (&serde_json::json!([]), &"begun\n".into()));
    let again = house.json(&["kill", &id]);
    has(&again, KILL);
    assert_eq!((&again["result"], &again["status"]["kind"]), (&"already-ended".into(), &"stopped".into()));
    assert!(house.take_events(&[]).is_empty(), "whoever killed it was told already");
}

#[test]
fn something_sent_has_every_field() {
    let house = Hosted::new();
    let id = house.background(&["--stdin", "--", "cat"]);
    let sent = house.json(&["send", &id, "four"]);
    has(&sent, SEND);
    assert_eq!((&sent["result"], &sent["bytes_written"]), (&"ok".into(), &4.into()));
    let deaf = house.background(&["--", "sleep", "1000"]);
    let ran = house.run(&["send", &deaf, "four", "--json"]).expect(1);
    has(&ran.json(), SEND);
    assert_eq!((&ran.json()["result"], &ran.json()["bytes_written"]), (&"no-stdin".into(), &0.into()));
}

#[test]
fn an_event_is_one_object_a_line_with_every_field() {
    let house = Hosted::new();
    let id = house.background(&["--notify", "--watch", "ready", "-c", "echo ready; exit 4"]);
    let told = house.events(2, &[]);
    for event in &told {
        has(event, EVENT);
        assert_eq!(event["process"], id);
        assert!(is_time(&event["at"]), "{event}");
    }
    let (found, ended) = (&told[0], &told[1]);
    assert_eq!((&found["kind"], &found["pattern"]), (&"match".into(), &"ready".into()), "{told:#?}");
    assert_eq!((&ended["kind"], &ended["exit_code"]), (&"completion".into(), &4.into()), "{told:#?}");
    assert_eq!((&ended["pattern"], &ended["hidden"], &ended["suppressed"]), (&Value::Null, &false.into(), &0.into()));
    assert!(found["seq"].as_u64() < ended["seq"].as_u64());
}

#[test]
fn an_id_may_be_cut_short_and_an_ambiguous_or_unknown_one_is_refused() {
    let house = Hosted::new();
    let id = house.background(&["-c", "echo short"]);
    house.until_ended(&id);
    let tail = &id["proc_".len()..];
    for cut in [&id[..], &id[..id.len() - 4], tail, &tail[..6]] {
        assert_eq!(house.run(&["logs", cut]).expect(0).stdout, "short\n", "{cut}");
    }
    for bad in ["proc_", "zz", "proc_ffffffffffff", "../../x"] {
        let ran = house.run(&["logs", bad]).expect(1);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{bad}: {ran:?}");
    }
}
