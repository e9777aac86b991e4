//! The manifest inside a component: a custom section named [`SECTION`]. Appending one changes nothing else of the file,
//! and every tool that reads components skips it.
//!
//! The build script uses this file as well, so it knows nothing of the crate around it.

/// The custom section's name.
pub const SECTION: &str = "hermes:plugin";

/// The eight bytes a component begins with: `\0asm`, version 13, layer 1 (the component model's binary format).
pub const COMPONENT_HEADER: [u8; 8] = [0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00];

/// The eight bytes a core module begins with: `\0asm`, version 1, layer 0.
pub const MODULE_HEADER: [u8; 8] = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

/// The id of a custom section.
const CUSTOM: u8 = 0;

/// The component with this manifest inside, in place of any it had.
pub fn embed(component: &[u8], manifest: &str) -> Vec<u8> {
    let mut out = without(component);
    let mut body = Vec::with_capacity(manifest.len() + SECTION.len() + 5);
    write_leb(&mut body, SECTION.len());
    body.extend_from_slice(SECTION.as_bytes());
    body.extend_from_slice(manifest.as_bytes());
    out.push(CUSTOM);
    write_leb(&mut out, body.len());
    out.extend_from_slice(&body);
    out
}

/// The manifest inside a component, if it has one. Damaged files have none.
pub fn read(component: &[u8]) -> Option<&[u8]> {
    sections(component).find_map(|section| manifest_of(component, &section))
}

/// How many manifests are inside a component. More than one is nobody's intention.
pub fn count(component: &[u8]) -> usize {
    sections(component).filter(|section| manifest_of(component, section).is_some()).count()
}

/// The component without its manifest.
fn without(component: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(component.len() + 4096);
    let mut kept = 0;
    for section in sections(component) {
        if manifest_of(component, &section).is_some() {
            out.extend_from_slice(&component[kept..section.start]);
            kept = section.body.end;
        }
    }
    out.extend_from_slice(&component[kept..]);
    out
}

/// A top-level section: where it starts, its id, and its content.
struct Section {
    start: usize,
    id: u8,
    body: std::ops::Range<usize>,
}

/// The top-level sections, as far as the file is well formed. One after the other: a file can hold millions.
fn sections(bytes: &[u8]) -> impl Iterator<Item = Section> {
    let mut at = COMPONENT_HEADER.len();
    std::iter::from_fn(move || {
        let id = *bytes.get(at)?;
        let (len, body) = read_leb(bytes, at + 1)?;
        let end = body.checked_add(len).filter(|end| *end <= bytes.len())?;
        let start = std::mem::replace(&mut at, end);
        Some(Section { start, id, body: body..end })
    })
}

/// The manifest's bytes, if this section holds them.
fn manifest_of<'a>(bytes: &'a [u8], section: &Section) -> Option<&'a [u8]> {
    if section.id != CUSTOM {
        return None;
    }
    let (len, name) = read_leb(bytes, section.body.start)?;
    let rest = name.checked_add(len).filter(|rest| *rest <= section.body.end)?;
    (&bytes[name..rest] == SECTION.as_bytes()).then(|| &bytes[rest..section.body.end])
}

/// An unsigned LEB128 number at `at`, and where it ends.
fn read_leb(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut value = 0u64;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(at)?;
        at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((usize::try_from(value).ok()?, at));
        }
    }
    None
}

/// Writes an unsigned LEB128 number.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_manifest_replaces_the_one_before_it() {
        let first = embed(&COMPONENT_HEADER, "one");
        let second = embed(&first, "two, and longer");
        assert_eq!(read(&first), Some(&b"one"[..]));
        assert_eq!(read(&second), Some(&b"two, and longer"[..]));
        assert_eq!(without(&second), COMPONENT_HEADER);
        assert_eq!(count(&second), 1);
    }

    #[test]
    fn two_manifests_are_counted_and_replaced_by_one() {
        let (one, two) = (embed(&COMPONENT_HEADER, "one"), embed(&COMPONENT_HEADER, "two"));
        let both = [&one[..], &two[COMPONENT_HEADER.len()..]].concat();
        assert_eq!(count(&both), 2);
        assert_eq!(count(&embed(&both, "three")), 1);
    }

    proptest! {
        #[test]
        fn any_manifest_comes_back(text in ".{0,2000}") {
            let packed = embed(&COMPONENT_HEADER, &text);
            prop_assert_eq!(read(&packed), Some(text.as_bytes()));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut file = COMPONENT_HEADER.to_vec();
            file.extend(bytes);
            let _ = read(&file);
            prop_assert_eq!(read(&embed(&without(&file), "x")).is_some(), read(&embed(&file, "x")).is_some());
        }
    }
}
