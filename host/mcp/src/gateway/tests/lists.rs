//! What is listed, read and completed, and under which names.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use serde_json::{Value, json};

use super::agent::{Agent, house, names};
use super::fake::{Fake, raws};
use crate::client::Client;
use crate::serve::{Clients, Server};
use crate::servers::handle::Phase;
use crate::session::{Asker, fresh_owner};
use crate::socket::{self, SocketPath};
use crate::support;

fn silent(name: &str, tools: Value) -> Fake {
    Fake::new(name, tools, |_| Ok(json!({})))
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_all_servers_are_listed_under_names_of_their_own_after_ours() {
    let two = ["a", "b"].map(|name| Arc::new(silent(name, json!([{"name": "search", "description": "a secret"}]))));
    let house = house(two.to_vec());
    let mut agent = Agent::begin(&house).await;
    let list = agent.ask("tools/list", json!({})).await;
    assert_eq!(names(&list["tools"]), ["terminal", "process", "a__search", "b__search"]);
    assert_eq!(list["tools"][2]["description"], "a [REDACTED:word]");
    assert_eq!(
        list["tools"][2]["inputSchema"]["type"], "object",
        "clients refuse a list for one tool without a schema"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_configuration_leaves_out_is_neither_listed_nor_called() {
    let tools = json!([{"name": "get"}, {"name": "delete_all"}]);
    let fake = silent("s", tools).configured(|config| config.tools.exclude = vec!["delete_*".to_owned()]);
    let house = house(vec![Arc::new(fake)]);
    let mut agent = Agent::begin(&house).await;
    let list = agent.ask("tools/list", json!({})).await;
    assert_eq!(names(&list["tools"])[2..], ["s__get"]);
    let error = agent.error("tools/call", json!({"name": "s__delete_all"})).await;
    assert_eq!(error["code"], -32602, "{error}");
    let error = agent.error("tools/call", json!({"name": "s__gett"})).await;
    assert!(error["message"].as_str().unwrap().contains("did you mean 's__get'"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_lists_come_in_pages_and_a_strange_cursor_is_refused() {
    let tools: Vec<Value> = (0..450).map(|number| json!({"name": format!("t{number}")})).collect();
    let house = house(vec![Arc::new(silent("s", json!(tools)))]);
    let mut agent = Agent::begin(&house).await;
    let (mut all, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = agent.ask("tools/list", json!({"cursor": cursor})).await;
        all.extend(names(&page["tools"]).into_iter().map(str::to_owned));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!((all.len(), all.last().unwrap().as_str()), (452, "s__t449"));
    assert_eq!(agent.error("tools/list", json!({"cursor": "x"})).await["code"], -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_waits_for_a_server_that_is_starting_and_tells_when_it_changes() {
    let fake = silent("s", json!([])).in_phase(Phase::Starting);
    fake.change(Phase::Starting, |offering| *offering = Default::default());
    let fake = Arc::new(fake);
    let house = house(vec![Arc::clone(&fake)]);
    let mut agent = Agent::begin(&house).await;
    let id = agent.send("tools/list", json!({})).await;
    fake.change(Phase::Ready, |offering| {
        offering.capabilities = raws(json!([{"tools": {}}])).remove(0);
        offering.tools = raws(json!([{"name": "late"}]));
    });
    let answer = loop {
        let message = agent.read().await;
        if message["id"] == id {
            break message;
        }
        agent.told.push(message);
    };
    assert_eq!(names(&answer["result"]["tools"])[2..], ["s__late"]);
    agent.hears("notifications/tools/list_changed").await;
    for number in 0..20 {
        fake.change(Phase::Ready, |offering| offering.tools = raws(json!([{"name": format!("t{number}")}])));
    }
    agent.hears("notifications/tools/list_changed").await;
    let list = agent.ask("tools/list", json!({})).await;
    assert_eq!(names(&list["tools"])[2..], ["s__t19"]);
    let more = agent.told.iter().filter(|told| told["method"] == "notifications/tools/list_changed").count();
    assert!(more <= 1, "they are told together");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_waits_for_the_tools_of_a_server_that_has_only_said_who_it_is() {
    let fake = silent("s", json!([])).in_phase(Phase::Starting);
    let fake = Arc::new(fake);
    let house = house(vec![Arc::clone(&fake)]);
    let gateway = house.offer.gateway.clone();
    let settled = tokio::spawn(async move { gateway.settled().await });
    support::wait_until("it is listened to", || fake.listeners() > 1).await;
    assert!(!settled.is_finished());
    fake.change(Phase::Ready, |offering| offering.tools = raws(json!([{"name": "late"}])));
    settled.await.unwrap();
    assert_eq!(house.offer.gateway.catalogue().await.tools.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tools_and_one_that_runs_are_not_waited_for() {
    let without = silent("a", json!([])).in_phase(Phase::Starting);
    without.change(Phase::Starting, |offering| offering.capabilities = raws(json!([{"prompts": {}}])).remove(0));
    let (without, empty) = (Arc::new(without), Arc::new(silent("b", json!([]))));
    let house = house(vec![Arc::clone(&without), Arc::clone(&empty)]);
    let waited = house.offer.gateway.settled();
    tokio::pin!(waited);
    // It waits for nothing: the first look finds it done.
    assert!(std::future::poll_fn(|context| std::task::Poll::Ready(waited.as_mut().poll(context))).await.is_ready());
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_stay_listed_while_their_server_is_away() {
    let fake = Arc::new(silent("s", json!([{"name": "t"}])));
    let house = house(vec![Arc::clone(&fake)]);
    let mut agent = Agent::begin(&house).await;
    for phase in [Phase::Degraded, Phase::Parked, Phase::Stopped] {
        fake.change(phase, |_| {});
        let list = agent.ask("tools/list", json!({})).await;
        assert_eq!(names(&list["tools"])[2..], ["s__t"], "{phase:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_resources_and_templates_are_found_again_at_their_server() {
    let fake = Fake::new("s", json!([]), |ask| {
        Ok(match ask.method {
            "prompts/get" => json!({"messages": [{"role": "user", "content": {"type": "text", "text": "the secret"}}]}),
            "resources/read" => json!({"contents": [{"uri": ask.params["uri"], "text": "the secret"}]}),
            "completion/complete" => json!({"completion": {"values": ["secret", "b"]}}),
            _ => json!({}),
        })
    });
    let fake = Arc::new(fake.offers(|offering| {
        offering.prompts = raws(json!([{"name": "p"}]));
        offering.resources = raws(json!([{"uri": "file:///a b", "name": "r"}]));
        offering.templates = raws(json!([{"uriTemplate": "file:///{x}", "name": "x"}]));
    }));
    let house = house(vec![Arc::clone(&fake)]);
    let mut agent = Agent::begin(&house).await;
    let prompts = agent.ask("prompts/list", json!({})).await;
    assert_eq!(names(&prompts["prompts"]), ["s__p"]);
    let prompt = agent.ask("prompts/get", json!({"name": "s__p", "arguments": {"a": "secret"}})).await;
    assert_eq!(prompt["messages"][0]["content"]["text"], "the [REDACTED:word]");
    let resources = agent.ask("resources/list", json!({})).await;
    let uri = resources["resources"][0]["uri"].clone();
    assert_eq!(uri, "hermes://server/s/file%3A%2F%2F%2Fa%20b");
    let read = agent.ask("resources/read", json!({"uri": uri})).await;
    assert_eq!(read["contents"][0], json!({"uri": uri, "text": "the [REDACTED:word]"}));
    let templates = agent.ask("resources/templates/list", json!({})).await;
    let template = templates["resourceTemplates"][2]["uriTemplate"].as_str().unwrap().to_owned();
    let read = agent.ask("resources/read", json!({"uri": template.replace("{x}", "y")})).await;
    assert_eq!(read["contents"][0]["uri"], template.replace("{x}", "y"));
    let reference = json!({"type": "ref/resource", "uri": template});
    let argument = json!({"name": "x", "value": ""});
    let complete = agent.ask("completion/complete", json!({"ref": reference, "argument": argument})).await;
    assert_eq!(complete["completion"]["values"], json!(["[REDACTED:word]", "b"]));
    let asked = fake.asked.lock().unwrap().clone();
    let told: Vec<Value> = asked.into_iter().map(|(method, params)| json!([method, params])).collect();
    assert_eq!(
        told,
        [
            json!(["prompts/get", {"name": "p", "arguments": {"a": "secret"}}]),
            json!(["resources/read", {"uri": "file:///a b"}]),
            json!(["resources/read", {"uri": "file:///y"}]),
            json!(["completion/complete", {"ref": {"type": "ref/resource", "uri": "file:///{x}"}, "argument": argument}]),
        ]
    );
    for (method, params) in [("prompts/get", json!({"name": "p"})), ("resources/read", json!({"uri": "file:///a b"}))] {
        assert!(agent.error(method, params).await["code"].is_i64());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_a_process_is_a_resource_of_its_agent() {
    let house = house(Vec::new());
    let mut agent = Agent::begin(&house).await;
    let ran = agent.call("terminal", json!({"command": "echo the secret; seq 20000"})).await;
    let text = ran["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("the [REDACTED:word]\n") && text.contains("exit code 0"), "{}", &text[text.len() - 100..]);
    let list = agent.ask("resources/list", json!({})).await;
    let uri = list["resources"][0]["uri"].clone();
    let read = agent.ask("resources/read", json!({"uri": uri})).await;
    let log = read["contents"][0]["text"].as_str().unwrap();
    assert!(log.starts_with("the [REDACTED:word]\n1\n2\n") && log.ends_with("\n19999\n20000\n"), "{}", log.len());
    let mut other = Agent::with(&house, "other", json!({})).await;
    assert_eq!(other.error("resources/read", json!({"uri": uri})).await["code"], -32002);
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_at_one_socket_are_strangers_to_one_another() {
    let house = house(vec![Arc::new(silent("s", json!([{"name": "t"}])))]);
    let at = SocketPath::at(&house.folder.path().join("agents.sock")).unwrap();
    let who = || fresh_owner().map(Asker::Agent);
    let bound = socket::bind(&at).unwrap();
    let server = Server::start_for(bound, Arc::clone(&house.offer), Clients::default(), who).unwrap();
    let mode = std::fs::metadata(at.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (one, two) = (Client::connect(&at).await.unwrap().unwrap(), Client::connect(&at).await.unwrap().unwrap());
    let started = support::terminal(&one, json!({"command": "sleep 1000", "background": true})).await;
    assert!(started.text("owner").unwrap().starts_with("mcp-"));
    let id = started.text("id").unwrap();
    let refused = support::call(&two, "process", json!({"action": "kill", "id": id})).await;
    assert_eq!(support::refusal(refused).0, "foreign");
    assert_eq!(server.clients(), 2);
    drop(one);
    support::wait_until("its process is ended", || house.registry.count_running() == 0).await;
    server.shut_down().await;
    assert!(!at.path().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_told_what_there_is_and_how_to_use_it() {
    let talks = |name: &str, text: &str| {
        let text = json!([text]);
        Arc::new(silent(name, json!([])).offers(|offering| offering.instructions = raws(text).pop()))
    };
    let long = format!("{}[REDACTED:x]", "many words ".repeat(200));
    let house = house(vec![talks("files", "the secret"), talks("long", &long), talks("odd", "unspeakable")]);
    let mut agent = Agent::begin(&house).await;
    let hello =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "0"}});
    let about = agent.ask("initialize", hello).await;
    let capabilities = json!({"tools": {"listChanged": true}, "prompts": {"listChanged": true}, "completions": {},
        "resources": {"subscribe": true, "listChanged": true}, "logging": {}});
    assert_eq!(about["capabilities"], capabilities);
    let told = about["instructions"].as_str().unwrap();
    assert!(told.contains("Servers: files, long, odd."), "{told}");
    assert!(told.contains("\n\nFrom the server files:\nthe [REDACTED:word]\n\n[what some servers say"), "{told}");
    assert!(!told.contains("many words") && !told.contains("From the server odd"), "{told}");
    assert_eq!(agent.error("no/such/method", json!({})).await["code"], -32601);
}
