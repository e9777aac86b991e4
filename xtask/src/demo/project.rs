//! The project the demo builds: a small crate with many warnings and one failing test, and a script as build machines
//! run them, which prints far too much.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::credentials::Credentials;
use crate::error::TaskError;

/// The script's name.
pub(crate) const SCRIPT: &str = "ci.sh";
/// The test that fails.
pub(crate) const FAILING_TEST: &str = "totals_include_tax";

/// Modules of the crate: enough for its warnings to fill some screens.
const MODULES: usize = 12;
/// Unused things in each.
const WARNINGS_EACH: usize = 4;
/// Lines a chatty test prints.
const CHATTER: usize = 250;

const MANIFEST: &str = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";

/// Writes the project.
pub(crate) fn write(folder: &Path, credentials: &Credentials) -> Result<(), TaskError> {
    let source = folder.join("src");
    fs::create_dir_all(&source).map_err(TaskError::file("create", &source))?;
    let put = |path: std::path::PathBuf, text: &str| fs::write(&path, text).map_err(TaskError::file("write", &path));
    put(folder.join("Cargo.toml"), MANIFEST)?;
    put(folder.join(SCRIPT), &script(credentials))?;
    let mut library = String::from("//! A shop.\n\n");
    for number in 0..MODULES {
        let _ = writeln!(library, "mod part_{number:02};");
        put(source.join(format!("part_{number:02}.rs")), &module(number))?;
    }
    library.push_str(TESTS);
    put(source.join("lib.rs"), &library.replace("CHATTER", &CHATTER.to_string()))
}

/// Makes the next run do everything again.
pub(crate) fn clean(folder: &Path) -> Result<(), TaskError> {
    for built in ["target", ".git"] {
        let path = folder.join(built);
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(TaskError::File { doing: "remove", path, source: error });
            }
            _ => {}
        }
    }
    Ok(())
}

fn module(number: usize) -> String {
    let mut text = format!("//! Part {number} of the shop.\n\nuse std::collections::HashMap;\n\n");
    for item in 0..WARNINGS_EACH {
        let _ = writeln!(
            text,
            "pub fn step_{item}(price: u64, rate: u64) -> u64 {{\n    let unused_total = price * {item};\n    let mut never_changed = rate;\n    price + {number}\n}}\n"
        );
    }
    text
}

fn script(credentials: &Credentials) -> String {
    let (name, value) = &credentials.in_script;
    let remote = &credentials.remote;
    format!(
        "#!/usr/bin/env bash\n\
         # What many build machines do before the work begins: print everything, in case it is needed.\n\
         set -u\n\
         export {name}={value}\n\
         echo '== environment'\n\
         env | sort\n\
         echo '== repository'\n\
         git init --quiet .\n\
         git remote add origin {remote}\n\
         git remote -v\n\
         echo '== build'\n\
         cargo build -v || exit 1\n\
         echo '== test'\n\
         cargo test --no-fail-fast\n"
    )
}

const TESTS: &str = r#"
/// The price with tax, in cents.
pub fn total(price: u64, percent: u64) -> u64 {
    price + price * percent / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        assert_eq!(part_00::step_0(1, 2) + part_01::step_1(1, 2), 3);
    }

    #[test]
    fn nothing_costs_nothing() {
        assert_eq!(total(0, 20), 0);
    }

    #[test]
    fn totals_include_tax() {
        for request in 0..CHATTER {
            println!("DEBUG shop::cart: request {request:04} took {} ms, cache hit, status 200", request % 7);
        }
        assert_eq!(total(1000, 20), 1200, "20 % of 1000 cents are 200 cents");
    }
}
"#;
