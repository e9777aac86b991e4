//! Looking creates nothing: where no host ever was, none begins, and the folder stays as it is.

use hermes_tests::home::snapshot;
use hermes_tests::hosted::Hosted;

/// A process that never was.
const NOBODY: &str = "proc_0123456789ab";

/// Every way to look, with its exit code where nothing is.
const LOOKS: [(&[&str], i32); 11] = [
    (&["ps"], 0),
    (&["ps", "--all"], 0),
    (&["events"], 0),
    (&["events", "--all"], 0),
    (&["logs", NOBODY], 1),
    (&["logs", NOBODY, "--follow"], 1),
    (&["wait", NOBODY], 1),
    (&["kill", NOBODY], 1),
    (&["kill", "--all"], 1),
    (&["send", NOBODY, "text"], 1),
    (&["send", NOBODY, "--eof"], 1),
];

fn looked_at(house: &Hosted) {
    let before = snapshot(house.home().everything());
    for (arguments, code) in LOOKS {
        for json in [false, true] {
            let words: Vec<&str> = json.then_some("--json").into_iter().chain(arguments.iter().copied()).collect();
            let ran = house.run(&words).expect(code);
            if code != 0 {
                assert!(ran.all().contains("host"), "no reason in {ran:?}");
            }
        }
        assert_eq!(snapshot(house.home().everything()), before, "{arguments:?} left something behind");
    }
    assert_eq!(house.hosts(), Vec::<i32>::new());
}

#[test]
fn looking_at_a_home_that_is_not_there_creates_nothing() {
    let house = Hosted::untouched();
    looked_at(&house);
    assert!(!house.root().exists());
}

#[test]
fn looking_at_a_home_with_nothing_but_a_configuration_creates_nothing() {
    looked_at(&Hosted::new());
}

#[test]
fn looking_at_an_empty_folder_creates_nothing() {
    let house = Hosted::untouched();
    std::fs::create_dir(house.root()).unwrap();
    looked_at(&house);
}

#[test]
fn nothing_runs_is_a_document_too() {
    let house = Hosted::untouched();
    assert_eq!(house.json(&["ps"]), serde_json::json!({"processes": []}));
    assert_eq!(house.run(&["events", "--json"]).expect(0).stdout, "");
}

#[test]
fn looking_at_a_home_whose_host_has_ended_in_order_starts_none_where_nothing_is_left() {
    let house = Hosted::new();
    house.background(&["--", "true"]);
    assert_eq!(house.events_in_the_end(), [] as [serde_json::Value; 0]);
    for arguments in [&["ps"][..], &["events"], &["ps", "--all"]] {
        drop(house.run(arguments).expect(0));
        assert_eq!(house.hosts(), Vec::<i32>::new(), "{arguments:?}");
    }
}
