//! Requests and answers: the protocol by hand, a line a message.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::given::Given;
use crate::manner::Manner;
use crate::out::Out;
use crate::{texts, tools, tree};

/// What is spoken where the manner says nothing else and the client asks for nothing known.
const VERSION: &str = "2025-06-18";
const KNOWN_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// JSON-RPC 2.0: no such method.
const NO_METHOD: i64 = -32601;
/// So many tools a page has.
const PAGE: usize = 50;
/// So many tools there are where they come in pages.
const PAGED: usize = 120;

/// A request that is answered.
pub(crate) struct Asked {
    /// Its id.
    pub(crate) id: Value,
    /// Its params.
    pub(crate) params: Value,
}

/// Why a request has no result.
pub(crate) struct Refusal {
    /// The code.
    pub(crate) code: i64,
    /// The words.
    pub(crate) message: String,
    /// What goes with them.
    pub(crate) data: Value,
}

/// A server that runs.
pub(crate) struct Server {
    /// What it was given.
    pub(crate) given: Given,
    manner: Manner,
    out: Out,
    late_tool: AtomicBool,
    asked: AtomicU64,
    waiting: Mutex<HashMap<String, Sender<Value>>>,
    cancelled: Mutex<HashSet<String>>,
}

impl Server {
    /// One that has said nothing yet.
    pub(crate) fn new(given: Given, manner: Manner) -> Self {
        Self {
            given,
            manner,
            out: Out::default(),
            late_tool: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            waiting: Mutex::default(),
            cancelled: Mutex::default(),
        }
    }

    /// What it does before it reads.
    pub(crate) fn begin(self: &Arc<Self>) {
        self.manner.greets(&self.out);
        if self.manner == Manner::Slow {
            self.given.wait_for_gate();
        }
        let server = Arc::clone(self);
        std::thread::spawn(move || {
            let add = || server.late_tool.store(true, Ordering::SeqCst);
            server.manner.meanwhile(&server.given, &server.out, add);
        });
    }

    /// Reads to the end of its input.
    pub(crate) fn listen(self: &Arc<Self>) {
        let mut stdin = io::stdin().lock();
        let mut line = Vec::new();
        while stdin.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            if let Ok(message) = serde_json::from_slice::<Value>(&line) {
                self.hear(message);
            } else if line.iter().any(|byte| !byte.is_ascii_whitespace()) {
                let error = json!({"code": -32700, "message": "that is no JSON"});
                self.out.say(&json!({"jsonrpc": "2.0", "id": null, "error": error}));
            }
            line.clear();
        }
    }

    /// What it does when its input has ended.
    pub(crate) fn after_input(&self) -> ExitCode {
        if matches!(self.manner, Manner::Busy | Manner::Deaf | Manner::Stubborn | Manner::Mute | Manner::Tidy) {
            self.given.note("stays");
        }
        match self.manner {
            Manner::Busy => loop {
                std::hint::spin_loop();
            },
            Manner::Deaf | Manner::Stubborn | Manner::Mute | Manner::Tidy => tree::for_ever(),
            Manner::Heirs => tree::first_heir(&self.given),
            _ => {}
        }
        ExitCode::SUCCESS
    }

    fn hear(self: &Arc<Self>, mut message: Value) {
        let id = message["id"].take();
        let params = message["params"].take();
        match (message["method"].as_str(), id.is_null()) {
            (Some(method), false) => self.answer(method, Asked { id, params }),
            (Some(method), true) => self.told(method, &params),
            (None, _) => {
                let waiting = self.waiting.lock().expect("nobody panics with it").remove(&id.to_string());
                if let Some(waiting) = waiting {
                    // Whoever asked may have ended meanwhile.
                    let _ = waiting.send(message);
                }
            }
        }
    }

    fn told(&self, method: &str, params: &Value) {
        self.given.note(&format!("told {method}"));
        if method != "notifications/cancelled" {
            return;
        }
        if self.manner == Manner::Delicate {
            tree::crash();
        }
        self.cancelled.lock().expect("nobody panics with it").insert(params["requestId"].to_string());
    }

    /// Whether a request was taken back.
    pub(crate) fn was_cancelled(&self, id: &Value) -> bool {
        self.cancelled.lock().expect("nobody panics with it").contains(&id.to_string())
    }

    fn answer(self: &Arc<Self>, method: &str, asked: Asked) {
        if method == "tools/call" {
            let name = asked.params["name"].as_str().unwrap_or("?");
            self.given.note(&format!("call {} {name}", std::process::id()));
            if self.manner != Manner::Dumb {
                let server = Arc::clone(self);
                std::thread::spawn(move || {
                    let result = tools::call(&server, &asked);
                    server.reply(&asked.id, result);
                });
            }
            return;
        }
        let result = self.result(method, &asked.params);
        self.reply(&asked.id, result);
        match (&self.manner, method) {
            (Manner::Leaves, "tools/list") => tree::quit(0),
            (Manner::Mute, "tools/list") => self.close_output(),
            (Manner::Twice, "tools/list") => self.ask_what_nobody_offered(),
            _ => {}
        }
    }

    fn result(&self, method: &str, params: &Value) -> Result<Value, Refusal> {
        Ok(match method {
            "initialize" => self.hello(&params["protocolVersion"]),
            "ping" | "logging/setLevel" => {
                self.given.note(&format!("asked {method}"));
                json!({})
            }
            "tools/list" => self.tools(&params["cursor"]),
            method if method.starts_with("rude/") => json!({"method": method, "params": params}),
            _ => match texts::result(&self.given, method, params) {
                Some(result) => return result,
                None => {
                    let message = format!("no method is called {method}");
                    return Err(Refusal { code: NO_METHOD, message, data: Value::Null });
                }
            },
        })
    }

    fn hello(&self, wanted: &Value) -> Value {
        let version = match &self.manner {
            Manner::Fixed(version) => version.as_str(),
            _ => wanted.as_str().filter(|wanted| KNOWN_VERSIONS.contains(wanted)).unwrap_or(VERSION),
        };
        json!({
            "protocolVersion": version,
            "capabilities": {
                "tools": {"listChanged": true}, "resources": {"subscribe": true, "listChanged": true},
                "prompts": {"listChanged": true}, "logging": {}, "completions": {},
                "experimental": {"rude": {"anything": 1}},
            },
            "serverInfo": {"name": "rude", "title": "Rude", "version": "1.0.0"},
            "instructions": format!("Rude on request. {}", self.given.secret),
        })
    }

    fn tools(&self, cursor: &Value) -> Value {
        let Manner::Pages(kind) = &self.manner else {
            let mut all = tools::all(&self.given);
            if self.late_tool.load(Ordering::SeqCst) {
                all.push(tools::plain("late"));
            }
            return json!({"tools": all});
        };
        let from: usize = cursor.as_str().and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        let of = |range: std::ops::Range<usize>| range.map(|at| tools::plain(&format!("tool{at:03}"))).collect();
        let page: Vec<Value> = of(from..(from + PAGE).min(PAGED));
        match kind.as_str() {
            "constant" => json!({"tools": page, "nextCursor": "0"}),
            "cycle" => json!({"tools": page, "nextCursor": if from == 0 { "50" } else { "0" }}),
            _ if from + PAGE < PAGED => json!({"tools": page, "nextCursor": (from + PAGE).to_string()}),
            _ => json!({"tools": page}),
        }
    }

    fn reply(&self, id: &Value, result: Result<Value, Refusal>) {
        let message = match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(Refusal { code, message, data }) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, "data": data}})
            }
        };
        self.manner.says(&self.out, &message);
    }

    /// Says something that is no answer.
    pub(crate) fn tell(&self, method: &str, params: &Value) {
        self.manner.says(&self.out, &json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Writes so many bytes without an end of a line, and then the end of it.
    pub(crate) fn flood(&self, bytes: usize) {
        self.out.flood(bytes);
        self.out.bytes(b"\n");
    }

    /// Asks the client.
    pub(crate) fn ask(&self, method: &str, params: &Value) -> Receiver<Value> {
        let id = Value::from(format!("rude-{}", self.asked.fetch_add(1, Ordering::SeqCst)));
        let (sender, receiver) = channel();
        self.waiting.lock().expect("nobody panics with it").insert(id.to_string(), sender);
        self.out.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        receiver
    }

    fn ask_what_nobody_offered(self: &Arc<Self>) {
        for method in ["sampling/createMessage", "roots/list", "elicitation/create", "rude/whatever"] {
            let answer = self.ask(method, &json!({}));
            let given = self.given.clone();
            std::thread::spawn(move || {
                if let Ok(answer) = answer.recv() {
                    given.note(&format!("answered {method} {}", answer["error"]["code"]));
                }
            });
        }
    }

    /// Lets the reader of its output see the end of it.
    fn close_output(&self) {
        // Not merely closed: the next file would have its number.
        if let Ok(nothing) = std::fs::File::options().write(true).open("/dev/null") {
            let _ = nix::unistd::dup2_stdout(nothing);
        }
        self.given.note("closed");
    }
}
