//! What a plugin that behaves badly costs those beside it: good plugins are called while others call the bad one, in the
//! same engine, as calls of several commands in one host do.
//!
//! On a machine with few processors whatever computes takes time from everybody, so each bad neighbour takes turns with a
//! control: threads that compute as much and have nothing to do with the engine. What counts is the difference.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hermes_bench::{ordinary_log, quantile, say};
use hermes_model::config::PluginConfig;
use hermes_model::context::{Context, Surface};
use hermes_output::policy::Window;
use hermes_plugins::bench::Bench;
use hermes_plugins::section;

/// Threads that call the bad neighbour, or compute in its place.
const CALLERS: usize = 2;
/// Copies of the good redactor beside it.
const COPIES: usize = 6;
/// Calls of one turn. Turns are short, so that what else the machine does falls on all alike.
const TURN: usize = 100;
/// Turns of each kind.
const TURNS: usize = 60;

/// What the neighbours do in a turn.
const QUIET: u8 = 0;
const BAD: u8 = 1;
const CONTROL: u8 = 2;
const OVER: u8 = 3;

fn window(text: &str) -> Window<'_> {
    Window { text, fresh_from: 0, front_cut: false, last: true }
}

/// The guests' components, which `cargo xtask test` builds.
fn guest(name: &str) -> Option<Vec<u8>> {
    let target = std::env::current_exe().ok()?.ancestors().nth(3)?.to_owned();
    let file = format!("wasm32-wasip2/plugin/examples/{}.wasm", name.replace('-', "_"));
    let component = std::fs::read(target.join(file)).ok()?;
    let manifest = format!(
        "name = \"{name}\"\nversion = \"1.0.0\"\ndescription = \"A bad neighbour.\"\nlicense = \"MIT\"\n\
         requires-hermes = \">=0.1\"\nhooks = [\"redact\"]\n"
    );
    Some(section::embed(&component, &manifest))
}

/// The processor time of this thread.
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Times of the good calls: by the clock, and of the processor.
#[derive(Default)]
struct Times {
    wall: Vec<Duration>,
    processor: Vec<Duration>,
}

/// The good plugins, the bad one, and what was measured of each kind of turn.
struct Street<'a> {
    good: &'a [Bench],
    bad: &'a Bench,
    text: &'a str,
    mode: AtomicU8,
    calls: AtomicUsize,
    busy: AtomicUsize,
}

impl Street<'_> {
    /// One of the threads beside.
    fn neighbour(&self) {
        let context = Context::new(Surface::Foreground);
        loop {
            match self.mode.load(Ordering::Acquire) {
                OVER => return,
                BAD => {
                    self.busy.fetch_add(1, Ordering::AcqRel);
                    // Its strikes are forgiven: a host would leave it alone for a minute, and there would be nothing to
                    // measure.
                    if self.bad.redact(&context, &window(self.text)).is_err() {
                        self.bad.forgive();
                    }
                    self.calls.fetch_add(1, Ordering::Relaxed);
                    self.busy.fetch_sub(1, Ordering::AcqRel);
                }
                CONTROL => {
                    let until = Instant::now() + Duration::from_millis(5);
                    let mut sum = 0u64;
                    while Instant::now() < until {
                        sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
                    }
                }
                _ => std::thread::sleep(Duration::from_micros(200)),
            }
        }
    }

    /// One turn of calls through the good ones, each of which must be answered.
    fn turn(&self, mode: u8, log: &str, times: &mut Times) {
        // A bad call under way belongs to the turn before.
        self.mode.store(QUIET, Ordering::Release);
        while self.busy.load(Ordering::Acquire) > 0 {
            std::thread::yield_now();
        }
        self.mode.store(mode, Ordering::Release);
        let context = Context::new(Surface::Foreground);
        for call in 0..TURN {
            let good = &self.good[call % self.good.len()];
            let (started, used) = (Instant::now(), thread_time());
            good.redact(&context, &window(log)).expect("a good plugin always answers");
            times.wall.push(started.elapsed());
            times.processor.push(thread_time().saturating_sub(used));
        }
    }
}

fn us(time: Duration) -> String {
    format!("{:.0} us", time.as_secs_f64() * 1e6)
}

fn percent(of: Duration, than: Duration) -> String {
    format!("{:+.0} %", (of.as_secs_f64() / than.as_secs_f64() - 1.0) * 100.0)
}

fn measure(what: &str, good: &[Bench], bad: &Bench, text: &str, turns: usize) {
    let log = ordinary_log(16 * 1024);
    let street =
        Street { good, bad, text, mode: AtomicU8::new(QUIET), calls: AtomicUsize::new(0), busy: AtomicUsize::new(0) };
    let (mut alone, mut beside, mut control) = (Times::default(), Times::default(), Times::default());
    std::thread::scope(|scope| {
        for _ in 0..CALLERS {
            scope.spawn(|| street.neighbour());
        }
        for _ in 0..turns {
            street.turn(QUIET, &log, &mut alone);
            street.turn(BAD, &log, &mut beside);
            street.turn(CONTROL, &log, &mut control);
        }
        street.mode.store(OVER, Ordering::Release);
    });
    let mut p = |share: f64| {
        [&mut alone, &mut beside, &mut control]
            .map(|times| (quantile(&mut times.wall, share), quantile(&mut times.processor, share)))
    };
    for (name, share) in [("median", 0.5), ("p99", 0.99)] {
        let [(alone, alone_cpu), (beside, beside_cpu), (control, control_cpu)] = p(share);
        say(
            &format!("{what}: {name} by the clock"),
            &us(beside),
            &format!("{} than beside the control ({}); alone {}", percent(beside, control), us(control), us(alone)),
        );
        say(
            &format!("{what}: {name} of processor time"),
            &us(beside_cpu),
            &format!(
                "{} than beside the control ({}); alone {}",
                percent(beside_cpu, control_cpu),
                us(control_cpu),
                us(alone_cpu)
            ),
        );
    }
    say(
        &format!("{what}: calls, none without an answer"),
        &beside.wall.len().to_string(),
        &format!("{} calls of the neighbour", street.calls.load(Ordering::Relaxed)),
    );
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--test" || argument == "--quick");
    let turns = if quick { 2 } else { TURNS };
    let cache = tempfile::tempdir().expect("a temporary folder");
    let first = Bench::bundled("redact-secrets", cache.path()).expect("the bundled redactor loads");
    let copies: Vec<Bench> =
        (0..COPIES).map(|copy| first.copy(copy).expect("a copy of the bundled redactor loads")).collect();
    let good: Vec<Bench> = std::iter::once(first).chain(copies).collect();
    say("bad neighbours", "", "");
    for (what, name, text) in [
        ("one that hangs", "loops-on-text", "LOOP"),
        ("one that eats memory", "allocates-on-text", "ALLOCATE"),
        ("one that floods its log", "floods-log", "plain"),
        ("one that answers with 10 M places", "too-many-spans", "MILLIONS"),
    ] {
        let Some(packed) = guest(name) else {
            say(what, "not measured", "its guest is not there: run `cargo xtask test` once");
            continue;
        };
        let bad = good[0].beside(&packed, &PluginConfig::default()).expect("the guest loads");
        measure(what, &good, &bad, text, turns);
    }
}
