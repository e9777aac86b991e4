//! Lines to records: repeats fold as they are read, so that memory is bounded by what is distinct, not by what is long.
//!
//! This must never fold two failures that differ: lines of a low kind fold when only their numbers differ, all others
//! when they are equal.

use crate::classify::{Class, Shape, caret};
use crate::memo::Memo;

/// Records kept at most: they take 28 MiB, less than a text that has so many.
const RECORDS: usize = 1 << 19;
/// Records of a low kind that survive at either end when the limit is met.
const ENDS: usize = 1 << 12;

const _: () = assert!(size_of::<Record>() <= 56, "the memory that RECORDS promises");

/// One line, or a run of lines that look alike.
#[derive(Clone, Debug)]
pub struct Record {
    /// Where the first line is.
    pub start: u32,
    /// Its end, without the line break.
    pub end: u32,
    /// Where the last line is; the first again if there is only one.
    pub last_start: u32,
    /// Its end.
    pub last_end: u32,
    /// Bytes before its body.
    last_body: u16,
    /// Number of the first line, from 1.
    pub number: u32,
    /// Lines in the run.
    pub count: u32,
    /// Whether all of them are equal, timestamps aside.
    pub equal: bool,
    /// What the line is.
    pub shape: Shape,
}

impl Record {
    /// The first line.
    #[must_use]
    pub fn line<'t>(&self, text: &'t str) -> &'t str {
        &text[self.start as usize..self.end as usize]
    }

    /// The last line.
    #[must_use]
    pub fn last_line<'t>(&self, text: &'t str) -> &'t str {
        &text[self.last_start as usize..self.last_end as usize]
    }

    /// The first line behind its timestamp and the like.
    #[must_use]
    pub fn body<'t>(&self, text: &'t str) -> &'t [u8] {
        &text.as_bytes()[self.start as usize + usize::from(self.shape.body)..self.end as usize]
    }

    /// The number behind the last line.
    #[must_use]
    pub fn next_number(&self) -> u32 {
        self.number + self.count
    }

    /// Whether the line itself says that something went wrong.
    #[must_use]
    pub fn is_anchor(&self) -> bool {
        self.shape.class.is_anchor()
    }
}

/// A text's records and what was counted on the way.
#[derive(Clone, Debug, Default)]
pub struct Folded {
    /// In the order of the text; numbers tell what is missing between two.
    pub records: Vec<Record>,
    /// Lines of the text.
    pub lines: u32,
}

/// Reads a text of less than 4 GiB.
#[must_use]
pub fn fold(text: &str) -> Folded {
    let bytes = text.as_bytes();
    let drawn_over = memchr::memchr(b'\r', bytes).is_some();
    let caret_colour = caret(bytes).is_some();
    let mut memo = Memo::new(bytes, caret_colour);
    let mut folded = Folded::default();
    let mut limit = RECORDS;
    let mut start = 0;
    while start < bytes.len() {
        let end = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |found| start + found);
        if start == end
            && let Some(last) = folded.records.last_mut()
            && last.shape.class == Class::Blank
            && last.last_start == last.last_end
        {
            // A text of nothing but line breaks costs no more than any other.
            folded.lines += 1;
            last.count += 1;
            (last.last_start, last.last_end) = (start as u32, end as u32);
            start += 1;
            continue;
        }
        let (from, to) = if drawn_over { last_frame(&bytes[start..end]) } else { (0, end - start) };
        let (from, to) = (start + from, start + to);
        let shape = memo.classify(from, to);
        folded.lines += 1;
        let number = folded.lines;
        if !folded.records.last_mut().is_some_and(|last| extend(last, text, shape, from as u32, to as u32, false)) {
            let (start, end) = (from as u32, to as u32);
            let record = Record {
                start,
                end,
                last_start: start,
                last_end: end,
                last_body: shape.body,
                number,
                count: 1,
                equal: true,
                shape,
            };
            folded.records.push(record);
            if folded.records.len() >= limit {
                limit = thin(&mut folded.records);
            }
        }
        start = end + 1;
    }
    folded
}

/// Folds runs of ordinary lines that differ in numbers only. For a text that must be cut anyway.
pub fn fold_plain(folded: &mut Folded, text: &str) {
    folded.records.dedup_by(|next, last| {
        let adjacent = last.next_number() == next.number;
        let plain = next.shape.class == Class::Plain && next.count == 1;
        adjacent && plain && extend(last, text, next.shape, next.start, next.end, true)
    });
}

/// What stays of a line that was drawn over: the last frame that is not empty.
fn last_frame(line: &[u8]) -> (usize, usize) {
    let Some(found) = memchr::memrchr(b'\r', line) else { return (0, line.len()) };
    let mut from = found + 1;
    let mut to = line.len();
    while from == to && to > 0 {
        to = from - 1;
        from = memchr::memrchr(b'\r', &line[..to]).map_or(0, |found| found + 1);
    }
    (from, to)
}

/// Takes a line into a record, if it is like it.
fn extend(last: &mut Record, text: &str, shape: Shape, start: u32, end: u32, plain: bool) -> bool {
    if last.shape.template != shape.template || last.shape.class != shape.class {
        return false;
    }
    let body = &text.as_bytes()[start as usize + usize::from(shape.body)..end as usize];
    let last_body = &text.as_bytes()[last.last_start as usize + usize::from(last.last_body)..last.last_end as usize];
    let equal = last.equal && body == last_body;
    let folds = shape.class.folds() || plain && shape.class == Class::Plain;
    if !equal && !folds {
        return false;
    }
    last.equal = equal;
    last.count += 1;
    last.last_start = start;
    last.last_end = end;
    last.last_body = shape.body;
    true
}

/// Drops records of low kinds from the middle, then of higher ones, until half the room is free; the new limit.
fn thin(records: &mut Vec<Record>) -> usize {
    for class in [Class::Info, Class::Plain, Class::Frame, Class::Cause, Class::Terminal] {
        let last = records.len().saturating_sub(ENDS);
        let mut at = 0;
        records.retain(|record| {
            at += 1;
            at <= ENDS || at > last || record.shape.class > class
        });
        if records.len() <= RECORDS / 2 {
            break;
        }
    }
    RECORDS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Vec<u32> {
        fold(text).records.iter().map(|record| record.count).collect()
    }

    #[test]
    fn progress_that_differs_in_numbers_is_one_record() {
        assert_eq!(counts("[1/3] CC a1.o\n[2/3] CC a2.o\n[3/3] CC a3.o\nlinked\n"), [3, 1]);
    }

    #[test]
    fn errors_fold_only_when_they_are_equal() {
        assert_eq!(counts("error: a 1\nerror: a 2\nerror: a 2\n"), [1, 2]);
    }

    #[test]
    fn timestamps_do_not_keep_equal_errors_apart() {
        assert_eq!(counts("2024-01-01T10:00:00Z error: gone\n2024-01-01T10:00:01Z error: gone\n"), [2]);
    }

    #[test]
    fn ordinary_lines_that_differ_in_numbers_fold_only_on_demand() {
        let text = "row 1\nrow 2\nrow 3\n";
        let mut folded = fold(text);
        assert_eq!(folded.records.len(), 3);
        fold_plain(&mut folded, text);
        assert_eq!(folded.records.iter().map(|record| record.count).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_line_that_was_drawn_over_is_its_last_frame() {
        let text = "get 1%\rget 2%\rget 100%\r\nend\n";
        let folded = fold(text);
        assert_eq!(folded.records[0].line(text), "get 100%");
        assert_eq!(fold("\r\r\n").records[0].line("\r\r\n"), "");
    }

    #[test]
    fn memory_stays_bounded_and_errors_survive_in_a_text_of_many_distinct_lines() {
        let mut text = String::new();
        for n in 0..700_000u32 {
            let letter = |shift: u32| char::from(b'a' + ((n >> shift) & 15) as u8);
            if n == 400_000 {
                text.push_str("error: the one that matters\n");
            }
            for shift in [0, 4, 8, 12, 16] {
                text.push(letter(shift));
            }
            text.push('\n');
        }
        let folded = fold(&text);
        assert_eq!(folded.lines, 700_001);
        assert!(folded.records.len() < RECORDS);
        assert!(folded.records.iter().any(|record| record.line(&text).starts_with("error:")));
        assert!(folded.records.is_sorted_by_key(|record| record.number));
    }
}
