//! The example plugins of the repository, as their authors would build them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_model::context::{Context, Surface};
use hermes_output::policy::Window;
use hermes_plugins::bench::Bench;

use crate::home::{self, TestHome};
use crate::tree;
use crate::{guests, manifests, wait};

/// How often a call is timed in a row before the other side has its turn.
const IN_A_ROW: usize = 10;
/// How many turns both sides have.
const TURNS: usize = 60;

/// What every language has: the name of an example and its hook.
pub const NAMES: [(&str, &str); 3] =
    [("mask-tickets", "redact"), ("fold-repeats", "transform"), ("failures-only", "notify")];

/// The example's folder in the repository.
fn folder(language: &str, name: &str) -> PathBuf {
    tree::root().join("plugins/examples").join(language).join(name)
}

/// An example in Rust with its manifest inside, as a file in the test's folder. `cargo xtask test` built it.
///
/// # Panics
/// It has not been built.
pub fn rust(home: &TestHome, name: &str) -> PathBuf {
    let file = format!("{}.wasm", name.replace('-', "_"));
    let built = home::target().join("wasm32-wasip2/plugin").join(file);
    let component = fs::read(&built)
        .unwrap_or_else(|error| panic!("example {} is not there ({error}): run `cargo xtask test`", built.display()));
    let manifest = fs::read_to_string(folder("rust", name).join("plugin.toml")).expect("each example has a manifest");
    guests::write_bytes(&home.work(), &format!("rust-{name}"), &manifests::pack(&component, &manifest))
}

/// An example in C, copied into the test's folder and built there by hermes.
///
/// # Panics
/// It cannot be copied, or does not build.
pub fn c(home: &TestHome, name: &str) -> PathBuf {
    let (from, to) = (folder("c", name), home.work().join(format!("c-{name}")));
    fs::create_dir(&to).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
    for file in ["plugin.c", "plugin.toml"] {
        fs::copy(from.join(file), to.join(file)).unwrap_or_else(|error| panic!("{name}/{file}: {error}"));
    }
    lend_c_compiler(home);
    build(home, &to);
    to
}

/// Puts the compiler of the examples in C above the test's projects, where `hermes plugins build` looks for one. It is
/// installed once, not for each test.
///
/// # Panics
/// It is not installed.
pub fn lend_c_compiler(home: &TestHome) {
    let compiler = tree::root().join("plugins/examples/c/.venv");
    let compiler = compiler.canonicalize().unwrap_or_else(|error| {
        panic!("the compiler {} is not there ({error}): run `cargo xtask test`", compiler.display())
    });
    let link = home.work().join(".venv");
    if !link.exists() {
        symlink(&compiler, &link).unwrap_or_else(|error| panic!("{}: {error}", link.display()));
    }
}

/// Builds a project as its author does.
///
/// # Panics
/// It does not build.
pub fn build(home: &TestHome, project: &Path) {
    let command = home.command(["plugins".as_ref(), "build".as_ref(), project.as_os_str()]);
    drop(home::finish(command, wait::BUILD_PATIENCE).expect(0));
}

/// How long the pattern set of a language's `mask-tickets` takes natively over 64 KiB of ordinary lines, and how long the
/// plugin takes for them, whole. The least of many times: what others do on the machine can only make a time longer.
///
/// # Panics
/// It is not built, or has no answer.
pub fn search_and_call(language: &str) -> (Duration, Duration) {
    let folder = folder(language, "mask-tickets");
    let bench = Bench::open(&folder, &home::shared_cache().join("hermes/compiled"))
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let line = "test net::tls::handshake_12 ... ok (Compiling serde_derive v1.0.3, 2026-03-01T12:11:11Z INFO)\n";
    let text = line.repeat(64 * 1024 / line.len());
    let context = Context::new(Surface::Stream);
    let window = Window { text: &text, fresh_from: 0, front_cut: false, last: false };
    // In turns, so that both have the same machine.
    let (mut natively, mut called) = (Duration::MAX, Duration::MAX);
    for _ in 0..TURNS {
        natively = natively.min(least(|| assert!(matches!(bench.find_natively("tickets", &text), Ok(0)), "a hit")));
        called = called.min(least(|| assert!(bench.redact(&context, &window).is_ok(), "no answer")));
    }
    (natively, called)
}

fn least(mut work: impl FnMut()) -> Duration {
    let time = |_| {
        let began = Instant::now();
        work();
        began.elapsed()
    };
    (0..IN_A_ROW).map(time).min().unwrap_or(Duration::MAX)
}
