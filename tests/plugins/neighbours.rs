//! A plugin that hangs, eats memory, floods its log or answers with ten million places: every call through the others is
//! answered right meanwhile, nothing is lost, and the host stays small.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use hermes_model::config::{PluginConfig, PluginLimitsConfig};
use hermes_model::context::{Context, Surface};
use hermes_output::policy::Window;
use hermes_plugins::bench::Bench;
use hermes_tests::guests;
use hermes_tests::home::shared_cache;

/// So many threads call the bad plugin: more than its share of the pool, and more than the pool has places for calls.
const CALLERS: usize = 34;
/// So many calls go through each of the good ones meanwhile, at least.
const CALLS: usize = 150;
/// So many times the bad plugin must have been called before it is enough.
const BAD_CALLS: usize = 20;
/// What the host may grow by: the memory limits of as many instances as one plugin may have at once, and as much again.
const GROWTH_MAX: u64 = 2 * 10 * 80 * 1024 * 1024;

fn window(text: &str) -> Window<'_> {
    Window { text, fresh_from: 0, front_cut: false, last: true }
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Calls good plugins while others call the bad one, which must come to one of these words.
fn beside(guest: &str, text: &str, words: &[&str]) {
    let context = Context::new(Surface::Foreground);
    let secrets = Bench::bundled("redact-secrets", &shared_cache().join("hermes")).unwrap();
    let good = secrets.beside(&guests::packed("good-redactor", "redact"), &PluginConfig::default()).unwrap();
    let bad = secrets.beside(&guests::packed(guest, "redact"), &PluginConfig::default()).unwrap();
    let expected = secrets.redact(&context, &window("password=hunter2\n")).unwrap();
    assert!(!expected.spans.is_empty());
    let before = resident();
    let (called_badly, peak, stop) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let enough = || called_badly.load(Ordering::SeqCst) >= BAD_CALLS;
    std::thread::scope(|scope| {
        for _ in 0..CALLERS {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let said = bad.redact(&context, &window(text)).err().map(|error| error.to_string());
                    let said = said.as_deref().and_then(|said| said.rsplit(": ").next()).unwrap_or("an answer");
                    assert!(said == "quarantined" || words.contains(&said), "{guest}: {said}");
                    // Asked again at once: a host would leave it alone for a minute.
                    bad.forgive();
                    called_badly.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let mut called = 0;
        while called < CALLS || !enough() {
            assert_eq!(secrets.redact(&context, &window("password=hunter2\n")).unwrap(), expected);
            let masked = good.redact(&context, &window("a sekrit-given b")).unwrap();
            assert_eq!(masked.spans.len(), 1, "{masked:?}");
            called += 1;
            let grown = usize::try_from(resident().saturating_sub(before)).unwrap();
            peak.fetch_max(grown, Ordering::SeqCst);
        }
        stop.store(true, Ordering::SeqCst);
    });
    let peak = peak.load(Ordering::SeqCst) as u64;
    assert!(peak < GROWTH_MAX, "{guest}: the host grew by {} MiB", peak / (1024 * 1024));
}

#[test]
fn a_plugin_that_hangs_is_nobody_elses_trouble() {
    beside("loops-on-text", "LOOP", &["timeout"]);
}

#[test]
fn a_plugin_that_eats_memory_is_nobody_elses_trouble() {
    beside("allocates-on-text", "ALLOCATE", &["memory-limit", "timeout"]);
}

#[test]
fn a_plugin_that_floods_its_log_is_nobody_elses_trouble() {
    beside("floods-log", "plain", &["an answer", "timeout", "host-timeout"]);
}

#[test]
fn a_plugin_that_answers_with_millions_of_places_is_nobody_elses_trouble() {
    beside("too-many-spans", "MILLIONS", &["memory-limit", "output-limit", "timeout"]);
}

#[test]
fn ten_million_places_end_at_the_limit_of_an_answer_and_are_never_taken_over() {
    let limits = PluginLimitsConfig {
        call: Some(Duration::from_secs(60)),
        memory_bytes: Some(1024 * 1024 * 1024),
        ..PluginLimitsConfig::default()
    };
    let config = PluginConfig { limits, ..PluginConfig::default() };
    let secrets = Bench::bundled("redact-secrets", &shared_cache().join("hermes")).unwrap();
    let bad = secrets.beside(&guests::packed("too-many-spans", "redact"), &config).unwrap();
    let error = bad.redact(&Context::new(Surface::Foreground), &window("MILLIONS")).unwrap_err();
    assert!(error.to_string().ends_with("output-limit"), "{error}");
}
