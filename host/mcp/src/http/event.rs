//! Server-sent events: how a message stands in a stream of them.
//!
//! It must never let a message end its event early: a message is one line, and every event ends with an empty one.

use bytes::{BufMut, Bytes, BytesMut};

/// What says nothing, so that a peer that vanished is noticed.
pub(super) const BEAT: &[u8] = b":\n\n";
/// How soon a client may come back for the rest of a stream, in milliseconds.
const RETRY_MS: u32 = 500;

/// The name of an event: which stream, and which of its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    /// The number of the stream in its session; 0 is the one that is opened by GET.
    pub(super) stream: u64,
    /// The number of the event in its stream; 0 is before the first.
    pub(super) event: u64,
}

impl EventId {
    /// Reads what a client was given.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (stream, event) = text.split_once('-')?;
        let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
        Some(Self { stream: number(stream)?, event: number(event)? })
    }
}

/// An event with a message. `line` is one line, without its end.
pub(super) fn message(id: EventId, line: &[u8]) -> Bytes {
    let head = format!("id: {}-{}\ndata: ", id.stream, id.event);
    let mut bytes = BytesMut::with_capacity(head.len() + line.len() + 2);
    bytes.put_slice(head.as_bytes());
    bytes.put_slice(line);
    bytes.put_slice(b"\n\n");
    bytes.freeze()
}

/// The event a stream begins with: it says nothing, and where to go on when the stream breaks.
pub(super) fn priming(id: EventId) -> Bytes {
    format!("id: {}-{}\nretry: {RETRY_MS}\ndata: \n\n", id.stream, id.event).into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads events as the standard for them says: the id and the data of each.
    fn read(text: &str) -> Vec<(String, Option<String>)> {
        let mut events = Vec::new();
        let (mut id, mut data) = (String::new(), None);
        for line in text.split(['\n', '\r']) {
            match line.split_once(':') {
                None if line.is_empty() && data.is_some() => events.push((id.clone(), data.take())),
                Some(("id", value)) => value.strip_prefix(' ').unwrap_or(value).clone_into(&mut id),
                Some(("data", value)) => data = Some(value.strip_prefix(' ').unwrap_or(value).to_owned()),
                _ => {}
            }
        }
        events
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            lines in proptest::collection::vec("[^\n\r]{0,20}", 0..6), stream in any::<u64>(),
        ) {
            let mut text = String::from_utf8(priming(EventId { stream, event: 0 }).to_vec()).unwrap();
            for (at, line) in lines.iter().enumerate() {
                text += std::str::from_utf8(BEAT).unwrap();
                let id = EventId { stream, event: at as u64 + 1 };
                text += std::str::from_utf8(&message(id, line.as_bytes())).unwrap();
            }
            let events = read(&text);
            prop_assert_eq!(events.len(), lines.len() + 1);
            prop_assert_eq!(&events[0], &(format!("{stream}-0"), Some(String::new())));
            for (at, line) in lines.iter().enumerate() {
                prop_assert_eq!(events[at + 1].1.as_deref(), Some(line.as_str()));
                let id = EventId::parse(&events[at + 1].0);
                prop_assert_eq!(id, Some(EventId { stream, event: at as u64 + 1 }));
            }
        }
    }

    #[test]
    fn an_odd_id_is_none() {
        for odd in ["", "-", "1", "1-", "-1", "+1-1", "1-1-1", "a-b", "1-99999999999999999999999"] {
            assert_eq!(EventId::parse(odd), None, "{odd}");
        }
    }
}
