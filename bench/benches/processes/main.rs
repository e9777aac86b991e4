//! The process engine: starting, many at once, the news of an end, and taking in output; each beside the plain way.
//!
//! `cargo bench -p hermes-bench --bench processes -- [--quick] [PART]...`

mod crowd;
mod end;
mod house;
mod ingestion;
mod start;

use hermes_bench::parts::{self, Size};
use hermes_process::spec::{CommandSpec, Program};

const PARTS: [&str; 5] = ["start", "crowd", "talkers", "end", "ingestion"];

fn exec(words: &[&str]) -> CommandSpec {
    CommandSpec::new(Program::Exec { program: words[0].into(), args: words[1..].iter().map(Into::into).collect() })
}

fn sh(text: &str) -> CommandSpec {
    CommandSpec::new(Program::Shell { shell: "/bin/sh".into(), text: text.into() })
}

async fn measure(part: String, size: Size) {
    match part.as_str() {
        "start" => start::measure(size).await,
        "crowd" => crowd::measure(size).await,
        "talkers" => crowd::measure_talkers(size).await,
        "end" => end::measure(size).await,
        _ => ingestion::measure(size).await,
    }
}

fn main() {
    parts::run(&PARTS, measure);
}
