//! Real shells with start-up files that change, talk, hang and fail; and the pure parts.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;

use super::*;

/// A home directory with a start-up file for bash as a login shell.
fn home(profile: &str) -> (tempfile::TempDir, Environment) {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join(".bash_profile"), profile).unwrap();
    let mut base = Environment::empty();
    base.set("HOME", home.path()).set("PATH", "/image/bin:/usr/bin:/bin").set("KEPT", "1").set("GONE", "1");
    (home, base)
}

/// A shell made of a script for `/bin/sh`.
fn fake_shell(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("fake");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn text<'a>(environment: &'a Environment, name: &str) -> Option<&'a str> {
    environment.get(name).and_then(OsStr::to_str)
}

#[tokio::test]
async fn what_the_login_files_change_reaches_commands_and_nothing_else_does() {
    let (_home, base) = home(
        "echo noise; printf 'a=b\\0c=d'; echo error >&2; set -x\n\
         export PATH=\"$HOME/bin:/usr/bin:/bin\" NEW='two\nlines = x' KEPT=1 HERMES_HOME=/evil\nunset GONE\nf() { :; }; export -f f\n",
    );
    let host = Host::start().unwrap();
    let login = LoginEnvironments::new("/bin/bash".into()).get(&host, &base).await;
    assert_eq!(login.source(), Source::Login);
    let mut environment = base.clone();
    environment.set("SHLVL", "7");
    login.apply(&mut environment);
    let home = text(&base, "HOME").unwrap();
    assert_eq!(text(&environment, "PATH").unwrap(), format!("{home}/bin:/usr/bin:/bin:/image/bin"));
    assert_eq!(text(&environment, "NEW"), Some("two\nlines = x"));
    assert_eq!(text(&environment, "KEPT"), Some("1"));
    assert_eq!(text(&environment, "GONE"), None);
    assert_eq!(text(&environment, "SHLVL"), Some("7"), "what the shell counts is no change");
    for name in ["a", "PWD", "_", "HERMES_HOME", "HERMES_HOST", "HERMES_PROCESS"] {
        assert_eq!(text(&environment, name), None, "{name}");
    }
    assert!(environment.get("BASH_FUNC_f%%").is_some());
}

#[tokio::test]
async fn what_the_caller_sets_afterwards_wins() {
    let (_home, base) = home("export EDITOR=login");
    let host = Host::start().unwrap();
    let mut environment = base.clone();
    LoginEnvironments::new("/bin/bash".into()).get(&host, &base).await.apply(&mut environment);
    assert_eq!(text(&environment, "EDITOR"), Some("login"));
    environment.set("EDITOR", "caller");
    assert_eq!(text(&environment, "EDITOR"), Some("caller"));
}

#[tokio::test]
async fn a_shell_is_asked_once_for_each_home() {
    let (one, base) = home("echo x >>\"$HOME/asked\"; export N=$(wc -l <\"$HOME/asked\")");
    let (other, other_base) = home("echo x >>\"$HOME/asked\"");
    let host = Host::start().unwrap();
    let logins = LoginEnvironments::new("/bin/bash".into());
    let (first, second) = tokio::join!(logins.get(&host, &base), logins.get(&host, &base));
    assert!(Arc::ptr_eq(&first, &second));
    logins.get(&host, &other_base).await;
    logins.get(&host, &base).await;
    for home in [one, other] {
        assert_eq!(fs::read_to_string(home.path().join("asked")).unwrap(), "x\n");
    }
}

#[tokio::test]
async fn a_shell_whose_login_fails_or_hangs_is_asked_without_it() {
    let host = Host::start().unwrap();
    for profile in ["exit 0", "exec sleep 300", "exec >/dev/null", "env() { :; }"] {
        let (_home, base) = home(profile);
        let logins = LoginEnvironments { limit: Duration::from_secs(3), ..LoginEnvironments::new("/bin/bash".into()) };
        let login = logins.get(&host, &base).await;
        assert_eq!(login.source(), Source::Plain, "{profile}");
        let mut environment = base.clone();
        login.apply(&mut environment);
        assert_eq!(text(&environment, "PATH"), text(&base, "PATH"));
    }
}

#[tokio::test]
async fn a_broken_shell_changes_nothing_and_is_left_alone_for_a_while() {
    let (home, base) = home("");
    let host = Host::start().unwrap();
    let broken = fake_shell(home.path(), "echo x >>\"$HOME/asked\"; exit 1");
    for shell in [broken, home.path().join("no-such-shell")] {
        let logins = LoginEnvironments::new(shell);
        for _ in 0..3 {
            let login = logins.get(&host, &base).await;
            assert_eq!(login.source(), Source::Host);
            assert!(login.changes.is_empty());
        }
    }
    assert_eq!(fs::read_to_string(home.path().join("asked")).unwrap(), "x\nx\n", "once in each way");
}

#[test]
fn an_answer_is_good_for_ten_minutes_and_a_failure_for_one() {
    let at = Instant::now();
    for (source, lifetime) in [(Source::Login, 600), (Source::Plain, 60), (Source::Host, 60)] {
        let environment = Arc::new(LoginEnvironment { changes: BTreeMap::new(), source });
        let known = Known { at, environment };
        assert!(known.is_fresh(at + Duration::from_secs(lifetime - 1)), "{source:?}");
        assert!(!known.is_fresh(at + Duration::from_secs(lifetime)), "{source:?}");
    }
}

#[test]
fn the_first_shell_that_can_run_is_chosen() {
    let choose = |configured: Option<&str>, variable: Option<&str>, there: &[&str]| {
        let there = |path: &Path| there.iter().any(|name| path == Path::new(name));
        choose_shell(configured.map(Path::new), variable.map(OsStr::new), there)
    };
    let all = ["/x/fish", "/bin/zsh", "/bin/bash", "zsh"];
    assert_eq!(choose(Some("/x/fish"), Some("/bin/zsh"), &all), Path::new("/x/fish"));
    assert_eq!(choose(Some("/gone"), Some("/bin/zsh"), &all), Path::new("/bin/zsh"));
    assert_eq!(choose(None, Some("/x/fish"), &all), Path::new("/bin/bash"), "it reads another language");
    assert_eq!(choose(None, Some("zsh"), &all), Path::new("/bin/bash"), "it is no path");
    assert_eq!(choose(None, None, &[]), Path::new("/bin/sh"));
    assert!(is_executable(Path::new("/bin/sh")) && !is_executable(Path::new("/bin")));
}

#[test]
fn a_path_keeps_the_logins_order_and_loses_nothing() {
    let joined = |first: &str, second: &str| joined_path(OsStr::new(first), OsStr::new(second)).into_string().unwrap();
    assert_eq!(joined("/a:/b", "/c:/b::/d"), "/a:/b:/c:/d");
    assert_eq!(joined("/a", ""), "/a");
}

proptest! {
    #[test]
    fn an_answer_is_found_whatever_is_printed_around_it(
        before in prop::collection::vec(any::<u8>(), 0..40),
        answer in "[a-z=]{0,20}",
        after in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let output = [&before, &b"<<1>>\0"[..], answer.as_bytes(), &b"<<2>>\0"[..], &after].concat();
        prop_assert_eq!(between(&output, b"<<1>>\0", b"<<2>>\0"), Some(answer.as_bytes()));
        prop_assert_eq!(between(&output[..before.len()], b"<<1>>\0", b"<<2>>\0"), None);
    }

    #[test]
    fn any_answer_is_read(answer in prop::collection::vec(any::<u8>(), 0..80)) {
        for (name, value) in variables(&answer) {
            prop_assert!(!name.is_empty() && !name.as_bytes().contains(&b'=') && !value.as_bytes().contains(&0));
        }
    }

    #[test]
    fn applying_the_changes_gives_what_the_shell_had(
        before in prop::collection::btree_map("[A-E]", "[a-c]", 0..5),
        after in prop::collection::btree_map("[A-E]", "[a-c]", 0..5),
    ) {
        let mut environment = Environment::empty();
        for (name, value) in &before {
            environment.set(name, value);
        }
        let after: BTreeMap<OsString, OsString> = after.into_iter().map(|(n, v)| (n.into(), v.into())).collect();
        let changes = changes(&environment, after.clone());
        LoginEnvironment { changes, source: Source::Login }.apply(&mut environment);
        let result: BTreeMap<OsString, OsString> = environment.iter().map(|(n, v)| (n.into(), v.into())).collect();
        prop_assert_eq!(result, after);
    }
}
