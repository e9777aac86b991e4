//! One scan of one window: anchors in order, each handed to the family it belongs to, then the spans united and the
//! place found up to which nothing can change any more. Each family judges an anchor by the text alone, never by what
//! other anchors became, so that the answer is the same for every chunking. What is remembered between anchors only
//! saves time.

use std::cell::Cell;
use std::ops::Range;

use crate::digits;
use crate::money;
use crate::order;
use crate::personal;
use crate::prefilter::{self, Kind, STRIDE};
use crate::rules::{Body, Rule};
use crate::settings::{Mode, Policy};
use crate::strict;
use crate::text::{DIGIT, Text, is};

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
    /// Whether a weak name is as good as a strong one.
    pub(crate) strict: bool,
    spans: Vec<Found>,
    /// Text from here on may become part of a mask.
    hold: usize,
    /// Text from here on must be seen again.
    need: usize,
    /// Where the earliest mask of the anchor in hand would begin.
    open: Cell<usize>,
    /// The last name looked at, so that one name with several anchors is judged once.
    pub(crate) name_end: usize,
    /// The name that the value of the last one begins with: where it begins and ends.
    pub(crate) next_name: (usize, usize),
    /// The last run of a bare value, by kind: where it was entered and where it ends.
    pub(crate) runs: [(usize, usize); 2],
    /// The last run of token characters, by kind: where it was entered and where it ends.
    pub(crate) bodies: [(usize, usize); Body::COUNT],
    /// The last private key block that has a beginning.
    pub(crate) pem_end: usize,
    /// A stretch without a newline.
    pub(crate) flat: (usize, usize),
    /// The names judged last.
    pub(crate) names: crate::name::Memory,
    /// The commands of the line in hand.
    pub(crate) commands: crate::command::Commands,
    /// How far the text was searched for `login`, and where the last one stands.
    pub(crate) logins: (usize, Option<usize>),
    /// Before the last line that says `kind: Secret`.
    pub(crate) kind_at: Option<usize>,
    /// The last value with signs written out and no quotes: where it was entered and where it ends.
    pub(crate) escaped: (usize, usize),
    /// The last run of base64 with an encoded beginning: where it begins, how far it was read, where its mask ends.
    pub(crate) encoded: (usize, usize, usize),
}

impl<'a> Scan<'a> {
    /// A scan of `text`.
    pub(crate) fn new(text: &'a str, front_cut: bool, last: bool) -> Self {
        Self {
            text: Text::new(text.as_bytes(), last),
            front_cut,
            strict: false,
            spans: Vec::new(),
            hold: usize::MAX,
            need: usize::MAX,
            open: Cell::new(usize::MAX),
            name_end: 0,
            next_name: (usize::MAX, 0),
            runs: [(usize::MAX, 0); 2],
            bodies: [(usize::MAX, 0); Body::COUNT],
            flat: (0, 0),
            names: crate::name::Memory::default(),
            pem_end: 0,
            commands: crate::command::Commands::default(),
            kind_at: None,
            logins: (0, None),
            escaped: (0, 0),
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
    pub(crate) fn all(&mut self, policy: &Policy) {
        self.strict = policy.mode == Mode::Strict;
        let bytes = self.text.bytes();
        let mut places = [0; STRIDE];
        let mut kinds = prefilter::Kinds::new();
        let mut from = 0;
        while from < bytes.len() {
            let to = bytes.len().min(from + STRIDE);
            let count = prefilter::find(bytes, from, to, &mut places);
            for &place in &places[..count] {
                let at = place as usize;
                for &kind in kinds.at(bytes, at) {
                    self.anchor(at, kind);
                }
            }
            if policy.money {
                self.money(from, to);
            }
            if policy.more() {
                self.more(policy, from, to);
            }
            from = to;
        }
        if policy.money && !self.text.last() {
            self.money_tail();
        }
    }

    /// Numbers of cards and accounts in `from..to`.
    fn money(&mut self, from: usize, to: usize) {
        digits::find(self.text.bytes(), from, to, |at, card| {
            if card {
                self.judge(|scan| money::card(scan, at - digits::CARD));
            } else {
                self.judge(|scan| money::account(scan, at - digits::ACCOUNT));
            }
        });
    }

    /// Holds back what may yet become the number of a card or an account, and is too short to have been looked at.
    fn money_tail(&mut self) {
        let bytes = self.text.bytes();
        for (at, &byte) in bytes.iter().enumerate().skip(bytes.len().saturating_sub(digits::CARD)) {
            if is(byte, DIGIT) {
                self.judge(|scan| money::card(scan, at));
            } else if byte.is_ascii_uppercase() {
                self.judge(|scan| money::account(scan, at));
            }
        }
    }

    /// What is looked for only where the settings ask for it.
    #[inline(never)]
    fn more(&mut self, policy: &Policy, from: usize, to: usize) {
        let bytes = self.text.bytes();
        let digit = |at: usize| bytes.get(at).is_none_or(|&byte| is(byte, DIGIT));
        for at in from..to {
            let byte = bytes[at];
            if !policy.looked[usize::from(byte)] {
                continue;
            }
            match byte {
                b'+' if policy.phone => self.judge(|scan| crate::token::phone(scan, at)),
                b'@' if policy.email => self.judge(|scan| personal::email(scan, at)),
                b'0'..=b'9' if policy.ssn && digit(at + 1) && digit(at + 2) && !is(self.text.before(at), DIGIT) => {
                    self.judge(|scan| personal::security_number(scan, at));
                }
                _ => {}
            }
            if policy.extra.may_begin(byte) && policy.extra.may_go_on(bytes.get(at + 1)) {
                self.judge(|scan| policy.extra.look(scan, at));
            }
        }
        if policy.entropy {
            strict::words(bytes, from, to, |at| self.judge(|scan| strict::word(scan, at)));
        }
        if policy.email && to == bytes.len() && !self.text.last() {
            let local = bytes.iter().rev().take(personal::MAX_LOCAL).take_while(|&&c| personal::local(c)).count();
            self.hold(bytes.len() - local);
        }
    }

    #[inline]
    fn anchor(&mut self, at: usize, kind: Kind) {
        self.judge(|scan| match kind {
            Kind::Token(index, offset) => crate::token::prefixed(scan, at, index, offset),
            Kind::Name | Kind::Key => crate::assignment::name(scan, at),
            Kind::Service(index) => crate::service::name(scan, at, index),
            Kind::Url => crate::url::userinfo(scan, at),
            Kind::PemBegin => crate::pem::begin(scan, at),
            Kind::PemEnd => crate::pem::end(scan, at),
            Kind::Putty => crate::pem::putty(scan, at),
            Kind::Jwt => crate::token::jwt(scan, at),
            Kind::Telegram => crate::token::telegram(scan, at + 2),
            Kind::Zhipu => crate::token::zhipu(scan, at + 2),
            Kind::Data => crate::kubernetes::data(scan, at + 1),
            Kind::Param => crate::url::param(scan, at + 1),
            Kind::Option => crate::command::option(scan, at),
            Kind::Encoded => crate::encoded::run(scan, at),
            Kind::Identified => crate::loose::identified(scan, at),
            Kind::Oracle => crate::command::oracle(scan, at),
            Kind::Crypt => crate::record::crypt(scan, at),
            Kind::Pgpass => crate::record::pgpass(scan, at),
            Kind::Jar => crate::record::jar(scan, at),
            Kind::AddMask => crate::record::add_mask(scan, at),
            Kind::Secure => crate::terraform::secure(scan, at),
            Kind::EncodedUrl => crate::escaped::userinfo(scan, at),
            Kind::Driver => crate::record::driver(scan, at),
        });
    }

    /// Looks at one place; what is open and not decided there is held.
    fn judge(&mut self, look: impl FnOnce(&mut Self)) {
        self.text.forget();
        self.open.set(usize::MAX);
        look(self);
        if self.text.undecided() {
            self.hold = self.hold.min(self.open.get());
        }
    }

    /// The united spans that `on` lets through, in order, and where showing must stop and seeing go on.
    pub(crate) fn finish(mut self, on: impl Fn(&Found) -> bool) -> Outcome {
        let len = self.text.len();
        if !self.text.last() {
            crate::window::tail(&mut self);
        }
        let mut spans: Vec<Found> = Vec::with_capacity(self.spans.len());
        self.spans.retain(on);
        order::sort(&mut self.spans);
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
