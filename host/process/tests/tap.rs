//! Readers from the side: what they get, and that the command does not care.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod support;

use hermes_model::status::Status;
use hermes_process::running::tap::{Chunk, TAPS_MAX};
use hermes_process::spec::Live;
use support::{next, rest, sh, start, wait_until};

#[tokio::test]
async fn a_tap_that_nobody_reads_does_not_slow_the_command_and_counts_what_it_skipped() {
    const BYTES: u64 = 5_000_000;
    let mut spec = sh(&format!("yes | head -c {BYTES}"));
    spec.live = Live::Tap;
    let mut process = start(spec).await;
    let mut live = process.take_live().unwrap();
    assert_eq!(process.wait().await.output().seen(), BYTES);
    let (mut arrived, mut skipped) = (0, 0);
    while let Some(chunk) = live.recv().await {
        match chunk {
            Chunk::Bytes(bytes) => arrived += bytes.len() as u64,
            Chunk::Skipped(count) => skipped += count,
        }
    }
    assert_eq!(arrived + skipped, BYTES);
    assert!(arrived >= 512 << 10 && skipped > 0, "{arrived} {skipped}");
}

#[tokio::test]
async fn a_tap_attached_later_and_what_was_captured_are_the_whole_output() {
    // Less than what may wait, so that nothing is skipped however slow this test is.
    let process = start(sh("seq 1 20000; sleep 0.05; seq 20001 60000")).await;
    wait_until("it printed something", || process.captured().seen() > 0).await;
    let (captured, live) = process.tap();
    let parts = captured.parts();
    assert!(parts.gap.is_none());
    let mut all = parts.head.into_owned();
    all.extend(rest(&mut live.unwrap()).await);
    let expected: String = (1..=60_000).map(|number| format!("{number}\n")).collect();
    assert!(all == expected.as_bytes(), "{} bytes of {}", all.len(), expected.len());
    assert!(process.tap().1.is_none(), "the output is complete");
}

#[tokio::test]
async fn several_taps_get_the_same_and_their_number_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    let mut spec = sh("mkfifo fifo; read x <fifo; echo $x; echo done");
    spec.cwd = Some(folder.path().to_owned());
    let process = start(spec).await;
    let mut taps: Vec<_> = (0..TAPS_MAX).map(|_| process.tap().1.unwrap()).collect();
    assert!(process.tap().1.is_none());
    drop(taps.pop());
    taps.push(process.tap().1.unwrap());
    wait_until("the command reads", || fifo.exists()).await;
    tokio::task::spawn_blocking(move || std::fs::write(fifo, "go\n")).await.unwrap().unwrap();
    for tap in &mut taps {
        assert_eq!(rest(tap).await, b"go\ndone\n");
    }
    assert_eq!(process.wait().await.status, Status::Exited(0));
}

#[tokio::test]
async fn a_tap_shows_what_came_while_the_command_is_silent() {
    let process = start(sh("echo first; exec sleep 300")).await;
    wait_until("the first line is captured", || process.captured().seen() == 6).await;
    let mut spec = sh("echo first; exec sleep 300");
    spec.live = Live::Tap;
    let mut other = start(spec).await;
    assert_eq!(next(&mut other.take_live().unwrap()).await.unwrap(), b"first\n");
    let (captured, live) = process.tap();
    assert_eq!(captured.seen(), 6);
    assert!(process.stop("test").await.is_complete());
    assert!(other.stop("test").await.is_complete());
    assert!(rest(&mut live.unwrap()).await.is_empty());
}
