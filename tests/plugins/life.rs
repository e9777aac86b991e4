//! A host that runs: what changes is in force in it at once, a bad version leaves the last good one, and lists say what it
//! says.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use hermes_tests::home::TestHome;
use hermes_tests::hosted::{Hosted, Kept, signal};
use hermes_tests::{components, guests, manifests, wait};
use nix::sys::signal::Signal;
use serde_json::Value;

const SECRET: &str = "sekrit-4711";

/// A file that would be version 2 of the redactor and imports what no hermes offers.
fn broken(house: &Hosted) -> PathBuf {
    let manifest = manifests::plain("good-redactor", "redact").replace("\"1.0.0\"", "\"2.0.0\"");
    let bytes = manifests::pack(&components::imports_of_another_host(), &manifest);
    guests::write_bytes(&house.home().work(), "broken", &bytes)
}

fn publish_broken(house: &Hosted) -> String {
    let path = broken(house);
    house.run(&["plugins", "install", "--allow-broken", path.to_str().unwrap()]).expect(0).all()
}

/// What the running host answers for a command in the background that prints a secret.
fn shown_by_the_host(house: &Hosted) -> Value {
    let id = house.background(&["--", "echo", SECRET]);
    house.until_ended(&id);
    house.json(&["logs", &id])
}

/// What a program that runs for one command shows of a secret.
fn shown_alone(house: &Hosted) -> Value {
    house.run(&["run", "--json", "--", "echo", SECRET]).expect(0).json()
}

fn warnings(document: &Value) -> String {
    document["policy"]["warnings"].to_string()
}

/// A host of an agent, beside the one of the home.
fn agents_host(house: &Hosted) -> Kept {
    let mut command = house.home().command(["mcp", "serve"]);
    command.stdin(Stdio::piped());
    let child = Kept::from(command.spawn().unwrap());
    let socket = house.root().join("hosts").join(format!("{}.sock", child.pid()));
    wait::until("the host of an agent to listen", wait::PATIENCE, || socket.exists().then_some(()));
    child
}

#[test]
fn a_change_is_in_force_in_every_running_host_when_its_verb_returns() {
    let house = Hosted::new();
    let host = Kept::from(house.serve(&[]));
    let agents = agents_host(&house);
    let path = guests::write(&house.home().work(), "good-redactor", &manifests::plain("good-redactor", "redact"));
    let path = path.to_str().unwrap();
    let said = house.run(&["plugins", "install", path]).expect(0).stdout;
    assert!(said.contains("in force in 2 running hosts (generation 1)"), "{said}");
    assert_eq!(shown_by_the_host(&house)["output"].as_str().unwrap().trim_end(), "[REDACTED:sekrit]");

    let document = house.json(&["plugins", "disable", "good-redactor"]);
    let mut pids: Vec<u64> =
        document["hosts"].as_array().unwrap().iter().map(|host| host["pid"].as_u64().unwrap()).collect();
    pids.sort_unstable();
    let mut wanted = [u64::from(host.pid()), u64::from(agents.pid())];
    wanted.sort_unstable();
    assert_eq!(pids, wanted, "{document}");
    for host in document["hosts"].as_array().unwrap() {
        assert_eq!((&host["generation"], &host["ok"], &host["message"]), (&2.into(), &true.into(), &Value::Null));
    }
    assert_eq!(shown_by_the_host(&house)["output"].as_str().unwrap().trim_end(), SECRET);
    for verb in
        [&["plugins", "enable", "good-redactor"][..], &["plugins", "rollback"], &["plugins", "rollback", "--to", "3"]]
    {
        let said = house.run(verb).expect(0).stdout;
        assert!(said.contains("in force in 2 running hosts"), "{verb:?}: {said}");
    }
    let list = house.json(&["plugins", "list"]);
    assert_eq!((&list["asked"], &list["generation"]), (&"host".into(), &3.into()), "{list}");
}

#[test]
fn a_host_of_another_home_is_not_asked() {
    let (one, other) = (Hosted::new(), Hosted::new());
    let _host = Kept::from(one.serve(&[]));
    let said = other.run(&["plugins", "disable", "summarize-output"]).expect(0).stdout;
    assert!(!said.contains("running host"), "{said}");
    assert_eq!(other.json(&["plugins", "list"])["asked"], "disk");
    assert_eq!(one.home().row("summarize-output")["state"], "loaded");
}

#[test]
fn a_bad_version_leaves_the_last_good_one_serving_and_everything_says_so() {
    let house = Hosted::new();
    let host = Kept::from(house.serve(&[]));
    house.home().install_guest("good-redactor", "redact");
    let said = publish_broken(&house);
    assert!(said.contains("version 1.0.0 is in force until it can"), "{said}");
    assert!(!said.to_lowercase().contains("all output is withheld"), "{said}");

    let sentence = "plugin good-redactor cannot load as it is installed (import-unknown), so version 1.0.0 is still in \
                    force; see `hermes plugins why good-redactor`";
    let everything_says_so = |asked: &str| {
        let list = house.json(&["plugins", "list"]);
        assert_eq!(list["asked"], asked, "{list}");
        let row = house.home().row("good-redactor");
        assert_eq!((&row["state"], &row["version"]), (&"failed".into(), &"2.0.0".into()), "{row}");
        assert_eq!(row["serving"]["version"], "1.0.0", "{row}");
        assert_ne!(row["serving"]["digest"], row["digest"], "{row}");
        for verb in ["show", "why"] {
            let document = house.json(&["plugins", verb, "good-redactor"]);
            assert_eq!(document["serving"]["version"], "1.0.0", "{verb}: {document}");
        }
        for verb in [&["plugins", "list"][..], &["plugins", "why", "good-redactor"]] {
            let said = house.run(verb).expect(0).stdout;
            assert!(said.contains("version 1.0.0 is still in force"), "{verb:?}: {said}");
            assert!(!said.contains("All output is withheld"), "{verb:?}: {said}");
        }
        drop(house.run(&["plugins", "list", "--strict"]).expect(1));
        drop(house.run(&["doctor"]).expect(1));
    };
    everything_says_so("host");
    let shown = shown_by_the_host(&house);
    assert_eq!(shown["output"].as_str().unwrap().trim_end(), "[REDACTED:sekrit]", "{shown}");
    assert!(warnings(&shown).contains(sentence), "{shown}");

    // A host that starts now has no memory, and has the same in force.
    host.end();
    everything_says_so("disk");
    let shown = shown_alone(&house);
    assert_eq!(shown["output"].as_str().unwrap().trim_end(), "[REDACTED:sekrit]", "{shown}");
    assert!(warnings(&shown).contains(sentence), "{shown}");

    drop(house.run(&["plugins", "rollback"]).expect(0));
    assert_eq!(house.home().row("good-redactor")["serving"], Value::Null);
    assert_eq!(warnings(&shown_alone(&house)), "[]");
}

#[test]
fn what_was_disabled_or_removed_never_comes_back_as_the_last_good_version() {
    let house = Hosted::new();
    let _host = Kept::from(house.serve(&[]));
    house.home().install_guest("good-redactor", "redact");
    for verb in ["disable", "remove"] {
        drop(house.run(&["plugins", verb, "good-redactor"]).expect(0));
        let shown = shown_by_the_host(&house);
        assert_eq!(shown["output"].as_str().unwrap().trim_end(), SECRET, "{verb}: {shown}");
        let said = publish_broken(&house);
        assert!(said.to_lowercase().contains("all output is withheld"), "{said}");
        let row = house.home().row("good-redactor");
        assert_eq!((&row["state"], &row["serving"]), (&"failed".into(), &Value::Null), "{row}");
        let shown = shown_by_the_host(&house);
        assert_eq!(shown["policy"]["withheld"]["plugin"], "good-redactor", "{verb}: {shown}");
        assert!(!shown.to_string().contains("sekrit-"), "{verb}: {shown}");
        drop(house.run(&["plugins", "rollback", "--to", "1"]).expect(0));
    }
}

#[test]
fn the_last_good_version_of_a_required_plugin_counts_as_in_force() {
    let house = Hosted::with("[policy]\nrequired = [\"good-redactor\"]\n");
    let _host = Kept::from(house.serve(&[]));
    assert_eq!(shown_by_the_host(&house)["policy"]["withheld"]["code"], "not-installed");
    house.home().install_guest("good-redactor", "redact");
    publish_broken(&house);
    for shown in [shown_by_the_host(&house), shown_alone(&house)] {
        assert_eq!(shown["output"].as_str().unwrap().trim_end(), "[REDACTED:sekrit]", "{shown}");
        assert!(warnings(&shown).contains("version 1.0.0 is still in force"), "{shown}");
    }
    let doctor = house.run(&["doctor"]).expect(1).stdout;
    assert!(doctor.contains("its last good version, 1.0.0, is in force"), "{doctor}");
}

#[test]
fn a_quarantine_ends_in_a_running_host_when_its_plugin_is_enabled() {
    let house = Hosted::new();
    let _host = Kept::from(house.serve(&[]));
    house.home().install_guest("traps-on-text", "redact");
    let strikes = wait::until("five strikes", wait::PATIENCE, || {
        let id = house.background(&["--", "echo", "BOOM"]);
        house.until_ended(&id);
        assert_eq!(house.json(&["logs", &id])["policy"]["withheld"]["plugin"], "traps-on-text");
        let row = house.home().row("traps-on-text");
        (row["state"] == "quarantined").then(|| row["failures"].as_u64().unwrap())
    });
    assert_eq!(house.home().row("traps-on-text")["hosts"][0]["state"], "quarantined");
    drop(house.run(&["plugins", "enable", "traps-on-text"]).expect(0));
    let row = house.home().row("traps-on-text");
    assert_eq!((&row["state"], &row["failures"]), (&"loaded".into(), &strikes.into()), "{row}");
}

#[test]
fn figures_come_from_the_hosts_that_run_and_outlive_a_change_of_another_plugin() {
    let house = Hosted::new();
    let _host = Kept::from(house.serve(&[]));
    house.home().install_guest("good-redactor", "redact");
    drop(shown_by_the_host(&house));
    let calls = |row: &Value| row["calls"].as_u64().unwrap_or_else(|| panic!("no calls: {row}"));
    let before = calls(&house.home().row("good-redactor"));
    assert!(before > 0);
    drop(house.run(&["plugins", "disable", "summarize-output"]).expect(0));
    let row = house.home().row("good-redactor");
    assert!(calls(&row) >= before && row["p99_us"].is_u64() && row["failures"] == 0, "{row}");
    assert!(house.run(&["plugins", "show", "good-redactor"]).expect(0).stdout.contains("of which 0 failed"));
    let disk = house.json(&["plugins", "list", "--disk"]);
    assert_eq!((&disk["asked"], &disk["plugins"][0]["calls"]), (&"disk".into(), &Value::Null), "{disk}");
}

#[test]
fn a_host_that_does_not_answer_is_named_and_the_disk_is_shown() {
    let house = Hosted::new();
    let host = Kept::from(house.serve(&[]));
    let pid = i32::try_from(host.pid()).unwrap();
    signal(pid, Signal::SIGSTOP);
    let list = house.json(&["plugins", "list"]);
    let told = house.run(&["plugins", "list"]).expect(0);
    let doctor = house.run(&["plugins", "list", "--strict"]).expect(1);
    signal(pid, Signal::SIGCONT);
    assert_eq!((&list["asked"], &list["hosts"][0]["ok"]), (&"disk".into(), &false.into()), "{list}");
    assert!(told.stdout.contains("does not answer"), "{told:?}");
    assert!(doctor.stdout.contains("redact-secrets"), "{doctor:?}");
}

#[test]
fn doctor_says_of_each_host_whether_its_generation_is_the_current_one() {
    let house = Hosted::new();
    let host = Kept::from(house.serve(&[]));
    house.home().install_guest("good-redactor", "redact");
    let document = house.json(&["doctor"]);
    let name = format!("host {}", host.pid());
    let check = document["checks"].as_array().unwrap().iter().find(|check| check["name"] == name.as_str()).cloned();
    let check = check.unwrap_or_else(|| panic!("no check '{name}': {document}"));
    assert_eq!(
        (&check["state"], &check["message"]),
        (&"ok".into(), &"generation 1 is in force; plugins loaded: 3".into()),
        "{document}"
    );
}

#[test]
fn a_host_that_cannot_read_the_new_generation_keeps_what_it_has_and_says_why() {
    let house = Hosted::new();
    let host = Kept::from(house.serve(&[]));
    house.home().install_guest("good-redactor", "redact");
    let current = house.root().join("plugins/generations/1.toml");
    let text = fs::read(&current).unwrap();
    fs::write(&current, "nonsense = [").unwrap();
    let list = house.run(&["plugins", "list"]).expect(0);
    assert!(list.stderr.contains("is damaged") && list.stderr.contains("hermes plugins rollback"), "{list:?}");
    assert!(list.stdout.contains("good-redactor"), "the host still has it: {list:?}");
    let shown = shown_by_the_host(&house);
    assert_eq!(shown["output"].as_str().unwrap().trim_end(), "[REDACTED:sekrit]", "{shown}");
    fs::write(&current, text).unwrap();
    assert!(house.run(&["plugins", "list"]).expect(0).stdout.contains(&format!("in force in host {}", host.pid())));
}

#[test]
fn the_list_fits_eighty_columns_also_with_long_names_and_paths() {
    let home = TestHome::new();
    let name = "a-plugin-with-quite-a-long-name-that-fills-most-of-a-line";
    home.install_bytes(name, &manifests::pack(&components::wrong_in_many_ways(), &manifests::plain(name, "redact")));
    home.install_guest("good-redactor", "redact");
    let list = home.run(["plugins", "list"]).expect(0).stdout;
    for line in list.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}\n{list}", line.chars().count());
    }
    assert!(list.contains("import-unknown") && list.contains("hermes plugins why") && list.contains(name), "{list}");
}
