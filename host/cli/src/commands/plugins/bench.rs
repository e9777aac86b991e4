//! `hermes plugins bench`: how fast a plugin is, and how fast it was the last time.

use std::path::PathBuf;

use clap::Args;
use hermes_home::cache;
use hermes_model::exit;
use hermes_plugins::lab::costs::Unit;
use hermes_plugins::lab::speed::{self, Compared, HookSpeed, SpeedOptions, TextSpeed};
use hermes_plugins::project;

use super::build;
use crate::cli::Global;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::report::Report;
use crate::table;

/// Measure a plugin: speed, memory, start, compared with the last time
///
/// On a MiB of ordinary output (clean) and on one made of the plugin's own canaries and cases (dirty), in calls with 4 KiB
/// for the percentiles and in windows of 64 KiB for MB/s. Times are processor time. The figures are kept in hermes' cache
/// folder; `x1.20` beside a figure says that it is 1.2 times the last one.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hermes plugins bench ./my-rule\n  hermes plugins bench --file build.log ./my-rule"
)]
pub(crate) struct BenchArgs {
    /// A plugin's folder, or a .wasm file.
    #[arg(value_name = "PATH", default_value = ".")]
    path: PathBuf,
    /// A text of your own to measure with as well.
    #[arg(long, value_name = "TEXT")]
    file: Option<PathBuf>,
    /// How many times each text is given.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
}

pub(crate) fn run(args: &BenchArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    if project::language_of(&args.path).is_some()
        && let Some(code) = build::build(&args.path, global, printer)?
    {
        return Ok(code);
    }
    let compared = {
        let _progress = Progress::start(printer, "measuring the plugin");
        let options = SpeedOptions { rounds: args.rounds, file: args.file.clone() };
        speed::measure(&args.path, &cache::dir(), &options)?
    };
    if printer.is_json() {
        printer.document(&compared);
    } else {
        lines(&compared).iter().for_each(|line| printer.line(line));
    }
    let ended = compared.now.hooks.iter().flat_map(|hook| &hook.texts).any(|text| text.ended.is_some());
    Ok(if ended { exit::FAILED } else { exit::OK })
}

fn lines(compared: &Compared) -> Vec<String> {
    let (now, previous) = (&compared.now, compared.previous.as_ref());
    let mut out = vec![format!("{} {} ({})", now.name, now.version, Unit::Bytes.show(now.component_bytes as f64))];
    let compile = beside(now.compile_ms, previous.map(|report| report.compile_ms), |ms| Unit::Ms.show(ms));
    out.push(format!("compile     {compile}"));
    for hook in &now.hooks {
        let before = previous.and_then(|report| report.hooks.iter().find(|other| other.hook == hook.hook));
        out.extend(hook_lines(hook, before));
    }
    match previous {
        None => out.push("no earlier run to compare with".to_owned()),
        Some(report) if report.digest == now.digest => {
            out.push("compared with the last run of the same file".to_owned())
        }
        Some(report) => out.push(format!("compared with the last run, of {}", report.version)),
    }
    out
}

fn hook_lines(hook: &HookSpeed, before: Option<&HookSpeed>) -> Vec<String> {
    let ms = |us: f64| Unit::Ms.show(us / 1000.0);
    let start = beside(hook.instantiate_us, before.map(|hook| hook.instantiate_us), ms);
    let memory = beside(hook.memory as f64, before.map(|hook| hook.memory as f64), |bytes| Unit::Bytes.show(bytes));
    let mut out = vec![format!("instantiate {start}"), format!("memory      {memory}"), String::new()];
    let row = |text: &TextSpeed| {
        // A text of one's own is compared with itself: another file has, most likely, another size.
        let last = before.and_then(|hook| hook.texts.iter().find(|t| t.text == text.text && t.bytes == text.bytes));
        let speed = beside(text.mb_per_s, last.map(|text| text.mb_per_s), |speed| format!("{speed:.1}"));
        let mut row = vec![
            format!("{} {}", hook.hook, text.text),
            beside(text.p50_us, last.map(|text| text.p50_us), ms),
            ms(text.p90_us),
            ms(text.p99_us),
            speed,
        ];
        if let Some(ended) = &text.ended {
            row[4] = format!("ended: {ended}");
        }
        row
    };
    let rows: Vec<Vec<String>> = hook.texts.iter().map(row).collect();
    out.extend(table::lines(&["TEXT", "4 KiB: P50", "P90", "P99", "MB/S"], &rows));
    out.push(String::new());
    out
}

/// A figure, and what it is of the last one.
fn beside(now: f64, before: Option<f64>, show: impl Fn(f64) -> String) -> String {
    match before.filter(|before| *before > 0.0) {
        Some(before) => format!("{} (x{:.2})", show(now), now / before),
        None => show(now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_shown_as_a_multiple_of_the_last_one() {
        assert_eq!(beside(6.0, Some(4.0), |value| format!("{value:.0}")), "6 (x1.50)");
        assert_eq!(beside(6.0, None, |value| format!("{value:.0}")), "6");
        assert_eq!(beside(6.0, Some(0.0), |value| format!("{value:.0}")), "6");
    }
}
