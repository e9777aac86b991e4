//! Keys that have no beginning of their own and are told by the name of the service in the name they stand behind:
//! `ALGOLIA_API_KEY=…`, `datadog: "…"`. The name must say nothing else, and the value must have exactly the form of that
//! service's keys, for names of services stand before much that is no secret.

use crate::gate;
use crate::literal::literal;
use crate::name::MAX_NAME;
use crate::rules::{Body, Rule, SERVICES, Service};
use crate::scan::Scan;
use crate::text::{ALNUM, DIGIT, LETTER, NAME, any, is};
use crate::words::{self, BESIDE, SAYS};

/// Most blanks between a name, its operator and its value.
const BLANKS: usize = 8;
/// Longest word beside a service's name.
const MAX_WORD: usize = 12;
/// Longest key of a service.
const MAX_KEY: usize = 400;

/// What the words of a name say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    /// Something else than a key of the service.
    Other,
    /// The service and nothing more.
    Plain,
    /// The service, and that it is a secret.
    Secret,
}

/// The words of a name around the service's: every one must be known.
#[inline(never)]
fn words(name: &[u8], from: usize, to: usize) -> Words {
    let mut found = Words::Plain;
    for side in [&name[..from], &name[to..]] {
        let mut at = 0;
        while at < side.len() {
            if !is(side[at], ALNUM) {
                at += 1;
                continue;
            }
            // A word ends at a sign or a hump; words that are run together are taken apart from the left.
            let mut end = at + 1;
            while end < side.len() && is(side[end], ALNUM) {
                end += 1;
            }
            let Some((size, secret)) = known(&side[at..end]) else { return Words::Other };
            at += size;
            if secret {
                found = Words::Secret;
            }
        }
    }
    found
}

/// The longest known word `run` begins with, and whether it says that there is a secret.
fn known(run: &[u8]) -> Option<(usize, bool)> {
    (1..=run.len().min(MAX_WORD)).rev().find_map(|size| {
        let sets = words::folded(&run[..size]);
        (sets & (BESIDE | SAYS) != 0).then_some((size, sets & SAYS != 0))
    })
}

/// Whether `value` has the form of a key of `service`, behind a name that says so much.
fn fits(service: &Service, value: &[u8], words: Words) -> bool {
    if value.len() != usize::from(service.size) || !value.iter().all(|&byte| service.body.has(byte)) {
        return false;
    }
    match service.body {
        // A UUID is a plain name of things; only the word beside it makes it a key.
        Body::Uuid => words == Words::Secret && gate::uuid(value),
        Body::Hex | Body::AnyHex => any(value, DIGIT) && any(value, LETTER),
        _ if gate::uuid(value) || gate::placeholder(value) => false,
        // The name says that it is a secret, and the length that it is this one.
        _ if words == Words::Secret => any(value, DIGIT) && any(value, LETTER),
        _ => gate::random(value, 12) || gate::hex(value) && any(value, LETTER),
    }
}

/// The rule for `value` behind `name`, in which the service of the entry `first` of the table stands at `from`.
fn judge(first: usize, name: &[u8], from: usize, value: &[u8]) -> Option<Rule> {
    let word = SERVICES[first].word();
    let words = words(name, from, from + word.len());
    if words == Words::Other {
        return None;
    }
    let entries = SERVICES[first..].iter().take_while(|service| service.word() == word);
    entries.into_iter().find(|service| fits(service, value, words)).map(Service::rule)
}

/// The name of the service of entry `index`, at `from`.
#[inline(never)]
pub(crate) fn name(scan: &mut Scan<'_>, from: usize, index: u16) {
    let first = usize::from(index);
    let service = &SERVICES[first];
    let word = service.word();
    let to = from + word.len();
    if !scan.text.slice(from, to).eq_ignore_ascii_case(word) {
        return;
    }
    let mut start = from;
    while from - start < MAX_NAME && is(scan.text.before(start), NAME) {
        start -= 1;
    }
    let end = scan.text.run(to, NAME, MAX_NAME);
    let mut at = end;
    while matches!(scan.text.peek(at), b'\\' | b'"' | b'\'' | b']') && at < end + 4 {
        at += 1;
    }
    at = scan.text.blanks(at, BLANKS);
    at += match (scan.text.peek(at), scan.text.peek(at + 1)) {
        (b'=', b'=' | b'~') | (b':', b':' | b'/') => return,
        (b'=', b'>') | (b':' | b'?', b'=') => 2,
        (b'=' | b':', _) => 1,
        _ => return,
    };
    at = scan.text.blanks(at, BLANKS);
    scan.open(at);
    let (value, stop) = match literal(scan, at) {
        Some(found) => (found.start, found.end),
        None => {
            let mut stop = at;
            while stop - at < MAX_KEY && Body::Wide.has(scan.text.peek(stop)) {
                stop += 1;
            }
            let joins = scan.text.slice(at, stop).iter().rev().take_while(|c| matches!(c, b'.' | b':' | b'!')).count();
            (at, stop - joins)
        }
    };
    let found = judge(first, scan.text.slice(start, end), from - start, scan.text.slice(value, stop));
    if let Some(rule) = found {
        scan.mask(value, stop, rule);
    }
}

/// The lengths that keys of services have, a bit for each.
static SIZES: [u32; MAX_KEY / 32 + 1] = {
    let mut sizes = [0; MAX_KEY / 32 + 1];
    let mut at = 0;
    while at < SERVICES.len() {
        let size = SERVICES[at].size as usize;
        sizes[size / 32] |= 1 << (size % 32);
        at += 1;
    }
    sizes
};

/// The first two letters of the services: for the low bits of the first one, a bit for those of each second one.
static PAIRS: [u32; 32] = {
    let mut pairs = [0; 32];
    let mut at = 0;
    while at < SERVICES.len() {
        let word = SERVICES[at].word();
        pairs[word[0] as usize % 32] |= 1 << (word[1] % 32);
        at += 1;
    }
    pairs
};

/// Whether a service may have its name at `at`: where a word begins, with the first two letters of one.
#[inline]
fn may_begin(name: &[u8], at: usize) -> bool {
    let Some(&[first, second]) = name.get(at..).and_then(<[u8]>::first_chunk) else { return false };
    PAIRS[usize::from(first % 32)] >> (second % 32) & 1 == 1
        && is(first, ALNUM)
        && (at == 0 || !is(name[at - 1], ALNUM))
}

/// The rule for `value` behind `name`, if a word of the name begins as a service whose keys look so does.
#[inline(never)]
pub(crate) fn rule(name: &[u8], value: &[u8]) -> Option<Rule> {
    let size = value.len();
    if name.len() > MAX_NAME || size > MAX_KEY || SIZES[size / 32] >> (size % 32) & 1 == 0 {
        return None;
    }
    let mut lower = [0; MAX_NAME];
    for (to, from) in lower.iter_mut().zip(name) {
        *to = from.to_ascii_lowercase();
    }
    let lower = &lower[..name.len()];
    (0..name.len()).filter(|&at| may_begin(name, at)).find_map(|at| {
        // The last service in order that is not behind this word is the longest that may begin it.
        let behind = SERVICES.partition_point(|service| service.word() <= &lower[at..]);
        let word = SERVICES[behind.checked_sub(1)?].word();
        let first = SERVICES[..behind].iter().rposition(|service| service.word() != word).map_or(0, |last| last + 1);
        lower[at..].starts_with(word).then(|| judge(first, name, at, value))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX40: &[u8] = b"a8f5f167f44f4964e6c998dee827110c0b1c2d3e";

    fn label(name: &str, value: &[u8]) -> Option<&'static str> {
        rule(name.as_bytes(), value).map(|rule| rule.name)
    }

    #[test]
    fn the_service_in_a_name_gives_the_rule_of_a_value_of_its_form() {
        for name in ["DATADOG", "datadog", "DATADOG_APP_KEY", "datadogApiKey", "my.datadog.token", "prod-datadog"] {
            assert_eq!(label(name, HEX40), Some("datadog-key"), "{name}");
        }
    }

    #[test]
    fn other_words_in_the_name_or_another_form_give_none() {
        for name in ["datadog_commit", "datadog_sha", "DATADOG_VERSION", "datadog_image_digest", "undatadog_x"] {
            assert_eq!(label(name, HEX40), None, "{name}");
        }
        assert_eq!(label("DATADOG", &HEX40[..39]), None);
        assert_eq!(label("DATADOG", b"ordinary"), None);
        assert_eq!(label("DATADOG", b"1234567890123456789012345678901234567890"), None);
    }

    #[test]
    fn a_uuid_is_a_key_only_where_the_name_says_so() {
        let uuid = b"3f2b8c1e-9d47-4a60-8e15-7c0d9b6a2f41";
        assert_eq!(label("HEROKU_API_KEY", uuid), Some("heroku-key"));
        assert_eq!(label("HEROKU_APP", uuid), None);
        assert_eq!(label("heroku", uuid), None);
    }
}
