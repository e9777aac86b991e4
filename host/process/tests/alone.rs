//! What a host can only say of its only command. One test, so that there is no other command in this program.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod support;

use support::{is_alive, numbers, sh, start, wait_until};

#[tokio::test]
async fn an_escapee_that_cleared_its_environment_is_found_when_it_can_be_nobody_elses() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    let text = format!(
        "( setsid env -i /bin/sh -c 'echo $$ >>{0}; exec /bin/sleep 300' & ) & wait; while ! [ -s {0} ]; do sleep 0.01; done",
        file.display()
    );
    let process = start(sh(&text)).await;
    let ended = process.wait().await;
    let pid = numbers(&file)[0];
    assert!(ended.survivors.iter().any(|survivor| survivor.pid() == pid), "it is named");
    assert!(process.end_survivors().await.is_complete());
    wait_until("it is gone", || !is_alive(pid)).await;
}
