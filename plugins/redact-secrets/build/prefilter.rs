//! The tables of the vector pass: anchors spread over buckets so that as little ordinary text as possible passes
//! for one, and a list of them by the hash of their bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::anchors::{Anchor, FORMS, Form};

#[path = "../src/slot.rs"]
mod slot;

use slot::{SLOTS, slots};

/// Those of one look.
const BUCKETS: usize = 8;
/// Times each fingerprint is tried in every other bucket.
const ROUNDS: usize = 3;
/// Windows of ordinary text that count; the others are rarer.
const WINDOWS: usize = 3_000;

/// Nibbles admitted at each of four places: those of a fingerprint, or of all in a bucket. A byte passes if both of its
/// nibbles are there.
#[derive(Clone, Copy, Default, PartialEq)]
struct Nibbles {
    low: [u16; 4],
    high: [u16; 4],
}

impl Nibbles {
    fn of(admits: impl Fn(usize, u8) -> bool) -> Self {
        let mut made = Self::default();
        for at in 0..4 {
            for byte in (0..=255).filter(|&byte| admits(at, byte)) {
                made.low[at] |= 1 << (byte & 15);
                made.high[at] |= 1 << (byte >> 4);
            }
        }
        made
    }

    fn or(mut self, other: &Self) -> Self {
        for at in 0..4 {
            self.low[at] |= other.low[at];
            self.high[at] |= other.high[at];
        }
        self
    }

    fn pass(&self, window: &[u8; 4]) -> bool {
        (0..4).all(|at| self.low[at] >> (window[at] & 15) & self.high[at] >> (window[at] >> 4) & 1 == 1)
    }
}

/// What stands in ordinary output: four bytes each, and how often; where words begin, or everywhere.
fn windows(text: &[u8], begins: bool) -> Vec<([u8; 4], usize)> {
    let mut counts = BTreeMap::new();
    for window in text.windows(5).filter(|window| !begins || !window[0].is_ascii_alphanumeric()) {
        *counts.entry([window[1], window[2], window[3], window[4]]).or_insert(0) += 1;
    }
    let mut counts: Vec<([u8; 4], usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.truncate(WINDOWS);
    counts
}

/// Spreads fingerprints over buckets: each where it makes the least ordinary text pass, tried again a few times.
fn spread(prints: &[Nibbles], windows: &[([u8; 4], usize)], count: usize) -> Vec<Nibbles> {
    let passing = |bucket: &Nibbles| windows.iter().filter(|(window, _)| bucket.pass(window)).map(|(_, n)| n).sum();
    let made = |place: &[usize], bucket: usize| {
        let own = prints.iter().zip(place).filter(|(_, at)| **at == bucket);
        own.fold(Nibbles::default(), |all, (print, _)| all.or(print))
    };
    let mut place = vec![usize::MAX; prints.len()];
    let mut buckets = vec![(Nibbles::default(), 0usize); count];
    for _ in 0..ROUNDS {
        for (index, print) in prints.iter().enumerate() {
            let old = std::mem::replace(&mut place[index], usize::MAX);
            if let Some(bucket) = buckets.get_mut(old) {
                let without = made(&place, old);
                *bucket = (without, passing(&without));
            }
            let with = |bucket: usize| {
                let (nibbles, before) = &buckets[bucket];
                let after = nibbles.or(print);
                let passing: usize = if after == *nibbles { *before } else { passing(&after) };
                (passing - before, bucket, after, passing)
            };
            let best = (0..count).map(with).min_by_key(|(more, bucket, ..)| (*more, *bucket));
            let (_, bucket, nibbles, passing) = best.expect("there are buckets");
            place[index] = bucket;
            buckets[bucket] = (nibbles, passing);
        }
    }
    buckets.into_iter().map(|(nibbles, _)| nibbles).collect()
}

/// The tables of eight buckets.
fn tables(buckets: &[Nibbles], of: impl Fn(&Nibbles) -> [u16; 4]) -> Vec<[u8; 16]> {
    let bit = |at: usize, nibble: usize| {
        buckets.iter().enumerate().fold(0, |all, (index, bucket)| all | ((of(bucket)[at] >> nibble & 1) as u8) << index)
    };
    (0..4).map(|at| std::array::from_fn(|nibble| bit(at, nibble))).collect()
}

/// The generated source.
pub(crate) fn write(mut anchors: Vec<Anchor>) -> String {
    let slot_of = |anchor: &Anchor| slots(anchor.bytes)[usize::from(anchor.open)];
    anchors.sort_by_key(slot_of);
    let text = include_bytes!("ordinary.txt");
    let looks = [true, false].map(|begins| {
        let own = anchors.iter().filter(|anchor| anchor.begins == begins);
        let prints: Vec<Nibbles> = own.map(|anchor| Nibbles::of(|at, byte| anchor.admits(at, byte))).collect();
        // Digits stand beside nearly everything: the forms have a bucket that they share with nothing.
        let alone: &[Form] = if begins { &[] } else { FORMS };
        let mut buckets = spread(&prints, &windows(text, begins), BUCKETS - alone.len().min(1));
        let forms = alone.iter().map(|form| Nibbles::of(|at, byte| form[at](byte)));
        buckets.extend(forms.reduce(|all, form| all.or(&form)));
        buckets
    });
    let mut bits = vec![0u64; SLOTS / 64];
    let mut starts = Vec::new();
    let mut last = usize::MAX;
    for (index, anchor) in anchors.iter().enumerate() {
        let slot = slot_of(anchor);
        bits[slot / 64] |= 1 << (slot % 64);
        if slot != last {
            starts.push(index);
            last = slot;
        }
    }
    starts.push(anchors.len());
    let ranks: Vec<u32> = bits
        .iter()
        .scan(0, |sum, word| {
            let before = *sum;
            *sum += word.count_ones();
            Some(before)
        })
        .collect();
    let mut out = String::new();
    let _ = writeln!(out, "pub(crate) static MASKS: Masks = Masks {{");
    let low: Vec<_> = looks.iter().map(|look| tables(look, |bucket| bucket.low)).collect();
    let high: Vec<_> = looks.iter().map(|look| tables(look, |bucket| bucket.high)).collect();
    let _ = writeln!(out, "    low: {low:?},\n    high: {high:?},");
    let _ = writeln!(out, "    bits: {bits:?},\n}};");
    let _ = writeln!(out, "static RANKS: [u16; {}] = {ranks:?};", ranks.len());
    let _ = writeln!(out, "static STARTS: [u16; {}] = {starts:?};", starts.len());
    let _ = writeln!(out, "static ANCHORS: [Anchor; {}] = [", anchors.len());
    let mut masks: Vec<u32> = Vec::new();
    for anchor in &anchors {
        let (mut value, mut mask) = ([0u8; 4], [0u8; 4]);
        for at in 0..4 {
            let fold = if anchor.folded && anchor.bytes[at].is_ascii_alphabetic() { 0x20 } else { 0 };
            mask[at] = if at == 3 && anchor.open { 0 } else { !fold };
            value[at] = anchor.bytes[at] & mask[at];
        }
        let (value, mask) = (u32::from_le_bytes(value), u32::from_le_bytes(mask));
        let number = masks.iter().position(|&known| known == mask).unwrap_or_else(|| {
            masks.push(mask);
            masks.len() - 1
        });
        let _ = writeln!(out, "    Anchor {{ value: {value:#010x}, mask: {number}, kind: Kind::{} }},", anchor.kind);
    }
    out += "];\n";
    let _ = writeln!(out, "static ANCHOR_MASKS: &[u32] = &{masks:?};");
    out
}
