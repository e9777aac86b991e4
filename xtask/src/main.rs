//! The tasks of this repository: `cargo xtask demo|test|build-plugins|bench|freeze|fuzz|docs`.
//!
//! Each installs the tools it needs, shows its steps with the time they took, and ends with what to do next. It must
//! never be needed to use hermes: `cargo install --path host/cli` works without it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a task talks to the person who started it")]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

mod demo;
mod docs;
mod error;
mod examples;
mod freeze;
mod fuzz;
mod peers;
mod plugins;
mod quality;
mod run;
mod steps;
mod testing;
mod tools;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::TaskError;

/// The tasks of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Builds everything and shows the main job on real input, in a throwaway home.
    Demo {
        /// Keep the throwaway folder, and say where it is.
        #[arg(long)]
        keep: bool,
    },
    /// Runs every test, building whatever it needs.
    Test {
        /// Passed on to `cargo nextest run`, as in `cargo xtask test -- -p hermes-output`.
        #[arg(last = true)]
        nextest: Vec<String>,
    },
    /// Builds the first-party and example plugins for wasm32-wasip2.
    BuildPlugins,
    /// Runs the benchmarks; `cargo xtask bench quality` measures what the redactor and the summariser find and cost.
    Bench {
        /// `quality`, for one table of what the redactor and the summariser find, lose and cost, beside other programs.
        what: Option<testing::Measured>,
        /// With `quality`: without the other programs.
        #[arg(long, requires = "what")]
        quick: bool,
        /// Passed on: to criterion, as in `cargo xtask bench -- redact`, or to `hermes-quality all`, as in
        /// `cargo xtask bench quality -- --corpus DIR`.
        #[arg(last = true)]
        criterion: Vec<String>,
    },
    /// Keeps a compiled plugin of every language and hook in `tests/released`: every later hermes must load them.
    Freeze(freeze::FreezeArgs),
    /// Feeds the load pipeline what nobody meant to feed it.
    Fuzz {
        /// For how long, in seconds.
        #[arg(default_value_t = 600)]
        seconds: u64,
    },
    /// Builds the book, after checking that each of its chapters exists.
    Docs,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Demo { keep } => demo::run(keep),
        Task::Test { nextest } => testing::test(&nextest),
        Task::BuildPlugins => plugins::run(),
        Task::Bench { what: Some(testing::Measured::Quality), quick, criterion } => quality::run(quick, &criterion),
        Task::Bench { what: None, criterion, .. } => testing::bench(&criterion),
        Task::Freeze(args) => freeze::run(&args),
        Task::Fuzz { seconds } => fuzz::run(seconds),
        Task::Docs => docs::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

/// Prints an error with everything that caused it.
fn report(error: &TaskError) {
    eprintln!("\nerror: {error}");
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        eprintln!("  because: {cause}");
        source = cause.source();
    }
}
