//! Texts the benchmarks share, and the printing of ratios.
//!
//! Machines are noisy, so what counts is one figure against another of the same run.

pub mod machine;
pub mod parts;

use std::time::{Duration, Instant};

/// One MiB.
pub const MIB: usize = 1024 * 1024;

/// An ordinary build and test log of about this size, without secrets; the same for the same size.
pub fn ordinary_log(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 256);
    let mut n = 12_345_u64;
    let mut next = || {
        // A linear congruential step (Knuth's constants): numbers that look like those of a log.
        n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        n >> 33
    };
    while text.len() < bytes {
        let k = next();
        match k % 8 {
            0 => text += &format!("   Compiling serde_derive v1.0.{} (/work/target/debug/build)\n", k % 300),
            1 => text += &format!("test net::tls::handshake_{} ... ok ({} ms)\n", k % 900, k % 40),
            2 => {
                text +=
                    &format!("2026-03-0{}T12:{:02}:11Z INFO worker-{} finished job {k}\n", k % 9 + 1, k % 60, k % 16)
            }
            3 => text += &format!("warning: unused variable: `count_{}` --> src/model/row.rs:{}:13\n", k % 70, k % 999),
            4 => text += &format!("GET /assets/app.{:08x}.js 200 {} bytes\n", k % 0xffff_ffff, k % 90_000),
            5 => text += &format!("Downloaded tokio-util v0.7.{} (checksum {:016x})\n", k % 20, k.wrapping_mul(0x9e37)),
            6 => text += "    at Object.<anonymous> (/srv/app/node_modules/jest/build/index.js:41:9)\n",
            _ => text += &format!("[{}/900] CXX obj/core/session_{}.o\n", k % 900, k % 800),
        }
    }
    text
}

/// The same with a credential every twenty lines or so, made up here.
pub fn log_with_secrets(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 256);
    for (index, line) in ordinary_log(bytes).split_inclusive('\n').enumerate() {
        text += line;
        match index % 60 {
            7 => {
                text +=
                    "remote: https://x-access-token:ghp_0123456789abcdefghijABCDEFGHIJ012345@github.com/acme/app.git\n"
            }
            27 => text += "DATABASE_URL=postgres://app:Tr0ub4dor-and-3@db.internal:5432/app\n",
            47 => {
                text += "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlLWhlcmU\n"
            }
            _ => {}
        }
    }
    text
}

/// The time that this share of `times` does not exceed: 0.5 gives the median. Sorts them; of none it is zero.
pub fn quantile(times: &mut [Duration], share: f64) -> Duration {
    times.sort();
    let last = times.len().saturating_sub(1);
    times.get((last as f64 * share).round() as usize).copied().unwrap_or_default()
}

/// The median time of one call over `rounds`, after one call that is not counted.
pub fn median(rounds: usize, mut call: impl FnMut()) -> Duration {
    call();
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let started = Instant::now();
            call();
            started.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

/// MB/s of a text handled in this time.
pub fn speed(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}

/// Prints one line of the table of ratios.
#[expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]
pub fn say(what: &str, figure: &str, ratio: &str) {
    println!("{what:<58} {figure:>16}   {ratio}");
}
