//! `hermes plugins new`: a project to start from.

use std::path::PathBuf;

use clap::Args;
use hermes_model::exit;
use hermes_model::hook::Hook;
use hermes_model::id::PluginName;
use hermes_model::language::Language;
use hermes_plugins::project;
use serde::Serialize;

use crate::printer::Printer;
use crate::report::Report;

/// Write a plugin's project that builds and passes its tests at once
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes plugins new mask-tickets --hook redact\n  \
                        hermes plugins new mask-tickets --hook redact --lang python\n  \
                        hermes plugins new shorter-logs --hook transform --dir plugins/shorter-logs")]
pub(crate) struct NewArgs {
    /// The plugin's name.
    name: PluginName,
    /// What it decides about.
    #[arg(long, value_name = "HOOK", value_parser = hook)]
    hook: Hook,
    /// The language it is written in.
    #[arg(long, value_name = "LANG", default_value_t)]
    lang: Language,
    /// The project's folder, where it is not to be called like the plugin.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

#[derive(Serialize)]
struct Document<'a> {
    name: &'a str,
    hook: Hook,
    language: &'static str,
    folder: String,
    files: Vec<String>,
}

fn hook(text: &str) -> Result<Hook, String> {
    let known = Hook::ALL.map(Hook::name);
    let found = Hook::ALL.into_iter().find(|hook| hook.name() == text);
    found.ok_or_else(|| format!("not a hook{}", hermes_model::suggest::hint(text, &known)))
}

pub(crate) fn run(args: &NewArgs, printer: &Printer) -> Result<i32, Report> {
    let folder = args.dir.clone().unwrap_or_else(|| PathBuf::from(args.name.as_str()));
    let files = project::write(&folder, &args.name, args.hook, args.lang)?;
    let folder = folder.display().to_string();
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    if printer.is_json() {
        printer.document(&Document {
            name: args.name.as_str(),
            hook: args.hook,
            language: args.lang.word(),
            folder,
            files,
        });
        return Ok(exit::OK);
    }
    printer.confirm(&format!("wrote {}, a {} plugin in {}, in {folder}:", args.name, args.hook, args.lang.name()));
    files.iter().filter(|file| !file.starts_with("vendor")).for_each(|file| printer.confirm(&format!("  {file}")));
    if files.iter().any(|file| file.starts_with("vendor")) {
        printer.confirm("  vendor/ (the SDK)");
    }
    printer.confirm("Next:");
    printer.confirm(&format!("  hermes plugins test {folder}       builds it and shows it its canaries"));
    printer.confirm(&format!("  hermes plugins install {folder}    puts it in force"));
    Ok(exit::OK)
}
