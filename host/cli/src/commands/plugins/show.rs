//! `hermes plugins show`: a plugin's row and what its manifest says.

use clap::Args;
use hermes_model::exit;
use hermes_model::id::PluginName;
use hermes_plugins::limits::Limits;
use hermes_plugins::manifest::Manifest;
use hermes_plugins::permission::{Grant, Permission};
use hermes_plugins::registry::{self, Row, Why, store_of};
use serde::Serialize;
use serde_json::{Map, Value};

use super::rows;
use super::truth::{Shown, Truth, WhomArgs};
use crate::cli::Global;
use crate::place::Place;
use crate::printer::{Printer, Tone};
use crate::progress::Progress;
use crate::report::Report;
use crate::table;

/// Show what a plugin is: its manifest, settings, limits and permissions
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hermes plugins show summarize-output\n  hermes plugins show summarize-output --json"
)]
pub(crate) struct ShowArgs {
    /// The plugin.
    name: PluginName,
    #[command(flatten)]
    whom: WhomArgs,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    shown: &'a Shown,
    authors: Option<&'a [String]>,
    license: Option<&'a str>,
    requires_hermes: Option<String>,
    settings: Vec<Setting>,
    settings_schema: Option<&'a Value>,
    limits: Vec<LimitsOfHook>,
    canaries: Option<Vec<&'a str>>,
    asked: &'static str,
    generation: u64,
}

/// A setting and who decides it. Values that were set are not repeated: one may be a secret.
#[derive(Serialize)]
struct Setting {
    name: String,
    kind: Option<String>,
    default: Option<Value>,
    origin: &'static str,
    description: Option<String>,
}

/// The limits of a hook as they are in force.
#[derive(Serialize)]
struct LimitsOfHook {
    hook: &'static str,
    call_ms: u128,
    call_per_mib_ms: u128,
    memory_bytes: u64,
    output_bytes: u64,
    /// Those that config.toml sets; the others have their defaults.
    from_config: Vec<&'static str>,
}

pub(crate) fn run(args: &ShowArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    let truth = Truth::find(&place, args.whom, printer)?;
    truth.hosts.iter().filter_map(|host| host.message.as_deref()).for_each(|text| printer.warn(text));
    let shown = truth.plugin(args.name.as_str()).ok_or_else(|| truth.not_installed(&args.name))?;
    let why = {
        let _progress = Progress::start(printer, "loading the plugin");
        registry::examine(&place.home, &place.config, &place.cache_dir, &args.name)?
    };
    let document = document(&args.name, shown, &truth, &place, why.as_ref())?;
    if printer.is_json() {
        printer.document(&document);
    } else {
        lines(&document, printer).iter().for_each(|line| printer.line(line));
    }
    Ok(exit::OK)
}

fn document<'a>(
    name: &PluginName,
    shown: &'a Shown,
    truth: &Truth,
    place: &Place,
    why: Option<&'a Why>,
) -> Result<Document<'a>, Report> {
    let manifest = why.and_then(|why| why.manifest.as_ref());
    let config = place.config.plugins.get(name).cloned().unwrap_or_default();
    let stored = store_of(&place.home).current()?.find(name).map(|entry| entry.settings.clone()).unwrap_or_default();
    let in_config = |setting: &str| config.settings.contains_key(setting);
    let given = [
        ("call", config.limits.call.is_some()),
        ("call_per_mib", config.limits.call_per_mib.is_some()),
        ("memory_bytes", config.limits.memory_bytes.is_some()),
        ("output_bytes", config.limits.output_bytes.is_some()),
    ];
    let set: Vec<&'static str> = given.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect();
    let limits = |hook: &hermes_model::hook::Hook| {
        let limits = Limits::of(*hook).with(&config.limits);
        LimitsOfHook {
            hook: hook.name(),
            call_ms: limits.call.as_millis(),
            call_per_mib_ms: limits.call_per_mib.as_millis(),
            memory_bytes: limits.memory_bytes,
            output_bytes: limits.output_bytes,
            from_config: set.clone(),
        }
    };
    Ok(Document {
        asked: truth.asked,
        generation: truth.generation,
        shown,
        authors: manifest.map(|manifest| manifest.authors.as_slice()),
        license: manifest.map(|manifest| manifest.license.as_str()),
        requires_hermes: manifest.map(|manifest| manifest.requires_hermes.to_string()),
        settings: manifest.map(|manifest| settings(manifest, &stored, in_config)).unwrap_or_default(),
        settings_schema: manifest.and_then(|manifest| manifest.settings.as_ref()),
        limits: shown.row.hooks.iter().map(limits).collect(),
        canaries: manifest.map(|manifest| manifest.canaries.iter().map(|canary| canary.name.as_str()).collect()),
    })
}

/// The settings a schema names, each with who decides it.
fn settings(manifest: &Manifest, stored: &Map<String, Value>, in_config: impl Fn(&str) -> bool) -> Vec<Setting> {
    let properties = manifest.settings.as_ref().and_then(|schema| schema.get("properties")?.as_object());
    let text = |schema: &Value, key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
    let setting = |(name, schema): (&String, &Value)| Setting {
        name: name.clone(),
        kind: text(schema, "type"),
        default: schema.get("default").cloned(),
        origin: match (in_config(name), stored.contains_key(name)) {
            (true, _) => "config.toml",
            (false, true) => "generation",
            (false, false) => "default",
        },
        description: text(schema, "description"),
    };
    properties.into_iter().flatten().map(setting).collect()
}

fn lines(document: &Document<'_>, printer: &Printer) -> Vec<String> {
    let width = table::width(printer);
    let row = &document.shown.row;
    let version = row.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let mut out = vec![format!("{}{version}: {}", printer.paint(Tone::Strong, &row.name), rows::state(row, printer))];
    let mut field = |name: &str, text: &str| {
        if !text.is_empty() {
            out.extend(table::paragraph(&format!("  {name:<13}"), &" ".repeat(15), text, width));
        }
    };
    field("description", row.description.as_deref().unwrap_or_default());
    field("authors", &document.authors.unwrap_or_default().join(", "));
    field("license", document.license.unwrap_or_default());
    field("for hermes", document.requires_hermes.as_deref().unwrap_or_default());
    field("hooks", &rows::hooks(row));
    field("hook api", row.api.hook.as_deref().unwrap_or_default());
    field("host api", row.api.host.as_deref().unwrap_or_default());
    field("order", &row.order.to_string());
    field("source", &row.source);
    field("digest", row.digest.as_deref().unwrap_or_default());
    field("in force", &in_force(row));
    field("calls", &calls(row));
    field("hosts", &hosts(document.shown));
    field("permissions", &permissions(row));
    field("canaries", &document.canaries.as_deref().unwrap_or_default().join("; "));
    for limits in &document.limits {
        field("limits", &limits_text(limits));
    }
    if !document.settings.is_empty() {
        out.push("Settings:".to_owned());
        out.extend(document.settings.iter().flat_map(|setting| setting_lines(setting, width)));
    }
    if !row.problems.is_empty() {
        out.push("Problems:".to_owned());
        out.extend(rows::problems(&row.problems, width));
    }
    out
}

/// The version that serves in place of the one that is wanted.
fn in_force(row: &Row) -> String {
    let serving = row.serving.as_ref();
    serving
        .map(|serving| format!("version {} ({}), the last good one", serving.version, serving.digest))
        .unwrap_or_default()
}

/// What the hosts counted since they loaded it.
fn calls(row: &Row) -> String {
    let Some(calls) = row.calls else { return String::new() };
    let mut text = format!("{calls}, of which {} failed", row.failures.unwrap_or_default());
    if let (Some(p50), Some(p99)) = (row.p50_us, row.p99_us) {
        text.push_str(&format!("; half took up to {}, 99 of 100 up to {}", rows::time(p50), rows::time(p99)));
    }
    text
}

/// How it stands in each host.
fn hosts(shown: &Shown) -> String {
    let words: Vec<String> =
        shown.hosts.iter().map(|there| format!("{} in {}", there.state.word(), there.pid)).collect();
    words.join(", ")
}

fn permissions(row: &Row) -> String {
    if row.permissions.asked.is_empty() {
        return "none asked".to_owned();
    }
    let words: Vec<String> =
        row.permissions.asked.iter().map(|asked| format!("{asked} ({})", granted(asked, row))).collect();
    words.join(", ")
}

/// What was granted for something that is asked for. A grant may say more than the plugin can ask for.
fn granted(asked: &str, row: &Row) -> String {
    let Ok(permission) = asked.parse::<Permission>() else { return "not granted".to_owned() };
    let meets = |grant: &&String| grant.parse::<Grant>().is_ok_and(|grant| permission.is_met_by(&grant));
    let grants: Vec<&str> = row.permissions.granted.iter().filter(meets).map(String::as_str).collect();
    match grants.as_slice() {
        [] => "not granted".to_owned(),
        [same] if *same == asked => "granted".to_owned(),
        grants => format!("granted: {}", grants.join(" ")),
    }
}

fn limits_text(limits: &LimitsOfHook) -> String {
    const MIB: u64 = 1024 * 1024;
    format!(
        "{}: {} ms a call and {} ms more a MiB, {} MiB of memory, {} KiB returned ({})",
        limits.hook,
        limits.call_ms,
        limits.call_per_mib_ms,
        limits.memory_bytes / MIB,
        limits.output_bytes / 1024,
        match limits.from_config.as_slice() {
            [] => "all default".to_owned(),
            set => format!("{} set in config.toml", set.join(", ")),
        }
    )
}

fn setting_lines(setting: &Setting, width: usize) -> Vec<String> {
    let kind = setting.kind.as_deref().unwrap_or("any");
    let value = match (setting.origin, &setting.default) {
        ("default", Some(default)) => format!("default {default}"),
        ("default", None) => "not set".to_owned(),
        (origin, _) => format!("set in the {origin}").replace("the config.toml", "config.toml"),
    };
    let mut out = vec![format!("  {} ({kind}): {value}", setting.name)];
    if let Some(description) = &setting.description {
        out.extend(table::paragraph("    ", "    ", description, width));
    }
    out
}
