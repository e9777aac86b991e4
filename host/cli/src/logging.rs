//! The log: to stderr, so that stdout holds only what was asked for. It never holds a text that was captured.

use std::io;

use hermes_home::variables;
use tracing_subscriber::EnvFilter;

use crate::cli::Global;
use crate::printer::Printer;

/// What is logged where nobody says otherwise. The protocol library calls a client that leaves an error.
const DEFAULT: &str = "warn,rmcp=off";

/// Starts the log. A filter that cannot be read is said, and the default is used.
pub(crate) fn start(global: &Global, printer: &Printer) {
    let asked = variables::log_filter();
    let text = filter(asked.as_deref().unwrap_or(DEFAULT), global.verbose);
    let filter = EnvFilter::try_new(&text).unwrap_or_else(|_| {
        printer.warn(&format!(
            "{} is not a log filter and is ignored: write a level, or targets with levels, as in 'info' or \
             'warn,hermes_plugins=debug'",
            variables::HERMES_LOG.name
        ));
        EnvFilter::new(self::filter(DEFAULT, global.verbose))
    });
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        .without_time()
        .finish();
    // Fails only where a log was started before, which nothing does.
    let _ = tracing::subscriber::set_global_default(log);
}

/// The filter with what `-v` adds: more of hermes, nothing of the engine below it.
fn filter(base: &str, verbose: u8) -> String {
    match verbose {
        0 => base.to_owned(),
        1 => format!("{base},hermes=info"),
        2 => format!("{base},hermes=debug"),
        _ => format!("{base},hermes=trace"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbose_raises_the_level_of_hermes_alone() {
        assert_eq!(filter("warn", 0), "warn");
        assert_eq!(filter("warn", 2), "warn,hermes=debug");
        assert!(EnvFilter::try_new(DEFAULT).is_ok());
        assert!(EnvFilter::try_new(filter("hermes_plugins=debug", 1)).is_ok());
    }
}
