//! Who may use whom. A new arrow changes this table and the one in ARCHITECTURE.md, in the same commit, with the reason.

use hermes_tests::packages::{self, Package};
use hermes_tests::tree::{self, Offence};

/// Packages of ours that each room may use. Rooms that do not exist yet are listed, so that they begin within the rule.
const ROOMS: [(&str, &[&str]); 11] = [
    ("hermes-model", &[]),
    ("hermes-supervisor", &[]),
    ("hermes-output", &["hermes-model"]),
    ("hermes-home", &["hermes-model"]),
    // Three rooms take the policy of their tests from `hermes-fakes`, which no shipped code uses.
    ("hermes-ledger", &["hermes-model", "hermes-output", "hermes-home", "hermes-fakes"]),
    (
        "hermes-process",
        &["hermes-model", "hermes-output", "hermes-supervisor", "hermes-ledger", "hermes-home", "hermes-fakes"],
    ),
    // The network is a privilege of its own, and knows nothing of plugins.
    ("hermes-outbound", &[]),
    ("hermes-desktop", &["hermes-model", "hermes-output", "hermes-fakes"]),
    ("hermes-plugins", &["hermes-model", "hermes-output", "hermes-ledger", "hermes-home", "hermes-outbound"]),
    // Its tests make a home for a ledger.
    (
        "hermes-mcp",
        &[
            "hermes-model",
            "hermes-process",
            "hermes-supervisor",
            "hermes-ledger",
            "hermes-output",
            "hermes-home",
            "hermes-fakes",
        ],
    ),
    // The composition root joins the rooms. It also names the types of `output` that it prints, and plays the supervisor
    // where that program is not installed beside it.
    (
        "hermes",
        &[
            "hermes-model",
            "hermes-mcp",
            "hermes-desktop",
            "hermes-plugins",
            "hermes-process",
            "hermes-supervisor",
            "hermes-ledger",
            "hermes-home",
            "hermes-output",
        ],
    ),
];

/// Folders outside `host/` and the packages of ours they may use; `None`: any.
const ELSEWHERE: [(&str, Option<&[&str]>); 7] = [
    ("plugins/", Some(&["hermes-plugin-sdk"])),
    ("plugin-sdk/", Some(&[])),
    ("xtask", Some(&[])),
    // What the tests of every room may use needs no room above the policy's own words.
    ("tests/fakes", Some(&["hermes-model", "hermes-output"])),
    ("tests", None),
    ("bench", None),
    ("fuzz", None),
];

/// Packages from outside that only some packages may use, by the beginning of their name, with the reason.
const WALLED: [(&str, &[&str], &str); 8] = [
    ("wasmtime", &["hermes-plugins"], "one engine, in one room"),
    ("wasmparser", &["hermes-plugins"], "what is a component is decided in one room"),
    ("rusqlite", &["hermes-ledger"], "one room writes SQL"),
    ("rmcp", &["hermes-mcp"], "one room speaks the protocol"),
    ("ureq", &["hermes-outbound"], "one room talks to the network"),
    ("notify-rust", &["hermes-desktop"], "one room talks to the desktop"),
    ("clap", &["hermes", "xtask"], "only programs have a command line"),
    (
        "tokio",
        &[
            "hermes",
            "hermes-process",
            "hermes-ledger",
            "hermes-plugins",
            "hermes-mcp",
            "hermes-desktop",
            "hermes-tests",
            "hermes-bench",
        ],
        "pure rooms know no runtime",
    ),
];

fn offence(package: &Package, what: String) -> Offence {
    Offence { path: format!("{}/Cargo.toml", package.folder), line: 1, what }
}

fn broken_arrows(packages: &[Package]) -> Vec<Offence> {
    let ours = |name: &String| packages.iter().any(|package| package.name == *name);
    let mut offences = Vec::new();
    for package in packages {
        let allowed = if package.folder.starts_with("host/") {
            match ROOMS.iter().find(|(room, _)| *room == package.name) {
                Some((_, allowed)) => Some(*allowed),
                None => {
                    offences.push(offence(package, format!("room {} is not in the table", package.name)));
                    continue;
                }
            }
        } else {
            match ELSEWHERE.iter().find(|(folder, _)| package.folder.starts_with(folder)) {
                Some((_, allowed)) => *allowed,
                None => {
                    offences.push(offence(package, format!("folder {} is not in the table", package.folder)));
                    continue;
                }
            }
        };
        let Some(allowed) = allowed else { continue };
        for used in package.dependencies.iter().filter(|name| ours(name)) {
            // A room may name itself to test its own features.
            if !allowed.contains(&used.as_str()) && *used != package.name {
                offences.push(offence(package, format!("{} uses {used}", package.name)));
            }
        }
    }
    offences
}

fn broken_walls(packages: &[Package]) -> Vec<Offence> {
    let mut offences = Vec::new();
    for package in packages {
        for used in &package.dependencies {
            for (walled, allowed, reason) in WALLED {
                let inside =
                    used == walled || used.strip_prefix(walled).is_some_and(|rest| rest.starts_with(['-', '_']));
                if inside && !allowed.contains(&package.name.as_str()) {
                    offences.push(offence(package, format!("{} uses {used}: {reason}", package.name)));
                }
            }
        }
    }
    offences
}

#[test]
fn the_arrows_between_packages_are_those_of_the_table() {
    tree::assert_none(
        "a package uses one it may not",
        "move the code to the room that may, or hand it the value; a new arrow needs a reason in ARCHITECTURE.md and a line in tests/house/arrows.rs",
        broken_arrows(&packages::all()),
    );
}

#[test]
fn walled_crates_stay_in_their_room() {
    tree::assert_none(
        "a crate is used outside its room",
        "add what you need to that room's own interface",
        broken_walls(&packages::all()),
    );
}

#[test]
fn a_wrong_arrow_an_unknown_room_and_a_breach_of_a_wall_are_caught() {
    let package = |name: &str, folder: &str, dependencies: &[&str]| Package {
        name: name.to_owned(),
        folder: folder.to_owned(),
        dependencies: dependencies.iter().map(|d| (*d).to_owned()).collect(),
    };
    let packages = [
        package("hermes-model", "host/model", &["hermes-output", "serde"]),
        package("hermes-output", "host/output", &["hermes-model", "wasmtime-wasi", "clap_complete"]),
        package("hermes-attic", "host/attic", &[]),
        package("mask", "plugins/mask", &["hermes-model"]),
        package("stray", "corner/stray", &[]),
        package("hermes-tests", "tests", &["hermes-model"]),
    ];
    let said: Vec<String> = broken_arrows(&packages).into_iter().map(|offence| offence.what).collect();
    assert_eq!(
        said,
        [
            "hermes-model uses hermes-output",
            "room hermes-attic is not in the table",
            "mask uses hermes-model",
            "folder corner/stray is not in the table",
        ]
    );
    assert_eq!(broken_walls(&packages).len(), 2);
}
