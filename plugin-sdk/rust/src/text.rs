//! Windows of text and the places found in them. Offsets are UTF-8 bytes; the arithmetic that authors get wrong is here.

use std::ops::Range;

/// A text to look at: a whole view, or the newest part of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window<'a> {
    /// Valid UTF-8, without control sequences.
    pub text: &'a str,
    /// Where text not seen before begins.
    pub fresh_from: usize,
    /// Whether text before this window was dropped, so that it may begin inside a secret.
    pub front_cut: bool,
    /// Whether nothing follows.
    pub last: bool,
}

impl<'a> Window<'a> {
    /// A window that is a whole text, as in a reply.
    pub fn view(text: &'a str) -> Self {
        Self { text, fresh_from: 0, front_cut: false, last: true }
    }

    /// Where the last line begins if more of it may follow; otherwise the end of the text.
    pub fn open_line(&self) -> usize {
        if self.last { self.text.len() } else { self.text.rfind('\n').map_or(0, |newline| newline + 1) }
    }
}

/// A place that must be masked, and the rule that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The bytes masked.
    pub range: Range<usize>,
    /// Lower-case letters, digits and `-`; stands in the mask.
    pub rule: String,
}

/// What a window holds: places to mask, and how far the text may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    /// Places to mask, in any order; overlaps are united by the host.
    pub spans: Vec<Span>,
    /// Text from here on may still become part of a secret when more arrives.
    pub show_until: usize,
    /// Text from here on must be in the next window. Never more than `show_until` is lost by naming an earlier place.
    pub need_from: usize,
}

impl Findings {
    /// Nothing found yet, and a last line that is not complete is held back: right for a rule that never looks across
    /// a line break.
    pub fn whole_lines(window: &Window<'_>) -> Self {
        let open = window.open_line();
        Self { spans: Vec::new(), show_until: open, need_from: open }
    }

    /// Nothing found yet, and all of the window may be shown: right where the answer for a byte never depends on later ones.
    pub fn whole_window(window: &Window<'_>) -> Self {
        Self { spans: Vec::new(), show_until: window.text.len(), need_from: window.text.len() }
    }

    /// Adds a place to mask. An empty range adds nothing.
    pub fn mask(&mut self, range: Range<usize>, rule: &str) {
        if range.start < range.end {
            self.spans.push(Span { range, rule: rule.to_owned() });
        }
    }

    /// Holds back the text from `from` on, and asks to see it again.
    pub fn hold(&mut self, from: usize) {
        self.show_until = self.show_until.min(from);
        self.need_from = self.need_from.min(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_last_line_is_held_back_and_a_closed_one_is_not() {
        let open = Window { text: "a\nbc", fresh_from: 0, front_cut: false, last: false };
        assert_eq!(Findings::whole_lines(&open).show_until, 2);
        let closed = Window { text: "a\nbc\n", ..open };
        assert_eq!(Findings::whole_lines(&closed).show_until, 5);
        assert_eq!(Findings::whole_lines(&Window { last: true, ..open }).show_until, 4);
    }

    #[test]
    fn holding_never_moves_forward() {
        let mut findings = Findings::whole_window(&Window::view("abcdef"));
        findings.hold(3);
        findings.hold(5);
        assert_eq!((findings.show_until, findings.need_from), (3, 3));
    }
}
