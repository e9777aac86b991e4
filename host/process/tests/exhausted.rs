//! What happens when the host has no descriptor left. One test, because the limit is that of the whole program.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod support;

use std::time::Duration;

use hermes_process::spawn::{SpawnError, spawn};
use support::{exec, is_alive, sh, wait_until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_descriptors_nothing_starts_a_kill_still_kills_and_says_that_it_saw_nothing() {
    let host = support::host();
    let mut spec = sh("trap '' TERM; echo on; while :; do sleep 1; done");
    spec.term_grace = Duration::from_millis(50);
    let process = spawn(&host, spec).await.unwrap();
    wait_until("it runs", || process.captured().seen() == 3).await;

    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    // No new descriptor, not even where one is closed: all numbers below the limit are the standard ones.
    let low = rustix::process::Rlimit { current: Some(3), ..limit };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, low).unwrap();

    let Err(error) = spawn(&host, exec(&["true"])).await else { panic!("it started") };
    assert!(matches!(error, SpawnError::Host { .. }), "{error}");
    assert_eq!(error.exit_code(), 125);
    let verdict = process.stop("test").await;
    assert!(!verdict.is_complete() && !verdict.seen);

    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    assert!(!is_alive(process.pid()));
    assert!(process.stop("test").await.is_complete());
    wait_until("nothing of the failed start is left", || support::zombies() == 0).await;
}
