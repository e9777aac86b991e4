//! What one stream of a client has to read: kept until it is read, and a while longer for one that comes back.
//!
//! It must never grow without bound for a client that does not read, and never drop an answer that was not read.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use super::event::EventId;

/// How many events of one stream are kept, answers apart: more than happens while a client comes back.
const EVENTS_MAX: usize = 1024;
/// How many bytes of them are kept.
const BYTES_MAX: usize = 4 << 20;

/// One message to be read.
#[derive(Clone)]
pub(super) struct Said {
    /// Its number in the stream; the first is 1.
    pub(super) event: u64,
    /// One line, without its end.
    pub(super) line: Bytes,
    /// Whether it answers a request of the client.
    pub(super) answer: bool,
}

/// Who reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Nobody.
    Nobody,
    /// The reader of this number: a later one takes over.
    By(u64),
}

struct Kept {
    said: VecDeque<Said>,
    bytes: usize,
    next: u64,
    /// The first event that was not handed to any reader.
    unread: u64,
    /// The last event that was dropped; 0: none was.
    dropped: u64,
    over: bool,
    readers: u64,
    reading: Reading,
}

/// The messages of one stream. Written by the session, read by at most one reader at a time.
pub(super) struct Outbox {
    /// The number of the stream in its session.
    pub(super) stream: u64,
    kept: Mutex<Kept>,
    news: Notify,
}

impl Outbox {
    /// An empty one.
    pub(super) fn new(stream: u64) -> Arc<Self> {
        let kept = Kept {
            said: VecDeque::new(),
            bytes: 0,
            next: 1,
            unread: 1,
            dropped: 0,
            over: false,
            readers: 0,
            reading: Reading::Nobody,
        };
        Arc::new(Self { stream, kept: Mutex::new(kept), news: Notify::new() })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message.
    pub(super) fn push(&self, line: Bytes, answer: bool) {
        {
            let mut kept = self.kept();
            kept.bytes += line.len();
            let event = kept.next;
            kept.next += 1;
            kept.said.push_back(Said { event, line, answer });
            kept.shrink();
        }
        self.news.notify_waiters();
    }

    /// Nothing is added any more: who has read all of it has read the end.
    pub(super) fn finish(&self) {
        self.kept().over = true;
        self.news.notify_waiters();
    }

    /// Whether somebody reads it.
    pub(super) fn is_read(&self) -> bool {
        self.kept().reading != Reading::Nobody
    }

    /// How many bytes are kept.
    pub(super) fn bytes(&self) -> usize {
        self.kept().bytes
    }

    /// Reads it from now on, instead of whoever did: from after the event `after`, or from what nobody has read.
    /// `None`: what comes after that event is not kept any more, or was never there.
    pub(super) fn read(self: &Arc<Self>, after: Option<u64>) -> Option<Reader> {
        let reader = {
            let mut kept = self.kept();
            let next = match after {
                None => kept.unread,
                Some(after) if kept.has_all_after(after) => after + 1,
                Some(_) => return None,
            };
            kept.readers += 1;
            kept.reading = Reading::By(kept.readers);
            Reader { outbox: Arc::clone(self), number: kept.readers, next }
        };
        self.news.notify_waiters();
        Some(reader)
    }
}

impl Kept {
    /// Drops what may be dropped, the oldest first, until the rest is within its bounds.
    fn shrink(&mut self) {
        while self.said.len() > EVENTS_MAX || self.bytes > BYTES_MAX {
            let unread = self.unread;
            // The last was just added: it is what somebody waits for.
            let last = self.said.len().saturating_sub(1);
            let goes = self.said.iter().take(last).position(|said| !said.answer || said.event < unread);
            let Some(gone) = goes.and_then(|at| self.said.remove(at)) else { return };
            self.bytes -= gone.line.len();
            self.dropped = self.dropped.max(gone.event);
        }
    }

    fn has_all_after(&self, after: u64) -> bool {
        (self.dropped..self.next).contains(&after)
    }
}

/// What comes of reading.
pub(super) enum Read {
    /// A message.
    Said(Said),
    /// Nothing comes any more, or somebody else reads it.
    Over,
}

/// One that reads an outbox.
pub(super) struct Reader {
    outbox: Arc<Outbox>,
    number: u64,
    next: u64,
}

impl Reader {
    /// The event before the next one: where to go on.
    pub(super) fn place(&self) -> EventId {
        EventId { stream: self.outbox.stream, event: self.next - 1 }
    }

    /// The number of the stream.
    pub(super) fn stream(&self) -> u64 {
        self.outbox.stream
    }

    /// Waits for the next message.
    pub(super) async fn next(&mut self) -> Read {
        let outbox = Arc::clone(&self.outbox);
        loop {
            let news = outbox.news.notified();
            tokio::pin!(news);
            // From here on no news is missed.
            news.as_mut().enable();
            if let Some(read) = self.now() {
                return read;
            }
            news.await;
        }
    }

    fn now(&mut self) -> Option<Read> {
        let mut kept = self.outbox.kept();
        if kept.reading != Reading::By(self.number) {
            return Some(Read::Over);
        }
        let found = kept.said.partition_point(|said| said.event < self.next);
        if let Some(said) = kept.said.get(found).cloned() {
            self.next = said.event + 1;
            kept.unread = kept.unread.max(self.next);
            return Some(Read::Said(said));
        }
        kept.over.then_some(Read::Over)
    }

    /// Waits until the whole stream is there and holds answers only, which are then taken. `None`: something else came
    /// first, and nothing is taken.
    pub(super) async fn answers(&mut self) -> Option<Vec<Bytes>> {
        loop {
            let news = self.outbox.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            {
                let mut kept = self.outbox.kept();
                if kept.said.iter().any(|said| !said.answer) {
                    return None;
                }
                if kept.over {
                    kept.unread = kept.next;
                    return Some(kept.said.iter().map(|said| said.line.clone()).collect());
                }
            }
            news.await;
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut kept = self.outbox.kept();
        if kept.reading == Reading::By(self.number) {
            kept.reading = Reading::Nobody;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    async fn all(reader: &mut Reader) -> Vec<String> {
        let mut lines = Vec::new();
        while let Read::Said(said) = reader.next().await {
            lines.push(String::from_utf8(said.line.to_vec()).unwrap());
        }
        lines
    }

    #[tokio::test]
    async fn a_reader_that_comes_back_goes_on_where_it_was() {
        let outbox = Outbox::new(3);
        for text in ["a", "b", "c"] {
            outbox.push(line(text), false);
        }
        let mut reader = outbox.read(None).unwrap();
        assert_eq!(reader.place(), EventId { stream: 3, event: 0 });
        let Read::Said(first) = reader.next().await else { panic!("a message") };
        assert_eq!((first.event, first.line), (1, line("a")));
        drop(reader);
        assert!(!outbox.is_read());
        outbox.finish();
        assert_eq!(all(&mut outbox.read(Some(1)).unwrap()).await, ["b", "c"]);
        assert_eq!(all(&mut outbox.read(Some(0)).unwrap()).await, ["a", "b", "c"]);
        assert!(all(&mut outbox.read(None).unwrap()).await.is_empty());
        assert!(outbox.read(Some(3)).is_some() && outbox.read(Some(4)).is_none());
    }

    #[tokio::test]
    async fn the_newest_reader_takes_over() {
        let outbox = Outbox::new(0);
        let mut old = outbox.read(None).unwrap();
        let mut new = outbox.read(None).unwrap();
        outbox.push(line("a"), false);
        assert!(matches!(old.next().await, Read::Over));
        drop(old);
        assert!(outbox.is_read());
        assert!(matches!(new.next().await, Read::Said(_)));
    }

    #[tokio::test]
    async fn a_flood_nobody_reads_is_bounded_and_answers_stay() {
        let outbox = Outbox::new(1);
        outbox.push(line("answer"), true);
        for at in 0..EVENTS_MAX * 3 {
            outbox.push(line(&at.to_string()), false);
        }
        outbox.push(line(&"x".repeat(BYTES_MAX + 1)), true);
        outbox.finish();
        let mut reader = outbox.read(None).unwrap();
        let lines = all(&mut reader).await;
        assert_eq!(lines.first().map(String::as_str), Some("answer"));
        assert_eq!(lines.last().map(String::len), Some(BYTES_MAX + 1));
        assert!(lines.len() <= EVENTS_MAX);
        assert!(outbox.read(Some(2)).is_none(), "what comes after it is not all there");
    }

    #[tokio::test]
    async fn answers_alone_are_taken_together() {
        let outbox = Outbox::new(1);
        outbox.push(line("1"), true);
        outbox.push(line("2"), true);
        outbox.finish();
        let answers = outbox.read(None).unwrap().answers().await.unwrap();
        assert_eq!(answers, [line("1"), line("2")]);
        let other = Outbox::new(2);
        other.push(line("1"), true);
        other.push(line("progress"), false);
        assert!(other.read(None).unwrap().answers().await.is_none());
    }
}
