//! How commands start, what they are given, how their ends are told, and what of their output arrives.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod support;

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_model::status::Status;
use hermes_process::environment::{Environment, HOST_MARKER, PROCESS_MARKER};
use hermes_process::running::handle::Ended;
use hermes_process::spawn::{BadFolder, NotRunnable, SpawnError, spawn};
use hermes_process::spec::{CommandSpec, Live, Stdin};
use support::{exec, host, next, rest, sh, start, wait_until};

/// Runs to the end and returns everything that arrived at a live reader.
async fn run_live(mut spec: CommandSpec) -> (Arc<Ended>, Vec<u8>) {
    spec.live = Live::Steady;
    let mut process = start(spec).await;
    let mut live = process.take_live().unwrap();
    assert!(process.take_live().is_none());
    let all = rest(&mut live).await;
    (process.wait().await, all)
}

async fn refusal(spec: CommandSpec) -> SpawnError {
    match spawn(&host(), spec).await {
        Ok(_) => panic!("it started"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn an_exit_code_is_told_as_it_is() {
    for code in [0, 1, 7, 124, 137, 255] {
        let ended = start(sh(&format!("exit {code}"))).await.wait().await;
        assert_eq!(ended.status, Status::Exited(code));
        assert!(ended.survivors.is_empty());
    }
}

#[tokio::test]
async fn a_signal_is_told_as_a_signal() {
    for signal in [1, 9, 15] {
        assert_eq!(start(sh(&format!("kill -{signal} $$"))).await.wait().await.status, Status::Signalled(signal));
    }
    assert_eq!(start(sh("ulimit -c 0; kill -SEGV $$")).await.wait().await.status, Status::Signalled(11));
}

#[tokio::test]
async fn a_missing_program_is_127_and_no_argument_is_named() {
    for name in ["no-such-program-here", "./no-such-program-here", "/no/such/program"] {
        let error = refusal(exec(&[name, "--password=hunter2"])).await;
        assert!(matches!(error, SpawnError::NotFound { .. }), "{error}");
        assert_eq!(error.exit_code(), 127);
        assert!(error.to_string().contains(name) && !format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
    assert_eq!(refusal(exec(&[""])).await.exit_code(), 127);
}

#[tokio::test]
async fn a_program_that_cannot_run_is_126_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, mode: u32, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let cases = [
        (file("plain", 0o644, b"#!/bin/sh\n"), NotRunnable::Permission),
        (file("garbage", 0o755, b"\x00\x01\x02 no program"), NotRunnable::Format),
        (file("no-first-line", 0o755, b"echo hi\n"), NotRunnable::Format),
        (file("orphaned", 0o755, b"#!/no/such/python -u\n"), NotRunnable::Interpreter("/no/such/python".to_owned())),
        (folder.path().to_str().unwrap().to_owned(), NotRunnable::IsADirectory),
    ];
    for (program, expected) in cases {
        let error = refusal(exec(&[&program])).await;
        assert_eq!(error.exit_code(), 126, "{error}");
        assert!(matches!(&error, SpawnError::NotRunnable { reason, .. } if *reason == expected), "{error}");
        assert!(matches!(error.status(), Status::FailedToStart { code: 126, .. }));
    }
    let long = refusal(exec(&["/bin/true", &"x".repeat(8 << 20)])).await;
    assert!(matches!(&long, SpawnError::NotRunnable { reason: NotRunnable::TooLong, .. }), "{long}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_125_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for (cwd, expected) in [(folder.path().join("none"), BadFolder::Missing), (file, BadFolder::NotADirectory)] {
        let mut spec = exec(&["true"]);
        spec.cwd = Some(cwd.clone());
        let error = refusal(spec).await;
        assert!(matches!(error, SpawnError::Folder { reason, .. } if reason == expected), "{error}");
        assert!(error.to_string().contains(cwd.to_str().unwrap()), "{error}");
        assert_eq!(error.exit_code(), 125);
    }
}

#[tokio::test]
async fn what_no_program_can_be_given_is_refused_before_anything_starts() {
    let mut value = exec(&["true"]);
    value.environment.set("TOKEN", "hun\0ter2");
    for spec in [exec(&["true", "a\0hunter2"]), sh("echo \0hunter2"), value] {
        let error = refusal(spec).await;
        assert!(matches!(error, SpawnError::Impossible { .. }), "{error}");
        assert!(!format!("{error} {error:?}").contains("ter2"), "{error}");
    }
}

#[tokio::test]
async fn it_runs_in_the_folder_that_was_asked_for_and_finds_programs_from_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    std::fs::write(path.join("here"), "#!/bin/sh\npwd -P\n").unwrap();
    std::fs::set_permissions(path.join("here"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut spec = exec(&["./here"]);
    spec.cwd = Some(path.clone());
    let (ended, output) = run_live(spec).await;
    assert_eq!(ended.status, Status::Exited(0));
    assert_eq!(String::from_utf8(output).unwrap().trim_end(), path.to_str().unwrap());
}

#[tokio::test]
async fn the_child_gets_both_markers_and_the_environment_that_was_asked_for() {
    let host = host();
    let mut spec = exec(&["/usr/bin/env"]);
    spec.environment = Environment::from_pairs([
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("GONE".into(), "1".into()),
        (HOST_MARKER.into(), "that of an outer host".into()),
    ]);
    spec.environment.set("ADDED", "a b").unset("GONE");
    spec.live = Live::Steady;
    let mut process = spawn(&host, spec).await.unwrap();
    let mut live = process.take_live().unwrap();
    let output = String::from_utf8(rest(&mut live).await).unwrap();
    let lines: Vec<_> = output.lines().collect();
    let expected = [
        "ADDED=a b".to_owned(),
        format!("{HOST_MARKER}={}", host.marker()),
        format!("{PROCESS_MARKER}={}", process.id()),
        "PATH=/usr/bin:/bin".to_owned(),
        "PYTHONUNBUFFERED=1".to_owned(),
    ];
    assert_eq!(lines, expected);
    assert_eq!(host.marker().len(), 32);
}

#[tokio::test]
async fn it_leads_a_session_without_a_terminal_reads_nothing_and_merges_both_outputs_in_order() {
    let text = "read x && echo got; (: </dev/tty) 2>/dev/null || echo no-tty; for i in 1 2 3; do echo o$i; echo e$i >&2; done; ps -o sid= -p $$; echo $$";
    let (ended, output) = run_live(sh(text)).await;
    assert_eq!(ended.status, Status::Exited(0));
    let output = String::from_utf8(output).unwrap();
    let words: Vec<_> = output.split_whitespace().collect();
    assert_eq!(words[..7], ["no-tty", "o1", "e1", "o2", "e2", "o3", "e3"]);
    assert_eq!(words[7], words[8]);
}

#[tokio::test]
async fn it_reads_what_the_host_reads_where_that_is_asked_for() {
    let mut spec = exec(&["readlink", "/proc/self/fd/0"]);
    spec.stdin = Stdin::Inherit;
    let (_, output) = run_live(spec).await;
    let own = std::fs::read_link("/proc/self/fd/0").unwrap();
    assert_eq!(String::from_utf8(output).unwrap().trim_end(), own.to_str().unwrap());
}

#[tokio::test]
async fn no_descriptor_of_the_host_reaches_a_child() {
    // One that is not close-on-exec, as a host may have inherited it.
    let leaky = std::fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&leaky, rustix::io::FdFlags::empty()).unwrap();
    let _others: Vec<_> = std::iter::repeat_with(|| std::fs::File::open("/dev/zero").unwrap()).take(20).collect();
    let process = start(exec(&["sleep", "300"])).await;
    let open = || {
        let list = std::fs::read_dir(format!("/proc/{}/fd", process.pid())).unwrap().flatten();
        let mut open: Vec<u32> = list.map(|fd| fd.file_name().to_str().unwrap().parse().unwrap()).collect();
        open.sort_unstable();
        open
    };
    // Its dynamic loader opens and closes a library or two at first.
    wait_until("only the three are open", || open() == [0, 1, 2]).await;
    assert!(process.stop("test").await.is_complete());
    drop(leaky);
}

#[tokio::test]
async fn a_pipeline_that_is_cut_short_ends_by_sigpipe() {
    let (ended, output) = run_live(sh("yes | head -n 1; sleep 0")).await;
    assert_eq!((ended.status.clone(), output.as_slice()), (Status::Exited(0), b"y\n".as_slice()));
    // Rust ignores SIGPIPE; a child must not. Bit 12 of the mask is signal 13.
    let (_, output) = run_live(exec(&["grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status"])).await;
    for line in String::from_utf8(output).unwrap().lines() {
        let mask = u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap();
        assert_eq!(mask & (1 << 12), 0, "{line}");
    }
}

#[tokio::test]
async fn every_byte_written_one_by_one_arrives() {
    let (ended, output) = run_live(sh("i=0; while [ $i -lt 500 ]; do printf x; i=$((i+1)); done")).await;
    assert_eq!(output, [b'x'; 500]);
    assert_eq!(ended.output().seen(), 500);
}

#[tokio::test]
async fn two_hundred_megabytes_arrive_counted_and_the_host_stays_small() {
    const BYTES: u64 = 200 << 20;
    let mut spec = sh(&format!("yes | head -c {BYTES}"));
    spec.ring_bytes = 1 << 20;
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
    };
    let before = resident();
    let ended = start(spec).await.wait().await;
    assert_eq!((ended.status.clone(), ended.output().seen()), (Status::Exited(0), BYTES));
    let grown = resident().saturating_sub(before);
    // The ring, and what other tests of this file do meanwhile.
    assert!(grown < 64 << 20, "{grown} bytes");
}

#[tokio::test]
async fn a_slow_live_reader_gets_every_byte() {
    const BYTES: usize = 4 << 20;
    let mut spec = sh(&format!("yes | head -c {BYTES}"));
    spec.live = Live::Steady;
    let mut process = start(spec).await;
    let mut live = process.take_live().unwrap();
    // The command cannot have ended while nobody reads: it waits in its write.
    let first = next(&mut live).await.unwrap();
    let mut total = first.len();
    while let Some(chunk) = next(&mut live).await {
        assert!(chunk.len() <= 64 << 10);
        total += chunk.len();
        tokio::task::yield_now().await;
    }
    assert_eq!(total, BYTES);
    assert_eq!(process.wait().await.output().seen(), BYTES as u64);
}

#[tokio::test]
async fn a_stalled_live_reader_holds_up_neither_a_time_out_nor_the_end() {
    let mut spec = sh("yes");
    spec.live = Live::Steady;
    spec.timeout = Some(Duration::from_millis(300));
    let mut process = start(spec).await;
    let mut live = process.take_live().unwrap();
    let ended = process.wait().await;
    assert_eq!(ended.status, Status::TimedOut);
    // And what was captured still arrives, all of it.
    let mut total = 0;
    while let Some(chunk) = next(&mut live).await {
        total += chunk.len() as u64;
    }
    assert_eq!(total, ended.output().seen());
}

#[tokio::test]
async fn a_live_reader_that_leaves_does_not_stop_the_command() {
    let mut spec = sh("yes | head -c 3000000; echo done >&2");
    spec.live = Live::Steady;
    let mut process = start(spec).await;
    drop(process.take_live());
    let ended = process.wait().await;
    assert_eq!((ended.status.clone(), ended.output().seen()), (Status::Exited(0), 3_000_005));
}

#[tokio::test]
async fn a_live_view_that_nobody_takes_does_not_outlive_its_handles() {
    let mut spec = sh("yes | head -c 3000000");
    spec.live = Live::Steady;
    let process = start(spec).await;
    let pid = process.pid();
    drop(process);
    wait_until("the abandoned command is gone", || !support::is_alive(pid)).await;
}

#[tokio::test]
async fn three_hundred_commands_leave_no_descriptor_and_no_zombie() {
    // Other tests of this file start and end commands too: the count must come back, whenever that is.
    let host = host();
    let before = support::descriptors();
    for _ in 0..30 {
        let mut batch = Vec::new();
        for _ in 0..10 {
            batch.push(spawn(&host, exec(&["true"])).await.unwrap());
        }
        for process in batch {
            assert_eq!(process.wait().await.status, Status::Exited(0));
        }
    }
    wait_until("descriptors are back", || support::descriptors() <= before + 2).await;
    wait_until("no zombie is left", || support::zombies() == 0).await;
}

#[tokio::test]
async fn a_short_command_takes_no_drain_time() {
    let host = host();
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        spawn(&host, exec(&["true"])).await.unwrap().wait().await;
        best = best.min(start.elapsed());
    }
    // The end of the pipe ends the drain, which would take 100 ms otherwise.
    assert!(best < Duration::from_millis(90), "{best:?}");
}

#[tokio::test]
async fn what_was_printed_so_far_can_be_had_while_it_runs() {
    let process = start(sh("echo first; exec sleep 300")).await;
    wait_until("the first line is captured", || process.captured().seen() == 6).await;
    assert!(process.stop("test").await.is_complete());
}
