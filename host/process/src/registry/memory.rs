//! How much output is held in all: a bound for the host, whatever its processes print.
//!
//! It must never touch the output of a process that is over less than one that is over longer.

/// What all processes of a host may hold together (design: 256 MiB).
pub const BYTES_MAX: usize = 256 << 20;
/// The least ring a running process keeps when there are very many of them: the smallest a configuration may ask for.
pub const RUNNING_RING_MIN: usize = 64 << 10;

/// What one process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding<K> {
    /// Which process.
    pub key: K,
    /// How much it holds, in bytes.
    pub held: usize,
    /// When it ended; none while it runs. The smaller, the longer ago.
    pub ended: Option<std::time::Duration>,
}

/// Which processes keep how much of a ring so that all together fit: the longest ended give way first, and all that run
/// share what is left if that is not enough.
pub fn shrinks<K: Copy>(holdings: &[Holding<K>], budget: usize) -> Vec<(K, usize)> {
    let mut total: usize = holdings.iter().map(|holding| holding.held).sum();
    if total <= budget {
        return Vec::new();
    }
    let mut ended: Vec<&Holding<K>> = holdings.iter().filter(|holding| holding.ended.is_some()).collect();
    ended.sort_by_key(|holding| holding.ended);
    let mut shrinks = Vec::new();
    for holding in ended {
        if total <= budget {
            return shrinks;
        }
        total -= holding.held;
        shrinks.push((holding.key, 0));
    }
    let running: Vec<&Holding<K>> = holdings.iter().filter(|holding| holding.ended.is_none()).collect();
    if total > budget {
        let share = (budget / running.len().max(1)).max(RUNNING_RING_MIN);
        shrinks.extend(running.into_iter().filter(|holding| holding.held > share).map(|holding| (holding.key, share)));
    }
    shrinks
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn holding(key: u32, held: usize, ended: Option<u64>) -> Holding<u32> {
        Holding { key, held, ended: ended.map(Duration::from_secs) }
    }

    #[test]
    fn nothing_gives_way_while_all_fits() {
        assert_eq!(shrinks(&[holding(1, 50, None), holding(2, 50, Some(1))], 100), []);
    }

    #[test]
    fn the_longest_ended_gives_way_first_and_no_more_than_needed() {
        let all = [holding(1, 60, Some(9)), holding(2, 60, Some(3)), holding(3, 60, None)];
        assert_eq!(shrinks(&all, 120), [(2, 0)]);
    }

    #[test]
    fn running_ones_share_what_is_left_when_that_is_not_enough() {
        let mib = 1 << 20;
        let all = [holding(1, 8 * mib, None), holding(2, 8 * mib, None), holding(3, mib, Some(1))];
        assert_eq!(shrinks(&all, 8 * mib), [(3, 0), (1, 4 * mib), (2, 4 * mib)]);
    }
}
