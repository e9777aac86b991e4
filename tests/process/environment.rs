//! What a command is given and what is kept of it: no key of the agent, and no secret in the ledger.

use std::path::PathBuf;

use hermes_tests::agent::Agent;
use hermes_tests::home::TestHome;
use serde_json::json;

use crate::verbs::{events, hosted, log, start, start_text, wait};

/// Names that are kept back from what runs in the background, with a value each that is nowhere else.
const KEPT_BACK: [(&str, &str); 6] = [
    ("OPENAI_API_KEY", "value-of-openai-1f"),
    ("ANTHROPIC_API_KEY", "value-of-anthropic-2f"),
    ("GITHUB_TOKEN", "value-of-github-3f"),
    ("TELEGRAM_BOT_TOKEN", "value-of-telegram-4f"),
    ("SUDO_PASSWORD", "value-of-sudo-5f"),
    ("VIRTUAL_ENV", "/value-of-venv-6f"),
];

fn with_keys() -> TestHome {
    let home = KEPT_BACK.iter().fold(TestHome::new(), |home, (name, value)| home.with(name, value));
    home.configure("[host]\nidle_exit = \"60s\"\n");
    home
}

#[test]
fn a_background_command_gets_none_of_the_keys_of_who_started_it_or_of_the_host() {
    let home = with_keys().with("PLAIN_WORD", "plain");
    let id = start(&home, &["--", "env"]);
    let printed = wait(&home, &id)["output"].as_str().unwrap().to_owned();
    // Nor does a command of an agent, which names no environment and gets that of the host.
    let mut agent = Agent::of(&home);
    let told = agent.call("terminal", &json!({"command": "env"}));
    let agents = told["output"].as_str().unwrap().to_owned();
    for environment in [&printed, &agents] {
        for (name, value) in KEPT_BACK {
            assert!(
                !environment.contains(&format!("{name}=")) && !environment.contains(value),
                "{name}: {environment}"
            );
        }
        assert!(environment.contains("PLAIN_WORD=plain"), "{environment}");
    }
}

#[test]
fn a_variable_that_is_named_is_passed_and_its_value_is_masked() {
    let home = with_keys();
    let text = "test \"$GITHUB_TOKEN\" = value-of-github-3f && echo has $GITHUB_TOKEN";
    let id = start(&home, &["--env", "GITHUB_TOKEN=value-of-github-3f", "-c", text]);
    let ended = wait(&home, &id);
    assert_eq!(ended["exit_code"], 0, "{ended}");
    assert!(!ended.to_string().contains("value-of-github-3f"), "{ended}");
    assert!(!log(&home, &id).contains("value-of-github-3f"));
}

#[test]
fn a_secret_under_an_innocent_name_is_masked_by_its_shape() {
    let home = hosted()
        .with("AZURE_SQL_CONN", "Server=db;User Id=me;Password=kQ8vN2pXw7Lr5TzB;")
        .with("BACKEND", "postgres://me:kQ8vN2pXw7Lr5TzB@db.example/x");
    for name in ["AZURE_SQL_CONN", "BACKEND"] {
        let text = format!("echo ${name}");
        let ran = home.run(["run", "-c", &text]).expect(0);
        assert!(!ran.all().contains("kQ8vN2pXw7Lr5TzB"), "{name}: {ran:?}");
        let id = start_text(&home, &text);
        let ended = wait(&home, &id);
        assert!(!ended.to_string().contains("kQ8vN2pXw7Lr5TzB"), "{name}: {ended}");
    }
    assert_eq!(home.files_with("kQ8vN2pXw7Lr5TzB"), Vec::<PathBuf>::new());
}

#[test]
fn a_secret_in_a_command_line_is_in_no_list_no_event_and_no_file() {
    const SECRET: &str = "ghp_Zq8xPl0aMn3vKc7dRt5yWb2eHu9jLs4gTf6k";
    let home = hosted();
    let header = format!("Authorization: Bearer {SECRET}");
    let id = start(&home, &["--notify", "--watch", "Bearer", "--", "sh", "-c", "echo \"$1\"; exit 3", "curl", &header]);
    let ended = wait(&home, &id);
    let told = start(&home, &["--notify", "--", "sh", "-c", "echo \"$1\"", "curl", &header]);
    let texts = [
        ended.to_string(),
        hermes_tests::wait::until("an event", hermes_tests::wait::PATIENCE, || {
            Some(format!("{:?}", events(&home))).filter(|text| text.contains("completion"))
        }),
        home.run(["ps", "--all", "--json"]).expect(0).all(),
        home.run(["logs", &told]).expect(0).all(),
    ];
    for text in texts {
        assert!(!text.contains(SECRET) && !text.is_empty(), "{text}");
        assert!(text.contains("REDACTED"), "{text}");
    }
    // A table has no room for the whole of it.
    assert!(!home.run(["ps", "--all"]).expect(0).all().contains(&SECRET[..12]));
    // Nothing of it is on the disk, whether the host lives or has ended.
    assert_eq!(home.files_with(SECRET), Vec::<PathBuf>::new());
}
