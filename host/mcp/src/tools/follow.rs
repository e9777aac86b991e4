//! Logs as they grow, followed call by call.
//!
//! A follower is kept in its session between two calls. It must never keep more of them than [`FOLLOWERS_MAX`], and
//! never lose a text because a call was cancelled.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hermes_model::id::ProcessId;
use hermes_process::registry::follow::{Followed, Follower};
use hermes_process::registry::handle::Who;
use hermes_process::running::tap::TAPS_MAX;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::arguments::Given;
use super::events;
use super::trouble::{Code, Trouble};
use crate::session::Session;

/// How many logs one session follows; then the one that was asked for longest ago is given up.
const FOLLOWERS_MAX: usize = 16;
/// After this much text a call answers, in bytes: what a follower looks at in one go.
const ENOUGH: usize = 64 << 10;
/// How long a follower is waited for before the next look whether the call was cancelled.
const SLICE: Duration = Duration::from_millis(200);

/// The followers of a session, the one that was asked for last at the end.
#[derive(Default)]
pub(crate) struct Followers {
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    made: u64,
    kept: Vec<Slot>,
}

struct Slot {
    cursor: String,
    process: ProcessId,
    following: Shared,
}

type Shared = Arc<tokio::sync::Mutex<Following>>;

struct Following {
    follower: Follower,
    /// Text that is ready and did not reach anybody: it has been through the policy.
    ready: String,
    ended: bool,
}

impl Followers {
    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, follower: Follower) -> (String, Shared) {
        let mut slots = self.slots();
        slots.made += 1;
        let (cursor, process) = (format!("follow-{}", slots.made), follower.process().clone());
        let following = Arc::new(tokio::sync::Mutex::new(Following { follower, ready: String::new(), ended: false }));
        // One reader a log: a client that begins again and again must not take the place of others.
        slots.kept.retain(|slot| slot.process != process);
        if slots.kept.len() >= FOLLOWERS_MAX {
            slots.kept.remove(0);
        }
        slots.kept.push(Slot { cursor: cursor.clone(), process, following: Arc::clone(&following) });
        (cursor, following)
    }

    fn again(&self, cursor: &str) -> Option<Shared> {
        let mut slots = self.slots();
        let at = slots.kept.iter().position(|slot| slot.cursor == cursor)?;
        let slot = slots.kept.remove(at);
        let following = Arc::clone(&slot.following);
        slots.kept.push(slot);
        Some(following)
    }

    fn end(&self, cursor: &str) -> bool {
        let mut slots = self.slots();
        let before = slots.kept.len();
        slots.kept.retain(|slot| slot.cursor != cursor);
        slots.kept.len() < before
    }

    pub(crate) fn clear(&self) {
        self.slots().kept.clear();
    }
}

/// Goes on with a log, from its beginning where no cursor is given.
pub(super) async fn follow(session: &Session, given: &Given, cancelled: &CancellationToken) -> Result<Value, Trouble> {
    let deadline = Instant::now() + events::wait(given)?;
    let (cursor, following) = match given.text("cursor")?.filter(|cursor| !cursor.is_empty()) {
        Some(cursor) => {
            let following = session.followers.again(cursor).ok_or_else(unknown)?;
            (cursor.to_owned(), following)
        }
        None => {
            let who = session.who(given)?;
            let follower = session.offer.registry.follow(&who, given.needed("id", "follow")?).await?;
            session.followers.begin(follower)
        }
    };
    let mut following = following
        .try_lock()
        .map_err(|_| Trouble::new(Code::Busy, "another call waits at this cursor: wait for its answer"))?;
    following.read_on(deadline, cancelled).await;
    if cancelled.is_cancelled() {
        return Err(Trouble::cancelled());
    }
    let (output, ended) = (std::mem::take(&mut following.ready), following.ended);
    let mut notes = Vec::new();
    if ended {
        session.followers.end(&cursor);
        if runs(session, following.follower.process()).await {
            notes.push(format!(
                "the process runs on: it has closed its output, or {TAPS_MAX} others follow it; 'log' shows what is there"
            ));
        }
    }
    let cursor = if ended { Value::Null } else { Value::String(cursor) };
    let id = following.follower.process();
    Ok(json!({"id": id, "cursor": cursor, "output": output, "ended": ended, "notes": notes}))
}

/// Whether a process that this session was allowed to follow has not ended.
async fn runs(session: &Session, id: &ProcessId) -> bool {
    let rows = session.offer.registry.list(&Who::Anybody).await;
    rows.iter().any(|row| row.id == *id && row.ended_at.is_none())
}

/// Gives a log up.
pub(super) fn unfollow(session: &Session, given: &Given) -> Result<Value, Trouble> {
    let cursor = given.needed("cursor", "unfollow")?;
    if session.followers.end(cursor) { Ok(json!({"cursor": null, "ended": true})) } else { Err(unknown()) }
}

fn unknown() -> Trouble {
    Trouble::new(
        Code::NotFound,
        format!(
            "there is no such cursor: its log has ended, or {FOLLOWERS_MAX} newer ones took its place; begin again with \
             'id'"
        ),
    )
}

impl Following {
    /// Collects text until there is some and no more of it is ready, or until the deadline.
    async fn read_on(&mut self, deadline: Instant, cancelled: &CancellationToken) {
        while !self.ended && self.ready.len() < ENOUGH && !cancelled.is_cancelled() {
            let left = deadline.saturating_duration_since(Instant::now());
            let patience = if self.ready.is_empty() { left.min(SLICE) } else { Duration::ZERO };
            match self.follower.next(patience).await {
                Followed::Text(text) => self.ready.push_str(text.as_str()),
                Followed::Nothing => {
                    if !self.ready.is_empty() || left.is_zero() {
                        return;
                    }
                }
                Followed::End(text) => {
                    self.ready.push_str(text.as_str());
                    self.ended = true;
                }
                Followed::Over => self.ended = true,
            }
            // A log of which nothing may be shown yet must not keep the call for ever.
            if left.is_zero() && self.ready.is_empty() {
                return;
            }
        }
    }
}
