//! Reads an output on stdin and prints its summary: `summarize [EXIT] [TOKENS] < log`. The exit code may also come from
//! the variable `HERMES_SCORE_EXIT`.
#![expect(clippy::print_stdout, reason = "an example's result goes to stdout")]

use std::io::Read as _;

use hermes_plugin_sdk::{Context, Outcome, Plugin as _, Transform as _};
use summarize_output::{Settings, SummarizeOutput};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let exit = arguments.next().or_else(|| std::env::var("HERMES_SCORE_EXIT").ok());
    let exit_code = exit.map(|code| code.parse()).transpose()?;
    let mut settings = Settings::default();
    if let Some(tokens) = arguments.next() {
        settings.budget_tokens = tokens.parse()?;
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    let text = normalise(&String::from_utf8_lossy(&bytes));
    let mut plugin = SummarizeOutput::new(settings).map_err(|failure| failure.message)?;
    let started = std::time::Instant::now();
    let outcome =
        plugin.apply(&Context { exit_code, ..Context::default() }, &text).map_err(|failure| failure.message)?;
    if std::env::var_os("SUMMARIZE_TIME").is_some() {
        let seconds = started.elapsed().as_secs_f64();
        println!("{} bytes, {:.0} MB/s", text.len(), text.len() as f64 / seconds / 1e6);
        return Ok(());
    }
    match outcome {
        Outcome::Replaced(summary) => print!("{summary}"),
        _ => print!("{text}"),
    }
    Ok(())
}

/// What the host does before a transform sees a text, as far as logs need it: no colours, and the last of several
/// frames drawn over each other.
fn normalise(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let line = line.strip_suffix('\r').unwrap_or(line);
        let mut rest = line.rsplit('\r').find(|frame| !frame.is_empty()).unwrap_or("");
        while let Some(at) = rest.find("\u{1b}[") {
            out.push_str(&rest[..at]);
            let after = &rest[at + 2..];
            let end = after.find(|c: char| ('@'..='~').contains(&c)).map_or(after.len(), |end| end + 1);
            rest = &after[end..];
        }
        out.push_str(rest);
        out.push_str(end);
    }
    out
}
