//! Wrong input and a world that is in the way: each gets a clear error, and nothing is lost.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::{Command, Stdio};

use hermes_tests::agent::Agent;
use hermes_tests::home::{Ran, TestHome, finish};
use hermes_tests::leavings::runs;
use hermes_tests::wait::{self, PATIENCE};
use nix::sys::signal::{self, Signal};
use nix::unistd::{Pid, geteuid};
use serde_json::{Value, json};

use crate::verbs::{assert_nobody_left, host, hosted, kill, row, start, start_text, wait as wait_for};

/// Every verb that is about one process.
const VERBS: [&[&str]; 4] = [&["logs"], &["wait"], &["kill"], &["send"]];

fn about(verb: &[&str], id: &str, more: &[&str]) -> Vec<String> {
    let text: &[&str] = if verb == ["send"] { &["x"] } else { &[] };
    verb.iter().chain(more).copied().chain([id]).chain(text.iter().copied()).map(str::to_owned).collect()
}

/// The message of an error, which must be a whole document with `--json` and say the same without.
fn refused(home: &TestHome, arguments: &[String]) -> String {
    let plain = home.run(arguments);
    let with_json = arguments.iter().cloned().chain(["--json".to_owned()]);
    let ran = home.run(with_json);
    for ran in [&plain, &ran] {
        assert!(ran.code.is_some_and(|code| code != 0), "{arguments:?}: {ran:?}");
    }
    let message = ran.json()["error"]["message"].as_str().unwrap_or_else(|| panic!("{ran:?}")).to_owned();
    assert!(plain.stderr.contains("error: ") && plain.stdout.is_empty(), "{plain:?}");
    message
}

#[test]
fn an_id_that_nobody_has_or_that_is_none_is_refused_with_a_remedy() {
    let home = hosted();
    for with_host in [false, true] {
        if with_host {
            start_text(&home, "true");
        }
        for verb in VERBS {
            for (id, says) in [("proc_000000000000", "proc_000000000000"), ("0000", "0000"), ("nonsense!", "")] {
                let message = refused(&home, &about(verb, id, &[]));
                assert!(message.contains(says) && !message.is_empty(), "{verb:?} {id}: {message}");
            }
        }
        if with_host {
            let message = refused(&home, &about(&["logs"], "00", &[]));
            assert!(message.contains("4 digits"), "{message}");
        }
    }
}

#[test]
fn a_process_of_somebody_else_is_neither_shown_nor_touched() {
    let home = hosted();
    let id = start(&home, &["--owner", "agent-1", "--", "sleep", "1000"]);
    for verb in VERBS {
        let message = refused(&home, &about(verb, &id, &[]));
        assert!(message.contains(&id) && message.contains("owner"), "{verb:?}: {message}");
        let message = refused(&home, &about(verb, &id, &["--owner", "agent-2"]));
        assert!(message.contains("owner"), "{verb:?}: {message}");
    }
    let listed = home.run(["ps", "--json"]).expect(0).json();
    assert_eq!(listed["processes"], json!([]));
    assert_eq!(row(&home, &id)["status"]["kind"], "running");
    drop(home.run(["kill", "--all"]).expect(0));
    assert_eq!(row(&home, &id)["status"]["kind"], "running");
    let killed = home.run(["kill", "--json", "--owner", "agent-1", &id]).expect(0).json();
    assert_eq!(killed["result"], "killed");
}

#[test]
fn a_beginning_that_two_ids_share_names_neither() {
    let home = hosted();
    start_text(&home, "true");
    let mut agent = Agent::of(&home);
    let mut seen = std::collections::HashMap::new();
    // Of 65,536 beginnings, two are the same after a few hundred.
    let (one, two) = (0..3000)
        .find_map(|_| {
            let started = agent.call("terminal", &json!({"program": ["sleep", "1000"], "background": true}));
            let id = started["id"].as_str().unwrap().to_owned();
            seen.insert(id[..9].to_owned(), id.clone()).map(|other| (id, other))
        })
        .expect("two ids of 3,000 begin alike");
    let message = refused(&home, &about(&["kill"], &one[..9], &[]));
    assert!(message.contains(&one[..9]), "{message}");
    for id in [&one, &two] {
        assert_eq!(row(&home, id)["status"]["kind"], "running");
        assert_eq!(kill(&home, id)["result"], "killed");
    }
    let all = agent.call("process", &json!({"action": "kill_all"}));
    assert_eq!(all["killed"].as_array().unwrap().len(), seen.len() - 1, "the other of the two was overwritten");
    assert_nobody_left(&home, "after kill_all");
}

#[test]
fn a_process_that_ended_is_told_as_one_by_every_verb() {
    let home = hosted();
    let id = start(&home, &["--stdin", "-c", "read x; echo got $x; exit 3"]);
    drop(home.run(["send", &id, "word", "--enter"]).expect(0));
    for _ in 0..2 {
        let ended = home.run(["wait", "--json", &id]).expect(3).json();
        assert_eq!((&ended["output"], &ended["status"]["kind"]), (&"got word\n".into(), &"exited".into()), "{ended}");
        assert_eq!(home.run(["logs", &id]).expect(0).stdout, "got word\n");
        let killed = home.run(["kill", "--json", &id]).expect(0).json();
        assert_eq!((&killed["result"], &killed["exit_code"]), (&"already-ended".into(), &3.into()), "{killed}");
        let sent = home.run(["send", "--json", &id, "more"]).expect(1).json();
        assert_eq!((&sent["result"], &sent["bytes_written"]), (&"already-ended".into(), &0.into()), "{sent}");
    }
}

#[test]
fn a_process_that_reads_nothing_says_so() {
    let home = hosted();
    let id = start_text(&home, "exec sleep 1000");
    let sent = home.run(["send", "--json", &id, "x"]).expect(1).json();
    assert_eq!(sent["result"], "no-stdin", "{sent}");
    let reader = start(&home, &["--stdin", "--", "sleep", "1000"]);
    drop(home.run(["send", &reader, "--eof"]).expect(0));
    let sent = home.run(["send", "--json", &reader, "x"]).expect(1).json();
    assert_eq!(sent["result"], "already-ended", "its input is closed: {sent}");
    // More than a pipe holds, to somebody who does not read.
    let full = start(&home, &["--stdin", "--", "sleep", "1000"]);
    let much = "x".repeat(100_000);
    let sent = home.run(["send", "--json", &full, &much]).expect(1).json();
    assert_eq!(sent["result"], "stalled", "{sent}");
    assert!(sent["bytes_written"].as_u64().is_some_and(|bytes| bytes < 100_000), "{sent}");
    for id in [id, reader, full] {
        assert_eq!(kill(&home, &id)["result"], "killed");
    }
}

#[test]
fn what_cannot_be_started_is_told_at_once_and_is_no_process() {
    let home = hosted();
    fs::write(home.work().join("notes.txt"), "no program\n").unwrap();
    let cases: [(&[&str], i32, &str); 3] = [
        (&["--", "no-such-program-here"], 127, "no-such-program-here"),
        (&["--", "./notes.txt"], 126, "notes.txt"),
        (&["--", "/tmp"], 126, "/tmp"),
    ];
    for (arguments, code, says) in cases {
        for more in [&[][..], &["--pty"]] {
            let all = ["run", "-b", "--json"].iter().chain(more).chain(arguments);
            let document = home.run(all).expect(code).json();
            assert!(document["error"]["message"].as_str().unwrap().contains(says), "{document}");
        }
    }
    let listed = home.run(["ps", "--all", "--json"]).expect(0).json();
    assert_eq!(listed["processes"], json!([]), "what was not started is not listed");
    let message = refused(&home, &["run".into(), "-b".into(), "--pty=0x0".into(), "true".into()]);
    assert!(!message.is_empty());
}

#[test]
fn a_folder_that_is_gone_is_refused_and_named() {
    let home = hosted();
    let gone = home.work().join("gone/deeper");
    let ran = home.run(["run", "-b", "--cwd", gone.to_str().unwrap(), "-c", "touch ran"]).expect(125);
    assert!(ran.all().contains("gone/deeper") && ran.all().contains("does not exist"), "{ran:?}");
    assert!(!home.work().join("ran").exists());
}

#[test]
fn a_shell_that_is_not_there_is_named() {
    let home = TestHome::new();
    home.configure("[host]\nidle_exit = \"60s\"\n[terminal]\nshell = \"/no/such/shell\"\n");
    let ran = home.run(["run", "--json", "-c", "touch ran"]);
    assert!(ran.code.is_some_and(|code| code != 0) && ran.all().contains("/no/such/shell"), "{ran:?}");
    assert!(!home.work().join("ran").exists());
    // A host runs texts with another shell, and says so.
    let document = home.run(["run", "-b", "--json", "-c", "echo hi"]).expect(0).json();
    assert!(document["notes"].to_string().contains("/no/such/shell"), "{document}");
    assert_eq!(wait_for(&home, document["id"].as_str().unwrap())["output"], "hi\n");
    let document = home.run(["run", "-b", "--json", "--", "echo", "hi"]).expect(0).json();
    assert_eq!(document["notes"], json!([]), "a program needs no shell");
}

#[test]
fn streams_that_are_closed_are_no_reason_to_fail() {
    let home = hosted();
    let limited = |closed: &str, arguments: &[&str]| home.run_limited(&format!("exec {closed}"), arguments);
    drop(limited("<&-", &["run", "--", "cat"]).expect(0));
    drop(limited("<&-", &["run", "--stdin", "--", "cat"]).expect(0));
    drop(limited("2>&-", &["run", "--", "true"]).expect(0));
    // A host that is started without streams must not mistake a file of its own for one of them.
    drop(limited("<&- 2>&-", &["run", "-b", "-c", "echo one; echo two >&2; exec sleep 1000"]).expect(0));
    let listed = home.run(["ps", "--json"]).expect(0).json();
    let id = listed["processes"][0]["id"].as_str().unwrap().to_owned();
    wait::until("its output", PATIENCE, || (crate::verbs::log(&home, &id) == "one\ntwo\n").then_some(()));
    assert_eq!(kill(&home, &id)["result"], "killed");
}

/// Ends the host of a home.
fn end_host(home: &TestHome) {
    let host = host(home);
    signal::kill(Pid::from_raw(host), Signal::SIGTERM).unwrap();
    wait::until("the host to end", PATIENCE, || (!runs(host)).then_some(()));
}

fn sqlite(home: &TestHome, statement: &str) -> String {
    let text = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); \
                print(c.execute(sys.argv[2]).fetchall()); c.commit()";
    let mut command = Command::new("python3");
    command.args(["-c", text]).arg(home.root().join("state.db")).arg(statement).stdout(Stdio::piped());
    finish(command, PATIENCE).expect(0).stdout
}

#[test]
fn a_ledger_of_a_newer_hermes_is_refused_and_not_touched() {
    let home = hosted();
    let id = start(&home, &["--notify", "-c", "echo kept"]);
    wait::until("its end", PATIENCE, || (row(&home, &id)["status"]["kind"] == "exited").then_some(()));
    end_host(&home);
    let version = sqlite(&home, "PRAGMA user_version");
    sqlite(&home, "PRAGMA user_version = 9999");
    let before = fs::read(home.root().join("state.db")).unwrap();
    let ran = home.run(["run", "-b", "--json", "--", "touch", "ran"]);
    assert!(ran.code.is_some_and(|code| code != 0), "{ran:?}");
    let log = fs::read_to_string(home.root().join("logs/host.log")).unwrap();
    let said = format!("{}{log}", ran.all());
    assert!(said.contains("newer") && said.contains("state.db"), "{said}");
    assert!(!home.work().join("ran").exists() && home.host().is_none());
    // What needs no ledger goes on.
    drop(home.run(["run", "--", "true"]).expect(0));
    assert_eq!(fs::read(home.root().join("state.db")).unwrap(), before, "nothing in it is changed");
    // Nothing was lost.
    let number = version.trim_matches(|c: char| !c.is_ascii_digit());
    sqlite(&home, &format!("PRAGMA user_version = {number}"));
    let told = crate::verbs::events(&home);
    assert_eq!((told.len(), &told[0]["output"]), (1, &"kept\n".into()), "{told:?}");
}

/// hermes as a user who owns nothing here; as this user, where this is not root.
fn as_nobody(home: &TestHome, arguments: &[&str]) -> Ran {
    let hermes = home.command(arguments);
    let mut command = if geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(hermes.get_program());
        command
    } else {
        Command::new(hermes.get_program())
    };
    command.args(hermes.get_args()).env_clear().current_dir(home.work());
    command.envs(hermes.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("XDG_CACHE_HOME", home.everything().join("user"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(command, 2 * PATIENCE)
}

#[test]
fn a_home_that_cannot_be_written_is_named_and_commands_in_front_run_all_the_same() {
    let home = TestHome::new();
    home.configure("[host]\nidle_exit = \"60s\"\n");
    for folder in ["", "home", "home/config.toml", "work", "user"] {
        let path = home.everything().join(folder);
        if geteuid().is_root() {
            chown(&path, Some(65534), Some(65534)).unwrap();
        }
    }
    let mode = |mode: u32| fs::set_permissions(home.root(), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    let front = as_nobody(&home, &["run", "--json", "--", "echo", "hi"]).expect(0).json();
    assert_eq!(front["output"], "hi\n", "{front}");
    let ran = as_nobody(&home, &["run", "-b", "--json", "--", "touch", "ran"]);
    let words = ran.all();
    assert!(ran.code.is_some_and(|code| code != 0), "{words}");
    assert!(words.contains(home.root().to_str().unwrap()), "{words}");
    assert!(words.to_lowercase().contains("permission"), "{words}");
    assert!(!home.work().join("ran").exists() && home.host().is_none());
    let listed = as_nobody(&home, &["ps", "--json"]).expect(0).json();
    assert_eq!(listed["processes"], json!([]));
    mode(0o700);
    drop(as_nobody(&home, &["run", "-b", "--json", "--", "touch", "ran"]).expect(0));
    wait::until("the command", PATIENCE, || home.work().join("ran").exists().then_some(()));
}

#[test]
fn a_home_of_somebody_else_is_refused() {
    let home = TestHome::new();
    home.configure("");
    if geteuid().is_root() {
        fs::set_permissions(home.everything(), fs::Permissions::from_mode(0o755)).unwrap();
        chown(home.work(), Some(65534), None).unwrap();
        chown(home.everything().join("user"), Some(65534), None).unwrap();
    } else {
        fs::set_permissions(home.root(), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let ran = as_nobody(&home, &["run", "-b", "--json", "--", "touch", "ran"]);
    assert!(ran.code.is_some_and(|code| code != 0), "{ran:?}");
    assert!(ran.all().contains(home.root().to_str().unwrap()), "{ran:?}");
    assert!(!home.work().join("ran").exists());
}

#[test]
fn a_host_that_may_write_nothing_says_why_it_does_not_start() {
    let home = hosted();
    let ran = home.run_limited("ulimit -f 0", ["run", "-b", "--json", "--", "touch", "ran"]);
    assert!(ran.code.is_some_and(|code| code != 0), "{ran:?}");
    let document = ran.json();
    let message = document["error"]["message"].as_str().unwrap();
    assert!(message.contains("host"), "{document}");
    assert!(!home.work().join("ran").exists() && home.host().is_none());
    let id = start_text(&home, "echo hi");
    assert_eq!(wait_for(&home, &id)["output"], "hi\n");
}

/// In a mount namespace of its own, with a home on a disk of 3 MiB. `$1` is hermes, `$2` the home.
const FULL: &str = r#"
set -eu
hermes=$1; home=$2
field() { python3 -c 'import json, sys; print(json.load(open(sys.argv[2]))[sys.argv[1]])' "$1" "$2"; }
mount -t tmpfs -o size=3m,mode=700 none "$home"
printf '[host]\nidle_exit = "60s"\n[terminal]\nterm_grace = "300ms"\n' > "$home/config.toml"
"$hermes" run -b --json --notify -c 'until [ -e go ]; do sleep 0.02; done; echo before' > before
dd if=/dev/zero of="$home/ballast" bs=4k 2>/dev/null || true
df --output=avail "$home" | tail -1 | tr -d ' ' > free
"$hermes" run -b --json --notify -c 'echo during' > during
"$hermes" wait --json "$(field id during)" > waited
touch go
"$hermes" wait --json "$(field id before)" > waited-before
"$hermes" run -b --json --notify -c 'echo unseen; exit 4' > unseen
rm "$home/ballast"
"$hermes" run -b --json -- true > after
for _ in $(seq 3000); do
    "$hermes" ps --all --json > listed; "$hermes" events --json >> told
    grep -q unseen told && break
    sleep 0.02
done
"$hermes" logs "$(field id before)" > log
pid=$(for one in /proc/[0-9]*; do if tr '\0' ' ' < "$one/cmdline" 2>/dev/null | grep -q "serve --background --home $home"; then basename "$one"; fi; done)
kill "$pid"; while [ -e "/proc/$pid" ] && ! grep -q '^State:.Z' "/proc/$pid/status"; do sleep 0.02; done
"$hermes" run -b --json -- true > next
"$hermes" logs "$(field id unseen)" > log-next
"#;

#[test]
fn a_full_disk_stops_nobody_and_nothing_is_lost() {
    let home = TestHome::new();
    fs::create_dir(home.root()).unwrap();
    let hermes = home.command(["--version"]);
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "bash", "-c", FULL, "bash"]).arg(hermes.get_program());
    command.arg(home.root()).env_clear().current_dir(home.work());
    command.envs(hermes.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = finish(command, 3 * PATIENCE);
    let text = |name: &str| fs::read_to_string(home.work().join(name)).unwrap_or_default();
    assert_eq!(ran.code, Some(0), "{ran:?}\n{}", text("during"));
    assert_eq!(text("free").trim(), "0", "the disk was full");
    let document =
        |name: &str| -> Value { serde_json::from_str(&text(name)).unwrap_or_else(|_| panic!("{name}: {ran:?}")) };
    let during = document("during");
    assert!(during["notes"].to_string().contains("nobody will know"), "it is said: {during}");
    for (name, output) in [("waited", "during\n"), ("waited-before", "before\n")] {
        let ended = document(name);
        assert_eq!((&ended["output"], &ended["exit_code"]), (&output.into(), &0.into()), "{ended}");
        assert!(ended["notes"].to_string().contains("ledger"), "it is said: {ended}");
    }
    assert_eq!(text("log"), "before\n");
    let told: Vec<Value> = text("told").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(told.iter().filter(|event| event["output"] == "unseen\n").count(), 1, "told once: {told:?}");
    assert_eq!(text("log-next"), "unseen\n", "a later host knows it");
}
