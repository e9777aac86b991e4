//! A home with misbehaving servers in it, and hosts that serve them.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use hermes_tests::home::TestHome;
use hermes_tests::leavings;
use hermes_tests::mcp::{Client, Manners};
use hermes_tests::rude::{self, Rude};
use hermes_tests::wait::{self, PATIENCE};
use serde_json::{Value, json};

/// A token with its own shape. Nothing real.
pub(crate) const TOKEN: &str = "ghp_Zq8xPl0aMn3vKc7dRt5yWb2eHu9jLs4gTf6k";
/// So much of a secret in a row counts as shown.
const PIECE: usize = 10;

/// A home, and the servers that are configured in it.
pub(crate) struct Served {
    /// The servers. They end before the home does.
    pub(crate) rude: Rude,
    /// The home.
    pub(crate) home: TestHome,
}

/// A server: its name, the words it is started with, and lines of more settings.
pub(crate) type Entry<'a> = (&'a str, &'a [&'a str], &'a str);

impl Served {
    /// A home with these servers.
    pub(crate) fn with(entries: &[Entry<'_>]) -> Self {
        Self::of(TestHome::new(), "", entries)
    }

    /// A home with variables or plugins, with these servers and more of a configuration in front.
    pub(crate) fn of(home: TestHome, more: &str, entries: &[Entry<'_>]) -> Self {
        let served = Self { rude: Rude::of(&home), home };
        served.configure(more, entries);
        served
    }

    /// Writes the configuration anew.
    pub(crate) fn configure(&self, more: &str, entries: &[Entry<'_>]) {
        let mut text = format!("{more}\n");
        for (name, words, settings) in entries {
            text.push_str(&self.rude.entry(name, words, settings));
        }
        self.home.configure(&text);
    }

    /// `hermes mcp serve`, not started.
    pub(crate) fn command(&self) -> Command {
        self.home.command(["mcp", "serve"])
    }

    /// A host of its own for one client.
    pub(crate) fn client(&self) -> Client {
        Client::start(self.command())
    }

    /// The same, for a client with manners.
    pub(crate) fn client_as(&self, manners: Manners) -> Client {
        Client::start_as(self.command(), manners)
    }

    /// Where a host for many listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.home.work().join("mcp.sock")
    }

    /// A host for many clients. What it is given as a client is its own input and end.
    pub(crate) fn host(&self) -> Client {
        let socket = self.socket();
        let mut command = self.home.command(["mcp", "serve", "--socket"]);
        command.arg(&socket);
        let host = Client::raw(command, Manners::default());
        wait::until("the socket of the host", PATIENCE, || {
            assert!(leavings::runs(host.pid()), "the host ended: {}", host.errors());
            socket.exists().then_some(())
        });
        host
    }

    /// A client of the host for many.
    pub(crate) fn join(&self) -> Client {
        Client::connect(&self.socket())
    }

    /// The row of a server in the list of the command line.
    pub(crate) fn row(&self, name: &str) -> Value {
        rude::row(&self.home, name).unwrap_or_else(|| panic!("{name} is not listed"))
    }

    /// Waits until a server is in one of these states, and gives its row.
    pub(crate) fn until_state(&self, name: &str, states: &[&str]) -> Value {
        let began = Instant::now();
        loop {
            let row = self.row(name);
            if states.iter().any(|state| row["state"] == *state) {
                return row;
            }
            assert!(began.elapsed() < PATIENCE, "{name} is not {states:?}: {row}; {:?}", self.rude.lines(name));
        }
    }
}

/// Waits until a list has something with a word in it, and gives the list.
pub(crate) fn until_listed(client: &Client, method: &str, key: &str, word: &str) -> Vec<Value> {
    wait::until(&format!("{word} in {method}"), PATIENCE, || {
        let list = client.list(method, key);
        list.iter().any(|element| element.to_string().contains(word)).then_some(list)
    })
}

/// Ends a host in order, and looks that nothing is left of its servers.
pub(crate) fn end(served: &Served, client: &Client) {
    client.close();
    assert_eq!(client.ended().code(), Some(0), "{}", client.errors());
    served.rude.until_gone("after an end in order");
}

/// The error of a call that failed.
pub(crate) fn failure(result: &Value) -> &Value {
    assert_eq!(result["isError"], true, "it did not fail: {result}");
    let error = &result["structuredContent"]["error"];
    assert!(error["code"].is_string() && error["message"].is_string(), "no error in {result}");
    error
}

/// The id under which the rest of a result that was cut is kept.
pub(crate) fn kept_id(text: &str) -> String {
    let at = text.find("res_").unwrap_or_else(|| panic!("no id in {}", &text[text.len().saturating_sub(400)..]));
    text[at..].chars().take("res_".len() + 12).collect()
}

/// The whole of what is kept under an id, page by page.
pub(crate) fn whole(client: &Client, id: &str) -> String {
    let (mut text, mut line) = (String::new(), 0);
    loop {
        let arguments = json!({"action": "log", "id": id, "offset": line, "limit": 500});
        let page = client.call("process", &arguments);
        let page = &page["structuredContent"];
        let (Some(output), Some(total)) = (page["output"].as_str(), page["total_lines"].as_u64()) else {
            panic!("no page of {id}: {page}");
        };
        assert_eq!(page["first_line"].as_u64(), Some(line), "{page}");
        text.push_str(output);
        line += page["lines"].as_u64().filter(|lines| *lines > 0).unwrap_or_else(|| panic!("an empty page: {page}"));
        if line >= total {
            return text;
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
}

/// Fails if a piece of a secret is in some bytes.
pub(crate) fn nothing_of(secret: &str, bytes: &[u8], what: &str) {
    let text = String::from_utf8_lossy(bytes);
    for at in 0..=secret.len() - PIECE {
        let piece = &secret[at..at + PIECE];
        assert!(!text.contains(piece), "{what} shows '{piece}': {}", &text[text.len().saturating_sub(2000)..]);
    }
}
