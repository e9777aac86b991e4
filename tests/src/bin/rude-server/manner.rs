//! What can be wrong with a server, one word each.

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::given::Given;
use crate::out::Out;
use crate::tree;

/// How much a loud one complains before each answer.
const COMPLAINT: usize = 256 * 1024;
/// How often a list is said to have changed before it changes.
const CHANGES: usize = 100;

/// How a server misbehaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Not at all.
    Ok,
    /// It prints lines that are no messages, before and between its messages.
    Junk,
    /// It prints bytes that are no text, a mark of byte order, ends of lines as elsewhere, and NULs.
    Bytes,
    /// It complains at length before each answer.
    Loud,
    /// It spins when its input ends.
    Busy,
    /// It sleeps when its input ends.
    Deaf,
    /// The same, and SIGTERM, SIGINT and SIGHUP do nothing either.
    Stubborn,
    /// It stays when its input ends, and ends by itself when it is asked to by SIGTERM.
    Tidy,
    /// It reads nothing before the gate is there.
    Slow,
    /// It ends by itself, in order, when its tools are listed.
    Leaves,
    /// It ends by itself with an error before it answers anything.
    Broken,
    /// It never answers a call.
    Dumb,
    /// It ends when a call is taken back.
    Delicate,
    /// Its tools come in pages: `three`, or with cursors that do not end: `constant`, `cycle`.
    Pages(String),
    /// When the gate is there it says a hundred times that its tools changed, and then has one more.
    Changes,
    /// It speaks this version of the protocol and no other.
    Fixed(String),
    /// It answers twice, answers what nobody asked, and asks what nobody offered.
    Twice,
    /// It closes its output after it listed its tools, and stays.
    Mute,
    /// A descendant holds its output.
    Daemon,
    /// Fifty descendants are in sessions of their own.
    Fifty,
    /// It forks while it dies, and its children do.
    Heirs,
    /// A descendant is in a session of its own and has no environment.
    Escapes,
}

impl Manner {
    /// The manner of a name.
    pub(crate) fn named(name: &str, word: &str) -> Option<Self> {
        Some(match name {
            "ok" => Self::Ok,
            "junk" => Self::Junk,
            "bytes" => Self::Bytes,
            "loud" => Self::Loud,
            "busy" => Self::Busy,
            "deaf" => Self::Deaf,
            "stubborn" => Self::Stubborn,
            "tidy" => Self::Tidy,
            "slow" => Self::Slow,
            "leaves" => Self::Leaves,
            "broken" => Self::Broken,
            "dumb" => Self::Dumb,
            "delicate" => Self::Delicate,
            "pages" => Self::Pages(word.to_owned()),
            "changes" => Self::Changes,
            "fixed" => Self::Fixed(word.to_owned()),
            "twice" => Self::Twice,
            "mute" => Self::Mute,
            "daemon" => Self::Daemon,
            "fifty" => Self::Fifty,
            "heirs" => Self::Heirs,
            "escapes" => Self::Escapes,
            _ => return None,
        })
    }

    /// What it does before it has any thread.
    pub(crate) fn before_everything(&self, given: &Given) {
        match self {
            Self::Stubborn => drop(tree::deaf_to(&[Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP])),
            Self::Heirs => {
                let signals = tree::deaf_to(&[Signal::SIGTERM]);
                let given = given.clone();
                std::thread::spawn(move || {
                    let _ = signals.wait();
                    tree::first_heir(&given);
                    tree::quit(0);
                });
            }
            Self::Tidy => {
                let signals = tree::deaf_to(&[Signal::SIGTERM]);
                let given = given.clone();
                std::thread::spawn(move || {
                    let _ = signals.wait();
                    given.note("tidied up");
                    tree::quit(0);
                });
            }
            Self::Daemon => tree::daemon(given),
            Self::Fifty => tree::fifty(given),
            Self::Escapes => tree::escapee(given),
            Self::Broken => {
                crate::out::complain(&format!("cannot start: NEEDED_BY_TEST is not set {}", given.secret));
                tree::quit(3);
            }
            _ => {}
        }
    }

    /// What it prints before it reads anything.
    pub(crate) fn greets(&self, out: &Out) {
        match self {
            Self::Junk => out.bytes("Starting…\n✓ ready on stdio\n{\"level\":\"info\"}\n[1,2]\n42\n\n".as_bytes()),
            Self::Bytes => out.bytes(b"\xff\xfe\n\0\0\n"),
            _ => {}
        }
    }

    /// How it writes a message.
    pub(crate) fn says(&self, out: &Out, message: &Value) {
        match self {
            Self::Junk => out.bytes(format!("GET /health 200\n{message}\n✓ done {{\n").as_bytes()),
            Self::Bytes => {
                let mut bytes = vec![0xff, 0xfe, b'\n'];
                bytes.extend_from_slice("\u{feff}".as_bytes());
                bytes.extend_from_slice(format!("{message}\r\n\0\r\n").as_bytes());
                out.bytes(&bytes);
            }
            Self::Loud => {
                crate::out::complain(&"w".repeat(COMPLAINT));
                out.say(message);
            }
            _ => out.say(message),
        }
        if *self == Self::Twice {
            out.say(message);
            out.say(&json!({"jsonrpc": "2.0", "id": 987_654, "result": {}}));
            out.say(&json!({"jsonrpc": "2.0", "id": "never-asked", "error": {"code": -1, "message": "?"}}));
            out.say(&json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "what?"}}));
        }
    }

    /// What it does on a thread of its own while it serves.
    pub(crate) fn meanwhile(&self, given: &Given, out: &Out, add_tool: impl FnOnce()) {
        if *self == Self::Changes {
            given.wait_for_gate();
            let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
            (0..CHANGES).for_each(|_| out.say(&changed));
            add_tool();
            out.say(&changed);
        }
    }
}
