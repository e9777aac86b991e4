//! Shapes of processes: what stands between whoever starts a server and the server, and what it leaves behind.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::{Pid, setsid};

use crate::given::{Given, own_file};

/// How often one that forks while it dies does so.
const HEIRS: &str = "30";
/// How many descendants are left in sessions of their own.
const FIFTY: usize = 50;

/// Takes on the shape that the first word names, and goes on with the rest. None: it names none.
pub(crate) fn shape(word: &str, given: &Given) -> Option<ExitCode> {
    let rest: Vec<&str> = given.words.iter().skip(1).map(String::as_str).collect();
    match word {
        // A background job of a shell has no input unless it is kept for it.
        "under-shell" => {
            let mut shell = Command::new("/bin/sh");
            shell
                .args(["-c", "exec 3<&0; \"$0\" \"$@\" <&3 3<&- & exec 3<&-; wait"])
                .arg(own_file())
                .args(given.arguments(&rest));
            Some(ended(shell.exec()))
        }
        "in-session" => {
            // Whoever leads a group already has one of its own.
            let _ = setsid();
            Some(ended(given.again(&rest).exec()))
        }
        "parent-gone" => {
            let _ = given.again(&rest).spawn();
            Some(ExitCode::SUCCESS)
        }
        "twice-forked" => {
            let words: Vec<&str> = ["parent-gone", "in-session"].into_iter().chain(rest).collect();
            let _ = given.again(&words).status();
            for_ever()
        }
        "launcher" => Some(launch(given.again(&rest))),
        "sleeper" => for_ever(),
        "heir" => heir(given, rest.first().copied().unwrap_or(HEIRS)),
        _ => None,
    }
}

fn ended(error: std::io::Error) -> ExitCode {
    crate::out::complain(&format!("rude-server: {error}"));
    ExitCode::from(2)
}

/// Sleeps until somebody ends it.
pub(crate) fn for_ever() -> ! {
    loop {
        std::thread::park();
    }
}

/// Lets none of these signals reach this process, nor any thread that is started later.
pub(crate) fn deaf_to(signals: &[Signal]) -> SigSet {
    let set: SigSet = signals.iter().copied().collect();
    set.thread_block().expect("these signals can be blocked");
    set
}

/// As launchers do that start a server from a cache: waits for it, and hands two signals on.
fn launch(mut command: Command) -> ExitCode {
    let signals = deaf_to(&[Signal::SIGTERM, Signal::SIGINT]);
    let Ok(mut child) = command.spawn() else { return ExitCode::from(127) };
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap_or(0));
    std::thread::spawn(move || {
        while let Ok(signal) = signals.wait() {
            let _ = kill(pid, signal);
        }
    });
    let code = child.wait().ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(1))
}

/// Waits for its end, and leaves another one of its kind behind.
fn heir(given: &Given, left: &str) -> ! {
    let signals = deaf_to(&[Signal::SIGTERM]);
    let _ = signals.wait();
    leave_heir(given, left.parse::<u32>().unwrap_or(0));
    quit(0)
}

/// Starts one that forks while it dies, and whose children do.
pub(crate) fn leave_heir(given: &Given, left: u32) {
    if left > 0 {
        let _ = aside(given.again(&["heir", &(left - 1).to_string()])).spawn();
    }
}

/// The first heir.
pub(crate) fn first_heir(given: &Given) {
    leave_heir(given, HEIRS.parse().unwrap_or(0));
}

/// Fifty descendants, each in a session of its own, each without a parent.
pub(crate) fn fifty(given: &Given) {
    for _ in 0..FIFTY {
        let _ = aside(given.again(&["parent-gone", "in-session", "sleeper"])).status();
    }
}

/// A descendant that holds stdout and stderr, in a session of its own, without a parent.
pub(crate) fn daemon(given: &Given) {
    let _ = given.again(&["parent-gone", "in-session", "sleeper"]).stdin(Stdio::null()).status();
}

/// A descendant in a session of its own that has nothing of the environment any more, nor the folder. Only its arguments
/// still tell what it is.
pub(crate) fn escapee(given: &Given) {
    let mut command = aside(given.again(&["parent-gone", "in-session", "sleeper"]));
    let _ = command.env_clear().current_dir("/").status();
}

/// Without the streams of a server.
fn aside(mut command: Command) -> Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Ends this process at once, whatever its threads do.
#[expect(clippy::exit, reason = "a server that ends in the middle of a call ends from the thread of the call")]
pub(crate) fn quit(code: i32) -> ! {
    std::process::exit(code)
}

/// Ends this process as a fault does.
pub(crate) fn crash() -> ! {
    let own = Pid::this();
    loop {
        // The first one goes to the handler of the runtime, which gives the signal back its usual effect.
        let _ = kill(own, Signal::SIGSEGV);
    }
}
