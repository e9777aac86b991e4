//! The manifest inside a component: whatever the file is, what is put in comes out, and nothing else changes.

#![no_main]

use hermes_plugins::section::{self, COMPONENT_HEADER};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = section::read(bytes);
    let file = [&COMPONENT_HEADER, bytes].concat();
    let _ = section::read(&file);
    let empty = section::embed(&COMPONENT_HEADER, &String::from_utf8_lossy(bytes));
    assert_eq!(section::read(&empty), Some(String::from_utf8_lossy(bytes).as_bytes()), "another manifest came out");
    // Twice is once, wherever the sections can be followed to the end.
    let once = section::embed(&file, "one");
    if section::read(&once) == Some(b"one") {
        assert_eq!(section::embed(&once, "one"), once, "a manifest was kept beside the new one");
    }
});
