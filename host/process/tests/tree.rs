//! That a command's end is its exit, that survivors are named, and that ending a tree ends all of it.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use hermes_model::status::Status;
use hermes_process::environment::PROCESS_MARKER;
use hermes_process::running::handle::Process;
use hermes_process::spec::Live;
use support::{carriers, exec, is_alive, numbers, rest, sh, start, wait_until};

/// Well below any sleep the commands do, well above what a loaded machine needs.
const AT_ONCE: Duration = Duration::from_secs(20);

fn all_of(process: &Process) -> Vec<i32> {
    carriers(&format!("{PROCESS_MARKER}={}", process.id()))
}

/// Stops it, which must not take as long as its grace.
async fn stop_at_once(process: &Process) {
    let verdict = tokio::time::timeout(AT_ONCE, process.stop("test")).await;
    assert!(verdict.unwrap().is_complete());
}

/// A folder and the command text with `$PIDS` set to a file in it.
fn with_pids(text: &str) -> (tempfile::TempDir, std::path::PathBuf, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    let text = format!("PIDS={}; export PIDS; {text}", file.display());
    (folder, file, text)
}

async fn wait_for_pids(file: &Path, count: usize) -> Vec<i32> {
    wait_until("the children have started", || numbers(file).len() >= count).await;
    numbers(file)
}

async fn expect_gone(pids: &[i32]) {
    for &pid in pids {
        assert!(!is_alive(pid), "{pid} lives");
    }
}

#[tokio::test]
async fn a_background_child_delays_nothing_and_is_named() {
    for text in ["sleep 300 & echo done", "sleep 300 >/dev/null 2>&1 & echo done", "setsid sleep 300 & echo done"] {
        let begun = Instant::now();
        let process = start(sh(text)).await;
        let ended = process.wait().await;
        assert!(begun.elapsed() < AT_ONCE);
        assert_eq!(ended.status, Status::Exited(0), "{text}");
        assert_eq!(ended.output().seen(), 5);
        assert_eq!(ended.survivors.len(), 1, "{text}");
        let survivor = ended.survivors[0].pid();
        assert!(is_alive(survivor));
        assert!(ended.survivors[0].command().seen() > 0);
        assert!(process.end_survivors().await.is_complete());
        assert!(!is_alive(survivor));
        // The end that was announced stays as it was.
        assert_eq!(process.wait().await.status, Status::Exited(0));
    }
}

#[tokio::test]
async fn a_survivor_that_prints_is_neither_blocked_nor_killed_by_sigpipe() {
    let (_folder, file, text) = with_pids(
        "(i=0; while [ $i -lt 40 ]; do head -c 9000 /dev/zero; i=$((i+1)); done; sleep 0.5; echo x && echo 1 >>$PIDS) & echo done",
    );
    let process = start(sh(&text)).await;
    assert_eq!(process.wait().await.status, Status::Exited(0));
    wait_for_pids(&file, 1).await;
}

#[tokio::test]
async fn a_live_view_ends_with_the_command_though_a_survivor_holds_the_pipe() {
    let mut spec = sh("sleep 300 & echo done");
    spec.live = Live::Steady;
    let mut process = start(spec).await;
    let mut live = process.take_live().unwrap();
    assert_eq!(rest(&mut live).await, b"done\n");
    assert_eq!(process.wait().await.survivors.len(), 1);
    assert!(process.end_survivors().await.is_complete());
}

#[tokio::test]
async fn a_reader_that_never_reads_does_not_block_a_survivor() {
    let (_folder, file, text) = with_pids("(head -c 5000000 /dev/zero; echo 1 >>$PIDS) & echo done");
    let mut spec = sh(&text);
    spec.live = Live::Steady;
    let mut process = start(spec).await;
    let _unread = process.take_live().unwrap();
    assert_eq!(process.wait().await.status, Status::Exited(0));
    wait_for_pids(&file, 1).await;
}

#[tokio::test]
async fn a_chatty_survivor_does_not_hold_up_the_end() {
    let process = start(sh("yes & echo done")).await;
    let ended = process.wait().await;
    assert_eq!(ended.status, Status::Exited(0));
    assert!(ended.duration < AT_ONCE);
    assert!(process.end_survivors().await.is_complete());
}

#[tokio::test]
async fn what_children_print_right_after_the_exit_still_counts() {
    let process = start(sh("(sleep 0.03; echo late) & echo early")).await;
    assert_eq!(process.wait().await.output().seen(), 11);
}

#[tokio::test]
async fn a_time_out_ends_the_whole_tree_even_if_its_leader_then_exits_zero() {
    let (_folder, file, text) =
        with_pids("trap 'exit 0' TERM; sleep 300 & echo $! >>$PIDS; sleep 300 & echo $! >>$PIDS; wait");
    let mut spec = sh(&text);
    spec.timeout = Some(Duration::from_millis(300));
    let process = start(spec).await;
    let ended = process.wait().await;
    assert_eq!(ended.status, Status::TimedOut);
    assert!(ended.survivors.is_empty());
    assert!(ended.duration < AT_ONCE);
    expect_gone(&wait_for_pids(&file, 2).await).await;
    assert!(all_of(&process).is_empty());
}

#[tokio::test]
async fn a_tree_that_ignores_sigterm_is_killed_after_the_grace() {
    let (_folder, file, text) = with_pids(
        "trap '' TERM; (while :; do sleep 1; done) & echo $! >>$PIDS; echo $$ >>$PIDS; while :; do sleep 1; done",
    );
    let mut spec = sh(&text);
    spec.term_grace = Duration::from_millis(200);
    let process = start(spec).await;
    let pids = wait_for_pids(&file, 2).await;
    let verdict = process.stop("ctrl-c").await;
    assert!(verdict.is_complete());
    expect_gone(&pids).await;
    let ended = process.wait().await;
    assert_eq!(ended.status, Status::Stopped("ctrl-c".to_owned()));
    assert_eq!(ended.status.exit_code(), Some(130));
}

#[tokio::test]
async fn a_tree_that_obeys_sigterm_does_not_wait_for_the_grace() {
    let mut spec = sh("sleep 300 & sleep 300");
    spec.term_grace = Duration::from_secs(600);
    let process = start(spec).await;
    stop_at_once(&process).await;
}

#[tokio::test]
async fn a_second_stop_cuts_the_grace_short() {
    let (_folder, file, text) = with_pids("trap '' TERM; echo $$ >>$PIDS; while :; do sleep 1; done");
    let mut spec = sh(&text);
    spec.term_grace = Duration::from_secs(600);
    let process = start(spec).await;
    wait_for_pids(&file, 1).await;
    let both = async { tokio::join!(process.stop("one"), process.stop("two")) };
    let (first, second) = tokio::time::timeout(AT_ONCE, both).await.unwrap();
    assert!(first.is_complete() && second.is_complete());
    assert_eq!(process.wait().await.status, Status::Stopped("one".to_owned()));
}

#[tokio::test]
async fn escapees_by_new_session_and_by_double_fork_are_found_by_their_marker() {
    let (_folder, file, text) = with_pids(
        "setsid sh -c 'echo $$ >>$PIDS; exec sleep 300' & ( ( setsid sh -c 'echo $$ >>$PIDS; exec sleep 300' & ) & ); sleep 300",
    );
    let process = start(sh(&text)).await;
    let pids = wait_for_pids(&file, 2).await;
    assert!(process.stop("test").await.is_complete());
    expect_gone(&pids).await;
    assert!(all_of(&process).is_empty());
}

#[tokio::test]
async fn a_child_that_was_stopped_dies_too() {
    // In a session of its own, or the kernel would continue it when its parent dies.
    let (_folder, file, text) = with_pids("setsid sh -c 'echo $$ >>$PIDS; kill -STOP $$; sleep 300' & sleep 300");
    let mut spec = sh(&text);
    spec.term_grace = Duration::from_secs(600);
    let process = start(spec).await;
    let pids = wait_for_pids(&file, 1).await;
    let state = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    wait_until("the child is stopped", || state(pids[0]).contains(") T ")).await;
    // It is continued to act on SIGTERM: nobody waits for the grace.
    stop_at_once(&process).await;
    expect_gone(&pids).await;
}

#[tokio::test]
async fn a_tree_that_keeps_forking_and_ignores_sigterm_is_gone_after_the_kill() {
    // Bounded by its own clock: a failed kill must not take the machine down.
    let text = "trap '' TERM; end=$(($(date +%s)+60)); f() { while [ $(date +%s) -lt $end ]; do (sleep 0.2) & sleep 0.01; done; }; f & f & setsid sh -c 'trap \"\" TERM; i=0; while [ $i -lt 3000 ]; do (sleep 0.2) & sleep 0.01; i=$((i+1)); done' & f";
    let mut spec = sh(text);
    spec.term_grace = Duration::from_millis(200);
    let process = start(spec).await;
    wait_until("it has forked", || all_of(&process).len() > 8).await;
    let verdict = process.stop("test").await;
    assert!(verdict.is_complete(), "{} left", verdict.survivors.len());
    assert!(all_of(&process).is_empty());
}

#[tokio::test]
async fn a_chain_that_forks_and_exits_without_pause_is_gone_after_the_kill() {
    // Each link lives for a moment only, in a session of its own: none is ever still there when it is signalled.
    let chain = "import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.setsid()
end = time.time() + 60
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while time.time() < end:
    if os.fork():
        os._exit(0)
    os.write(out, b'x')
";
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let length = || std::fs::metadata(&trace).map_or(0, |found| found.len());
    let mut spec = exec(&["sh", "-c", "python3 -c \"$0\" \"$1\" & sleep 300", chain, trace.to_str().unwrap()]);
    spec.term_grace = Duration::from_millis(50);
    let process = start(spec).await;
    wait_until("the chain runs", || length() > 100).await;
    let verdict = process.stop("test").await;
    let after = length();
    assert!(verdict.is_complete(), "{} named", verdict.survivors.len());
    // A link takes a millisecond, this command a good deal more.
    start(sh("sleep 0.3")).await.wait().await;
    assert_eq!(length(), after, "it still forks");
}

#[tokio::test]
async fn dropping_the_last_handle_ends_a_running_tree() {
    let (_folder, file, text) = with_pids("sleep 300 & echo $! >>$PIDS; setsid sleep 300 & echo $! >>$PIDS; wait");
    let process = start(sh(&text)).await;
    let pids = wait_for_pids(&file, 2).await;
    drop(process);
    wait_until("the tree is gone", || pids.iter().all(|&pid| !is_alive(pid))).await;
}

#[test]
fn the_end_of_the_runtime_ends_a_running_tree_and_survivors() {
    for text in ["setsid sleep 300 & echo $! >>$PIDS; sleep 300", "setsid sleep 300 & echo $! >>$PIDS; trap '' TERM"] {
        let (_folder, file, text) = with_pids(text);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (process, pids) = runtime.block_on(async {
            let process = start(sh(&text)).await;
            let pids = wait_for_pids(&file, 1).await;
            if text.ends_with("TERM") {
                assert_eq!(process.wait().await.survivors.len(), 1);
            }
            (process, pids)
        });
        assert!(is_alive(pids[0]));
        drop(runtime);
        let waiting = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        waiting.block_on(wait_until("the tree is gone", || !is_alive(pids[0]) && !is_alive(process.pid())));
        if !text.ends_with("TERM") {
            assert!(matches!(waiting.block_on(process.wait()).status, Status::Lost(_)));
        }
    }
}

#[tokio::test]
async fn a_spawn_that_is_given_up_leaves_nothing_behind() {
    let marker = format!("GIVEN_UP=test-{}", std::process::id());
    let (name, value) = marker.split_once('=').unwrap();
    let host = support::host();
    for _ in 0..20 {
        let mut spec = sh("sleep 300");
        spec.environment.set(name, value);
        let begun = hermes_process::spawn::spawn(&host, spec);
        // Polled once, then dropped: the child may be started by now, or soon.
        tokio::select! { biased; _ = begun => {}, () = std::future::ready(()) => {} }
    }
    // Wait for the last of them to have had its turn, then nothing may be left.
    start(exec(&["true"])).await.wait().await;
    wait_until("none of them lives", || carriers(&marker).is_empty()).await;
}

#[tokio::test]
async fn another_command_of_the_same_host_is_left_alone() {
    let (one, other) = (start(sh("sleep 300 & sleep 300")).await, start(sh("sleep 300 & sleep 300")).await);
    wait_until("both run", || all_of(&other).len() == 3 && all_of(&one).len() == 3).await;
    assert!(one.stop("test").await.is_complete());
    assert_eq!(all_of(&other).len(), 3);
    assert!(other.stop("test").await.is_complete());
}

#[tokio::test]
async fn survivors_that_end_by_themselves_let_everything_go() {
    let process = start(sh("sleep 0.4 & setsid sleep 0.5 & echo done")).await;
    let ended = process.wait().await;
    assert_eq!(ended.survivors.len(), 2);
    let stat = format!("/proc/{}/stat", process.pid());
    // The leader stays a zombie while its number is needed, and is collected then.
    wait_until("the leader is collected", || !Path::new(&stat).exists()).await;
    for survivor in &ended.survivors {
        let stat = format!("/proc/{}/stat", survivor.pid());
        wait_until("the orphan is collected", || !Path::new(&stat).exists()).await;
    }
    assert!(process.stop("late").await.is_complete());
}

#[tokio::test]
async fn a_decoy_that_only_looks_alike_survives() {
    // Same program, same arguments, not ours; and one that carries a marker which only begins like ours.
    let process = start(sh("sleep 297 & sleep 297")).await;
    let marker = format!("{}x", process.id());
    let mut decoy = std::process::Command::new("sleep").arg("297").env(PROCESS_MARKER, marker).spawn().unwrap();
    wait_until("it runs", || all_of(&process).len() == 3).await;
    assert!(process.stop("test").await.is_complete());
    assert!(is_alive(i32::try_from(decoy.id()).unwrap()));
    decoy.kill().unwrap();
    // And its status is still there for whoever started it.
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&decoy.wait().unwrap()), Some(9));
}
