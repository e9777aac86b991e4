//! How a summary is written down: the header, the marks for what is missing, and the cut of a long line.
//!
//! This must never write a word of judgement, split a token or a mask, or join two lines.

use std::fmt::Write as _;

/// The name in the header.
const NAME: &str = "summarize-output";

/// Bytes of the longest mark in a text of so many lines: the most words of one, and the most numbers of one.
#[must_use]
pub fn mark_size(lines: u32) -> usize {
    const WORDS: usize = "[... the same  more times, last on line ]\n".len();
    const NUMBERS: usize = 4;
    let digits = lines.max(1).ilog10() as usize + 1;
    WORDS + NUMBERS * (digits + digits / 3)
}

/// Longest header.
pub const HEADER: usize = 120;

/// How the run ended, as the host says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With an exit code.
    Exit(i32),
    /// By a signal.
    Signal(u8),
    /// Its time ran out and the host ended it.
    TimedOut,
    /// Somebody had the host end it.
    Stopped,
    /// The host does not know, or it has not ended.
    Unknown,
}

impl Ended {
    /// Whether it is known to have failed.
    #[must_use]
    pub fn failed(self) -> bool {
        !matches!(self, Self::Exit(0) | Self::Unknown)
    }

    /// Whether it did not end by itself; a shell reports a signal as 128 and its number.
    #[must_use]
    pub fn killed(self) -> bool {
        /// The largest exit code that a program chooses by custom.
        const CHOSEN: i32 = 128;
        match self {
            Self::Exit(code) => code > CHOSEN,
            Self::Signal(_) | Self::TimedOut | Self::Stopped => true,
            Self::Unknown => false,
        }
    }

    fn write(self, out: &mut String) {
        let _ = match self {
            Self::Exit(code) => write!(out, "exit {code}"),
            Self::Signal(signal) => write!(out, "signal {signal}"),
            Self::TimedOut => write!(out, "timed out"),
            Self::Stopped => write!(out, "stopped"),
            Self::Unknown => write!(out, "no exit status"),
        };
    }
}

/// What the header says.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// How the run ended.
    pub ended: Ended,
    /// Lines of the whole text.
    pub lines: u32,
    /// Its bytes.
    pub bytes: usize,
    /// Lines kept.
    pub kept: u32,
}

impl Header {
    /// Writes the header; in short when a text is so small that the header would outweigh what is left out.
    pub fn write(&self, out: &mut String, short: bool) {
        out.push('[');
        self.ended.write(out);
        if !short {
            out.push_str("; ");
            number(out, u64::from(self.lines));
            out.push_str(" lines, ");
            size(out, self.bytes);
            out.push_str("; ");
            number(out, u64::from(self.kept));
            let _ = write!(out, " lines kept by {NAME}");
        }
        out.push_str("]\n");
    }
}

/// A number with commas between thousands.
fn number(out: &mut String, value: u64) {
    let digits = value.to_string();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
}

/// Bytes in the unit a reader would choose.
fn size(out: &mut String, bytes: usize) {
    const KIB: usize = 1024;
    const MIB: usize = KIB * KIB;
    let _ = match bytes {
        0..KIB => write!(out, "{bytes} bytes"),
        KIB..MIB => write!(out, "{} KiB", bytes.div_ceil(KIB)),
        _ => write!(out, "{} MiB", bytes.div_ceil(MIB)),
    };
}

/// `12-40`, or `12` alone.
fn range(out: &mut String, first: u32, last: u32) {
    let _ = if first == last { write!(out, "{first}") } else { write!(out, "{first}-{last}") };
}

/// Marks lines that are left out, and how many of them look like failures; in short like [`Header::write`].
pub fn omitted(out: &mut String, first: u32, last: u32, failures: u32, short: bool) {
    let count = last - first + 1;
    if short && count == 1 {
        let _ = writeln!(out, "[... line {first}]");
        return;
    }
    out.push_str("[... ");
    number(out, u64::from(count));
    out.push_str(if count == 1 { " line omitted (" } else { " lines omitted (" });
    range(out, first, last);
    if failures > 0 {
        out.push_str("; ");
        number(out, u64::from(failures));
        out.push_str(" with errors");
    }
    out.push_str(")]\n");
}

/// Marks the middle of a run of lines that look alike.
pub fn folded(out: &mut String, first: u32, last: u32, equal: bool) {
    let count = last - first + 1;
    out.push_str("[... ");
    if equal {
        out.push_str("the same ");
    }
    number(out, u64::from(count));
    out.push_str(match (equal, count) {
        (true, 1) => " more time (",
        (true, _) => " more times (",
        (false, 1) => " similar line (",
        (false, _) => " similar lines (",
    });
    range(out, first, last);
    out.push_str(")]\n");
}

/// Marks a line that stands in the text again, further down.
pub fn again(out: &mut String, more: u32, last: u32) {
    out.push_str("[... the same ");
    number(out, u64::from(more));
    let _ = writeln!(out, " more {}, last on line {last}]", if more == 1 { "time" } else { "times" });
}

/// Bytes of `…+N bytes` at most.
const CUT: usize = 24;

/// Where a line is cut: its length if it fits, else the last white space before the limit, which no token and no mask
/// contains; 0 if there is none.
#[must_use]
pub fn cut(line: &str, limit: usize) -> usize {
    if line.len() <= limit.saturating_add(CUT) {
        return line.len();
    }
    let front = &line.as_bytes()[..=limit];
    let blank = memchr::memrchr2(b' ', b'\t', front).unwrap_or(0);
    line[..blank].trim_end_matches([' ', '\t']).len()
}

/// Bytes a line takes when it is cut at a limit, with its line break.
#[must_use]
pub fn cost(line: &str, limit: usize) -> usize {
    let kept = cut(line, limit);
    if kept == line.len() { kept + 1 } else { kept + CUT + 1 }
}

/// Writes a line, cut at the limit.
pub fn line(out: &mut String, line: &str, limit: usize) {
    let kept = cut(line, limit);
    out.push_str(&line[..kept]);
    if kept < line.len() {
        let _ = write!(out, "\u{2026}+{} bytes", line.len() - kept);
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_states_the_end_and_the_sizes() {
        let header = Header { ended: Ended::Exit(1), lines: 2_431, bytes: 97_000, kept: 118 };
        let mut out = String::new();
        header.write(&mut out, false);
        assert_eq!(out, "[exit 1; 2,431 lines, 95 KiB; 118 lines kept by summarize-output]\n");
        out.clear();
        Header { ended: Ended::Signal(9), ..header }.write(&mut out, true);
        assert_eq!(out, "[signal 9]\n");
    }

    #[test]
    fn marks_fit_their_bound_and_name_the_lines() {
        let mut out = String::new();
        omitted(&mut out, 88, 499, 0, false);
        assert_eq!(out, "[... 412 lines omitted (88-499)]\n");
        for lines in [9, 10, 999, 1_000, 1_234_567, u32::MAX] {
            let mut marks = [String::new(), String::new(), String::new()];
            omitted(&mut marks[0], 1, lines, lines, false);
            folded(&mut marks[1], 2, lines, true);
            again(&mut marks[2], lines, lines);
            assert!(marks.iter().all(|mark| mark.len() <= mark_size(lines)), "{marks:?}");
        }
    }

    #[test]
    fn a_long_line_is_cut_at_white_space_and_an_unbroken_one_is_left_out() {
        let mut out = String::new();
        line(&mut out, &format!("{} key=[REDACTED:token]{}", "a".repeat(30), "b".repeat(90)), 40);
        assert_eq!(out, format!("{}\u{2026}+111 bytes\n", "a".repeat(30)));
        out.clear();
        line(&mut out, &"x".repeat(500), 40);
        assert_eq!(out, "\u{2026}+500 bytes\n");
    }
}
