//! The thread that owns the connection: takes what waits, commits it together, and answers after the commit.
//!
//! It must never end because of the disk: a verb that fails is answered with the error, and the next one is tried.

use tokio::sync::mpsc;

use super::message::Message;
use crate::event::Claim;
use crate::problem::LedgerError;
use crate::progress::Verb;
use crate::store::Store;

/// How many requests may wait: more is a caller in a loop, who then waits too.
pub(crate) const MESSAGES: usize = 256;

/// How many requests share one commit, so that the first does not wait long for the last.
const TOGETHER: usize = 64;

/// Serves requests until the last handle is gone.
pub(crate) fn run(mut store: Store, mut requests: mpsc::Receiver<Message>) {
    while let Some(first) = requests.blocking_recv() {
        let mut waiting = vec![first];
        while waiting.len() < TOGETHER
            && let Ok(next) = requests.try_recv()
        {
            waiting.push(next);
        }
        let unwanted = serve(&mut store, waiting);
        if unwanted.is_empty() {
            continue;
        }
        if let Err(error) = store.together(true, |store| store.settle(Verb::Defer, &unwanted)) {
            tracing::warn!(%error, events = unwanted.len(), "events claimed by a caller who left wait for their lease");
        }
    }
}

/// Does what is asked and answers. Says which claims nobody waits for any more.
fn serve(store: &mut Store, mut waiting: Vec<Message>) -> Vec<Claim> {
    let writes = waiting.iter().any(Message::writes);
    let done = store.together(writes, |store| waiting.iter_mut().try_for_each(|message| message.apply(store)));
    match done {
        Ok(()) => waiting.into_iter().flat_map(|message| message.answer(None)).collect(),
        // One that cannot be done must not take the others down with it. A file that another process holds would be
        // waited for again and again.
        Err(error) if waiting.len() > 1 && !matches!(error, LedgerError::Busy { .. }) => {
            waiting.into_iter().flat_map(|message| serve(store, vec![message])).collect()
        }
        Err(error) => waiting.into_iter().flat_map(|message| message.answer(Some(error.clone()))).collect(),
    }
}
