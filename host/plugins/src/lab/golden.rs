//! Golden cases: `cases/*.jsonl` in a plugin's folder, one JSON object a line, each a text and what the plugin makes of
//! it. A key nobody knows is refused with its line and a suggestion.

use std::collections::BTreeMap;
use std::path::Path;

use hermes_home::files;
use hermes_model::config::PluginConfig;
use hermes_model::context::{Context, Surface};
use hermes_model::event::EventKind;
use hermes_model::hook::Hook;
use hermes_model::suggest;
use hermes_output::policy::Span;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::answer::{self, Miss, Want};
use super::subject::{Ask, Subject};
use super::{About, Case, LabError};
use crate::manifest::{Manifest, VerdictKind};
use crate::notify::neutral;
use crate::settings;

mod write;

/// The folder of the cases in a plugin's folder.
const FOLDER: &str = "cases";
/// The largest file of cases, in bytes.
const FILE_MAX: u64 = 64 * 1024 * 1024;
/// The keys of a case, for suggestions.
const KEYS: [&str; 15] = [
    "name",
    "text",
    "hook",
    "command",
    "exit_code",
    "surface",
    "settings",
    "event",
    "spans",
    "masked",
    "becomes",
    "contains",
    "lacks",
    "unchanged",
    "verdict",
];
/// The keys of an event, for suggestions.
const EVENT_KEYS: [&str; 9] = ["kind", "source", "owner", "status", "at_ms", "pattern", "labels", "seq", "id"];
/// The keys of a span, for suggestions.
const SPAN_KEYS: [&str; 3] = ["start", "end", "rule"];
/// The surfaces a text may be for.
const SURFACES: [Surface; 9] = [
    Surface::Foreground,
    Surface::Background,
    Surface::Preview,
    Surface::Completion,
    Surface::Heartbeat,
    Surface::Match,
    Surface::McpResult,
    Surface::McpError,
    Surface::Stream,
];

/// The cases of a folder.
#[derive(Default)]
pub(super) struct Golden {
    cases: Vec<GoldenCase>,
    /// Lines and files that cannot be read, as failed cases.
    pub(super) unreadable: Vec<Case>,
}

struct GoldenCase {
    /// The file's name with its folder, for reports.
    file: String,
    line: usize,
    ask: Ask,
    /// None for a case that does not say what it expects yet.
    want: Option<Want>,
}

impl Golden {
    /// The questions of all cases.
    pub(super) fn asks(&self) -> impl Iterator<Item = Ask> + '_ {
        self.cases.iter().map(|case| case.ask.clone())
    }
}

/// A line as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    name: String,
    #[serde(default)]
    text: String,
    hook: Option<Hook>,
    #[serde(default)]
    command: String,
    exit_code: Option<i32>,
    surface: Option<String>,
    settings: Option<Map<String, Value>>,
    event: Option<EventLine>,
    spans: Option<Vec<SpanLine>>,
    masked: Option<String>,
    becomes: Option<String>,
    contains: Option<Vec<String>>,
    lacks: Option<Vec<String>>,
    unchanged: Option<bool>,
    verdict: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpanLine {
    start: usize,
    end: usize,
    rule: String,
}

/// What a notifier is told beside the text, the command and the exit code.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventLine {
    kind: Option<EventKind>,
    source: Option<String>,
    owner: Option<String>,
    status: Option<String>,
    at_ms: Option<u64>,
    pattern: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    seq: Option<u64>,
    id: Option<String>,
}

/// Reads the cases of a plugin's folder.
pub(super) fn read(folder: &Path, manifest: &Manifest) -> Golden {
    let mut golden = Golden::default();
    for (shown, path) in files_of(folder) {
        let unreadable = |line: Option<usize>, message: String| Case {
            file: Some(shown.clone()),
            line,
            ..Case::bad(About::Golden, format!("{shown} can be read"), message)
        };
        let text = match files::read_bounded(&path, FILE_MAX) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let text = match text {
            Ok(text) => text,
            Err(error) => {
                golden.unreadable.push(unreadable(None, error));
                continue;
            }
        };
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let number = index + 1;
            match case_of(line, manifest) {
                Ok((ask, want)) => golden.cases.push(GoldenCase { file: shown.clone(), line: number, ask, want }),
                Err(error) => {
                    golden.unreadable.push(unreadable(Some(number), format!("{shown} line {number}: {error}")));
                }
            }
        }
    }
    golden
}

/// The files of cases, each with its name for reports, in order.
fn files_of(folder: &Path) -> Vec<(String, std::path::PathBuf)> {
    let mut found: Vec<_> = folder
        .join(FOLDER)
        .read_dir()
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .filter_map(|path| Some((format!("{FOLDER}/{}", path.file_name()?.to_str()?), path)))
        .collect();
    found.sort();
    found
}

/// Asks each case and compares. With `update`, the files get what is answered now; how many cases did.
///
/// # Errors
/// A file cannot be written.
pub(super) fn show(
    subject: &Subject,
    folder: &Path,
    golden: &Golden,
    update: bool,
    out: &mut Vec<Case>,
) -> Result<usize, LabError> {
    let mut changes: BTreeMap<&str, Vec<write::Change>> = BTreeMap::new();
    for case in &golden.cases {
        let (answer, _) = subject.alone(&case.ask);
        let judged = match &case.want {
            Some(want) => answer::judge(subject, &case.ask, want, &answer),
            None => Err(Miss {
                message: format!(
                    "it does not say what it expects: give it one of {}, or run with --update",
                    KEYS[8..].join(", ")
                ),
                difference: Vec::new(),
                now: answer::expectation(subject, &case.ask, &answer),
            }),
        };
        let good = Case {
            file: Some(case.file.clone()),
            line: Some(case.line),
            ..Case::good(About::Golden, format!("case: {}", case.ask.name))
        };
        let Err(miss) = judged else {
            out.push(good);
            continue;
        };
        match miss.now {
            Some((key, value)) if update => {
                changes.entry(&case.file).or_default().push(write::Change { line: case.line, key, value });
                let message = Some(format!("{}; the case expects this now", miss.message));
                out.push(Case { message, difference: miss.difference, ..good });
            }
            now => {
                let next = match (update, now) {
                    (false, Some(_)) => "; if it is right, `--update` writes it into the case",
                    (true, None) => "; this is not for --update to say: correct the case or the plugin",
                    _ => "",
                };
                let message = Some(format!("{}{next}", miss.message));
                out.push(Case { ok: false, message, difference: miss.difference, ..good });
            }
        }
    }
    let updated = changes.values().map(Vec::len).sum();
    for (file, changes) in changes {
        write::update(&folder.join(file), &changes)?;
    }
    Ok(updated)
}

/// Reads one line.
fn case_of(line: &str, manifest: &Manifest) -> Result<(Ask, Option<Want>), String> {
    let line: Line = serde_json::from_str(line).map_err(|error| with_suggestion(&error.to_string()))?;
    let want = want_of(&line)?;
    let hook = hook_of(&line, want.as_ref(), manifest)?;
    let mut context = Context::new(Surface::Foreground);
    if let Some(word) = &line.surface {
        let known = SURFACES.map(Surface::name);
        let found = SURFACES.into_iter().find(|surface| surface.name() == word);
        context.surface = found.ok_or_else(|| format!("'{word}' is no surface{}", suggest::hint(word, &known)))?;
    }
    context.command.clone_from(&line.command);
    context.exit_code = line.exit_code;
    let settings = match &line.settings {
        None => None,
        Some(given) => {
            let checked = settings::effective(manifest, given, &PluginConfig::default());
            Some(checked.map_err(|problem| problem.message)?)
        }
    };
    let event = match (hook, &line.event) {
        (Hook::Notify, event) => Some(event_of(&line, event.as_ref())),
        (_, None) => None,
        (hook, Some(_)) => return Err(format!("'event' is for a notify hook, and this case is for {hook}")),
    };
    Ok((Ask { name: line.name, hook, text: line.text, context, event, settings }, want))
}

/// The one thing a line expects.
fn want_of(line: &Line) -> Result<Option<Want>, String> {
    let words = (line.contains.is_some() || line.lacks.is_some()).then(|| Want::Words {
        contains: line.contains.clone().unwrap_or_default(),
        lacks: line.lacks.clone().unwrap_or_default(),
    });
    let spans = line.spans.as_ref().map(|spans| {
        let span = |span: &SpanLine| Span { start: span.start, end: span.end, rule: span.rule.clone() };
        Want::Spans(spans.iter().map(span).collect())
    });
    let unchanged = match line.unchanged {
        Some(false) => return Err("'unchanged' can only be true: say what the text becomes instead".to_owned()),
        unchanged => unchanged.map(|_| Want::Unchanged),
    };
    let wants = [
        spans,
        line.masked.clone().map(Want::Masked),
        line.becomes.clone().map(Want::Becomes),
        words,
        unchanged,
        line.verdict.as_ref().map(verdict_of).transpose()?,
    ];
    let mut wants = wants.into_iter().flatten();
    let want = wants.next();
    if wants.next().is_some() {
        return Err("it expects more than one thing: say one, or make two cases of it".to_owned());
    }
    Ok(want)
}

/// `"deliver"`, or `{"suppress": "the reason"}`.
fn verdict_of(value: &Value) -> Result<Want, String> {
    let (word, said) = match value {
        Value::String(word) => (word.as_str(), None),
        Value::Object(object) if object.len() == 1 => match object.iter().next() {
            Some((word, said)) => (word.as_str(), Some(said)),
            None => return Err("'verdict' is empty".to_owned()),
        },
        _ => return Err("'verdict' is a word, or an object of a word and its text".to_owned()),
    };
    let known = VerdictKind::ALL.map(VerdictKind::word);
    let kind = VerdictKind::ALL.into_iter().find(|kind| kind.word() == word);
    let kind = kind.ok_or_else(|| format!("'{word}' is no verdict{}", suggest::hint(word, &known)))?;
    match (kind, said) {
        (_, None) | (VerdictKind::Deliver, Some(_)) => Ok(Want::Verdict(kind, None)),
        (_, Some(Value::String(text))) => Ok(Want::Verdict(kind, Some(text.clone()))),
        (_, Some(_)) => Err(format!("'verdict': {word} is followed by a text")),
    }
}

/// Whom a case is for: what it expects says so, or the plugin has one hook only.
fn hook_of(line: &Line, want: Option<&Want>, manifest: &Manifest) -> Result<Hook, String> {
    let said = match want {
        Some(Want::Spans(_) | Want::Masked(_)) => Some(Hook::Redact),
        Some(Want::Becomes(_)) => Some(Hook::Transform),
        Some(Want::Verdict(..)) => Some(Hook::Notify),
        _ => None,
    };
    let hook = match (line.hook.or(said), manifest.hooks.as_slice()) {
        (Some(hook), _) => hook,
        (None, [only]) => *only,
        (None, hooks) => {
            let hooks: Vec<String> = hooks.iter().map(ToString::to_string).collect();
            return Err(format!("the plugin has several hooks: give the case a \"hook\" ({})", hooks.join(", ")));
        }
    };
    if !manifest.hooks.contains(&hook) {
        return Err(format!("it is for a {hook} hook, which the plugin does not have"));
    }
    if said.is_some_and(|said| said != hook) {
        return Err(format!("what it expects is not for a {hook} hook"));
    }
    Ok(hook)
}

fn event_of(
    line: &Line,
    given: Option<&EventLine>,
) -> crate::api::bindings::notifier::exports::hermes::hook::notify::Event {
    let mut event = neutral(&line.command, &line.text);
    if line.exit_code.is_some() {
        event.exit_code = line.exit_code;
    }
    let Some(given) = given else { return event };
    if let Some(kind) = given.kind {
        kind.name().clone_into(&mut event.kind);
        // Only a completion says how a process ended.
        if kind != EventKind::Completion {
            event.status.clear();
            event.exit_code = line.exit_code;
        }
    }
    let texts = [
        (&mut event.source, &given.source),
        (&mut event.owner, &given.owner),
        (&mut event.status, &given.status),
        (&mut event.id, &given.id),
    ];
    for (field, given) in texts {
        if let Some(given) = given {
            field.clone_from(given);
        }
    }
    if given.status.as_deref().is_some_and(|status| status != "exited") {
        event.exit_code = line.exit_code;
    }
    event.at_ms = given.at_ms.unwrap_or(event.at_ms);
    event.seq = given.seq.unwrap_or(event.seq);
    event.pattern.clone_from(&given.pattern);
    event.labels = given.labels.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    event
}

/// The parser's message, with "did you mean" where a key is not known.
fn with_suggestion(message: &str) -> String {
    let Some(rest) = message.strip_prefix("unknown field `") else { return message.to_owned() };
    let Some((key, expected)) = rest.split_once('`') else { return message.to_owned() };
    let known = match () {
        () if expected.contains("`masked`") => &KEYS[..],
        () if expected.contains("`at_ms`") => &EVENT_KEYS[..],
        () => &SPAN_KEYS[..],
    };
    format!("unknown key '{key}'{}", suggest::hint(key, known))
}

#[cfg(test)]
mod tests;
