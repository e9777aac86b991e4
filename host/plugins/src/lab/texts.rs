//! Texts to measure with: what a command prints that holds nothing of interest, and one made of a plugin's own cases.

/// One MiB.
pub(super) const MIB: usize = 1024 * 1024;

/// Lines like those of a build: words, paths, numbers and digests, none of them a secret.
const LINES: [&str; 6] = [
    "   Compiling serde v1.0.228 (/srv/build/vendor/serde)",
    "2026-03-14T09:26:53Z INFO worker 7: 1280 rows read in 42 ms, 3 batches left",
    "test parser::tests::a_nested_list_is_read_to_its_end ... ok",
    "src/net/session.c:218:14: warning: unused variable 'peer' [-Wunused-variable]",
    "commit 076b54f1d6802289844a0c3c5577365ddda8dc55 on main, 12 files changed",
    "GET /assets/app.3f2b8c1e.js 200 18.4 kB - 7 ms",
];

/// `bytes` of ordinary output, in whole lines but the last.
pub(super) fn clean(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 128);
    for (number, line) in LINES.iter().cycle().enumerate() {
        if text.len() >= bytes {
            break;
        }
        text.push_str(line);
        text.push_str(&format!(" #{number}\n"));
    }
    cut(text, bytes)
}

/// `bytes` of these texts, one after the other and over again, with an ordinary line between two: more of interest than
/// any real output has.
pub(super) fn dirty(texts: &[&str], bytes: usize) -> String {
    let texts: Vec<&str> = texts.iter().copied().filter(|text| !text.is_empty()).collect();
    if texts.is_empty() {
        return clean(bytes);
    }
    let mut text = String::with_capacity(bytes + 128);
    for (case, line) in texts.iter().cycle().zip(LINES.iter().cycle()) {
        if text.len() >= bytes {
            break;
        }
        text.push_str(case);
        if !case.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(line);
        text.push('\n');
    }
    cut(text, bytes)
}

fn cut(mut text: String, bytes: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes.min(text.len())));
    text
}

/// A text in pieces of at most `bytes`, on character boundaries.
pub(super) fn pieces(text: &str, bytes: usize) -> Vec<&str> {
    let mut rest = text;
    let mut out = Vec::new();
    while !rest.is_empty() {
        // A character is at most four bytes, so a piece of more always moves on.
        let (piece, after) = rest.split_at(rest.floor_char_boundary(bytes.max(4).min(rest.len())));
        out.push(piece);
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn texts_have_their_size_and_pieces_are_the_whole(cases in prop::collection::vec("\\PC{0,40}", 0..5), bytes in 0usize..5000, piece in 0usize..900) {
            let cases: Vec<&str> = cases.iter().map(String::as_str).collect();
            for text in [clean(bytes), dirty(&cases, bytes)] {
                prop_assert!(text.len() <= bytes && text.len() + 4 > bytes, "{} of {bytes}", text.len());
                let pieces = pieces(&text, piece);
                prop_assert!(pieces.iter().all(|one| one.len() <= piece.max(4)));
                prop_assert_eq!(pieces.concat(), text);
            }
        }
    }
}
