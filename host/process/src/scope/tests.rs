//! Tests of scopes: with answers made up, and with scripts in the place of systemd's programs.

use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hermes_model::status::Status;
use tokio::sync::Semaphore;

use super::bus::{BUS_ADDRESS, RUNTIME_DIR};
use super::systemd::{Printed, Programs};
use super::*;
use crate::host::Host;
use crate::spawn::spawn;

/// Answers in order, and with success once there are no more.
#[derive(Clone)]
struct Fake(Arc<Script>);

struct Script {
    answers: Mutex<VecDeque<Answer>>,
    calls: Mutex<Vec<Call>>,
    /// A call waits for a permit.
    gate: Semaphore,
}

impl Systemd for Fake {
    async fn run(&self, call: Call) -> Answer {
        self.0.calls.lock().unwrap().push(call);
        let permit = self.0.gate.acquire().await;
        drop(permit.unwrap());
        self.0.answers.lock().unwrap().pop_front().unwrap_or_else(|| ended(0, ""))
    }
}

fn ended(code: i32, printed: &str) -> Answer {
    Answer::Ended(code, Printed::new(printed))
}

fn script(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A machine with a user's bus and systemd's programs.
struct Fixture {
    bin: tempfile::TempDir,
    runtime_dir: tempfile::TempDir,
    fake: Fake,
    seconds: Arc<AtomicU64>,
}

impl Fixture {
    fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let bin = tempfile::tempdir().unwrap();
        script(bin.path(), SYSTEMD_RUN, "exit 9");
        script(bin.path(), SYSTEMCTL, "exit 9");
        let answers = Mutex::new(answers.into_iter().collect());
        let fake = Fake(Arc::new(Script { answers, calls: Mutex::default(), gate: Semaphore::new(1) }));
        Self { bin, runtime_dir: bus::tests::runtime_dir(), fake, seconds: Arc::default() }
    }

    fn scopes<S: Systemd>(&self, systemd: S, supervised: bool) -> Scopes<S> {
        let user = bus::tests::user(&self.bin.path().join("nowhere"));
        let seconds = Arc::clone(&self.seconds);
        let clock = Box::new(move || Duration::from_secs(seconds.load(Ordering::Relaxed)));
        Scopes::new(systemd, clock, Settings { supervised, memory_max: 1 << 30, user })
    }

    fn supervised(&self) -> Scopes<Fake> {
        self.scopes(self.fake.clone(), true)
    }

    fn environment(&self) -> Environment {
        let mut environment = Environment::empty();
        environment.set("PATH", format!("{}:/usr/bin:/bin", self.bin.path().display()));
        environment.set(RUNTIME_DIR, self.runtime_dir.path());
        environment
    }

    fn sh(&self, text: &str) -> CommandSpec {
        let mut spec = CommandSpec::new(Program::Shell { shell: "/bin/sh".into(), text: text.into() });
        spec.environment = self.environment();
        spec
    }

    fn calls(&self) -> usize {
        self.fake.0.calls.lock().unwrap().len()
    }
}

fn id() -> ProcessId {
    ProcessId::from_random([1, 2, 3, 4, 5, 6])
}

fn scope() -> Placement {
    Placement::Scoped(Unit::of(&id()))
}

fn words(spec: &CommandSpec) -> Vec<String> {
    let Program::Exec { program, args } = &spec.program else { panic!("no program of its own") };
    std::iter::once(program).chain(args).map(|word| word.to_str().unwrap().to_owned()).collect()
}

fn why(placement: &Placement) -> &Unusable {
    let Placement::Degraded(Degraded { why }) = placement else { panic!("{placement:?}") };
    why
}

#[test]
fn a_host_is_a_service_if_systemd_gave_it_an_invocation() {
    assert!(is_supervised(Some("0123".as_ref())));
    assert!(!is_supervised(Some("".as_ref())) && !is_supervised(None));
}

#[tokio::test]
async fn a_host_that_is_no_service_never_asks_systemd() {
    let fixture = Fixture::new([]);
    let placed = fixture.scopes(fixture.fake.clone(), false).place(&id(), fixture.sh("true")).await;
    assert!(matches!(placed.placement, Placement::Plain) && matches!(placed.spec.program, Program::Shell { .. }));
    assert_eq!(placed.spec.environment.get(BUS_ADDRESS), None);
    assert_eq!(fixture.calls(), 0);
}

#[tokio::test]
async fn a_command_of_a_service_is_run_as_the_probe_was() {
    let fixture = Fixture::new([]);
    let placed = fixture.supervised().place(&id(), fixture.sh("echo x")).await;
    assert_eq!(placed.placement, scope());
    let words = words(&placed.spec);
    assert_eq!(words[0], fixture.bin.path().join(SYSTEMD_RUN).to_str().unwrap());
    assert_eq!(words[words.len() - 4..], ["--", "/bin/sh", "-c", "echo x"]);
    let address = format!("unix:path={}/bus", fixture.runtime_dir.path().display());
    assert_eq!(placed.spec.environment.get(BUS_ADDRESS), Some(OsStr::new(&address)));

    let calls = fixture.fake.0.calls.lock().unwrap();
    assert_eq!((calls.len(), calls[0].limit), (1, Duration::from_secs(3)));
    assert_eq!(calls[0].environment.get(BUS_ADDRESS), Some(OsStr::new(&address)));
    let shared = |words: &[String]| words.iter().filter(|word| !word.contains("hermes-")).count();
    let probe: Vec<String> = calls[0].args.iter().map(|word| word.to_str().unwrap().to_owned()).collect();
    assert_eq!(probe[probe.len() - 1], "exit 0");
    assert_eq!(shared(&probe) + 1, shared(&words), "the same words but for the names");
}

#[tokio::test]
async fn everybody_waits_for_one_probe_and_nobody_sees_another_answer() {
    let fixture = Fixture::new([]);
    let gate = fixture.fake.0.gate.acquire().await.unwrap();
    let scopes = Arc::new(fixture.supervised());
    let waiting: Vec<_> = (0..8)
        .map(|_| {
            let (scopes, spec) = (Arc::clone(&scopes), fixture.sh("true"));
            tokio::spawn(async move { scopes.place(&id(), spec).await.placement })
        })
        .collect();
    while fixture.calls() == 0 {
        tokio::task::yield_now().await;
    }
    drop(gate);
    for placement in waiting {
        assert_eq!(placement.await.unwrap(), scope());
    }
    assert_eq!(fixture.calls(), 1);
}

#[tokio::test]
async fn a_verdict_counts_for_a_minute_whichever_it_is() {
    let fixture = Fixture::new([ended(1, ""), ended(0, ""), Answer::TimedOut]);
    let scopes = fixture.supervised();
    let mut seen = Vec::new();
    for second in [0, 59, 60, 119, 120, 179] {
        fixture.seconds.store(second, Ordering::Relaxed);
        seen.push(scopes.place(&id(), fixture.sh("true")).await.placement);
    }
    let degraded = |why| Placement::Degraded(Degraded { why });
    let refused = degraded(Unusable::Refused(1));
    let late = degraded(Unusable::TimedOut);
    assert_eq!(seen, [refused.clone(), refused, scope(), scope(), late.clone(), late]);
    assert_eq!(fixture.calls(), 3);
}

#[tokio::test]
async fn an_old_systemd_is_not_told_what_it_does_not_know() {
    let old = "systemd-run: unrecognized option '--expand-environment=no'";
    let fixture = Fixture::new([ended(1, old)]);
    let placed = fixture.supervised().place(&id(), fixture.sh("true")).await;
    assert_eq!(placed.placement, scope());
    assert!(!words(&placed.spec).iter().any(|word| word.starts_with("--expand")));
    let fixture = Fixture::new([ended(1, old), ended(1, old)]);
    let placed = fixture.supervised().place(&id(), fixture.sh("true")).await;
    assert_eq!((why(&placed.placement), fixture.calls()), (&Unusable::Refused(1), 2));
}

#[tokio::test]
async fn without_a_bus_the_command_runs_as_it_is_and_the_remedy_is_named() {
    let fixture = Fixture::new([]);
    fs::remove_file(fixture.runtime_dir.path().join("bus")).unwrap();
    let placed = fixture.supervised().place(&id(), fixture.sh("true")).await;
    let Placement::Degraded(degraded) = &placed.placement else { panic!("{:?}", placed.placement) };
    let said = degraded.to_string();
    assert!(said.contains("XDG_RUNTIME_DIR names holds no bus") && said.contains("loginctl enable-linger"), "{said}");
    assert!(matches!(placed.spec.program, Program::Shell { .. }));
    assert_eq!((placed.spec.environment.get(BUS_ADDRESS), fixture.calls()), (None, 0));
}

#[tokio::test]
async fn a_bus_that_went_is_not_tried_for_a_minute_even_if_it_comes_back() {
    let fixture = Fixture::new([]);
    let scopes = fixture.supervised();
    assert_eq!(scopes.place(&id(), fixture.sh("true")).await.placement, scope());
    assert_eq!(scopes.lost_bus(&fixture.environment()).await, None, "it is there");
    let (socket, away) = (fixture.runtime_dir.path().join("bus"), fixture.runtime_dir.path().join("away"));
    fs::rename(&socket, &away).unwrap();
    assert!(scopes.lost_bus(&fixture.environment()).await.unwrap().to_string().contains("enable-linger"));
    fs::rename(&away, &socket).unwrap();
    let placed = scopes.place(&id(), fixture.sh("true")).await;
    assert!(matches!(why(&placed.placement), Unusable::NoBus(_)));
    fixture.seconds.store(60, Ordering::Relaxed);
    assert_eq!(scopes.place(&id(), fixture.sh("true")).await.placement, scope());
}

#[tokio::test]
async fn a_program_that_is_not_there_is_left_for_the_spawn_to_refuse() {
    let fixture = Fixture::new([]);
    let mut spec = fixture.sh("true");
    spec.program = Program::Exec { program: "no-such-program".into(), args: vec![] };
    let placed = fixture.supervised().place(&id(), spec).await;
    assert_eq!((placed.placement, fixture.calls()), (Placement::Plain, 0));
    assert!(matches!(&placed.spec.program, Program::Exec { program, .. } if program == "no-such-program"));
}

#[tokio::test]
async fn a_scope_that_is_gone_counts_as_stopped_and_another_failure_does_not() {
    let fixture = Fixture::new([
        ended(0, ""),
        ended(5, "Failed to stop x.scope: Unit x.scope not loaded."),
        ended(1, "Unit x.scope not found."),
        ended(1, "secret"),
        Answer::TimedOut,
        Answer::Lost("no memory".into()),
    ]);
    let (scopes, unit) = (fixture.supervised(), Unit::of(&id()));
    for _ in 0..3 {
        assert_eq!(scopes.stop(&unit, &fixture.environment()).await, Ok(()));
    }
    for part in ["failed with code 1;", "did not answer within 15 s;", "did not run: no memory;"] {
        let said = scopes.stop(&unit, &fixture.environment()).await.unwrap_err().to_string();
        assert!(said.contains(part) && said.contains(unit.name()) && !said.contains("secret"), "{said}");
    }
    fs::remove_file(fixture.runtime_dir.path().join("bus")).unwrap();
    let error = scopes.stop(&unit, &fixture.environment()).await;
    assert!(matches!(error, Err(StopError::NoBus { .. })));
    assert!(fixture.fake.0.calls.lock().unwrap().iter().all(|call| call.limit == STOP_LIMIT));
}

#[tokio::test]
async fn a_command_in_a_scope_keeps_its_words_and_its_exit_status() {
    let fixture = Fixture::new([]);
    // As systemd-run does: notes what it was told, then lets the command take its place.
    let log = fixture.bin.path().join("log");
    let text = r#"while [ "$1" != -- ]; do echo "$1" >> LOG; shift; done; shift; exec "$@""#;
    script(fixture.bin.path(), SYSTEMD_RUN, &text.replace("LOG", log.to_str().unwrap()));
    script(fixture.bin.path(), SYSTEMCTL, &format!("echo \"$*\" >> {}", log.display()));
    let host = Host::start().unwrap();
    let scopes = fixture.scopes(Programs::new(host.clone()), true);
    let placed = scopes.place(&id(), fixture.sh("echo '$HOME  x' \"$DBUS_SESSION_BUS_ADDRESS\"; exit 7")).await;
    assert_eq!(placed.placement, scope());
    let ended = spawn(&host, placed.spec).await.unwrap().wait().await;
    assert_eq!(ended.status, Status::Exited(7));
    let printed = ended.output().parts().head.into_owned();
    let address = format!("unix:path={}/bus", fixture.runtime_dir.path().display());
    assert_eq!(String::from_utf8(printed).unwrap(), format!("$HOME  x {address}\n"));

    scopes.stop(&Unit::of(&id()), &fixture.environment()).await.unwrap();
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("\nhermes-probe-proc_010203040506.scope\n"), "{log}");
    assert!(log.ends_with("--user stop hermes-process-proc_010203040506.scope\n"), "{log}");
}

#[tokio::test]
async fn programs_that_fail_hang_or_are_missing_give_the_answer_that_says_so() {
    let fixture = Fixture::new([]);
    script(fixture.bin.path(), "fails", "echo 'Unit not loaded' >&2; exit 5");
    script(fixture.bin.path(), "hangs", "trap '' TERM; exec /bin/sleep 300");
    let programs = Programs::new(Host::start().unwrap());
    let call = |name: &str, limit| {
        let (program, environment) = (fixture.bin.path().join(name), fixture.environment());
        programs.run(Call { program, args: vec![], environment, limit })
    };
    let generous = Duration::from_secs(60);
    let answer = call("fails", generous).await;
    assert!(matches!(&answer, Answer::Ended(5, printed) if printed.says("not loaded") && !printed.says("found")));
    assert!(matches!(call("hangs", Duration::from_millis(50)).await, Answer::TimedOut));
    assert!(matches!(call("missing", generous).await, Answer::Lost(why) if why.contains("missing")));
}
