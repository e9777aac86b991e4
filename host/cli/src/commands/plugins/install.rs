//! `hermes plugins install`: puts a plugin in force that has shown it can load.

use std::path::PathBuf;

use clap::Args;
use hermes_model::exit;
use hermes_model::id::PluginName;
use hermes_plugins::change::Install;
use hermes_plugins::digest::Digest;
use hermes_plugins::fetch;
use hermes_plugins::source::Source;

use super::change::{self, Done};
use crate::cli::Global;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::report::Report;

/// Install a plugin, or a new version of it, and enable it
///
/// It is loaded and shown its canaries first. One that cannot load is refused, with every reason.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hermes plugins install ./my-rule\n  hermes plugins install my-rule-0.1.0.wasm\n  \
                        hermes plugins install redact-secrets            the bundled one\n  \
                        hermes plugins install 'https://example.com/my-rule.wasm#sha256=HEX'\n  \
                        hermes plugins install --pin https://example.com/my-rule.wasm   show its digest\n  \
                        hermes plugins install --allow-broken next.wasm  listed with its problems"
)]
pub(crate) struct InstallArgs {
    /// A .wasm file, a plugin's folder, an https URL with its digest, or the name of a bundled plugin.
    #[arg(value_name = "SOURCE")]
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
    /// Fetch the URL, show the digest of what is there, and install nothing.
    #[arg(long, conflicts_with_all = ["allow_broken", "name", "digest"])]
    pin: bool,
    /// Let the URL lead to a private address, as that of a server of your own network.
    #[arg(long)]
    allow_private: bool,
}

pub(crate) fn run(args: &InstallArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    if args.pin {
        return pin(args, printer);
    }
    change::make(global, printer, |editor| {
        let changed = editor.install(&Install {
            source: args.source.clone(),
            name: args.name.clone(),
            allow_broken: args.allow_broken,
            digest: args.digest,
            allow_private: args.allow_private,
        })?;
        let version = changed.examined.as_ref().and_then(|examined| examined.manifest.as_ref());
        let version = version.map(|manifest| format!(" {}", manifest.version)).unwrap_or_default();
        let name = changed.name.as_ref().map_or("the plugin", |name| name.as_str());
        Ok(Done::examined(format!("installed {name}{version}"), changed))
    })
}

/// Shows the digest of what a URL holds now. Whether that is what its author published is for a person to say.
fn pin(args: &InstallArgs, printer: &Printer) -> Result<i32, Report> {
    let Source::Https(url) = Source::parse(&args.source)? else {
        return Err(Report::new("--pin is for a plugin behind an https URL")
            .hint("a file or a folder is installed as it is; `--digest` refuses any other"));
    };
    let pin = {
        let _progress = Progress::start(printer, "fetching the plugin");
        fetch::pin(&url, args.allow_private)?
    };
    if printer.is_json() {
        printer.document(&pin);
    } else {
        printer.line(&format!("{}  {} bytes  {}", pin.digest, pin.bytes, pin.url));
        printer.confirm("Nothing is installed. Compare the digest with the one its author published, then:");
        printer.confirm(&format!("  hermes plugins install '{}#sha256={}'", pin.url, pin.digest.hex()));
    }
    Ok(exit::OK)
}
