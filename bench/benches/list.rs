//! What `hermes plugins list` does for a home of twenty plugins: loading each with its canaries, cold and from the cache.

use std::path::Path;
use std::time::Duration;

use criterion::Criterion;
use hermes_bench::{median, say};
use hermes_home::home::{Home, LocateArgs};
use hermes_model::config::Config;
use hermes_plugins::bench::Bench;
use hermes_plugins::registry::{Depth, Plugins, State};

/// Twenty, as the aim says: eighteen copies of the bundled redactor beside the two bundled plugins.
const COPIES: usize = 18;

fn open(home: &Home, cache: &Path) -> usize {
    let plugins = Plugins::open(home, &Config::default(), cache, Depth::Enabled).expect("the plugins open");
    plugins.rows().iter().filter(|row| row.state == State::Loaded).count()
}

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let args = LocateArgs { home: Some(folder.path().join("home")), profile: None };
    let home = Home::locate(&args).expect("a fresh home");
    Bench::fill_home(&home, COPIES).expect("copies can be installed");
    let cache = folder.path().join("cache");
    assert_eq!(open(&home, &cache), COPIES + 2, "every copy loads");

    let mut criterion =
        Criterion::default().configure_from_args().sample_size(10).measurement_time(Duration::from_secs(4));
    criterion.bench_function("list/20 plugins, from the cache", |b| b.iter(|| open(&home, &cache)));
    criterion.final_summary();

    say("ratios of this run", "", "");
    let warm = median(9, || assert_eq!(open(&home, &cache), COPIES + 2));
    let cold = median(1, || {
        let fresh = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(open(&home, fresh.path()), COPIES + 2);
    });
    say("list of 20 plugins, from the cache", &format!("{:.1} ms", warm.as_secs_f64() * 1e3), "aim: under 50 ms");
    let ratio = cold.as_secs_f64() / warm.as_secs_f64();
    say("list of 20 plugins, cold", &format!("{:.0} ms", cold.as_secs_f64() * 1e3), &format!("{ratio:.0} : 1"));
}
