//! What an interactive shell without a terminal complains of before it runs anything.
//!
//! Only whole lines that are exactly such a complaint count. Anything a command printed itself must come through, and
//! a prompt must not wait.

use Piece::{Number, Text};

/// Whether a line is a complaint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// It is not, and nothing that follows on the line makes it one.
    IsNot,
    /// It may become one.
    MayBecome,
    /// It is one, unless more follows on the line.
    Is,
}

enum Piece {
    Text(&'static str),
    Number,
}

/// Shells that have job control.
const SHELLS: &[&str] = &["bash", "sh", "dash", "zsh", "ash", "ksh", "mksh", "rbash"];
/// The longest path of a shell that is recognised.
const PATH_BYTES: usize = 64;
/// The most digits a process or errno number has.
const NUMBER_DIGITS: usize = 20;

/// What follows the shell's name and colon: bash's four messages and those of dash and its relatives.
const COMPLAINTS: &[&[Piece]] = &[
    &[Text(" cannot set terminal process group ("), Number, Text("): Inappropriate ioctl for device")],
    &[Text(" no job control in this shell")],
    &[Text(" initialize_job_control: no job control in background: Bad file descriptor")],
    &[Text(" ["), Number, Text(": "), Number, Text(" ("), Number, Text(")] tcsetattr: Inappropriate ioctl for device")],
    &[Text(" can't access tty; job control turned off")],
    &[Text(" "), Number, Text(": can't access tty; job control turned off")],
];

/// Judges the beginning of a line, without its newline.
pub(super) fn judge(line: &str) -> Verdict {
    let shell_end = line.bytes().take(PATH_BYTES).position(|byte| byte == b':');
    let shell = &line[..shell_end.unwrap_or(line.len())];
    if shell.len() > PATH_BYTES || !shell.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte)) {
        return Verdict::IsNot;
    }
    let name = match shell.rsplit_once('/') {
        Some((folder, name)) if folder.is_empty() || folder.starts_with('/') => name,
        Some(_) => return Verdict::IsNot,
        None => shell.strip_prefix('-').unwrap_or(shell),
    };
    match shell_end {
        Some(end) if SHELLS.contains(&name) => {
            let said = &line[end + 1..];
            COMPLAINTS.iter().map(|pieces| matches(pieces, said)).max().unwrap_or(Verdict::IsNot)
        }
        Some(_) => Verdict::IsNot,
        None if shell.starts_with('/') || SHELLS.iter().any(|known| known.starts_with(name)) => Verdict::MayBecome,
        None => Verdict::IsNot,
    }
}

fn matches(pieces: &[Piece], text: &str) -> Verdict {
    let mut rest = text;
    for piece in pieces {
        match piece {
            Text(wanted) => match rest.strip_prefix(wanted) {
                Some(after) => rest = after,
                None if wanted.starts_with(rest) => return Verdict::MayBecome,
                None => return Verdict::IsNot,
            },
            Number => {
                let digits = rest.strip_prefix('-').unwrap_or(rest);
                let after = digits.trim_start_matches(|char: char| char.is_ascii_digit());
                if digits.len() - after.len() > NUMBER_DIGITS {
                    return Verdict::IsNot;
                }
                if after.is_empty() {
                    return Verdict::MayBecome;
                }
                if after.len() == digits.len() {
                    return Verdict::IsNot;
                }
                rest = after;
            }
        }
    }
    if rest.is_empty() { Verdict::Is } else { Verdict::IsNot }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &[&str] = &[
        "bash: cannot set terminal process group (-1): Inappropriate ioctl for device",
        "bash: cannot set terminal process group (12345): Inappropriate ioctl for device",
        "/bin/bash: no job control in this shell",
        "-bash: no job control in this shell",
        "bash: [4242: 1 (255)] tcsetattr: Inappropriate ioctl for device",
        "sh: 0: can't access tty; job control turned off",
        "/bin/sh: can't access tty; job control turned off",
    ];

    #[test]
    fn every_complaint_is_recognised_and_so_is_each_beginning_of_it() {
        for line in LINES {
            assert_eq!(judge(line), Verdict::Is, "{line}");
            for end in 1..line.len() {
                assert_eq!(judge(&line[..end]), Verdict::MayBecome, "{}", &line[..end]);
            }
            assert_eq!(judge(&format!("{line} and more")), Verdict::IsNot, "{line}");
        }
    }

    #[test]
    fn what_commands_print_is_not_a_complaint() {
        for line in [
            "bash: foo: command not found",
            "Password:",
            "$ ",
            "> ",
            "login",
            "make: no job control in this shell",
            "bash/bash: no job control in this shell",
            "no job control in this shell",
            "see: bash: no job control in this shell",
            "bash: cannot set terminal process group (): Inappropriate ioctl for device",
            "é",
        ] {
            assert_eq!(judge(line), Verdict::IsNot, "{line}");
        }
    }

    #[test]
    fn a_beginning_without_end_is_given_up() {
        let long = format!("bash: cannot set terminal process group ({}", "1".repeat(NUMBER_DIGITS + 1));
        assert_eq!(judge(&long), Verdict::IsNot);
        assert_eq!(judge(&format!("/{}", "a".repeat(PATH_BYTES))), Verdict::IsNot);
    }
}
