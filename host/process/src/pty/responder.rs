//! Answers what a program asks its terminal, so that it does not wait for an answer that nobody types.
//!
//! Pure and byte by byte: what comes out does not depend on how the bytes were cut. Queries are taken out of the text;
//! everything else must pass exactly as it is. No screen is kept: what is answered is constant, but for the size.
//! What a program printed never comes back in an answer, but for the number of a mode.

use std::borrow::Cow;

use crate::spec::PtySize;

const ESCAPE: u8 = 0x1b;

/// The most digits a mode has in a query that is answered.
const MODE_DIGITS_MAX: usize = 10;

/// A question to the terminal (names after "Xterm Control Sequences", ctlseqs).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Query {
    /// DSR 5: does it work?
    Status,
    /// DSR 6: where is the cursor?
    Cursor,
    /// XTWINOPS 18: how large is it?
    Size,
    /// DA1: what is it?
    Primary,
    /// DA2: which version is it?
    Secondary,
    /// DECRQM: is this private mode set?
    Mode(Vec<u8>),
    /// OSC 10: which colour has text?
    Foreground(End),
    /// OSC 11: which colour is behind it?
    Background(End),
}

/// How a query of a colour ended; its answer ends the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Bell,
    StringTerminator,
}

/// The queries without a parameter of their own.
const FIXED: [(&[u8], Query); 11] = [
    (b"\x1b[5n", Query::Status),
    (b"\x1b[6n", Query::Cursor),
    (b"\x1b[18t", Query::Size),
    (b"\x1b[c", Query::Primary),
    (b"\x1b[0c", Query::Primary),
    (b"\x1b[>c", Query::Secondary),
    (b"\x1b[>0c", Query::Secondary),
    (b"\x1b]10;?\x07", Query::Foreground(End::Bell)),
    (b"\x1b]10;?\x1b\\", Query::Foreground(End::StringTerminator)),
    (b"\x1b]11;?\x07", Query::Background(End::Bell)),
    (b"\x1b]11;?\x1b\\", Query::Background(End::StringTerminator)),
];

impl Query {
    /// What is typed for the program that asked.
    pub(crate) fn answer(&self, size: PtySize) -> Vec<u8> {
        match self {
            Self::Status => b"\x1b[0n".to_vec(),
            Self::Cursor => b"\x1b[1;1R".to_vec(),
            Self::Size => format!("\x1b[8;{};{}t", size.rows, size.cols).into_bytes(),
            // A VT100 with the advanced video option, as xterm answers when it is to be one.
            Self::Primary => b"\x1b[?1;2c".to_vec(),
            // A VT100 of no version: a newer one would be asked for more than is answered here.
            Self::Secondary => b"\x1b[>0;0;0c".to_vec(),
            // Zero: such a mode is not known.
            Self::Mode(number) => [b"\x1b[?", number.as_slice(), b";0$y"].concat(),
            // Light text on a dark ground, as most terminals have it.
            Self::Foreground(end) => colour(b"10", b"e5e5/e5e5/e5e5", *end),
            Self::Background(end) => colour(b"11", b"0000/0000/0000", *end),
        }
    }
}

fn colour(which: &[u8], colour: &[u8], end: End) -> Vec<u8> {
    let end: &[u8] = match end {
        End::Bell => b"\x07",
        End::StringTerminator => b"\x1b\\",
    };
    [b"\x1b]", which, b";rgb:", colour, end].concat()
}

/// What some bytes that begin with an escape are.
enum Match {
    Whole(Query),
    /// More must come to tell.
    Beginning,
    Other,
}

fn classify(bytes: &[u8]) -> Match {
    for (text, query) in FIXED {
        if text == bytes {
            return Match::Whole(query);
        }
        if text.starts_with(bytes) {
            return Match::Beginning;
        }
    }
    let Some(rest) = bytes.strip_prefix(b"\x1b[?") else { return Match::Other };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = rest.split_at(digits);
    match rest {
        _ if digits > MODE_DIGITS_MAX => Match::Other,
        b"" => Match::Beginning,
        b"$" if digits > 0 => Match::Beginning,
        b"$p" if digits > 0 => Match::Whole(Query::Mode(number.to_vec())),
        _ => Match::Other,
    }
}

/// Finds the queries in a stream of bytes.
#[derive(Default)]
pub(crate) struct Responder {
    /// The beginning of what may be a query: at most 15 bytes, the longest one is `ESC [ ? 10 digits $ p`.
    held: Vec<u8>,
}

impl Responder {
    /// Returns the text among the bytes, and adds the queries among them to `queries`. What may be the beginning of a
    /// query is held until the rest of it comes.
    pub(crate) fn pass<'a>(&mut self, mut bytes: &'a [u8], queries: &mut Vec<Query>) -> Cow<'a, [u8]> {
        if self.held.is_empty() && !bytes.contains(&ESCAPE) {
            return Cow::Borrowed(bytes);
        }
        let mut text = Vec::with_capacity(self.held.len() + bytes.len());
        while !bytes.is_empty() {
            if self.held.is_empty() {
                let plain = bytes.iter().position(|&byte| byte == ESCAPE).unwrap_or(bytes.len());
                text.extend_from_slice(&bytes[..plain]);
                bytes = &bytes[plain..];
            }
            if let Some((&byte, rest)) = bytes.split_first() {
                self.take(byte, &mut text, queries);
                bytes = rest;
            }
        }
        Cow::Owned(text)
    }

    /// Adds a byte to what is held, and lets go what is no beginning of a query.
    fn take(&mut self, byte: u8, text: &mut Vec<u8>, queries: &mut Vec<Query>) {
        self.held.push(byte);
        while !self.held.is_empty() {
            match classify(&self.held) {
                Match::Whole(query) => {
                    queries.push(query);
                    self.held.clear();
                }
                Match::Beginning => return,
                Match::Other => {
                    // Another escape among it may begin a query of its own.
                    let later = self.held.iter().skip(1).position(|&byte| byte == ESCAPE);
                    text.extend(self.held.drain(..later.map_or(self.held.len(), |later| later + 1)));
                }
            }
        }
    }

    /// Nothing more will come: what was held is text.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIZE: PtySize = PtySize { rows: 30, cols: 120 };

    /// The text and the answers, for bytes that come in these pieces.
    fn answered(pieces: &[&[u8]]) -> (Vec<u8>, Vec<u8>) {
        let (mut responder, mut text, mut queries) = (Responder::default(), Vec::new(), Vec::new());
        for piece in pieces {
            text.extend_from_slice(&responder.pass(piece, &mut queries));
            assert!(responder.held.len() < 15, "{:?}", responder.held);
        }
        text.extend(responder.finish());
        (text, queries.iter().flat_map(|query| query.answer(SIZE)).collect())
    }

    /// The length of the query at the beginning, seen by other means.
    fn query_at(bytes: &[u8]) -> Option<usize> {
        let fixed = ["[5n", "[6n", "[18t", "[c", "[0c", "[>c", "[>0c"].map(str::to_owned);
        let colours = ["10", "11"].iter().flat_map(|n| [format!("]{n};?\x07"), format!("]{n};?\x1b\\")]);
        let rest = bytes.strip_prefix(b"\x1b")?;
        if let Some(known) = fixed.into_iter().chain(colours).find(|known| rest.starts_with(known.as_bytes())) {
            return Some(1 + known.len());
        }
        let end = rest.windows(2).position(|pair| pair == b"$p")?;
        let number = rest[..end].strip_prefix(b"[?")?;
        ((1..=10).contains(&number.len()) && number.iter().all(u8::is_ascii_digit)).then_some(1 + end + 2)
    }

    fn without_queries(mut bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        while let Some(&first) = bytes.first() {
            match query_at(bytes) {
                Some(length) => bytes = &bytes[length..],
                None => {
                    text.push(first);
                    bytes = &bytes[1..];
                }
            }
        }
        text
    }

    /// Bytes rich in queries, in almost-queries and in their beginnings.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            prop::collection::vec(any::<u8>(), 0..8),
            prop::sample::select(FIXED.map(|(text, _)| text.to_vec()).to_vec()),
            "\x1b\\[\\?[0-9]{0,12}\\$?p?".prop_map(String::into_bytes),
            "[\x1b\\[\\]?;0-9nctp$>\x07\\\\]{0,6}".prop_map(String::into_bytes),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn every_way_to_cut_gives_the_same_text_and_the_same_answers(
            bytes in bytes(), lengths in prop::collection::vec(1_usize..9, 1..20)
        ) {
            let mut pieces = Vec::new();
            let mut rest = bytes.as_slice();
            for length in lengths.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, more) = rest.split_at(rest.len().min(*length));
                pieces.push(piece);
                rest = more;
            }
            prop_assert_eq!(answered(&pieces), answered(&[&bytes]));
        }

        #[test]
        fn everything_but_the_queries_passes_as_it_is(bytes in bytes()) {
            prop_assert_eq!(answered(&[&bytes]).0, without_queries(&bytes));
        }
    }

    #[test]
    fn each_query_gets_its_answer() {
        let cases: [(&str, &str); 13] = [
            ("\x1b[5n", "\x1b[0n"),
            ("\x1b[6n", "\x1b[1;1R"),
            ("\x1b[18t", "\x1b[8;30;120t"),
            ("\x1b[?2026$p", "\x1b[?2026;0$y"),
            ("\x1b[?1234567890$p", "\x1b[?1234567890;0$y"),
            ("\x1b[c", "\x1b[?1;2c"),
            ("\x1b[0c", "\x1b[?1;2c"),
            ("\x1b[>c", "\x1b[>0;0;0c"),
            ("\x1b[>0c", "\x1b[>0;0;0c"),
            ("\x1b]10;?\x07", "\x1b]10;rgb:e5e5/e5e5/e5e5\x07"),
            ("\x1b]10;?\x1b\\", "\x1b]10;rgb:e5e5/e5e5/e5e5\x1b\\"),
            ("\x1b]11;?\x07", "\x1b]11;rgb:0000/0000/0000\x07"),
            ("\x1b]11;?\x1b\\", "\x1b]11;rgb:0000/0000/0000\x1b\\"),
        ];
        for (query, answer) in cases {
            let bytes = format!("a{query}b");
            assert_eq!(answered(&[bytes.as_bytes()]), (b"ab".to_vec(), answer.as_bytes().to_vec()), "{query:?}");
        }
    }

    #[test]
    fn what_only_looks_like_a_query_passes_and_the_query_behind_it_is_answered() {
        for text in
            ["\x1b[31mred\x1b[0m", "\x1b[?25h", "\x1b[?$p", "\x1b[?12345678901$p", "\x1b]0;title\x07", "\x1b[6", "\x1b"]
        {
            assert_eq!(answered(&[text.as_bytes()]), (text.as_bytes().to_vec(), Vec::new()), "{text:?}");
        }
        let (text, answers) = answered(&[b"\x1b]11;?\x1b", b"[6", b"n\x1b\x1b[5n"]);
        assert_eq!(
            (text.as_slice(), answers.as_slice()),
            (b"\x1b]11;?\x1b".as_slice(), b"\x1b[1;1R\x1b[0n".as_slice())
        );
    }
}
