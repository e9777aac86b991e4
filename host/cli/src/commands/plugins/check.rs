//! `hermes plugins check`: whether a plugin can load, without a home.

use std::path::PathBuf;

use clap::Args;
use hermes_home::cache;
use hermes_model::exit;
use hermes_plugins::against::Against;
use hermes_plugins::lab::{self, CheckReport};

use super::rows;
use super::why::mark;
use crate::printer::{Printer, Tone};
use crate::progress::Progress;
use crate::report::Report;
use crate::table;

/// The columns of the matrix. The contract has two packages; `HERMES` is the first that offered both.
const HEADER: [&str; 5] = ["HOST", "HOOK", "HERMES", "LOADS", "PROBLEMS"];

/// Say whether a plugin can load, and every reason why not
///
/// The same checks as `install`, without a home and without changing anything. Also says in which released hosts it
/// loads: each is told from its contract, so none has to be there.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hermes plugins check my-rule-0.1.0.wasm\n  hermes plugins check ./my-rule --json\n  hermes plugins check ./my-rule --against 0.1.0\n\n\
                        Exits with 1 if the plugin cannot load here, or in a release that --against names."
)]
pub(crate) struct CheckArgs {
    /// A .wasm file or a plugin's folder.
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Contracts to compare with, as versions of hermes:host; without it, every released one.
    #[arg(long, value_name = "VERSIONS", value_delimiter = ',')]
    against: Vec<String>,
}

pub(crate) fn run(args: &CheckArgs, printer: &Printer) -> Result<i32, Report> {
    let report = {
        let _progress = Progress::start(printer, "checking the plugin");
        lab::check(&args.path, &cache::dir(), &args.against)?
    };
    if printer.is_json() {
        printer.document(&report);
    } else {
        lines(&report, &args.path.display().to_string(), printer).iter().for_each(|line| printer.line(line));
    }
    // Who names releases wants to know of them; without that, only this hermes counts.
    let there = args.against.is_empty() || report.against.iter().all(|row| row.ok);
    Ok(if report.ok && there { exit::OK } else { exit::FAILED })
}

fn lines(report: &CheckReport, path: &str, printer: &Printer) -> Vec<String> {
    let name = report.name.as_deref().unwrap_or(path);
    let version = report.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let verdict = if report.ok { "can load" } else { "cannot load" };
    let mut out = vec![format!("{} {name}{version} {verdict}", mark(report.ok, printer))];
    let hooks: Vec<&str> = report.hooks.iter().map(|hook| hook.name()).collect();
    let version = |version: &Option<String>| version.clone().unwrap_or_else(|| "none".to_owned());
    if !hooks.is_empty() {
        out.push(format!("  hooks: {}", hooks.join(", ")));
        out.push(format!("  contract: hook {}, host {}", version(&report.api.hook), version(&report.api.host)));
    }
    let width = table::width(printer);
    out.extend(rows::problems(&report.problems, width));
    out.push("Hosts it loads in:".to_owned());
    out.extend(matrix(&report.against, width, printer).into_iter().map(|line| format!("  {line}")));
    out
}

/// A row for each contract, with what is wrong there in a few words: why in full is in the report above, or in `--json`.
fn matrix(against: &[Against], width: usize, printer: &Printer) -> Vec<String> {
    let cells: Vec<Vec<String>> = against
        .iter()
        .map(|row| {
            let hermes = if row.current { format!("{} (this one)", row.hermes) } else { row.hermes.clone() };
            let verdict = if row.ok { "ok" } else { "fail" };
            let problems: Vec<String> = row.problems.iter().map(rows::headline).collect();
            vec![row.host.clone(), row.hook.clone(), hermes, verdict.to_owned(), problems.join("\n")]
        })
        .collect();
    let lines = table::wrapped(&HEADER, &cells, width.saturating_sub(2));
    let paint = |line: String| match line.split_whitespace().any(|word| word == "fail") {
        true => table::paint_word(printer, &line, "fail", Tone::Bad),
        false => table::paint_word(printer, &line, "ok", Tone::Good),
    };
    lines.into_iter().map(paint).collect()
}

#[cfg(test)]
mod tests {
    use hermes_plugins::problem::{Code, Problem};

    use super::*;
    use crate::cli::Global;

    #[test]
    fn the_matrix_fits_eighty_columns() {
        let message = "hermes:host@0.1.0 has no function 'sleep' in 'clock', and none that does what it did either";
        let problem = Problem::new(Code::ImportTooNew, "hermes:host/clock@0.1.1#sleep", message, "update hermes");
        let row = |host: &str, problems: Vec<Problem>| Against {
            host: host.to_owned(),
            hook: "0.1.0".to_owned(),
            hermes: "0.1.0".to_owned(),
            current: problems.is_empty(),
            ok: problems.is_empty(),
            problems,
        };
        let rows = [row("0.1.0", vec![problem.clone(), problem]), row("0.1.1", Vec::new())];
        let lines = matrix(&rows, 80, &Printer::new(&Global::default()));
        assert!(lines.iter().all(|line| line.chars().count() <= 78), "{lines:#?}");
        assert!(lines[1].starts_with("0.1.0  0.1.0  0.1.0             fail   import-too-new:"), "{lines:#?}");
        assert_eq!(lines.last().unwrap(), "0.1.1  0.1.0  0.1.0 (this one)  ok");
    }
}
