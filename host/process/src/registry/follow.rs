//! A log as it grows: what was printed so far, and then what comes, as it may be shown.
//!
//! A follower never slows the process it follows: what it does not take in time is skipped, and its text says so.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use hermes_output::policy::Policy;
use hermes_output::stream::Stream;
use hermes_output::visible::Visible;
use tokio::sync::mpsc;

use super::attend::step;
use super::entry::{Body, Entry};
use super::look::{Eyes, blocking};
use crate::running::tap::Chunk;

/// How much captured text is looked at in one go: what a stream takes at once.
const PIECE: usize = 64 << 10;

/// One reader of a growing log. It ends when the output of the process is complete.
pub struct Follower {
    entry: Arc<Entry>,
    policy: Arc<dyn Policy>,
    stream: Option<Stream>,
    /// What was captured before, in the order it is shown.
    before: VecDeque<Chunk>,
    chunks: Option<mpsc::Receiver<Chunk>>,
}

/// What a follower got.
pub enum Followed {
    /// More text; possibly none that may be shown yet.
    Text(Visible),
    /// Nothing came within the patience.
    Nothing,
    /// The last text there is. Nothing follows.
    End(Visible),
    /// It was over before.
    Over,
}

impl Follower {
    pub(crate) fn of(eyes: &Eyes, entry: &Arc<Entry>) -> Self {
        let (captured, chunks) = match &entry.body {
            Body::Own(process) => process.tap(),
            Body::Adopted(_) => (entry.captured(), None),
        };
        let mut before = VecDeque::new();
        let parts = captured.parts();
        before.extend(parts.head.chunks(PIECE).map(|piece| Chunk::Bytes(piece.to_vec())));
        if let Some(gap) = parts.gap {
            before.push_back(Chunk::Skipped(gap.dropped_bytes));
            // A stream goes on after a gap with the next whole line, and this is one already.
            before.push_back(Chunk::Bytes(b"\n".to_vec()));
            before.extend(gap.tail.chunks(PIECE).map(|piece| Chunk::Bytes(piece.to_vec())));
        }
        let (policy, stream) = eyes.stream(entry);
        Self { entry: Arc::clone(entry), policy, stream: Some(stream), before, chunks }
    }

    /// The id of what it follows.
    pub fn process(&self) -> &hermes_model::id::ProcessId {
        &self.entry.id
    }

    /// The next text, once there is some. May not be dropped before it returns: what it took would be lost.
    pub async fn next(&mut self, patience: Duration) -> Followed {
        let chunk = match (self.before.pop_front(), &mut self.chunks) {
            (Some(chunk), _) => Some(chunk),
            (None, Some(chunks)) => match tokio::time::timeout(patience, chunks.recv()).await {
                Ok(chunk) => chunk,
                Err(_) => return Followed::Nothing,
            },
            (None, None) => None,
        };
        let Some(mut stream) = self.stream.take() else { return Followed::Over };
        let policy = Arc::clone(&self.policy);
        match chunk {
            Some(chunk) => {
                let (back, text) = blocking(move || step(stream, &*policy, &chunk)).await;
                self.stream = Some(back);
                Followed::Text(text)
            }
            None => Followed::End(blocking(move || stream.finish(&*policy).text).await),
        }
    }
}
