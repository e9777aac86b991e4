//! `--json`: one document with exactly the fields that are written down, and nothing beside it.

use hermes_tests::home::TestHome;
use serde_json::Value;

fn keys(value: &Value) -> String {
    value.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_run_is_one_document_with_exactly_its_fields() {
    let home = TestHome::new();
    for command in [
        &["--", "true"][..],
        &["-c", "exit 7"],
        &["--", "no-such-program"],
        &["--timeout", "300ms", "-c", "sleep 1000"],
    ] {
        let arguments: Vec<&str> = ["run", "--json"].iter().chain(command).copied().collect();
        let document = home.run(&arguments).json();
        assert_eq!(
            keys(&document),
            "id command owner pid status exit_code output output_bytes output_cut duration_ms survivors policy"
        );
        assert_eq!(keys(&document["status"]), "kind code signal by reason");
        assert_eq!(keys(&document["policy"]), "generation transformed_by redactions withheld warnings");
    }
}

#[test]
fn the_fields_of_a_run_say_what_happened() {
    let home = TestHome::new();
    let document = home.run(["run", "--json", "--owner", "tester", "-c", "echo hello; exit 7"]).expect(7).json();
    let id = document["id"].as_str().unwrap();
    assert!(id.len() == 17 && id.starts_with("proc_") && id[5..].bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
    assert_eq!(document["command"], "echo hello; exit 7");
    assert_eq!(document["owner"], "tester");
    assert!(document["pid"].as_i64().is_some_and(|pid| pid > 1), "{document}");
    assert_eq!((&document["status"]["kind"], &document["status"]["code"]), (&"exited".into(), &7.into()));
    assert_eq!((&document["output"], &document["output_bytes"]), (&"hello\n".into(), &6.into()));
    assert!(document["duration_ms"].as_u64().is_some(), "{document}");
    assert_eq!((&document["policy"]["generation"], &document["policy"]["withheld"]), (&0.into(), &Value::Null));
}

#[test]
fn masks_are_counted_by_rule() {
    let home = TestHome::new();
    let token = "ghp_Zq8xPl0aMn3vKc7dRt5yWb2eHu9jLs4gTf6k";
    std::fs::write(home.work().join("log"), format!("{token}\n{token}\n")).unwrap();
    let document = home.run(["run", "--json", "--", "cat", "log"]).expect(0).json();
    assert_eq!(document["policy"]["redactions"], serde_json::json!({"github-pat": 2}), "{document}");
}

#[test]
fn an_error_is_a_document_too() {
    let home = TestHome::new();
    let ran = home.run(["plugins", "show", "nobody", "--json"]).expect(1);
    let document = ran.json();
    assert_eq!(keys(&document["error"]), "message hint", "{document}");
    assert!(ran.stderr.contains("nobody"), "people are told as well: {ran:?}");
}

#[test]
fn a_list_names_home_generation_and_who_was_asked() {
    let home = TestHome::new();
    let document = home.run(["plugins", "list", "--json"]).expect(0).json();
    assert_eq!(keys(&document), "home generation asked plugins hosts");
    assert_eq!(document["home"], home.root().to_str().unwrap());
    assert_eq!((&document["generation"], &document["asked"]), (&0.into(), &"disk".into()));
    let names: Vec<&str> =
        document["plugins"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["redact-secrets", "summarize-output"]);
    for row in document["plugins"].as_array().unwrap() {
        assert_eq!((&row["state"], &row["source"]), (&"loaded".into(), &"bundled".into()), "{row}");
        assert_eq!(row["api"], serde_json::json!({"hook": "0.1.0", "host": row["api"]["host"]}), "{row}");
    }
}
