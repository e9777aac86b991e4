//! One host a home: started by whoever needs it, reached by its own user only, wherever its home is.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use hermes_tests::hosted::Hosted;
use hermes_tests::{home, hosted, wait};

/// A user that no test is.
const NOBODY: u32 = 65534;
/// So many commands are started at the same time.
const AT_ONCE: usize = 20;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_background_command_starts_a_host_and_a_second_one_uses_it() {
    let house = Hosted::new();
    let first = house.background(&["--", "sleep", "1000"]);
    let host = house.host().expect("a host runs");
    let second = house.background(&["--", "sleep", "1000"]);
    assert_ne!(first, second);
    assert_eq!(house.host(), Some(host));
    assert_eq!(house.rows(&[]).len(), 2);
}

#[test]
fn twenty_commands_at_once_start_one_host() {
    let house = Hosted::new();
    let begun: Vec<_> =
        (0..AT_ONCE).map(|_| house.home().command(["run", "-b", "--", "sleep", "1000"]).spawn().unwrap()).collect();
    let mut ids: Vec<String> = begun
        .into_iter()
        .map(|child| home::ran(wait::end_of("hermes", child, wait::PATIENCE)).expect(0).stdout.trim().to_owned())
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), AT_ONCE);
    // Those that came too late have ended, or end now.
    wait::until("one host alone", wait::PATIENCE, || (house.hosts().len() == 1).then_some(()));
    let mut listed: Vec<String> = house.rows(&[]).iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    listed.sort();
    assert_eq!(listed, ids);
}

#[test]
fn the_socket_and_the_home_are_private() {
    let house = Hosted::untouched();
    house.background(&["--", "sleep", "1000"]);
    let socket = house.root().join("host.sock");
    assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
    assert_eq!((mode(&socket), mode(&house.root())), (0o600, 0o700));
    assert_eq!(mode(&house.root().join("state.db")) & 0o077, 0, "others may read the ledger");
    assert_eq!(mode(&house.root().join("logs").join("host.log")) & 0o077, 0, "others may read the log");
}

/// Greets whoever listens at a socket, and prints what it answers.
const GREET: &str = r#"
    use IO::Socket::UNIX;
    my $host = IO::Socket::UNIX->new(Type => SOCK_STREAM, Peer => $ARGV[0]) or die "not reached: $!\n";
    $SIG{PIPE} = 'IGNORE';
    print $host '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
        . '"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}' . "\n";
    $host->flush;
    my $answer = <$host>;
    print defined $answer ? "answered: $answer" : "turned away\n";
"#;

fn greeting(user: u32, socket: &Path) -> String {
    let mut perl = Command::new("perl");
    perl.args(["-e", GREET]).arg(socket).current_dir("/").uid(user);
    perl.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    home::finish(perl, wait::PATIENCE).all()
}

#[test]
fn another_user_is_turned_away_even_where_the_files_let_it_in() {
    // Only root can be somebody else; for everybody else the modes of the files are the test.
    let house = Hosted::new();
    house.background(&["--", "sleep", "1000"]);
    let socket = house.root().join("host.sock");
    let own = nix::unistd::getuid().as_raw();
    assert!(greeting(own, &socket).starts_with("answered: "), "{}", greeting(own, &socket));
    if own != 0 {
        assert_eq!((mode(&socket), mode(&house.root())), (0o600, 0o700));
        return;
    }
    for (path, open) in [(house.home().everything(), 0o711), (house.root().as_path(), 0o711), (&socket, 0o666)] {
        fs::set_permissions(path, fs::Permissions::from_mode(open)).unwrap();
    }
    assert_eq!(greeting(NOBODY, &socket), "turned away\n");
    let log = fs::read_to_string(house.root().join("logs").join("host.log")).unwrap();
    assert!(log.contains("another user") && log.contains(&NOBODY.to_string()), "{log}");
    assert!(greeting(own, &socket).starts_with("answered: "), "the host no longer answers its own user");
}

#[test]
fn the_socket_of_a_host_that_was_killed_is_replaced() {
    let house = Hosted::new();
    house.background(&["--", "true"]);
    house.crash();
    assert!(house.root().join("host.sock").exists(), "a killed host removes nothing");
    let id = house.background(&["--", "sleep", "1000"]);
    assert_eq!(house.row(&id).unwrap()["status"]["kind"], "running");
    assert_eq!(mode(&house.root().join("host.sock")), 0o600);
}

#[test]
fn a_home_with_a_name_longer_than_a_socket_may_have_works() {
    let house = Hosted::new();
    let long = house.home().work().join("l".repeat(200));
    let long = long.to_str().unwrap();
    let ran = house.run(&["--home", long, "run", "-b", "--notify", "-c", "echo far away"]).expect(0);
    let id = ran.stdout.trim();
    let ran = house.run(&["--home", long, "wait", id]).expect(0);
    assert_eq!(ran.stdout, "far away\n");
    let rows = house.json(&["--home", long, "ps"]);
    assert_eq!(rows["processes"][0]["id"], id);
}

#[test]
fn a_relative_home_is_the_same_home_for_the_host() {
    let house = Hosted::new();
    let id = house.run(&["--home", "near", "run", "-b", "--", "sleep", "1000"]).expect(0).stdout;
    assert!(house.home().work().join("near").join("host.sock").exists());
    let rows = house.json(&["--home", house.home().work().join("near").to_str().unwrap(), "ps"]);
    assert_eq!(rows["processes"][0]["id"], id.trim());
}

#[test]
fn a_profile_has_a_host_of_its_own() {
    let house = Hosted::new();
    let ours = house.background(&["--", "sleep", "1000"]);
    let ran = house.run(&["--profile", "second", "run", "-b", "--", "sleep", "1000"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(house.hosts().len(), 2);
    let rows = house.json(&["--profile", "second", "ps", "--all"]);
    assert_eq!(rows["processes"].as_array().unwrap().len(), 1);
    assert_ne!(rows["processes"][0]["id"], ours);
}

#[test]
fn a_second_host_in_a_home_is_refused_in_words() {
    let house = Hosted::new();
    let mut first = house.serve(&[]);
    let second = house.run(&["serve"]).expect(1);
    assert!(second.stderr.contains("a host of this home runs already"), "{second:?}");
    assert!(second.stderr.contains("hermes ps"), "no next step: {second:?}");
    assert_eq!(first.try_wait().unwrap(), None, "the first one ended");
    assert!(house.background(&["--", "true"]).starts_with("proc_"));
    hosted::signal(i32::try_from(first.id()).unwrap(), nix::sys::signal::Signal::SIGTERM);
    assert_eq!(first.wait().unwrap().code(), Some(0));
}

#[test]
fn whoever_comes_while_a_host_ends_is_told_so_or_served_by_the_next_one() {
    let house = Hosted::untouched();
    house.home().configure("[host]\nidle_exit = \"90s\"\n[terminal]\nterm_grace = \"2s\"\n");
    house.background(&["-c", "trap '' TERM; echo $$ > deaf.pid; while :; do sleep 1; done"]);
    hosted::pid_in(&house.home().work().join("deaf.pid"));
    let first = house.host().expect("a host runs");
    hosted::signal(first, nix::sys::signal::Signal::SIGTERM);
    let id = wait::until("a command that is taken", wait::PATIENCE, || {
        let ran = house.run(&["run", "-b", "--", "sleep", "1000"]);
        if ran.code == Some(0) {
            // The first one takes commands until it hears the signal, and ends them then.
            return (!hosted::runs(first)).then(|| ran.stdout.trim().to_owned());
        }
        assert!(ran.code == Some(125) && ran.stderr.contains("ending"), "refused without the reason: {ran:?}");
        None
    });
    assert_eq!(house.row(&id).unwrap()["status"]["kind"], "running");
}
