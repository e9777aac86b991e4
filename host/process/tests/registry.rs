//! The registry with real children and a real ledger: what is listed, told, ended and remembered.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_fakes::force::Fixed;
use hermes_fakes::policy::Fake;
use hermes_home::home::{Home, LocateArgs};
use hermes_ledger::live::handle::Ledger;
use hermes_model::config::BackgroundNotifications;
use hermes_model::event::EventKind;
use hermes_model::id::Owner;
use hermes_model::status::Status;
use hermes_process::host::Host;
use hermes_process::registry::asks::Input;
use hermes_process::registry::follow::Followed;
use hermes_process::registry::handle::{Registry, Settings, Who};
use hermes_process::registry::request::{AskError, Lines, Request, Source};
use hermes_process::registry::shown::{EventShown, KillResult, Run, SendResult};
use hermes_process::spec::{CommandSpec, Program, Stdin};

/// Long enough for anything that is not stuck.
const LONG: Duration = Duration::from_secs(30);

/// A policy that masks the word `hunter2`.
fn masking() -> Fixed {
    Fixed::new(Arc::new(Fake::masking("hunter2")))
}

struct House {
    folder: tempfile::TempDir,
}

impl House {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn open(&self, mode: BackgroundNotifications) -> Registry {
        self.open_under(mode, masking())
    }

    fn open_under(&self, mode: BackgroundNotifications, in_force: Fixed) -> Registry {
        let home = Home::locate(&LocateArgs { home: Some(self.folder.path().join("home")), profile: None }).unwrap();
        let host = Host::start().unwrap();
        let ledger = Ledger::open(&home, host.identity().unwrap()).unwrap();
        let settings = Settings {
            term_grace: Duration::from_millis(300),
            reply_bytes: 50_000,
            completion_bytes: 2000,
            mode,
            supervised: false,
            adopt: true,
            log_by: "hermes logs",
        };
        Registry::start(host, ledger, Arc::new(in_force), settings)
    }

    fn concise(&self) -> Registry {
        self.open(BackgroundNotifications::Concise)
    }
}

fn sh(text: &str) -> Request {
    let shell = PathBuf::from("/bin/bash");
    let mut spec = CommandSpec::new(Program::Shell { shell, text: text.to_owned() });
    spec.term_grace = Duration::from_millis(300);
    spec.owner = Owner::new("me");
    Request::new(spec)
}

fn me() -> Who {
    Who::Owner(Owner::new("me"))
}

async fn background(registry: &Registry, request: Request) -> Run {
    registry.start_in_background(request).await.unwrap()
}

/// A wait that nobody gives up.
async fn wait(registry: &Registry, run: &Run, patience: Duration) -> Run {
    registry.wait(&me(), run.id.as_str(), patience, std::future::pending()).await.unwrap().unwrap()
}

/// A foreground command that nobody gives up.
async fn run(registry: &Registry, request: Request, patience: Duration) -> Run {
    registry.run(request, patience, std::future::pending()).await.unwrap().unwrap()
}

async fn events(registry: &Registry, who: &Who) -> Vec<EventShown> {
    let taken = registry.events(who, 10, Duration::ZERO, false).await.unwrap();
    let (claims, events): (Vec<_>, Vec<_>) = taken.into_iter().unzip();
    registry.acknowledge(&claims).await.unwrap();
    events
}

async fn next_events(registry: &Registry, who: &Who) -> Vec<EventShown> {
    let deadline = Instant::now() + LONG;
    loop {
        let taken = registry.events(who, 10, Duration::from_secs(5), false).await.unwrap();
        if !taken.is_empty() {
            let (claims, events): (Vec<_>, Vec<_>) = taken.into_iter().unzip();
            registry.acknowledge(&claims).await.unwrap();
            return events;
        }
        assert!(Instant::now() < deadline, "no event came");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_command_is_told_about_once_when_it_ends_with_its_secrets_masked() {
    let house = House::new();
    let registry = house.concise();
    let run = background(&registry, Request { notify: true, ..sh("echo the word is hunter2; exit 3") }).await;
    assert_eq!(run.status, Status::Running);
    assert_eq!(run.output.as_str(), "");
    let told = next_events(&registry, &me()).await;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].kind, EventKind::Completion);
    assert_eq!(told[0].process.as_ref(), Some(&run.id));
    assert_eq!((told[0].status.clone(), told[0].exit_code), (Some(Status::Exited(3)), Some(3)));
    assert_eq!(told[0].output.as_str(), "the word is [REDACTED:word]\n");
    assert!(events(&registry, &me()).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_needs_not_be_told_and_who_only_lists_is_told() {
    let house = House::new();
    let registry = house.concise();
    let waited = background(&registry, Request { notify: true, ..sh("true") }).await;
    let run = wait(&registry, &waited, LONG).await;
    assert_eq!((run.status, run.timed_out), (Status::Exited(0), Some(false)));
    let listed = background(&registry, Request { notify: true, ..sh("true") }).await;
    let deadline = Instant::now() + LONG;
    while registry.list(&me()).await.iter().any(|row| row.status == Status::Running) {
        assert!(Instant::now() < deadline);
        tokio::task::yield_now().await;
    }
    let told = next_events(&registry, &me()).await;
    assert_eq!(told.iter().map(|event| event.process.clone().unwrap()).collect::<Vec<_>>(), [listed.id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_is_over_before_the_process_says_so_and_that_it_is_no_failure() {
    let house = House::new();
    let registry = house.concise();
    let run = background(&registry, sh("echo here; exec sleep 300")).await;
    let waited = wait(&registry, &run, Duration::from_millis(200)).await;
    assert_eq!((waited.status, waited.timed_out), (Status::Running, Some(true)));
    assert!(waited.notes.iter().any(|note| note.contains("no failure")), "{:?}", waited.notes);
    let killed = registry.kill(&me(), run.id.as_str(), Source::Kill).await.unwrap();
    assert_eq!((killed.result, killed.status), (KillResult::Killed, Status::Stopped("kill".into())));
    assert_eq!(killed.output.as_str(), "here\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_reaches_those_who_left_the_session_and_consumes_the_event() {
    let house = House::new();
    let registry = house.concise();
    let text = "setsid sleep 300 & (setsid sleep 300 &) ; trap '' TERM; while :; do sleep 0.1; done";
    let run = background(&registry, Request { notify: true, ..sh(text) }).await;
    let killed = registry.kill(&me(), run.id.as_str(), Source::Kill).await.unwrap();
    assert_eq!(killed.result, KillResult::Killed, "{:?}", killed.survivors);
    assert!(events(&registry, &me()).await.is_empty());
    let again = registry.kill(&me(), run.id.as_str(), Source::Kill).await.unwrap();
    assert_eq!((again.result, again.status), (KillResult::AlreadyEnded, Status::Stopped("kill".into())));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exit_that_leaves_somebody_running_is_told_at_once_and_a_kill_ends_the_rest() {
    let house = House::new();
    let registry = house.concise();
    let run = run(&registry, sh("sleep 300 & echo done"), LONG).await;
    assert_eq!((run.status.clone(), run.output.as_str()), (Status::Exited(0), "done\n"));
    assert_eq!(run.survivors.len(), 1, "{:?}", run.notes);
    let killed = registry.kill(&me(), run.id.as_str(), Source::Kill).await.unwrap();
    assert_eq!((killed.result, killed.status), (KillResult::AlreadyEnded, Status::Exited(0)));
    assert!(registry.list(&me()).await[0].survivors.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreground_command_that_takes_too_long_goes_on_in_the_background_and_is_told_about() {
    let house = House::new();
    let registry = house.concise();
    let run = run(&registry, sh("echo one; sleep 1; echo two"), Duration::from_millis(300)).await;
    assert_eq!((run.status, run.timed_out), (Status::Running, Some(true)));
    let told = next_events(&registry, &me()).await;
    assert_eq!(told[0].output.as_str(), "one\ntwo\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_sees_or_ends_what_belongs_to_another_owner() {
    let house = House::new();
    let registry = house.concise();
    let run = background(&registry, Request { notify: true, ..sh("sleep 300") }).await;
    let other = Who::Owner(Owner::new("other"));
    assert!(registry.list(&other).await.is_empty());
    let refused = registry.kill(&other, run.id.as_str(), Source::Kill).await;
    assert_eq!(refused.err(), Some(AskError::Foreign(run.id.clone())));
    assert!(registry.kill_all(&Owner::new("other"), &BTreeSet::new(), Source::KillAll).await.is_empty());
    assert_eq!(registry.kill_all(&Owner::new("me"), &BTreeSet::new(), Source::KillAll).await.len(), 1);
    assert!(events(&registry, &other).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_kill_spares_the_baseline_and_what_persists() {
    let house = House::new();
    let registry = house.concise();
    let before = background(&registry, sh("sleep 300")).await;
    let baseline = registry.running(&Owner::new("me"));
    assert!(baseline.contains(&before.id));
    let after = background(&registry, Request { notify: true, ..sh("sleep 300") }).await;
    let mut persistent = sh("sleep 300");
    persistent.spec.persist = true;
    let kept = background(&registry, persistent).await;
    let killed = registry.kill_since(&Owner::new("me"), &baseline, Source::TurnTimeout).await;
    assert_eq!(killed.iter().map(|one| one.id.clone()).collect::<Vec<_>>(), [after.id]);
    assert!(events(&registry, &me()).await.is_empty(), "what a turn took back wakes nobody");
    let running: BTreeSet<_> = registry.running(&Owner::new("me"));
    assert_eq!(running, BTreeSet::from([before.id, kept.id]));
    assert_eq!(registry.shut_down().await.len(), 2, "the end of the host ends what persists too");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_watched_for_is_told_once_and_never_with_a_secret() {
    let house = House::new();
    let registry = house.concise();
    let text = "echo starting; echo ready hunter2; sleep 1; echo ready again; sleep 300";
    let run = background(&registry, Request { watch: vec!["ready".into()], ..sh(text) }).await;
    let told = next_events(&registry, &me()).await;
    assert_eq!(told[0].kind, EventKind::Match);
    assert_eq!(told[0].pattern.as_ref().unwrap().as_str(), "ready");
    assert_eq!(told[0].output.as_str().trim_end(), "ready [REDACTED:word]");
    registry.kill(&me(), run.id.as_str(), Source::Kill).await.unwrap();
    assert!(events(&registry, &me()).await.is_empty(), "the second match came too soon");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_printed_just_before_the_end_is_watched_too() {
    let house = House::new();
    let registry = house.concise();
    background(&registry, Request { watch: vec!["last words".into()], ..sh("printf 'last words'") }).await;
    let told = next_events(&registry, &me()).await;
    assert_eq!((told[0].kind, told[0].output.as_str().trim_end()), (EventKind::Match, "last words"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_told_where_it_is_off_and_the_ledger_keeps_it() {
    let house = House::new();
    let registry = house.open(BackgroundNotifications::Off);
    let run = background(&registry, Request { notify: true, watch: vec!["x".into()], ..sh("echo x") }).await;
    let deadline = Instant::now() + LONG;
    while registry.count_running() > 0 {
        assert!(Instant::now() < deadline);
        tokio::task::yield_now().await;
    }
    assert!(events(&registry, &me()).await.is_empty());
    assert_eq!(registry.log(&me(), run.id.as_str(), Lines::default()).await.unwrap().output.as_str(), "x\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notifier_decides_which_end_wakes_somebody() {
    let house = House::new();
    let registry = house.open_under(BackgroundNotifications::Concise, masking().suppressing("hush"));
    background(&registry, Request { notify: true, ..sh("echo hush") }).await;
    let loud = background(&registry, Request { notify: true, ..sh("sleep 0.3; echo hello") }).await;
    let told = next_events(&registry, &me()).await;
    assert_eq!(told.iter().map(|event| event.process.clone().unwrap()).collect::<Vec<_>>(), [loud.id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_is_read_by_lines_from_its_head_and_from_its_end() {
    let house = House::new();
    let registry = house.concise();
    let run = run(&registry, sh("seq 1 1000"), LONG).await;
    let log = async |offset, limit| registry.log(&me(), run.id.as_str(), Lines { offset, limit }).await.unwrap();
    let head = log(Some(0), Some(2)).await;
    assert_eq!((head.output.as_str(), head.first_line, head.lines, head.total_lines), ("1\n2\n", 0, 2, 1000));
    assert!(head.output_cut);
    let end = log(None, None).await;
    assert!(end.output.as_str().starts_with("801\n") && end.output.as_str().ends_with("1000\n"));
    assert_eq!((end.first_line, end.lines), (800, 200));
    let beyond = log(Some(5000), Some(2)).await;
    assert_eq!((beyond.output.as_str(), beyond.lines), ("", 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_named_by_its_beginning_and_a_wrong_one_is_an_error_with_a_remedy() {
    let house = House::new();
    let registry = house.concise();
    let run = run(&registry, sh("true"), LONG).await;
    let digits = run.id.as_str().strip_prefix("proc_").unwrap();
    assert_eq!(registry.log(&me(), &digits[..6], Lines::default()).await.unwrap().id, run.id);
    for (asked, expected) in
        [("proc_ffffffffffff", "there is no process"), ("pr", "there is no process"), ("abc", "too short")]
    {
        let error = registry.log(&me(), asked, Lines::default()).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{asked}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_gets_every_line_once_and_the_end() {
    let house = House::new();
    let registry = house.concise();
    let run = background(&registry, sh("for i in 1 2 3; do echo line $i hunter2; sleep 0.1; done")).await;
    let mut follower = registry.follow(&me(), run.id.as_str()).await.unwrap();
    let mut text = String::new();
    loop {
        match follower.next(LONG).await {
            Followed::Text(more) => text.push_str(more.as_str()),
            Followed::End(more) => {
                text.push_str(more.as_str());
                break;
            }
            Followed::Nothing | Followed::Over => panic!("nothing came"),
        }
    }
    assert_eq!(text, "line 1 [REDACTED:word]\nline 2 [REDACTED:word]\nline 3 [REDACTED:word]\n");
    assert!(matches!(follower.next(LONG).await, Followed::Over));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_without_stdin_says_so() {
    let house = House::new();
    let registry = house.concise();
    let run = background(&registry, sh("sleep 300")).await;
    let sent = registry.send(&me(), run.id.as_str(), Input::Bytes(b"x\n".to_vec())).await.unwrap();
    assert_eq!((sent.result, sent.bytes_written), (SendResult::NoStdin, 0));
    registry.kill(&me(), run.id.as_str(), Source::Kill).await.unwrap();
    let sent = registry.send(&me(), run.id.as_str(), Input::End).await.unwrap();
    assert_eq!(sent.result, SendResult::AlreadyEnded);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_reads_is_answered() {
    let house = House::new();
    let registry = house.concise();
    let mut request = Request { notify: true, ..sh("read name; echo hello $name; cat") };
    request.spec.stdin = Stdin::Pipe;
    let run = background(&registry, request).await;
    let sent = registry.send(&me(), run.id.as_str(), Input::Bytes(b"you\nrest\n".to_vec())).await.unwrap();
    assert_eq!((sent.result, sent.bytes_written), (SendResult::Ok, 9));
    registry.send(&me(), run.id.as_str(), Input::End).await.unwrap();
    let told = next_events(&registry, &me()).await;
    assert_eq!((told[0].exit_code, told[0].output.as_str()), (Some(0), "hello you\nrest\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_registry_of_the_same_home_knows_what_ended_and_delivers_what_nobody_took() {
    let house = House::new();
    let registry = house.concise();
    let run = background(&registry, Request { notify: true, ..sh("echo bye hunter2") }).await;
    let deadline = Instant::now() + LONG;
    while registry.pending(&me()).await.unwrap() == 0 {
        assert!(Instant::now() < deadline);
        tokio::task::yield_now().await;
    }
    registry.shut_down().await;
    let later = house.concise();
    later.recover().await.unwrap();
    let told = next_events(&later, &me()).await;
    assert_eq!((told[0].process.as_ref(), told[0].output.as_str()), (Some(&run.id), "bye [REDACTED:word]\n"));
    let log = later.log(&me(), run.id.as_str(), Lines::default()).await.unwrap();
    assert_eq!((log.output.as_str(), log.status), ("bye [REDACTED:word]\n", Status::Exited(0)));
    let killed = later.kill(&me(), run.id.as_str(), Source::Kill).await.unwrap();
    assert_eq!(killed.result, KillResult::AlreadyEnded);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreground_command_that_is_given_up_is_ended_with_all_it_started() {
    let house = House::new();
    let registry = house.concise();
    let given_up = tokio::time::sleep(Duration::from_millis(300));
    let run = registry.run(sh("setsid sleep 300 & sleep 300"), LONG, given_up).await.unwrap();
    assert!(run.is_none());
    assert_eq!(registry.count_running(), 0);
    assert!(events(&registry, &me()).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_closes_only_while_nothing_runs_and_starts_nothing_then() {
    let house = House::new();
    let registry = house.concise();
    let running = background(&registry, sh("sleep 300")).await;
    assert!(!registry.close_if_idle());
    registry.kill(&me(), running.id.as_str(), Source::Kill).await.unwrap();
    assert!(registry.close_if_idle());
    assert!(registry.start_in_background(sh("true")).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_words_of_a_flood_are_watched_although_nobody_could_read_along() {
    let house = House::new();
    let registry = house.concise();
    let text = "head -c 30000000 /dev/zero | tr '\\0' x; echo; echo the end";
    background(&registry, Request { watch: vec!["the end".into()], ..sh(text) }).await;
    let told = next_events(&registry, &me()).await;
    assert_eq!((told[0].kind, told[0].output.as_str().trim_end()), (EventKind::Match, "the end"));
}
