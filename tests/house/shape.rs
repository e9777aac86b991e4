//! How files and packages look: their size, their first words, their names, their lints.

use hermes_tests::packages;
use hermes_tests::rust::{self, RustFile};
use hermes_tests::tree::{self, Offence, TextFile};

/// The most lines of a file that are not tests. Near 400 is a good size; a file of 600 is two files.
const LINES_MAX: usize = 600;
const MEASURED: [&str; 4] = ["host", "plugins", "plugin-sdk", "xtask"];
const EVERYWHERE: [&str; 7] = ["host", "plugins", "plugin-sdk", "xtask", "tests", "bench", "fuzz"];

/// Names that say nothing about what a type is for.
const EMPTY_NAMES: [&str; 3] = ["Manager", "Helper", "Util"];

/// Packages a plugin author copies out of this repository, so they cannot lean on its workspace.
const COPIED_OUT: [&str; 2] = ["plugin-sdk/", "plugins/examples/"];

fn at(file: &RustFile, line: usize, what: String) -> Offence {
    Offence { path: file.path.clone(), line, what }
}

fn too_long(files: &[RustFile]) -> Vec<Offence> {
    files
        .iter()
        .filter_map(|file| {
            // Blank lines inside test items were lines of the tests: only what is left of the text counts.
            let test_lines =
                file.code.lines().zip(file.shipped.lines()).filter(|(code, shipped)| code != shipped).count();
            let lines = if file.shipped.is_empty() { 0 } else { file.text.lines().count() - test_lines };
            (lines > LINES_MAX).then(|| at(file, LINES_MAX, format!("{lines} lines that are not tests")))
        })
        .collect()
}

fn without_introduction(files: &[RustFile]) -> Vec<Offence> {
    files
        .iter()
        .filter(|file| {
            !file.text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| line.starts_with("//!"))
        })
        .map(|file| at(file, 1, "does not begin with `//!`".to_owned()))
        .collect()
}

fn empty_names(files: &[RustFile]) -> Vec<Offence> {
    let mut offences = Vec::new();
    for file in files {
        for (number, line) in file.code.lines().enumerate() {
            let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            for pair in words.windows(2) {
                let defines = ["struct", "enum", "trait", "type"].contains(&pair[0]);
                if defines && EMPTY_NAMES.iter().any(|name| pair[1].contains(name)) {
                    offences.push(at(file, number + 1, format!("a type named {}", pair[1])));
                }
            }
        }
    }
    offences
}

fn facades(files: &[RustFile]) -> Vec<Offence> {
    files
        .iter()
        .filter(|file| file.path.starts_with("host/"))
        .flat_map(|file| file.find_shipped(&["pub use "]))
        .collect()
}

#[test]
fn no_file_is_longer_than_a_reader_can_hold() {
    tree::assert_none(
        &format!("a file has more than {LINES_MAX} lines that are not tests"),
        "split it where it has two subjects",
        too_long(&rust::files(&MEASURED)),
    );
}

#[test]
fn every_module_says_what_it_is_for() {
    tree::assert_none(
        "a file does not begin with its purpose",
        "begin it with `//!`: what it is for, and what it must never do",
        without_introduction(&rust::files(&EVERYWHERE)),
    );
}

#[test]
fn no_type_has_an_empty_name() {
    tree::assert_none(
        "a type is named for nothing",
        "name it for what it is: a Store, a Chain, a Survey",
        empty_names(&rust::files(&EVERYWHERE)),
    );
}

#[test]
fn names_are_imported_from_the_module_that_defines_them() {
    tree::assert_none(
        "a room re-exports a name",
        "make the module public and import from it",
        facades(&rust::files(&["host"])),
    );
}

#[test]
fn every_package_takes_the_lints_of_the_workspace() {
    let mut offences = Vec::new();
    for package in packages::all() {
        if COPIED_OUT.iter().any(|folder| package.folder.starts_with(folder)) {
            continue;
        }
        let path = format!("{}/Cargo.toml", package.folder);
        let text = std::fs::read_to_string(tree::root().join(&path)).unwrap();
        if !takes_lints(&text) {
            offences.push(Offence { path, line: 1, what: "no `[lints] workspace = true`".to_owned() });
        }
    }
    tree::assert_none(
        "a package has lints of its own",
        "add `[lints]` and `workspace = true` to its Cargo.toml",
        offences,
    );
}

fn takes_lints(manifest: &str) -> bool {
    let mut lines = manifest.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.any(|line| line == "[lints]") && lines.next() == Some("workspace = true")
}

#[test]
fn every_harness_is_named_in_the_manifest() {
    let manifest = std::fs::read_to_string(tree::root().join("tests/Cargo.toml")).unwrap();
    let mut offences = Vec::new();
    for entry in std::fs::read_dir(tree::root().join("tests")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        let main = format!("{name}/main.rs");
        if tree::root().join("tests").join(&main).is_file() && !manifest.contains(&format!("path = \"{main}\"")) {
            offences.push(Offence { path: format!("tests/{main}"), line: 1, what: "is never run".to_owned() });
        }
    }
    tree::assert_none("a harness is forgotten", "add a [[test]] with its path to tests/Cargo.toml", offences);
}

#[test]
fn each_flaw_of_shape_is_caught() {
    let file =
        |text: &str| [RustFile::new(TextFile { path: "host/output/src/a.rs".to_owned(), text: text.to_owned() })];
    let long = "fn f() {}\n".repeat(LINES_MAX);
    assert!(too_long(&file(&long)).is_empty());
    assert_eq!(too_long(&file(&format!("{long}fn g() {{}}\n"))).len(), 1);
    assert!(too_long(&file(&format!("{long}#[cfg(test)]\nmod tests {{\n{long}}}\n"))).is_empty());
    assert_eq!(without_introduction(&file("\nuse a;\n//! late\n")).len(), 1);
    assert!(without_introduction(&file("//! early\n")).is_empty());
    assert_eq!(empty_names(&file("pub struct ThingManager;\nfn helper() {}\n")).len(), 1);
    assert_eq!(facades(&file("pub use a::B;\nuse a::C;\n")).len(), 1);
    assert!(takes_lints("[lints]\n\n# why\nworkspace = true\n"));
    assert!(!takes_lints("[lints.rust]\nworkspace = true\n[lints]\n"));
}
