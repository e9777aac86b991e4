//! Calls: passed on once, allowed, cancelled, answered; and what is told beside them.

use std::sync::Arc;
use std::time::Duration;

use hermes_model::config::servers::Trust;
use serde_json::{Value, json};

use super::agent::{Agent, house};
use super::fake::{Fake, raws};
use crate::servers::handle::{AskError, Phase, RawError};
use crate::servers::raw::Raw;
use crate::support::wait_until;

#[tokio::test(flavor = "multi_thread")]
async fn a_call_reaches_its_server_unchanged_and_once() {
    let fake = Arc::new(Fake::answering(json!({"content": [{"type": "text", "text": "done"}], "x": 1})));
    let house = house(vec![Arc::clone(&fake)]);
    let mut agent = Agent::begin(&house).await;
    let arguments = json!({"b": "secret", "a": [1.5, null, {"z": "\u{200b}"}]});
    let meta = json!({"progressToken": 7, "trace": "t"});
    let result = agent.ask("tools/call", json!({"name": "s__t", "arguments": arguments, "_meta": meta})).await;
    assert_eq!((&result["content"][0]["text"], &result["x"]), (&json!("done"), &json!(1)));
    assert_eq!(result["_meta"]["hermes/policy"]["generation"], 7);
    let asked = fake.asked.lock().unwrap().clone();
    let params = json!({"name": "t", "arguments": arguments, "_meta": {"trace": "t"}});
    assert_eq!(asked, [("tools/call".to_owned(), params.as_object().unwrap().clone())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_told_under_the_clients_token_before_the_answer() {
    let fake = Fake::new("s", json!([{"name": "t"}]), |ask| {
        let report = json!({"progress": 1, "total": 2, "message": "the secret", "progressToken": "own"});
        ask.progress.as_ref().unwrap().try_send(Raw::of(report)).unwrap();
        Ok(json!({"content": []}))
    });
    let house = house(vec![Arc::new(fake)]);
    let mut agent = Agent::begin(&house).await;
    agent.ask("tools/call", json!({"name": "s__t", "_meta": {"progressToken": "mine"}})).await;
    let told = agent.told.iter().find(|told| told["method"] == "notifications/progress").unwrap();
    let expected = json!({"progress": 1, "total": 2, "message": "the [REDACTED:word]", "progressToken": "mine"});
    assert_eq!(told["params"], expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_is_cancelled_at_its_server_and_others_go_on() {
    let fake = Arc::new(Fake::answering(json!({"content": []})));
    fake.gate.send_replace(false);
    let house = house(vec![Arc::clone(&fake)]);
    let mut agent = Agent::begin(&house).await;
    let id = agent.send("tools/call", json!({"name": "s__t"})).await;
    wait_until("it is asked", || fake.asked.lock().unwrap().len() == 1).await;
    let places = fake.gate.receiver_count();
    wait_until("it waits", || fake.gate.receiver_count() >= places).await;
    agent.write(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})).await;
    wait_until("it is given up", || fake.gate.receiver_count() == 0).await;
    agent.ask("tools/list", json!({})).await;
    fake.gate.send_replace(true);
    agent.call("s__t", json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_holds_up_nobody_else() {
    let stuck = Arc::new(Fake::new("stuck", json!([{"name": "t"}]), |_| Ok(json!({"content": []}))));
    stuck.gate.send_replace(false);
    let house = house(vec![Arc::clone(&stuck), Arc::new(Fake::answering(json!({"content": []})))]);
    let (mut agent, mut other) = (Agent::begin(&house).await, Agent::with(&house, "b", json!({})).await);
    agent.send("tools/call", json!({"name": "stuck__t"})).await;
    agent.call("s__t", json!({})).await;
    other.call("s__t", json!({})).await;
    stuck.gate.send_replace(true);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_went_wrong_at_a_server_is_said_with_a_stable_word() {
    let error = |code: &str| match code {
        "unavailable" => AskError::Unavailable("it is secret".into()),
        "uncertain" => AskError::Uncertain("it ended".into()),
        _ => AskError::TimedOut { server: "s".parse().unwrap(), after: Duration::from_secs(1) },
    };
    for code in ["unavailable", "uncertain", "timed-out"] {
        let house = house(vec![Arc::new(Fake::new("s", json!([{"name": "t"}]), move |_| Err(error(code))))]);
        let mut agent = Agent::begin(&house).await;
        let result = agent.call("s__t", json!({})).await;
        assert_eq!((&result["isError"], &result["structuredContent"]["error"]["code"]), (&json!(true), &json!(code)));
        let uncertain = result["structuredContent"].get("outcome_uncertain");
        assert_eq!(uncertain, (code == "uncertain").then_some(&json!(true)));
        assert!(!result.to_string().contains("secret"), "{result}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_protocol_keeps_its_code_and_loses_its_secrets() {
    let fake = Fake::new("s", json!([{"name": "t"}]), |_| {
        let error = json!({"code": -32099, "message": "no secret", "data": {"at": ["secret"]}});
        Err(AskError::Refused { code: -32099, error: RawError(Raw::of(error)) })
    });
    let house = house(vec![Arc::new(fake)]);
    let mut agent = Agent::begin(&house).await;
    let error = agent.error("tools/call", json!({"name": "s__t"})).await;
    let expected = json!({"code": -32099, "message": "no [REDACTED:word]", "data": {"at": ["[REDACTED:word]"]}});
    assert_eq!(error, expected);
}

fn distrusted() -> Arc<Fake> {
    let tools = json!([{"name": "write"}, {"name": "read", "annotations": {"readOnlyHint": true}}]);
    let fake = Fake::new("s", tools, |_| Ok(json!({"content": []})));
    Arc::new(fake.configured(|config| config.trust = Trust::Untrusted))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_trusted_changes_nothing_without_its_user() {
    let fake = distrusted();
    let house = house(vec![Arc::clone(&fake)]);
    let mut agent = Agent::begin(&house).await;
    agent.call("s__read", json!({})).await;
    let refused = agent.call("s__write", json!({})).await;
    assert_eq!(refused["structuredContent"]["error"]["code"], "refused");
    assert!(refused.to_string().contains("mcp_servers.s.trust"));
    assert_eq!(fake.asked.lock().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_decides_about_a_call_and_sees_what_it_is_without_its_secrets() {
    let fake = distrusted();
    let house = house(vec![Arc::clone(&fake)]);
    let mut agent = Agent::with(&house, "agent", json!({"elicitation": {}})).await;
    let refused = agent.call("s__write", json!({"path": "the secret"})).await;
    assert_eq!(refused["structuredContent"]["error"]["code"], "refused");
    agent.action = "accept";
    let done = agent.call("s__write", json!({"path": "x"})).await;
    assert_eq!(done.get("isError"), None);
    assert_eq!((agent.questions.len(), fake.asked.lock().unwrap().len()), (2, 1));
    assert!(agent.questions[0].contains("'s__write'") && agent.questions[0].contains("the [REDACTED:word]"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_call_of_a_server_that_was_never_started_starts_it() {
    let fake = Fake::answering(json!({"content": []})).configured(|config| config.lazy = true);
    fake.change(Phase::Stopped, |offering| *offering = Default::default());
    let fake = Arc::new(fake);
    let house = house(vec![Arc::clone(&fake)]);
    let mut agent = Agent::begin(&house).await;
    let id = agent.send("tools/call", json!({"name": "s__t"})).await;
    wait_until("it is started", || crate::gateway::serving::Serving::standing(&*fake).phase == Phase::Starting).await;
    fake.change(Phase::Ready, |offering| {
        offering.capabilities = raws(json!([{"tools": {}}])).remove(0);
        offering.tools = raws(json!([{"name": "t"}]));
    });
    loop {
        let message = agent.read().await;
        if message["id"] == id {
            assert_eq!(message["result"]["content"], json!([]), "{message}");
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn log_messages_are_told_from_the_level_up_that_was_asked_for() {
    let fake = Arc::new(Fake::answering(json!({"content": []})));
    let house = house(vec![Arc::clone(&fake)]);
    let (mut agent, mut other) = (Agent::begin(&house).await, Agent::with(&house, "other", json!({})).await);
    agent.ask("logging/setLevel", json!({"level": "warning"})).await;
    fake.says("notifications/message", json!({"level": "info", "data": "quiet"}));
    fake.says("notifications/message", json!({"level": "error", "logger": "db", "data": {"why": "the secret"}}));
    let told = agent.hears("notifications/message").await;
    let expected = json!({"level": "error", "logger": "s/db", "data": {"why": "the [REDACTED:word]"}});
    assert_eq!(told["params"], expected);
    assert_eq!(agent.error("logging/setLevel", json!({"level": "loud"})).await["code"], -32602);
    other.ask("ping", json!({})).await;
    assert!(other.told.is_empty(), "who named no level hears no server");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_subscribed_to_a_resource_hears_of_it_and_nobody_else() {
    let fake = Arc::new(Fake::answering(json!({})).offers(|offering| {
        offering.resources = raws(json!([{"uri": "x:1", "name": "one"}]));
    }));
    let house = house(vec![Arc::clone(&fake)]);
    let (mut agent, mut other) = (Agent::begin(&house).await, Agent::with(&house, "b", json!({})).await);
    let uri = "hermes://server/s/x%3A1";
    agent.ask("resources/subscribe", json!({"uri": uri})).await;
    fake.says("notifications/resources/updated", json!({"uri": "x:2"}));
    fake.says("notifications/resources/updated", json!({"uri": "x:1"}));
    assert_eq!(agent.hears("notifications/resources/updated").await["params"], json!({"uri": uri}));
    other.ask("ping", json!({})).await;
    assert!(other.told.iter().all(|told| told["method"] != "notifications/resources/updated"));
    drop(agent);
    let methods = || fake.asked.lock().unwrap().iter().map(|(method, _)| method.clone()).collect::<Vec<_>>();
    wait_until("it is given up", || methods() == ["resources/subscribe", "resources/unsubscribe"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_told_that_events_wait() {
    let house = house(Vec::new());
    let mut agent = Agent::begin(&house).await;
    agent.call("terminal", json!({"command": "true", "background": true, "notify": true})).await;
    let told = agent.hears("notifications/message").await;
    assert_eq!((&told["params"]["logger"], &told["params"]["data"]["events"]), (&json!("hermes"), &json!(1)));
    let events = agent.call("process", json!({"action": "events"})).await;
    assert_eq!(events["structuredContent"]["events"].as_array().unwrap().len(), 1, "it was not taken by telling it");
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_end_with_the_last_session_of_their_agent_but_those_that_persist() {
    let house = house(Vec::new());
    let mut agent = Agent::begin(&house).await;
    let command = |persist: bool| json!({"command": "sleep 1000", "background": true, "persist": persist});
    agent.call("terminal", command(false)).await;
    let stays = agent.call("terminal", command(true)).await["structuredContent"]["id"].clone();
    drop(agent);
    wait_until("the other one is ended", || house.registry.count_running() == 1).await;
    let mut again = Agent::begin(&house).await;
    let list = again.call("process", json!({"action": "list"})).await;
    let running = |row: &&Value| row["status"]["kind"] == "running";
    let rows = list["structuredContent"]["processes"].as_array().unwrap().clone();
    let ids: Vec<&Value> = rows.iter().filter(running).map(|row| &row["id"]).collect();
    assert_eq!(ids, [&stays]);
    again.call("process", json!({"action": "kill", "id": stays})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_sees_how_servers_stand_and_starts_one_anew() {
    let fake = Arc::new(Fake::answering(json!({})).configured(|config| config.args = vec!["secret".to_owned()]));
    let house = house(vec![Arc::clone(&fake)]);
    let person = house.client().await;
    let listed = crate::support::call(&person, "servers", json!({"action": "list"})).await.unwrap();
    let row = &listed.items("servers")[0];
    assert_eq!((row.text("name"), row.text("state"), row.number("tools")), (Some("s"), Some("ready"), Some(1)));
    assert!(!listed.as_json_text().contains("secret"), "{}", listed.as_json_text());
    let again = crate::support::call(&person, "servers", json!({"action": "restart", "name": "s"})).await.unwrap();
    assert_eq!(again.items("servers")[0].text("state"), Some("starting"));
    let refused = crate::support::call(&person, "servers", json!({"action": "restart", "name": "x"})).await;
    assert_eq!(crate::support::refusal(refused).0, "not-found");
    let mut agent = Agent::begin(&house).await;
    assert!(agent.error("tools/call", json!({"name": "servers"})).await["code"].is_i64());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_text_that_is_withheld_nothing_is_shown_wherever_it_stands() {
    let unspeakable = json!([{"type": "text", "text": "an unspeakable word"}]);
    let fake = Fake::new("s", json!([{"name": "t"}, {"name": "e"}]), move |ask| match ask.params["name"].as_str() {
        Some("t") => Ok(json!({"content": unspeakable, "structuredContent": {"a": "beside"}})),
        _ => {
            let error = json!({"code": -1, "message": "an unspeakable word"});
            Err(AskError::Refused { code: -1, error: RawError(Raw::of(error)) })
        }
    });
    let house = house(vec![Arc::new(fake)]);
    let mut agent = Agent::begin(&house).await;
    let result = agent.call("s__t", json!({})).await;
    assert_eq!((&result["isError"], &result["structuredContent"]["error"]["code"]), (&json!(true), &json!("withheld")));
    assert!(result["content"][0]["text"].as_str().unwrap().starts_with("[output withheld: strict: word]"), "{result}");
    assert!(!result.to_string().contains("unspeakable") && !result.to_string().contains("beside"), "{result}");
    assert_eq!(result["_meta"]["hermes/policy"]["withheld"]["plugin"], "strict");
    let error = agent.error("tools/call", json!({"name": "s__e"})).await;
    assert!(error["code"] == -1 && !error.to_string().contains("unspeakable"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_which_nothing_may_be_shown_is_left_out_and_the_others_stay() {
    let bad = Fake::new("bad", json!([{"name": "t", "description": "unspeakable"}]), |_| Ok(json!({})));
    let house = house(vec![Arc::new(bad), Arc::new(Fake::answering(json!({"content": []})))]);
    let mut agent = Agent::begin(&house).await;
    let list = agent.ask("tools/list", json!({})).await;
    assert_eq!(super::agent::names(&list["tools"])[2..], ["s__t"]);
    let error = agent.error("tools/call", json!({"name": "bad__t"})).await;
    assert!(error["message"].as_str().unwrap().contains("bad: [output withheld: strict: word]"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn transforms_see_the_texts_of_a_server_only_where_its_configuration_says_so() {
    for transform in [false, true] {
        let answer =
            json!({"content": [{"type": "text", "text": "whisper a secret"}], "structuredContent": {"a": "whisper"}});
        let fake = Fake::answering(answer).configured(|config| config.transform = transform);
        let house = house(vec![Arc::new(fake)]);
        let result = Agent::begin(&house).await.call("s__t", json!({})).await;
        let shown = if transform { "SHOUT a [REDACTED:word]" } else { "whisper a [REDACTED:word]" };
        assert_eq!(result["content"][0]["text"], shown);
        assert_eq!(result["structuredContent"]["a"], "whisper", "a structure is no text to be transformed");
        let by = if transform { json!(["loud"]) } else { json!([]) };
        assert_eq!(result["_meta"]["hermes/policy"]["transformed_by"], by);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_policy_did_to_each_server_is_counted() {
    let fake = Fake::new("s", json!([{"name": "t"}]), |ask| match ask.params["arguments"]["say"].as_str() {
        Some(text) => Ok(json!({"content": [{"type": "text", "text": text}]})),
        None => Err(AskError::Unavailable("it is secret".into())),
    });
    let house = house(vec![Arc::new(fake)]);
    let mut agent = Agent::begin(&house).await;
    for say in [json!("a secret"), json!("secret secret"), json!("unspeakable"), json!(null)] {
        agent.call("s__t", json!({"say": say})).await;
    }
    let bytes = |text: &str| json!({"content": [{"type": "text", "text": text}]}).to_string().len() as u64;
    let deadline = std::time::Instant::now() + crate::support::LONG;
    let audits = loop {
        house.offer.gateway.counted().await;
        let audits = house.ledger.audits(10).await.unwrap();
        if audits.len() == 2 && audits.iter().any(|audit| audit.texts == 4) {
            break audits;
        }
        assert!(std::time::Instant::now() < deadline, "{audits:?}");
    };
    let of = |surface: &str| audits.iter().find(|audit| audit.surface == surface).unwrap();
    let (results, errors) = (of("mcp-result"), of("mcp-error"));
    assert_eq!((results.source.as_str(), results.generation), ("s", 7));
    assert_eq!(results.redactions, [("word".to_owned(), 3)].into());
    assert_eq!(results.withheld, [("word".to_owned(), bytes("unspeakable"))].into());
    // The list of its tools is looked at too.
    let tools = json!([{"name": "t"}]).to_string().len() as u64;
    assert_eq!(results.bytes, tools + bytes("a secret") + bytes("secret secret") + bytes("unspeakable"));
    assert_eq!((errors.texts, &errors.redactions), (1, &[("word".to_owned(), 1)].into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_calls_of_one_session_are_under_way_together_and_one_more_is_told_to_wait() {
    let fake = Arc::new(Fake::answering(json!({"content": []})));
    fake.gate.send_replace(false);
    let house = house(vec![Arc::clone(&fake)]);
    let mut agent = Agent::begin(&house).await;
    let mut open = std::collections::BTreeSet::new();
    for _ in 0..64 {
        open.insert(agent.send("tools/call", json!({"name": "s__t"})).await);
    }
    // None is answered before all of them have arrived.
    wait_until("all have arrived", || fake.asked.lock().unwrap().len() == 64).await;
    let busy = agent.call("s__t", json!({})).await;
    assert_eq!(busy["structuredContent"]["error"]["code"], "busy");
    fake.gate.send_replace(true);
    while !open.is_empty() {
        let answer = agent.read().await;
        assert_eq!(answer["result"]["content"], json!([]), "{answer}");
        assert!(open.remove(&answer["id"].as_u64().unwrap()), "each is answered once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_floods_and_reads_nothing_does_not_hold_up_another() {
    let stuck = Arc::new(Fake::new("stuck", json!([{"name": "t"}]), |_| Ok(json!({"content": []}))));
    stuck.gate.send_replace(false);
    let long = Fake::answering(json!({"content": [{"type": "text", "text": "word ".repeat(5000)}]}));
    let house = house(vec![Arc::clone(&stuck), Arc::new(long)]);
    let (mut flood, mut other) = (Agent::begin(&house).await, Agent::with(&house, "other", json!({})).await);
    for _ in 0..32 {
        flood.send("tools/call", json!({"name": "stuck__t"})).await;
    }
    wait_until("they hang", || stuck.asked.lock().unwrap().len() == 32).await;
    let flooding = tokio::spawn(async move {
        loop {
            flood.send("tools/call", json!({"name": "s__t"})).await;
        }
    });
    for _ in 0..50 {
        other.call("s__t", json!({})).await;
    }
    assert!(!flooding.is_finished() && stuck.asked.lock().unwrap().len() == 32);
    flooding.abort();
}
