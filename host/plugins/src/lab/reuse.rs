//! What is left of one call in the next: nothing may be. Every answer is compared with that of an instance which was
//! never asked before; when one differs, the shortest way to it is looked for.

use hermes_model::hook::Hook;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::subject::{Answer, Ask, Subject};
use super::{About, Case};

/// How many random orders all questions are asked in.
const ORDERS: usize = 4;
/// What to do about a plugin that remembers.
const FORGET: &str = "the text of a call must not stay in the plugin after it: keep it in variables of the call, or clear \
                      what is kept at the beginning of each call";

/// A question with the answer of an instance that was asked nothing else.
struct Known<'a> {
    ask: &'a Ask,
    alone: Answer,
}

/// Each hook: the same question twice, and all questions in random orders.
pub(super) fn cases(subject: &Subject, asks: &[Ask], seed: u64) -> Vec<Case> {
    subject.hooks().into_iter().flat_map(|hook| of_hook(subject, hook, asks, seed)).collect()
}

fn of_hook(subject: &Subject, hook: Hook, asks: &[Ask], seed: u64) -> Vec<Case> {
    let mut twice = None;
    let mut known = Vec::new();
    for ask in asks.iter().filter(|ask| ask.hook == hook) {
        let (alone, live) = subject.alone(ask);
        // A call without an answer takes its instance with it, and fails its own case.
        if !alone.is_usable() {
            continue;
        }
        let again = live.map(|live| subject.again(&live, ask));
        if again.is_some_and(|again| again != alone) {
            twice.get_or_insert_with(|| format!("'{}' is answered otherwise the second time: {FORGET}", ask.name));
        }
        known.push(Known { ask, alone });
    }
    let failed = twice.is_some();
    let mut cases =
        vec![Case::of(About::Reuse, format!("{hook}: the same answer from a warm and a fresh instance"), twice)];
    if known.len() > 1 && !failed {
        let wrong = in_random_orders(subject, &known, seed);
        cases.push(Case::of(About::Reuse, format!("{hook}: the same answers in any order"), wrong));
    }
    cases
}

/// Asks everything in random orders, each on one instance. What to say if an answer differs.
fn in_random_orders(subject: &Subject, known: &[Known<'_>], seed: u64) -> Option<String> {
    let mut random = StdRng::seed_from_u64(seed);
    for _ in 0..ORDERS {
        let mut order: Vec<usize> = (0..known.len()).collect();
        order.shuffle(&mut random);
        // Other settings are another instance, so each of them has an order of its own.
        order.sort_by(|a, b| known[*a].ask.settings.cmp(&known[*b].ask.settings));
        for group in order.chunk_by(|a, b| known[*a].ask.settings == known[*b].ask.settings) {
            if let Some(end) = first_wrong(subject, known, group) {
                let shortest = shortest(&group[..=end], |order| first_wrong(subject, known, order).is_some());
                return Some(said(known, &shortest, seed));
            }
        }
    }
    None
}

/// The place in the order of the first question that is not answered as it is alone.
fn first_wrong(subject: &Subject, known: &[Known<'_>], order: &[usize]) -> Option<usize> {
    let first = known.get(*order.first()?)?;
    let live = subject.fresh(first.ask.hook, first.ask.settings.as_deref())?;
    order.iter().position(|index| subject.again(&live, known[*index].ask) != known[*index].alone)
}

/// The shortest part of an order that still ends wrong: the last question after one other, if one is enough.
fn shortest(order: &[usize], is_wrong: impl Fn(&[usize]) -> bool) -> Vec<usize> {
    let Some((last, before)) = order.split_last() else { return Vec::new() };
    // What was asked just before is the likeliest.
    if let Some(one) = before.iter().rev().find(|one| is_wrong(&[**one, *last])) {
        return vec![*one, *last];
    }
    let mut kept = before.to_vec();
    let mut at = 0;
    while at < kept.len() {
        let mut fewer = kept.clone();
        fewer.remove(at);
        let with_last: Vec<usize> = fewer.iter().copied().chain([*last]).collect();
        if is_wrong(&with_last) {
            kept = fewer;
        } else {
            at += 1;
        }
    }
    kept.push(*last);
    kept
}

fn said(known: &[Known<'_>], order: &[usize], seed: u64) -> String {
    let name = |index: &usize| format!("'{}'", known[*index].ask.name);
    let (last, before) = match order.split_last() {
        Some((last, before)) => (name(last), before.iter().map(name).collect::<Vec<_>>().join(", ")),
        None => (String::new(), String::new()),
    };
    format!(
        "{last} is answered otherwise after {before} than alone: {FORGET} (`--seed {seed}` asks in this order again)"
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_other_question_is_enough_where_one_is_to_blame() {
        assert_eq!(shortest(&[4, 2, 7, 1, 9], |order| order.contains(&2)), [2, 9]);
    }

    proptest! {
        #[test]
        fn what_is_to_blame_is_kept_and_nothing_else(count in 2usize..30, blamed in prop::collection::btree_set(0usize..29, 1..4)) {
            let order: Vec<usize> = (0..count).chain([99]).collect();
            let blamed: Vec<usize> = blamed.into_iter().filter(|one| *one < count).collect();
            prop_assume!(!blamed.is_empty());
            let found = shortest(&order, |order| blamed.iter().all(|one| order.contains(one)));
            let expected: Vec<usize> = blamed.iter().copied().chain([99]).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
