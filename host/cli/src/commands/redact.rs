//! `hermes redact`: a text through the redactors, from a file or stdin to stdout, in constant memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use hermes_model::exit;
use hermes_plugins::registry::Depth;

use crate::cli::Global;
use crate::foreground::follow;
use crate::place::Place;
use crate::printer::Printer;
use crate::report::Report;
use crate::view::Desk;

/// How much is read at once: the largest window a redactor is handed (64 KiB).
const READ: usize = 64 * 1024;

/// Mask the secrets of a text: stdin, or a file, to stdout
///
/// The text is shown as soon as it is decided, so this works in a pipe that never ends. Transforms are not applied.
/// Values of secret-looking variables of the environment are masked wherever they stand.
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes redact build.log\n  hermes redact < build.log > shareable.log\n  \
                        kubectl logs -f web | hermes redact\n\n\
                        Exits with 1 if a part was withheld because a redactor had no answer.")]
pub(crate) struct RedactArgs {
    /// The file; stdin where none is given, or '-'.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Why nothing can be read.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("'{path}' cannot be opened", path = path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("'{path}' is a folder, and only a file can be read; name a file in it", path = .0.display())]
    Folder(PathBuf),
    #[error("the text could not be read to its end")]
    Broken(#[source] io::Error),
}

pub(crate) fn run(args: &RedactArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    if global.json {
        return Err(crate::usage::wrong(
            "redact",
            "a redacted text is no JSON document; leave --json out",
            "hermes redact build.log",
        ));
    }
    let source = open(args.file.as_deref()).map_err(|error| Report::of(&error))?;
    let place = Place::find(global)?;
    let plugins = place.open(Depth::Enabled, printer)?;
    let desk = Desk::of_hermes(plugins.policy());
    let followed = follow::show(&desk, chunks(source), &mut |text| printer.show(text));
    match followed.failure() {
        // Told by the printer.
        Some(_) if printer.has_failed() => return Ok(exit::FAILED),
        Some(error) => {
            let error = error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
            return Err(Report::of(&ReadError::Broken(error)));
        }
        None => {}
    }
    if followed.is_cut_short() {
        return Ok(crate::foreground::READER_LEFT);
    }
    match &followed.withheld {
        Some(withheld) => {
            printer.warn(&format!("a part was withheld: {}", withheld.message));
            Ok(exit::FAILED)
        }
        None => Ok(exit::OK),
    }
}

fn open(file: Option<&Path>) -> Result<Box<dyn Read>, ReadError> {
    let Some(path) = file.filter(|path| *path != Path::new("-")) else { return Ok(Box::new(io::stdin().lock())) };
    let failed = |source| ReadError::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(ReadError::Folder(path.to_owned()));
    }
    Ok(Box::new(file))
}

/// The parts of a source as they arrive.
fn chunks(mut source: Box<dyn Read>) -> impl Iterator<Item = io::Result<Vec<u8>>> {
    let mut buffer = vec![0; READ];
    std::iter::from_fn(move || {
        loop {
            match source.read(&mut buffer) {
                Ok(0) => return None,
                Ok(length) => return Some(Ok(buffer[..length].to_vec())),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Some(Err(error)),
            }
        }
    })
}
