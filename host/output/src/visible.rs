//! [`Visible`]: text that has been through the policy, and the only type whose text may leave this host.
//!
//! It is made in one place, `seal`, which only this crate can call. It must never be made from captured text by any
//! other road: no `From`, no `Default`, no `Deserialize`.

use std::fmt;

use serde::Serialize;

use crate::cut;

/// Text that may be shown, stored and sent: redacted, and free of control characters except newline and tab.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Visible(String);

impl Visible {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Nothing at all.
    pub fn empty() -> Self {
        seal(String::new())
    }

    /// Whole lines of it, or another part whose borders the caller knows to tear nothing. A border within a character
    /// moves outwards.
    pub fn part(&self, range: std::ops::Range<usize>) -> Self {
        let (start, end) = (self.0.floor_char_boundary(range.start), self.0.ceil_char_boundary(range.end));
        seal(self.0.get(start..end).unwrap_or_default().to_owned())
    }

    /// Its beginning, of up to so many bytes, where that splits no mask, character or token.
    pub fn first(&self, bytes: usize) -> Self {
        if self.0.len() <= bytes {
            return self.clone();
        }
        seal(self.0[..cut::head_end(&self.0, bytes)].to_owned())
    }

    /// Its end, of up to so many bytes, where that splits no mask, character or token.
    pub fn last(&self, bytes: usize) -> Self {
        seal(self.0[cut::tail_start(&self.0, self.0.len().saturating_sub(bytes))..].to_owned())
    }

    /// Texts one after the other, each in lines of its own.
    pub fn in_lines<'a>(texts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut whole = String::new();
        for text in texts {
            if !whole.is_empty() && !whole.ends_with('\n') {
                whole.push('\n');
            }
            whole.push_str(&text.0);
        }
        seal(whole)
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Visible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Visible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// The one place where text becomes visible.
///
/// What comes here has been normalised, so a control character is a mistake of this crate: it stops a debug build, and
/// is removed in a release build.
pub(crate) fn seal(text: String) -> Visible {
    let dirty = has_control(text.as_bytes());
    debug_assert!(!dirty, "text with a control character reached the seal");
    Visible(if dirty { without_controls(&text) } else { text })
}

/// The text without control characters other than newline and tab.
pub(crate) fn without_controls(text: &str) -> String {
    text.chars().filter(|&c| !c.is_control() || c == '\n' || c == '\t').collect()
}

/// How many bytes are looked at between two decisions to stop: enough for the compiler to use wide registers.
const BLOCK: usize = 4096;

/// Whether valid UTF-8 holds a control character (C0, DEL or C1) other than newline and tab.
fn has_control(bytes: &[u8]) -> bool {
    let mut first = 0;
    while first < bytes.len() {
        let block = &bytes[first..bytes.len().min(first + BLOCK)];
        let mut found = false;
        for &b in block {
            found |= (b < 0x20) & (b != b'\n') & (b != b'\t') | (b == 0x7f);
        }
        // C1 is U+0080 to U+009F: 0xC2 and one byte below 0xA0. The pair may straddle two blocks.
        let mut lead = false;
        for &b in block {
            lead |= b == 0xc2;
        }
        if lead {
            let reach = &bytes[first..bytes.len().min(first + BLOCK + 1)];
            found |= reach.windows(2).any(|pair| pair[0] == 0xc2 && pair[1] < 0xa0);
        }
        if found {
            return true;
        }
        first += BLOCK;
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_visible_text_shows_and_serialises_as_a_string() {
        let text = seal("one\ttwo\n".to_owned());
        assert_eq!(text.to_string(), "one\ttwo\n");
        assert_eq!(serde_json::to_string(&text).unwrap(), r#""one\ttwo\n""#);
        assert_eq!((text.len(), text.is_empty()), (8, false));
    }

    #[test]
    fn a_part_never_tears_a_character_and_never_reaches_beyond_the_text() {
        let text = seal("aä\nb".to_owned());
        assert_eq!(text.part(0..2).as_str(), "aä");
        assert_eq!(text.part(2..4).as_str(), "ä\n");
        assert_eq!(text.part(3..99).as_str(), "\nb");
        assert_eq!(text.part(9..99).as_str(), "");
    }

    #[test]
    fn texts_one_after_the_other_share_no_line() {
        let texts = ["a", "b\n", "", "c"].map(|text| seal(text.to_owned()));
        assert_eq!(Visible::in_lines(&texts).as_str(), "a\nb\nc");
    }

    #[test]
    fn a_control_character_on_a_block_border_is_found() {
        for at in BLOCK - 3..BLOCK + 3 {
            let text = format!("{}\u{85}{}", "x".repeat(at), "y".repeat(10));
            assert!(has_control(text.as_bytes()), "C1 at {at}");
        }
    }

    proptest! {
        #[test]
        fn the_quick_look_for_control_characters_agrees_with_the_slow_one(text in "[a\u{0}-\u{ff}\u{3b1}\n\t]{0,40}") {
            let slow = text.chars().any(|c| c.is_control() && c != '\n' && c != '\t');
            prop_assert_eq!(has_control(text.as_bytes()), slow);
            prop_assert!(!has_control(without_controls(&text).as_bytes()));
        }
    }
}
