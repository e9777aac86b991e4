//! No secret is shown: wherever it comes from, however it is printed, whoever asks.

use hermes_tests::home::{Ran, TestHome};

/// A token with its own shape. Nothing real.
const TOKEN: &str = "ghp_Zq8xPl0aMn3vKc7dRt5yWb2eHu9jLs4gTf6k";
/// What only the name of its variable makes a secret.
const PASSWORD: &str = "correct horse \"battery\" staple";
/// So much of a secret in a row counts as shown.
const PIECE: usize = 10;

/// Every way to ask for the output of a command.
const MODES: [&[&str]; 3] = [&["run"], &["run", "--view"], &["run", "--json"]];

/// The secrets a build machine has.
fn secretive() -> TestHome {
    TestHome::new()
        .with("GITHUB_TOKEN", TOKEN)
        .with("DB_PASSWORD", PASSWORD)
        .with("AWS_SECRET_ACCESS_KEY", "7CzMp1GAawTCEe6OQxLdU+ZOxyR2MwqIZu29XoiX")
        .with("NPM_TOKEN", "npm_Zq8xPl0aMn3vKc7dRt5yWb2eHu9jLs4gTf6k")
        .with("DATABASE_URL", "postgres://app:Tr0ub4dor-and-3@db.example.test/prod")
}

/// What must never be shown, each with its name.
const HIDDEN: [&str; 5] = [
    TOKEN,
    PASSWORD,
    "7CzMp1GAawTCEe6OQxLdU+ZOxyR2MwqIZu29XoiX",
    "npm_Zq8xPl0aMn3vKc7dRt5yWb2eHu9jLs4gTf6k",
    "Tr0ub4dor-and-3",
];

/// Fails if any piece of a secret is in what hermes wrote, on whichever stream.
fn nothing_of(secrets: &[&str], ran: &Ran, how: &str) {
    let shown = ran.all();
    for secret in secrets {
        let piece = PIECE.min(secret.len());
        for at in 0..=secret.len() - piece {
            assert!(!shown.contains(&secret[at..at + piece]), "{how} shows a piece of {secret:?}:\n{shown}");
        }
    }
}

/// Runs a command in every mode.
fn in_every_mode(home: &TestHome, command: &[&str], check: impl Fn(&Ran, &str)) {
    for mode in MODES {
        let arguments: Vec<&str> = mode.iter().chain(command).copied().collect();
        let ran = home.run(&arguments).expect(0);
        check(&ran, &format!("{arguments:?}"));
    }
}

#[test]
fn printenv_shows_masks_in_place_of_secrets() {
    let home = secretive();
    in_every_mode(&home, &["--", "printenv"], |ran, how| {
        nothing_of(&HIDDEN, ran, how);
        for name in ["GITHUB_TOKEN", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "NPM_TOKEN"] {
            assert!(ran.stdout.contains(&format!("{name}=[REDACTED:")), "{how}: {name} in {}", ran.stdout);
        }
        assert!(ran.stdout.contains("LANG=C.UTF-8"), "{how}: what is no secret stays: {}", ran.stdout);
    });
}

#[test]
fn printenv_of_one_variable_shows_whose_value_it_is() {
    let home = secretive();
    in_every_mode(&home, &["--", "printenv", "DB_PASSWORD"], |ran, how| {
        nothing_of(&HIDDEN, ran, how);
        assert!(ran.stdout.contains("[REDACTED:env:DB_PASSWORD]"), "{how}: {}", ran.stdout);
    });
}

#[test]
fn the_childs_stderr_is_masked_like_its_stdout() {
    let home = secretive();
    in_every_mode(&home, &["-c", "printenv >&2"], |ran, how| {
        nothing_of(&HIDDEN, ran, how);
        assert!(ran.stdout.contains("GITHUB_TOKEN=[REDACTED:"), "{how}: {ran:?}");
    });
}

#[test]
fn the_command_line_is_masked_wherever_it_is_repeated() {
    // Not in the environment: only what it looks like, or the flag before it, makes it a secret.
    let home = TestHome::new();
    let url = format!("https://x-access-token:{TOKEN}@example.test/a.git");
    let document = home.run(["run", "--json", "--", "echo", &url]).expect(0);
    nothing_of(&[TOKEN], &document, "the echo of the command line");
    let command = document.json()["command"].as_str().unwrap().to_owned();
    assert!(command.starts_with("echo ") && command.contains("[REDACTED:"), "{command}");

    let missing = format!("./{TOKEN}");
    for arguments in
        [&["run", "--", &missing][..], &["run", "--json", "--", &missing], &["-v", "-v", "run", "--", &missing]]
    {
        nothing_of(&[TOKEN], &home.run(arguments).expect(127), "the message about a missing program");
    }
    for arguments in [
        &["run", "--timout", TOKEN][..],
        &["run", TOKEN],
        &["run", "--env", TOKEN, "--", "true"],
        &["run", "--timeout", TOKEN, "--", "true"],
    ] {
        nothing_of(&[TOKEN], &home.run(arguments).expect(2), "the message about wrong usage");
    }
}

#[test]
fn a_value_given_with_env_is_known_like_one_of_the_environment() {
    let home = TestHome::new();
    let given = format!("DEPLOY_SECRET={PASSWORD}");
    in_every_mode(&home, &["--env", &given, "--", "printenv", "DEPLOY_SECRET"], |ran, how| {
        nothing_of(&[PASSWORD], ran, how);
        assert!(ran.stdout.contains("[REDACTED:env:DEPLOY_SECRET]"), "{how}: {}", ran.stdout);
    });
}

#[test]
fn a_known_value_is_masked_in_other_spellings() {
    let home = secretive();
    in_every_mode(&home, &["-c", "printf '%s' \"$DB_PASSWORD\" | base64 -w0; echo"], |ran, how| {
        assert!(!ran.all().contains("Y29ycmVjdCBob3JzZSAiYmF0dGVyeSIgc3RhcGxl"), "{how} shows base64: {ran:?}");
    });
    std::fs::write(home.work().join("v.json"), "{\"v\": \"correct horse \\\"battery\\\" staple\"}\n").unwrap();
    in_every_mode(&home, &["--", "cat", "v.json"], |ran, how| {
        assert!(!ran.stdout.contains("battery"), "{how} shows JSON: {ran:?}");
    });
    in_every_mode(&home, &["-c", "echo correct%20horse%20%22battery%22%20staple"], |ran, how| {
        assert!(!ran.stdout.contains("battery"), "{how} shows a URL: {ran:?}");
    });
}

/// Prints the token in a way of its own: from the environment, where hermes knows the value, and from a file, where
/// only its shape gives it away.
fn printed(way: &str) {
    let script = format!("set -f; {way}\n");
    for known in [true, false] {
        let home = if known { secretive() } else { TestHome::new() };
        // What is under test is what is masked, not what is left out.
        drop(home.run(["plugins", "disable", "summarize-output"]).expect(0));
        std::fs::write(home.work().join("print.sh"), &script).unwrap();
        std::fs::write(home.work().join("token"), TOKEN).unwrap();
        let source = if known { "T=$GITHUB_TOKEN" } else { "T=$(cat token)" };
        in_every_mode(&home, &["-c", &format!("{source}; . ./print.sh")], |ran, how| {
            nothing_of(&[TOKEN], ran, &format!("{way:?}, known: {known}, {how}"));
            assert!(ran.stdout.contains("[REDACTED:"), "{way:?}, known: {known}, {how}: {ran:?}");
        });
    }
}

#[test]
fn a_token_in_colours_is_masked() {
    printed("for ((i = 0; i < ${#T}; i++)); do printf '\\033[3%dm%s\\033[0m' $((i % 8)) \"${T:i:1}\"; done; echo");
}

#[test]
fn a_token_written_byte_by_byte_is_masked() {
    printed("for ((i = 0; i < ${#T}; i++)); do printf '%s' \"${T:i:1}\"; done; echo");
}

#[test]
fn a_token_with_a_carriage_return_in_it_is_masked() {
    printed("printf '%s\\r%s\\n' \"${T:0:20}\" \"${T:20}\"");
}

#[test]
fn a_token_that_overwrites_a_longer_line_is_masked() {
    printed("printf 'downloading everything\\r%s\\n' \"$T\"");
}

#[test]
fn a_token_across_the_border_of_a_pipe_is_masked() {
    printed("for before in 4095 4090 4080 4060 4056; do head -c $before /dev/zero | tr '\\0' x; echo \" $T\"; done");
}

#[test]
fn a_token_with_a_hyperlink_or_a_title_in_it_is_masked() {
    printed(
        "printf '%s\\033]8;;http://a.test/\\033\\\\%s\\033]0;title\\007%s\\n' \"${T:0:10}\" \"${T:10:10}\" \"${T:20}\"",
    );
}

#[test]
fn a_token_with_invisible_characters_in_it_is_masked() {
    printed("printf '%s\\xe2\\x80\\x8b%s\\xc2\\xad%s\\n' \"${T:0:10}\" \"${T:10:10}\" \"${T:20}\"");
}

#[test]
fn a_token_typed_with_backspaces_is_masked() {
    printed("printf '%sxx\\b\\b%s\\n' \"${T:0:20}\" \"${T:20}\"");
}

#[test]
fn a_token_without_a_newline_at_the_end_is_masked() {
    printed("printf '%s' \"$T\"");
}

#[test]
fn a_redactor_that_crashes_shows_no_secret() {
    let home = secretive();
    home.install_guest("traps-on-text", "redact");
    // Four runs: the fifth crash would quarantine it, which is another test's.
    for mode in MODES {
        let arguments: Vec<&str> = mode.iter().copied().chain(["-c", "printenv; echo BOOM; printenv"]).collect();
        let ran = home.run(&arguments).expect(0);
        nothing_of(&HIDDEN, &ran, &format!("{arguments:?} after a crash"));
        assert!(ran.stdout.contains("[output withheld: traps-on-text: trap]"), "{ran:?}");
    }
}

#[test]
fn nothing_of_a_secret_is_written_to_a_file() {
    let home = secretive().with("HERMES_LOG", "trace");
    home.install_guest("traps-on-text", "redact");
    for mode in MODES {
        let arguments: Vec<&str> = mode.iter().copied().chain(["-c", "printenv; echo BOOM"]).collect();
        nothing_of(&HIDDEN, &home.run(&arguments).expect(0), "a run that logs everything");
    }
    for secret in HIDDEN {
        assert_eq!(home.files_with(secret), Vec::<std::path::PathBuf>::new());
    }
}

#[test]
fn a_secret_in_a_very_long_output_is_masked_at_both_ends() {
    let home = secretive();
    let script = "echo \"first $GITHUB_TOKEN\"; yes 'a line that is not interesting' | head -n 400000; echo \"last $GITHUB_TOKEN\"";
    let ran = home.run(["run", "--json", "-c", script]).expect(0);
    nothing_of(&[TOKEN], &ran, "a long output");
    let document = ran.json();
    assert_eq!(document["output_bytes"], 400_000 * 31 + "first \nlast \n".len() + 2 * TOKEN.len());
    assert!(document["output"].as_str().unwrap().len() < 60_000, "{}", document["output"].as_str().unwrap().len());
}
