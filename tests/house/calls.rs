//! Calls that belong to one room: printing, starting processes, reading the environment. And words no code may hold.

use hermes_tests::rust::{self, RustFile};
use hermes_tests::tree::{self, Offence, TextFile};

/// Where our Rust is.
const EVERYWHERE: [&str; 7] = ["host", "plugins", "plugin-sdk", "xtask", "tests", "bench", "fuzz"];

const PRINTS: [&str; 7] = ["println!", "eprintln!", "print!", "eprint!", "dbg!", "io::stdout(", "io::stderr("];
/// Printers: the command line, tasks, programs that exist to be run by tests or benchmarks, and what stands in for the
/// host's log when a plugin is tested natively.
const PRINTERS: [&str; 5] = ["host/cli/", "xtask/", "tests/", "bench/", "plugin-sdk/rust/src/host.rs"];

const SPAWNS: [&str; 7] = ["Command::new(", "posix_spawn", "fork(", "execv", "execl", "execve", "forkpty("];
const SPAWNERS: [&str; 4] = ["host/process/", "xtask/", "tests/", "bench/"];

const READS_ENVIRONMENT: [&str; 3] = ["env::var", "env::set_var", "env::remove_var"];
/// Files of `host/` that may look at the environment beside `home`, each with its reason.
const ENVIRONMENT_READERS: [(&str, &str); 1] =
    [("host/process/src/environment.rs", "takes the whole environment once, to filter it for children")];

/// What code may hold nowhere, tests included.
const UNFINISHED: [&str; 3] = ["todo!", "unimplemented!", "#[ignore"];

fn outside(file: &RustFile, allowed: &[&str]) -> bool {
    !allowed.iter().any(|folder| file.path.starts_with(folder)) && !is_build_script(file) && !is_example(file)
}

/// Build scripts talk to cargo by printing, and may run compilers.
fn is_build_script(file: &RustFile) -> bool {
    file.path.ends_with("/build.rs") || file.path.contains("/build/")
}

fn is_example(file: &RustFile) -> bool {
    file.path.contains("/examples/")
}

fn prints(files: &[RustFile]) -> Vec<Offence> {
    files.iter().filter(|file| outside(file, &PRINTERS)).flat_map(|file| file.find_shipped(&PRINTS)).collect()
}

fn spawns(files: &[RustFile]) -> Vec<Offence> {
    files.iter().filter(|file| outside(file, &SPAWNERS)).flat_map(|file| file.find_shipped(&SPAWNS)).collect()
}

fn reads_environment(files: &[RustFile]) -> Vec<Offence> {
    let in_host = |file: &&RustFile| file.path.starts_with("host/") && !file.path.starts_with("host/home/");
    let excepted = |file: &&RustFile| ENVIRONMENT_READERS.iter().any(|(path, _)| file.path == *path);
    files
        .iter()
        .filter(in_host)
        .filter(|file| !excepted(file) && !is_build_script(file))
        .flat_map(|file| file.find_shipped(&READS_ENVIRONMENT))
        .collect()
}

/// An environment read with a name of ours on the same line: not even an excepted file may do that. Examples are programs
/// of their own, with variables of their own.
fn reads_our_variables(files: &[RustFile]) -> Vec<Offence> {
    let mut offences = Vec::new();
    for file in files.iter().filter(|file| outside(file, &["host/home/"])) {
        for offence in file.find_shipped(&READS_ENVIRONMENT) {
            let written = file.text.lines().nth(offence.line - 1).unwrap_or_default();
            if written.contains("\"HERMES_") {
                offences.push(offence);
            }
        }
    }
    offences
}

fn unfinished(files: &[RustFile]) -> Vec<Offence> {
    files.iter().flat_map(|file| file.find(&UNFINISHED)).collect()
}

#[test]
fn only_the_command_line_prints() {
    tree::assert_none(
        "something prints outside host/cli and xtask",
        "return the text to host/cli, which prints it through its printer, or use tracing",
        prints(&rust::files(&EVERYWHERE)),
    );
}

#[test]
fn only_the_process_room_starts_processes() {
    tree::assert_none(
        "something starts a process outside host/process",
        "ask host/process, which registers, bounds and ends what it starts",
        spawns(&rust::files(&EVERYWHERE)),
    );
}

#[test]
fn only_home_reads_the_environment() {
    let files = rust::files(&EVERYWHERE);
    tree::assert_none(
        "something in host/ reads the environment outside host/home",
        "add the variable to host/home/src/variables.rs and pass the value on; an exception needs a reason in tests/house/calls.rs",
        reads_environment(&files),
    );
    tree::assert_none(
        "a HERMES_ variable is read outside host/home",
        "add the variable to host/home/src/variables.rs, with its documentation",
        reads_our_variables(&files),
    );
}

#[test]
fn the_exceptions_for_reading_the_environment_are_needed() {
    let files = rust::files(&["host"]);
    for (path, reason) in ENVIRONMENT_READERS {
        let file = files.iter().find(|file| file.path == path);
        let used = file.is_some_and(|file| !file.find_shipped(&READS_ENVIRONMENT).is_empty());
        assert!(used, "{path} no longer reads the environment ({reason}): remove it from tests/house/calls.rs");
    }
}

#[test]
fn nothing_is_left_unfinished_or_skipped() {
    tree::assert_none(
        "unfinished code or a skipped test",
        "finish it, or assert what happens today and say in a comment what is wrong with it",
        unfinished(&rust::files(&EVERYWHERE)),
    );
}

fn lines(found: Vec<Offence>) -> Vec<usize> {
    found.into_iter().map(|offence| offence.line).collect()
}

#[test]
fn each_kind_of_call_is_caught_outside_its_room_and_allowed_within() {
    let file = |path: &str, text: &str| [RustFile::new(TextFile { path: path.to_owned(), text: text.to_owned() })];
    let text = "fn f() { println!(\"x\") }\n\
                fn g() { std::process::Command::new(\"x\"); }\n\
                fn h() { std::env::var(\"HERMES_HOME\"); }\n\
                // println!(\"in words\")\n\
                #[cfg(test)]\nmod tests {\n fn t() { eprintln!(); todo!() }\n #[ignore]\n fn u() {}\n}\n";
    let room = file("host/output/src/a.rs", text);
    assert_eq!(lines(prints(&room)), [1]);
    assert_eq!(lines(spawns(&room)), [2]);
    assert_eq!(lines(reads_environment(&room)), [3]);
    assert_eq!(lines(reads_our_variables(&room)), [3]);
    assert_eq!(lines(unfinished(&room)), [7, 8]);
    assert!(prints(&file("host/cli/src/a.rs", text)).is_empty());
    assert!(spawns(&file("host/process/src/a.rs", text)).is_empty());
    assert!(reads_environment(&file("host/home/src/a.rs", text)).is_empty());
    assert_eq!(lines(reads_our_variables(&file("host/process/src/environment.rs", text))), [3]);
}
