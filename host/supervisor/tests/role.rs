//! The tiny program with real processes: when it acts, on whom, and on whom never.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod support;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::{Owned, Scene, carriers, kill, parent, program, runs, stat, until, until_gone};

const POLITE: &str = "trap 'echo told > told; exit 0' TERM; READY; while :; do sleep 0.02; done";
const DEAF: &str = "trap '' TERM; READY; while :; do sleep 0.02; done";
const PLAIN: &str = "READY; exec sleep 1000";

#[test]
fn the_end_of_the_pipe_ends_what_is_registered() {
    let mut scene = Scene::new();
    let mut child = scene.registered(POLITE, false);
    scene.close();
    assert_eq!(child.ended().code(), Some(0), "it was not asked first");
    assert!(scene.file("told").exists());
    assert_eq!(scene.left(), (Some(0), String::new()));
    assert!(runs(scene.host.pid()), "the host was signalled");
}

#[test]
fn the_death_of_the_host_does_so_too_whoever_holds_the_pipe() {
    let mut scene = Scene::new();
    let mut child = scene.registered(PLAIN, false);
    scene.kill_host();
    assert_eq!(child.ended().signal(), Some(15));
    assert_eq!(scene.left().0, Some(0));
}

#[test]
fn polite_ones_are_gone_at_once_and_so_is_the_supervisor() {
    let mut scene = Scene::new();
    let mut child = scene.registered(POLITE, true);
    scene.until_heard();
    let began = Instant::now();
    scene.close();
    child.ended();
    assert_eq!(scene.left().0, Some(0));
    assert!(began.elapsed() < Duration::from_millis(2500), "it waited for its grace: {:?}", began.elapsed());
}

#[test]
fn whoever_does_not_listen_is_killed_after_the_grace() {
    let mut scene = Scene::new();
    let mut child = scene.registered(DEAF, true);
    let began = Instant::now();
    scene.close();
    assert_eq!(child.ended().signal(), Some(9));
    assert!(began.elapsed() >= Duration::from_millis(2900), "it had no grace: {:?}", began.elapsed());
    assert_eq!(scene.left().0, Some(0));
}

#[test]
fn one_that_is_stopped_ends_as_well() {
    let mut scene = Scene::new();
    let mut child = scene.registered(POLITE, true);
    kill(child.pid(), "STOP");
    scene.close();
    assert_eq!(child.ended().code(), Some(0), "it was not continued");
}

#[test]
fn what_carries_the_marker_is_ended_though_nothing_is_registered() {
    let mut scene = Scene::new();
    let mut child = scene.start("exec sleep 1000");
    until("a carrier", || (carriers(&scene.marker) == [child.pid()]).then_some(()));
    scene.close();
    assert_eq!(child.ended().signal(), Some(15));
    assert_eq!(scene.left().0, Some(0));
}

#[test]
fn who_left_the_session_is_found_by_the_marker_and_who_cleared_its_variables_by_the_session() {
    let mut scene = Scene::new();
    let script = "setsid -f bash -c 'echo $$ > far; exec sleep 1000'; \
                  (setsid bash -c 'echo $$ > doubled; exec sleep 1000' &) & \
                  env -i bash -c 'echo $$ > bare; exec sleep 1000' & \
                  READY; wait";
    let mut child = scene.registered(script, true);
    let pids = ["far", "doubled", "bare"].map(|name| scene.pid_in(name));
    scene.close();
    until_gone(&pids);
    child.ended();
    assert_eq!(scene.left().0, Some(0));
}

#[test]
fn a_child_belongs_to_its_parent_whatever_it_keeps_of_where_it_came_from() {
    let mut scene = Scene::new();
    let script = "env -i setsid bash -c 'echo $$ > bare; exec sleep 1000' & READY; wait";
    let _child = scene.registered(script, true);
    let bare = scene.pid_in("bare");
    scene.close();
    until_gone(&[bare]);
}

#[test]
fn one_whose_first_thread_has_ended_is_no_zombie() {
    let mut scene = Scene::new();
    let program = format!(
        "import ctypes, threading, time\n\
         def rest():\n    open('beat', 'w').close()\n    time.sleep(1000)\n\
         threading.Thread(target=rest).start()\nctypes.CDLL(None).syscall({}, 0)\n",
        libc::SYS_exit
    );
    fs::write(scene.file("half"), program).unwrap();
    let mut child = scene.registered("READY; exec python3 half", true);
    until("its first thread to end", || (stat(child.pid())?.0 == 'Z' && scene.file("beat").exists()).then_some(()));
    scene.close();
    assert_eq!(child.ended().signal(), Some(15));
    assert_eq!(scene.left().0, Some(0));
}

#[test]
fn who_keeps_nothing_at_all_escapes() {
    let mut scene = Scene::new();
    // Neither its parent nor its session nor a variable tells whose it is: the one hole there is.
    let script = "(env -i setsid bash -c 'echo $$ > bare; exec sleep 1000' &) & READY; wait; exec sleep 1000";
    let mut child = scene.registered(script, true);
    let bare = scene.pid_in("bare");
    until("an orphan", || (parent(bare)? != child.pid() && stat(parent(bare)?)?.1 != child.pid()).then_some(()));
    scene.close();
    child.ended();
    assert_eq!(scene.left().0, Some(0));
    assert!(runs(bare), "it was found: say so in SECURITY.md");
    kill(bare, "KILL");
    until_gone(&[bare]);
}

#[test]
fn a_session_that_an_escapee_made_ends_whole() {
    let mut scene = Scene::new();
    let script = "setsid -f bash -c 'set -m; env -i bash -c \"echo \\$\\$ > bare; exec sleep 1000\" & echo $$ > far; wait'; READY; wait";
    let _child = scene.registered(script, true);
    let (far, bare) = (scene.pid_in("far"), scene.pid_in("bare"));
    assert_ne!(stat(far).unwrap().1, stat(bare).unwrap().1, "they share a group");
    scene.close();
    until_gone(&[far, bare]);
}

#[test]
fn the_group_of_a_leader_that_is_gone_is_ended_by_its_descriptor() {
    let mut scene = Scene::new();
    let script = "env -i bash -c 'echo $$ > bare; exec sleep 1000' & READY; until [ -e go ]; do sleep 0.01; done";
    let mut leader = scene.registered(script, true);
    let bare = scene.pid_in("bare");
    scene.until_heard();
    fs::write(scene.file("go"), "").unwrap();
    leader.ended();
    assert!(runs(bare) && carriers(&scene.marker).is_empty());
    scene.close();
    assert_eq!(scene.left().0, Some(0));
    assert!(!runs(bare), "nobody of the group was found");
}

#[test]
fn those_who_fork_while_they_die_are_caught() {
    let mut scene = Scene::new();
    // Each that is told starts three who do not listen, and one of them far away.
    let heir = "trap '' TERM; while :; do sleep 0.02; done";
    let script = format!(
        "trap 'for i in 1 2 3; do bash -c \"{heir}\" & done; setsid -f bash -c \"{heir}\"; exit 0' TERM; READY; \
         while :; do sleep 0.02; done"
    );
    let mut child = scene.registered(&script, true);
    scene.close();
    child.ended();
    assert_eq!(scene.left().0, Some(0));
    assert_eq!(carriers(&scene.marker), []);
}

#[test]
fn a_chain_that_forks_and_exits_for_ever_is_caught() {
    let mut scene = Scene::new();
    let link = scene.file("link");
    fs::write(&link, format!("trap '' TERM; bash {} & exit 0", link.display())).unwrap();
    let mut child = scene.registered(&format!("READY; bash {} & sleep 1000", link.display()), true);
    until("a chain under way", || (carriers(&scene.marker).len() > 1).then_some(()));
    scene.close();
    child.ended();
    assert_eq!(scene.left().0, Some(0));
    let began = Instant::now();
    until("a while without anybody", || {
        assert_eq!(carriers(&scene.marker), []);
        (began.elapsed() > Duration::from_millis(300)).then_some(())
    });
}

#[test]
fn a_release_with_nothing_registered_is_no_death() {
    let mut scene = Scene::new();
    let mut polite = scene.registered(PLAIN, true);
    scene.say(&format!("unregister {}\nrelease\n", polite.pid()));
    scene.close();
    assert_eq!(scene.left(), (Some(0), String::new()));
    assert!(polite.0.try_wait().unwrap().is_none(), "somebody was signalled");
}

#[test]
fn a_release_does_not_cover_what_is_registered() {
    let mut scene = Scene::new();
    let mut child = scene.registered(PLAIN, false);
    scene.say("release\n");
    scene.close();
    assert_eq!(child.ended().signal(), Some(15));
}

#[test]
fn nonsense_between_the_lines_changes_nothing() {
    let mut scene = Scene::new();
    let mut child = scene.registered(PLAIN, false);
    let noise = "x".repeat(100_000);
    scene.say(&format!("\n\nregister\nregister 1 2\nregister -1\nregister 0\nregister 1\n{noise}\nregister {noise}\n"));
    scene.say("unregister 999999999\nquit\n");
    scene.until_heard();
    assert!(child.0.try_wait().unwrap().is_none());
    scene.close();
    assert_eq!(child.ended().signal(), Some(15));
    assert_eq!(scene.left(), (Some(0), String::new()));
}

#[test]
fn half_a_line_is_never_acted_on() {
    let mut scene = Scene::new();
    let mut child = scene.start_with("exec sleep 1000", false);
    scene.say(&format!("register {}", child.pid()));
    scene.close();
    assert_eq!(scene.left().0, Some(0));
    assert!(child.0.try_wait().unwrap().is_none(), "an unfinished line was acted on");
}

#[test]
fn a_group_that_is_older_than_the_host_or_led_by_somebody_else_is_refused() {
    let mut stranger = Owned(Command::new("sleep").arg("1000").spawn().unwrap());
    let mut scene = Scene::new();
    let mut grouped = scene.start_with("exec sleep 1000", false);
    // A number that is no group's: a member of ours that leads none.
    let mut member = Owned(Command::new("sleep").arg("1000").spawn().unwrap());
    scene.say(&format!("register {}\nregister {}\n", stranger.pid(), member.pid()));
    // The host's own group, and the supervisor's.
    let (host, supervisor) = (scene.host.pid(), scene.supervisor.pid());
    scene.say(&format!("register {host}\nregister {supervisor}\nregister {}\n", grouped.pid()));
    scene.close();
    assert_eq!(grouped.ended().signal(), Some(15));
    assert_eq!(scene.left().0, Some(0));
    for child in [&mut stranger, &mut member, &mut scene.host] {
        assert!(child.0.try_wait().unwrap().is_none(), "a stranger was signalled");
    }
}

#[test]
fn a_number_that_changed_hands_reaches_nobody() {
    let mut scene = Scene::new();
    // Registered when nobody has the number: as if its owner was gone. Whoever has it then carries no marker.
    let free = until("a free number", || (3_900_000..4_000_000).find(|pid| stat(*pid).is_none()));
    scene.say(&format!("register {free}\n"));
    scene.until_heard();
    let mut later = scene.start_with("exec sleep 1000", false);
    scene.close();
    assert_eq!(scene.left().0, Some(0));
    assert!(later.0.try_wait().unwrap().is_none());
}

#[test]
fn whatever_is_sent_to_many_at_once_does_not_end_it() {
    let mut scene = Scene::new();
    let mut child = scene.registered(PLAIN, true);
    scene.until_heard();
    let pid = scene.supervisor.pid();
    for signal in ["INT", "HUP", "QUIT", "PIPE", "TSTP", "TTIN", "TTOU", "TERM"] {
        kill(pid, signal);
    }
    scene.say("\n");
    scene.until_heard();
    assert!(runs(pid) && stat(pid).unwrap().0 == 'S');
    scene.close();
    assert_eq!(child.ended().signal(), Some(15));
    assert_eq!(scene.left().0, Some(0));
}

#[test]
fn it_holds_no_folder_and_no_descriptor_of_anybody() {
    let mut scene = Scene::new();
    scene.until_heard();
    let pid = scene.supervisor.pid();
    assert_eq!(fs::read_link(format!("/proc/{pid}/cwd")).unwrap().to_str(), Some("/"));
    let open: Vec<String> = fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .map(|entry| fs::read_link(entry.unwrap().path()).unwrap().to_string_lossy().into_owned())
        .collect();
    let foreign = |name: &&String| !name.starts_with("pipe:") && !name.contains("pidfd") && *name != "/dev/null";
    assert_eq!(open.iter().filter(foreign).count(), 0, "{open:?}");
    assert_eq!(open.iter().filter(|name| name.starts_with("pipe:")).count(), 1, "{open:?}");
}

#[test]
fn it_makes_a_session_of_its_own_where_it_can() {
    let mut command = program();
    // In the group of the test, which it does not lead.
    let mut supervisor = Owned(command.process_group(rustix::process::getpgrp().as_raw_pid()).spawn().unwrap());
    let pid = supervisor.pid();
    until("a session of its own", || (stat(pid)?.2 == pid).then_some(()));
    supervisor.0.stdin = None;
    assert_eq!(supervisor.ended().code(), Some(0));
}

#[test]
fn it_refuses_to_work_in_the_group_of_its_host() {
    // It leads a group, so it cannot leave that by a session of its own; its host is said to be in it.
    let mut supervisor = program().spawn().map(Owned).unwrap();
    let own = supervisor.pid();
    let ticks = stat(own).unwrap().3;
    let hello = format!("hermes-supervisor 1 {own} {ticks} 0123456789abcdef0123456789abcdef\n");
    supervisor.0.stdin.as_mut().unwrap().write_all(hello.as_bytes()).unwrap();
    assert_eq!(supervisor.ended().code(), Some(2));
    let mut said = String::new();
    supervisor.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("process group of its host"), "{said}");
}

#[test]
fn another_version_is_refused_in_words() {
    for (line, words) in [
        ("hermes-supervisor 2 5 5 0123456789abcdef0123456789abcdef\n", "another version"),
        ("--help\n", "started by hermes"),
    ] {
        let mut supervisor = program().spawn().map(Owned).unwrap();
        supervisor.0.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
        assert_eq!(supervisor.ended().code(), Some(2));
        let mut said = String::new();
        supervisor.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn without_a_first_line_it_leaves() {
    let mut supervisor = program().stdin(Stdio::null()).spawn().map(Owned).unwrap();
    assert_eq!(supervisor.ended().code(), Some(0));
}

#[test]
fn a_host_that_is_gone_before_it_began_is_noticed() {
    let mut scene = Scene::new();
    let hello = scene.hello();
    drop(scene.supervisor.0.kill());
    scene.supervisor.ended();
    scene.kill_host();
    scene.host.ended();
    let mut child = scene.start("exec sleep 1000");
    until("a carrier", || (carriers(&scene.marker) == [child.pid()]).then_some(()));
    let mut late = program().spawn().map(Owned).unwrap();
    // The pipe stays open: its end is not what is noticed.
    late.0.stdin.as_mut().unwrap().write_all(hello.to_string().as_bytes()).unwrap();
    assert_eq!(late.ended().code(), Some(0));
    child.ended();
}

#[test]
fn it_holds_more_groups_than_anybody_needs_and_ignores_the_rest() {
    let mut scene = Scene::new();
    // Numbers that nobody has: registered all the same, as a leader may be gone.
    let lines: String = (0..6000).map(|at| format!("register {}\n", 3_000_000 + at)).collect();
    scene.say(&lines);
    let mut marked = scene.registered(PLAIN, true);
    scene.close();
    assert_eq!(marked.ended().signal(), Some(15), "the marker does not cover it");
    assert_eq!(scene.left().0, Some(0));
}

/// What a process has for itself alone, in KiB.
fn own_memory(pid: i32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let lines = rollup.lines().filter(|line| line.starts_with("Private_"));
    lines.map(|line| line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()).sum()
}

/// A Python that waits for the end of its input: what such a process costs where it is written in a language for that.
fn python() -> Option<Owned> {
    let script = "import sys; print(1, flush=True); sys.stdin.read()";
    let child = Command::new("python3").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut python = Owned(child.ok()?);
    let mut ready = [0; 1];
    python.0.stdout.as_mut()?.read_exact(&mut ready).unwrap();
    Some(python)
}

#[test]
fn it_costs_less_than_a_fifth_of_a_megabyte() {
    // Two of each: the second one tells what one more costs, beside the program that they share.
    let (mut first, mut scene) = (Scene::new(), Scene::new());
    let _children: Vec<Owned> = (0..10).map(|_| scene.registered(PLAIN, true)).collect();
    first.until_heard();
    scene.until_heard();
    let own = own_memory(scene.supervisor.pid());
    let pythons = python().zip(python());
    let beside = pythons.as_ref().map(|(_, second)| own_memory(second.pid()));
    let _ = writeln!(std::io::stderr(), "supervisor {own} KiB, python {beside:?} KiB");
    assert!(own <= 200, "{own} KiB");
    if let Some(python) = beside {
        assert!(own * 10 < python, "supervisor {own} KiB, python {python} KiB");
    }
}
