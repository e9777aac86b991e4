//! Mutations that know how a component is built: sections go, come twice, change places; bodies and lengths change; the
//! manifest inside is edited as text; names of interfaces and versions become others.
//!
//! Used by the target `load` and by a test of `host/plugins`, so it knows neither. The same seed makes the same file.

use std::ops::Range;

/// Bytes before the first section.
const HEADER: usize = 8;
/// What names in a component may become: another release, another track, nothing hermes knows, and what must never be
/// shown as it is.
const WORDS: [&[u8]; 12] = [
    b"0.1.0",
    b"0.1.1",
    b"0.1.9",
    b"0.2.0",
    b"9.9.9",
    b"hermes:host",
    b"hermes:hook",
    b"wasi:http/",
    b"redact",
    b"log",
    b"\x1b[31m",
    b"\xe2\x80\xae",
];
/// What lines of a manifest may become.
const LINES: [&str; 12] = [
    "hooks = [\"notify\"]",
    "hooks = []",
    "name = \"\\u001b[31mred\"",
    "version = \"1\"",
    "requires-hermes = \">=9\"",
    "permissions = [\"http:*\", \"storage\"]",
    "[settings]\ntype = 7",
    "[settings]\n\"$ref\" = \"#\"",
    "[[canary]]\nname = \"c\"\ntext = \"id 7\"\nrules = [\"id\"]",
    "[[canary]]\nname = \"c\"\ntext = \"a\"\nverdict = \"deliver\"",
    "unknown = { a = [1, 2, { b = '''x''' }] }",
    "description = \"\\u202Eevil\"",
];

/// Random numbers from a seed (xorshift64*), the same on every machine.
pub(super) struct Dice(u64);

impl Dice {
    /// Dice of a seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `below`; 0 if there is none.
    fn below(&mut self, below: usize) -> usize {
        if below == 0 { 0 } else { (self.next() >> 16) as usize % below }
    }

    fn of<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}

/// A section: where it begins, and its body.
struct Section {
    start: usize,
    body: Range<usize>,
}

/// Changes a file in one to four places.
pub(super) fn mutate(file: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut out = file.to_vec();
    for _ in 0..=dice.below(4) {
        out = once(&out, dice);
    }
    out
}

fn once(file: &[u8], dice: &mut Dice) -> Vec<u8> {
    let (sections, kind) = (sections(file), dice.below(12));
    if sections.is_empty() || kind == 0 {
        return bytes(file, 0..file.len(), dice);
    }
    let section = &sections[dice.below(sections.len())];
    let whole = section.start..section.body.end;
    match kind {
        1 => spliced(file, &whole, &[]),
        2 => spliced(file, &(whole.end..whole.end), &file[whole]),
        3 => {
            let other = &sections[dice.below(sections.len())];
            swapped(file, whole, other.start..other.body.end)
        }
        4 => file[..dice.below(file.len() + 1)].to_vec(),
        5 => {
            let mut out = file.to_vec();
            out[section.start] = dice.below(13) as u8;
            out
        }
        // A length that lies.
        6 => bytes(file, section.start + 1..section.body.start, dice),
        7 | 8 => bytes(file, section.body.clone(), dice),
        9 | 10 => renamed(file, dice),
        _ => manifest(file, dice),
    }
}

/// A few bytes of a range become others.
fn bytes(file: &[u8], range: Range<usize>, dice: &mut Dice) -> Vec<u8> {
    let mut out = file.to_vec();
    for _ in 0..=dice.below(8) {
        let at = range.start + dice.below(range.len());
        if let Some(byte) = out.get_mut(at) {
            *byte = match dice.below(4) {
                0 => byte.wrapping_add(1),
                1 => 1 << dice.below(8),
                2 => *byte ^ (1 << dice.below(8)),
                _ => dice.below(256) as u8,
            };
        }
    }
    out
}

/// One occurrence of a known word, or all of them, becomes another; lengths stay, so that the file may stay sound.
fn renamed(file: &[u8], dice: &mut Dice) -> Vec<u8> {
    let (from, to, all) = (dice.of(&WORDS), dice.of(&WORDS), dice.below(2) == 0);
    let found: Vec<usize> = (0..file.len()).filter(|at| file[*at..].starts_with(from)).collect();
    let mut out = file.to_vec();
    let chosen = dice.below(found.len());
    for (number, at) in found.into_iter().enumerate() {
        if all || number == chosen {
            let length = from.len().min(to.len());
            out[at..at + length].copy_from_slice(&to[..length]);
        }
    }
    out
}

/// The text of the last section, which is where a manifest is, gains, loses or changes a line.
fn manifest(file: &[u8], dice: &mut Dice) -> Vec<u8> {
    let Some(last) = sections(file).pop() else { return file.to_vec() };
    let (name_end, body) = (last.body.start + 14, last.body);
    let Some(text) = file.get(name_end..body.end).and_then(|text| std::str::from_utf8(text).ok()) else {
        return bytes(file, body, dice);
    };
    let mut lines: Vec<&str> = text.lines().collect();
    let at = dice.below(lines.len());
    match dice.below(4) {
        0 if !lines.is_empty() => drop(lines.remove(at)),
        1 if !lines.is_empty() => lines[at] = dice.of(&LINES),
        2 if !lines.is_empty() => lines.insert(at, lines[dice.below(lines.len())]),
        _ => lines.push(dice.of(&LINES)),
    }
    let mut content = file[body.start..name_end].to_vec();
    content.extend_from_slice(lines.join("\n").as_bytes());
    let mut section = vec![file[last.start]];
    write_leb(&mut section, content.len());
    section.extend_from_slice(&content);
    spliced(file, &(last.start..body.end), &section)
}

fn spliced(file: &[u8], range: &Range<usize>, with: &[u8]) -> Vec<u8> {
    [&file[..range.start], with, &file[range.end..]].concat()
}

fn swapped(file: &[u8], a: Range<usize>, b: Range<usize>) -> Vec<u8> {
    let (first, second) = if a.start <= b.start { (a, b) } else { (b, a) };
    if first.end > second.start {
        return file.to_vec();
    }
    let parts = [&file[..first.start], &file[second.clone()], &file[first.end..second.start], &file[first]];
    [parts.concat(), file[second.end..].to_vec()].concat()
}

/// The sections of a file, those inside nested modules and components too.
fn sections(file: &[u8]) -> Vec<Section> {
    let mut found = Vec::new();
    let mut open = vec![(HEADER, file.len())];
    while let Some((mut at, end)) = open.pop() {
        while at < end {
            let Some((length, body)) = read_leb(file, at + 1) else { break };
            let Some(after) = body.checked_add(length).filter(|after| *after <= end) else { break };
            // A module is section 1 of a component, a component is section 4; both begin with the four magic bytes.
            if file[body..after].starts_with(b"\0asm") && found.len() < 4096 {
                open.push((body + HEADER, after));
            }
            found.push(Section { start: at, body: body..after });
            at = after;
        }
    }
    found.sort_by_key(|section| section.start);
    found
}

fn read_leb(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut value = 0usize;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(at)?;
        at += 1;
        value |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((value, at));
        }
    }
    None
}

fn write_leb(out: &mut Vec<u8>, mut value: usize) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        out.push(if value == 0 { byte } else { byte | 0x80 });
        if value == 0 {
            return;
        }
    }
}
