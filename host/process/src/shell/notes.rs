//! What an exit code or a signal means, said beside the result, so that no reader takes a "no match" for a failure.
//!
//! A note must never repeat a word of the command, and never claim more than a code can say.

use std::borrow::Cow;

use hermes_model::exit;
use hermes_model::status::Status;

use super::scan::Kind;
use super::simple::{Simple, commands};

/// What the signals mean that people ask about, by their numbers on Linux (signal(7)). SIGINT is left out: whoever sent
/// it knows.
const SIGNALS: [(i32, &str); 11] = [
    (3, "SIGQUIT: somebody asked it to quit with a core dump"),
    (4, "SIGILL: it ran an instruction that this processor does not have; it may be built for another one"),
    (6, "SIGABRT: it ended itself after a failed check; its last lines usually say which"),
    (7, "SIGBUS: it touched memory that is not there; a file it has mapped may have been cut, or a disk is full"),
    (8, "SIGFPE: it divided by zero or overflowed an integer"),
    (9, "SIGKILL: somebody killed it at once, or the kernel did for lack of memory"),
    (11, "SIGSEGV: it touched memory that is not its own"),
    (13, "SIGPIPE: it wrote to a pipe whose reader was gone, as with '| head'"),
    (15, "SIGTERM: somebody asked it to end"),
    (24, "SIGXCPU: it used up its limit of processor time"),
    (25, "SIGXFSZ: it wrote past its limit of a file's size"),
];

/// Codes other than zero that are answers rather than failures: programs, code, meaning. From their manual pages.
const ANSWERS: [(&[&str], i32, &str); 9] = [
    (&["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"], 1, "exit code 1: nothing matched; this is no error"),
    (&["diff", "colordiff", "sdiff", "cmp"], 1, "exit code 1: the files differ; this is no error"),
    (&["test", "[", "[["], 1, "exit code 1: the condition is false; this is no error"),
    (&["find"], 1, "exit code 1: some folders could not be read; what is listed is right all the same"),
    (&["curl"], 6, "exit code 6: curl could not resolve the name of the host"),
    (&["curl"], 7, "exit code 7: curl could not connect; nothing may be listening there"),
    (&["curl"], 22, "exit code 22: the server answered with an HTTP error (400 or above)"),
    (&["curl"], 28, "exit code 28: curl's time ran out"),
    (
        &["git"],
        1,
        "exit code 1: git also says so when there is a difference, no match or nothing to commit; see its output",
    ),
];

/// What is worth saying about a command's end, if anything is.
///
/// A signal that ended the shell itself is certain. A code of 128 and a signal's number may be one that a command gave
/// by itself, and the note says so. The codes of single programs are read off the last command of the text: if that is
/// preceded by `&&`, the code may be an earlier one's, and the note says so too.
pub fn note(command: &str, status: &Status) -> Option<Cow<'static, str>> {
    match *status {
        Status::Signalled(signal) => Some(format!("ended by {}", meaning(signal)?).into()),
        Status::Exited(code) if code > exit::SIGNAL_BASE => {
            let meaning = meaning(code - exit::SIGNAL_BASE)?;
            Some(format!("exit code {code} may mean that a command in it was ended by {meaning}").into())
        }
        Status::Exited(code) if code > 0 => answer(command, code),
        _ => None,
    }
}

fn meaning(signal: i32) -> Option<&'static str> {
    SIGNALS.iter().find(|(number, _)| *number == signal).map(|(_, meaning)| *meaning)
}

fn answer(command: &str, code: i32) -> Option<Cow<'static, str>> {
    let (last, conditional) = last_command(command)?;
    let (_, _, meaning) = ANSWERS.iter().find(|(names, known, _)| *known == code && names.contains(&last))?;
    if conditional {
        Some(format!("if its last command was reached: {meaning}").into())
    } else {
        Some((*meaning).into())
    }
}

/// The name of the command whose code the shell returns, and whether it may not have been reached. None, where that is
/// a group or a loop.
fn last_command(text: &str) -> Option<(&str, bool)> {
    let (commands, tokens) = commands(text).ok()?;
    let ends = |kind| matches!(kind, Kind::Semicolon | Kind::Newline | Kind::Body);
    let outer: Vec<_> = tokens.iter().filter(|token| token.depth == 0).collect();
    let last = outer.iter().rposition(|token| !ends(token.kind))?;
    let outer = &outer[..=last];
    if matches!(outer[last].kind, Kind::Background) {
        return None;
    }
    let list = outer.iter().rposition(|token| matches!(token.kind, Kind::Semicolon | Kind::Newline | Kind::Background));
    let list = &outer[list.map_or(0, |at| at + 1)..];
    let segment = list.iter().rposition(|token| matches!(token.kind, Kind::And | Kind::Or | Kind::Pipe));
    let conditional = list.iter().any(|token| token.kind == Kind::And);
    let segment = &list[segment.map_or(0, |at| at + 1)..];
    // `! grep` and `[[ ]]` are keyword and brackets; the first turns the code around.
    let first = segment.first()?;
    if first.kind == Kind::Open {
        let written = &text[first.start..first.end];
        return (written == "[[" && segment.len() == 2).then_some(("[[", conditional));
    }
    let in_segment = |command: &&Simple<'_>| command.depth == 0 && command.start >= first.start;
    let command = commands.iter().find(in_segment)?;
    let turned = segment.iter().any(|token| token.kind == Kind::Keyword);
    let name = command.bare().first().copied().unwrap_or_else(|| command.name());
    (!turned).then(|| (name.rsplit('/').next().unwrap_or(name), conditional))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exited(command: &str, code: i32) -> Option<String> {
        note(command, &Status::Exited(code)).map(Cow::into_owned)
    }

    #[test]
    fn a_signal_is_certain_and_a_code_that_looks_like_one_is_not() {
        for (signal, meaning) in SIGNALS {
            assert_eq!(note("x", &Status::Signalled(signal)).unwrap(), format!("ended by {meaning}"));
            assert!(exited("x", 128 + signal).unwrap().contains("may mean"), "{signal}");
        }
    }

    #[test]
    fn an_interrupt_and_unknown_signals_need_no_note() {
        for signal in [1, 2, 10, 64] {
            assert_eq!(note("x", &Status::Signalled(signal)), None);
            assert_eq!(exited("x", 128 + signal), None);
        }
        assert_eq!(exited("x", 128), None);
        assert_eq!(exited("x", 255), None);
    }

    #[test]
    fn what_hermes_ended_needs_no_note() {
        let all = [Status::Running, Status::TimedOut, Status::Stopped("kill".into()), Status::Lost("x".into())];
        for status in all {
            assert_eq!(note("grep x y", &status), None);
        }
    }

    #[test]
    fn the_last_command_decides() {
        for text in [
            "grep x y",
            "cat y | grep x",
            "make; LANG=C /usr/bin/grep x y 2>/dev/null",
            "true || rg x\n",
            "grep x <<E\ny\nE\n",
            "grep \"$(cat x)\" y",
            "sudo grep x y",
        ] {
            assert!(exited(text, 1).is_some_and(|note| note.starts_with("exit code 1: nothing matched")), "{text}");
        }
        for text in [
            "grep x y | sort",
            "grep x y; false",
            "(grep x y)",
            "! grep x y",
            "echo 'grep x'",
            "X=1",
            "x & ",
            "grep 'x",
            "",
        ] {
            assert_eq!(exited(text, 1), None, "{text}");
        }
        assert_eq!(exited("grep x y", 2), None);
        assert_eq!(exited("grep x y", 0), None);
    }

    #[test]
    fn a_code_that_may_be_an_earlier_commands_is_hedged() {
        assert!(exited("make && grep x y", 1).is_some_and(|note| note.starts_with("if its last command was reached")));
        assert!(exited("a && b; grep x y", 1).is_some_and(|note| note.starts_with("exit code 1")));
    }

    #[test]
    fn each_answer_is_found() {
        for (names, code, meaning) in ANSWERS {
            for name in names {
                let text = if *name == "[[" { "[[ -f x ]]".to_owned() } else { format!("{name} x") };
                assert_eq!(exited(&text, code).as_deref(), Some(meaning), "{name}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_gets_an_answer_that_repeats_nothing_of_it(text in r#"(zebra|[ \n"'(){};#<>|&=$!]|grep |&& ){0,20}"#, code in 0..260) {
            let note = exited(&text, code).unwrap_or_default();
            prop_assert!(!note.contains("zebra"));
        }
    }
}
