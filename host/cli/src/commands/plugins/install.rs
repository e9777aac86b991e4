//! `hermes plugins install`: puts a plugin in force that has shown it can load.

use std::path::PathBuf;

use clap::Args;
use hermes_model::id::PluginName;
use hermes_plugins::change::Install;
use hermes_plugins::digest::Digest;

use super::change::{self, Done};
use crate::cli::Global;
use crate::printer::Printer;
use crate::report::Report;

/// Install a plugin, or a new version of it, and enable it
///
/// It is loaded and shown its canaries first. One that cannot load is refused, with every reason.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hermes plugins install ./my-rule\n  hermes plugins install my-rule-0.1.0.wasm\n  \
                        hermes plugins install redact-secrets            the bundled one\n  \
                        hermes plugins install --allow-broken next.wasm  listed with its problems"
)]
pub(crate) struct InstallArgs {
    /// A .wasm file, a plugin's folder, or the name of a bundled plugin.
    #[arg(value_name = "PATH")]
    source: PathBuf,
    /// Publish it although it cannot load: it is listed with its problems.
    #[arg(long)]
    allow_broken: bool,
    /// Its name, where neither the plugin nor its file says one.
    #[arg(long, value_name = "NAME")]
    name: Option<PluginName>,
    /// Refuse any other file than the one with this digest.
    #[arg(long, value_name = "sha256:HEX")]
    digest: Option<Digest>,
}

pub(crate) fn run(args: &InstallArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    change::make(global, printer, |editor| {
        let changed = editor.install(&Install {
            source: args.source.clone(),
            name: args.name.clone(),
            allow_broken: args.allow_broken,
            digest: args.digest,
        })?;
        let version = changed.examined.as_ref().and_then(|examined| examined.manifest.as_ref());
        let version = version.map(|manifest| format!(" {}", manifest.version)).unwrap_or_default();
        let name = changed.name.as_ref().map_or("the plugin", |name| name.as_str());
        Ok(Done::examined(format!("installed {name}{version}"), changed))
    })
}
