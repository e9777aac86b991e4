//! A client of a host's socket that speaks its protocol by hand: calls without the command line between, and calls that are
//! taken back.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use crate::home::TestHome;
use crate::wait;

/// A session with a host.
pub struct Agent {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    asked: u64,
}

impl Agent {
    /// Connects to the host of a home.
    ///
    /// # Panics
    /// No host listens within the time, or it does not speak the protocol.
    pub fn of(home: &TestHome) -> Self {
        let path = home.root().join("host.sock");
        let writer = wait::until("the host to listen", wait::PATIENCE, || UnixStream::connect(&path).ok());
        writer.set_read_timeout(Some(wait::PATIENCE)).unwrap_or_else(|error| panic!("no read timeout: {error}"));
        let reader = writer.try_clone().unwrap_or_else(|error| panic!("the socket has no second handle: {error}"));
        let mut agent = Self { reader: BufReader::new(reader), writer, asked: 0 };
        let hello = agent.ask(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}),
        );
        let said = agent.answer(hello);
        assert_eq!(said["result"]["serverInfo"]["name"], "hermes", "{said}");
        agent.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        agent
    }

    fn write(&mut self, message: &Value) {
        self.writer.write_all(format!("{message}\n").as_bytes()).unwrap_or_else(|error| panic!("the host: {error}"));
    }

    /// Asks without waiting; the answer belongs to the number.
    pub fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Calls a tool without waiting.
    pub fn begin(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Takes a call back.
    pub fn cancel(&mut self, id: u64) {
        self.write(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    }

    /// The answer to a question; answers to others before it are passed over.
    ///
    /// # Panics
    /// It does not come within the time.
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            let mut line = String::new();
            let read = self.reader.read_line(&mut line).unwrap_or_else(|error| panic!("no answer to {id}: {error}"));
            assert!(read > 0, "the host hung up before it answered {id}");
            let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if said["id"] == id {
                return said;
            }
        }
    }

    /// Calls a tool, and gives what it answers as a document.
    ///
    /// # Panics
    /// It does not answer.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.begin(tool, arguments);
        let mut said = self.answer(id);
        let told = said["result"]["structuredContent"].take();
        assert!(!told.is_null(), "no document for {arguments}: {said}");
        told
    }
}
