//! The guard as a whole: what is refused, what passes, and what is refused because nobody can read it.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::scripts::{ScriptRead, Scripts};
use super::*;

/// Scripts that exist only here.
#[derive(Default)]
struct Shelf(HashMap<&'static str, &'static str>);

impl Scripts for Shelf {
    fn read(&self, path: &Path) -> ScriptRead {
        match self.0.get(path.to_str().unwrap_or_default()).copied() {
            Some("<pipe>") => ScriptRead::NoRegularFile,
            Some("<denied>") => ScriptRead::Denied,
            Some(text) if text.starts_with("<large>") => {
                ScriptRead::TooLarge { first_line: text["<large>".len()..].to_owned() }
            }
            Some(text) => ScriptRead::Text(text.to_owned()),
            None => ScriptRead::Nothing,
        }
    }
}

fn guarded() -> Guarded {
    Guarded {
        socket: Some("/home/me/.hermes/run/host.sock".into()),
        pid_file: Some("/home/me/.hermes/run/host.pid".into()),
        users: vec!["me".to_owned(), "1000".to_owned()],
        home: Some("/home/me".into()),
        ..Guarded::new(4242, "/usr/local/bin/hermes serve --quiet")
    }
}

fn with_python() -> Guarded {
    let mut guarded = guarded();
    guarded.images.push("python3".to_owned());
    guarded
}

fn verdict_with(text: &str, guarded: &Guarded, scripts: &Shelf) -> Option<Reason> {
    check(&Command::Shell(text), guarded, scripts).err().map(|refused| refused.reason)
}

fn verdict(text: &str) -> Option<Reason> {
    verdict_with(text, &guarded(), &Shelf::default())
}

#[track_caller]
fn all(reason: Option<Reason>, texts: &[&str]) {
    let wrong: Vec<_> = texts.iter().map(|text| (*text, verdict(text))).filter(|(_, found)| *found != reason).collect();
    assert!(wrong.is_empty(), "expected {reason:?}: {wrong:#?}");
}

#[test]
fn killers_that_mean_the_host_by_name_are_refused() {
    all(
        Some(Reason::ByName),
        &[
            "pkill hermes",
            "pkill -9 hermes",
            "pkill her",
            "pkill h",
            "pkill -KILL -u me hermes",
            "pkill -x hermes",
            "pkill .",
            "pkill ''",
            "pkill -x 'her.*'",
            "pkill -i HERMES",
            "pkill 'node|hermes'",
            "pkill --signal TERM hermes",
            "pkill -f 'hermes serve'",
            "pkill -f hermes",
            "pkill -f 'hermes.*'",
            "pkill -f '[h]ermes serve'",
            "pkill -f serve",
            "pkill -9f /usr/local/bin/hermes",
            "pkill -f '^hermes serve'",
            "pkill -f \"$BIN/hermes\"",
            "pkill -f '*hermes*'",
            "pkill -u me",
            "pkill -u \"$USER\"",
            "pkill -U 1000",
            "pkill --inverse node",
            "pkill 'hermes('",
            "killall hermes",
            "killall -9 hermes",
            "killall -r 'herm.*'",
            "killall -I Hermes",
            "killall /usr/local/bin/hermes",
            "killall node hermes",
            "killall -u me",
            "killall -s KILL hermes",
            "pgrep hermes | xargs kill",
            "kill $(pidof hermes)",
            "kill $(pgrep -f 'hermes serve')",
            "kill `pgrep hermes`",
            "for p in $(pgrep hermes); do kill -9 $p; done",
            "pgrep hermes | while read p; do kill $p; done",
            "echo 5; pgrep hermes | xargs kill",
            "pgrep hermes | xargs -I{} kill {}",
            "pkill -I hermes",
            "pgrep hermes > /tmp/p; kill $(cat /tmp/p)",
            "pidof /usr/bin/hermes | xargs -r kill -9",
            "ps aux | grep hermes | awk '{print $2}' | xargs kill",
            "ps aux | grep '[h]ermes' | awk '{print $2}' | xargs kill -9",
            "ps ax | awk '/hermes/{print $1}' | xargs kill",
            "kill $(ps -C hermes -o pid=)",
            "for d in /proc/[0-9]*; do grep -q hermes $d/comm && kill ${d#/proc/}; done",
            "kill $(lsof -t -c herm)",
            "kill hermes",
            "skill -KILL hermes",
            "skill -c hermes",
            "skill -u me",
            "start-stop-daemon --stop --name hermes",
            "start-stop-daemon -K -x /usr/local/bin/hermes",
        ],
    );
}

#[test]
fn killers_that_mean_others_pass() {
    all(
        None,
        &[
            "pkill -u alice chrome",
            "pkill node",
            "pkill -x her",
            "pkill -f my_hermes_bot.py",
            "pkill -f 'hermes run'",
            "pkill -f 'python my_script.py'",
            "pkill HERMES",
            "pkill -9 \"$NAME\"",
            "pkill -f \"$NAME serve\"",
            "pkill -t pts/1 node",
            "pkill -g 77 node",
            "pkill -F /tmp/app.pid",
            "pkill -0 hermes",
            "pkill -u hermes node",
            "pkill -P 4242 node",
            "killall node",
            "killall herme",
            "killall -u alice",
            "killall -u hermes node",
            "killall -0 hermes",
            "killall -l",
            "pgrep hermes",
            "pgrep hermes; pgrep -a hermes",
            "pidof hermes && echo up",
            "ps aux | grep hermes",
            "cat /proc/meminfo; grep -q serve f; kill $p",
            "ps aux | grep .; kill $p",
            "ps -p $p | grep serve; kill $p",
            "ssh box 'pkill hermes'",
            "docker exec box pkill hermes",
            "docker stop hermes",
            "kill -9 $(lsof -ti:3000)",
            "kill $(jobs -p)",
            "pgrep node | xargs kill",
            "kill $(pidof node)",
            "kill $(pgrep -f my_bot.py)",
            "cd hermes && pgrep node | xargs kill",
            "pgrep hermes; kill 46544",
            "sleep 9 & pgrep hermes; kill $!",
            "sleep 9 & p=$!; pgrep hermes; kill $p",
            "pgrep hermes && kill -0 $(pgrep hermes)",
            "ps aux | grep -v hermes | awk '{print $2}' | xargs kill",
            "kill 46544",
            "kill -9 46544",
            "kill -TERM -46544",
            "kill -s KILL 46544",
            "kill %1",
            "kill $!",
            "kill -l",
            "kill $$",
            "kill \"$PID\"",
            "kill -9 $(cat /tmp/app.pid)",
            "skill -c node",
            "skill -l",
            "fuser -k 8080/tcp",
            "fuser -n tcp -k 8080",
            "fuser -km /mnt/usb",
            "start-stop-daemon --start --exec /usr/bin/hermes",
            "start-stop-daemon --stop --name node",
        ],
    );
}

#[test]
fn the_hosts_own_number_is_refused_in_each_form() {
    all(
        Some(Reason::ByNumber),
        &[
            "kill 4242",
            "kill -9 4242",
            "kill -s TERM 4242",
            "kill -9 -4242",
            "kill -- -4242",
            "kill 1 2 4242",
            "kill -TERM -- -4242",
            "kill -n 9 4242",
            "kill --signal KILL 4242",
            "kill $PPID",
            "kill -4242",
            "kill -9 \"$PPID\"",
            "P=4242; kill $P",
            "echo 4242 | xargs kill",
            "env kill 4242",
            "pkill -g 4242",
            "pkill -s 4242 node",
            "skill 4242",
            "/bin/kill 4242",
            "python3 -c 'import os; os.kill(4242, 9)'",
            "perl -e 'kill 9, 4242'",
            "node -e 'process.kill(4242)'",
        ],
    );
    all(None, &["kill -0 4242", "kill 42420", "echo 4242", "kill -l 4242", "python3 -c 'print(4242)'"]);
}

#[test]
fn killing_everything_is_refused() {
    all(Some(Reason::Everything), &["kill -9 -1", "kill -- -1", "kill -TERM -1", "killall5 -9", "kill -s KILL -- -1"]);
    all(None, &["kill -1 46544", "kill -HUP 46544", "pgrep node | xargs kill -1"]);
}

#[test]
fn the_hosts_files_do_not_lead_to_it() {
    all(
        Some(Reason::ByPidFile),
        &[
            "kill $(cat /home/me/.hermes/run/host.pid)",
            "kill $(cat ~/.hermes/run/host.pid)",
            "kill \"$(cat $HOME/.hermes/run/host.pid)\"",
            "kill $(< /home/me/.hermes/run/host.pid)",
            "xargs kill < /home/me/.hermes/run/host.pid",
            "read p < ~/.hermes/run/host.pid; kill $p",
            "cd ~/.hermes/run && kill $(cat host.pid)",
            "pkill -F /home/me/.hermes/run/host.pid",
            "kill $(cat \"$HERMES_HOME/run/host.pid\")",
            "while read p; do kill $p; done < /home/me/.hermes/run/host.pid",
            "start-stop-daemon --stop --pidfile /home/me/.hermes/run/host.pid",
        ],
    );
    all(
        Some(Reason::BySocket),
        &[
            "fuser -k /home/me/.hermes/run/host.sock",
            "fuser -k -TERM /home/me/.hermes/run/host.sock",
            "fuser -km /",
            "kill $(lsof -t /home/me/.hermes/run/host.sock)",
            "fuser /home/me/.hermes/run/host.sock | xargs kill",
        ],
    );
    all(
        None,
        &[
            "cat ~/.hermes/run/host.pid",
            "fuser /home/me/.hermes/run/host.sock",
            "kill $(cat run/other.pid)",
            "cat ~/.hermes/run/host.pid; kill 77",
        ],
    );
}

#[test]
fn stopping_the_service_is_refused_and_looking_at_it_is_not() {
    all(
        Some(Reason::ByService),
        &[
            "systemctl stop hermes",
            "systemctl --user restart hermes-serve",
            "systemctl kill -s KILL hermes.service",
            "sudo systemctl --no-block stop hermes-serve.service",
            "systemctl restart --user hermes",
            "systemctl stop 'hermes*'",
            "systemctl disable --now hermes",
            "systemctl stop nginx hermes",
            "systemctl stop hermes-serve@me.service",
            "systemctl stop user@1000.service",
            "systemctl stop user-1000.slice",
            "systemctl try-restart hermes",
            "service hermes restart",
            "rc-service hermes stop",
            "sv down hermes",
            "supervisorctl restart all",
            "launchctl kickstart -k gui/501/com.example.hermes",
            "launchctl bootout gui/501/dev.hermes.serve",
            "launchctl unload ~/Library/LaunchAgents/dev.hermes.plist",
            "launchctl remove hermes",
            "kill $(systemctl show -p MainPID --value hermes)",
        ],
    );
    all(
        Some(Reason::BySession),
        &[
            "loginctl terminate-user me",
            "loginctl terminate-user 1000",
            "loginctl kill-user $USER",
            "loginctl terminate-session 3",
            "loginctl --signal=KILL kill-user me",
            "loginctl terminate-seat seat0",
            "sudo loginctl terminate-user \"$(id -un)\"",
        ],
    );
    all(
        None,
        &[
            "systemctl start hermes",
            "systemctl status hermes",
            "systemctl is-active hermes-serve",
            "systemctl restart nginx",
            "systemctl stop hermes-agent-other",
            "systemctl --user list-units 'hermes*'",
            "systemctl stop \"$UNIT\"",
            "loginctl list-sessions",
            "loginctl terminate-user alice",
            "launchctl list",
            "launchctl print gui/501/hermes",
            "launchctl kickstart gui/501/com.example.other",
            "service nginx restart",
            "service hermes status",
            "supervisorctl status hermes",
        ],
    );
}

#[test]
fn our_own_verbs_that_would_stop_the_host_are_refused() {
    all(
        Some(Reason::ByOwnVerb),
        &[
            "hermes serve --stop",
            "hermes --home /x serve --stop",
            "/usr/local/bin/hermes serve stop",
            "hermes serve --quiet --stop",
            "'hermes' serve restart",
        ],
    );
    all(
        None,
        &[
            "hermes serve",
            "hermes run -- ls",
            "hermes plugins list",
            "hermes run -- echo serve --stop",
            "echo hermes serve --stop",
        ],
    );
    all(Some(Reason::ByName), &["hermes run -- pkill hermes", "hermes run --timeout 5s -c 'pkill hermes'"]);
}

#[test]
fn killers_of_windows_are_judged_like_the_others() {
    all(
        Some(Reason::ByName),
        &[
            "taskkill /F /IM hermes.exe",
            "taskkill.exe /IM HERMES.EXE /T",
            "taskkill /FI \"IMAGENAME eq hermes.exe\"",
            "taskkill /IM 'herm*'",
            "Stop-Process -Name hermes",
            "Get-Process hermes | Stop-Process",
            "pwsh -Command 'Stop-Process -Name hermes'",
            "spps -Name node,hermes",
        ],
    );
    all(Some(Reason::ByNumber), &["taskkill /F /PID 4242", "Stop-Process -Id 4242"]);
    all(
        None,
        &[
            "taskkill /F /IM agent-browser.exe /T",
            "taskkill /F /PID 46544",
            "Stop-Process -Id 46544",
            "Get-Process hermes",
        ],
    );
}

#[test]
fn another_image_is_guarded_as_well() {
    let refused = [
        "pkill -9 python3",
        "pkill python",
        "pkill py",
        "killall python3",
        "killall -r 'pyth.*'",
        "pkill -f python",
        "pkill -f 'python.*'",
        "pgrep python | xargs kill",
        "kill $(pidof python3)",
        "sudo timeout 5 pkill python3",
        "taskkill /F /IM python3.exe",
        "Stop-Process -Name python3",
        "Get-Process python3 | Stop-Process",
    ];
    for text in refused {
        assert_eq!(verdict_with(text, &with_python(), &Shelf::default()), Some(Reason::ByName), "{text}");
    }
    for text in [
        "pkill -f 'python my_script.py'",
        "pkill -f 'python3 my_script.py'",
        "python3 app.py serve stop",
        "python3 manage.py run -c 'pkill hermes'",
        "pgrep python",
        "echo \"pkill python\"",
        "pkill node",
    ] {
        assert_eq!(verdict_with(text, &with_python(), &Shelf::default()), None, "{text}");
    }
    let mut long = guarded();
    long.images = vec!["a-very-long-name-of-a-program".to_owned()];
    assert_eq!(verdict_with("pkill -x a-very-long-nam", &long, &Shelf::default()), Some(Reason::ByName));
}

#[test]
fn wrappers_hide_nothing() {
    all(
        Some(Reason::ByName),
        &[
            "sudo pkill hermes",
            "sudo -n -u root pkill hermes",
            "doas pkill hermes",
            "env A=b pkill hermes",
            "env -i pkill hermes",
            "nohup pkill hermes",
            "setsid pkill hermes",
            "nice -n 5 pkill hermes",
            "ionice -c 3 pkill hermes",
            "stdbuf -oL pkill hermes",
            "timeout 5 pkill hermes",
            "exec pkill hermes",
            "command pkill hermes",
            "builtin kill hermes",
            "eatmydata pkill hermes",
            "pkexec pkill hermes",
            "su -c 'pkill hermes'",
            "su root -c 'pkill hermes'",
            "runuser -u bob pkill hermes",
            "setpriv --reuid 1 pkill hermes",
            "systemd-run --user pkill hermes",
            "nsenter -t 1 -a pkill hermes",
            "unshare -r pkill hermes",
            "sudo timeout 5 pkill hermes",
            "A=b B=c pkill hermes",
            "time pkill hermes",
            "time -p pkill hermes",
            "coproc X { pkill hermes; }",
            "coproc pkill hermes",
            "/usr/bin/time -f %e pkill hermes",
            "echo pkill hermes | sudo -s",
            "su - <<E\npkill hermes\nE",
            "! pkill hermes",
            "busybox pkill hermes",
            "xargs pkill hermes",
            "flock /tmp/l pkill hermes",
            "flock /tmp/l -c 'pkill hermes'",
            "env -S 'pkill hermes'",
            "env -S 'pkill' hermes",
            "watch -n 1 pkill hermes",
            "watch 'pkill hermes'",
            "tmux new -d 'pkill hermes'",
            "find . -name x -exec pkill hermes \\;",
            "find . -exec sh -c 'pkill hermes' {} +",
            "trap 'pkill hermes' EXIT",
            "alias k='pkill hermes'",
            "echo hermes | xargs pkill",
            "echo hermes | xargs -I{} pkill -9 {}",
            "printf '%s\\n' hermes | xargs killall",
            "script -qc 'pkill hermes' /dev/null",
            "nice nice nice nice nice nice nice nice pkill hermes",
        ],
    );
    all(Some(Reason::TooManyWrappers), &["nice nice nice nice nice nice nice nice nice pkill hermes"]);
    all(
        None,
        &["sudo -u hermes ls", "command -v pkill hermes", "env PKILL=hermes ls", "timeout 5 ls hermes", "su hermes"],
    );
}

#[test]
fn payloads_are_followed() {
    all(
        Some(Reason::ByName),
        &[
            "sh -c 'pkill hermes'",
            "bash -lc 'pkill hermes'",
            "bash -eo pipefail -c 'pkill hermes'",
            "bash -c \"sh -c 'pkill hermes'\"",
            "sh -c 'pkill $1' _ hermes",
            "sh -c '\"$@\"' _ pkill hermes",
            "eval pkill hermes",
            "eval 'pkill hermes'",
            "eval \"$(echo pkill hermes)\"",
            "sh -c \"$(printf 'pkill hermes')\"",
            "echo 'pkill hermes' | sh",
            "echo pkill hermes | bash -s",
            "printf 'ls\\npkill hermes\\n' | bash",
            "(echo pkill hermes) | sh",
            "sh <<< 'pkill hermes'",
            "bash <(echo pkill hermes)",
            "source <(echo 'pkill hermes')",
            "echo 'pkill hermes' | tee /tmp/x | sh",
            "grep 'pkill hermes' log | sh",
            "sh <<'E'\npkill hermes\nE",
            "cat <<E | sh\npkill hermes\nE",
            "bash -s <<-E\n\tpkill hermes\n\tE",
            "echo 'pkill hermes' | at now",
            "echo x; $(pkill hermes)",
            "echo \"`pkill hermes`\"",
            "cat <<E\n$(pkill hermes)\nE",
            "cat <<E\npkill hermes",
            "a && pkill hermes",
            "a || pkill hermes",
            "a; pkill hermes",
            "a & pkill hermes",
            "a\npkill hermes",
            "a | pkill hermes",
            "(pkill hermes)",
            "for ((i=0;i<3;i++)); do pkill hermes; done",
            "x=$((1<<2))\npkill hermes",
            "(( x <<= 2 ))\npkill hermes",
            "cat <<A <<'B'\nx\nA\ny\nB\npkill hermes",
            "case x in esac; pkill hermes",
            "echo \"${MSG:-it's}\"; pkill hermes",
            "echo ${x//\\'/}; pkill hermes",
            "cat <<< x; pkill hermes",
            "echo a#b; pkill hermes",
            "echo $#; pkill hermes",
            "echo \"it's\" # it's\npkill hermes",
            "select x in a; do pkill hermes; done",
            "until a; do pkill hermes; done",
            "a=(x y); pkill hermes",
            "ls 2>&1 | tee log & pkill hermes",
            "if pgrep -x hermes; then pkill -x hermes; fi",
            "kill -9 $(pgrep -f 'hermes serve' | head -1)",
            "{ pkill hermes; }",
            "if a; then pkill hermes; fi",
            "case $x in a) pkill hermes;; esac",
            "f() { pkill hermes; }; f",
            "while :; do pkill hermes; done",
            "[[ -n $(pkill hermes) ]]",
            "echo ${x:-$(pkill hermes)}",
            "grep x \"$(pkill hermes)\"",
            "python3 -c 'import os; os.system(\"pkill hermes\")'",
            "python3 -c 'subprocess.run([\"pkill\", \"-f\", \"hermes\"])'",
            "perl -e 'system(\"pkill hermes\")'",
            "ruby -e '`pkill hermes`'",
            "node -e \"require('child_process').execSync('pkill hermes')\"",
            "python3 <<'E'\nimport os\nos.system('pkill hermes')\nE",
            "python3 - <<'E'\nsubprocess.run(['killall', 'hermes'])\nE",
            "awk 'BEGIN{system(\"pkill hermes\")}'",
            "pgrep hermes | perl -ne 'kill 9, $_'",
            "ps ax | awk '/hermes/{system(\"kill \" $1)}'",
        ],
    );
}

#[test]
fn a_name_that_is_put_together_is_read() {
    all(
        Some(Reason::ByName),
        &[
            "pk\"\"ill hermes",
            "pk'i'll her\"mes\"",
            "p\\kill hermes",
            "\\pkill hermes",
            "pk\\\nill hermes",
            "pkill \\\n hermes",
            "$'\\x70kill' hermes",
            "/usr/bin/pkill hermes",
            "X=hermes; pkill $X",
            "K=pkill; $K hermes",
            "C='pkill hermes'; $C",
            "A='pkill hermes'; C=$A; $C",
            "C='pkill hermes'; eval \"$C\"",
            "K=pk; K+=ill; $K hermes",
            "export X=hermes && pkill \"$X\"",
            "for n in node hermes; do pkill $n; done",
            "pkill${IFS}hermes",
            "{pkill,hermes}",
            "$(which sudo) pkill hermes",
            "$(a) pkill hermes",
            "set -- pkill hermes; \"$@\"",
            "set -- hermes; pkill $1",
            "eval -- pkill hermes",
            "trap -- 'pkill hermes' EXIT",
            "$SUDO pkill hermes",
            "$A $B pkill hermes",
            "${SUDO}pkill hermes",
            "x=((${y\npkill hermes\n",
            "pkill {node,hermes}",
            "$(which pkill) hermes",
            "$(command -v pkill) hermes",
            "pkill ${X:-hermes}",
            "pkill 2>/dev/null hermes",
            ">/dev/null pkill hermes",
            "pkill hermes # done",
            "if true; then X=hermes; else X=a; fi; pkill $X",
        ],
    );
}

#[test]
fn words_that_nobody_runs_pass() {
    all(
        None,
        &[
            "echo \"pkill hermes\"",
            "echo 'pkill hermes' > notes.txt",
            "echo pkill hermes",
            "grep 'pkill hermes' log",
            "grep -rn 'systemctl stop hermes' .",
            "rg 'hermes serve --stop' src",
            "journalctl -u hermes | grep 'kill hermes'",
            "git commit -m 'stop using pkill hermes'",
            "cat > notes.md <<'E'\npkill hermes\nE",
            "cat <<E\npkill hermes\nE",
            "# pkill hermes",
            "ls # ; pkill hermes",
            "sqlite3 x.db \"select 'pkill hermes'\"",
            "man pkill",
            "which pkill",
            "cd hermes && ls",
            "cargo test -p hermes",
            "./hermes --help",
            "echo '`pkill hermes`'",
            "echo '$(pkill hermes)'",
            "case $1 in 'pkill hermes') ls;; esac",
            "echo it's pkill hermes",
            "python3 -c 'print(1)'",
            "printf '%s' 'pkill hermes' | wc -c",
            "echo hi | sh",
            "ls | sh",
            "",
            "cat <<'E' > run.sh\npkill hermes\nE\nchmod +x run.sh",
        ],
    );
}

#[test]
fn scripts_are_read_where_they_are_run() {
    let shelf = Shelf(HashMap::from([
        ("x.sh", "#!/bin/bash\nset -e\npkill hermes\n"),
        ("plain", "pkill hermes"),
        ("tools/in.sh", "pkill $1"),
        ("/home/me/x.sh", "pkill hermes"),
        ("outer.sh", "ls\nbash x.sh\n"),
        ("loop.sh", "./loop.sh; bash loop.sh"),
        ("ok.sh", "#!/bin/sh\nmake"),
        ("main.py", "#!/usr/bin/env python3\nprint('pkill hermes')\npkill hermes\n"),
        ("env.sh", "#!/usr/bin/env -S bash -e\npkill hermes\n"),
        ("pid.sh", "kill 4242"),
    ]));
    for text in [
        "bash x.sh",
        "./x.sh",
        ". x.sh",
        ". ./x.sh",
        "source x.sh",
        "sh -x plain",
        "./plain",
        "sudo bash x.sh",
        "bash -c './x.sh'",
        "bash < x.sh",
        "cat x.sh | bash",
        "bash outer.sh",
        "bash ./tools/in.sh hermes",
        "cd tools && ./in.sh hermes",
        "bash ~/x.sh",
        "bash $HOME/x.sh",
        "bash main.py",
        "./env.sh",
        "find . -exec ./x.sh \\;",
        "bash ./tools/../x.sh",
        "echo ./x.sh | sh",
        "bash -- x.sh",
        "bash --norc x.sh",
        "bash --rcfile a x.sh",
        "cat > new.sh <<'E'\npkill hermes\nE\nbash new.sh",
        "echo 'pkill hermes' > ./new.sh; sh new.sh",
        "echo 'pkill hermes' | tee new.sh; ./new.sh",
    ] {
        assert_eq!(verdict_with(text, &guarded(), &shelf), Some(Reason::ByName), "{text}");
    }
    for text in [
        "./ok.sh",
        "bash missing.sh",
        "./main.py",
        "./loop.sh",
        "cat x.sh",
        "vim x.sh",
        "bash tools/in.sh node",
        "bash $X",
        "cp x.sh y.sh",
    ] {
        assert_eq!(verdict_with(text, &guarded(), &shelf), None, "{text}");
    }
    assert_eq!(verdict_with("./pid.sh", &guarded(), &shelf), Some(Reason::ByNumber));
}

#[test]
fn what_cannot_be_read_is_refused_with_its_reason() {
    let shelf = Shelf(HashMap::from([
        ("pipe", "<pipe>"),
        ("denied", "<denied>"),
        ("big", "<large>echo"),
        ("big.py", "<large>#!/usr/bin/python3"),
    ]));
    let cases = [
        ("bash pipe", Some(Reason::ScriptIsNoFile)),
        ("./pipe", Some(Reason::ScriptIsNoFile)),
        ("bash denied", Some(Reason::ScriptDenied)),
        ("./denied", None),
        ("./big", Some(Reason::TooLong)),
        ("./big.py", None),
        ("bash big.py", Some(Reason::TooLong)),
    ];
    for (text, expected) in cases {
        assert_eq!(verdict_with(text, &guarded(), &shelf), expected, "{text}");
    }
    let line = |length: usize| format!("echo {}", "x".repeat(length));
    assert_eq!(verdict(&line(limits::LINE_MAX)), Some(Reason::LineTooLong));
    assert_eq!(verdict(&line(limits::LINE_MAX - 5)), None);
    assert_eq!(verdict(&"ls\n".repeat(limits::LINES_MAX)), Some(Reason::TooManyLines));
    assert_eq!(verdict(&"ls\n".repeat(limits::LINES_MAX - 1)), None);
    assert_eq!(verdict(&format!("{}\n", "x".repeat(60_000)).repeat(18)), Some(Reason::TooLong));
    let scripts = |count: usize| (0..count).map(|number| format!("./s{number}\n")).collect::<String>();
    assert_eq!(verdict(&scripts(limits::SCRIPTS_MAX + 1)), Some(Reason::TooManyScripts));
    assert_eq!(verdict(&scripts(limits::SCRIPTS_MAX)), None);
    let deep = |levels: usize| format!("{}pkill hermes", "eval ".repeat(levels));
    assert_eq!(verdict(&deep(limits::DEPTH_MAX)), Some(Reason::ByName));
    assert_eq!(verdict(&deep(limits::DEPTH_MAX + 1)), Some(Reason::TooDeep));
    assert_eq!(verdict(&"$(".repeat(100)), Some(Reason::TooDeep));
    assert_eq!(verdict(&format!("pkill '{}'", "((a{200}){200}){200}")), Some(Reason::TooMuchWork));
}

#[test]
fn a_program_without_a_shell_is_judged_by_its_words() {
    let verdict = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        check(&Command::Exec(&words), &guarded(), &Shelf(HashMap::from([("x.sh", "pkill hermes")])))
            .err()
            .map(|refused| refused.reason)
    };
    assert_eq!(verdict(&["pkill", "-f", "hermes serve"]), Some(Reason::ByName));
    assert_eq!(verdict(&["sh", "-c", "pkill hermes"]), Some(Reason::ByName));
    assert_eq!(verdict(&["kill", "4242"]), Some(Reason::ByNumber));
    assert_eq!(verdict(&["./x.sh"]), Some(Reason::ByName));
    for words in [&["echo", "a; pkill hermes"][..], &["echo", "$(pkill hermes)"], &["pkill", "$X"], &["ls"], &[], &[""]]
    {
        assert_eq!(verdict(words), None, "{words:?}");
    }
}

#[test]
fn an_answer_names_the_rule_and_the_way_out_and_quotes_nothing() {
    let refused =
        check(&Command::Shell("pkill -9 -f 'hermes serve' # s3cret"), &guarded(), &Shelf::default()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the command was not run, because it would end the host that runs it: it kills by a name, a pattern or a user that is \
         also the host's; end a process that was started here by its proc_ id (hermes kill ID, or the tool \
         process), or any other by its own number: kill PID"
    );
    let unread = check(&Command::Shell(&"$(".repeat(100)), &guarded(), &Shelf::default()).unwrap_err();
    assert!(unread.to_string().starts_with("the command was not run, because nobody can tell whether"));
}

#[test]
fn a_large_command_is_judged_in_bounded_time() {
    let started = Instant::now();
    let _ = verdict(&"pkill -f 'a*b*c*(d|e)*f{1,9}'; ".repeat(2000).replace("; p", "\np"));
    let _ = verdict(&"echo x | sh\n".repeat(16_000));
    let _ = verdict(&"a=$a$a$a; echo $a | xargs -I{} sh -c '{}'\n".repeat(8000));
    let _ = verdict(&"cat <<E\n".repeat(16_000));
    let _ = verdict(&format!("bash x.sh{}", " a".repeat(30_000)));
    let _ = verdict(&format!("{}ls {}", "cd a\n".repeat(8000), "x ".repeat(30_000)));
    let _ = verdict(&format!("pkill -f '{}a{}'", "(".repeat(32), "****************)".repeat(32)));
    let _ = verdict(&"pkill -f a ''\n".repeat(8000));
    let _ = verdict(&format!("{}x", "eval '".repeat(10_000)));
    // Generous: unoptimised, on a machine that does other things. Without bounds these take hours.
    assert!(started.elapsed() < Duration::from_secs(60));
}

proptest! {
    #[test]
    fn no_command_is_a_panic(text in any::<String>()) {
        let _ = verdict(&text);
    }

    #[test]
    fn no_command_of_the_words_we_know_is_a_panic(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "pkill", "-f", "hermes", "kill", "-9", "4242", "sh", "-c", "'", "\"", "$(", ")", "`", "|", ";", "<<E", "\n", "E", "sudo",
                "xargs", "-I{}", "{}", "eval", "env", "-S", "find", "-exec", "\\", "X=", "$X", "systemctl", "stop", "su", "timeout", "python3",
                "bash", "case", "in", "esac", "((", "))", "for", "<(", "taskkill", "/IM", "fuser", "-k", "/", "loginctl", "launchctl", ".", "ä",
            ]),
            0..30,
        ),
        blank in "[ ]?",
    ) {
        let _ = verdict(&words.join(&blank));
        let owned: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let _ = check(&Command::Exec(&owned), &guarded(), &Shelf::default());
    }

    #[test]
    fn a_quoted_argument_of_echo_never_matters(text in "[^\0]{0,60}") {
        let line = format!("echo '{}'", text.replace('\'', r"'\''"));
        prop_assert_eq!(verdict(&line), None);
    }

    #[test]
    fn what_stands_before_a_command_never_hides_it(before in "[a-z]{1,8}( [a-z]{1,8}){0,3}", operator in "(;|&&|\\|\\||\n|&)") {
        let line = format!("{before} {operator} pkill hermes");
        prop_assert!(verdict(&line).is_some());
    }
}
