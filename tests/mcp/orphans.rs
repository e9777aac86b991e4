//! A host goes, in whatever way, and nobody is left of its servers.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use hermes_tests::home::hermes;
use hermes_tests::hosted::{runs, signal, throughout, until_gone};
use hermes_tests::leavings;
use hermes_tests::mcp::{Client, Manners};
use hermes_tests::rude::Rude;
use hermes_tests::wait::{self, PATIENCE};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::json;

use crate::served::{Entry, Served};

/// Twenty servers: those that end with their input, and those that have to be made to.
const MIXED: [(&str, &[&str]); 20] = [
    ("ok0", &["ok"]),
    ("ok1", &["ok"]),
    ("ok2", &["ok"]),
    ("ok3", &["ok"]),
    ("ok4", &["ok"]),
    ("ok5", &["ok"]),
    ("busy", &["busy"]),
    ("deaf", &["deaf"]),
    ("stubborn", &["stubborn"]),
    ("launcher", &["launcher", "ok"]),
    ("shell", &["under-shell", "deaf"]),
    ("shellstubborn", &["under-shell", "stubborn"]),
    ("session", &["under-shell", "in-session", "deaf"]),
    ("forked", &["twice-forked", "stubborn"]),
    ("daemon", &["daemon"]),
    ("fifty", &["fifty"]),
    ("heirs", &["heirs"]),
    ("slow", &["slow"]),
    ("slowstubborn", &["under-shell", "in-session", "slow"]),
    ("queued", &["launcher", "slow"]),
];
/// What the supervisor may take for those who do not listen: three seconds, and what a busy machine adds.
const REAPED: Duration = Duration::from_secs(30);
/// How often a host with polite servers is killed to measure.
const ROUNDS: usize = 9;
/// What one such round may take on a busy machine; the figure itself is printed.
const POLITE_MAX: Duration = Duration::from_secs(2);

fn mixed() -> Served {
    let entries: Vec<Entry<'_>> = MIXED.iter().map(|(name, words)| (*name, *words, "")).collect();
    Served::with(&entries)
}

/// Waits until every one of them was started, and those that greet have greeted.
fn until_all_run(served: &Served, client: &Client) {
    for (name, _) in MIXED {
        served.rude.until_started(name);
    }
    client.until_tools(&["ok0__echo", "stubborn__echo", "forked__echo", "fifty__echo", "heirs__echo", "session__echo"]);
    assert!(served.rude.running().len() > 70, "{}", served.rude.running().len());
}

/// Nobody of a test's servers runs, nor anything else that names its folder.
fn nobody(served: &Served, what: &str) {
    let began = Instant::now();
    served.rude.until_gone(what);
    assert!(began.elapsed() < REAPED, "{what}: {:?}", began.elapsed());
    wait::until(&format!("{what}: everybody to end"), PATIENCE, || {
        leavings::of(served.home.everything()).is_empty().then_some(())
    });
    assert_eq!(served.rude.running(), Vec::<i32>::new(), "{what}");
}

fn supervisor_of(host: i32) -> Option<i32> {
    let is_one = |pid: &i32| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        leavings::parent(*pid) == Some(host) && String::from_utf8_lossy(&arguments).contains("supervis")
    };
    leavings::all().into_iter().filter(|pid| runs(*pid)).find(is_one)
}

#[test]
fn a_host_that_is_killed_leaves_nobody_of_twenty() {
    let served = mixed();
    let client = served.client();
    until_all_run(&served, &client);
    signal(client.pid(), Signal::SIGKILL);
    nobody(&served, "the host killed");
}

#[test]
fn a_host_that_is_killed_while_everybody_starts_leaves_nobody() {
    for wanted in [1, 3, 6, 12] {
        let served = mixed();
        let client = Client::raw(served.command(), Manners::default());
        wait::until("some of them", PATIENCE, || (served.rude.running().len() >= wanted).then_some(()));
        signal(client.pid(), Signal::SIGKILL);
        until_gone(&[client.pid()]);
        nobody(&served, &format!("killed when {wanted} ran"));
    }
}

#[test]
fn a_group_that_is_killed_with_its_host_leaves_nobody() {
    let served = mixed();
    let mut command = served.command();
    command.process_group(0);
    let client = Client::start(command);
    until_all_run(&served, &client);
    killpg(Pid::from_raw(client.pid()), Signal::SIGKILL).unwrap();
    nobody(&served, "the group killed");
}

#[test]
fn a_supervisor_that_is_killed_is_replaced_and_its_host_leaves_nobody() {
    let served = mixed();
    let client = served.client();
    until_all_run(&served, &client);
    let first = supervisor_of(client.pid()).expect("a supervisor");
    signal(first, Signal::SIGKILL);
    wait::until("another supervisor", PATIENCE, || supervisor_of(client.pid()).filter(|pid| *pid != first));
    assert_eq!(client.say("ok0__echo", &json!({"text": "x"})), "x", "the host serves on");
    signal(client.pid(), Signal::SIGKILL);
    nobody(&served, "first the supervisor, then the host");
}

#[test]
fn what_outlives_supervisor_and_host_is_ended_by_the_next_host() {
    let served = Served::with(&[("stubborn", &["under-shell", "stubborn"], ""), ("deaf", &["deaf"], "")]);
    let client = served.client();
    client.until_tools(&["stubborn__echo", "deaf__echo"]);
    let before = served.rude.running();
    let supervisor = supervisor_of(client.pid()).expect("a supervisor");
    // The host first is stopped, so that it starts no other.
    signal(client.pid(), Signal::SIGSTOP);
    signal(supervisor, Signal::SIGKILL);
    signal(client.pid(), Signal::SIGKILL);
    until_gone(&[client.pid()]);
    drop(client);
    assert_eq!(before.iter().filter(|pid| runs(**pid)).count(), before.len(), "somebody else ended them");
    let next = served.client();
    next.until_tools(&["stubborn__echo", "deaf__echo"]);
    until_gone(&before);
    assert_eq!(next.say("deaf__echo", &json!({"text": "x"})), "x");
    crate::served::end(&served, &next);
}

#[test]
fn the_end_of_a_client_and_each_signal_leave_nobody() {
    let entries: &[Entry<'_>] = &[
        ("ok", &["ok"], ""),
        ("stubborn", &["under-shell", "stubborn"], ""),
        ("forked", &["twice-forked", "ok"], ""),
        ("daemon", &["daemon"], ""),
        ("heirs", &["heirs"], ""),
        ("slow", &["launcher", "slow"], ""),
    ];
    for how in [None, Some(Signal::SIGTERM), Some(Signal::SIGHUP), Some(Signal::SIGINT)] {
        let served = Served::with(entries);
        let client = served.client();
        client.until_tools(&["ok__echo", "stubborn__echo", "forked__echo", "daemon__echo", "heirs__echo"]);
        served.rude.until_started("slow");
        match how {
            None => client.close(),
            Some(how) => signal(client.pid(), how),
        }
        assert_eq!(client.ended().code(), Some(0), "{how:?}: {}", client.errors());
        assert_eq!(served.rude.running(), Vec::<i32>::new(), "{how:?}");
        nobody(&served, &format!("{how:?}"));
    }
}

#[test]
fn an_end_while_everybody_starts_leaves_nobody() {
    for wanted in [1, 4, 10] {
        let served = mixed();
        let client = Client::raw(served.command(), Manners::default());
        wait::until("some of them", PATIENCE, || (served.rude.running().len() >= wanted).then_some(()));
        client.close();
        client.ended();
        nobody(&served, &format!("closed when {wanted} ran"));
    }
}

#[test]
fn processes_of_an_agent_end_with_their_host_as_servers_do() {
    let served = Served::with(&[("ok", &["ok"], "")]);
    let client = served.client();
    let text = "trap '' TERM; (setsid sleep 1000 &); sleep 1000";
    let started = client.call("terminal", &json!({"command": text, "background": true}));
    assert_eq!(started["structuredContent"]["status"]["kind"], "running", "{started}");
    wait::until("its children", PATIENCE, || (leavings::of(served.home.everything()).len() >= 4).then_some(()));
    signal(client.pid(), Signal::SIGKILL);
    nobody(&served, "a host with a command and a server");
}

#[test]
fn polite_servers_are_gone_at_once() {
    let entries: Vec<Entry<'_>> = MIXED[..6].iter().map(|(name, words)| (*name, *words, "")).collect();
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let served = Served::with(&entries);
        let client = served.client();
        client.until_tools(&["ok0__echo", "ok1__echo", "ok2__echo", "ok3__echo", "ok4__echo", "ok5__echo"]);
        let servers = served.rude.running();
        assert_eq!(servers.len(), 6);
        let killed = Instant::now();
        signal(client.pid(), Signal::SIGKILL);
        while servers.iter().any(|pid| runs(*pid)) {
            assert!(killed.elapsed() < PATIENCE, "{servers:?} live on");
            std::thread::yield_now();
        }
        times.push(killed.elapsed());
    }
    times.sort();
    let median = times[ROUNDS / 2];
    writeln!(
        std::io::stderr(),
        "from the death of a host to that of the last polite server: median {median:?} of {times:?}"
    )
    .unwrap();
    assert!(median < POLITE_MAX, "{times:?}");
}

#[test]
fn one_that_left_the_session_and_has_no_environment_is_the_one_that_escapes() {
    let served = Served::with(&[("escapes", &["escapes"], "")]);
    let client = served.client();
    client.until_tools(&["escapes__echo"]);
    let server = served.rude.pid("escapes").unwrap();
    let escaped: Vec<i32> = served.rude.running().into_iter().filter(|pid| *pid != server).collect();
    assert_eq!(escaped.len(), 1);
    let supervisor = supervisor_of(client.pid()).expect("a supervisor");
    signal(client.pid(), Signal::SIGKILL);
    until_gone(&[server, supervisor]);
    assert!(runs(escaped[0]), "it is found after all: tell it in the documentation");
    signal(escaped[0], Signal::SIGKILL);
    until_gone(&escaped);
}

#[test]
fn nobody_holds_a_supervisor_who_has_nothing_to_protect() {
    let served = Served::with(&[]);
    let client = served.client();
    client.until_tools(&["terminal"]);
    assert_eq!(supervisor_of(client.pid()), None);
    let served = Served::with(&[("idle", &["ok"], "idle_timeout = \"500ms\"")]);
    let client = served.client();
    client.until_tools(&["idle__echo"]);
    let pid = served.rude.until_started("idle");
    assert!(supervisor_of(client.pid()).is_some() || !runs(pid));
    until_gone(&[pid]);
    wait::until("the supervisor to be released", PATIENCE, || supervisor_of(client.pid()).is_none().then_some(()));
    wait::until("no zombie", PATIENCE, || leavings::zombies(client.pid()).is_empty().then_some(()));
}

/// Puts something else in the place of a file, as an upgrade does.
fn replace(path: &Path) {
    let other = path.with_extension("new");
    fs::write(&other, "this is no program").unwrap();
    fs::rename(&other, path).unwrap();
}

#[test]
fn a_host_whose_files_are_replaced_goes_on_to_start_to_end_and_to_protect() {
    let served = Served::with(&[("good", &["ok"], ""), ("stubborn", &["under-shell", "stubborn"], "")]);
    let folder = served.home.work().join("bin");
    fs::create_dir(&folder).unwrap();
    let mut programs = Vec::new();
    for name in ["hermes", "hermes-supervisor"] {
        let from = hermes().with_file_name(name);
        if from.is_file() {
            fs::copy(&from, folder.join(name)).unwrap();
            programs.push(folder.join(name));
        }
    }
    assert_eq!(programs.len(), 2, "both programs are built");
    let like = served.command();
    let mut command = Command::new(&programs[0]);
    command.args(like.get_args()).env_clear().current_dir(served.home.work());
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let client = Client::start(command);
    client.until_tools(&["good__echo", "stubborn__echo"]);
    programs.iter().for_each(|path| replace(path));

    client.say("good__echo", &json!({"text": "proven"}));
    signal(served.rude.pid("good").unwrap(), Signal::SIGKILL);
    wait::until("the server to be started again", PATIENCE, || {
        let said = client.call("good__echo", &json!({"text": "again"}));
        (said["isError"] != true).then_some(())
    });
    let ran = client.call("terminal", &json!({"command": "echo still here"}));
    assert!(ran["structuredContent"]["output"].as_str().unwrap().contains("still here"), "{ran}");
    let first = supervisor_of(client.pid()).expect("a supervisor");
    signal(first, Signal::SIGKILL);
    wait::until("another supervisor", PATIENCE, || supervisor_of(client.pid()).filter(|pid| *pid != first));
    signal(client.pid(), Signal::SIGKILL);
    nobody(&served, "a host whose files were replaced");
}

#[test]
fn the_servers_of_others_are_left_alone() {
    let served = Served::with(&[("good", &["stubborn"], "")]);
    let folder = tempfile::tempdir().unwrap();
    let strangers = Rude::in_folder(folder.path());
    let stranger = Client::start(strangers.command("stranger", &["stubborn"]));
    let (one, two) = (served.client(), served.client());
    for client in [&one, &two] {
        client.until_tools(&["good__echo"]);
    }
    let both = served.rude.running();
    assert_eq!(both.len(), 2, "each host has its own");
    signal(one.pid(), Signal::SIGKILL);
    wait::until("one of them to go", PATIENCE, || (served.rude.running().len() == 1).then_some(()));
    throughout(Duration::from_secs(1), || assert_eq!(served.rude.running().len(), 1));
    assert_eq!(two.say("good__echo", &json!({"text": "x"})), "x");
    assert_eq!(stranger.say("echo", &json!({"text": "x"})), "x");
    crate::served::end(&served, &two);
    assert!(runs(stranger.pid()));
}
