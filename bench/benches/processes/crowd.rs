//! A thousand commands at once in the background: memory and descriptors for each, and the time to start and end them.

use std::time::{Duration, Instant};

use hermes_bench::parts::Size;
use hermes_bench::{machine, quantile, say};
use hermes_process::registry::handle::{Registry, Who};
use hermes_process::registry::request::Request;
use hermes_process::registry::shown::KillResult;
use hermes_process::spec::CommandSpec;

use crate::house::House;
use crate::{exec, sh};

/// What each of those prints that print something: a full pipe (pipe(7)).
const PRINTED: usize = 64 * 1024;

/// How long a condition may take to hold before the measurement is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a command costs.
struct Cost {
    bytes: usize,
    descriptors: f64,
    start: Duration,
    all: Duration,
}

/// Starts `count` commands, one after the other, and waits until they have printed what they print.
async fn crowd(registry: &Registry, count: usize, spec: &CommandSpec, printed: usize) -> Cost {
    let (resident, descriptors) = (machine::resident(), machine::descriptors());
    let began = Instant::now();
    let mut starts = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        registry.start_in_background(Request::new(spec.clone())).await.expect("it starts");
        starts.push(start.elapsed());
    }
    let all = began.elapsed();
    if printed > 0 {
        wait_for_output(registry, count, printed).await;
    }
    Cost {
        bytes: machine::resident().saturating_sub(resident) / count,
        descriptors: (machine::descriptors() - descriptors) as f64 / count as f64,
        start: quantile(&mut starts, 0.5),
        all,
    }
}

/// Returns when `count` commands have printed this much each.
async fn wait_for_output(registry: &Registry, count: usize, printed: usize) {
    let began = Instant::now();
    loop {
        let rows = registry.list(&Who::Anybody).await;
        if rows.iter().filter(|row| row.output_bytes == printed as u64).count() >= count {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "they print");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Starts `count` commands at once; the time until the last one runs.
async fn rush(registry: &Registry, count: usize, spec: &CommandSpec) -> Duration {
    let began = Instant::now();
    let starts: Vec<_> = (0..count)
        .map(|_| {
            let (registry, request) = (registry.clone(), Request::new(spec.clone()));
            tokio::spawn(async move { registry.start_in_background(request).await.map(drop) })
        })
        .collect();
    for start in starts {
        start.await.expect("no start breaks down").expect("it starts");
    }
    began.elapsed()
}

/// Ends everything; the time it took, and how many of them are known to be gone.
async fn end(registry: &Registry) -> (Duration, usize) {
    let began = Instant::now();
    let killed = registry.shut_down().await;
    (began.elapsed(), killed.iter().filter(|killed| killed.result == KillResult::Killed).count())
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

fn each(time: Duration, count: usize) -> String {
    format!("{:.2} ms each", time.as_secs_f64() * 1e3 / count as f64)
}

pub(crate) async fn measure(size: Size) {
    let count = size.pick(1000, 10);
    let sleep = exec(&["sleep", "3600"]);
    let house = House::new();
    // Threads, tables and the pages of the database are there before anything is counted.
    let first = house.open();
    crowd(&first, size.pick(50, 2), &sleep, 0).await;
    end(&first).await;

    let registry = house.open();
    let quiet = crowd(&registry, count, &sleep, 0).await;
    let (ended, gone) = end(&registry).await;
    say(
        &format!("{count} commands: memory of the host for each"),
        &machine::kib(quiet.bytes),
        "aim: at most 64 KiB beside its output",
    );
    say(&format!("{count} commands: descriptors for each"), &format!("{:.2}", quiet.descriptors), "");
    say(
        &format!("{count} commands: starting them one after the other"),
        &seconds(quiet.all),
        &format!("median {:.2} ms each", quiet.start.as_secs_f64() * 1e3),
    );
    say(
        &format!("{count} commands: ending all, known to be gone {gone}"),
        &seconds(ended),
        &format!("{}, {:.1} : 1 to starting them", each(ended, count), ended.as_secs_f64() / quiet.all.as_secs_f64()),
    );

    let registry = house.open();
    machine::forget_peak();
    let before = machine::resident();
    let time = rush(&registry, count, &sleep).await;
    let grown = machine::peak().saturating_sub(before);
    say(&format!("{count} commands: starting them all at once"), &seconds(time), &each(time, count));
    say(
        &format!("{count} commands at once: peak of the host's memory"),
        &machine::mib(grown),
        "over the memory before",
    );
    let (ended, gone) = end(&registry).await;
    say(&format!("{count} commands: ending all, known to be gone {gone}"), &seconds(ended), &each(ended, count));
}

/// The same for commands that have printed as much as a pipe holds.
pub(crate) async fn measure_talkers(size: Size) {
    let count = size.pick(200, 5);
    let house = House::new();
    let first = house.open();
    crowd(&first, size.pick(50, 2), &exec(&["sleep", "3600"]), 0).await;
    end(&first).await;

    let registry = house.open();
    let talk = sh(&format!("head -c {PRINTED} /dev/zero | tr '\\0' x; exec sleep 3600"));
    let cost = crowd(&registry, count, &talk, PRINTED).await;
    say(
        &format!("{count} commands that printed 64 KiB: memory for each"),
        &machine::kib(cost.bytes),
        &format!("{} beside its output", machine::kib(cost.bytes.saturating_sub(PRINTED))),
    );
    end(&registry).await;
}
