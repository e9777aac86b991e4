//! From a text that may be shown to one that fits a reply: the first part, a notice, the last part.
//!
//! Only masked text is cut. A cut must never split a mask, a character or a token: half a mask hides that something was
//! there, and half a token is what a redactor can no longer recognise.

use crate::mask;

/// How much of a text is shown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// The longest text in bytes, without the notice that says what is missing.
    pub reply_bytes: usize,
    /// Where the rest is, such as `hermes logs ID`; named in the notice. Left out if longer than [`REST_MAX`].
    pub rest: Option<String>,
}

impl Limits {
    /// No limit: everything is shown.
    pub fn none() -> Self {
        Self { reply_bytes: usize::MAX, rest: None }
    }
}

/// The share of a reply that goes to the beginning of the text, in per cent; the end, where errors stand, gets the rest
/// (design: 40 and 60).
const HEAD_PERCENT: usize = 40;
/// The longest "where the rest is" a notice repeats, in bytes: a verb and an id have room.
pub const REST_MAX: usize = 256;
/// What a cut text may have beyond its limit, in bytes: the notice with its numbers at their longest (20 digits each),
/// `rest`, and two newlines.
pub const NOTICE_MAX: usize = REST_MAX + 256;

/// A text that fits.
pub(crate) struct Cut {
    pub(crate) text: String,
    /// Whether anything is missing.
    pub(crate) cut: bool,
}

/// A place where text was lost before: the line that stands for it, so that counts and line numbers stay true.
pub(crate) struct GapLine {
    /// The line, as it stands in the text, without its newline.
    pub(crate) line: String,
    /// The newlines that were lost.
    pub(crate) lines: u64,
    /// The bytes that were lost.
    pub(crate) bytes: u64,
}

impl GapLine {
    /// Describes a gap.
    pub(crate) fn new(lines: u64, bytes: u64) -> Self {
        let what = if lines == 0 { String::new() } else { format!("{} {}, ", grouped(lines), plural(lines)) };
        Self { line: format!("[... {what}{} not kept]", size(bytes)), lines, bytes }
    }

    /// Whether the line stands in a text.
    fn is_in(&self, text: &str) -> bool {
        memchr::memmem::find(text.as_bytes(), self.line.as_bytes()).is_some()
    }
}

/// Cuts a text to its limits. A text that fits is returned as it is.
pub(crate) fn cut(text: String, gap: Option<&GapLine>, limits: &Limits) -> Cut {
    if text.len() <= limits.reply_bytes {
        return Cut { text, cut: false };
    }
    let head_budget = limits.reply_bytes / 100 * HEAD_PERCENT + limits.reply_bytes % 100 * HEAD_PERCENT / 100;
    let tail_budget = limits.reply_bytes - head_budget;
    let head = &text[..head_end(&text, head_budget)];
    let tail = &text[tail_start(&text, text.len() - tail_budget)..];
    let hidden = &text[head.len()..text.len() - tail.len()];
    let notice = notice(head, hidden, gap, limits.rest.as_deref());

    let mut out = String::with_capacity(head.len() + tail.len() + notice.len() + 2);
    out.push_str(head);
    if !head.is_empty() && !head.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&notice);
    // A tail that begins with the end of a cut line brings the newline itself.
    if hidden.ends_with('\n') || !tail.is_empty() && !tail.starts_with('\n') {
        out.push('\n');
    }
    out.push_str(tail);
    Cut { text: out, cut: true }
}

/// Where the shown beginning ends: after the last whole line, unless that wastes more than half of `budget`; then at a
/// token's beginning.
pub(crate) fn head_end(text: &str, budget: usize) -> usize {
    if let Some(newline) = memchr::memrchr(b'\n', &text.as_bytes()[..budget])
        && newline >= budget / 2
    {
        return newline + 1;
    }
    back(text, budget)
}

/// Where the shown end begins: at the first whole line, unless that wastes more than half of what is left; then after a
/// token.
pub(crate) fn tail_start(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    if from == 0 || bytes[from - 1] == b'\n' {
        return from;
    }
    if let Some(newline) = memchr::memchr(b'\n', &bytes[from..])
        && newline < (text.len() - from) / 2
    {
        return from + newline + 1;
    }
    forward(text, from)
}

/// The last place at or before `at` that splits no character, mask or token.
pub(crate) fn back(text: &str, at: usize) -> usize {
    let mut at = text.floor_char_boundary(at);
    if at == text.len() {
        return at;
    }
    // The byte before and the byte at `at` in one mask: the place is inside it.
    if let Some((start, _)) = mask::mask_at(text, at)
        && start < at
    {
        return start;
    }
    let bytes = text.as_bytes();
    if is_token_byte(bytes[at]) {
        at = bytes[..at].iter().rposition(|&b| !is_token_byte(b)).map_or(0, |before| before + 1);
    }
    at
}

/// The first place at or after `at` that splits no character, mask or token.
pub(crate) fn forward(text: &str, at: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    if at == 0 || at >= text.len() {
        return at.min(text.len());
    }
    if let Some((start, end)) = mask::mask_at(text, at)
        && start < at
    {
        return end;
    }
    let bytes = text.as_bytes();
    if is_token_byte(bytes[at - 1]) {
        return bytes[at..].iter().position(|&b| !is_token_byte(b)).map_or(text.len(), |length| at + length);
    }
    at
}

/// The bytes tokens, keys and paths are made of.
fn is_token_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'+' | b'/' | b'=' | b'.' | b'-')
}

/// The line that says what is not shown.
fn notice(head: &str, hidden: &str, gap: Option<&GapLine>, rest: Option<&str>) -> String {
    let gap_hidden = gap.filter(|gap| gap.is_in(hidden));
    let gap_before = if gap_hidden.is_none() { gap.filter(|gap| gap.is_in(head)) } else { None };
    // The line of a gap stands for the lines lost there and is none of them.
    let lost = |gap: Option<&GapLine>| gap.map_or(0, |gap| gap.lines.saturating_sub(1));
    let first = 1 + newlines(head) + lost(gap_before);
    let inner = hidden.strip_suffix('\n').unwrap_or(hidden);
    let last = first + newlines(inner) + lost(gap_hidden);
    let bytes = hidden.len() as u64 + gap_hidden.map_or(0, |gap| gap.bytes.saturating_sub(gap.line.len() as u64));

    let whole = (head.is_empty() || head.ends_with('\n')) && hidden.ends_with('\n');
    let lines = match last - first + 1 {
        1 if whole => format!("1 line ({first})"),
        1 => format!("a part of line {first}"),
        many => format!("{} lines ({first}-{last})", grouped(many)),
    };
    let kept = gap_hidden.map_or(String::new(), |gap| format!(", {} of it not kept", size(gap.bytes)));
    let rest = rest.filter(|rest| rest.len() <= REST_MAX && !rest.chars().any(char::is_control));
    let rest = rest.map_or(String::new(), |rest| format!("; the rest: {rest}"));
    format!("[... {lines}, {} not shown{kept}{rest}]", size(bytes))
}

fn newlines(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}

fn plural(lines: u64) -> &'static str {
    if lines == 1 { "line" } else { "lines" }
}

/// A number with its thousands set apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The line that stands for bytes of a stream that nobody could keep up with.
pub(crate) fn skipped_line(bytes: u64) -> String {
    format!("[... {} not shown]\n", size(bytes))
}

/// A number of bytes for people, in binary units with one decimal.
pub(crate) fn size(bytes: u64) -> String {
    /// Units above the byte, each 1024 times the one before (IEC 80000-13).
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut tenths = u128::from(bytes) * 10 / 1024;
    let mut unit = 0;
    while tenths >= 10 * 1024 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limits(reply_bytes: usize) -> Limits {
        Limits { reply_bytes, rest: Some("hermes logs ID".to_owned()) }
    }

    fn numbered(lines: u32) -> String {
        (1..=lines).map(|n| format!("line {n:04}\n")).collect()
    }

    #[test]
    fn a_text_that_fits_is_not_touched() {
        let out = cut("ten bytes.".to_owned(), None, &limits(10));
        assert_eq!((out.text.as_str(), out.cut), ("ten bytes.", false));
    }

    #[test]
    fn whole_lines_are_kept_and_the_notice_names_the_missing_ones() {
        let out = cut(numbered(2000), None, &limits(1000));
        assert!(out.cut);
        let lines: Vec<&str> = out.text.lines().collect();
        assert_eq!(lines[39], "line 0040");
        assert_eq!(lines[40], "[... 1,900 lines (41-1940), 18.5 KiB not shown; the rest: hermes logs ID]");
        assert_eq!(lines[41], "line 1941");
        assert_eq!(*lines.last().unwrap(), "line 2000");
    }

    #[test]
    fn one_long_line_is_cut_between_tokens() {
        let text = "word-one word-two ".repeat(100);
        let out = cut(text, None, &limits(100));
        assert_eq!(
            out.text,
            "word-one word-two word-one word-two \n\
             [... a part of line 1, 1.6 KiB not shown; the rest: hermes logs ID]\n \
             word-one word-two word-one word-two word-one word-two "
                .replace("\n \nword", "\nword")
        );
    }

    #[test]
    fn a_token_longer_than_what_is_kept_is_dropped_whole() {
        let out = cut("x".repeat(5000), None, &limits(100));
        assert_eq!(out.text, "[... a part of line 1, 4.8 KiB not shown; the rest: hermes logs ID]");
        let out = cut(format!("{}\n", "x".repeat(5000)), None, &Limits { reply_bytes: 100, rest: None });
        assert_eq!(out.text, "[... a part of line 1, 4.8 KiB not shown]\n");
    }

    #[test]
    fn a_gap_counts_with_what_is_not_shown() {
        let gap = GapLine::new(5000, 1 << 20);
        let text = format!("{}{}\n{}", numbered(100), gap.line, numbered(100));
        let out = cut(text, Some(&gap), &limits(100));
        let notice = out.text.lines().find(|line| line.starts_with("[...")).unwrap();
        assert_eq!(
            notice,
            "[... 5,190 lines (5-5194), 1.0 MiB not shown, 1.0 MiB of it not kept; the rest: hermes logs ID]"
        );
    }

    #[test]
    fn a_gap_that_is_shown_moves_the_line_numbers() {
        let gap = GapLine::new(5000, 1 << 20);
        let text = format!("one\n{}\n{}", gap.line, numbered(1000));
        let out = cut(text, Some(&gap), &limits(1000));
        assert!(out.text.contains("lines (5038-"), "{}", out.text);
    }

    #[test]
    fn a_rest_that_is_too_long_or_not_plain_is_left_out() {
        for rest in ["r".repeat(REST_MAX + 1), "a\nb".to_owned(), "\u{1b}[2J".to_owned()] {
            let out = cut(numbered(50), None, &Limits { reply_bytes: 100, rest: Some(rest) });
            assert!(out.text.contains("not shown]"), "{}", out.text);
        }
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([grouped(7), grouped(1204), grouped(1_234_567)], ["7", "1,204", "1,234,567"]);
        assert_eq!([size(1023), size(1024), size(98_406)], ["1023 B", "1.0 KiB", "96.0 KiB"]);
        assert_eq!(size(u64::MAX), "16777216.0 TiB".replace("16777216.0", "16777215.9"));
        assert!(size(u64::MAX).len() < 20);
    }

    proptest! {
        #[test]
        fn a_cut_text_fits_and_splits_nothing(
            text in "([a-zA-Z0-9_.=/+-]{1,20}|\\[REDACTED:[a-z]{1,20}\\]|α€\u{1f600}| |\n){0,60}",
            reply_bytes in 0_usize..300,
        ) {
            let out = cut(text.clone(), None, &Limits { reply_bytes, rest: None });
            prop_assert!(out.text.len() <= reply_bytes + NOTICE_MAX);
            if !out.cut {
                prop_assert_eq!(out.text, text);
                return Ok(());
            }
            let at = out.text.find("[... ").unwrap();
            let end = at + out.text[at..].find(" not shown]").unwrap() + " not shown]".len();
            let head = out.text[..at].strip_suffix('\n').unwrap_or(&out.text[..at]);
            let splits = |at: usize| at != 0 && at != text.len() && (back(&text, at) != at || forward(&text, at) != at);
            // The newline after the notice is the notice's own, or the end of the line that was cut.
            let after = &out.text[end..];
            let tails = [after.strip_prefix('\n').unwrap_or(after), after];
            let tail = tails.into_iter().find(|t| text.ends_with(t) && !splits(text.len() - t.len()));
            prop_assert!(tail.is_some(), "{:?} of {:?}", after, text);
            let tail = tail.unwrap();
            prop_assert!(text.starts_with(head), "{:?} of {:?}", head, text);
            prop_assert!(!splits(head.len()), "{:?} of {:?}", head, text);
            prop_assert!(head.len() <= reply_bytes && head.len() + tail.len() <= reply_bytes);
        }

        #[test]
        fn places_that_split_nothing_stay_where_they_are(text in "([a-c-]{1,3}|\\[REDACTED:x\\]|α| ){0,20}", at in 0_usize..80) {
            let at = at.min(text.len());
            let (before, after) = (back(&text, at), forward(&text, at));
            prop_assert!(before <= at && at <= after);
            prop_assert!(text.is_char_boundary(before) && text.is_char_boundary(after));
            prop_assert_eq!((back(&text, before), forward(&text, after)), (before, after));
        }
    }
}
