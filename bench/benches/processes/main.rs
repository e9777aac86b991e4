//! The process engine: starting, many at once, the news of an end, and taking in output; each beside the plain way.
//!
//! `cargo bench -p hermes-bench --bench processes -- [--quick] [PART]...`

mod crowd;
mod end;
mod house;
mod ingestion;
mod machine;
mod start;

use std::process::Command;

use hermes_bench::say;
use hermes_process::spec::{CommandSpec, Program};

/// How much is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    /// Enough for figures.
    Full,
    /// Enough to see that it works.
    Quick,
}

impl Size {
    fn pick(self, full: usize, quick: usize) -> usize {
        if self == Self::Full { full } else { quick }
    }
}

/// What is measured, each in a process of its own, so that none finds the memory and the threads of another.
const PARTS: [&str; 5] = ["start", "crowd", "talkers", "end", "ingestion"];

/// What the process of one part is told before the part's name.
const ONLY: &str = "--only";

fn exec(words: &[&str]) -> CommandSpec {
    CommandSpec::new(Program::Exec { program: words[0].into(), args: words[1..].iter().map(Into::into).collect() })
}

fn sh(text: &str) -> CommandSpec {
    CommandSpec::new(Program::Shell { shell: "/bin/sh".into(), text: text.into() })
}

async fn measure(part: &str, size: Size) {
    match part {
        "start" => start::measure(size).await,
        "crowd" => crowd::measure(size).await,
        "talkers" => crowd::measure_talkers(size).await,
        "end" => end::measure(size).await,
        _ => ingestion::measure(size).await,
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // "--test" is criterion's word for the same.
    let quick = arguments.iter().any(|argument| argument == "--quick" || argument == "--test");
    if let [only, part, ..] = arguments.as_slice()
        && only == ONLY
    {
        let size = if quick { Size::Quick } else { Size::Full };
        let part = part.clone();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        // In a task like any other: whoever blocks on the runtime is not one of its threads.
        let measured = runtime.spawn(async move { measure(&part, size).await });
        return runtime.block_on(measured).expect("the measurement is not given up");
    }
    let asked: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let wanted = |part: &&str| asked.is_empty() || asked.iter().any(|asked| part.contains(asked.as_str()));
    say("ratios of this run", "", "");
    for part in PARTS.iter().filter(|part| wanted(part)) {
        let mut this = Command::new(std::env::current_exe().expect("this program has a path"));
        let status = this.args([ONLY, part]).args(quick.then_some("--quick")).status().expect("it starts again");
        assert!(status.success(), "{part} could not be measured");
    }
}
