//! `hermes plugins pack`: a plugin as one file to hand to others.

use std::path::PathBuf;

use clap::Args;
use hermes_home::files;
use hermes_model::exit;
use hermes_plugins::author;
use hermes_plugins::digest::Digest;
use hermes_plugins::limits::FILE_MAX;
use serde::Serialize;

use crate::printer::Printer;
use crate::report::Report;

/// Pack a plugin's folder into one .wasm file with its manifest inside
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes plugins pack ./my-rule\n  hermes plugins pack ./my-rule -o my-rule.wasm")]
pub(crate) struct PackArgs {
    /// The plugin's folder: a plugin.toml and a built component.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// The file to write, in place of dist/NAME-VERSION.wasm in the folder.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Serialize)]
struct Document {
    file: String,
    digest: String,
    bytes: usize,
}

pub(crate) fn run(args: &PackArgs, printer: &Printer) -> Result<i32, Report> {
    let file = author::pack(&args.folder, args.output.as_deref())?;
    let bytes = files::read_bounded(&file, FILE_MAX).map_err(|error| Report::of(&error))?;
    let (file, digest) = (file.display().to_string(), Digest::of(&bytes).to_string());
    if printer.is_json() {
        printer.document(&Document { file, digest, bytes: bytes.len() });
    } else {
        printer.confirm(&format!("packed {file} ({} KiB)", bytes.len().div_ceil(1024)));
        printer.confirm(&format!("  {digest}"));
        printer.confirm(&format!("Others install it with `hermes plugins install --digest {digest} FILE`"));
    }
    Ok(exit::OK)
}
