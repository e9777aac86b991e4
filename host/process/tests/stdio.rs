//! That a program spoken to over three pipes is heard on each of them, and that its end is the end of its whole tree.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use hermes_process::environment::{Environment, HOST_MARKER, PROCESS_MARKER};
use hermes_process::spawn::SpawnError;
use hermes_process::stdio::{self, Exit, Ladder, StdioChild, StdioSpec, Streams};
use support::{carriers, host, is_alive, numbers, wait_until};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe::Receiver;

/// Nobody who may end by itself is killed under it.
const PATIENT: Ladder = Ladder { after_input: Duration::from_secs(20), after_term: Duration::from_secs(20) };

/// Enough for a step that is expected to be of no use.
const SHORT: Duration = Duration::from_millis(150);

/// Well below the patience above.
const AT_ONCE: Duration = Duration::from_secs(10);

async fn start(program: &str, args: &[&str]) -> (StdioChild, Streams) {
    let mut environment = Environment::inherit();
    environment.set("A_VALUE", "of its own");
    let args = args.iter().map(Into::into).collect();
    let spec = StdioSpec { program: program.into(), args, environment, cwd: None };
    stdio::start(&host(), spec).await.unwrap()
}

async fn sh(text: &str) -> (StdioChild, Streams) {
    start("/bin/sh", &["-c", text]).await
}

/// The next line it prints: it has come so far.
async fn line(output: &mut Receiver) -> String {
    let mut line = String::new();
    BufReader::with_capacity(1, output).read_line(&mut line).await.unwrap();
    line.trim().to_owned()
}

fn all_of(child: &StdioChild) -> Vec<i32> {
    carriers(&format!("{PROCESS_MARKER}={}", child.id()))
}

#[tokio::test]
async fn three_pipes_carry_three_things() {
    let (child, mut streams) = sh("cat; echo \"$A_VALUE\" >&2").await;
    streams.input.write_all(b"hello\n").await.unwrap();
    assert_eq!(line(&mut streams.output).await, "hello");
    drop(streams.input);
    let (mut output, mut errors) = (String::new(), String::new());
    streams.output.read_to_string(&mut output).await.unwrap();
    streams.errors.read_to_string(&mut errors).await.unwrap();
    assert_eq!((output.as_str(), errors.as_str()), ("", "of its own\n"));
    assert_eq!(child.exited().await, Exit::Code(0));
    assert!(child.end(PATIENT).await.is_complete());
}

#[tokio::test]
async fn it_carries_the_markers_and_leads_a_session_of_its_own() {
    let program = "import os; print(os.environ['HERMES_HOST'], os.environ['HERMES_PROCESS'], os.getsid(0) == os.getpid(), os.getpid(), flush=True)";
    let (child, mut streams) = start("python3", &["-c", program]).await;
    let told = line(&mut streams.output).await;
    let told: Vec<&str> = told.split(' ').collect();
    assert_eq!(told[1..], [child.id().as_str(), "True", &child.pid().to_string()]);
    assert_eq!(told[0].len(), 32, "{HOST_MARKER}");
}

#[tokio::test]
async fn its_exit_is_told_as_often_as_it_is_asked_for_and_to_everybody() {
    let (child, mut streams) = sh("read line; exit 7").await;
    let ask = async {
        streams.input.write_all(b"go\n").await.unwrap();
    };
    let (one, other, ()) = tokio::join!(child.exited(), child.exited(), ask);
    assert_eq!((one, other, child.exited().await), (Exit::Code(7), Exit::Code(7), Exit::Code(7)));
    let (child, _streams) = sh("kill -9 $$").await;
    assert_eq!(child.exited().await, Exit::Signal(9));
}

#[tokio::test]
async fn who_obeys_the_end_of_its_input_gets_no_signal() {
    let (child, mut streams) = sh("trap 'echo termed' TERM; echo ready; cat; echo ended").await;
    assert_eq!(line(&mut streams.output).await, "ready");
    drop(streams.input);
    let begun = Instant::now();
    assert!(child.end(PATIENT).await.is_complete());
    assert!(begun.elapsed() < AT_ONCE);
    let mut rest = String::new();
    streams.output.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "ended\n");
}

#[tokio::test]
async fn who_does_not_read_its_input_gets_sigterm_and_time_for_its_last_words() {
    let (child, mut streams) = sh("trap 'echo termed; exit 0' TERM; echo ready; while :; do sleep 0.01; done").await;
    assert_eq!(line(&mut streams.output).await, "ready");
    drop(streams.input);
    assert!(child.end(Ladder { after_input: SHORT, ..PATIENT }).await.is_complete());
    assert_eq!(line(&mut streams.output).await, "termed");
}

#[tokio::test]
async fn who_ignores_sigterm_is_killed() {
    let (child, mut streams) = sh("trap '' TERM; echo ready; while :; do sleep 60; done").await;
    assert_eq!(line(&mut streams.output).await, "ready");
    drop(streams.input);
    let (members, begun) = (all_of(&child), Instant::now());
    assert!(!members.is_empty());
    assert!(child.end(Ladder { after_input: SHORT, after_term: SHORT }).await.is_complete());
    assert!(begun.elapsed() < AT_ONCE);
    for pid in members {
        assert!(!is_alive(pid), "{pid} lives");
    }
}

#[tokio::test]
async fn a_server_that_its_wrapper_leaves_behind_is_ended_too() {
    // The second one has a session of its own, and both hold the pipes.
    for text in ["sleep 300 & echo $!", "setsid sh -c 'echo $$; exec sleep 300' &"] {
        let (child, mut streams) = sh(text).await;
        let server: i32 = line(&mut streams.output).await.parse().unwrap();
        drop(streams.input);
        assert_eq!(child.exited().await, Exit::Code(0));
        assert!(is_alive(server));
        assert!(child.end(Ladder { after_input: SHORT, ..PATIENT }).await.is_complete());
        assert!(!is_alive(server), "{text}");
    }
}

#[tokio::test]
async fn a_server_behind_a_wrapper_that_waits_may_end_by_itself() {
    let (child, mut streams) = sh("exec 3<&0; (cat <&3; sleep 0.3; echo ended) & echo ready; exit 0").await;
    assert_eq!(line(&mut streams.output).await, "ready");
    drop(streams.input);
    assert!(child.end(PATIENT).await.is_complete());
    assert_eq!(line(&mut streams.output).await, "ended");
}

#[tokio::test]
async fn a_double_fork_that_holds_the_output_ends_with_the_rest() {
    let program = "import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(300)
    os._exit(0)
os.wait()
sys.stdin.read()
";
    let (child, mut streams) = start("python3", &["-c", program]).await;
    let daemon: i32 = line(&mut streams.output).await.parse().unwrap();
    drop(streams.input);
    assert!(child.end(Ladder { after_input: SHORT, ..PATIENT }).await.is_complete());
    assert!(!is_alive(daemon));
    // Nobody holds it any more.
    let mut rest = Vec::new();
    streams.output.read_to_end(&mut rest).await.unwrap();
    assert!(rest.is_empty());
}

#[tokio::test]
async fn a_dropped_child_is_killed_with_its_whole_tree_before_the_drop_returns() {
    let (child, mut streams) = sh("trap '' TERM; (trap '' TERM; exec sleep 300) & echo ready; wait").await;
    assert_eq!(line(&mut streams.output).await, "ready");
    wait_until("both run", || all_of(&child).len() >= 2).await;
    let members = all_of(&child);
    drop(child);
    wait_until("all are gone", || members.iter().all(|pid| !is_alive(*pid))).await;
}

#[tokio::test]
async fn an_end_that_is_given_up_kills_at_once() {
    let (child, mut streams) = sh("trap '' TERM; echo ready; exec sleep 300").await;
    assert_eq!(line(&mut streams.output).await, "ready");
    let pid = child.pid();
    let given_up = tokio::time::timeout(SHORT, child.end(PATIENT)).await;
    assert!(given_up.is_err());
    wait_until("it is gone", || !is_alive(pid)).await;
}

#[tokio::test]
async fn a_flood_of_complaints_does_not_hold_up_the_answers() {
    let program = "import sys
for _ in range(2000):
    sys.stderr.write('x' * 999 + '\\n')
print('answer', flush=True)
sys.stdin.read()
";
    let (child, mut streams) = start("python3", &["-c", program]).await;
    let mut errors = streams.errors;
    let drained = tokio::spawn(async move {
        let mut all = Vec::new();
        errors.read_to_end(&mut all).await.map(|_| all.len())
    });
    let mut answer = String::new();
    BufReader::new(&mut streams.output).read_line(&mut answer).await.unwrap();
    assert_eq!(answer, "answer\n");
    drop(streams.input);
    assert!(child.end(PATIENT).await.is_complete());
    assert_eq!(drained.await.unwrap().unwrap(), 2_000_000);
}

#[tokio::test]
async fn a_program_that_cannot_start_is_named_and_its_arguments_are_not() {
    let spec = |program: &str, cwd: Option<&Path>| StdioSpec {
        program: program.into(),
        args: vec!["--token=hunter2".into()],
        environment: Environment::inherit(),
        cwd: cwd.map(Into::into),
    };
    let refused = |spec| async { stdio::start(&host(), spec).await.err().unwrap() };
    let missing = refused(spec("no-such-program", None)).await;
    assert!(matches!(missing, SpawnError::NotFound { .. }) && missing.exit_code() == 127);
    assert!(!missing.to_string().contains("hunter2"));
    assert_eq!(refused(spec("/etc/passwd", None)).await.exit_code(), 126);
    let nowhere = refused(spec("sh", Some(Path::new("/no/such/folder")))).await;
    assert!(matches!(nowhere, SpawnError::Folder { .. }));
}

#[tokio::test]
async fn it_runs_in_the_folder_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    let spec = StdioSpec {
        program: "sh".into(),
        args: vec!["-c".into(), "echo $$ > pids".into()],
        environment: Environment::inherit(),
        cwd: Some(folder.path().to_owned()),
    };
    let (child, _streams) = stdio::start(&host(), spec).await.unwrap();
    assert_eq!(child.exited().await, Exit::Code(0));
    assert_eq!(numbers(&file), [child.pid()]);
}
