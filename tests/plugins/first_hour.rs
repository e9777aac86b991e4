//! The first hour of a plugin's author: the commands of the page of that name, run as they stand there, from an empty
//! folder to a mask in the output.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use hermes_tests::home::{self, Ran, TestHome, finish};
use hermes_tests::{registries, tree, wait};

/// The most commands an author should have to type.
const COMMANDS_MAX: usize = 9;

/// The page.
fn page() -> String {
    fs::read_to_string(tree::root().join("docs/src/authors/first-hour.md")).unwrap()
}

/// The lines of the first block of this kind in a text.
fn block<'a>(text: &'a str, kind: &str) -> Vec<&'a str> {
    let from = text.lines().skip_while(|line| *line != format!("```{kind}")).skip(1);
    from.take_while(|line| *line != "```").collect()
}

/// The commands under a heading.
fn commands<'a>(page: &'a str, heading: &str) -> Vec<&'a str> {
    let (_, section) = page.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no section {heading}"));
    let section = section.split("\n## ").next().unwrap_or(section);
    block(section, "sh")
}

/// A shell of the author's: hermes is in its `PATH`, and what compilers keep is kept for the next test.
fn shell(home: &TestHome, folder: &Path, line: &str) -> Ran {
    let hermes = home.command(["--version"]);
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).current_dir(folder).env_clear();
    command.envs(hermes.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let programs = home::hermes().parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path))).unwrap();
    command.env("PATH", path);
    registries::cargo(&mut command);
    registries::npm(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(command, wait::BUILD_PATIENCE)
}

/// The compiler of the examples, where it is installed, laid above the project: it is looked for there too.
fn share(language: &str, work: &Path) {
    let (from, to) = (tree::root().join("plugins/examples").join(language).join(".venv"), work.join(".venv"));
    if from.is_dir() && !to.exists() {
        std::os::unix::fs::symlink(from, to).unwrap();
    }
}

fn first_hour(language: &str, heading: &str) {
    let home = TestHome::new();
    // No two builds of a Python plugin are the same, so what is compiled of one (68 MB) is of no use to the next test.
    let own_cache = home.work().join("cache");
    let home = if language == "python" { home.with("XDG_CACHE_HOME", own_cache.to_str().unwrap()) } else { home };
    let page = page();
    let commands = commands(&page, heading);
    assert!(commands.len() > 4 && commands.len() <= COMMANDS_MAX, "{commands:?}");
    let mut folder = home.work();
    let mut shown = String::new();
    for line in commands {
        if let Some(into) = line.strip_prefix("cd ") {
            folder = folder.join(into);
            continue;
        }
        shown = shell(&home, &folder, line).expect(0).stdout;
        if line.contains(" new ") {
            assert!(line.ends_with(&format!("--lang {language}")), "{line}");
            share(language, &home.work());
        }
    }
    assert_eq!(shown.lines().collect::<Vec<_>>(), block(&page, "text"));
}

#[test]
fn the_first_hour_in_rust_ends_with_a_mask() {
    first_hour("rust", "Rust");
}

#[test]
fn the_first_hour_in_javascript_ends_with_a_mask() {
    first_hour("js", "JavaScript");
}

#[test]
fn the_first_hour_in_python_ends_with_a_mask() {
    first_hour("python", "Python");
}

#[test]
fn the_first_hour_in_c_ends_with_a_mask() {
    first_hour("c", "C");
}

#[test]
fn every_language_of_new_has_its_commands_on_the_page() {
    let page = page();
    for (language, heading) in [("rust", "Rust"), ("js", "JavaScript"), ("python", "Python"), ("c", "C")] {
        let first = commands(&page, heading)[0];
        assert_eq!(first, format!("hermes plugins new mask-ids --hook redact --lang {language}"));
    }
}
