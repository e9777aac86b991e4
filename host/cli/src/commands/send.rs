//! `hermes send`: something to read for a background process.

use clap::{ArgGroup, Args};
use hermes_model::exit;
use serde_json::json;

use crate::cli::Global;
use crate::host::ask::{self, OwnerArgs};
use crate::place::Place;
use crate::printer::Printer;
use crate::report::Report;

/// Send text to a background process
///
/// It must have a terminal (`run -b --pty`) or read what it is sent (`run -b --stdin`).
#[derive(Args)]
#[command(
    group = ArgGroup::new("what").args(["text", "enter", "eof", "size"]).multiple(true).required(true),
    override_usage = "hermes send [OPTIONS] ID TEXT [--enter]\n       hermes send [OPTIONS] ID --eof\n       hermes send [OPTIONS] ID --size ROWSxCOLS",
    after_help = "Examples:\n  hermes send 1a2b yes --enter\n  hermes send 1a2b --eof\n  hermes send 1a2b --size 40x160"
)]
pub(crate) struct SendArgs {
    /// The id of the process, or the beginning of it.
    #[arg(value_name = "ID")]
    id: String,
    /// The text, as it is.
    #[arg(value_name = "TEXT", conflicts_with = "eof")]
    text: Option<String>,
    /// A line end after it.
    #[arg(long, conflicts_with = "eof")]
    enter: bool,
    /// The end of what it reads.
    #[arg(long)]
    eof: bool,
    /// A new size for its terminal, in rows and columns.
    #[arg(long, value_name = "ROWSxCOLS", value_parser = size, conflicts_with_all = ["text", "enter", "eof"])]
    size: Option<(u16, u16)>,
    #[command(flatten)]
    owner: OwnerArgs,
}

/// Reads a size such as `40x160`.
pub(crate) fn size(text: &str) -> Result<(u16, u16), &'static str> {
    let parsed = text.split_once('x').and_then(|(rows, cols)| Some((rows.parse().ok()?, cols.parse().ok()?)));
    parsed.filter(|(rows, cols)| *rows > 0 && *cols > 0).ok_or("write rows, 'x' and columns, as in '40x160'")
}

pub(crate) fn run(args: &SendArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    ask::block_on(async {
        let client = ask::host_of(&place, global, printer, &args.id).await?;
        let owner = &args.owner.owner;
        let asked = match args.size {
            Some((rows, cols)) => {
                json!({"action": "resize", "id": args.id, "rows": rows, "cols": cols, "owner": owner})
            }
            None => {
                json!({"action": "send", "id": args.id, "data": args.text, "enter": args.enter, "eof": args.eof, "owner": owner})
            }
        };
        let told = ask::process(&client, asked).await?;
        let result = told.text("result").unwrap_or_default().to_owned();
        if printer.is_json() {
            ask::document(printer, &told);
        } else if result != "ok" {
            let words = match result.as_str() {
                "no-stdin" => "it reads nothing: start it with --pty or --stdin to send to it",
                "no-terminal" => "it has no terminal: start it with --pty",
                "already-ended" => "it has ended",
                "stalled" => "it does not read: only a part was taken",
                other => other,
            };
            printer.own(words);
        }
        Ok(if result == "ok" { exit::OK } else { exit::FAILED })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_two_numbers_above_zero() {
        assert_eq!(size("40x160"), Ok((40, 160)));
        for bad in ["", "40", "x", "0x10", "40x-1", "99999x1"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
