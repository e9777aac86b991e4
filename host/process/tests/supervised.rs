//! The supervisor of a host: when there is one, what it protects, and what it must never hold or be taken for.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hermes_process::host::Host;
use hermes_process::spawn::spawn;
use rustix::process::{Pid, Signal};
use support::{exec, is_alive, sh, wait_until, zombies};

/// A host whose supervisor is the tiny program that was built with this test.
fn host() -> Host {
    let program = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("hermes-supervisor");
    assert!(program.is_file(), "{} is not there: build the workspace with --bins", program.display());
    Host::start().unwrap()
}

fn signal(pid: i32, signal: Signal) {
    rustix::process::kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

fn pipes(pid: i32) -> BTreeSet<String> {
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else { return BTreeSet::new() };
    open.flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with("pipe:"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_runs_nothing_has_no_supervisor_and_it_leaves_after_the_last_process() {
    let host = host();
    assert_eq!(host.supervisor(), None);
    let process = spawn(&host, exec(&["sleep", "1000"])).await.unwrap();
    let supervisor = host.supervisor().unwrap();
    assert_eq!(host.protected(), [process.pid()], "it is protected before its start returns");
    assert_eq!(fs::read_to_string(format!("/proc/{supervisor}/cmdline")).unwrap(), "hermes-supervisor\0");
    assert!(fs::read(format!("/proc/{supervisor}/environ")).unwrap().is_empty());
    process.stop("test").await;
    wait_until("nobody to protect", || host.protected().is_empty()).await;
    wait_until("the supervisor has left", || {
        host.supervisor().is_none() && !Path::new(&format!("/proc/{supervisor}")).exists()
    })
    .await;
    wait_until("no zombie", || zombies() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_in_a_row_share_one_supervisor() {
    let host = host();
    let mut seen = BTreeSet::new();
    for _ in 0..10 {
        let process = spawn(&host, exec(&["true"])).await.unwrap();
        seen.insert(host.supervisor().unwrap());
        process.wait().await;
    }
    assert_eq!(seen.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_outlive_the_host_is_not_protected() {
    let host = host();
    let mut spec = exec(&["sleep", "1000"]);
    spec.persist = true;
    let process = spawn(&host, spec).await.unwrap();
    assert_eq!((host.protected(), host.supervisor()), (Vec::new(), None));
    process.stop("test").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn survivors_stay_protected_until_the_last_of_them_is_gone() {
    let host = host();
    let folder = tempfile::tempdir().unwrap();
    let mut spec =
        sh("setsid sh -c 'echo $$ > survivor; exec sleep 1000' & until [ -s survivor ]; do sleep 0.01; done");
    spec.cwd = Some(folder.path().to_owned());
    let process = spawn(&host, spec).await.unwrap();
    process.wait().await;
    assert_eq!(host.protected(), [process.pid()]);
    process.stop("test").await;
    wait_until("nobody to protect", || host.protected().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_not_start_leaves_nothing_to_protect() {
    let host = host();
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken");
    fs::write(&broken, "#!/nowhere/at/all\n").unwrap();
    fs::set_permissions(&broken, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert!(spawn(&host, exec(&[broken.to_str().unwrap()])).await.is_err());
    assert!(host.protected().is_empty());
    wait_until("the supervisor has left", || host.supervisor().is_none()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_supervisor_that_is_killed_is_replaced_at_once_and_knows_everybody() {
    let host = host();
    let one = spawn(&host, exec(&["sleep", "1000"])).await.unwrap();
    let other = spawn(&host, exec(&["sleep", "1000"])).await.unwrap();
    let mut expected = vec![one.pid(), other.pid()];
    expected.sort_unstable();
    for _ in 0..3 {
        let killed = host.supervisor().unwrap();
        signal(killed, Signal::KILL);
        wait_until("another one", || host.supervisor().is_some_and(|pid| pid != killed && is_alive(pid))).await;
        assert_eq!(host.protected(), expected);
    }
    assert_eq!(zombies(), 0);
    assert!(is_alive(one.pid()) && is_alive(other.pid()));
    one.stop("test").await;
    other.stop("test").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_child_holds_the_pipe_to_the_supervisor() {
    let host = host();
    let first = spawn(&host, exec(&["sleep", "1000"])).await.unwrap();
    let supervisor = host.supervisor().unwrap();
    let between = pipes(supervisor);
    assert_eq!(between.len(), 1, "{between:?}");
    let mut children = vec![first];
    for at in 0..49 {
        let mut spec = exec(&["sleep", "1000"]);
        if at % 5 == 0 {
            spec.pty = Some(hermes_process::spec::PtySize { rows: 24, cols: 80 });
        }
        children.push(spawn(&host, spec).await.unwrap());
    }
    for child in &children {
        assert!(pipes(child.pid()).is_disjoint(&between), "{} holds it", child.pid());
    }
    assert!(pipes(i32::try_from(std::process::id()).unwrap()).is_superset(&between));
    // A child that ends its output, and one that replaces itself, change nothing.
    assert_eq!(host.protected().len(), children.len());
    for child in children {
        child.stop("test").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_supervisor_is_nobodys_survivor() {
    let host = host();
    // Started by the host while the tree of this command is the only one: what the host adopts must be this one's.
    let process = spawn(&host, exec(&["true"])).await.unwrap();
    let supervisor = host.supervisor().unwrap();
    let ended = process.wait().await;
    assert!(ended.survivors.is_empty());
    let verdict = spawn(&host, exec(&["sleep", "1000"])).await.unwrap().stop("test").await;
    assert!(verdict.is_complete());
    assert!(is_alive(supervisor), "it was ended with a command");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_handle_is_dropped_is_not_protected_for_ever() {
    let host = host();
    let process = spawn(&host, exec(&["sleep", "1000"])).await.unwrap();
    let pid = process.pid();
    drop(process);
    wait_until("nobody to protect", || host.protected().is_empty() && !is_alive(pid)).await;
}

#[test]
fn the_end_of_the_runtime_ends_the_supervisor_and_leaves_no_zombie() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (supervisor, pid) = runtime.block_on(async {
        let host = host();
        let process = spawn(&host, exec(&["sleep", "1000"])).await.unwrap();
        (host.supervisor().unwrap(), process.pid())
    });
    drop(runtime);
    assert!(!is_alive(pid));
    assert!(!Path::new(&format!("/proc/{supervisor}")).exists(), "it is there, or a zombie");
}
