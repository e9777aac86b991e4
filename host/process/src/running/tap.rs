//! A look at the output from the side: chunks for a reader who may be slow, without slowing the command.
//!
//! A tap must never make the command wait, and never lose a byte without saying how many.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, mpsc};

use super::capture::{CHUNK, LIVE_CHUNKS};

/// How many taps one command may have at a time: a view for each of a few clients, and no way to fill the memory.
pub const TAPS_MAX: usize = 8;

/// How much waits for a reader before bytes are skipped: as much as waits for a steady one, 512 KiB.
const WAITING_MAX: usize = LIVE_CHUNKS * CHUNK;

/// A piece of a live output, at most 64 KiB. Raw: it must go through the policy before anybody sees it.
pub enum Chunk {
    /// What came next.
    Bytes(Vec<u8>),
    /// This many bytes came next and are gone, because the reader was too slow. Only a tap says this.
    Skipped(u64),
}

/// The end of a tap that the output is put in. Dropping it ends the reader's channel, once the reader has the rest.
pub(crate) struct Tap {
    queue: Arc<Queue>,
    reader: mpsc::WeakSender<Chunk>,
}

impl Tap {
    /// A tap and what comes out of it. Needs a runtime: a task hands the chunks over, so that the size of a command's
    /// writes does not matter, only how much waits.
    pub(crate) fn new() -> (Self, mpsc::Receiver<Chunk>) {
        let (sender, receiver) = mpsc::channel(1);
        let queue = Arc::new(Queue { waiting: Mutex::new(Waiting::default()), changed: Notify::new() });
        let tap = Self { queue: Arc::clone(&queue), reader: sender.downgrade() };
        tokio::spawn(hand_over(queue, sender));
        (tap, receiver)
    }

    /// Whether somebody still reads.
    pub(crate) fn is_read(&self) -> bool {
        self.reader.upgrade().is_some_and(|reader| !reader.is_closed())
    }

    /// Adds what was just captured. Never waits.
    pub(crate) fn push(&self, bytes: &[u8]) {
        self.queue.waiting().push(bytes);
        self.queue.changed.notify_one();
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.queue.waiting().over = true;
        self.queue.changed.notify_one();
    }
}

struct Queue {
    waiting: Mutex<Waiting>,
    changed: Notify,
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn hand_over(queue: Arc<Queue>, reader: mpsc::Sender<Chunk>) {
    // Room first: what is not sure to arrive stays in the queue, where its size is counted.
    while let Ok(room) = reader.reserve().await {
        let chunk = loop {
            let (next, over) = {
                let mut waiting = queue.waiting();
                (waiting.take(), waiting.over)
            };
            match next {
                Some(chunk) => break chunk,
                None if over => return,
                None => tokio::select! {
                    () = queue.changed.notified() => {}
                    () = reader.closed() => return,
                },
            }
        };
        room.send(chunk);
    }
}

/// What a reader has not taken yet.
#[derive(Default)]
struct Waiting {
    chunks: VecDeque<Chunk>,
    /// Sum of the bytes in `chunks`, at most [`WAITING_MAX`].
    bytes: usize,
    /// How much came after `chunks` and was not kept.
    skipped: u64,
    /// Nothing more will come.
    over: bool,
}

impl Waiting {
    fn push(&mut self, bytes: &[u8]) {
        // After a gap it goes on only with room for a whole chunk, so that gaps are few and the queue short.
        if self.skipped > 0 && self.bytes + CHUNK <= WAITING_MAX {
            self.chunks.push_back(Chunk::Skipped(std::mem::take(&mut self.skipped)));
        }
        let room = if self.skipped > 0 { 0 } else { WAITING_MAX - self.bytes };
        let (kept, gone) = bytes.split_at(bytes.len().min(room));
        self.bytes += kept.len();
        self.skipped += gone.len() as u64;
        let mut kept = kept;
        if let Some(Chunk::Bytes(last)) = self.chunks.back_mut() {
            let (fits, rest) = kept.split_at(kept.len().min(CHUNK.saturating_sub(last.len())));
            last.extend_from_slice(fits);
            kept = rest;
        }
        self.chunks.extend(kept.chunks(CHUNK).map(|chunk| Chunk::Bytes(chunk.to_vec())));
    }

    fn take(&mut self) -> Option<Chunk> {
        match self.chunks.pop_front() {
            Some(Chunk::Bytes(bytes)) => {
                self.bytes -= bytes.len();
                Some(Chunk::Bytes(bytes))
            }
            Some(skipped) => Some(skipped),
            None if self.skipped > 0 => Some(Chunk::Skipped(std::mem::take(&mut self.skipped))),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;

    /// The longest write of these tests, in bytes.
    const WRITE_MAX: usize = 200_000;

    /// A piece of an endless output; a shift of it by anything but its period shows.
    fn piece(position: u64, length: usize) -> &'static [u8] {
        const PERIOD: u8 = 251;
        static OUTPUT: LazyLock<Vec<u8>> =
            LazyLock::new(|| (0..PERIOD).cycle().take(usize::from(PERIOD) + WRITE_MAX).collect());
        let start = usize::try_from(position % u64::from(PERIOD)).unwrap();
        &OUTPUT[start..start + length]
    }

    /// Where the reader stands after this chunk; fails when a byte is not the one that belongs there.
    fn after(position: u64, chunk: &Chunk) -> u64 {
        match chunk {
            Chunk::Skipped(count) => position + count,
            Chunk::Bytes(bytes) => {
                assert!(!bytes.is_empty() && bytes.len() <= CHUNK);
                assert!(bytes == piece(position, bytes.len()));
                position + bytes.len() as u64
            }
        }
    }

    proptest! {
        #[test]
        fn every_byte_arrives_or_is_counted_at_its_place_and_what_waits_is_bounded(
            steps in prop::collection::vec(prop_oneof![Just(None), (1..WRITE_MAX).prop_map(Some)], 0..60)
        ) {
            let mut waiting = Waiting::default();
            let (mut written, mut read) = (0, 0);
            for step in steps {
                match step {
                    Some(length) => {
                        waiting.push(piece(written, length));
                        written += length as u64;
                    }
                    None => read = waiting.take().map_or(read, |chunk| after(read, &chunk)),
                }
                prop_assert!(waiting.bytes <= WAITING_MAX);
                prop_assert!(waiting.chunks.len() <= 4 * LIVE_CHUNKS);
            }
            while let Some(chunk) = waiting.take() {
                read = after(read, &chunk);
            }
            prop_assert_eq!((read, waiting.bytes), (written, 0));
        }
    }

    #[test]
    fn small_writes_do_not_use_up_the_room_of_large_ones() {
        let mut waiting = Waiting::default();
        for position in 0..WAITING_MAX as u64 {
            waiting.push(piece(position, 1));
        }
        assert_eq!((waiting.skipped, waiting.chunks.len()), (0, LIVE_CHUNKS));
        waiting.push(b"x");
        assert_eq!(waiting.skipped, 1);
    }
}
