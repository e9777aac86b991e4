//! What the hook costs on one thread: an ordinary log, dense secrets, small windows, what is made to be slow.
//!
//! Machines are noisy: every figure is a median, and ratios are of the same run.

use std::path::Path;
use std::time::{Duration, Instant};

use hermes_bench::{MIB, log_with_secrets, ordinary_log, quantile, speed};
use hermes_model::context::{Context, Surface};
use hermes_output::policy::{Policy, Window};
use hermes_plugins::bench::{Bench, BenchError};

use crate::driver::Driver;
use crate::generator::Generator;
use crate::table::Table;

/// How much slower per byte than an ordinary log a text may be that is made to be slow.
const SLOWEST: f64 = 3.0;
/// The largest component, in bytes (300 KB).
const COMPONENT_MAX: usize = 300 * 1024;
/// Rounds of each measurement of a MiB.
const ROUNDS: usize = 15;
/// Pairs of measurements of a whole reply, with the summariser and without.
const PAIRS: usize = 40;

fn window(text: &str) -> Window<'_> {
    Window { text, fresh_from: 0, front_cut: false, last: true }
}

/// A MiB of each text that makes naive patterns slow.
pub fn hostile() -> Vec<(&'static str, String)> {
    let mut generator = Generator::new(7);
    let fill = |piece: &str| piece.repeat(MIB / piece.len() + 1)[..MIB / piece.len() * piece.len()].to_owned();
    let mut texts: Vec<(&str, String)> = [
        ("A", "A"),
        ("A_", "A_"),
        ("a.", "a."),
        ("digits", "7"),
        ("PEM heads", "-----BEGIN PRIVATE KEY-----\n"),
        ("token=", "token="),
        ("quotes", "\""),
        ("backslashes", "\\"),
        ("://", "://"),
        ("eyJ", "eyJ"),
        ("ghp_", "ghp_"),
        ("colours", "\u{1b}[31m"),
        ("user@", "https://a:b"),
        ("Secret kinds", "kind: Secret\n"),
        ("password:", "password: \n"),
    ]
    .map(|(name, piece)| (name, fill(piece)))
    .to_vec();
    texts.push(("base64 in one line", generator.expand(&format!("{{base64:{MIB}}}"))));
    let mut dense = String::with_capacity(MIB + 64);
    while dense.len() < MIB {
        dense += &generator.expand("ghp_{alnum:30}{crc} ");
    }
    texts.push(("tokens only", dense));
    let noise: Vec<u8> = (0..MIB).map(|_| generator.number().to_le_bytes()[0]).collect();
    texts.push(("random bytes", String::from_utf8_lossy(&noise).into_owned()));
    texts
}

/// Measures the redactor's hook; how fast it reads an ordinary log and one with secrets, in MB/s.
///
/// # Errors
/// It does not load, or does not answer.
pub fn redactor(table: &mut Table) -> Result<[f64; 2], BenchError> {
    let cache = tempfile::tempdir().map_err(|error| BenchError::NoAnswer(error.to_string()))?;
    let cold = Bench::bundled("redact-secrets", cache.path())?;
    let compile = cold.step("compile");
    let load = |_: usize| -> Result<Duration, BenchError> {
        let started = Instant::now();
        drop(cold.copy(0)?);
        Ok(started.elapsed())
    };
    // The first makes the copy's entry in the cache; the others find it.
    let mut loads = (0..8).map(load).skip(1).collect::<Result<Vec<_>, _>>()?;
    let context = Context::new(Surface::Foreground);
    let once = |text: &str| -> Result<Duration, BenchError> {
        let started = Instant::now();
        cold.redact(&context, &window(text)).map(|_| started.elapsed())
    };
    let middle = |text: &str| -> Result<f64, BenchError> {
        let mut times = (0..ROUNDS).map(|_| once(text)).collect::<Result<Vec<_>, _>>()?;
        Ok(speed(text.len(), quantile(&mut times, 0.5)))
    };
    let (clean, dense) = (ordinary_log(MIB), log_with_secrets(MIB));
    let speeds = [middle(&clean)?, middle(&dense)?];
    table.add("redactor, ordinary log, 1 MiB a call", format!("{:.0} MB/s", speeds[0]), "goal 400 MB/s");
    table.add("redactor, a secret every 20 lines", format!("{:.0} MB/s", speeds[1]), "goal 100 MB/s");
    let small = ordinary_log(4096);
    let small = &small[..4096.min(small.len())];
    let mut times = (0..3000).map(|_| once(small)).collect::<Result<Vec<_>, _>>()?;
    let micros = |time: Duration| format!("{:.1} µs", time.as_secs_f64() * 1e6);
    table.add("redactor, 4 KiB a call, median", micros(quantile(&mut times, 0.5)), "");
    table.add("redactor, 4 KiB a call, 99 of 100", micros(quantile(&mut times, 0.99)), "goal 50 µs");
    let mut worst = ("", 0.0);
    for (name, text) in &hostile() {
        // Measured in turns, so that a busy moment of the machine meets both.
        let round = |_: usize| -> Result<f64, BenchError> {
            let plain = once(&clean)?.as_secs_f64() / clean.len() as f64;
            Ok(once(text)?.as_secs_f64() / text.len() as f64 / plain)
        };
        let mut ratios = match (0..5).map(round).collect::<Result<Vec<f64>, _>>() {
            Ok(ratios) => ratios,
            // A text that the redactor does not get through in its time is withheld from the reader.
            Err(error) => {
                table.must(false, format!("{name}: {error}"));
                cold.forgive();
                continue;
            }
        };
        ratios.sort_by(f64::total_cmp);
        let ratio = ratios[2];
        table.must(ratio <= SLOWEST, format!("{name}: {ratio:.1} times the time per byte of an ordinary log"));
        if ratio > worst.1 {
            worst = (name, ratio);
        }
    }
    table.add("redactor, slowest hostile MiB", format!("{:.1} × a log ({})", worst.1, worst.0), "goal 3 ×");
    table.add("redactor, compiling", format!("{:.0} ms", compile.as_secs_f64() * 1e3), "goal 1,000 ms");
    let cold_load = quantile(&mut loads, 0.5);
    table.add("redactor, loading from the cache", format!("{:.1} ms", cold_load.as_secs_f64() * 1e3), "goal 5 ms");
    Ok(speeds)
}

/// The summariser through the real host, beside the redactor alone: what it adds.
pub fn summariser(table: &mut Table, both: &Driver, redactor: &Driver) {
    let log = ordinary_log(4 * MIB);
    let mut context = Context::new(Surface::Foreground);
    context.exit_code = Some(1);
    let once = |driver: &Driver| {
        let started = Instant::now();
        drop(driver.view(&context, log.as_bytes()));
        started.elapsed()
    };
    // Measured in turns, so that a busy moment of the machine meets both; the first of each is for the caches.
    let rounds = || (once(both), once(redactor));
    let (mut with, mut beyond): (Vec<_>, Vec<_>) =
        (0..=PAIRS).map(|_| rounds()).skip(1).map(|(with, without)| (with, with.saturating_sub(without))).unzip();
    let (with, beyond) = (quantile(&mut with, 0.5), quantile(&mut beyond, 0.5));
    let alone = speed(log.len(), beyond.max(Duration::from_micros(1)));
    table.add("summariser, 4 MiB log, beyond the redactor", format!("{alone:.0} MB/s"), "goal 150 MB/s");
    table.add("a whole reply of a 4 MiB log, both plugins", format!("{:.0} MB/s", speed(log.len(), with)), "");
    let policy: &dyn Policy = &*both.policy();
    let again = both.view(&context, log.as_bytes());
    table.must(policy.generation() == again.report.generation, "the generation changed while it was measured");
    table.must(again.text == both.view(&context, log.as_bytes()).text, "the same log has two summaries");
}

/// The sizes of the components, from the folder they were built into.
pub fn sizes(table: &mut Table, target: &Path) {
    for name in ["redact_secrets", "summarize_output"] {
        let path = target.join("wasm32-wasip2").join("plugin").join(format!("{name}.wasm"));
        let found = std::fs::metadata(&path).map(|file| usize::try_from(file.len()).unwrap_or(usize::MAX));
        let Ok(size) = found else {
            table.must(false, format!("{} is not there; build it with `cargo xtask build-plugins`", path.display()));
            continue;
        };
        table.must(name != "redact_secrets" || size <= COMPONENT_MAX, format!("{name} has {size} bytes"));
        table.add(format!("size of {}", name.replace('_', "-")), format!("{} KB", size / 1024), "goal 300 KB");
    }
}
