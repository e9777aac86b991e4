//! A redactor's texts in pieces: wherever a text is cut on its way, the masks must be those of the whole.

use std::sync::Arc;

use hermes_model::context::{Context, Surface};
use hermes_model::hook::Hook;
use hermes_output::exact::ExactValues;
use hermes_output::stream::Stream;

use super::subject::{Ask, Subject};
use super::{About, Case};
use crate::chain::Chain;

/// The longest text that is cut at every byte; a longer one is cut at this many places.
const CUTS_MAX: usize = 512;
/// The longest text that is cut at every pair of bytes: 780 pairs.
const PAIRS_MAX: usize = 40;

/// How a text was cut when it was shown otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Once(usize),
    Twice(usize, usize),
    EveryByte,
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Once(at) => write!(f, "cut at byte {at}"),
            Self::Twice(first, second) => write!(f, "cut at bytes {first} and {second}"),
            Self::EveryByte => write!(f, "byte by byte"),
        }
    }
}

/// Each text of the redactor in pieces.
pub(super) fn cases(subject: &Subject, asks: &[Ask]) -> Vec<Case> {
    let mut failed = Vec::new();
    let (mut texts, mut tried) = (0, 0);
    let mut policy: Option<(Option<String>, Chain)> = None;
    for ask in asks.iter().filter(|ask| ask.hook == Hook::Redact && !ask.text.is_empty()) {
        if policy.as_ref().is_none_or(|(settings, _)| *settings != ask.settings) {
            policy = subject.policy(ask.settings.as_deref()).map(|chain| (ask.settings.clone(), chain));
        }
        let Some((_, chain)) = &policy else { continue };
        let whole = shown(chain, &ask.context, &[ask.text.as_bytes()]);
        let all = ways(ask.text.len());
        let differs = all.iter().find(|cut| shown(chain, &ask.context, &pieces(ask.text.as_bytes(), **cut)) != whole);
        (texts, tried) = (texts + 1, tried + all.len());
        if let Some(cut) = differs {
            failed.push(Case::bad(
                About::Cuts,
                format!("redact: the same masks for every chunking: {}", ask.name),
                format!(
                    "{cut}, the text is shown otherwise than whole: hold back what may still become a secret \
                     (`show-until`), and ask for it again in the next window (`need-from`)"
                ),
            ));
        }
    }
    if texts > 0 && failed.is_empty() {
        let name = format!("redact: the same masks for every chunking ({texts} texts, {tried} ways to cut them)");
        failed.push(Case::good(About::Cuts, name));
    }
    failed
}

/// A text as a stream shows it that arrives in these pieces.
fn shown(chain: &Chain, context: &Context, pieces: &[&[u8]]) -> String {
    let context = Context { surface: Surface::Stream, ..context.clone() };
    let mut stream = Stream::new(context, Arc::new(ExactValues::default()));
    let mut text = String::new();
    for piece in pieces {
        text += stream.push(chain, piece).text.as_str();
    }
    text + stream.finish(chain).text.as_str()
}

/// The ways to cut a text of this many bytes.
fn ways(bytes: usize) -> Vec<Cut> {
    let step = bytes.div_ceil(CUTS_MAX).max(1);
    let mut ways: Vec<Cut> = (1..bytes).step_by(step).map(Cut::Once).collect();
    if bytes <= PAIRS_MAX {
        ways.extend((1..bytes).flat_map(|first| (first + 1..bytes).map(move |second| Cut::Twice(first, second))));
    }
    if bytes > 1 {
        ways.push(Cut::EveryByte);
    }
    ways
}

fn pieces(bytes: &[u8], cut: Cut) -> Vec<&[u8]> {
    match cut {
        Cut::Once(at) => vec![&bytes[..at], &bytes[at..]],
        Cut::Twice(first, second) => vec![&bytes[..first], &bytes[first..second], &bytes[second..]],
        Cut::EveryByte => bytes.chunks(1).collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_text_is_cut_at_every_byte_and_every_pair_and_a_long_one_at_a_bounded_number() {
        assert_eq!(ways(1), []);
        assert_eq!(ways(3), [Cut::Once(1), Cut::Once(2), Cut::Twice(1, 2), Cut::EveryByte]);
        assert_eq!(ways(PAIRS_MAX + 1).len(), PAIRS_MAX + 1);
        assert!(ways(1_000_000).len() <= CUTS_MAX + 1);
    }

    proptest! {
        #[test]
        fn pieces_are_the_whole_text_in_order(bytes in prop::collection::vec(any::<u8>(), 1..60)) {
            for cut in ways(bytes.len()) {
                let pieces = pieces(&bytes, cut);
                prop_assert!(pieces.iter().all(|piece| !piece.is_empty()), "{cut}");
                prop_assert_eq!(pieces.concat(), bytes.clone());
            }
        }
    }
}
