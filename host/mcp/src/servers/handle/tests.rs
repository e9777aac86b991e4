//! Servers with a process: one small program that behaves as it is told.

use std::path::{Path, PathBuf};

use hermes_fakes::policy::Fake;
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::servers::all::Servers;

const LONG: Duration = Duration::from_secs(30);
const PROGRAM: &str = include_str!("server.py");

/// A folder with the log of a server, and what it saw.
struct Place {
    folder: tempfile::TempDir,
    host: Host,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), host: Host::start().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn setting(&self, name: &str) -> Setting {
        let mut environment = Environment::inherit();
        environment.set("NOT_FOR_SERVERS", "x");
        Setting {
            host: self.host.clone(),
            in_force: Fake::masking("secret").in_force(),
            environment,
            logs: self.path(&format!("mcp-{name}.log")),
        }
    }

    fn config(&self, name: &str, how: &[&str]) -> ServerConfig {
        let args = ["-c", PROGRAM].iter().chain(how).map(|arg| (*arg).to_owned()).collect();
        let seen = self.path(&format!("{name}.seen")).to_string_lossy().into_owned();
        ServerConfig {
            command: "python3".to_owned(),
            args,
            env: [("SEEN".to_owned(), seen), ("TOKEN".to_owned(), "correct horse battery".to_owned())].into(),
            ..ServerConfig::default()
        }
    }

    fn server(&self, how: &[&str]) -> Server {
        self.server_with(how, |_| {})
    }

    fn server_with(&self, how: &[&str], change: impl FnOnce(&mut ServerConfig)) -> Server {
        let mut config = self.config("srv", how);
        change(&mut config);
        Server::new("srv".parse().unwrap(), config, self.setting("srv"))
    }

    /// How often the server did this.
    fn seen(&self, what: &str) -> usize {
        let seen = std::fs::read_to_string(self.path("srv.seen")).unwrap_or_default();
        seen.lines().filter(|line| *line == what).count()
    }

    async fn sees(&self, what: &str, times: usize) {
        wait(what, || self.seen(what) >= times).await;
    }
}

async fn wait(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {LONG:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn reaches(server: &Server, phase: Phase) {
    wait(&format!("{phase:?}"), || server.standing().phase == phase).await;
}

fn request(method: &'static str) -> Ask {
    Ask { method, params: Map::new(), progress: None, cancelled: CancellationToken::new(), patience: None }
}

async fn call(server: &Server) -> Result<Value, AskError> {
    tokio::time::timeout(LONG, server.ask(request("tools/call"))).await.unwrap().map(Raw::into_value)
}

fn lives(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[tokio::test]
async fn a_server_is_started_by_whoever_asks_first_and_proven_by_its_answer() {
    let place = Place::new();
    let server = place.server(&[]);
    assert_eq!(server.standing().phase, Phase::Stopped);
    let answer = call(&server).await.unwrap();
    reaches(&server, Phase::Proven).await;
    let standing = server.standing();
    assert_eq!(answer["pid"].as_i64(), standing.pid.map(i64::from));
    assert_eq!((standing.protocol.as_deref(), standing.tools, standing.restarts), (Some("2025-03-26"), 1, 0));
    assert!(standing.since.is_some() && standing.problem.is_none());
    assert_eq!(call(&server).await.unwrap()["pid"], answer["pid"]);
    assert!(!server.exact().find("a correct horse battery b").is_empty());
    let names: Vec<&str> = answer["names"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(names.contains(&"PATH") && names.contains(&"TOKEN") && !names.contains(&"NOT_FOR_SERVERS"));
    assert_eq!(server.offering().capabilities.value()["prompts"], json!({}));
    wait("the note about the other list", || !server.standing().notes.is_empty()).await;
    assert_eq!(server.standing().notes, ["prompts/list failed with error -32601"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn any_number_of_callers_start_one_process() {
    let place = Place::new();
    let server = place.server(&["slow=0.3"]);
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let server = server.clone();
        server.wake();
        asking.spawn(async move { call(&server).await.is_ok() });
    }
    while let Some(answered) = asking.join_next().await {
        assert!(answered.unwrap());
    }
    assert_eq!((place.seen("start"), place.seen("call")), (1, 20));
}

#[tokio::test]
async fn a_server_that_complains_a_lot_is_never_stopped_by_it_and_its_log_is_masked() {
    let place = Place::new();
    let server = place.server(&["complain"]);
    for _ in 0..5 {
        call(&server).await.unwrap();
    }
    server.stop().await;
    let log = std::fs::read_to_string(place.path("mcp-srv.log")).unwrap();
    assert!(log.contains("a [REDACTED:word] complaint\n") && !log.contains("secret"));
    assert!(log.len() <= 2 << 20);
}

#[tokio::test]
async fn a_call_in_flight_fails_at_once_when_the_server_dies_and_is_never_repeated() {
    for how in ["die", "kill"] {
        let place = Place::new();
        let server = place.server(&[how]);
        server.wake();
        reaches(&server, Phase::Ready).await;
        let start = Instant::now();
        let error = call(&server).await.unwrap_err();
        assert!(matches!(error, AskError::Uncertain(_)), "{error}");
        assert!(start.elapsed() < Duration::from_secs(2));
        wait("another process", || place.seen("start") >= 2).await;
        reaches(&server, Phase::Ready).await;
        assert_eq!(place.seen("call"), 1);
        assert_eq!((server.standing().restarts, server.standing().tools), (1, 1));
    }
}

#[tokio::test]
async fn a_server_that_closes_its_output_is_ended_and_started_again() {
    let place = Place::new();
    let server = place.server(&["hang-up", "stay"]);
    server.wake();
    reaches(&server, Phase::Ready).await;
    let pid = server.standing().pid.unwrap();
    assert!(matches!(call(&server).await, Err(AskError::Uncertain(_))));
    reaches(&server, Phase::Degraded).await;
    let problem = server.standing().problem.unwrap();
    assert!(problem.starts_with("it closed its output"), "{problem}");
    place.sees("start", 2).await;
    assert!(!lives(pid));
}

#[tokio::test]
async fn a_slow_server_is_starting_and_not_failed() {
    let place = Place::new();
    let server = place.server(&["slow=1"]);
    server.wake();
    place.sees("start", 1).await;
    assert_eq!(server.standing().phase, Phase::Starting);
    assert!(call(&server).await.is_ok());
    assert_eq!(place.seen("start"), 1);
}

#[tokio::test]
async fn a_server_that_never_answers_is_ended_before_the_next_is_started() {
    let place = Place::new();
    let server = place.server_with(&["silent"], |config| config.connect_timeout = Duration::from_millis(500));
    server.wake();
    wait("a process", || server.standing().pid.is_some()).await;
    let pid = server.standing().pid.unwrap();
    reaches(&server, Phase::Degraded).await;
    let problem = server.standing().problem.unwrap();
    assert!(problem.contains("did not answer") && problem.contains("mcp_servers.srv.connect_timeout"), "{problem}");
    place.sees("start", 2).await;
    assert!(!lives(pid));
}

#[tokio::test]
async fn a_start_that_fails_tells_its_last_words_masked_and_is_tried_again() {
    let place = Place::new();
    let server = place.server(&["fail"]);
    server.wake();
    reaches(&server, Phase::Degraded).await;
    let problem = server.standing().problem.unwrap();
    assert!(problem.contains("exited with code 1 before it answered"), "{problem}");
    assert!(problem.contains("logs/mcp-srv.log): no [REDACTED:word] was found"), "{problem}");
    place.sees("start", 2).await;
}

#[tokio::test]
async fn a_program_that_is_missing_is_not_tried_again_until_somebody_asks() {
    let place = Place::new();
    let server = place.server_with(&[], |config| config.command = "no-such-program-at-all".to_owned());
    server.wake();
    reaches(&server, Phase::Parked).await;
    let error = call(&server).await.unwrap_err();
    assert!(matches!(&error, AskError::Unavailable(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("is not found") && text.contains("'no-such-program-at-all'"), "{text}");
    assert_eq!(server.standing().phase, Phase::Parked);
    let disabled = place.server_with(&[], |config| config.enabled = false);
    disabled.wake();
    let error = call(&disabled).await.unwrap_err();
    assert!(error.to_string().contains("mcp_servers.srv.enabled = true"), "{error}");
    assert_eq!((disabled.standing().phase, place.seen("start")), (Phase::Stopped, 0));
}

#[tokio::test]
async fn a_server_that_answers_and_exits_is_started_a_handful_of_times() {
    let place = Place::new();
    let server = place.server(&["leave"]);
    server.wake();
    let mut impatient = 0;
    wait("parked", || {
        // Somebody is impatient, so that the pauses are short.
        let standing = server.standing();
        if standing.phase == Phase::Degraded && standing.pid.is_none() {
            impatient += 1;
            server.wake();
        }
        standing.phase == Phase::Parked
    })
    .await;
    assert!(impatient > 0 && (5..=8).contains(&place.seen("start")), "{}", place.seen("start"));
    assert_eq!(server.standing().tools, 1, "what it offers stays known");
}

#[tokio::test]
async fn a_server_that_ignores_everything_is_killed_within_its_bound() {
    let place = Place::new();
    let server = place.server(&["stubborn"]);
    call(&server).await.unwrap();
    let pid = server.standing().pid.unwrap();
    let start = Instant::now();
    server.stop().await;
    assert!(!lives(pid) && start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    assert_eq!((server.standing().phase, server.standing().pid), (Phase::Stopped, None));
    assert_ne!(call(&server).await.unwrap()["pid"].as_i64(), Some(i64::from(pid)));
}

#[tokio::test]
async fn one_that_is_starting_is_killed_at_once() {
    let place = Place::new();
    let server = place.server(&["silent", "stubborn"]);
    server.wake();
    place.sees("start", 1).await;
    let pid = server.standing().pid.unwrap();
    let start = Instant::now();
    server.stop().await;
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    wait("its end", || !lives(pid)).await;
}

#[tokio::test]
async fn with_the_last_handle_it_ends() {
    let place = Place::new();
    let server = place.server(&[]);
    call(&server).await.unwrap();
    let (pid, other) = (server.standing().pid.unwrap(), server.clone());
    drop(server);
    call(&other).await.unwrap();
    drop(other);
    wait("its end", || !lives(pid)).await;
}

#[tokio::test]
async fn an_idle_server_is_retired_keeps_its_tools_and_comes_back_when_asked() {
    let place = Place::new();
    let server = place.server_with(&[], |config| config.idle_timeout = Some(Duration::from_millis(300)));
    let first = call(&server).await.unwrap();
    reaches(&server, Phase::Stopped).await;
    assert_eq!((server.standing().tools, server.offering().tools.len()), (1, 1));
    assert_ne!(call(&server).await.unwrap()["pid"], first["pid"]);
    assert_eq!(place.seen("start"), 2);
}

#[tokio::test]
async fn a_list_that_changes_is_read_again_a_few_times_however_often_that_is_said() {
    let place = Place::new();
    let server = place.server(&["grow"]);
    let mut changes = server.changes();
    call(&server).await.unwrap();
    wait("two tools", || server.offering().tools.len() == 2).await;
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
    call(&server).await.unwrap();
    tokio::time::timeout(LONG, changes.changed()).await.unwrap().unwrap();
    wait("three tools", || server.offering().tools.len() == 3).await;
}

#[tokio::test]
async fn whoever_gives_up_is_free_at_once_and_the_server_is_told() {
    let place = Place::new();
    let server = place.server(&["mute"]);
    server.wake();
    reaches(&server, Phase::Ready).await;
    let mut ask = request("tools/call");
    let cancelled = CancellationToken::new();
    ask.cancelled = cancelled.clone();
    let asking = server.clone();
    let asked = tokio::spawn(async move { asking.ask(ask).await.err() });
    place.sees("call", 1).await;
    cancelled.cancel();
    let error = tokio::time::timeout(Duration::from_millis(100), asked).await.unwrap().unwrap();
    assert!(matches!(error, Some(AskError::Cancelled)));
    place.sees("notifications/cancelled", 1).await;
    let ask = Ask { patience: Some(Duration::from_millis(200)), ..request("tools/call") };
    let error = tokio::time::timeout(LONG, server.ask(ask)).await.unwrap().err().unwrap();
    assert!(error.to_string().contains("raise mcp_servers.srv.timeout"), "{error}");
    place.sees("notifications/cancelled", 2).await;
    assert_eq!(server.standing().phase, Phase::Ready);
}

#[tokio::test]
async fn a_server_is_asked_no_more_at_a_time_than_it_is_configured_for() {
    for (parallel, overlaps) in [(1, false), (4, true)] {
        let place = Place::new();
        let server = place.server_with(&["one-at-a-time"], |config| config.parallel = parallel);
        server.wake();
        wait("its lists", || !server.standing().notes.is_empty()).await;
        let both = tokio::join!(call(&server), call(&server));
        let overlapped = |answer: Result<Value, AskError>| answer.unwrap()["overlap"] == json!(true);
        assert_eq!(overlapped(both.0) || overlapped(both.1), overlaps);
    }
}

#[tokio::test]
async fn a_server_that_knows_no_ping_is_alive_all_the_same() {
    let place = Place::new();
    let server = place.server_with(&[], |config| config.keepalive = Some(Duration::from_millis(50)));
    server.wake();
    place.sees("ping", 3).await;
    assert_eq!((server.standing().phase, place.seen("start")), (Phase::Ready, 1));
}

#[tokio::test]
async fn a_notification_reaches_a_server_that_runs() {
    let place = Place::new();
    let server = place.server(&[]);
    server.tell("notifications/roots/list_changed", Map::new()).await;
    assert_eq!(place.seen("start"), 0);
    call(&server).await.unwrap();
    server.tell("notifications/roots/list_changed", Map::new()).await;
    place.sees("notifications/roots/list_changed", 1).await;
}

#[tokio::test]
async fn an_error_of_a_server_is_handed_on_raw_and_shows_nothing_of_itself() {
    let place = Place::new();
    let server = place.server(&[]);
    let error = server.ask(request("prompts/get")).await.err().unwrap();
    assert!(!format!("{error} {error:?}").contains("secret"));
    let AskError::Refused { code: -32601, error: RawError(raw) } = error else { panic!("refused") };
    assert_eq!(raw.value()["message"], "a secret error");
}

#[tokio::test]
async fn servers_start_together_and_a_slow_one_delays_nobody() {
    let place = Place::new();
    let configs = [("slow", vec!["slow=60"]), ("one", vec![]), ("two", vec![]), ("lazy", vec![])];
    let configs = configs.into_iter().map(|(name, how)| {
        let config = ServerConfig { lazy: name == "lazy", ..place.config(name, &how) };
        (name.parse().unwrap(), config)
    });
    let start = Instant::now();
    let servers = Servers::start(configs, |name| place.setting(name.as_str()));
    assert!(start.elapsed() < Duration::from_secs(1));
    let mut changes = servers.changes();
    tokio::time::timeout(LONG, changes.changed()).await.unwrap().unwrap();
    let phase = |name: &str| servers.get(name).unwrap().standing().phase;
    wait("the quick ones", || phase("one") == Phase::Ready && phase("two") == Phase::Ready).await;
    assert_eq!((phase("slow"), phase("lazy")), (Phase::Starting, Phase::Stopped));
    servers.settled(Instant::now() + Duration::from_millis(100)).await;
    assert_eq!((phase("slow"), servers.iter().count()), (Phase::Starting, 4));
    let pids: Vec<i32> = servers.iter().filter_map(|server| server.standing().pid).collect();
    assert_eq!(pids.len(), 3);
    let start = Instant::now();
    servers.shut_down().await;
    assert!(start.elapsed() < Duration::from_secs(6) && pids.iter().all(|pid| !lives(*pid)));
    assert!(matches!(call(servers.get("one").unwrap()).await, Err(AskError::Unavailable(_))));
}

#[tokio::test]
async fn nobody_waits_for_what_is_settled_and_those_nobody_needs_are_ended() {
    let place = Place::new();
    let broken = ServerConfig { command: "no-such-program-at-all".to_owned(), ..ServerConfig::default() };
    let configs = [("srv".parse().unwrap(), place.config("srv", &[])), ("broken".parse().unwrap(), broken)];
    let servers = Servers::start(configs, |name| place.setting(name.as_str()));
    let start = Instant::now();
    servers.settled(start + LONG).await;
    assert!(start.elapsed() < LONG);
    let server = servers.get("srv").unwrap();
    assert_eq!(server.standing().phase, Phase::Ready);
    servers.retire_idle();
    reaches(server, Phase::Stopped).await;
    assert!(call(server).await.is_ok());
}
