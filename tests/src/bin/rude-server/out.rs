//! What is said: whole lines, one at a time.

use std::io::{self, Write};
use std::sync::Mutex;

use serde_json::Value;

/// Stdout, one line at a time.
#[derive(Default)]
pub(crate) struct Out {
    line: Mutex<()>,
}

impl Out {
    /// Writes bytes as they are. A reader that is gone is no reason to end: some manners stay.
    pub(crate) fn bytes(&self, bytes: &[u8]) {
        let _one = self.line.lock().expect("nobody panics with it");
        let mut stdout = io::stdout().lock();
        let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
    }

    /// Writes a message.
    pub(crate) fn say(&self, message: &Value) {
        self.bytes(format!("{message}\n").as_bytes());
    }

    /// Writes so many bytes without an end of a line.
    pub(crate) fn flood(&self, mut bytes: usize) {
        let _one = self.line.lock().expect("nobody panics with it");
        let piece = vec![b'A'; 1 << 20];
        let mut stdout = io::stdout().lock();
        while bytes > 0 {
            let now = bytes.min(piece.len());
            if stdout.write_all(&piece[..now]).is_err() {
                return;
            }
            bytes -= now;
        }
        let _ = stdout.flush();
    }
}

/// Writes a line to stderr.
pub(crate) fn complain(line: &str) {
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}
