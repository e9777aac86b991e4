//! `hermes plugins watch`: what is saved is built, tested and in force; what does not build is shown.

use std::fs;

use hermes_tests::home::TestHome;
use hermes_tests::{registries, wait};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

#[test]
fn each_save_is_built_tested_and_put_in_force_and_a_build_that_fails_is_shown() {
    let home = TestHome::new();
    drop(home.run(["plugins", "new", "watched-ids", "--hook", "redact"]).expect(0));
    let project = home.work().join("watched-ids");
    let (out, err) = (home.work().join("out"), home.work().join("err"));
    let mut command = home.command(["plugins", "watch", "--install", "watched-ids"]);
    registries::cargo(&mut command);
    command.stdout(fs::File::create(&out).unwrap()).stderr(fs::File::create(&err).unwrap());
    let mut watch = command.spawn().unwrap();
    let seen = || fs::read_to_string(&out).unwrap_or_default() + &fs::read_to_string(&err).unwrap_or_default();
    let until = |what: &str, times: usize| {
        wait::until(what, wait::BUILD_PATIENCE, || (seen().matches(what).count() >= times).then_some(()));
    };
    let shown = |text: &str| home.run(["run", "--", "echo", text]).expect(0).stdout;

    until("Ctrl-C ends", 1);
    assert!(seen().contains("watched-ids: ") && seen().contains("installed watched-ids"), "{}", seen());
    assert_eq!(shown("user id-42 left"), "user [REDACTED:id] left\n");

    let source = fs::read_to_string(project.join("src/lib.rs")).unwrap();
    fs::write(project.join("src/lib.rs"), "this is no Rust").unwrap();
    until("Ctrl-C ends", 2);
    assert!(seen().contains("does not build") && seen().contains("saved: watched-ids/src/lib.rs"), "{}", seen());
    assert_eq!(shown("user id-42 left"), "user [REDACTED:id] left\n");

    // The source alone no longer shows what the canaries promise, so it is not put in force.
    fs::write(project.join("src/lib.rs"), source.replace("id-", "ticket-")).unwrap();
    until("Ctrl-C ends", 3);
    assert!(seen().contains("fail canary: an id"), "{}", seen());
    assert_eq!(shown("user id-42 left"), "user [REDACTED:id] left\n");

    let manifest = fs::read_to_string(project.join("plugin.toml")).unwrap();
    fs::write(project.join("plugin.toml"), manifest.replace("id-", "ticket-")).unwrap();
    until("Ctrl-C ends", 4);
    assert_eq!(shown("user ticket-42 left"), "user [REDACTED:id] left\n");

    kill(Pid::from_raw(i32::try_from(watch.id()).unwrap()), Signal::SIGINT).unwrap();
    let status = wait::until("the end of the watch", wait::PATIENCE, || watch.try_wait().unwrap());
    assert_eq!(status.code(), Some(130), "{}", seen());
}
