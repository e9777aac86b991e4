//! Changes of the set of plugins: whole or not at all, to be undone, and safe side by side.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use hermes_tests::home::{TestHome, files_below, snapshot};
use hermes_tests::{guests, manifests, wait};

fn names(home: &TestHome) -> Vec<String> {
    home.rows().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

fn generation(home: &TestHome) -> u64 {
    home.run(["plugins", "list", "--json"]).expect(0).json()["generation"].as_u64().unwrap()
}

fn stored(home: &TestHome, name: &str) -> PathBuf {
    let digest = home.row(name)["digest"].as_str().unwrap().trim_start_matches("sha256:").to_owned();
    home.root().join("plugins/store").join(format!("{digest}.wasm"))
}

#[test]
fn a_file_changed_in_the_store_is_found_out() {
    let home = TestHome::new();
    home.install_guest("good-redactor", "redact");
    let path = stored(&home, "good-redactor");
    let other = manifests::plain("good-redactor", "redact").replace("of the tests", "of somebody else");
    fs::write(&path, manifests::pack(&guests::component("good-redactor"), &other)).unwrap();
    let row = home.row("good-redactor");
    assert_eq!((&row["state"], &row["problems"][0]["code"]), (&"failed".into(), &"digest".into()), "{row}");
    assert_ne!(row["problems"][0]["wanted"], row["problems"][0]["offered"], "{row}");
    let run = home.run(["run", "--view", "--", "echo", "x"]).expect(0);
    assert_eq!(run.stdout.trim_end(), "[output withheld: good-redactor: digest]");
}

#[test]
fn a_file_gone_from_the_store_is_missing_and_withholds() {
    let home = TestHome::new();
    home.install_guest("good-redactor", "redact");
    fs::remove_file(stored(&home, "good-redactor")).unwrap();
    let row = home.row("good-redactor");
    assert_eq!((&row["state"], &row["problems"][0]["code"]), (&"missing".into(), &"missing-file".into()), "{row}");
    assert!(row["problems"][0]["next"].as_str().unwrap().contains("hermes plugins install"), "{row}");
    let run = home.run(["run", "--view", "--", "echo", "x"]).expect(0);
    assert_eq!(run.stdout.trim_end(), "[output withheld: good-redactor: missing-file]");
    let refused = home.run(["plugins", "enable", "good-redactor"]).expect(1);
    assert!(refused.stderr.contains("missing-file"), "{refused:?}");
}

#[test]
fn a_rollback_returns_to_what_was_and_forward_again() {
    let home = TestHome::new();
    let bundled = names(&home);
    home.install_guest("good-redactor", "redact");
    home.install_guest("good-transform", "transform");
    assert_eq!(generation(&home), 2);
    drop(home.run(["plugins", "rollback"]).expect(0));
    assert_eq!(generation(&home), 1);
    assert!(names(&home).contains(&"good-redactor".to_owned()) && !names(&home).contains(&"good-transform".to_owned()));
    drop(home.run(["plugins", "rollback", "--to", "0"]).expect(0));
    assert_eq!((generation(&home), names(&home)), (0, bundled));
    drop(home.run(["plugins", "rollback", "--to", "2"]).expect(0));
    assert_eq!(home.row("good-transform")["state"], "loaded");
    let none = home.run(["plugins", "rollback", "--to", "99"]).expect(1);
    assert!(none.stderr.contains("99") && none.stderr.contains("1, 2"), "{none:?}");
    assert_eq!(generation(&home), 2);
    home.install_guest("quiet-notifier", "notify");
    assert_eq!(generation(&home), 3, "a number is never used twice");
}

#[test]
fn the_order_is_the_one_given_and_the_others_follow() {
    let home = TestHome::new();
    home.install_guest("good-redactor", "redact");
    home.install_guest("good-transform", "transform");
    drop(home.run(["plugins", "order", "good-transform", "good-redactor"]).expect(0));
    assert_eq!(names(&home)[..2], ["good-transform", "good-redactor"]);
    assert_eq!(home.row("good-redactor")["order"], 2);
    for wrong in [["good-transform", "good-transform"], ["good-transform", "nobody"]] {
        let refused = home.run(["plugins", "order", wrong[0], wrong[1]]).expect(1);
        assert!(refused.stderr.contains(wrong[1]), "{refused:?}");
    }
    assert_eq!(names(&home)[..2], ["good-transform", "good-redactor"]);
}

#[test]
fn changes_at_the_same_time_all_survive() {
    let home = TestHome::new();
    let guests = ["good-redactor", "good-transform", "quiet-notifier", "remembers"];
    let hooks = ["redact", "transform", "notify", "transform"];
    let running: Vec<_> = guests
        .iter()
        .zip(hooks)
        .map(|(name, hook)| {
            let path = guests::write(&home.work(), name, &manifests::plain(name, hook));
            home.command(["plugins", "install", path.to_str().unwrap()]).spawn().unwrap()
        })
        .collect();
    for child in running {
        let ended = wait::end_of("hermes plugins install", child, wait::PATIENCE);
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    for name in guests {
        assert_eq!(home.row(name)["state"], "loaded");
    }
    assert_eq!(generation(&home), 4);
}

#[test]
fn an_unknown_plugin_is_refused_with_a_suggestion_and_nothing_is_created() {
    let home = TestHome::new();
    for verb in ["show", "why", "remove", "enable", "disable"] {
        let refused = home.run(["plugins", verb, "sumarize-output"]).expect(1);
        assert!(refused.stderr.contains("summarize-output"), "{verb}: {refused:?}");
        assert!(!home.root().exists(), "{verb} created the home");
    }
}

#[test]
fn removing_and_installing_again_brings_a_bundled_plugin_back() {
    let home = TestHome::new();
    drop(home.run(["plugins", "remove", "summarize-output"]).expect(0));
    assert!(!names(&home).contains(&"summarize-output".to_owned()));
    drop(home.run(["plugins", "install", "summarize-output"]).expect(0));
    let row = home.row("summarize-output");
    assert_eq!((&row["state"], &row["source"]), (&"loaded".into(), &"bundled".into()), "{row}");
}

#[test]
fn a_damaged_generation_is_said_and_a_rollback_gets_out_of_it() {
    let home = TestHome::new();
    home.install_guest("good-redactor", "redact");
    home.install_guest("good-transform", "transform");
    fs::write(home.root().join("plugins/generations/2.toml"), "nonsense = [").unwrap();
    let list = home.run(["plugins", "list"]).expect(1);
    assert!(list.stderr.contains("2.toml") || list.stderr.contains("current"), "{list:?}");
    assert!(list.stderr.contains("hermes plugins rollback"), "{list:?}");
    // Nothing runs without its policy.
    let run = home.run(["run", "--", "touch", "ran"]).expect(125);
    assert!(!home.work().join("ran").exists(), "{run:?}");
    drop(home.run(["plugins", "rollback"]).expect(0));
    assert_eq!(home.row("good-redactor")["state"], "loaded");
}

#[test]
fn a_refused_change_leaves_everything_as_it_was() {
    let home = TestHome::new();
    home.install_guest("good-redactor", "redact");
    let before = snapshot(&home.root());
    let text = guests::write_bytes(&home.work(), "text", b"hello");
    let missing = home.work().join("nothing.wasm");
    for path in [text, missing] {
        drop(home.run(["plugins", "install", path.to_str().unwrap()]).expect(1));
    }
    drop(home.run(["plugins", "remove", "nobody"]).expect(1));
    drop(home.run(["plugins", "rollback", "--to", "9"]).expect(1));
    let locks = |path: &String| path.split(' ').next().is_some_and(|path| path.ends_with("lock"));
    let after: Vec<String> = snapshot(&home.root()).into_iter().filter(|path| !locks(path)).collect();
    let before: Vec<String> = before.into_iter().filter(|path| !locks(path)).collect();
    assert_eq!(after, before);
}

#[test]
fn a_digest_that_does_not_fit_refuses_the_installation() {
    let home = TestHome::new();
    let path = guests::write(&home.work(), "good-redactor", &manifests::plain("good-redactor", "redact"));
    let path = path.to_str().unwrap();
    let wrong = format!("sha256:{}", "0".repeat(64));
    let refused = home.run(["plugins", "install", path, "--digest", &wrong]).expect(1);
    assert!(refused.stderr.contains("digest"), "{refused:?}");
    assert!(!home.root().exists());
    home.install_guest("good-redactor", "redact");
    let right = home.row("good-redactor")["digest"].as_str().unwrap().to_owned();
    drop(home.run(["plugins", "install", path, "--digest", &right]).expect(0));
}

#[test]
fn a_file_in_place_of_the_plugins_folder_is_one_clear_error() {
    let home = TestHome::new();
    home.configure("");
    let in_the_way = home.root().join("plugins");
    fs::write(&in_the_way, "in the way").unwrap();
    let path = guests::write(&home.work(), "good-redactor", &manifests::plain("good-redactor", "redact"));
    for verb in [&["plugins", "install", path.to_str().unwrap()][..], &["plugins", "list"]] {
        let refused = home.run(verb).expect(1);
        assert!(
            refused.stderr.contains("plugins'") && refused.stderr.contains("move it away"),
            "{verb:?}: {refused:?}"
        );
    }
    assert_eq!(fs::read_to_string(in_the_way).unwrap(), "in the way");
}

#[test]
fn a_full_disk_is_one_clear_error_and_leaves_everything_as_it_was() {
    let home = TestHome::new();
    home.install_guest("good-redactor", "redact");
    let path = guests::write(&home.work(), "good-transform", &manifests::plain("good-transform", "transform"));
    let before = snapshot(&home.root().join("plugins/generations"));
    // A file that may not grow is refused as on a full disk, and needs neither a disk nor a privilege.
    let refused =
        home.run_limited("trap '' XFSZ; ulimit -f 0", ["plugins", "install", path.to_str().unwrap()]).expect(1);
    assert!(refused.stderr.contains("disk is full") && refused.stderr.contains("nothing was changed"), "{refused:?}");
    assert_eq!(snapshot(&home.root().join("plugins/generations")), before);
    assert_eq!(home.row("good-redactor")["state"], "loaded");
    assert!(!names(&home).contains(&"good-transform".to_owned()));
}

#[test]
fn a_damaged_or_open_cache_is_never_a_plugins_fault() {
    let cache = tempfile::tempdir().unwrap();
    let home = TestHome::new().with("XDG_CACHE_HOME", cache.path().to_str().unwrap());
    home.install_guest("good-redactor", "redact");
    let shown = |home: &TestHome| home.run(["run", "--view", "--", "echo", "a", "sekrit-b"]).expect(0).stdout;
    assert_eq!(shown(&home), "a [REDACTED:sekrit]\n");
    let entries = files_below(cache.path());
    assert!(!entries.is_empty(), "nothing is cached");
    for entry in &entries {
        let mut bytes = fs::read(entry).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
        fs::write(entry, bytes).unwrap();
    }
    assert_eq!(home.row("good-redactor")["state"], "loaded");
    for entry in files_below(cache.path()) {
        fs::write(entry, "").unwrap();
    }
    assert_eq!(shown(&home), "a [REDACTED:sekrit]\n");
    fs::set_permissions(cache.path().join("hermes"), PermissionsExt::from_mode(0o777)).unwrap();
    assert_eq!(shown(&home), "a [REDACTED:sekrit]\n");
}

#[test]
fn a_bundled_plugin_with_another_digest_is_refused() {
    let home = TestHome::new();
    let wrong = format!("sha256:{}", "0".repeat(64));
    let refused = home.run(["plugins", "install", "redact-secrets", "--digest", &wrong]).expect(1);
    assert!(refused.stderr.contains(&wrong), "{refused:?}");
    assert!(!home.root().exists());
}
