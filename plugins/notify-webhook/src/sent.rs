//! The ids of the events that were sent last, so that one that is decided about again is not sent again.
//!
//! An id is kept after its message arrived, never before: a crash between the two sends it twice, and never not at all.

use hermes_plugin_sdk::outside;

/// How many ids are kept: more events than that do not wait to be decided about again.
pub const KEPT: usize = 200;
/// The key they are kept under.
const KEY: &str = "sent";

/// The ids, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    ids: Vec<String>,
}

impl Sent {
    /// What is kept. None where there is no store.
    #[must_use]
    pub fn load() -> Self {
        Self::read(&outside::get(KEY).ok().flatten().unwrap_or_default())
    }

    /// Reads ids, one a line.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        Self { ids: text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect() }
    }

    /// Whether an event was sent.
    #[must_use]
    pub fn holds(&self, id: &str) -> bool {
        self.ids.iter().any(|known| known == id)
    }

    /// Adds an event, and forgets the oldest.
    pub fn add(&mut self, id: &str) {
        self.ids.push(id.replace(['\n', '\r'], ""));
        let surplus = self.ids.len().saturating_sub(KEPT);
        self.ids.drain(..surplus);
    }

    /// The ids as they are kept.
    #[must_use]
    pub fn written(&self) -> Vec<u8> {
        self.ids.join("\n").into_bytes()
    }

    /// Keeps them. Where that fails, an event may be sent twice.
    pub fn keep(&self) {
        let _ = outside::put(KEY, &self.written());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ids_are_kept_and_read_back() {
        let mut sent = Sent::default();
        for index in 0..=KEPT {
            sent.add(&format!("event-{index}"));
        }
        let sent = Sent::read(&sent.written());
        assert!(!sent.holds("event-0"), "the oldest is forgotten");
        assert!(sent.holds("event-1") && sent.holds(&format!("event-{KEPT}")));
        assert_eq!(Sent::read(b""), Sent::default());
    }
}
