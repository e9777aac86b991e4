//! The way of a plugin's author: a new project builds, passes its test, is installed and is in force.

use std::fs;

use hermes_tests::home::{Ran, TestHome, finish};
use hermes_tests::{components, guests, manifests, registries, wait};

fn build(home: &TestHome, arguments: &[&str]) -> Ran {
    let mut command = home.command(arguments);
    registries::cargo(&mut command);
    finish(command, wait::BUILD_PATIENCE)
}

/// From nothing to a row that says `loaded`.
fn from_new_to_loaded(hook: &str) {
    let home = TestHome::new();
    let name = format!("my-{hook}");
    drop(home.run(["plugins", "new", &name, "--hook", hook]).expect(0));
    let folder = home.work().join(&name);
    assert!(folder.join("plugin.toml").is_file() && folder.join("src/lib.rs").is_file());
    let folder = folder.to_str().unwrap().to_owned();
    let tested = build(&home, &["plugins", "test", &folder, "--json"]).expect(0).json();
    assert_eq!(tested.as_object().unwrap().keys().collect::<Vec<_>>(), ["name", "cases", "budget", "seed", "updated"]);
    let fields =
        ["fuel_per_byte", "peak_memory", "expansion", "host_calls", "cold_ms", "warm_us", "mb_per_s", "limits"];
    assert_eq!(tested["budget"].as_object().unwrap().keys().collect::<Vec<_>>(), fields);
    let cases = tested["cases"].as_array().unwrap();
    assert!(cases.len() > 1 && cases.iter().all(|case| case["ok"] == true), "{tested}");
    assert!(!home.root().exists(), "a test of a plugin created the home");

    drop(build(&home, &["plugins", "install", &folder]).expect(0));
    let row = home.row(&name);
    assert_eq!((&row["state"], &row["hooks"][0]), (&"loaded".into(), &hook.into()), "{row}");
}

#[test]
fn a_new_redactor_builds_passes_its_test_and_is_in_force() {
    from_new_to_loaded("redact");
}

#[test]
fn a_new_transform_builds_passes_its_test_and_is_in_force() {
    from_new_to_loaded("transform");
}

#[test]
fn a_new_notifier_builds_passes_its_test_and_is_in_force() {
    from_new_to_loaded("notify");
}

#[test]
fn a_new_project_never_overwrites_what_is_there() {
    let home = TestHome::new();
    fs::create_dir(home.work().join("mine")).unwrap();
    fs::write(home.work().join("mine/Cargo.toml"), "mine").unwrap();
    let refused = home.run(["plugins", "new", "mine", "--hook", "redact"]).expect(1);
    assert!(refused.stderr.contains("mine"), "{refused:?}");
    assert_eq!(fs::read_to_string(home.work().join("mine/Cargo.toml")).unwrap(), "mine");
    drop(home.run(["plugins", "new", "Not A Name", "--hook", "redact"]).expect(2));
    let unknown = home.run(["plugins", "new", "mine-too", "--hook", "redcat"]).expect(2);
    assert!(unknown.stderr.contains("redact"), "{unknown:?}");
}

#[test]
fn a_plugin_that_remembers_fails_its_test() {
    let home = TestHome::new();
    let canary =
        "\n[[canary]]\nname = \"a line\"\ntext = \"one\\n\"\neffect = \"changed\"\nlacks = [\"earlier: one\"]\n";
    let manifest = format!("{}{canary}", manifests::plain("remembers", "transform"));
    let path = guests::write(&home.work(), "remembers", &manifest);
    let report = home.run(["plugins", "test", path.to_str().unwrap(), "--json"]).expect(1).json();
    let failed: Vec<_> = report["cases"].as_array().unwrap().iter().filter(|case| case["ok"] == false).collect();
    assert!(failed.iter().any(|case| case["name"].as_str().unwrap().contains("same answer")), "{report}");
}

#[test]
fn a_redactor_that_masks_otherwise_in_pieces_fails_its_test() {
    let home = TestHome::new();
    // It shows each window at once, so a place that is cut in two is not found.
    let manifest =
        manifests::with_canary(&manifests::plain("holds-nothing", "redact"), "a word", "a sekrit-word b", &["sekrit"]);
    let path = guests::write(&home.work(), "holds-nothing", &manifest);
    let report = home.run(["plugins", "test", path.to_str().unwrap(), "--json"]).expect(1).json();
    let failed: Vec<_> = report["cases"].as_array().unwrap().iter().filter(|case| case["ok"] == false).collect();
    assert!(failed.iter().any(|case| case["name"].as_str().unwrap().contains("chunking")), "{report}");
}

#[test]
fn a_check_says_the_same_as_an_installation_and_needs_no_home() {
    let home = TestHome::new();
    let broken = manifests::pack(&components::imports_of_another_host(), &manifests::plain("subject", "redact"));
    let path = guests::write_bytes(&home.work(), "subject", &broken);
    let path = path.to_str().unwrap();
    let checked = home.run(["plugins", "check", path, "--json"]).expect(1).json();
    let installed = home.run(["plugins", "install", path, "--json"]).expect(1).json();
    assert_eq!(checked["problems"], installed["problems"]);
    assert!(home.run(["plugins", "check", path]).expect(1).all().contains("acme:tools/db@1.0.0"));
    let good = guests::write(&home.work(), "good-redactor", &manifests::plain("good-redactor", "redact"));
    drop(home.run(["plugins", "check", good.to_str().unwrap()]).expect(0));
    assert!(!home.root().exists());
}

#[test]
fn a_packed_folder_is_one_file_that_installs_elsewhere() {
    let home = TestHome::new();
    let folder = home.work().join("subject");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("plugin.toml"), manifests::plain("good-redactor", "redact")).unwrap();
    fs::write(folder.join("good-redactor.wasm"), guests::component("good-redactor")).unwrap();
    let out = home.work().join("one.wasm");
    drop(home.run(["plugins", "pack", folder.to_str().unwrap(), "-o", out.to_str().unwrap()]).expect(0));
    let other = TestHome::new();
    drop(other.run(["plugins", "install", out.to_str().unwrap()]).expect(0));
    assert_eq!(other.row("good-redactor")["state"], "loaded");
    fs::remove_file(folder.join("good-redactor.wasm")).unwrap();
    drop(home.run(["plugins", "pack", folder.to_str().unwrap()]).expect(1));
}
