//! A manifest from anywhere: it is read, or one line says what is wrong.

#![no_main]

use hermes_plugins::manifest::Manifest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    match Manifest::parse(text) {
        Ok(manifest) => {
            assert!(!manifest.hooks.is_empty(), "a plugin without a hook");
            assert!(!manifest.description.contains(char::is_control), "a description that moves the cursor");
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "more than one line"),
    }
});
