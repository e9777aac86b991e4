//! A secret in each carrier a server has: masked in every one of them, on its way to an agent and on disk.

use std::fs;

use hermes_tests::home::{TestHome, contains, files_below};
use hermes_tests::mcp::Client;
use hermes_tests::wait::{self, PATIENCE};
use serde_json::{Value, json};

use crate::served::{Served, TOKEN, end, nothing_of, until_listed};

/// What only the configuration makes a secret.
const GIVEN: &str = "given-to-this-server-alone-4411";
/// What stands for what is masked.
const MASK: &str = "[REDACTED:";

fn telling() -> Served {
    let home = TestHome::new().with("GIVEN_FROM_OUTSIDE", GIVEN).with("HERMES_LOG", "trace");
    let settings = "env = { GIVEN = \"${GIVEN_FROM_OUTSIDE}\" }";
    Served::of(home, "", &[("tell", &["--secret", TOKEN, "ok"], settings)])
}

fn ready(served: &Served) -> Client {
    let client = served.client();
    client.until_tools(&["tell__tell"]);
    client
}

/// Neither the agent nor the disk has anything of a secret. What the test configured itself holds one.
fn nothing_anywhere(served: &Served, client: &Client) {
    for secret in [TOKEN, GIVEN] {
        nothing_of(secret, &client.heard(), "what an agent heard");
        nothing_of(secret, client.errors().as_bytes(), "the log of the host");
        for path in files_below(&served.home.root()) {
            if path.ends_with("config.toml") {
                continue;
            }
            // A socket cannot be read.
            if let Ok(bytes) = fs::read(&path) {
                nothing_of(secret, &bytes, &path.display().to_string());
            }
        }
    }
}

/// Asks for a carrier, and looks that it came, masked.
fn told(carrier: &str) -> Value {
    let served = telling();
    let client = ready(&served);
    client.result("logging/setLevel", &json!({"level": "info"}));
    let params = json!({"name": "tell__tell", "arguments": {"carrier": carrier}, "_meta": {"progressToken": "t"}});
    let answer = client.request("tools/call", &params);
    let mut said = answer.clone();
    match carrier {
        "progress" => said = client.until_notified("notifications/progress", 1)[0].clone(),
        "logging" => {
            said = wait::until("the message", PATIENCE, || {
                let all = client.notifications("notifications/message");
                all.into_iter().find(|params| params.to_string().contains("here it is"))
            });
        }
        _ => {}
    }
    assert!(said.to_string().contains(MASK), "{carrier}: nothing is masked in {said}");
    nothing_anywhere(&served, &client);
    end(&served, &client);
    nothing_anywhere(&served, &client);
    answer
}

#[test]
fn in_a_text() {
    let answer = told("content");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("here it is: [REDACTED:") && text.ends_with("] ."), "{text}");
}

#[test]
fn in_structured_content() {
    let answer = told("structured");
    let deep = &answer["result"]["structuredContent"];
    assert_eq!((&deep["n"], &deep["deep"]["list"][0]), (&json!(7), &json!(1)), "{answer}");
}

#[test]
fn in_a_document_within_a_text_and_one_within_that() {
    let answer = told("json");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    let outer: Value = serde_json::from_str(text).unwrap();
    let inner: Value = serde_json::from_str(outer["inner"].as_str().unwrap()).unwrap();
    assert!(inner["auth"].as_str().unwrap().contains(MASK), "{outer}");
    assert_eq!((&outer["user"], &outer["n"]), (&json!("me"), &json!([1, 2])));
}

#[test]
fn in_a_result_that_says_it_failed() {
    assert_eq!(told("error")["result"]["isError"], true);
}

#[test]
fn in_an_error_of_the_protocol() {
    let answer = told("refusal");
    let error = &answer["error"];
    assert_eq!(error["code"], -32050, "{answer}");
    assert!(error["message"].to_string().contains(MASK) && error["data"].to_string().contains(MASK), "{answer}");
}

#[test]
fn in_an_embedded_resource() {
    let answer = told("resource");
    assert_eq!(answer["result"]["content"][0]["type"], "resource", "{answer}");
}

#[test]
fn in_a_link() {
    let answer = told("link");
    assert_eq!(answer["result"]["content"][0]["type"], "resource_link", "{answer}");
}

#[test]
fn in_what_is_beside() {
    let answer = told("meta");
    let beside = &answer["result"]["_meta"]["org/b"]["c"];
    assert!(beside.as_str().is_some_and(|beside| beside.contains(MASK)), "{answer}");
}

#[test]
fn in_progress() {
    told("progress");
}

#[test]
fn in_a_log_message() {
    told("logging");
}

#[test]
fn on_stderr() {
    let served = telling();
    let client = ready(&served);
    client.call("tell__tell", &json!({"carrier": "stderr"}));
    let log = served.home.root().join("logs").join("mcp-tell.log");
    wait::until("the line in its log", PATIENCE, || {
        fs::read(&log).is_ok_and(|bytes| contains(&bytes, MASK.as_bytes())).then_some(())
    });
    nothing_anywhere(&served, &client);
    end(&served, &client);
}

#[test]
fn in_resources_prompts_and_completions() {
    let served = telling();
    let client = ready(&served);
    for (method, key) in [("resources/list", "resources"), ("prompts/list", "prompts"), ("tools/list", "tools")] {
        let list = json!(until_listed(&client, method, key, "tell")).to_string();
        assert!(list.contains(MASK), "{method}: {list}");
    }
    let resources = client.list("resources/list", "resources");
    let secret = resources.iter().find(|it| it["uri"].to_string().contains("secret")).unwrap()["uri"].clone();
    let read = client.result("resources/read", &json!({"uri": secret}));
    assert!(read["contents"][0]["text"].to_string().contains(MASK), "{read}");
    let prompt = client.result("prompts/get", &json!({"name": "tell__secret"}));
    assert!(prompt["messages"][0].to_string().contains(MASK), "{prompt}");
    let reference = json!({"type": "ref/prompt", "name": "tell__greet"});
    let argument = json!({"name": "name", "value": "a"});
    client.result("completion/complete", &json!({"ref": reference, "argument": argument}));
    nothing_anywhere(&served, &client);
    end(&served, &client);
}

#[test]
fn what_a_server_was_given_in_its_environment_is_masked_by_name_and_in_other_writings() {
    let served = telling();
    let client = ready(&served);
    assert_eq!(client.say("tell__env", &json!({"name": "GIVEN"})), "[REDACTED:env:GIVEN]");
    let base64 = "Z2l2ZW4tdG8tdGhpcy1zZXJ2ZXItYWxvbmUtNDQxMQ==";
    let said = client.say("tell__echo", &json!({"text": format!("url given%2Dto%2Dthis x {base64} y")}));
    assert!(!said.contains(base64), "{said}");
    assert_eq!(client.say("tell__env", &json!({"name": "GIVEN_FROM_OUTSIDE"})), "(unset)", "it is not on the list");
    nothing_anywhere(&served, &client);
    end(&served, &client);
}

#[test]
fn in_what_the_command_line_lists_and_tests() {
    let served = telling();
    let client = ready(&served);
    for words in
        [&["mcp", "list"][..], &["mcp", "list", "--json"], &["mcp", "test", "tell"], &["mcp", "test", "tell", "--json"]]
    {
        let ran = served.home.run(words).expect(0);
        assert!(ran.all().contains("tell"), "{ran:?}");
        for secret in [TOKEN, GIVEN] {
            nothing_of(secret, ran.all().as_bytes(), &format!("{words:?}"));
        }
    }
    end(&served, &client);
}

#[test]
fn nothing_is_shown_by_a_policy_that_has_no_answer() {
    let home = TestHome::new();
    home.configure("");
    home.install_guest("traps-on-text", "redact");
    let config = fs::read_to_string(home.root().join("config.toml")).unwrap();
    let served = Served::of(home, &config, &[("good", &["ok"], "")]);
    let client = served.client();
    client.until_tools(&["terminal"]);
    let answer = client
        .request("tools/call", &json!({"name": "good__echo", "arguments": {"text": "BOOM quite-harmless-words"}}));
    let text = answer.to_string();
    assert!(!text.contains("quite-harmless-words") && text.contains("withheld"), "{text}");
    end(&served, &client);
}
