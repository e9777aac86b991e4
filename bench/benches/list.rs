//! What `hermes plugins list` does where no host runs, for a home of two hundred plugins: from the records of trials that
//! were passed, and with every trial run; and what a host does when one plugin of them changes.

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use criterion::Criterion;
use hermes_bench::{median, say};
use hermes_home::home::{Home, LocateArgs};
use hermes_model::config::Config;
use hermes_plugins::bench::Bench;
use hermes_plugins::generation::{BUNDLED, Entry};
use hermes_plugins::registry::{Depth, Plugins, Row, State, Survey, store_of};

/// Copies of the bundled redactor, each compiled for itself.
const COPIES: usize = 18;
/// How many times each copy is installed, under names of its own: two hundred plugins in all, as the aim says. Compiling
/// two hundred takes minutes and is not what is measured.
const NAMES: usize = 11;
/// The plugins of the home: the copies under all their names, and the two bundled ones.
const PLUGINS: usize = COPIES * NAMES + 2;

fn loaded(rows: &[Row]) -> usize {
    rows.iter().filter(|row| row.state == State::Loaded).count()
}

fn list(home: &Home, cache: &Path) -> usize {
    loaded(&Survey::open(home, &Config::default(), cache).expect("the plugins can be looked at").rows())
}

fn open(home: &Home, cache: &Path) -> Plugins {
    Plugins::open(home, &Config::default(), cache, Depth::Enabled).expect("the plugins open")
}

/// Installs every copy under more names.
fn name_again(home: &Home) {
    let named = store_of(home).change("more names", None, |entries| {
        let copies: Vec<Entry> = entries.iter().filter(|entry| entry.source != BUNDLED).cloned().collect();
        for again in 1..NAMES {
            entries.extend(copies.iter().map(|entry| {
                let name = format!("{}-{again}", entry.name).parse().expect("a name with a number is a name");
                Entry { name, ..entry.clone() }
            }));
        }
        Ok::<_, Infallible>(())
    });
    assert!(named.is_ok(), "the names are published");
}

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let args = LocateArgs { home: Some(folder.path().join("home")), profile: None };
    let home = Home::locate(&args).expect("a fresh home");
    Bench::fill_home(&home, COPIES).expect("copies can be installed");
    name_again(&home);
    let cache = folder.path().join("cache");
    let compiled = median(1, || assert_eq!(loaded(&open(&home, &cache).rows()), PLUGINS, "every copy loads"));
    // Records are written of files that were left alone for a second: the copies took longer to compile than that.
    assert_eq!(list(&home, &cache), PLUGINS);

    let mut criterion =
        Criterion::default().configure_from_args().sample_size(10).measurement_time(Duration::from_secs(4));
    criterion.bench_function("list/200 plugins, from the cache", |b| b.iter(|| list(&home, &cache)));
    criterion.final_summary();

    say("ratios of this run", "", "");
    let recorded = median(9, || assert_eq!(list(&home, &cache), PLUGINS));
    let trials = median(3, || assert_eq!(loaded(&open(&home, &cache).rows()), PLUGINS));
    say("list of 200 plugins, from the cache", &ms(recorded), "aim: under 100 ms");
    let ratio = |one: Duration| format!("{:.1} : 1", one.as_secs_f64() / recorded.as_secs_f64());
    say("the same with every trial, as a host starts", &ms(trials), &ratio(trials));
    say("the same when all are compiled first", &ms(compiled), &ratio(compiled));

    let plugins = open(&home, &cache);
    let flip = || {
        let changed = store_of(&home).change("flip", None, |entries| {
            entries.rotate_left(1);
            Ok::<_, Infallible>(())
        });
        assert!(changed.is_ok(), "the change is made");
        drop(plugins.reopen(&home, &Config::default()).expect("the plugins open again"));
    };
    let reopened = median(9, flip);
    say("a change of the order, published and taken up", &ms(reopened), &ratio(reopened));
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
