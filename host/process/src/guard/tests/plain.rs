//! What stands in a command as it is: by name, by number, by file, by service.

use super::*;

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
