//! Programs that would ask a question nobody can answer fail at once: there is no terminal to ask on, and nothing to read.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use hermes_tests::home::TestHome;
use hermes_tests::wait;

use crate::verbs::{hosted, start, wait as wait_for};

/// Programs that ask, and none of which may succeed or hang.
const ASKERS: [(&str, &str); 4] = [
    ("the terminal itself", "read x </dev/tty"),
    ("a password", "python3 -c 'import getpass; getpass.getpass()'"),
    ("a key with a passphrase", "ssh-keygen -q -t ed25519 -N 'one two three' -f key && ssh-keygen -y -f key"),
    ("an answer", "read -p 'sure? ' x"),
];

#[test]
fn who_asks_a_question_without_a_terminal_fails_at_once() {
    let home = hosted();
    for (what, text) in ASKERS {
        let front = home.run(["run", "--json", "-c", text]).json();
        let id = start(&home, &["-c", &format!("rm -f key key.pub; {text}")]);
        for ended in [front, wait_for(&home, &id)] {
            assert_eq!(ended["status"]["kind"], "exited", "{what}: {ended}");
            assert_ne!(ended["exit_code"], 0, "{what}: {ended}");
        }
    }
}

#[test]
fn a_caller_with_a_terminal_lends_it_to_nobody() {
    let home = TestHome::new();
    let hermes = home.command(["run", "--json", "-c", "read x </dev/tty"]);
    let words: Vec<String> = std::iter::once(hermes.get_program())
        .chain(hermes.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    // `script` gives hermes a terminal of its own; what hermes prints goes to a file.
    let mut command = Command::new("script");
    command.args(["-qec", &format!("{} > answer.json", words.join(" ")), "/dev/null"]).env_clear();
    command.envs(hermes.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(home.work());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    hermes_tests::home::finish(command, wait::PATIENCE);
    let text = std::fs::read_to_string(home.work().join("answer.json")).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&answer["status"]["kind"], &answer["exit_code"]), (&"exited".into(), &1.into()), "{answer}");
}

/// A server that lets nobody in. It prints its port first.
const LOCKED: &str = "
import http.server
class Locked(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(401)
        self.send_header('WWW-Authenticate', 'Basic realm=x')
        self.send_header('Content-Length', '0')
        self.end_headers()
    def log_message(self, *words): pass
server = http.server.HTTPServer(('127.0.0.1', 0), Locked)
print(server.server_port, flush=True)
server.serve_forever()
";

struct Locked(Child);

impl Drop for Locked {
    fn drop(&mut self) {
        // Best effort: it may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_repository_that_wants_a_password_is_refused_and_not_waited_for() {
    let home = hosted();
    let mut server = Locked(Command::new("python3").args(["-c", LOCKED]).stdout(Stdio::piped()).spawn().unwrap());
    let mut port = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let url = format!("http://127.0.0.1:{}/x", port.trim());
    let git = ["--", "git", "-c", "credential.helper=", "ls-remote", &url];
    let front: Vec<&str> = ["run", "--json"].into_iter().chain(git).collect();
    let id = start(&home, &git);
    for ended in [home.run(&front).json(), wait_for(&home, &id)] {
        assert_eq!((&ended["status"]["kind"], &ended["exit_code"]), (&"exited".into(), &128.into()), "{ended}");
        assert!(ended["output"].as_str().unwrap().contains("could not read Username"), "{ended}");
    }
}

#[test]
fn a_program_that_reads_when_nobody_writes_finds_the_end() {
    let home = hosted();
    for text in ["cat", "grep foo; true", "wc -c", "python3 -c 'import sys; print(len(sys.stdin.read()))'"] {
        drop(home.run(["run", "-c", text]).expect(0));
        // Also where hermes itself has an input that never ends.
        let mut command = home.command(["run", "-c", text]);
        command.stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let held = child.stdin.take();
        assert!(wait::end_of("hermes", child, wait::PATIENCE).status.success(), "{text}");
        drop(held);
        let id = start(&home, &["-c", text]);
        assert_eq!(wait_for(&home, &id)["exit_code"], 0, "{text}");
    }
}
