//! Results that were too large for their answer: kept for a while, so that the rest can be read.
//!
//! Everything in it has been through the policy. It must never grow beyond its bounds, and never show a result to another
//! owner than its session's.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hermes_model::id::Owner;
use hermes_model::report::PolicyReport;
use hermes_output::json::cut::page_end;
use serde_json::{Value, json};

/// How much is kept for all sessions together, in bytes: 4 of the largest that one may have.
pub const HOST_MAX: usize = 64 << 20;
/// How much is kept for one session, in bytes: the largest message a client may send, so that no session can want more than
/// one such message of a host.
pub const SESSION_MAX: usize = 16 << 20;
/// What an entry costs beside its text, in bytes, generously.
const ENTRY_BYTES: usize = 512;
/// The longest line of a page, in bytes: a longer one is counted as several, so that a text without newlines can be read
/// page by page.
const LINE_MAX: usize = 4 << 10;
/// How many lines a page has where nobody says how many: as a log.
const LINES: u64 = hermes_process::registry::request::LOG_LINES;
/// How every id begins.
const PREFIX: &str = "res_";

/// A result, or a part of one.
pub(crate) enum Kept {
    /// A text, as it may be shown.
    Text {
        /// All of it.
        text: String,
        /// What the policy did to it.
        policy: Box<PolicyReport>,
    },
    /// A binary, in base64 as the server sent it.
    Blob {
        /// What it is.
        mime: Option<String>,
        /// The bytes.
        base64: String,
    },
}

impl Kept {
    fn bytes(&self) -> usize {
        ENTRY_BYTES
            + match self {
                Self::Text { text, .. } => text.len(),
                Self::Blob { base64, .. } => base64.len(),
            }
    }
}

/// A result that was kept, and whose.
pub(crate) struct Stored {
    pub(crate) id: String,
    /// What it is the result of: the name of a tool.
    pub(crate) of: String,
    pub(crate) kept: Kept,
    session: u64,
    owner: Owner,
}

/// The results of a host.
#[derive(Default)]
pub struct Store {
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    bytes: usize,
    /// The oldest first.
    all: VecDeque<Arc<Stored>>,
}

impl Store {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps something for a session, at the cost of what is oldest. Returns its id; none: it is too large to be kept.
    pub(crate) fn keep(&self, session: u64, owner: &Owner, of: &str, kept: Kept) -> Option<String> {
        let bytes = kept.bytes();
        if bytes > SESSION_MAX {
            return None;
        }
        let mut random = [0; 6];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).ok()?;
        let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let id = format!("{PREFIX}{digits}");
        let mut held = self.held();
        held.make_room(Some(session), SESSION_MAX - bytes);
        held.make_room(None, HOST_MAX - bytes);
        held.bytes += bytes;
        let stored = Stored { id: id.clone(), of: of.to_owned(), kept, session, owner: owner.clone() };
        held.all.push_back(Arc::new(stored));
        Some(id)
    }

    /// Whether an id is one of a result.
    pub(crate) fn is_id(id: &str) -> bool {
        id.starts_with(PREFIX)
    }

    /// What is kept under an id, where it is this owner's.
    pub(crate) fn find(&self, owner: &Owner, id: &str) -> Option<Arc<Stored>> {
        self.held().all.iter().find(|stored| stored.id == id && stored.owner == *owner).cloned()
    }

    /// Everything of an owner, the oldest first.
    pub(crate) fn of(&self, owner: &Owner) -> Vec<Arc<Stored>> {
        self.held().all.iter().filter(|stored| stored.owner == *owner).cloned().collect()
    }

    /// Gives up what was kept for a session that ended.
    pub(crate) fn forget(&self, session: u64) {
        self.held().make_room(Some(session), 0);
    }
}

impl Held {
    /// Gives up the oldest, of one session or of all, until no more than `max` bytes are left.
    fn make_room(&mut self, session: Option<u64>, max: usize) {
        let is_one = |stored: &Stored| session.is_none_or(|session| stored.session == session);
        let mut left: usize = self.all.iter().filter(|stored| is_one(stored)).map(|stored| stored.kept.bytes()).sum();
        let mut freed = 0;
        self.all.retain(|stored| {
            let stays = left <= max || !is_one(stored);
            if !stays {
                left -= stored.kept.bytes();
                freed += stored.kept.bytes();
            }
            stays
        });
        self.bytes -= freed;
    }
}

/// Lines of a text as the answer to `log`: the last ones where no `offset` is given, and at most `budget` bytes. None where
/// it is no text.
pub(crate) fn page(stored: &Stored, offset: Option<u64>, limit: Option<u64>, budget: usize) -> Option<Value> {
    let Kept::Text { text, policy } = &stored.kept else { return None };
    let lines = lines(text);
    let total = lines.len() as u64;
    let limit = limit.unwrap_or(LINES);
    let first = offset.unwrap_or(total.saturating_sub(limit)).min(total);
    let from = usize::try_from(first).unwrap_or(lines.len());
    let (mut bytes, mut count) = (0, 0_u64);
    for line in lines.iter().skip(from).take(usize::try_from(limit).unwrap_or(usize::MAX)) {
        // One line is always shown: whoever reads on gets on.
        if count > 0 && bytes + line.len() > budget {
            break;
        }
        (bytes, count) = (bytes + line.len(), count + 1);
    }
    let shown: String = lines.iter().skip(from).take(usize::try_from(count).unwrap_or(0)).copied().collect();
    Some(json!({
        "id": stored.id, "command": stored.of, "status": null, "exit_code": null, "output": shown, "first_line": first,
        "lines": count, "total_lines": total, "output_bytes": text.len(), "output_cut": count < total, "policy": policy,
    }))
}

/// The lines of a text, each with its newline. One that is too long is several.
fn lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    for mut line in text.split_inclusive('\n') {
        while line.len() > LINE_MAX {
            let (piece, rest) = line.split_at(page_end(line, LINE_MAX));
            lines.push(piece);
            line = rest;
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> Kept {
        Kept::Text { text: text.to_owned(), policy: Box::default() }
    }

    fn owner() -> Owner {
        Owner::new("a")
    }

    #[test]
    fn what_is_oldest_gives_way_in_its_session_and_in_the_host() {
        let store = Store::default();
        let half = "x".repeat(SESSION_MAX / 2 - ENTRY_BYTES);
        let ids: Vec<String> = (0..3).map(|_| store.keep(1, &owner(), "t", text(&half)).unwrap()).collect();
        assert!(store.find(&owner(), &ids[0]).is_none() && store.find(&owner(), &ids[2]).is_some());
        for session in 2..7 {
            store.keep(session, &owner(), "t", text(&"x".repeat(SESSION_MAX - ENTRY_BYTES))).unwrap();
            assert!(store.held().bytes <= HOST_MAX);
        }
        assert!(store.find(&owner(), &ids[2]).is_none());
        assert!(store.keep(9, &owner(), "t", text(&"x".repeat(SESSION_MAX))).is_none(), "nothing gives way for it");
        store.forget(6);
        assert_eq!(store.of(&owner()).len(), 3);
    }

    #[test]
    fn a_result_is_its_owners() {
        let store = Store::default();
        let id = store.keep(1, &owner(), "t", text("x")).unwrap();
        assert!(Store::is_id(&id) && store.find(&Owner::new("b"), &id).is_none());
    }

    #[test]
    fn a_mask_is_in_one_piece() {
        let long = format!("{}[REDACTED:word]{}", "x".repeat(LINE_MAX - 5), "y".repeat(LINE_MAX));
        assert!(lines(&long).iter().any(|line| line.starts_with("[REDACTED:word]")));
    }

    proptest! {
        #[test]
        fn the_pages_together_are_the_text(
            pieces in proptest::collection::vec(prop_oneof!["[a-zé \n]{0,20}", Just("x".repeat(5000))], 0..12),
            limit in 1u64..9, budget in 1usize..9000,
        ) {
            let whole = pieces.concat();
            let stored =
                Stored { id: "res_0".into(), of: "t".into(), kept: text(&whole), session: 1, owner: owner() };
            let (mut read, mut offset) = (String::new(), 0);
            loop {
                let page = page(&stored, Some(offset), Some(limit), budget).unwrap();
                read.push_str(page["output"].as_str().unwrap());
                offset += page["lines"].as_u64().unwrap();
                if offset >= page["total_lines"].as_u64().unwrap() {
                    break;
                }
                prop_assert!(page["lines"].as_u64().unwrap() > 0);
            }
            prop_assert_eq!(read, whole);
        }
    }
}
