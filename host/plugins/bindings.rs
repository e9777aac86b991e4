//! The contract in C: for each hook a header, a source, and the component's type as C. They go into every C project, so that
//! an author needs nothing but a C compiler.
//!
//! It must never write anything but text: a project's files are read by people and kept in their repositories.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use wit_bindgen_c::Opts;
use wit_bindgen_core::Files;
use wit_bindgen_core::wit_parser::{Resolve, WorldId};
use wit_component::StringEncoding;

/// The contract's packages, in the order of their dependencies, under the repository's root.
pub(crate) const PACKAGES: [&str; 2] = ["wit/host/v0.1/host.wit", "wit/hook/v0.1/hook.wit"];
/// The worlds of the contract: one for each hook.
const WORLDS: [&str; 3] = ["redactor", "transformer", "notifier"];
/// How many bytes stand on one line of a component's type.
const BYTES_IN_LINE: usize = 20;

/// Writes `NAME.h`, `NAME.c` and `NAME_component_type.c` of each world.
pub(crate) fn write(root: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    let folder = out.join("c");
    fs::create_dir_all(&folder)?;
    for name in WORLDS {
        // Generating changes what was resolved, so each world starts from the text.
        let mut resolve = Resolve::default();
        let mut hook = None;
        for package in PACKAGES {
            let path = root.join(package);
            hook = Some(resolve.push_str(&path, &fs::read_to_string(&path)?)?);
        }
        let packages: Vec<_> = hook.into_iter().collect();
        let world = resolve.select_world(&packages, Some(name))?;
        fs::write(folder.join(format!("{name}_component_type.c")), component_type(&resolve, world, name)?)?;
        let options = Opts { no_object_file: true, ..Opts::default() };
        let mut files = Files::default();
        options.build().generate(&mut resolve, world, &mut files)?;
        for (file, content) in files.iter() {
            fs::write(folder.join(file), content)?;
        }
    }
    Ok(())
}

/// What makes a core module a component of a world: a custom section, and the symbol by which the bindings ask for it.
fn component_type(resolve: &Resolve, world: WorldId, name: &str) -> Result<String, Box<dyn Error>> {
    let section = wit_component::metadata::encode(resolve, world, StringEncoding::UTF8, None)?;
    let mut text = format!(
        "// The type of a component of the world `{name}`, as a custom section of the module.\n\
         // Generated from the contract. DO NOT EDIT!\n\n\
         void __component_type_object_force_link_{name}(void);\n\
         void __component_type_object_force_link_{name}(void) {{}}\n\n\
         __asm__(\n    \".section \\\".custom_section.component-type:{name}\\\",\\\"\\\",@\\n\"\n"
    );
    for line in section.chunks(BYTES_IN_LINE) {
        let bytes: String = line.iter().map(|byte| format!("\\\\{byte:03o}")).collect();
        writeln!(text, "    \".ascii \\\"{bytes}\\\"\\n\"")?;
    }
    text += "    \".text\\n\");\n";
    Ok(text)
}
