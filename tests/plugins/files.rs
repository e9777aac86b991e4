//! Whatever is given in place of a plugin or a configuration: one clear error with the next step, at once.

use std::fs::{self, File};
use std::time::{Duration, Instant};

use hermes_tests::home::{Ran, TestHome};
use hermes_tests::{guests, manifests};

/// What "at once" is on a busy machine: nobody read two gigabytes, and nobody waited for a writer.
const AT_ONCE: Duration = Duration::from_secs(15);

fn install(home: &TestHome, path: &std::path::Path) -> Ran {
    let started = Instant::now();
    let ran = home.run(["plugins", "install", path.to_str().unwrap()]).expect(1);
    assert!(started.elapsed() < AT_ONCE, "{:?}", started.elapsed());
    assert!(!home.root().exists(), "a refused installation created the home");
    assert!(ran.stderr.lines().count() < 12, "more than one clear error:\n{}", ran.stderr);
    ran
}

#[test]
fn a_plugin_of_two_gigabytes_is_refused_at_once() {
    let home = TestHome::new();
    let path = home.work().join("huge.wasm");
    File::create(&path).unwrap().set_len(2 * 1024 * 1024 * 1024).unwrap();
    let ran = install(&home, &path);
    assert!(ran.stderr.contains("huge.wasm"), "{}", ran.stderr);
    assert!(ran.stderr.contains("67108864") || ran.stderr.contains("64 MiB"), "the limit is not named: {}", ran.stderr);
}

#[test]
fn a_fifo_is_refused_at_once() {
    let home = TestHome::new();
    let path = home.work().join("pipe.wasm");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let ran = install(&home, &path);
    assert!(ran.stderr.contains("pipe.wasm"), "{}", ran.stderr);
}

#[test]
fn a_folder_without_a_manifest_is_told_what_it_lacks() {
    let home = TestHome::new();
    let path = home.work().join("folder.wasm");
    fs::create_dir(&path).unwrap();
    let ran = install(&home, &path);
    assert!(ran.stderr.contains("plugin.toml") && ran.stderr.contains("hermes plugins new"), "{}", ran.stderr);
}

#[test]
fn a_folder_that_was_not_built_is_told_how() {
    let home = TestHome::new();
    let path = home.work().join("subject");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("plugin.toml"), manifests::plain("subject", "redact")).unwrap();
    let ran = install(&home, &path);
    let command = format!("`hermes plugins build {}`", path.display());
    assert!(ran.stderr.contains(&command), "{}", ran.stderr);
}

#[test]
fn a_folder_in_place_of_the_component_is_refused() {
    let home = TestHome::new();
    let path = home.work().join("subject");
    fs::create_dir_all(path.join("subject.wasm")).unwrap();
    fs::write(path.join("plugin.toml"), manifests::plain("subject", "redact")).unwrap();
    let ran = install(&home, &path);
    assert!(ran.stderr.contains("subject.wasm"), "{}", ran.stderr);
}

#[test]
fn nothing_at_all_is_named() {
    let home = TestHome::new();
    let ran = install(&home, &home.work().join("nothing.wasm"));
    assert!(ran.stderr.contains("nothing.wasm"), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("nothing.wasm").count(), 1, "said twice:\n{}", ran.stderr);
}

#[test]
fn a_refusal_as_json_is_one_document() {
    let home = TestHome::new();
    let missing = home.work().join("nothing.wasm");
    let ran = home.run(["plugins", "install", missing.to_str().unwrap(), "--json"]).expect(1);
    assert!(ran.json()["error"]["message"].as_str().unwrap().contains("nothing.wasm"), "{ran:?}");
}

#[test]
fn a_folder_with_a_manifest_and_a_component_is_installed() {
    let home = TestHome::new();
    let path = home.work().join("subject");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("plugin.toml"), manifests::plain("good-redactor", "redact")).unwrap();
    fs::write(path.join("good_redactor.wasm"), guests::component("good-redactor")).unwrap();
    drop(home.run(["plugins", "install", path.to_str().unwrap()]).expect(0));
    assert_eq!(home.row("good-redactor")["state"], "loaded");
}

#[test]
fn an_unknown_key_in_the_configuration_is_named_with_its_line_and_its_value_is_not() {
    let home = TestHome::new();
    home.configure("[policy]\nrequird = [\"ghp_neverShownNeverShown\"]\n");
    for verb in [&["plugins", "list"][..], &["run", "--", "true"], &["redact"]] {
        let ran = home.run(verb);
        assert!(ran.code.is_some_and(|code| code == 1 || code == 125), "{ran:?}");
        let said = &ran.stderr;
        assert!(said.contains("requird") && said.contains("line 2") && said.contains("'required'"), "{verb:?}: {said}");
        assert!(!ran.all().contains("neverShown"), "{verb:?}: {ran:?}");
    }
    let doctor = home.run(["doctor"]).expect(1);
    assert!(doctor.all().contains("requird"), "{doctor:?}");
}

#[test]
fn a_folder_in_place_of_the_configuration_is_refused() {
    let home = TestHome::new();
    home.configure("");
    fs::remove_file(home.root().join("config.toml")).unwrap();
    fs::create_dir(home.root().join("config.toml")).unwrap();
    let ran = home.run(["plugins", "list"]).expect(1);
    assert!(ran.stderr.contains("config.toml"), "{ran:?}");
}
