//! A plugin that cannot load: a component that wants a database nobody offers.

use std::fs;
use std::path::Path;

use crate::error::TaskError;

/// Its name.
pub(crate) const NAME: &str = "needs-db";
/// What it imports.
pub(crate) const IMPORT: &str = "acme:tools/db@1.0.0";

const MANIFEST: &str = r#"name = "needs-db"
version = "0.3.0"
description = "Masks customer numbers it looks up in a database."
license = "MIT OR Apache-2.0"
requires-hermes = ">=0.1, <0.2"
hooks = ["redact"]
"#;

/// Writes the plugin as a folder: its manifest and its component.
pub(crate) fn write(folder: &Path) -> Result<(), TaskError> {
    fs::create_dir(folder).map_err(TaskError::file("create", folder))?;
    let manifest = folder.join("plugin.toml");
    fs::write(&manifest, MANIFEST).map_err(TaskError::file("write", &manifest))?;
    let component = folder.join(format!("{NAME}.wasm"));
    let bytes =
        encode().map_err(|error| TaskError::Demo(format!("the broken plugin is not even a component: {error}")))?;
    fs::write(&component, bytes).map_err(TaskError::file("write", &component))
}

fn encode() -> Result<Vec<u8>, wat::Error> {
    let text = format!(
        r#"(component
             (import "{IMPORT}" (instance
               (export "query" (func (param "sql" string) (result (list string)))))))"#
    );
    wat::parse_str(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_component_that_names_its_import() {
        let bytes = encode().unwrap();
        assert_eq!(bytes[..4], *b"\0asm");
        // Layer 1 of the binary format: a component, not a core module.
        assert_eq!(bytes[6], 1);
        assert!(bytes.windows(IMPORT.len()).any(|window| window == IMPORT.as_bytes()));
    }
}
