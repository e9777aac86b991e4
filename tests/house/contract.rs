//! The contract: what was released stays. Functions, types and interfaces may be added for plugins to call; nothing a
//! plugin was compiled against may change or go.

use std::collections::BTreeMap;

use hermes_tests::tree::{self, Offence};

/// Each frozen copy and a file that goes on from it.
const RELEASED: [(&str, &str, Growth); 6] = [
    // What one release kept of the one before.
    ("wit/released/0.1.0/host.wit", "wit/released/0.1.1/host.wit", Growth::Interfaces),
    ("wit/released/0.1.0/hook.wit", "wit/released/0.1.1/hook.wit", Growth::Nothing),
    // What is written now kept of each.
    ("wit/released/0.1.1/host.wit", "wit/host/v0.1/host.wit", Growth::Interfaces),
    ("wit/released/0.1.1/hook.wit", "wit/hook/v0.1/hook.wit", Growth::Nothing),
    ("wit/released/0.1.0/host.wit", "wit/host/v0.1/host.wit", Growth::Interfaces),
    ("wit/released/0.1.0/hook.wit", "wit/hook/v0.1/hook.wit", Growth::Nothing),
];

/// What may be added to an interface within a track.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Growth {
    /// What plugins call may grow: they use what they know.
    Interfaces,
    /// What plugins export may not: the host would ask old plugins for what they do not have.
    Nothing,
}

/// An item without the last number of the version it imports: a world moves on with the package it takes from.
fn same_track(item: &str) -> String {
    match item.strip_prefix("import ").and_then(|_| item.rsplit_once('.')) {
        Some((track, _)) => format!("{track};"),
        None => item.to_owned(),
    }
}

/// The items of a WIT file by the block they stand in, without comments and spacing.
fn items(text: &str) -> BTreeMap<String, Vec<String>> {
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join(" ");
    let mut blocks: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut block, mut item, mut depth) = (String::new(), String::new(), 0_usize);
    let tidy = |item: &str| same_track(&item.split_whitespace().collect::<Vec<_>>().join(" "));
    for c in code.chars() {
        match c {
            // The head of an interface or world names the block its items stand in.
            '{' if depth == 0 => {
                block = tidy(&item);
                item.clear();
                blocks.entry(block.clone()).or_default();
                depth = 1;
                continue;
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if c == '}' && depth == 0 {
            item.clear();
            continue;
        }
        item.push(c);
        // An item ends with its semicolon, or with its brace unless that closes the names of a `use`.
        let record = c == '}' && !tidy(&item).contains("use ");
        if depth <= 1 && (c == ';' || (record && depth == 1)) {
            // The version of the package itself moves on.
            if depth == 1 {
                blocks.entry(block.clone()).or_default().push(tidy(&item));
            }
            item.clear();
        }
    }
    blocks
}

/// What of `old` is not in `new` as it was, and what was added where nothing may be.
fn changes(old: &str, new: &str, growth: Growth) -> Vec<String> {
    let (old, new) = (items(old), items(new));
    let mut found = Vec::new();
    for (block, frozen) in &old {
        let Some(now) = new.get(block) else {
            found.push(format!("`{block}` is gone or has another head"));
            continue;
        };
        for item in frozen.iter().filter(|item| !now.contains(item)) {
            found.push(format!("in `{block}`: changed or gone: `{item}`"));
        }
        // A world may offer more imports: a plugin uses those it knows.
        let closed = growth == Growth::Nothing;
        for item in now.iter().filter(|item| closed && !frozen.contains(item) && !item.contains("import ")) {
            found.push(format!("in `{block}`: added: `{item}`"));
        }
    }
    found
}

#[test]
fn what_was_released_stays_as_it_was() {
    let mut offences = Vec::new();
    for (old_path, new_path, growth) in RELEASED {
        let old = std::fs::read_to_string(tree::root().join(old_path)).unwrap();
        let new = std::fs::read_to_string(tree::root().join(new_path)).unwrap();
        assert!(!items(&old).is_empty(), "{old_path} has no items");
        for what in changes(&old, &new, growth) {
            offences.push(Offence { path: new_path.to_owned(), line: 1, what });
        }
    }
    tree::assert_none(
        "a released interface changed",
        "put it back; a change that plugins must follow begins a new track, in a folder of its own",
        offences,
    );
}

/// The version in the first line of a WIT file that names its package.
fn version_of(text: &str) -> &str {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("package ")).unwrap();
    line.split_once('@').unwrap().1.trim_end_matches(';')
}

#[test]
fn what_is_written_now_is_the_last_release_or_has_a_later_version() {
    for package in ["host", "hook"] {
        let now = std::fs::read_to_string(tree::root().join(format!("wit/{package}/v0.1/{package}.wit"))).unwrap();
        let released = tree::root().join("wit/released");
        let copies = std::fs::read_dir(&released).unwrap().map(|entry| entry.unwrap().path());
        let last = copies.map(|folder| folder.join(format!("{package}.wit"))).max().unwrap();
        let last = std::fs::read_to_string(last).unwrap();
        let same = items(&now) == items(&last);
        assert!(
            same || version_of(&now) != version_of(&last),
            "wit/{package} says {} and is not what was released so: give it the next version",
            version_of(&now)
        );
    }
}

#[test]
fn every_frozen_copy_is_compared() {
    let frozen: Vec<String> = tree::files(&["wit/released"], &[".wit"]).into_iter().map(|file| file.path).collect();
    let compared: Vec<&str> = RELEASED.iter().map(|(old, _, _)| *old).collect();
    let mut forgotten = frozen.iter().filter(|path| !compared.contains(&path.trim_start_matches("../")));
    assert!(!frozen.is_empty(), "wit/released is empty");
    assert_eq!(forgotten.next(), None, "add it to tests/house/contract.rs");
}

#[test]
fn every_item_of_the_contract_is_explained_and_dated() {
    let mut offences = Vec::new();
    for file in tree::files(&["wit/host", "wit/hook"], &[".wit"]) {
        let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
        for (number, line) in lines.iter().enumerate() {
            let kinds = ["interface ", "world ", "record ", "enum ", "variant ", "flags ", "resource "];
            let function = line.contains(": func(");
            if !kinds.iter().any(|kind| line.starts_with(kind)) && !function {
                continue;
            }
            let dated = number > 0 && lines[number - 1].starts_with("@since(version = ");
            let explained = number > 1 && lines[number - 2].starts_with("///");
            if !dated || !explained {
                offences.push(Offence { path: file.path.clone(), line: number + 1, what: format!("`{line}`") });
            }
        }
    }
    tree::assert_none(
        "an item of the contract is not explained or not dated",
        "write `///` lines and then `@since(version = ...)` directly above it",
        offences,
    );
}

#[test]
fn each_kind_of_change_is_caught() {
    let old = "package a:b@0.1.0;\n/// Doc.\n@since(version = 0.1.0)\ninterface x {\n use types.{c, d};\n record r {\n  a: u32,\n }\n f: func(a: u32);\n}\nworld w {\n import a:b/x;\n export x;\n}\n";
    assert_eq!(items(old).len(), 2);
    assert_eq!(items(old)["@since(version = 0.1.0) interface x"].len(), 3);
    let same = |new: &str, growth| changes(old, new, growth).is_empty();
    let changed = |from: &str, to: &str| old.replace(from, to);
    assert!(same(old, Growth::Nothing));
    assert!(same(&changed("/// Doc.", "/// Better words."), Growth::Nothing));
    assert!(same(&changed("@0.1.0;", "@0.1.1;"), Growth::Nothing));
    assert!(!same(&changed("  a: u32,", "  a: u32,\n  b: u32,"), Growth::Interfaces));
    assert!(!same(&changed("f: func(a: u32)", "f: func(a: u64)"), Growth::Interfaces));
    assert!(!same(&changed("interface x", "interface y"), Growth::Interfaces));
    assert!(!same(&changed("export x;", ""), Growth::Interfaces));
    let grown = changed("f: func(a: u32);", "f: func(a: u32);\n g: func();");
    assert!(same(&grown, Growth::Interfaces));
    assert!(!same(&grown, Growth::Nothing));
    assert!(same(&changed("import a:b/x;", "import a:b/x;\n import a:b/z;"), Growth::Nothing));
}
