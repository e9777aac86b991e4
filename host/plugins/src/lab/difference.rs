//! Differences an author can read: what was expected begins with `-`, what came with `+`.

use hermes_output::policy::Span;

/// How many lines of each side are shown.
const LINES_MAX: usize = 8;
/// How much of a line is shown, in characters.
const LINE_MAX: usize = 200;

/// A text in one line, in which nothing is invisible.
pub(super) fn plain(text: &str) -> String {
    let mut out: String = text.chars().take(LINE_MAX).flat_map(visible).collect();
    if text.chars().nth(LINE_MAX).is_some() {
        out.push('\u{2026}');
    }
    let kept = out.trim_end_matches(' ').len();
    // Blanks at the end are what nobody sees.
    out.split_off(kept).chars().for_each(|_| out.push('\u{b7}'));
    out
}

fn visible(c: char) -> impl Iterator<Item = char> {
    let escaped: Box<dyn Iterator<Item = char>> =
        if c.is_control() { Box::new(c.escape_default()) } else { Box::new(std::iter::once(c)) };
    escaped
}

/// Two texts, without the lines they begin and end with together.
pub(super) fn texts(want: &str, got: &str) -> Vec<String> {
    let (want, got): (Vec<&str>, Vec<&str>) =
        (want.split_inclusive('\n').collect(), got.split_inclusive('\n').collect());
    let front = want.iter().zip(&got).take_while(|(a, b)| a == b).count();
    let (want_rest, got_rest) = (&want[front..], &got[front..]);
    let back = want_rest.iter().rev().zip(got_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let mut lines = vec![format!("line {}:", front + 1)];
    lines.extend(side("-", &want_rest[..want_rest.len() - back]));
    lines.extend(side("+", &got_rest[..got_rest.len() - back]));
    lines
}

fn side(mark: &str, lines: &[&str]) -> Vec<String> {
    let shown = lines.iter().take(LINES_MAX).map(|line| match line.strip_suffix('\n') {
        Some(line) => format!("{mark} {}", plain(line)),
        None => format!("{mark} {} (no line break)", plain(line)),
    });
    let more = lines.len().saturating_sub(LINES_MAX);
    shown.chain((more > 0).then(|| format!("{mark} \u{2026} and {more} lines more"))).collect()
}

/// Two lists of places, without those in both. Both are sorted.
pub(super) fn spans(text: &str, want: &[Span], got: &[Span]) -> Vec<String> {
    let line = |mark: &str, span: &Span| {
        let masked = text.get(span.start..span.end).map_or("(no place in the text)".to_owned(), plain);
        format!("{mark} {}..{} {}: {masked}", span.start, span.end, span.rule)
    };
    let missing: Vec<_> = want.iter().filter(|span| !got.contains(span)).map(|span| line("-", span)).collect();
    let added: Vec<_> = got.iter().filter(|span| !want.contains(span)).map(|span| line("+", span)).collect();
    let more = |mark: &str, count: usize| {
        let more = count.saturating_sub(LINES_MAX);
        (more > 0).then(|| format!("{mark} \u{2026} and {more} places more"))
    };
    let (fewer, others) = (more("-", missing.len()), more("+", added.len()));
    let (missing, added) = (missing.into_iter().take(LINES_MAX), added.into_iter().take(LINES_MAX));
    missing.chain(fewer).chain(added).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_the_lines_that_differ_are_shown_and_nothing_in_them_is_invisible() {
        assert_eq!(texts("a\nb\nc\n", "a\nB \nc\n"), ["line 2:", "- b", "+ B\u{b7}"]);
        assert_eq!(texts("a\n", "a\nb\t\n"), ["line 2:", "+ b\\t"]);
        assert_eq!(texts("a\n", "a"), ["line 1:", "- a", "+ a (no line break)"]);
    }

    #[test]
    fn places_are_shown_with_what_stands_there() {
        let span = |start, end, rule: &str| Span { start, end, rule: rule.to_owned() };
        let lines = spans("user id-42", &[span(5, 10, "id"), span(0, 4, "a")], &[span(0, 4, "a"), span(5, 8, "id")]);
        assert_eq!(lines, ["- 5..10 id: id-42", "+ 5..8 id: id-"]);
    }

    proptest! {
        #[test]
        fn texts_that_differ_have_a_difference_of_bounded_length(want in "[ab\n]{0,40}", got in "[ab\n]{0,40}") {
            prop_assume!(want != got);
            let lines = texts(&want, &got);
            prop_assert!(lines.len() > 1 && lines.len() <= 2 * LINES_MAX + 3, "{lines:?}");
        }
    }
}
