//! An agent: one that blocks, with a thread of its own, and knows nothing of tokio. It is the same whatever is at the other
//! end.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// How much it reads at once: what a pipe holds (pipe(7)).
const READ: usize = 64 * 1024;

/// One agent.
pub(crate) struct Agent {
    read: BufReader<Box<dyn Read + Send>>,
    write: Box<dyn Write + Send>,
    line: Vec<u8>,
    asked: u64,
}

/// An answer, and how long it took until its last byte was read.
pub(crate) struct Answer {
    pub(crate) result: Value,
    pub(crate) after: Duration,
    /// How long the line was, in bytes.
    pub(crate) bytes: usize,
}

/// A pair of connected streams: one for an agent, and one for whom it asks. Call it inside a runtime.
pub(crate) fn pair() -> (UnixStream, OwnedReadHalf, OwnedWriteHalf) {
    let (ours, theirs) = UnixStream::pair().expect("two sockets");
    theirs.set_nonblocking(true).expect("a socket need not block");
    let (read, write) = tokio::net::UnixStream::from_std(theirs).expect("the runtime watches it").into_split();
    (ours, read, write)
}

impl Agent {
    pub(crate) fn new(read: impl Read + Send + 'static, write: impl Write + Send + 'static) -> Self {
        Self {
            read: BufReader::with_capacity(READ, Box::new(read)),
            write: Box::new(write),
            line: Vec::new(),
            asked: 0,
        }
    }

    pub(crate) fn of(stream: UnixStream) -> Self {
        let read = stream.try_clone().expect("a second descriptor");
        Self::new(read, stream)
    }

    /// Says who it is.
    pub(crate) fn begin(&mut self) {
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "0"}});
        self.ask("initialize", &hello.to_string());
        self.put("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    }

    /// Asks, with params that are JSON, and waits for the result.
    pub(crate) fn ask(&mut self, method: &str, params: &str) -> Answer {
        self.asked += 1;
        let id = self.asked;
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n");
        let began = Instant::now();
        self.put(&line);
        loop {
            self.line.clear();
            let bytes = self.read.read_until(b'\n', &mut self.line).expect("the stream can be read");
            let after = began.elapsed();
            assert_ne!(bytes, 0, "{method} is answered");
            let mut message: Value = serde_json::from_slice(&self.line).expect("a line is a message");
            if message["id"] == id && message.get("method").is_none() {
                assert!(message.get("error").is_none(), "{method} has a result: {}", message["error"]);
                return Answer { result: message["result"].take(), after, bytes };
            }
        }
    }

    /// Calls a tool with arguments that are JSON.
    pub(crate) fn call(&mut self, tool: &str, arguments: &str) -> Answer {
        let answer = self.ask("tools/call", &format!("{{\"name\":\"{tool}\",\"arguments\":{arguments}}}"));
        assert_ne!(answer.result["isError"], true, "{tool} succeeds: {}", answer.result);
        answer
    }

    fn put(&mut self, line: &str) {
        self.write.write_all(line.as_bytes()).expect("the stream can be written");
    }
}

/// The text of a result's first block.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}
