//! Files that are small and ask for much: what a host must refuse before it has allocated or compiled anything for it.
//!
//! Each is a component with a manifest that is right, made byte by byte where no tool would write it.

use std::fmt::Write;

use hermes_plugins::section::{self, COMPONENT_HEADER, MODULE_HEADER};

use crate::manifests;

/// The id of a core module's section within a component.
const MODULE: u8 = 1;
/// The id of a component's section within a component.
const COMPONENT: u8 = 4;

/// A component's bytes with the plainest manifest.
fn packed(component: &[u8]) -> Vec<u8> {
    section::embed(component, &manifests::plain("bomb", "redact"))
}

/// An unsigned LEB128 number.
fn leb(mut value: usize) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        out.push(if value == 0 { byte } else { byte | 0x80 });
        if value == 0 {
            return out;
        }
    }
}

/// A section with its id and length.
fn part(id: u8, body: &[u8]) -> Vec<u8> {
    [&[id][..], &leb(body.len()), body].concat()
}

/// A component with one module of these sections.
fn module(sections: &[Vec<u8>]) -> Vec<u8> {
    let module = [&MODULE_HEADER[..], &sections.concat()].concat();
    packed(&[&COMPONENT_HEADER[..], &part(MODULE, &module)].concat())
}

/// A component with one module of these function bodies, each without parameters and results.
fn functions(body: &[u8], count: usize) -> Vec<u8> {
    let mut code = leb(count);
    for _ in 0..count {
        code.extend(leb(body.len()));
        code.extend(body);
    }
    let declared = [leb(count), vec![0; count]].concat();
    module(&[part(1, &[1, 0x60, 0, 0]), part(3, &declared), part(10, &code)])
}

/// A component from its text.
fn text(text: &str) -> Vec<u8> {
    packed(&wat::parse_str(text).unwrap_or_else(|error| panic!("{error}")))
}

/// Components within each other, this many.
pub fn nested(levels: usize) -> Vec<u8> {
    let inner = (0..levels)
        .fold(COMPONENT_HEADER.to_vec(), |inner, _| [&COMPONENT_HEADER[..], &part(COMPONENT, &inner)].concat());
    packed(&inner)
}

/// Empty components beside each other, this many.
pub fn beside(count: usize) -> Vec<u8> {
    packed(&[&COMPONENT_HEADER[..], &part(COMPONENT, &COMPONENT_HEADER).repeat(count)].concat())
}

/// A module that says it imports a million functions and holds none.
pub fn claims_a_million_imports() -> Vec<u8> {
    module(&[part(2, &leb(1_000_000))])
}

/// A module that exports one function under a million names.
pub fn a_million_exports() -> Vec<u8> {
    let mut exports = leb(1_000_000);
    for number in 0..1_000_000 {
        let name = format!("{number:x}");
        exports.extend(leb(name.len()));
        exports.extend(name.as_bytes());
        exports.extend([0, 0]);
    }
    module(&[part(1, &[1, 0x60, 0, 0]), part(3, &[1, 0]), part(7, &exports), part(10, &[1, 2, 0, 0x0b])])
}

/// More than a megabyte of types of the component itself.
pub fn a_million_types() -> Vec<u8> {
    packed(&[&COMPONENT_HEADER[..], &part(7, &[leb(1_100_000), vec![0x7f; 1_100_000]].concat())].concat())
}

/// A type made twice of one made twice of another, and so on: a few bytes, and a hundred thousand parts.
pub fn a_type_of_types() -> Vec<u8> {
    let mut types = String::from("(type $t0 (tuple u32 u32))\n");
    for level in 1..=16 {
        let below = level - 1;
        let _ = writeln!(types, "(type $t{level} (tuple $t{below} $t{below}))");
    }
    text(&format!(
        "(component {types} (import \"hermes:host/log@0.1.0\" (instance (export \"write\" (func (param \"a\" $t16))))))"
    ))
}

/// Functions that each declare fifty thousand local variables in seven bytes.
pub fn many_locals() -> Vec<u8> {
    functions(&[&[1][..], &leb(50_000), &[0x7f, 0x0b]].concat(), 1000)
}

/// Functions that are each one branch table of half a million targets.
pub fn wide_branch_tables() -> Vec<u8> {
    functions(&[&[0, 0x41, 0, 0x0e][..], &leb(500_000), &vec![0; 500_001], &[0x0b]].concat(), 20)
}

/// One function of several megabytes.
pub fn a_long_function() -> Vec<u8> {
    functions(&[&[0][..], &[0x41, 0, 0x1a].repeat(2_000_000), &[0x0b]].concat(), 1)
}

/// A module that begins with this many pages of memory, of 64 KiB each.
pub fn with_memory(pages: u32) -> Vec<u8> {
    text(&format!("(component (core module $m (memory {pages})) (core instance (instantiate $m)))"))
}

/// A module that begins with a table of this many elements.
pub fn with_table(elements: u32) -> Vec<u8> {
    text(&format!("(component (core module $m (table {elements} funcref)) (core instance (instantiate $m)))"))
}

/// One module, started this many times.
pub fn with_instances(count: usize) -> Vec<u8> {
    let instances = "(core instance (instantiate $m))".repeat(count);
    text(&format!("(component (core module $m (memory 1)) {instances})"))
}

/// Sections of no bytes at all, this many, before the manifest.
pub fn empty_sections(count: usize) -> Vec<u8> {
    packed(&[&COMPONENT_HEADER[..], &part(0, &leb(0)).repeat(count)].concat())
}
