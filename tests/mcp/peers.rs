//! hermes among the programs of others: official clients use it as an agent does, and official servers work behind it as
//! they work alone.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use hermes_tests::home::TestHome;
use hermes_tests::leavings;
use hermes_tests::peers::{self, Script};
use hermes_tests::wait::{self, PATIENCE};
use serde_json::{Value, json};

/// What an answer of a gateway says beside what its server said.
const POLICY: &str = "hermes/policy";

fn node() -> String {
    peers::node().to_str().unwrap().to_owned()
}

fn program(package: &str) -> String {
    let path = peers::installed(&format!("node_modules/@modelcontextprotocol/{package}/dist/index.js"));
    path.to_str().unwrap().to_owned()
}

/// Name and command line of each server.
fn servers(folder: &Path) -> [(&'static str, Vec<String>); 3] {
    let folder = folder.to_str().unwrap().to_owned();
    let python = peers::python().to_str().unwrap().to_owned();
    [
        ("everything", vec![node(), program("server-everything"), "stdio".to_owned()]),
        ("files", vec![node(), program("server-filesystem"), folder.clone()]),
        ("git", vec![python, "-m".to_owned(), "mcp_server_git".to_owned(), "--repository".to_owned(), folder]),
    ]
}

fn configure(home: &TestHome, servers: &[(&'static str, Vec<String>)]) {
    let entry = |(name, words): &(&str, Vec<String>)| {
        format!("[mcp_servers.{name}]\ncommand = {:?}\nargs = {:?}\n", words[0], &words[1..])
    };
    home.configure(&servers.iter().map(entry).collect::<String>());
}

fn nothing_is_left(home: &TestHome) {
    wait::until("everything to be gone", PATIENCE, || leavings::of(home.everything()).is_empty().then_some(()));
}

/// What a client did, by step.
fn steps(home: &TestHome, what: &str, client: Command) -> BTreeMap<String, Value> {
    configure(home, &servers(&home.work())[..1]);
    let client = peers::starting(client, &home.command(["mcp", "serve"]));
    let told = peers::documents(what, client, "");
    nothing_is_left(home);
    told.into_iter().map(|step| (step["step"].as_str().unwrap().to_owned(), step)).collect()
}

/// What every client must have seen.
fn assert_used(steps: &BTreeMap<String, Value>) {
    let step = |name: &str| steps.get(name).unwrap_or_else(|| panic!("no step {name} in {steps:?}"));
    let hello = step("initialize");
    assert_eq!(hello["server"], "hermes");
    for capability in ["tools", "resources", "prompts", "logging"] {
        assert!(hello["capabilities"].as_array().unwrap().contains(&json!(capability)), "{hello}");
    }
    let instructions = hello["instructions"].as_str().unwrap();
    assert!(instructions.contains("terminal") && instructions.split_whitespace().count() < 300, "{instructions}");

    let tools = step("tools");
    for tool in ["terminal", "process", "everything__echo"] {
        assert!(tools["names"].as_array().unwrap().contains(&json!(tool)), "{tools}");
    }
    assert_eq!(tools["described"], true);

    let said = step("foreground");
    assert!(said["text"].as_str().unwrap().starts_with("hello\n"), "{said}");
    assert_eq!((&said["structured"]["exit_code"], &said["failed"]), (&json!(0), &json!(false)));
    assert_eq!(step("exit")["structured"]["exit_code"], 3);
    let refused = step("refused");
    assert_eq!((&refused["failed"], &refused["structured"]["error"]["code"]), (&json!(true), &json!("bad-arguments")));

    assert_eq!(step("background")["structured"]["exit_code"], Value::Null);
    assert_eq!(step("waited")["structured"]["exit_code"], 0);
    assert_eq!(step("log")["structured"]["output"], "begun\nended\n");
    let events = step("events");
    let id = step("notified")["structured"]["id"].as_str().unwrap();
    assert!(events["structured"]["events"].to_string().contains(id), "{events}");
    let resource = step("resource");
    assert!(resource["text"].as_str().unwrap().contains("begun\nended"), "{resource}");
    assert!(resource["uri"].as_str().unwrap().contains(resource["id"].as_str().unwrap()), "{resource}");

    assert_eq!(step("gateway")["text"], "Echo: through the gateway");
    let progress = step("progress");
    let seen: Vec<f64> = progress["seen"].as_array().unwrap().iter().map(|pair| pair[0].as_f64().unwrap()).collect();
    assert!(seen.len() >= 2 && seen.is_sorted_by(|one, next| one < next), "{progress}");
    assert!(progress["text"].as_str().unwrap().contains("completed"), "{progress}");

    assert_eq!(step("cancelled")["givenUp"], true);
    assert_eq!(step("killed")["structured"]["status"]["kind"], "stopped");
    assert_eq!(step("unknown")["failed"], true);
    assert_eq!(step("left")["structured"]["status"]["kind"], "running");
    assert!(steps.contains_key("closed"));
}

#[test]
fn a_client_on_the_typescript_sdk_uses_hermes_and_leaves_nothing() {
    let (home, script) = (TestHome::new(), Script::of("client.mjs"));
    assert_used(&steps(&home, "the TypeScript client", script.command()));
}

fn python_client(mode: &str) -> BTreeMap<String, Value> {
    let home = TestHome::new();
    let mut client = Command::new(peers::python());
    client.arg(peers::source("client.py")).arg(mode);
    let steps = steps(&home, "the Python client", client);
    assert_used(&steps);
    steps
}

#[test]
fn a_client_on_the_python_sdk_uses_hermes_and_leaves_nothing() {
    assert_eq!(python_client("legacy")["initialize"]["version"], "2025-11-25");
}

#[test]
fn a_client_that_begins_without_a_handshake_uses_hermes_as_well() {
    assert!(python_client("auto")["initialize"]["version"].as_str().unwrap() > "2025-11-25");
}

/// Requests and the answers to them, from a server alone and through a gateway.
struct Asked {
    home: TestHome,
    script: Script,
    name: &'static str,
    words: Vec<String>,
}

impl Asked {
    fn of(name: &'static str) -> Self {
        let home = TestHome::new();
        repository(&home.work());
        let all = servers(&home.work());
        configure(&home, &all);
        let words = all.into_iter().find(|(of, _)| *of == name).unwrap().1;
        Self { home, script: Script::of("ask.mjs"), name, words }
    }

    fn ask(&self, started: &Command, requests: &[Value]) -> Vec<Value> {
        let input: String = requests.iter().map(|request| format!("{request}\n")).collect();
        let answers = peers::documents(self.name, peers::starting(self.script.command(), started), &input);
        assert_eq!(answers.len(), requests.len(), "{answers:?}");
        answers
    }

    /// What the server answers alone.
    fn alone(&self, requests: &[Value]) -> Vec<Value> {
        let mut server = self.home.command::<&str>([]);
        let environment: Vec<_> =
            server.get_envs().map(|(name, value)| (name.to_owned(), value.unwrap().to_owned())).collect();
        server = Command::new(&self.words[0]);
        server.args(&self.words[1..]).current_dir(self.home.work()).envs(environment);
        self.ask(&server, requests)
    }

    /// What it answers through a gateway, under the names it has there, without what the gateway says of its policy.
    fn through(&self, requests: &[Value]) -> Vec<Value> {
        let named = |request: &Value| {
            let mut request = request.clone();
            if let Some(name) = request["params"]["name"].as_str() {
                request["params"]["name"] = json!(format!("{}__{name}", self.name));
            }
            request
        };
        let requests: Vec<Value> = requests.iter().map(named).collect();
        let mut answers = self.ask(&self.home.command(["mcp", "serve"]), &requests);
        nothing_is_left(&self.home);
        for answer in &mut answers {
            let Some(meta) = answer["result"]["_meta"].as_object_mut() else { continue };
            assert!(meta.remove(POLICY).is_some_and(|policy| policy["withheld"].is_null()), "{answer}");
            if meta_is_empty(answer) {
                answer["result"].as_object_mut().unwrap().remove("_meta");
            }
        }
        answers
    }

    /// Both, which must be the same.
    fn same(&self, requests: &[Value]) -> Vec<Value> {
        let (alone, through) = (self.alone(requests), self.through(requests));
        for ((request, alone), through) in requests.iter().zip(&alone).zip(&through) {
            assert_eq!((&alone["result"], &alone["error"]), (&through["result"], &through["error"]), "{request}");
        }
        through
    }
}

fn meta_is_empty(answer: &Value) -> bool {
    answer["result"]["_meta"].as_object().is_some_and(serde_json::Map::is_empty)
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({"method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"))
}

/// A repository with one commit and one file that is not in it.
fn repository(folder: &Path) {
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        let settings = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main"];
        git.arg("-C").arg(folder).args(settings).args(words);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        let ran = git.output().unwrap_or_else(|error| panic!("git does not start: {error}"));
        assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    };
    std::fs::write(folder.join("kept.txt"), "one\ntwo\n").unwrap();
    git(&["init", "-q"]);
    git(&["add", "kept.txt"]);
    git(&["commit", "-q", "-m", "the first"]);
    std::fs::write(folder.join("kept.txt"), "one\nthree\n").unwrap();
}

#[test]
fn everything_of_a_server_that_has_everything_arrives() {
    let asked = Asked::of("everything");
    let answers = asked.same(&[
        call("echo", json!({"message": "hello"})),
        call("get-sum", json!({"a": 2, "b": 3})),
        call("get-sum", json!({"a": "two"})),
        call("get-structured-content", json!({"location": "New York"})),
        call("get-tiny-image", json!({})),
        call("get-annotated-message", json!({"messageType": "error", "includeImage": true})),
        json!({"method": "prompts/get", "params": {"name": "simple-prompt"}}),
        json!({"method": "prompts/get", "params": {"name": "args-prompt", "arguments": {"city": "Ulm"}}}),
    ]);
    assert_eq!(text(&answers[0]), "Echo: hello");
    assert_eq!(answers[2]["result"]["isError"], true);
    assert!(answers[3]["result"]["structuredContent"].is_object());
    assert_eq!(answers[4]["result"]["content"][1]["type"], "image");
    assert!(answers[7].to_string().contains("Ulm"));
}

#[test]
fn resources_of_a_server_are_read_by_the_names_a_gateway_gives_them() {
    let asked = Asked::of("everything");
    let links = asked.through(&[call("get-resource-links", json!({"count": 2}))]);
    let uri = links[0]["result"]["content"][2]["uri"].as_str().unwrap();
    let read = |uri: &str| json!({"method": "resources/read", "params": {"uri": uri}});
    let through = asked.through(&[json!({"method": "resources/list"}), read(uri)]);
    assert!(!through[0]["result"]["resources"].as_array().unwrap().is_empty());
    let alone = asked.alone(&[call("get-resource-links", json!({"count": 2})), read("demo://resource/dynamic/text/2")]);
    assert_eq!(alone[0]["result"]["content"][2]["uri"], "demo://resource/dynamic/text/2");
    // It says when it was made, and what it is called.
    let contents = |answer: &Value| answer["result"]["contents"][0].clone();
    assert_eq!(contents(&through[1])["mimeType"], contents(&alone[1])["mimeType"]);
    let begins = |answer: &Value| contents(answer)["text"].as_str().unwrap().split(" at ").next().unwrap().to_owned();
    assert_eq!(begins(&through[1]), begins(&alone[1]));
}

#[test]
fn files_are_written_and_read_and_kept_within_their_folder() {
    let asked = Asked::of("files");
    let path = |name: &str| asked.home.work().join(name).to_str().unwrap().to_owned();
    let written = call("write_file", json!({"path": path("new.txt"), "content": "begun\nended\n"}));
    assert!(asked.through(&[written])[0]["result"]["isError"] != true);
    assert_eq!(std::fs::read_to_string(path("new.txt")).unwrap(), "begun\nended\n");
    let edits = json!([{"oldText": "begun", "newText": "opened"}]);
    let answers = asked.same(&[
        call("read_text_file", json!({"path": path("new.txt")})),
        call("list_directory", json!({"path": path("")})),
        call("edit_file", json!({"path": path("new.txt"), "edits": edits, "dryRun": true})),
        call("read_text_file", json!({"path": "/etc/passwd"})),
    ]);
    assert_eq!(text(&answers[0]), "begun\nended\n");
    assert!(text(&answers[1]).contains("new.txt") && text(&answers[2]).contains("+opened"));
    assert_eq!(answers[3]["result"]["isError"], true);
}

#[test]
fn a_repository_is_looked_at_and_changed() {
    let asked = Asked::of("git");
    let at = asked.home.work().to_str().unwrap().to_owned();
    let answers = asked.same(&[
        call("git_status", json!({"repo_path": at})),
        call("git_diff_unstaged", json!({"repo_path": at})),
        call("git_log", json!({"repo_path": at, "max_count": 1})),
        call("git_status", json!({"repo_path": "/nonexistent"})),
    ]);
    assert!(text(&answers[0]).contains("kept.txt") && text(&answers[1]).contains("+three"));
    assert!(text(&answers[2]).contains("the first"));
    assert_eq!(answers[3]["result"]["isError"], true);
    let staged = asked.through(&[
        call("git_add", json!({"repo_path": at, "files": ["kept.txt"]})),
        call("git_diff_staged", json!({"repo_path": at})),
    ]);
    assert!(text(&staged[1]).contains("+three"), "{staged:?}");
}
