//! A session of an agent: it sees what is its own, and cannot say that it is somebody else.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod support;

use std::sync::Arc;

use hermes_mcp::serve::{Clients, converse};
use hermes_mcp::session::{Asker, Session};
use hermes_model::id::Owner;
use serde_json::{Value, json};
use support::{House, LONG, background, process, wait_until};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

/// An agent at the other end of a pipe.
struct Agent {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
    asked: u64,
}

impl Agent {
    async fn begin(house: &House, name: &str) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let session = Session::new(Arc::clone(&house.offer), Asker::Agent(Owner::new(name)), Clients::default());
        let (read, write) = tokio::io::split(theirs);
        tokio::spawn(converse(session, read, write, std::future::pending()));
        let (read, write) = tokio::io::split(ours);
        let mut agent = Self { lines: BufReader::new(read).lines(), write, asked: 0 };
        let hello =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "0"}});
        agent.ask("initialize", hello).await;
        agent
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params});
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        let line = tokio::time::timeout(LONG, self.lines.next_line()).await.unwrap().unwrap().unwrap();
        serde_json::from_str::<Value>(&line).unwrap()["result"].clone()
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await["structuredContent"].clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_sees_and_ends_what_is_its_own_and_nothing_else() {
    let house = House::new();
    let person = house.client().await;
    let theirs = background(&person, "sleep 1000").await;
    let mut agent = Agent::begin(&house, "agent-1").await;
    let started = agent.call("terminal", json!({"command": "sleep 1000", "background": true})).await;
    assert_eq!(started["owner"], "agent-1");
    let listed = agent.call("process", json!({"action": "list"})).await;
    assert_eq!(listed["processes"].as_array().unwrap().len(), 1);
    for action in ["poll", "log", "wait", "kill", "follow"] {
        let refused = agent.call("process", json!({"action": action, "id": theirs})).await;
        assert_eq!(refused["error"]["code"], "foreign", "{action}");
    }
    assert_eq!(agent.call("process", json!({"action": "kill_all"})).await["killed"].as_array().unwrap().len(), 1);
    let seen = process(&person, json!({"action": "list", "all": true})).await;
    assert_eq!(seen.items("processes").len(), 2, "a person sees everybody's who asks for it");
    process(&person, json!({"action": "kill", "id": theirs})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_names_another_owner_is_refused() {
    let house = House::new();
    let mut agent = Agent::begin(&house, "agent-1").await;
    for (tool, arguments) in [
        ("terminal", json!({"command": "true", "owner": "cli"})),
        ("terminal", json!({"command": "true", "base_env": {"PATH": "/bin"}})),
        ("process", json!({"action": "list", "owner": "cli"})),
        ("process", json!({"action": "events", "all": true})),
    ] {
        let refused = agent.call(tool, arguments).await;
        assert_eq!(refused["error"]["code"], "refused", "{refused}");
    }
    let shown = agent.ask("tools/list", json!({})).await.to_string();
    assert!(shown.contains("heartbeat_ms") && !shown.contains("base_env"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_told_of_its_own_events_only() {
    let house = House::new();
    let person = house.client().await;
    background(&person, "true").await;
    let mut agent = Agent::begin(&house, "agent-1").await;
    let started = agent.call("terminal", json!({"command": "true", "background": true, "notify": true})).await;
    let told = agent.call("process", json!({"action": "events", "wait_ms": 30_000})).await;
    let events = told["events"].as_array().unwrap();
    assert_eq!((events.len(), &events[0]["process"]), (1, &started["id"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_hides_from_its_agent_is_advised_against_and_one_that_is_left_behind_is_ended() {
    let house = House::new();
    let mut agent = Agent::begin(&house, "agent-1").await;
    let refused = agent.call("terminal", json!({"command": "nohup sleep 1 &"})).await;
    assert_eq!(refused["error"]["code"], "refused", "{refused}");
    let mark = house.folder.path().join("runs");
    let call = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "terminal",
        "arguments": {"command": format!("touch {}; sleep 1000", mark.display())}}});
    agent.write.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    wait_until("it runs", || mark.exists()).await;
    drop(agent);
    wait_until("it is ended", || house.registry.count_running() == 0).await;
}
