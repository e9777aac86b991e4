//! Chance that can be had again: every number comes from a seed, and the seed is said.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// The variable that gives a seed.
const VARIABLE: &str = "CHAOS_SEED";

/// Numbers from a seed (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    /// From the seed in `CHAOS_SEED`, or from the clock. Says which, for whoever has to see it again.
    pub(crate) fn seeded(what: &str) -> Self {
        let given = std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            now.as_secs() ^ u64::from(now.subsec_nanos())
        });
        // A test that fails shows what it said.
        let _ = writeln!(std::io::stderr(), "{what}: {VARIABLE}={seed}");
        Self(seed)
    }

    /// Other numbers, from the same seed.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below a bound.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// True so many times in a hundred.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
