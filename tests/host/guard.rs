//! A command in the background that would end its own host is refused, with what to do instead; others pass.

use hermes_tests::hosted::Hosted;

fn refused(house: &Hosted, command: &str) {
    let ran = house.run(&["run", "-b", "-c", command]);
    assert_ne!(ran.code, Some(0), "{command} was started: {ran:?}");
    assert!(ran.stdout.is_empty(), "{command}: {ran:?}");
    assert!(ran.stderr.contains("proc_ id"), "{command}: no way out is named: {ran:?}");
}

#[test]
fn commands_that_would_end_the_host_are_refused_with_the_alternatives() {
    let house = Hosted::new();
    let canary = house.background(&["--", "sleep", "1000"]);
    let host = house.host().expect("a host runs");
    for command in [
        "pkill hermes",
        "killall hermes",
        "pkill -f 'hermes serve'",
        "killall -9 hermes; echo done",
        "true && sudo pkill -9 hermes",
        &format!("kill {host}"),
        &format!("kill -9 {host}"),
        "kill -9 -1",
    ] {
        refused(&house, command);
    }
    assert_eq!(house.host(), Some(host));
    assert_eq!(house.row(&canary).unwrap()["status"]["kind"], "running");
}

#[test]
fn a_program_without_a_shell_is_judged_too() {
    let house = Hosted::new();
    house.background(&["--", "true"]);
    let host = house.host().expect("a host runs");
    for words in [&["pkill", "hermes"][..], &["kill", &host.to_string()], &["bash", "-c", "killall hermes"]] {
        let asked: Vec<&str> = ["run", "-b", "--"].into_iter().chain(words.iter().copied()).collect();
        let ran = house.run(&asked);
        assert!(ran.code != Some(0) && ran.stderr.contains("proc_ id"), "{words:?}: {ran:?}");
    }
    assert_eq!(house.host(), Some(host));
}

#[test]
fn a_command_that_ends_something_else_passes() {
    let house = Hosted::new();
    let name = format!("unlikely-{}", std::process::id());
    let other = house.background(&["-c", &format!("exec -a {name} sleep 1000")]);
    // A pattern in brackets does not match the command line it stands in.
    let killer = house.background(&["-c", &format!("pkill -f '[u]{}'", &name[1..])]);
    drop(house.run(&["wait", &killer, "--timeout", "30s"]).expect(0));
    let over = house.json(&["wait", &other, "--timeout", "30s"]);
    assert_eq!((&over["status"]["kind"], &over["status"]["signal"]), (&"signalled".into(), &15.into()), "{over}");
}
