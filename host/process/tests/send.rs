//! What is sent to a command through a pipe: that it arrives, ends, and holds up nobody who sends.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod support;

use std::time::Instant;

use hermes_model::status::Status;
use hermes_process::running::handle::Process;
use hermes_process::running::input::{SEND_TIME, SendError};
use hermes_process::spec::{CommandSpec, Live, Stdin};
use support::{DEADLINE, exec, rest, sh, start, wait_until};

async fn fed(mut spec: CommandSpec) -> Process {
    spec.stdin = Stdin::Pipe;
    spec.live = Live::Steady;
    start(spec).await
}

#[tokio::test]
async fn what_is_sent_arrives_and_closing_ends_it() {
    let mut process = fed(exec(&["cat"])).await;
    let mut live = process.take_live().unwrap();
    assert_eq!(process.send(b"one\n").await, Ok(4));
    assert_eq!(process.send(b"").await, Ok(0));
    assert_eq!(process.send(b"\xfftwo").await, Ok(4));
    process.close_stdin().await.unwrap();
    assert_eq!(process.send(b"late").await, Err(SendError::Closed));
    assert_eq!(rest(&mut live).await, b"one\n\xfftwo");
    assert_eq!(process.wait().await.status, Status::Exited(0));
    for refused in [process.send(b"x").await.map(|_| ()), process.close_stdin().await, process.send_eof().await] {
        assert_eq!(refused, Err(SendError::Ended));
    }
}

#[tokio::test]
async fn the_end_of_a_file_closes_a_pipe_and_may_be_said_twice() {
    let process = fed(exec(&["wc", "-c"])).await;
    assert_eq!(process.send(b"12345").await, Ok(5));
    process.send_eof().await.unwrap();
    process.close_stdin().await.unwrap();
    let ended = process.wait().await;
    assert_eq!((ended.status.clone(), ended.output().parts().head.as_ref()), (Status::Exited(0), b"5\n".as_slice()));
}

#[tokio::test]
async fn a_megabyte_passes_and_what_is_sent_at_the_same_time_is_not_mixed() {
    const LENGTH: usize = 500_000;
    let mut process = fed(exec(&["cat"])).await;
    let mut live = process.take_live().unwrap();
    let (a, b) = (vec![b'a'; LENGTH], vec![b'b'; LENGTH]);
    let (sent_a, sent_b, arrived) = tokio::join!(process.send(&a), process.send(&b), async {
        let mut arrived = Vec::new();
        while arrived.len() < 2 * LENGTH {
            arrived.extend(support::next(&mut live).await.unwrap());
        }
        arrived
    });
    assert_eq!((sent_a, sent_b), (Ok(LENGTH), Ok(LENGTH)));
    assert_eq!(arrived.chunk_by(|a, b| a == b).count(), 2);
    process.close_stdin().await.unwrap();
    assert_eq!(process.wait().await.status, Status::Exited(0));
}

#[tokio::test]
async fn a_command_that_does_not_read_stalls_nobody_for_long_and_the_count_is_told() {
    let process = fed(exec(&["sleep", "300"])).await;
    let start = Instant::now();
    let written = match process.send(&vec![b'x'; 1 << 20]).await {
        Err(SendError::Stalled { written }) => written,
        other => panic!("{other:?}"),
    };
    // What a pipe holds (pipe(7)).
    assert_eq!(written, 64 << 10);
    assert!(start.elapsed() >= SEND_TIME && start.elapsed() < DEADLINE);
    assert!(process.stop("test").await.is_complete());
}

#[tokio::test]
async fn the_end_of_a_command_ends_a_send_that_waits() {
    let process = fed(exec(&["sleep", "300"])).await;
    let sender = process.clone();
    let start = Instant::now();
    let sent = tokio::spawn(async move { sender.send(&vec![b'x'; 1 << 20]).await });
    assert!(process.stop("test").await.is_complete());
    let sent = sent.await.unwrap();
    assert!(matches!(sent, Err(SendError::Ended | SendError::Closed)), "{sent:?}");
    assert!(start.elapsed() < SEND_TIME);
}

#[tokio::test]
async fn a_command_that_closed_its_input_is_no_broken_pipe_for_the_host() {
    let process = fed(sh("exec <&-; echo closed; exec sleep 300")).await;
    wait_until("its input is closed", || process.captured().seen() == 7).await;
    assert_eq!(process.send(b"x").await, Err(SendError::Closed));
    assert!(process.stop("test").await.is_complete());
}

#[tokio::test]
async fn without_a_pipe_there_is_nothing_to_send_to() {
    let process = start(exec(&["sleep", "300"])).await;
    assert_eq!(process.send(b"x").await, Err(SendError::NoStdin));
    assert_eq!(process.send_eof().await, Err(SendError::NoStdin));
    assert_eq!(process.close_stdin().await, Err(SendError::NoStdin));
    assert!(process.stop("test").await.is_complete());
    assert_eq!(process.send(b"x").await, Err(SendError::NoStdin));
}

#[tokio::test]
async fn a_survivor_reads_the_end_once_the_command_is_over() {
    // An explicit redirection: a shell gives its background jobs /dev/null otherwise.
    let process = fed(sh("exec 3<&0; cat <&3 >/dev/null & echo done")).await;
    assert_eq!(process.wait().await.status, Status::Exited(0));
    wait_until("the survivor ended by itself", || {
        support::carriers(&format!("{}={}", hermes_process::environment::PROCESS_MARKER, process.id())).is_empty()
    })
    .await;
}
