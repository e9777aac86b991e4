//! Commands on a terminal: what they see of it, what is typed, and that nothing of it is left behind.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_model::status::Status;
use hermes_process::running::handle::{Ended, Process};
use hermes_process::running::input::{ResizeError, SEND_TIME, SendError};
use hermes_process::spawn::spawn;
use hermes_process::spec::{CommandSpec, Live, PtySize, Stdin};
use support::{DEADLINE, carriers, exec, host, is_alive, rest, sh, start, wait_until};

fn on_terminal(mut spec: CommandSpec) -> CommandSpec {
    spec.pty = Some(PtySize::default());
    spec
}

fn text(ended: &Ended) -> String {
    let output = ended.output();
    let parts = output.parts();
    assert!(parts.gap.is_none());
    String::from_utf8(parts.head.into_owned()).unwrap()
}

fn so_far(process: &Process) -> String {
    String::from_utf8_lossy(&process.captured().parts().head).into_owned()
}

async fn run(spec: CommandSpec) -> (Arc<Ended>, String) {
    let ended = start(on_terminal(spec)).await.wait().await;
    let text = text(&ended);
    (ended, text)
}

/// Waits until the output holds this.
async fn printed(process: &Process, what: &str) {
    wait_until(what, || so_far(process).contains(what)).await;
}

#[tokio::test]
async fn it_has_a_terminal_of_the_default_size_with_whole_characters_and_sensible_defaults() {
    let mut spec = sh(
        "tty; stty size; stty -a | grep -o -- '.iutf8\\|.echo\\b'; echo $TERM $PAGER; tty <&2; test -t 1 && echo out",
    );
    spec.environment.set("TERM", "dumb").unset("PAGER");
    let (ended, text) = run(spec).await;
    assert_eq!(ended.status, Status::Exited(0));
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("/dev/pts/"), "{text}");
    assert_eq!(lines[1..5], ["30 120", " iutf8", " echo", "xterm-256color cat"]);
    assert_eq!(lines[5..], [lines[0], "out"]);
}

#[tokio::test]
async fn it_leads_a_session_whose_own_terminal_it_is_and_runs_in_its_foreground() {
    let script = "import os\nt=os.open(os.ctermid(), os.O_RDWR)\nprint(os.tcgetpgrp(t)==os.getpgrp()==os.getpid()==os.getsid(0)==os.tcgetpgrp(0))";
    let (ended, text) = run(exec(&["python3", "-c", script])).await;
    assert_eq!((ended.status.clone(), text.as_str()), (Status::Exited(0), "True\r\n"));
}

#[tokio::test]
async fn a_resize_is_seen_and_told() {
    let mut spec = on_terminal(sh("trap 'stty size; exit 7' WINCH; echo ready; while :; do sleep 0.01; done"));
    spec.pty = Some(PtySize { rows: 5, cols: 66 });
    let process = start(spec).await;
    printed(&process, "ready").await;
    process.resize(PtySize { rows: 40, cols: 100 }).unwrap();
    let ended = process.wait().await;
    assert_eq!((ended.status.clone(), text(&ended).as_str()), (Status::Exited(7), "ready\r\n40 100\r\n"));
    assert_eq!(process.resize(PtySize::default()), Err(ResizeError::Ended));
    let other = start(exec(&["true"])).await;
    assert_eq!(other.resize(PtySize::default()), Err(ResizeError::NoTerminal));
}

#[tokio::test]
async fn ctrl_c_reaches_the_foreground_group() {
    let process = start(on_terminal(sh("trap 'echo shell' INT; echo ready; sleep 300; echo after"))).await;
    printed(&process, "ready").await;
    // The shell may print before its child is there; then the key reaches the shell alone, and another one both.
    let start = Instant::now();
    while !so_far(&process).contains("after") {
        assert!(start.elapsed() < DEADLINE);
        match process.send(b"\x03").await {
            Ok(1) | Err(SendError::Ended | SendError::Closed) => {}
            other => panic!("{other:?}"),
        }
        let seen = process.captured().seen();
        wait_until("something came of it", || process.captured().seen() > seen || so_far(&process).contains("after"))
            .await;
    }
    let ended = process.wait().await;
    assert_eq!(ended.status, Status::Exited(0));
    assert!(text(&ended).contains("shell\r\n"), "{}", text(&ended));
}

#[tokio::test]
async fn a_program_that_asks_its_terminal_gets_an_answer_at_once() {
    let start = Instant::now();
    let (ended, text) = run(exec(&[
        "bash",
        "-c",
        "stty -echo; printf 'a\\033[6nb'; IFS= read -rs -d R x </dev/tty; echo \"got ${x:1}\"",
    ]))
    .await;
    assert_eq!((ended.status.clone(), text.as_str()), (Status::Exited(0), "abgot [1;1\r\n"));
    let (_, text) = run(exec(&["bash", "-c", "stty -echo rows 7 cols 8; printf '\\033[18t\\033[c'; IFS= read -rs -d c x </dev/tty; echo \"${x//[^a-z0-9;]/.}\""])).await;
    assert_eq!(text, "..8;7;8t..?1;2\r\n".replace('?', "."));
    assert!(start.elapsed() < DEADLINE);
}

#[tokio::test]
async fn a_program_that_asks_and_never_reads_neither_stalls_nor_loses_its_output() {
    let (ended, text) =
        run(exec(&["bash", "-c", "stty raw -echo; for i in {1..3000}; do printf '\\033[6nx'; done"])).await;
    assert_eq!(ended.status, Status::Exited(0));
    assert_eq!(text, "x".repeat(3000));
}

#[tokio::test]
async fn the_beginning_of_a_query_at_the_very_end_is_text() {
    let (_, text) = run(exec(&["printf", "\\033[31mred\\033[6"])).await;
    assert_eq!(text, "\x1b[31mred\x1b[6");
}

#[tokio::test]
async fn what_is_typed_is_read_and_the_end_of_file_ends_it() {
    let process = start(on_terminal(sh("stty -echo; echo ready; cat; echo over"))).await;
    printed(&process, "ready").await;
    assert_eq!(process.send("grüß\n".as_bytes()).await, Ok(7));
    printed(&process, "grüß").await;
    process.send_eof().await.unwrap();
    let ended = process.wait().await;
    assert_eq!((ended.status.clone(), text(&ended).as_str()), (Status::Exited(0), "ready\r\ngrüß\r\nover\r\n"));
    assert_eq!(process.send(b"x").await, Err(SendError::Ended));
}

#[tokio::test]
async fn the_end_of_file_is_the_character_the_terminal_has_for_it() {
    let process = start(on_terminal(sh("stty eof ^X -echo; echo ready; cat; echo over"))).await;
    printed(&process, "ready").await;
    process.send_eof().await.unwrap();
    assert_eq!(text(&*process.wait().await), "ready\r\nover\r\n");
}

#[tokio::test]
async fn closing_types_nothing_and_the_terminal_stays() {
    let process =
        start(on_terminal(sh("trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.01; done"))).await;
    printed(&process, "ready").await;
    process.close_stdin().await.unwrap();
    assert_eq!(process.send(b"x").await, Err(SendError::Closed));
    process.resize(PtySize { rows: 9, cols: 8 }).unwrap();
    assert_eq!(text(&*process.wait().await), "ready\r\n9 8\r\n");
}

#[tokio::test]
async fn a_program_that_does_not_read_its_terminal_stalls_nobody_for_long() {
    let process = start(on_terminal(sh("stty raw -echo; echo ready; exec sleep 300"))).await;
    printed(&process, "ready").await;
    let start = Instant::now();
    let sent = process.send(&vec![b'x'; 1 << 20]).await;
    assert!(matches!(sent, Err(SendError::Stalled { written: 1.. })), "{sent:?}");
    assert!(start.elapsed() >= SEND_TIME && start.elapsed() < DEADLINE);
    assert!(process.stop("test").await.is_complete());
}

#[tokio::test]
async fn all_of_a_long_output_arrives_and_a_steady_reader_gets_the_same() {
    let mut spec = on_terminal(sh("stty -opost; exec seq 1 100000"));
    spec.live = Live::Steady;
    let mut process = start(spec).await;
    let all = rest(&mut process.take_live().unwrap()).await;
    let expected: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    assert!(all == expected.as_bytes(), "{} bytes of {}", all.len(), expected.len());
    let ended = process.wait().await;
    assert_eq!((ended.status.clone(), ended.output().seen()), (Status::Exited(0), expected.len() as u64));
}

#[tokio::test]
async fn the_last_words_are_complete_every_time() {
    let host = host();
    let expected = format!("{}\r\n", "x".repeat(6000));
    for _ in 0..30 {
        let process = spawn(&host, on_terminal(sh("head -c 6000 /dev/zero | tr '\\0' x; echo"))).await.unwrap();
        assert_eq!(text(&*process.wait().await), expected);
    }
}

#[tokio::test]
async fn no_child_has_the_master_or_any_other_descriptor() {
    let process = start(on_terminal(exec(&["sleep", "300"]))).await;
    let open = |process: &Process| {
        let list = std::fs::read_dir(format!("/proc/{}/fd", process.pid())).unwrap().flatten();
        let mut open: Vec<_> = list
            .filter_map(|fd| Some((fd.file_name().into_string().ok()?, std::fs::read_link(fd.path()).ok()?)))
            .map(|(number, target)| (number, target.to_string_lossy().into_owned()))
            .collect();
        open.sort_unstable();
        open
    };
    let on_pts = |process: &Process| {
        let open = open(process);
        open.iter().map(|(number, _)| number.as_str()).eq(["0", "1", "2"])
            && open.iter().all(|(_, target)| target.starts_with("/dev/pts/"))
    };
    wait_until("only the three are open", || on_pts(&process)).await;
    // Nor has a command that starts while others run on terminals.
    let other = start(on_terminal(exec(&["sleep", "300"]))).await;
    wait_until("only the three are open", || on_pts(&other)).await;
    assert!(open(&process)[0].1 != open(&other)[0].1);
    for process in [process, other] {
        assert!(process.stop("test").await.is_complete());
    }
}

#[tokio::test]
async fn three_hundred_commands_on_terminals_leave_no_descriptor_and_no_zombie() {
    let host = host();
    let before = support::descriptors();
    let mut kept = Vec::new();
    for _ in 0..30 {
        let mut batch = Vec::new();
        for _ in 0..10 {
            batch.push(spawn(&host, on_terminal(exec(&["true"]))).await.unwrap());
        }
        for process in &batch {
            assert_eq!(process.wait().await.status, Status::Exited(0));
        }
        // Handles of commands that are over hold no descriptor.
        kept.extend(batch);
    }
    wait_until("descriptors are back", || support::descriptors() <= before + 2).await;
    wait_until("no zombie is left", || support::zombies() == 0).await;
}

#[tokio::test]
async fn a_survivor_on_the_terminal_does_not_hold_up_the_end() {
    let process = start(on_terminal(sh("trap '' HUP; (sleep 300; echo x) & echo done"))).await;
    let start = Instant::now();
    let ended = process.wait().await;
    assert!(start.elapsed() < DEADLINE && ended.duration < Duration::from_secs(5));
    assert_eq!((ended.status.clone(), text(&ended).as_str()), (Status::Exited(0), "done\r\n"));
    assert!(!ended.survivors.is_empty());
    let before = support::descriptors();
    assert!(process.end_survivors().await.is_complete());
    wait_until("the master is closed", || support::descriptors() < before).await;
}

#[tokio::test]
async fn a_command_that_closes_its_terminal_and_works_on_is_not_over() {
    // It leaves the terminal, comes back to it, and would be killed by the closing of the master.
    let (ended, text) = run(sh("echo before; exec <&- >&- 2>&-; sleep 0.5; exec >/dev/tty; echo after; exit 3")).await;
    assert_eq!((ended.status.clone(), text.as_str()), (Status::Exited(3), "before\r\nafter\r\n"));
}

#[tokio::test]
async fn a_stop_ends_everybody_on_the_terminal() {
    let process = start(on_terminal(sh("trap '' HUP; sleep 300 & sleep 300 & echo ready; wait"))).await;
    printed(&process, "ready").await;
    assert!(process.stop("test").await.is_complete());
    assert_eq!(process.wait().await.status, Status::Stopped("test".into()));
    assert!(!is_alive(process.pid()));
    let marker = format!("{}={}", hermes_process::environment::PROCESS_MARKER, process.id());
    assert!(carriers(&marker).is_empty());
}

#[tokio::test]
async fn a_terminal_takes_the_place_of_every_other_input() {
    for stdin in [Stdin::Null, Stdin::Inherit, Stdin::Pipe] {
        let mut spec = sh("tty");
        spec.stdin = stdin;
        let (_, text) = run(spec).await;
        assert!(text.starts_with("/dev/pts/"), "{text}");
    }
}
