//! One scan of one window: anchors in order, each handed to the family it belongs to, then the spans united and the
//! place found up to which nothing can change any more. Each family judges an anchor by the text alone, never by what
//! other anchors became, so that the answer is the same for every chunking. What is remembered between anchors only
//! saves time.

use std::cell::Cell;
use std::ops::Range;

use crate::prefilter::{Kind, Prefilter};
use crate::rules::Rule;
use crate::text::Text;

/// Bytes looked through for anchors at once; their positions fit the first-level cache.
const STRIDE: usize = 16 * 1024;

/// A place to mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The bytes.
    pub(crate) range: Range<usize>,
    /// Why.
    pub(crate) rule: Rule,
}

/// What is known while a window is looked through.
pub(crate) struct Scan<'a> {
    /// The text.
    pub(crate) text: Text<'a>,
    /// Whether text before the window was dropped.
    pub(crate) front_cut: bool,
    spans: Vec<Found>,
    /// Text from here on may become part of a mask.
    hold: usize,
    /// Text from here on must be seen again.
    need: usize,
    /// Where the earliest mask of the anchor in hand would begin.
    open: Cell<usize>,
    /// The last name looked at, so that one name with several anchors is judged once.
    pub(crate) name_end: usize,
    /// The last run of a bare value, by kind: where it was entered and where it ends.
    pub(crate) runs: [(usize, usize); 2],
    /// The last run of token characters, by kind: where it was entered and where it ends.
    pub(crate) bodies: [(usize, usize); 6],
    /// The last private key block that has a beginning.
    pub(crate) pem_end: usize,
    /// A stretch without a newline.
    pub(crate) flat: (usize, usize),
    /// The names judged last.
    pub(crate) names: crate::name::Memory,
    /// The commands of the line in hand.
    pub(crate) commands: crate::command::Commands,
    /// Before the last line that says `kind: Secret`.
    pub(crate) kind_at: Option<usize>,
    /// The last run of base64 with an encoded beginning: where it begins, how far it was read, where its mask ends.
    pub(crate) encoded: (usize, usize, usize),
}

impl<'a> Scan<'a> {
    /// A scan of `text`.
    pub(crate) fn new(text: &'a str, front_cut: bool, last: bool) -> Self {
        Self {
            text: Text::new(text.as_bytes(), last),
            front_cut,
            spans: Vec::new(),
            hold: usize::MAX,
            need: usize::MAX,
            open: Cell::new(usize::MAX),
            name_end: 0,
            runs: [(usize::MAX, 0); 2],
            bodies: [(usize::MAX, 0); 6],
            flat: (0, 0),
            names: crate::name::Memory::default(),
            pem_end: 0,
            commands: crate::command::Commands::default(),
            kind_at: None,
            encoded: (0, 0, 0),
        }
    }

    /// Adds a place to mask. An empty one adds nothing.
    #[inline(never)]
    pub(crate) fn mask(&mut self, start: usize, end: usize, rule: Rule) {
        let end = end.min(self.text.len());
        if start < end {
            self.spans.push(Found { range: start..end, rule });
        }
    }

    /// Says that a mask may begin at `from` if what is looked at is not decided yet.
    pub(crate) fn open(&self, from: usize) {
        self.open.set(self.open.get().min(from));
    }

    /// Says that text from `from` on must be in the next window.
    pub(crate) fn need(&mut self, from: usize) {
        self.need = self.need.min(from);
    }

    /// Says that text from `from` on must not be shown yet.
    pub(crate) fn hold(&mut self, from: usize) {
        self.hold = self.hold.min(from);
    }

    /// Says that of what was open only what begins at `from` or later is not decided.
    pub(crate) fn reopen(&self, from: usize) {
        self.open.set(from);
    }

    /// Looks through the whole window.
    pub(crate) fn all(&mut self, prefilter: &Prefilter) {
        let bytes = self.text.bytes();
        let mut places = Vec::with_capacity(256);
        let mut from = 0;
        while from < bytes.len() {
            let to = bytes.len().min(from + STRIDE);
            places.clear();
            prefilter.find(bytes, from, to, &mut places);
            for &place in &places {
                for kind in prefilter.kinds(bytes, place as usize) {
                    self.anchor(place as usize, kind);
                }
            }
            from = to;
        }
    }

    fn anchor(&mut self, at: usize, kind: Kind) {
        self.text.forget();
        self.open.set(usize::MAX);
        match kind {
            Kind::Token(index, offset) => crate::token::prefixed(self, at, index, offset),
            Kind::Name => crate::assignment::name(self, at),
            Kind::Url => crate::url::userinfo(self, at),
            Kind::PemBegin => crate::pem::begin(self, at),
            Kind::PemEnd => crate::pem::end(self, at),
            Kind::Putty => crate::pem::putty(self, at),
            Kind::Jwt => crate::token::jwt(self, at),
            Kind::Telegram => crate::token::telegram(self, at),
            Kind::Zhipu => crate::token::zhipu(self, at),
            Kind::Data => crate::kubernetes::data(self, at),
            Kind::Param => crate::url::param(self, at),
            Kind::Option => crate::command::option(self, at),
            Kind::Encoded => crate::encoded::run(self, at),
            Kind::Identified => crate::loose::identified(self, at),
            Kind::Phone => crate::token::phone(self, at),
        }
        if self.text.undecided() {
            self.hold = self.hold.min(self.open.get());
        }
    }

    /// The united spans that `on` lets through, in order, and where showing must stop and seeing go on.
    pub(crate) fn finish(mut self, on: impl Fn(Rule) -> bool) -> Outcome {
        let len = self.text.len();
        if !self.text.last() {
            crate::window::tail(&mut self);
        }
        let mut spans: Vec<Found> = Vec::with_capacity(self.spans.len());
        self.spans.retain(|found| on(found.rule));
        // Wider and more exact ones first, so that the order in which anchors stood does not matter.
        self.spans.sort_unstable_by_key(|found| {
            (found.range.start, usize::MAX - found.range.end, u8::MAX - found.rule.rank, found.rule.name)
        });
        for found in self.spans.drain(..) {
            match spans.last_mut() {
                Some(last) if found.range.start < last.range.end => {
                    last.range.end = last.range.end.max(found.range.end);
                    if found.rule.rank > last.rule.rank {
                        last.rule = found.rule;
                    }
                }
                _ => spans.push(found),
            }
        }
        let mut show_until = self.hold.min(len);
        // A mask is shown whole or not at all, and one that something may still join is not shown yet.
        for found in spans.iter().rev() {
            if found.range.start < show_until && show_until < found.range.end {
                show_until = found.range.start;
            }
        }
        let need_from = self.need.min(crate::window::context(self.text.bytes(), show_until));
        Outcome { spans, show_until, need_from }
    }
}

/// What a scan found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Places to mask, in order, none overlapping.
    pub(crate) spans: Vec<Found>,
    /// Text from here on is held.
    pub(crate) show_until: usize,
    /// Text from here on is needed again.
    pub(crate) need_from: usize,
}
