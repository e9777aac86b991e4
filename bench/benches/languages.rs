//! The same redactor in each language: how large it is, how long it takes to be there, and what its calls cost.
//!
//! It reads what `cargo xtask bench` built; a language that was not built is left out, and said to be.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_bench::{MIB, median, ordinary_log, say, speed};
use hermes_model::context::{Context, Surface};
use hermes_output::policy::Window;
use hermes_plugins::author;
use hermes_plugins::bench::Bench;

/// What a stream shows a redactor at once.
const WINDOW: usize = 64 * 1024;
/// The example that declares the pattern set all are compared with, and its name there.
const REFERENCE: (&str, &str) = ("js", "tickets");
const LANGUAGES: [&str; 4] = ["rust", "c", "js", "python"];

fn example(language: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/examples").join(language).join("mask-tickets")
}

/// A folder with the manifest and the component: cargo builds the one in Rust with all plugins, elsewhere.
fn folder(language: &str, scratch: &Path) -> Option<PathBuf> {
    let source = example(language);
    if language != "rust" {
        return source.join("build/mask-tickets.wasm").is_file().then_some(source);
    }
    let this = std::env::current_exe().ok()?;
    let built = this.ancestors().nth(3)?.join("wasm32-wasip2/plugin/mask_tickets.wasm");
    std::fs::copy(source.join("plugin.toml"), scratch.join("plugin.toml")).ok()?;
    std::fs::copy(built, scratch.join("mask-tickets.wasm")).ok()?;
    Some(scratch.to_owned())
}

fn redact(bench: &Bench, text: &str) {
    let window = Window { text, fresh_from: 0, front_cut: false, last: true };
    let found = bench.redact(&Context::new(Surface::Stream), black_box(&window)).expect("an answer");
    black_box(found);
}

/// The windows of a text of ASCII.
fn windows(text: &str) -> impl Iterator<Item = &str> {
    (0..text.len()).step_by(WINDOW).map(|at| &text[at..text.len().min(at + WINDOW)])
}

fn us(time: Duration) -> String {
    format!("{:.1} us", time.as_secs_f64() * 1e6)
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn measure(language: &str, text: &str, natively: Duration) {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let Some(folder) = folder(language, scratch.path()) else {
        return say(language, "", "not built: run `cargo xtask bench`");
    };
    let size = author::read_source(&folder).expect("the example is there").packed.len();
    let cache = scratch.path().join("cache");
    let compile = Bench::open(&folder, &cache).expect("the example loads").step("compile");
    let bench = Bench::open(&folder, &cache).expect("the example loads");
    let name = |what: &str| format!("{language}: {what}");
    say(&name("size of the component"), &format!("{} KiB", size.div_ceil(1024)), "");
    say(&name("compiling it"), &ms(compile), "");
    say(&name("loading it from the cache, with its canaries"), &ms(bench.step("")), "");
    let instance = median(100, || bench.instantiate().expect("an instance"));
    say(&name("a fresh, configured instance, and a call without text"), &us(instance), "");
    say(&name("a call without text"), &us(median(2000, || redact(&bench, ""))), "");
    say(&name("a call with 4 KiB"), &us(median(1000, || redact(&bench, &text[..4096]))), "");
    let all = median(30, || windows(text).for_each(|window| redact(&bench, window)));
    let share = natively.as_secs_f64() / all.as_secs_f64();
    say(&name("clean text"), &format!("{:.0} MB/s", speed(text.len(), all)), &format!("{share:.2} of the native scan"));
    let memory = bench.memory().unwrap_or_default();
    say(&name("linear memory of a warm instance"), &format!("{} KiB", memory / 1024), "");
}

fn main() {
    let text = ordinary_log(MIB);
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let Some(reference) = folder(REFERENCE.0, scratch.path()) else {
        return say("languages", "", "the examples are not built: run `cargo xtask bench`");
    };
    let reference = Bench::open(&reference, scratch.path()).expect("the example loads");
    let natively = median(30, || {
        for window in windows(&text) {
            black_box(reference.find_natively(REFERENCE.1, black_box(window)).expect("the set is declared"));
        }
    });
    say("its pattern set natively", &format!("{:.0} MB/s", speed(text.len(), natively)), "");
    for language in LANGUAGES {
        measure(language, &text, natively);
    }
}
