//! What goes over the socket of a host, byte for byte: a client that knows no more of the protocol than lines of JSON.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Value, json};

use crate::wait;

/// A connection to a host.
pub struct Wire {
    write: UnixStream,
    read: BufReader<UnixStream>,
    asked: u64,
    /// Everything that the host ever said here.
    pub heard: Vec<u8>,
}

/// The host went away before it answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

impl Wire {
    /// Connects to the host of a home and greets it. None: nobody listens, or whoever does goes away.
    ///
    /// # Panics
    /// The path of the socket is too long for this client.
    pub fn connect(root: &Path) -> Option<Self> {
        let write = UnixStream::connect(root.join("host.sock")).ok()?;
        write.set_read_timeout(Some(wait::PATIENCE)).ok()?;
        let read = BufReader::new(write.try_clone().ok()?);
        let mut wire = Self { write, read, asked: 0, heard: Vec::new() };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        });
        wire.request("initialize", &hello).ok()?;
        wire.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).ok()?;
        Some(wire)
    }

    fn say(&mut self, message: &Value) -> Result<(), Gone> {
        self.write.write_all(format!("{message}\n").as_bytes()).map_err(|_| Gone)
    }

    fn request(&mut self, method: &str, parameters: &Value) -> Result<Value, Gone> {
        self.asked += 1;
        let id = self.asked;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}))?;
        loop {
            let mut line = Vec::new();
            match self.read.read_until(b'\n', &mut line) {
                Ok(_) if line.ends_with(b"\n") => {}
                // An answer of which only a part arrived did not arrive.
                Ok(_) | Err(_) => return Err(Gone),
            }
            self.heard.extend_from_slice(&line);
            let message: Value = serde_json::from_slice(&line)
                .unwrap_or_else(|error| panic!("no JSON ({error}): {}", String::from_utf8_lossy(&line)));
            if message["id"] == id {
                return Ok(message);
            }
        }
    }

    /// Calls a tool and returns the document of its answer.
    ///
    /// # Errors
    /// The host went away.
    ///
    /// # Panics
    /// The answer is none of a tool.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, Gone> {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let document = &answer["result"]["structuredContent"];
        assert!(document.is_object(), "no document: {answer}");
        Ok(document.clone())
    }
}
