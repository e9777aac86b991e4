//! Puts the places found into their order. They come nearly in order, which the general sort of the standard library
//! does not need to know and takes eight kilobytes of the component for. It must never take quadratic time.

use crate::scan::Found;

/// Moves for each place, on the whole, after which they are taken for out of order.
const MOVES: usize = 32;

/// Whether one place comes before another: the earlier, the wider, the more exact. The order in which anchors stood does
/// not matter.
fn less(a: &Found, b: &Found) -> bool {
    let of =
        |found: &Found| (found.range.start, usize::MAX - found.range.end, u8::MAX - found.rule.rank, found.rule.name);
    of(a) < of(b)
}

/// Sorts places.
#[inline(never)]
pub(crate) fn sort(found: &mut [Found]) {
    let mut left = found.len().saturating_mul(MOVES);
    for end in 1..found.len() {
        let mut at = end;
        while at > 0 && less(&found[at], &found[at - 1]) {
            found.swap(at, at - 1);
            at -= 1;
            left = left.saturating_sub(1);
        }
        if left == 0 {
            return heap(found);
        }
    }
}

/// Sorts places that are in any order: a heap sort.
#[inline(never)]
fn heap(found: &mut [Found]) {
    for root in (0..found.len() / 2).rev() {
        sink(found, root);
    }
    for end in (1..found.len()).rev() {
        found.swap(0, end);
        sink(&mut found[..end], 0);
    }
}

/// Moves the place at `root` down until none below it comes after it.
fn sink(found: &mut [Found], mut root: usize) {
    loop {
        let mut child = 2 * root + 1;
        if child + 1 < found.len() && less(&found[child], &found[child + 1]) {
            child += 1;
        }
        if child >= found.len() || !less(&found[root], &found[child]) {
            return;
        }
        found.swap(root, child);
        root = child;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rules;

    fn places(starts: &[usize]) -> Vec<Found> {
        let place = |(nth, &start): (usize, &usize)| Found {
            range: start..start + 1 + nth % 3,
            rule: if nth % 2 == 0 { rules::PASSWORD } else { rules::JWT },
        };
        starts.iter().enumerate().map(place).collect()
    }

    fn sorted(found: &[Found]) -> bool {
        found.windows(2).all(|pair| !less(&pair[1], &pair[0]))
    }

    proptest! {
        #[test]
        fn places_in_any_order_are_sorted_and_none_is_lost(
            starts in proptest::collection::vec(0usize..500, 0..300),
        ) {
            let mut found = places(&starts);
            sort(&mut found);
            prop_assert!(sorted(&found));
            let mut starts = starts;
            starts.sort_unstable();
            prop_assert_eq!(found.iter().map(|found| found.range.start).collect::<Vec<_>>(), starts);
        }
    }

    #[test]
    fn many_places_in_the_opposite_order_are_sorted() {
        let mut found = places(&(0..50_000).rev().collect::<Vec<_>>());
        sort(&mut found);
        assert!(sorted(&found));
        assert_eq!(found.len(), 50_000);
    }
}
