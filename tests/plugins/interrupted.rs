//! Changes that are killed in the middle, and changes at the same time: whole or not at all.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use hermes_tests::home::{TestHome, files_below};
use hermes_tests::{guests, manifests, wait};

/// How many installations are killed.
const ROUNDS: u64 = 30;
/// The variable that gives the seed of a run that failed.
const SEED: &str = "CHAOS_SEED";

/// The next number of a sequence (a linear congruential step, Knuth's constants).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

fn generation(home: &TestHome) -> u64 {
    home.run(["plugins", "list", "--json"]).expect(0).json()["generation"].as_u64().unwrap()
}

/// The plugin in a version that differs from all others.
fn build(home: &TestHome, number: u64) -> String {
    let manifest = manifests::plain("good-redactor", "redact").replace("of the tests", &format!("number {number}"));
    guests::write(&home.work(), "good-redactor", &manifest).to_str().unwrap().to_owned()
}

/// Everything of the plugins folder that is neither a lock nor named by a generation that was in force.
fn left_over(home: &TestHome) -> Vec<String> {
    let plugins = home.root().join("plugins");
    let generations: Vec<_> = files_below(&plugins.join("generations"));
    let named: BTreeSet<String> = generations
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .flat_map(|text| {
            let digests = text.lines().filter_map(|line| line.strip_prefix("digest = \"sha256:").map(str::to_owned));
            digests.map(|digest| format!("{}.wasm", digest.trim_end_matches('"'))).collect::<Vec<_>>()
        })
        .collect();
    let current = generation(home);
    let mut left = Vec::new();
    for path in files_below(&plugins) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let number = name.strip_suffix(".toml").and_then(|stem| stem.parse::<u64>().ok());
        let known = match number {
            Some(number) => number <= current,
            None => named.contains(&name) || ["current", "lock", "strikes.lock"].contains(&name.as_str()),
        };
        if !known {
            left.push(name);
        }
    }
    left
}

#[test]
fn an_installation_that_is_killed_has_happened_or_has_not() {
    let home = TestHome::new();
    home.install_guest("good-transform", "transform");
    let given = std::env::var(SEED).ok().and_then(|text| text.parse().ok());
    let mut state = given.unwrap_or_else(|| u64::from(std::process::id()));
    let seed = state;
    // How long one takes here, so that kills hit all of it.
    let path = build(&home, 0);
    let started = Instant::now();
    drop(home.run(["plugins", "install", &path]).expect(0));
    let whole = u64::try_from(started.elapsed().as_micros()).unwrap();
    let mut in_force = home.row("good-redactor")["description"].clone();
    let mut number = generation(&home);
    let mut killed = 0;
    for round in 1..=ROUNDS {
        let path = build(&home, round);
        let mut child = home.command(["plugins", "install", &path]).spawn().unwrap();
        let until = Instant::now() + Duration::from_micros(whole / 4 + next(&mut state) % whole);
        let status = wait::until("the moment to kill", wait::PATIENCE, || match child.try_wait().unwrap() {
            Some(status) => Some(Some(status)),
            None => (Instant::now() >= until).then_some(None),
        });
        if status.is_none() {
            child.kill().unwrap();
            killed += usize::from(!child.wait().unwrap().success());
        }
        let (now, row) = (generation(&home), home.row("good-redactor"));
        assert_eq!(row["state"], "loaded", "seed {seed}, round {round}: {row}");
        let new = format!("A plugin number {round}.");
        if now == number {
            assert_eq!(row["description"], in_force, "seed {seed}, round {round}");
        } else {
            assert_eq!((now, &row["description"]), (number + 1, &new.clone().into()), "seed {seed}, round {round}");
        }
        (number, in_force) = (now, row["description"].clone());
    }
    assert!(killed > 0, "seed {seed}: no installation was killed in the middle");
    // The next change clears away whatever they left.
    drop(home.run(["plugins", "order", "good-redactor", "good-transform"]).expect(0));
    assert_eq!(left_over(&home), Vec::<String>::new(), "seed {seed}");
}

#[test]
fn two_installations_of_one_plugin_at_once_are_one_after_the_other() {
    let home = TestHome::new();
    home.install_guest("good-redactor", "redact");
    let before = generation(&home);
    let paths: Vec<_> = (0..3)
        .map(|number| {
            let path = home.work().join(format!("build-{number}.wasm"));
            fs::copy(build(&home, number), &path).unwrap();
            path
        })
        .collect();
    let running: Vec<_> = paths
        .iter()
        .map(|path| home.command(["plugins", "install", path.to_str().unwrap()]).spawn().unwrap())
        .collect();
    for child in running {
        let ended = wait::end_of("hermes plugins install", child, wait::PATIENCE);
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    assert_eq!(generation(&home), before + 3);
    assert_eq!(home.row("good-redactor")["state"], "loaded");
    assert_eq!(left_over(&home), Vec::<String>::new());
}
