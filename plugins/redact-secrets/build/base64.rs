//! What the beginnings of secrets look like inside base64, in each of the three ways it can be aligned.

/// What a decoded secret is known by; the plugin decodes and looks again.
#[path = "../src/beginnings.rs"]
mod beginnings;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The characters a beginning always has in base64 when `skip` bytes of its group come before it.
fn image(literal: &[u8], skip: usize) -> String {
    let bits: Vec<u8> = literal.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let lead = (6 - skip * 8 % 6) % 6;
    bits[lead..]
        .chunks_exact(6)
        .map(|six| char::from(ALPHABET[usize::from(six.iter().fold(0u8, |sum, bit| sum << 1 | bit))]))
        .collect()
}

/// Three or four characters of each image: those with most upper-case letters and digits, which are rare outside base64.
pub(crate) fn images() -> Vec<String> {
    let mut found: Vec<String> = beginnings::BEGINNINGS
        .iter()
        .flat_map(|literal| (0..3).map(|skip| image(literal.as_bytes(), skip)))
        .filter_map(|image| {
            let size = image.len().min(4);
            let worth = |at: &usize| {
                let part = &image.as_bytes()[*at..at + size];
                part.iter().filter(|c| c.is_ascii_uppercase() || c.is_ascii_digit()).count()
            };
            (0..=image.len() - size).max_by_key(worth).map(|at| image[at..at + size].to_owned())
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}
