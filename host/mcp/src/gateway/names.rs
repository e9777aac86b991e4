//! How something of a server is called here: `<server>__<name>`, in the alphabet and length that every provider of models
//! takes.
//!
//! A name is a function of the server and its own name only, so it is the same whatever other servers there are; a table
//! says what is meant by it. It must never give two things one name.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

/// The longest name, in characters: providers of models refuse longer ones.
pub(crate) const NAME_MAX: usize = 64;
/// What stands between the server and its name for something.
const BETWEEN: &str = "__";
/// How many hexadecimal digits tell apart names that had to be changed.
const DIGITS: usize = 8;

/// How `name` of `server` is called. Names that would not be valid, or could be read in two ways, get digits of their own.
pub(crate) fn offered(server: &str, name: &str) -> String {
    let plain = format!("{}{BETWEEN}{}", clean(server), clean(name));
    let changed = clean(server) != server || clean(name) != name || name.is_empty();
    // The first `__` is the border: a server whose name has one, or ends so, would move it.
    let blurred = server.contains(BETWEEN) || server.ends_with('_');
    if changed || blurred || plain.len() > NAME_MAX { with_digits(&plain, server, name, DIGITS) } else { plain }
}

fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

fn with_digits(plain: &str, server: &str, name: &str, digits: usize) -> String {
    let hash = Sha256::new().chain_update(server).chain_update([0]).chain_update(name).finalize();
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let digits = digits.min(hex.len());
    let kept = plain.len().min(NAME_MAX.saturating_sub(digits + 1));
    format!("{}_{}", &plain[..kept], &hex[..digits])
}

/// Whether something of this server may be called so.
pub(crate) fn may_be_of(offered: &str, server: &str) -> bool {
    offered.starts_with(&format!("{}{BETWEEN}", clean(server)))
        || offered.len() == NAME_MAX && clean(server).starts_with(&offered[..offered.floor_char_boundary(KEPT_MIN)])
}

/// How much of the server's and its own name stays in a name that is too long, at least.
const KEPT_MIN: usize = NAME_MAX / 2 - 1;

/// Which names are taken, and by what.
pub(crate) struct Names<T> {
    taken: HashMap<String, T>,
}

impl<T> Names<T> {
    /// No name is taken but these, which belong to the host.
    pub(crate) fn without<'a>(reserved: impl IntoIterator<Item = (&'a str, T)>) -> Self {
        Self { taken: reserved.into_iter().map(|(name, what)| (name.to_owned(), what)).collect() }
    }

    /// Gives a name to `what`. Where another thing has it already, the later one gets more digits.
    pub(crate) fn give(&mut self, server: &str, name: &str, what: T) -> String {
        let mut chosen = offered(server, name);
        let mut digits = DIGITS;
        let mut count = 0_u64;
        while self.taken.contains_key(&chosen) {
            digits += DIGITS;
            if digits > NAME_MAX / 2 {
                // The same name of the same server once more: only a number tells them apart.
                count += 1;
            }
            let numbered = if count == 0 { name.to_owned() } else { format!("{name}\0{count}") };
            let plain = format!("{}{BETWEEN}{}", clean(server), clean(name));
            chosen = with_digits(&plain, server, &numbered, digits.min(NAME_MAX / 2));
        }
        self.taken.insert(chosen.clone(), what);
        chosen
    }

    /// What is called so.
    pub(crate) fn get(&self, offered: &str) -> Option<&T> {
        self.taken.get(offered)
    }

    /// Every name that is taken.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.taken.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_ordinary_name_stays_readable_and_an_odd_one_gets_digits() {
        assert_eq!(offered("github", "search-issues"), "github__search-issues");
        let dotted = offered("my.server", "a b");
        assert!(dotted.starts_with("my_server__a_b_") && dotted.len() == "my_server__a_b_".len() + DIGITS, "{dotted}");
        assert_ne!(offered("a_", "b"), offered("a", "_b"));
        assert_ne!(offered("a__b", "c"), offered("a", "b__c"));
        assert_eq!(offered("s", &"x".repeat(200)).len(), NAME_MAX);
        assert!(offered("s", "").len() > "s__".len());
    }

    #[test]
    fn a_name_that_is_taken_is_never_given_again() {
        let mut names = Names::without([("terminal", 0)]);
        let first = names.give("a", "x", 1);
        let all: HashSet<String> = (2..40).map(|number| names.give("a", "x", number)).collect();
        assert_eq!(all.len(), 38);
        assert!(!all.contains(&first) && names.get(&first) == Some(&1));
    }

    proptest! {
        #[test]
        fn every_name_is_valid_stable_and_its_own(
            things in proptest::collection::hash_set((prop_oneof!["[a-c_.]{1,5}", "[a-c_]{40,60}"], "[a-c_ é]{0,70}"), 1..30),
        ) {
            let mut names = Names::without([]);
            let mut given = HashSet::new();
            for (server, name) in &things {
                let offered = names.give(server, name, (server.clone(), name.clone()));
                prop_assert!(offered.len() <= NAME_MAX && !offered.is_empty());
                prop_assert!(offered.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{}", offered);
                prop_assert_eq!(names.get(&offered), Some(&(server.clone(), name.clone())));
                prop_assert_eq!(&offered, &super::offered(server, name), "without a collision it depends on nothing else");
                prop_assert!(may_be_of(&offered, server));
                prop_assert!(given.insert(offered));
            }
        }
    }
}
