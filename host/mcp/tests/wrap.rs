//! One server behind the policy: what passes, what ends when, and that nothing of it is left.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod support;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hermes_mcp::wrap::sessions::Sessions;
use hermes_mcp::wrap::{self, Complaints, Tally, Why, WrapEnd, Wrapped};
use hermes_process::environment::Environment;
use hermes_process::host::Host;
use hermes_process::stdio::Exit;
use serde_json::{Value, json};
use support::{LONG, masking, wait_until};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server that answers every request with its params; what some methods do is said by the test.
const SERVER: &str = r#"
import json, os, sys, time
def say(message): sys.stdout.write(json.dumps(message) + "\n"); sys.stdout.flush()
def answer(id, result): say({"jsonrpc": "2.0", "id": id, "result": result})
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "hang": continue
    elif method == "exit": sys.exit(3)
    elif method == "die": os.kill(os.getpid(), 9)
    elif method == "mute":
        os.close(1)
        time.sleep(300)
    elif method == "deaf":
        sys.stdin.close()
        os.close(0)
        say({"jsonrpc": "2.0", "method": "deaf"})
        time.sleep(300)
    elif method == "flood":
        sys.stderr.write("x" * (256 << 10)); sys.stderr.flush()
        answer(id, {})
    elif method == "complain":
        sys.stderr.write("a secret of %s\n" % os.environ["THE_KEY"]); sys.stderr.flush()
        answer(id, {})
    elif method == "much": answer(id, {"text": "y" * message["params"]["bytes"]})
    elif method == "many":
        for number in range(message["params"]["count"]):
            say({"jsonrpc": "2.0", "method": "n", "params": {"number": number}})
        sys.exit(0)
    elif method == "who": answer(id, {"pid": os.getpid(), "process": os.environ["HERMES_PROCESS"]})
    elif id is not None: answer(id, message.get("params", {}))
"#;

/// An agent with its server.
struct Agent {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: Option<WriteHalf<DuplexStream>>,
    end: Option<oneshot::Sender<()>>,
    session: JoinHandle<WrapEnd>,
    complaints: Arc<Mutex<String>>,
}

fn wrapped(words: &[&str], complaints: Complaints) -> Wrapped {
    let mut environment = Environment::inherit();
    environment.set("THE_KEY", "k3y-of-its-own-value").set("THE_API_KEY", "k3y-of-its-own-value");
    Wrapped {
        name: "server".to_owned(),
        program: words[0].into(),
        args: words[1..].iter().map(Into::into).collect(),
        exact: Arc::new(wrap::secrets(&environment, &[])),
        environment,
        cwd: None,
        host: Host::start().unwrap(),
        in_force: masking(),
        reply_bytes: None,
        kept: Arc::default(),
        complaints,
    }
}

impl Agent {
    fn of(words: &[&str]) -> Self {
        let complaints = Arc::new(Mutex::new(String::new()));
        let told = Arc::clone(&complaints);
        Self::start(wrapped(words, Arc::new(move |text| told.lock().unwrap().push_str(text.as_str()))), complaints)
    }

    fn start(wrapped: Wrapped, complaints: Arc<Mutex<String>>) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let ((read, write), (their_read, their_write)) = (tokio::io::split(ours), tokio::io::split(theirs));
        let (end, ending) = oneshot::channel();
        let ending = async move {
            let _ = ending.await;
        };
        let session = tokio::spawn(wrap::run(wrapped, their_read, their_write, ending));
        Self { read: BufReader::new(read), write: Some(write), end: Some(end), session, complaints }
    }

    fn python(text: &str) -> Self {
        Self::of(&["python3", "-c", text])
    }

    async fn say(&mut self, message: &Value) {
        self.write.as_mut().unwrap().write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn ask(&mut self, id: i64, method: &str, params: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }

    /// The next message; none: the stream has ended.
    async fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        tokio::time::timeout(LONG, self.read.read_line(&mut line)).await.unwrap().unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    async fn pid(&mut self) -> i32 {
        self.ask(1000, "who", json!({})).await;
        i32::try_from(self.hear().await.unwrap()["result"]["pid"].as_i64().unwrap()).unwrap()
    }

    /// Leaves, as an agent does that closes its end of the stream.
    async fn leave(&mut self) {
        self.write.take().unwrap().shutdown().await.unwrap();
    }

    async fn over(self) -> WrapEnd {
        tokio::time::timeout(LONG, self.session).await.unwrap().unwrap()
    }
}

fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    hermes_process::survey::parse_stat(&stat).is_some_and(|stat| stat.is_alive())
}

fn error_of(message: &Value) -> (i64, i64, &str) {
    let error = &message["error"];
    (message["id"].as_i64().unwrap(), error["code"].as_i64().unwrap(), error["message"].as_str().unwrap())
}

#[test]
fn what_was_given_for_the_server_is_a_secret_whatever_it_is_called() {
    let mut environment = Environment::inherit();
    environment
        .set("MODE", "k3y-of-its-own-value")
        .set("FOLDER", "/srv/a/folder")
        .set("OTHER", "an0ther-value-of-its-own");
    let given = ["MODE".to_owned(), "FOLDER".to_owned()];
    let found = |text: &str| wrap::secrets(&environment, &given).find(text).len();
    assert_eq!(found("it is k3y-of-its-own-value"), 1);
    assert_eq!(found("in /srv/a/folder with an0ther-value-of-its-own"), 0);
    assert!(wrap::secrets(&environment, &[]).find("it is k3y-of-its-own-value").is_empty());
}

#[tokio::test]
async fn requests_and_answers_pass_and_a_secret_in_them_does_not() {
    let mut agent = Agent::python(SERVER);
    agent.ask(1, "anything/at/all", json!({"a": [1, {"b": "ä"}], "unknown": null})).await;
    let answer = agent.hear().await.unwrap();
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 1, "result": {"a": [1, {"b": "ä"}], "unknown": null}}));
    agent.ask(2, "anything", json!({"text": "a secret and k3y-of-its-own-value"})).await;
    let answer = agent.hear().await.unwrap().to_string();
    assert!(answer.contains("[REDACTED:word]") && answer.contains("[REDACTED:env:"), "{answer}");
    assert!(!answer.contains("secret") && !answer.contains("k3y"), "{answer}");
    agent.leave().await;
    let end = agent.over().await;
    assert!(matches!(end.why, Why::AgentLeft) && end.tally == Tally::default(), "{end:?}");
}

#[tokio::test]
async fn what_was_asked_last_is_answered_after_the_agent_closed_its_end() {
    let mut agent = Agent::python(SERVER);
    for id in 0..50 {
        agent.ask(id, "anything", json!({})).await;
    }
    agent.leave().await;
    for id in 0..50 {
        assert_eq!(agent.hear().await.unwrap()["id"], id);
    }
    assert!(agent.hear().await.is_none());
    assert!(matches!(agent.over().await.why, Why::AgentLeft));
}

#[tokio::test]
async fn a_server_that_ends_fails_what_waits_and_hands_on_its_exit_code() {
    for (method, exit, code, words) in
        [("exit", Exit::Code(3), 3, "exited with code 3"), ("die", Exit::Signal(9), 137, "ended by signal 9")]
    {
        let mut agent = Agent::python(SERVER);
        agent.ask(1, "hang", json!({})).await;
        agent.ask(2, method, json!({})).await;
        let mut failed = [agent.hear().await.unwrap(), agent.hear().await.unwrap()];
        failed.sort_by_key(|answer| answer["id"].as_i64());
        for (answer, id) in failed.iter().zip([1, 2]) {
            let (of, code, message) = error_of(answer);
            assert_eq!((of, code), (id, -32603));
            assert!(message.contains(words), "{message}");
        }
        assert!(agent.hear().await.is_none());
        let end = agent.over().await;
        assert!(matches!(&end.why, Why::Exited(how) if *how == exit), "{end:?}");
        assert_eq!(end.why.exit_code(), code);
    }
}

#[tokio::test]
async fn all_that_a_server_said_before_its_end_reaches_the_agent() {
    let mut agent = Agent::python(SERVER);
    agent.say(&json!({"jsonrpc": "2.0", "method": "many", "params": {"count": 3000}})).await;
    for number in 0..3000 {
        assert_eq!(agent.hear().await.unwrap()["params"]["number"], number);
    }
    assert!(agent.hear().await.is_none());
    assert!(matches!(agent.over().await.why, Why::Exited(Exit::Code(0))));
}

#[tokio::test]
async fn a_server_that_closes_its_output_and_lives_is_ended() {
    let mut agent = Agent::python(SERVER);
    let pid = agent.pid().await;
    let begun = Instant::now();
    agent.ask(1, "mute", json!({})).await;
    let answer = agent.hear().await.unwrap();
    assert!(error_of(&answer).2.contains("closed its output"), "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(2), "the agent was told after {:?}", begun.elapsed());
    let end = agent.over().await;
    assert!(matches!(end.why, Why::Mute));
    assert_eq!(end.why.exit_code(), 1);
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn a_request_to_a_server_that_reads_nothing_any_more_fails_at_once() {
    let mut agent = Agent::python(SERVER);
    agent.say(&json!({"jsonrpc": "2.0", "method": "deaf"})).await;
    assert_eq!(agent.hear().await.unwrap()["method"], "deaf");
    // The first one may still be taken by the pipe's writer, which finds nobody there.
    for id in 0..20 {
        agent.ask(id, "anything", json!({})).await;
    }
    let answer = agent.hear().await.unwrap();
    assert!(error_of(&answer).2.contains("reads nothing"), "{answer}");
    agent.end.take().unwrap().send(()).unwrap();
    agent.over().await;
}

#[tokio::test]
async fn a_server_that_ignores_everything_is_killed_when_the_agent_leaves() {
    let text = "import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0: time.sleep(300)
sys.stdin.readline()
print('{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"pid\":%d}}' % os.getpid(), flush=True)
time.sleep(300)";
    let mut agent = Agent::python(text);
    agent.ask(1, "who", json!({})).await;
    let pid = i32::try_from(agent.hear().await.unwrap()["result"]["pid"].as_i64().unwrap()).unwrap();
    agent.leave().await;
    let begun = Instant::now();
    assert!(matches!(agent.over().await.why, Why::AgentLeft));
    assert!(!is_alive(pid));
    assert!(begun.elapsed() < Duration::from_secs(12), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn whoever_runs_it_ends_it() {
    let mut agent = Agent::python(SERVER);
    let pid = agent.pid().await;
    agent.ask(1, "hang", json!({})).await;
    agent.end.take().unwrap().send(()).unwrap();
    let answer = agent.hear().await.unwrap();
    assert!(error_of(&answer).2.contains("is being ended"), "{answer}");
    assert!(matches!(agent.over().await.why, Why::Told));
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn a_session_that_is_given_up_kills_its_server() {
    let mut agent = Agent::python(SERVER);
    let pid = agent.pid().await;
    agent.session.abort();
    wait_until("the server is gone", || !is_alive(pid)).await;
}

#[tokio::test]
async fn somebody_who_holds_the_output_of_a_server_that_ended_delays_nothing_and_is_ended() {
    let text = "import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print('{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"pid\":%d}}' % os.getpid(), flush=True)
        time.sleep(300)
    os._exit(0)
os.wait()
sys.stdin.readline()
sys.exit(5)";
    let mut agent = Agent::python(text);
    let daemon = i32::try_from(agent.hear().await.unwrap()["params"]["pid"].as_i64().unwrap()).unwrap();
    let begun = Instant::now();
    agent.ask(1, "exit", json!({})).await;
    assert!(error_of(&agent.hear().await.unwrap()).2.contains("code 5"));
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert!(matches!(agent.over().await.why, Why::Exited(Exit::Code(5))));
    assert!(!is_alive(daemon));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_127() {
    let agent = Agent::of(&["no-such-program"]);
    let end = agent.over().await;
    assert!(matches!(end.why, Why::NotStarted(_)), "{end:?}");
    assert_eq!(end.why.exit_code(), 127);
}

#[tokio::test]
async fn complaints_are_shown_through_the_policy() {
    let mut agent = Agent::python(SERVER);
    agent.ask(1, "complain", json!({})).await;
    agent.hear().await.unwrap();
    let complaints = Arc::clone(&agent.complaints);
    agent.leave().await;
    agent.over().await;
    let complaints = complaints.lock().unwrap().clone();
    assert!(complaints.starts_with("a [REDACTED:word] of [REDACTED:env:"), "{complaints}");
}

#[tokio::test]
async fn a_flood_of_complaints_that_nobody_takes_holds_up_no_answer() {
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = Mutex::new(held);
    let complaints = Arc::new(Mutex::new(String::new()));
    let told = Arc::clone(&complaints);
    let sink: Complaints = Arc::new(move |text| {
        // Until the sender is dropped.
        let _ = held.lock().unwrap().recv();
        told.lock().unwrap().push_str(text.as_str());
    });
    let mut agent = Agent::start(wrapped(&["python3", "-c", SERVER], sink), Arc::clone(&complaints));
    for id in 0..4 {
        agent.ask(id, "flood", json!({})).await;
        assert_eq!(agent.hear().await.unwrap()["id"], id);
    }
    drop(release);
    agent.leave().await;
    agent.over().await;
    let complaints = complaints.lock().unwrap().clone();
    assert!(complaints.len() < 512 << 10, "{}", complaints.len());
    let said = complaints.trim_matches('x');
    assert!(said.contains("not shown"), "{said}");
}

#[tokio::test]
async fn a_long_answer_passes_and_one_that_is_too_long_is_an_error() {
    let mut agent = Agent::python(SERVER);
    agent.ask(1, "much", json!({"bytes": 8 << 20})).await;
    assert_eq!(agent.hear().await.unwrap()["result"]["text"].as_str().unwrap().len(), 8 << 20);
    agent.ask(2, "hang", json!({})).await;
    agent.ask(3, "much", json!({"bytes": 65 << 20})).await;
    let answer = agent.hear().await.unwrap();
    assert_eq!(error_of(&answer).0, 3);
    assert!(error_of(&answer).2.contains("64 MiB"), "{answer}");
    agent.ask(4, "anything", json!({})).await;
    assert_eq!(agent.hear().await.unwrap()["id"], 4);
    agent.leave().await;
    assert_eq!(agent.over().await.tally.too_long, 1);
}

#[tokio::test]
async fn noise_on_the_output_is_counted_and_stops_nothing() {
    let text = r#"
import sys
out = sys.stdout.buffer
out.write(b"Starting...\n\xe2\x9c\x93\n\xff\xfe\n\x00\n\n")
for line in sys.stdin:
    out.write(b"log: working\n\xef\xbb\xbf" + b'{"jsonrpc":"2.0","id":1,"result":{}}' + b"\r\n")
    out.flush()
"#;
    let mut agent = Agent::python(text);
    agent.ask(1, "anything", json!({})).await;
    assert_eq!(agent.hear().await.unwrap(), json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    agent.leave().await;
    assert_eq!(agent.over().await.tally.junk, 4);
}

#[tokio::test]
async fn a_bad_line_of_the_agent_is_answered_and_the_session_goes_on() {
    let mut agent = Agent::python(SERVER);
    agent.write.as_mut().unwrap().write_all(b"not json\n\n").await.unwrap();
    let answer = agent.hear().await.unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32700)));
    agent.ask(1, "anything", json!({})).await;
    assert_eq!(agent.hear().await.unwrap()["id"], 1);
}

#[tokio::test]
async fn an_agent_that_does_not_read_and_leaves_is_left_behind() {
    let mut agent = Agent::python(SERVER);
    let pid = agent.pid().await;
    for id in 0..20 {
        agent.ask(id, "much", json!({"bytes": 100_000})).await;
    }
    let Agent { read, write, session, .. } = agent;
    drop((read, write));
    let end = tokio::time::timeout(LONG, session).await.unwrap().unwrap();
    assert!(matches!(end.why, Why::AgentLeft), "{end:?}");
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn each_session_has_a_server_of_its_own() {
    let wrapped = wrapped(&["python3", "-c", SERVER], Arc::new(|_| {}));
    let quiet = Arc::<Mutex<String>>::default();
    let (mut one, mut other) = (Agent::start(wrapped.clone(), Arc::clone(&quiet)), Agent::start(wrapped, quiet));
    let (first, second) = (one.pid().await, other.pid().await);
    assert_ne!(first, second);
    one.leave().await;
    one.over().await;
    assert!(!is_alive(first) && is_alive(second));
    other.ask(1, "anything", json!({})).await;
    assert_eq!(other.hear().await.unwrap()["id"], 1);
}

#[tokio::test]
async fn all_sessions_end_with_whoever_runs_them() {
    let sessions = Sessions::new(wrapped(&["python3", "-c", SERVER], Arc::new(|_| {})));
    let mut pids = Vec::new();
    let mut agents = Vec::new();
    for _ in 0..3 {
        let (ours, theirs) = tokio::io::duplex(4096);
        let (read, write) = tokio::io::split(theirs);
        sessions.begin(read, write);
        let mut ours = BufReader::new(ours);
        ours.write_all(b"{\"id\":1,\"method\":\"who\"}\n").await.unwrap();
        let mut line = String::new();
        tokio::time::timeout(LONG, ours.read_line(&mut line)).await.unwrap().unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        pids.push(i32::try_from(answer["result"]["pid"].as_i64().unwrap()).unwrap());
        agents.push(ours);
    }
    sessions.shut_down(std::future::pending()).await;
    assert!(pids.iter().all(|pid| !is_alive(*pid)), "{pids:?}");
}

#[tokio::test]
async fn whoever_is_in_a_hurry_kills_what_does_not_end() {
    const STUBBORN: &str = r#"
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('{"method": "up", "params": {"pid": %d}}' % os.getpid(), flush=True)
while True: time.sleep(300)
"#;
    let sessions = Sessions::new(wrapped(&["python3", "-c", STUBBORN], Arc::new(|_| {})));
    let (ours, theirs) = tokio::io::duplex(4096);
    let (read, write) = tokio::io::split(theirs);
    sessions.begin(read, write);
    let (mut ours, mut line) = (BufReader::new(ours), String::new());
    tokio::time::timeout(LONG, ours.read_line(&mut line)).await.unwrap().unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    let pid = i32::try_from(told["params"]["pid"].as_i64().unwrap()).unwrap();
    let begun = Instant::now();
    sessions.shut_down(std::future::ready(())).await;
    assert!(!is_alive(pid) && begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}
