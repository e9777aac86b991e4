//! What a hook call costs beside the same function called natively, and what an instance costs.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use hermes_bench::{MIB, log_with_secrets, median, ordinary_log, say, speed};
use hermes_model::context::{Context, Surface};
use hermes_output::policy::Window;
use hermes_plugin_sdk::{Plugin, Redact};
use hermes_plugins::bench::Bench;
use redact_secrets::RedactSecrets;

fn native() -> RedactSecrets {
    RedactSecrets::new(Default::default()).expect("the default settings are good")
}

fn window(text: &str) -> Window<'_> {
    Window { text, fresh_from: 0, front_cut: false, last: true }
}

fn main() {
    let cache = tempfile::tempdir().expect("a temporary folder");
    let bench = Bench::bundled("redact-secrets", cache.path()).expect("the bundled redactor loads");
    let context = Context::new(Surface::Foreground);
    let mut plugin = native();
    let native_context = hermes_plugin_sdk::Context::default();
    let texts =
        [("4 KiB", ordinary_log(4096)), ("1 MiB", ordinary_log(MIB)), ("1 MiB, secrets", log_with_secrets(MIB))];

    let mut criterion = Criterion::default().configure_from_args().measurement_time(Duration::from_secs(3));
    let mut group = criterion.benchmark_group("redact-secrets");
    for (name, text) in &texts {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_with_input(BenchmarkId::new("plugin", name), text, |b, text| {
            b.iter(|| bench.redact(&context, &window(black_box(text))).expect("an answer"));
        });
        group.bench_with_input(BenchmarkId::new("native", name), text, |b, text| {
            let seen = hermes_plugin_sdk::Window::view(text);
            b.iter(|| plugin.scan(&native_context, black_box(&seen)).expect("an answer"));
        });
    }
    group.finish();
    criterion.final_summary();

    say("ratios of this run", "", "");
    for (name, text) in &texts {
        let rounds = if text.len() > 10_000 { 60 } else { 2000 };
        let called = median(rounds, || drop(bench.redact(&context, &window(black_box(text))).expect("an answer")));
        let seen = hermes_plugin_sdk::Window::view(text);
        let alone = median(rounds, || drop(plugin.scan(&native_context, black_box(&seen)).expect("an answer")));
        let ratio = called.as_secs_f64() / alone.as_secs_f64();
        let over = called.saturating_sub(alone);
        say(
            &format!("redact-secrets on {name}, plugin : native"),
            &format!("{:.0} MB/s", speed(text.len(), called)),
            &format!("{ratio:.2} : 1 ({:.1} us more a call)", over.as_secs_f64() * 1e6),
        );
    }
    // An empty text: what is left is the call itself.
    let call = median(5000, || drop(bench.redact(&context, &window("")).expect("an answer")));
    say("a call with no text", &format!("{:.2} us", call.as_secs_f64() * 1e6), "aim: at most 5 us");
    let instance = median(300, || bench.instantiate().expect("an instance"));
    say(
        "a fresh, configured instance",
        &format!("{:.1} us", instance.as_secs_f64() * 1e6),
        &format!("{:.0} calls without text", instance.as_secs_f64() / call.as_secs_f64()),
    );
    let memory = bench.memory().unwrap_or_default();
    say("memory of a warm instance", &format!("{} KiB", memory / 1024), "linear memory, beside its text");
}
