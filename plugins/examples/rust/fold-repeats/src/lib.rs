//! An example transform: a line that repeats, many times in a row, becomes the line and `[repeated n times]`.
//!
//! Only the repetitions are replaced: the rest of the text is not copied.

use hermes_plugin_sdk::{Context, Edit, Failure, NoSettings, Outcome, Plugin, Transform};

/// The plugin.
pub struct FoldRepeats;

/// A line, and the same line again behind it.
#[derive(Default)]
struct Run<'a> {
    line: &'a str,
    times: usize,
    /// Where the repetitions begin.
    from: usize,
}

impl Run<'_> {
    /// The edit that folds it, if it ends at `end`.
    fn folded(&self, end: usize, with_break: bool) -> Option<Edit> {
        let line_break = if with_break { "\n" } else { "" };
        (self.times > 1)
            .then(|| Edit { range: self.from..end, text: format!("[repeated {} times]{line_break}", self.times) })
    }
}

impl Plugin for FoldRepeats {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Transform for FoldRepeats {
    fn apply(&mut self, _: &Context, text: &str) -> Result<Outcome, Failure> {
        let mut edits = Vec::new();
        let mut run = Run::default();
        let (mut at, mut with_break) = (0, false);
        for line in text.split_inclusive('\n') {
            let words = without_break(line);
            let end = at + line.len();
            if run.times > 0 && run.line == words {
                run.times += 1;
            } else {
                edits.extend(run.folded(at, with_break));
                run = Run { line: words, times: 1, from: end };
            }
            (at, with_break) = (end, words.len() < line.len());
        }
        edits.extend(run.folded(at, with_break));
        Ok(if edits.is_empty() { Outcome::Unchanged } else { Outcome::Edits(edits) })
    }
}

/// A line without the `\n` or `\r\n` at its end.
fn without_break(line: &str) -> &str {
    line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line))
}

hermes_plugin_sdk::export!(FoldRepeats: transform);

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> Outcome {
        FoldRepeats.apply(&Context::default(), text).unwrap()
    }

    #[test]
    fn repetitions_become_a_note_and_other_lines_stay() {
        let edit = Edit { range: 4..8, text: "[repeated 3 times]\n".to_owned() };
        assert_eq!(folded("a\nb\nb\nb\nc"), Outcome::Edits(vec![edit]));
        assert_eq!(folded("a\nb\na\n"), Outcome::Unchanged);
    }

    #[test]
    fn a_last_line_without_a_break_is_the_same_line() {
        let edit = Edit { range: 3..4, text: "[repeated 2 times]".to_owned() };
        assert_eq!(folded("b\r\nb"), Outcome::Edits(vec![edit]));
    }
}
