//! The transform chain: each sees what the one before made of the text.
//!
//! A transform that fails, or gives an answer that does not fit the text, is skipped and the reply says so. What one
//! returns is text of unknown origin: it must be normalised, and redacted, before anyone else sees it.

use std::ops::Range;

use hermes_model::report::{PolicyReport, Withheld};

use crate::normalise;
use crate::policy::Transformed;
use crate::reveal::mask_found;
use crate::reveal::scan::Eyes;

/// A transform may return this many times what it was given …
const GROWTH: usize = 4;
/// … and this many bytes more, so that a short text can become a table or an explanation.
const GROWTH_BYTES: usize = 64 * 1024;

/// What the chain made of a text.
pub(crate) struct Chained {
    pub(crate) text: String,
    /// Whether it is another one.
    pub(crate) changed: bool,
}

/// Runs every transform.
pub(crate) fn run(eyes: &Eyes<'_>, text: String, report: &mut PolicyReport) -> Result<Chained, Withheld> {
    let mut out = Chained { text, changed: false };
    for index in 0..eyes.policy.transforms() {
        let name = eyes.policy.transform_name(index);
        let new = match eyes.policy.transform(index, eyes.context, &out.text) {
            Ok(Transformed::Unchanged) => continue,
            Ok(Transformed::Replaced(new)) => fits(&out.text, new.len()).map(|()| new),
            Ok(Transformed::Edits(edits)) => edited(&out.text, &edits),
            Err(warning) => {
                report.warnings.push(warning);
                continue;
            }
        };
        let new = match new {
            Ok(new) => new,
            Err(why) => {
                report.warnings.push(format!("{name} was skipped: {why}"));
                continue;
            }
        };
        if new == out.text {
            continue;
        }
        report.transformed_by.push(name.to_owned());
        let mut view = normalise::view_continued(new.as_bytes());
        // Places in overwritten lines are known by their offsets, which the next transform would move.
        let places = eyes.look_at_frames(&std::mem::take(&mut view.frames), true)?.places;
        out.text = mask_found(view.text, Vec::new(), &places, &mut report.redactions);
        out.changed = true;
    }
    Ok(out)
}

/// Applies edits, if they are in order, apart from each other, in range and on character boundaries.
fn edited(text: &str, edits: &[(Range<usize>, String)]) -> Result<String, &'static str> {
    let mut done = 0;
    let mut len = text.len();
    for (range, new) in edits {
        if range.start > range.end || range.end > text.len() {
            return Err("an edit is out of range");
        }
        if range.start < done {
            return Err("edits overlap or are not in order");
        }
        if !text.is_char_boundary(range.start) || !text.is_char_boundary(range.end) {
            return Err("an edit splits a character");
        }
        done = range.end;
        len = (len - range.len()).saturating_add(new.len());
    }
    fits(text, len)?;
    let mut out = String::with_capacity(len);
    let mut done = 0;
    for (range, new) in edits {
        out.push_str(&text[done..range.start]);
        out.push_str(new);
        done = range.end;
    }
    out.push_str(&text[done..]);
    Ok(out)
}

fn fits(text: &str, len: usize) -> Result<(), &'static str> {
    let most = text.len().saturating_mul(GROWTH).saturating_add(GROWTH_BYTES);
    if len <= most { Ok(()) } else { Err("its result is more than 4 times its input and 64 KiB") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(range: Range<usize>, new: &str) -> (Range<usize>, String) {
        (range, new.to_owned())
    }

    #[test]
    fn edits_in_order_are_applied() {
        let edits = [edit(0..0, ">"), edit(0..1, "A"), edit(3..5, ""), edit(6..6, "!")];
        assert_eq!(edited("abcdef", &edits).unwrap(), ">Abcf!");
        assert_eq!(edited("", &[edit(0..0, "x")]).unwrap(), "x");
    }

    #[test]
    fn edits_that_do_not_fit_the_text_are_refused() {
        assert!(edited("abc", &[edit(2..4, "")]).unwrap_err().contains("range"));
        #[expect(clippy::reversed_empty_ranges, reason = "a plugin may say so")]
        let backwards = edit(2..1, "");
        assert!(edited("abc", &[backwards]).unwrap_err().contains("range"));
        assert!(edited("abc", &[edit(0..2, ""), edit(1..3, "")]).unwrap_err().contains("overlap"));
        assert!(edited("abc", &[edit(2..3, ""), edit(0..1, "")]).unwrap_err().contains("order"));
        assert!(edited("aα", &[edit(2..3, "")]).unwrap_err().contains("character"));
        assert!(edited("abc", &[edit(0..0, &"x".repeat(GROWTH_BYTES + 10))]).unwrap_err().contains("64 KiB"));
        assert!(edited("abc", &[edit(0..0, &"x".repeat(GROWTH_BYTES + 9))]).is_ok());
    }
}
