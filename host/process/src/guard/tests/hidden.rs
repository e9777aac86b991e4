//! What stands behind wrappers, payloads, put-together names and scripts, and what nobody can read.

use super::*;

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
