//! What a raw-text plugin says about a text reaches nobody: no reply, no message, no log, no file.

use std::process::Command;

use hermes_tests::home::{TestHome, finish};
use hermes_tests::{guests, manifests, wait};

/// A word no rule knows: only the rule that nothing a raw-text plugin says is shown keeps it in.
const WORD: &str = "tiramisu-4711";

fn talkative() -> [(&'static str, &'static str); 4] {
    [
        ("traps-on-text", "BOOM"),
        ("fails-with-text", "FAIL"),
        ("loops-on-text", "LOOP"),
        ("allocates-on-text", "ALLOCATE"),
    ]
}

/// hermes with everything logged.
fn loud(home: &TestHome, arguments: &[&str]) -> Command {
    let mut command = home.command(arguments);
    command.env("HERMES_LOG", "trace");
    command
}

#[test]
fn the_last_words_of_a_plugin_are_in_no_output_and_no_file() {
    for (name, word) in talkative() {
        let home = TestHome::new();
        home.install_guest(name, "redact");
        // The command line holds the words too, so they come from a file that is no file of hermes.
        let input = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(input.path(), format!("{word} {WORD}\n")).unwrap();
        let path = input.path().to_str().unwrap();
        for arguments in [
            &["run", "--view", "--", "cat", path][..],
            &["run", "--json", "--", "cat", path],
            &["run", "--", "cat", path],
            &["redact", path],
            &["-v", "-v", "run", "--view", "--", "cat", path],
            &["plugins", "why", name, "-v"],
            &["plugins", "list"],
            &["doctor"],
        ] {
            let ran = finish(loud(&home, arguments), wait::PATIENCE);
            assert!(!ran.all().contains(WORD), "{name}: {arguments:?}: {ran:?}");
        }
        assert_eq!(home.files_with(WORD), Vec::<std::path::PathBuf>::new(), "{name}");
    }
}

#[test]
fn a_log_line_about_a_text_is_in_no_output_and_no_file() {
    let home = TestHome::new();
    home.install_guest("floods-log", "redact");
    let input = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(input.path(), format!("{WORD}\n")).unwrap();
    let path = input.path().to_str().unwrap();
    let ran = finish(loud(&home, &["run", "--view", "--", "cat", path]), wait::PATIENCE).expect(0);
    assert_eq!(ran.stdout.trim_end(), WORD, "the text itself is shown: no rule masks it");
    assert!(!ran.stderr.contains(WORD), "{}", ran.stderr);
    assert_eq!(home.files_with(WORD), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_crashed_redactor_shows_neither_output_nor_the_command_line() {
    let home = TestHome::new();
    home.install_guest("traps-on-text", "redact");
    let text = format!("BOOM {WORD}");
    for arguments in [&["run", "--json", "--", "echo", &text][..], &["run", "--view", "--", "echo", &text]] {
        let ran = finish(loud(&home, arguments), wait::PATIENCE).expect(0);
        assert!(!ran.all().contains(WORD), "{arguments:?}: {ran:?}");
        assert!(ran.stdout.contains("[output withheld: traps-on-text: "), "{ran:?}");
    }
}

#[test]
fn a_plugins_word_for_its_failure_is_shown_only_if_it_is_a_word() {
    let home = TestHome::new();
    let manifest = manifests::plain("fails-with-text", "redact");
    let path = guests::write(&home.work(), "fails-with-text", &manifest);
    drop(home.run(["plugins", "install", path.to_str().unwrap()]).expect(0));
    let ran = home.run(["run", "--view", "--", "printf", "FAIL Hunter2"]).expect(0);
    assert_eq!(ran.stdout.trim_end(), "[output withheld: fails-with-text: failure]");
}
