//! From spans to masks: what replaces a secret, and how spans of several redactors become one.
//!
//! A mask reads `[REDACTED:<rule>]`: ASCII, nothing of the secret, not its length. This module must never let a span
//! vanish, however wrong its numbers are, and never put a mask into a mask.

use std::collections::BTreeMap;

use crate::policy::Span;

/// What every mask begins with.
pub(crate) const MASK_OPEN: &str = "[REDACTED:";
/// The longest rule shown in a mask, in bytes: the longest plugin-side rule name plus room for `env:`.
pub const RULE_MAX: usize = 64;
/// The longest mask, in bytes: opening, rule, closing bracket.
pub(crate) const MASK_MAX: usize = MASK_OPEN.len() + RULE_MAX + 1;
/// The rule shown where a redactor's own cannot be.
pub const RULE_FALLBACK: &str = "secret";
/// What the rule of a value the host itself knows begins with.
pub const RULE_ENV: &str = "env:";

/// A part of a text to be masked: on character boundaries, not empty, outside existing masks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) rule: String,
}

/// Masks the spans of a text and counts the masks by rule. A text without spans is not copied.
pub(crate) fn apply(text: String, spans: Vec<Span>, counts: &mut BTreeMap<String, u64>) -> String {
    let regions = unite(&text, spans);
    if regions.is_empty() { text } else { write(&text, &regions, counts) }
}

/// The text with its regions masked.
pub(crate) fn write(text: &str, regions: &[Region], counts: &mut BTreeMap<String, u64>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for region in regions {
        out.push_str(&text[done..region.start]);
        push_mask(&mut out, &region.rule);
        push_newlines(&mut out, &text[region.start..region.end]);
        done = region.end;
        count(counts, &region.rule);
    }
    out.push_str(&text[done..]);
    out
}

/// Counts one mask.
pub(crate) fn count(counts: &mut BTreeMap<String, u64>, rule: &str) {
    match counts.get_mut(rule) {
        Some(many) => *many += 1,
        None => {
            counts.insert(rule.to_owned(), 1);
        }
    }
}

/// Writes a mask. The rule is one that [`shown_rule`] has passed.
pub(crate) fn push_mask(out: &mut String, rule: &str) {
    out.push_str(MASK_OPEN);
    out.push_str(rule);
    out.push(']');
}

/// Writes as many newlines as a masked text had, so that the lines after it keep their numbers.
pub(crate) fn push_newlines(out: &mut String, masked: &str) {
    out.extend(memchr::memchr_iter(b'\n', masked.as_bytes()).map(|_| '\n'));
}

/// Makes regions of spans: in order, apart from each other, on character boundaries.
///
/// - A span that ends before it starts is turned round; one that ends beyond the text ends with it; an empty one takes
///   the character it stands at. One that starts at or beyond the end masks the last line that is not empty: the place
///   is unknown, and the end of the text is the likeliest.
/// - A span inside an existing mask is left out (unless it is in the rule alone); one that reaches into a mask and beyond takes the whole mask with it.
/// - Spans that overlap become one, and so do spans of one rule that touch. Its rule is the first `env:` rule, else that
///   of the span that starts first and, of those, is longest.
pub(crate) fn unite(text: &str, spans: Vec<Span>) -> Vec<Region> {
    if text.is_empty() || spans.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(usize, usize, String)> = Vec::with_capacity(spans.len());
    for span in spans {
        let (start, end) = widen(text, span.start, span.end);
        if let Some((start, end)) = around_masks(text, start, end) {
            found.push((start, end, span.rule));
        }
    }
    found.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)).then_with(|| a.2.cmp(&b.2)));
    let mut regions: Vec<Region> = Vec::new();
    for (start, end, rule) in found {
        match regions.last_mut() {
            Some(last) if start < last.end => {
                last.end = last.end.max(end);
                if rule.starts_with(RULE_ENV) && !last.rule.starts_with(RULE_ENV) {
                    last.rule = rule;
                }
            }
            _ => regions.push(Region { start, end, rule }),
        }
    }
    for region in &mut regions {
        if !is_rule(&region.rule) {
            RULE_FALLBACK.clone_into(&mut region.rule);
        }
    }
    regions.dedup_by(|next, last| {
        let one = last.end == next.start && last.rule == next.rule;
        if one {
            last.end = next.end;
        }
        one
    });
    regions
}

/// Whether a rule may stand in a mask as it is. One that may not is replaced whole by [`RULE_FALLBACK`]: a part of it
/// could be a part of the text.
fn is_rule(rule: &str) -> bool {
    !rule.is_empty() && rule.len() <= RULE_MAX && rule.bytes().all(is_rule_byte)
}

fn is_rule_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b':' | b'-')
}

/// Puts a span on the text: in order, in range, not empty, on character boundaries. The text is not empty.
fn widen(text: &str, start: usize, end: usize) -> (usize, usize) {
    let (start, end) = (start.min(end), start.max(end));
    if start >= text.len() {
        return last_line(text);
    }
    let first = text.floor_char_boundary(start);
    (first, text.ceil_char_boundary(end.min(text.len()).max(start + 1)))
}

/// The last line that is not empty, and what follows it; the whole text if all lines are empty.
fn last_line(text: &str) -> (usize, usize) {
    let full = text.trim_end_matches('\n');
    (full.rfind('\n').map_or(0, |newline| newline + 1), text.len())
}

/// The span with the whole of every mask it reaches into, or nothing if it is inside one.
///
/// One that lies in the rule alone is no second look at a mask but a secret dressed as one (`[REDACTED:$TOKEN]`): no
/// redactor finds a rule's name by itself, so the whole is masked under the name of what was found.
fn around_masks(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let first = mask_at(text, start);
    if let Some((mask_start, mask_end)) = first
        && end <= mask_end
    {
        let dressed = start >= mask_start + MASK_OPEN.len() && end < mask_end;
        return dressed.then_some((mask_start, mask_end));
    }
    let start = first.map_or(start, |(mask_start, _)| mask_start);
    // The last byte decides: a span that ends where a mask begins has none of it.
    let end = mask_at(text, end - 1).map_or(end, |(_, mask_end)| mask_end);
    Some((start, end))
}

/// The existing mask that the byte at `at` belongs to, from its `[` to after its `]`.
pub(crate) fn mask_at(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    // A mask has one `[`, its first byte: the nearest one back is the only candidate.
    let from = (at + 1).saturating_sub(MASK_MAX);
    let start = from + memchr::memrchr(b'[', &bytes[from..bytes.len().min(at + 1)])?;
    let rest = bytes[start..].strip_prefix(MASK_OPEN.as_bytes())?;
    let rule = rest.iter().take(RULE_MAX + 1).take_while(|&&b| is_rule_byte(b)).count();
    let end = start + MASK_OPEN.len() + rule + 1;
    let whole = (1..=RULE_MAX).contains(&rule) && rest.get(rule) == Some(&b']');
    (whole && at < end).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span(start: usize, end: usize, rule: &str) -> Span {
        Span { start, end, rule: rule.to_owned() }
    }

    fn masked(text: &str, spans: Vec<Span>) -> String {
        apply(text.to_owned(), spans, &mut BTreeMap::new())
    }

    #[test]
    fn a_span_becomes_a_mask_and_is_counted() {
        let mut counts = BTreeMap::new();
        let out = apply("key=value and more".to_owned(), vec![span(4, 9, "key")], &mut counts);
        assert_eq!(out, "key=[REDACTED:key] and more");
        assert_eq!(counts, BTreeMap::from([("key".to_owned(), 1)]));
    }

    #[test]
    fn overlapping_spans_become_one_mask_and_a_known_value_names_it() {
        assert_eq!(masked("0123456789", vec![span(4, 6, "b"), span(2, 5, "a")]), "01[REDACTED:a]6789");
        assert_eq!(masked("0123456789", vec![span(2, 5, "a"), span(4, 6, "env:KEY")]), "01[REDACTED:env:KEY]6789");
        assert_eq!(masked("0123456789", vec![span(2, 3, "short"), span(2, 6, "long")]), "01[REDACTED:long]6789");
    }

    #[test]
    fn touching_spans_merge_only_when_they_have_one_rule() {
        assert_eq!(masked("0123456789", vec![span(2, 4, "a"), span(4, 6, "a")]), "01[REDACTED:a]6789");
        assert_eq!(masked("0123456789", vec![span(2, 4, "a"), span(4, 6, "b")]), "01[REDACTED:a][REDACTED:b]6789");
    }

    #[test]
    fn a_wrong_span_widens_and_never_vanishes() {
        assert_eq!(masked("abcdef", vec![span(4, 2, "r")]), "ab[REDACTED:r]ef");
        assert_eq!(masked("abcdef", vec![span(4, 900, "r")]), "abcd[REDACTED:r]");
        assert_eq!(masked("abcdef", vec![span(2, 2, "r")]), "ab[REDACTED:r]def");
        assert_eq!(masked("αβγ", vec![span(3, 3, "r")]), "α[REDACTED:r]γ");
        assert_eq!(masked("one\ntwo\n", vec![span(8, 8, "r")]), "one\n[REDACTED:r]\n");
        assert_eq!(masked("one\ntwo", vec![span(usize::MAX, 70, "r")]), "one\n[REDACTED:r]");
        assert_eq!(masked("\n\n", vec![span(5, 9, "r")]), "[REDACTED:r]\n\n");
        assert_eq!(masked("", vec![span(0, 1, "r")]), "");
    }

    #[test]
    fn newlines_of_a_secret_stay_after_its_mask() {
        assert_eq!(masked("a\nBEGIN\nx\nEND\nb", vec![span(2, 13, "pem")]), "a\n[REDACTED:pem]\n\n\nb");
    }

    #[test]
    fn a_mask_is_never_masked_again() {
        let text = "key=[REDACTED:key] end";
        for (start, end) in [(4, 18), (5, 17), (4, 5), (17, 18), (13, 17), (15, 18)] {
            assert_eq!(masked(text, vec![span(start, end, "other")]), text, "{start}..{end}");
        }
    }

    #[test]
    fn a_secret_dressed_as_a_mask_is_masked() {
        let text = "x [REDACTED:ghp_16C7e42F292c6912E7] y";
        assert_eq!(masked(text, vec![span(12, 34, "env:TOKEN")]), "x [REDACTED:env:TOKEN] y");
    }

    #[test]
    fn a_span_with_a_mask_and_more_takes_the_whole_mask() {
        let text = "key=[REDACTED:key] end";
        assert_eq!(masked(text, vec![span(3, 6, "r")]), "key[REDACTED:r] end");
        assert_eq!(masked(text, vec![span(10, 20, "r")]), "key=[REDACTED:r]nd");
        assert_eq!(masked(text, vec![span(2, 20, "r")]), "ke[REDACTED:r]nd");
        assert_eq!(masked(text, vec![span(0, 4, "r")]), "[REDACTED:r][REDACTED:key] end");
    }

    #[test]
    fn what_only_looks_like_a_mask_is_masked() {
        let long = format!("[REDACTED:{}]", "x".repeat(RULE_MAX + 1));
        for text in ["[REDACTED:]", "[REDACTED:a b]", "[REDACTED:abc", "[REDACTE:abc]", long.as_str()] {
            assert_eq!(masked(text, vec![span(0, text.len(), "r")]), "[REDACTED:r]", "{text}");
        }
    }

    #[test]
    fn a_rule_that_cannot_be_shown_is_replaced_whole() {
        for rule in ["", "has space", "x]", "κλειδί", "a\nb", &"x".repeat(RULE_MAX + 1)] {
            assert_eq!(masked("abc", vec![span(0, 3, rule)]), "[REDACTED:secret]", "{rule}");
        }
        let longest = "x".repeat(RULE_MAX);
        assert_eq!(masked("abc", vec![span(0, 3, &longest)]).len(), MASK_MAX);
    }

    fn spans() -> impl Strategy<Value = Vec<Span>> {
        let rule = prop_oneof![Just("a"), Just("b"), Just("env:N"), Just("not a rule")];
        prop::collection::vec((0_usize..90, 0_usize..90, rule).prop_map(|(s, e, r)| span(s, e, r)), 0..8)
    }

    proptest! {
        #[test]
        fn every_byte_of_every_span_is_masked_unless_it_is_in_a_mask(
            text in "([a-cαβ€\n]|\\[REDACTED:x\\]){0,14}", spans in spans(),
        ) {
            let regions = unite(&text, spans.clone());
            let mut last = 0;
            for region in &regions {
                prop_assert!(last <= region.start && region.start < region.end && region.end <= text.len());
                prop_assert!(text.is_char_boundary(region.start) && text.is_char_boundary(region.end));
                last = region.end;
            }
            for span in spans {
                let (start, end) = (span.start.min(span.end), span.start.max(span.end).min(text.len()));
                for at in start..end {
                    let covered = regions.iter().any(|r| (r.start..r.end).contains(&at));
                    prop_assert!(covered || mask_at(&text, at).is_some(), "byte {} of {:?}", at, text);
                }
                prop_assert!(text.is_empty() || !regions.is_empty() || text.contains(MASK_OPEN));
            }
        }

        #[test]
        fn lines_keep_their_number(text in "[ab\n]{0,40}", spans in spans()) {
            let out = masked(&text, spans);
            prop_assert_eq!(out.matches('\n').count(), text.matches('\n').count());
        }

        #[test]
        fn the_order_of_spans_changes_nothing(text in "[a-cα\n]{0,40}", mut spans in spans()) {
            let one = masked(&text, spans.clone());
            spans.reverse();
            prop_assert_eq!(one, masked(&text, spans));
        }
    }
}
