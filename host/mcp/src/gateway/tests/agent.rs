//! An agent at the other end of a pipe.

use std::sync::Arc;

use hermes_model::id::Owner;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

use crate::gateway::serving::Serving;
use crate::offer::Patience;
use crate::serve::{Clients, converse};
use crate::session::{Asker, Session};
use crate::support::{House, LONG};

use super::fake::Fake;

pub(super) fn house(servers: Vec<Arc<Fake>>) -> House {
    let patience = Patience { wait: LONG, foreground: LONG };
    House::with_servers(patience, servers.into_iter().map(|fake| fake as Arc<dyn Serving>).collect())
}

pub(super) struct Agent {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
    asked: u64,
    /// What it was told, in order.
    pub(super) told: Vec<Value>,
    /// What it answers when it is asked to decide.
    pub(super) action: &'static str,
    /// The questions it was asked.
    pub(super) questions: Vec<String>,
}

impl Agent {
    pub(super) async fn begin(house: &House) -> Self {
        Self::with(house, "agent", json!({})).await
    }

    pub(super) async fn with(house: &House, name: &str, capabilities: Value) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let session = Session::new(Arc::clone(&house.offer), Asker::Agent(Owner::new(name)), Clients::default());
        let (read, write) = tokio::io::split(theirs);
        tokio::spawn(converse(session, read, write, std::future::pending()));
        let (read, write) = tokio::io::split(ours);
        let mut agent = Self {
            lines: BufReader::new(read).lines(),
            write,
            asked: 0,
            told: Vec::new(),
            action: "decline",
            questions: Vec::new(),
        };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities,
            "clientInfo": {"name": "a", "version": "0"}});
        agent.ask("initialize", hello).await;
        agent.write(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        agent
    }

    pub(super) async fn write(&mut self, message: Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Sends a request and returns its number.
    pub(super) async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        self.write(json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params})).await;
        self.asked
    }

    /// Reads one message. Questions are answered.
    pub(super) async fn read(&mut self) -> Value {
        let line = tokio::time::timeout(LONG, self.lines.next_line()).await.unwrap().unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["method"] == "elicitation/create" {
            self.questions.push(message["params"]["message"].as_str().unwrap().to_owned());
            self.write(
                json!({"jsonrpc": "2.0", "id": message["id"], "result": {"action": self.action, "content": {}}}),
            )
            .await;
        }
        message
    }

    /// The whole answer to a request.
    pub(super) async fn answer(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        loop {
            let message = self.read().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.told.push(message);
        }
    }

    pub(super) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params).await;
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    pub(super) async fn error(&mut self, method: &str, params: Value) -> Value {
        self.answer(method, params).await["error"].clone()
    }

    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Waits until it is told something of this method.
    pub(super) async fn hears(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self.told.iter().position(|told| told["method"] == method) {
                return self.told.remove(at);
            }
            let message = self.read().await;
            self.told.push(message);
        }
    }
}

/// The names in a list.
pub(super) fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|element| element["name"].as_str().unwrap()).collect()
}
