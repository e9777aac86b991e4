//! The trial of a plugin: its first instance is started, described, configured, tested and shown its canaries.
//!
//! Nothing the plugin says about a text leaves this module, except rules and failure codes reduced to safe words.

use std::sync::Arc;

use hermes_model::config::PluginConfig;
use hermes_model::context::{Context, Surface};
use hermes_model::duration;
use hermes_model::hook::Hook;
use hermes_output::event::Verdict;
use hermes_output::normalise;
use hermes_output::policy::{Findings, Transformed, Window};

use crate::engine::Engine;
use crate::examined::{CanaryResult, Examined, LogLine, Ready, ReadyHook};
use crate::instance::{CallError, Ended, Instance, Pre};
use crate::limits::{Limits, START_MAX};
use crate::manifest::{Canary, Expect, Manifest, VerdictKind};
use crate::notify::neutral;
use crate::patterns::PatternSets;
use crate::problem::{Code, Problem};
use crate::settings;

/// The text of the call a hook gets when no canary asks it anything.
const PROBE: &str = "hermes asks whether this plugin answers.\n";

/// Settings that leave everything as it is by default.
const DEFAULT_SETTINGS: &str = "{}";

/// Runs the trial of every hook; the plugin, if all went well.
pub(crate) fn run(
    engine: &Engine,
    pres: Vec<(Hook, Pre)>,
    settings: String,
    config: &PluginConfig,
    found: &mut Examined,
) -> Option<Ready> {
    let manifest = found.manifest.clone()?;
    let mut ready = Ready { hooks: Vec::new(), settings, patterns: Arc::default(), counters: Vec::new() };
    for (hook, pre) in pres {
        let limits = Limits::of(hook).with(&config.limits);
        let trial = engine.drive(start(engine, &pre, limits, &manifest, &ready.settings));
        let (mut instance, described) = match trial {
            Ok(started) => started,
            Err((problem, log)) => {
                found.problems.push(problem);
                found.log.extend(log);
                continue;
            }
        };
        ready.patterns = described.patterns;
        ready.counters = described.counters;
        // Canaries say what the plugin does by default, so they are not asked of an instance set otherwise, unless the
        // plugin cannot be without its settings.
        let mut other = None;
        if ready.settings != DEFAULT_SETTINGS && settings::may_be_default(&manifest) {
            match engine.drive(start(engine, &pre, limits, &manifest, DEFAULT_SETTINGS)) {
                Ok((instance, _)) => other = Some(instance),
                Err((problem, log)) => {
                    found.problems.push(problem);
                    found.log.extend(log);
                    continue;
                }
            }
        }
        let shown = other.as_mut().unwrap_or(&mut instance);
        let results = engine.drive(canaries(shown, hook, &manifest, &limits));
        found.log.extend(shown.log().take().0);
        match results {
            Ok(results) => {
                let alive = results.iter().all(|(_, ended)| ended.is_none());
                for (result, _) in results {
                    if !result.ok {
                        found.problems.push(canary_problem(&result));
                    }
                    found.canaries.push(result);
                }
                let warm = (alive || other.is_some()).then_some(instance);
                ready.hooks.push(ReadyHook { hook, pre, limits, warm });
            }
            Err(problem) => found.problems.push(problem),
        }
    }
    found.problems.is_empty().then_some(ready)
}

/// What the trial keeps of a descriptor.
struct Kept {
    patterns: Arc<PatternSets>,
    counters: Vec<String>,
}

type StartError = (Problem, Vec<LogLine>);

/// Starts an instance up to its self-test.
async fn start(
    engine: &Engine,
    pre: &Pre,
    limits: Limits,
    manifest: &Manifest,
    settings: &str,
) -> Result<(Instance, Kept), StartError> {
    let ended = |what: &'static str, ended: Ended| (ended_problem(what, ended, &limits), Vec::new());
    let mut instance = Instance::new(engine, pre, limits, Arc::default(), START_MAX)
        .await
        .map_err(|error| ended("start-up", error))?;
    let log = instance.log();
    let with_log = |problem: Problem| (problem, log.take().0);
    let described =
        instance.describe(START_MAX).await.map_err(|error| with_log(ended_problem("describe", error, &limits)))?;
    if described.name != manifest.name.as_str() || described.version != manifest.version.to_string() {
        let theirs = format!("{} {}", word(&described.name), word(&described.version));
        let ours = format!("{} {}", manifest.name, manifest.version);
        let message = format!("plugin.toml says {ours}, the component {theirs}");
        let next = "give both the same name and version, build and pack again";
        return Err(with_log(Problem::new(Code::Manifest, "name", message, next).compared(theirs, ours)));
    }
    let patterns = PatternSets::compile(&described.patterns).map_err(|error| {
        let next =
            "correct what the plugin declares (patterns are in the syntax of Rust's regex crate, without look-around)";
        with_log(Problem::new(Code::Manifest, "pattern-sets", error.to_string(), next))
    })?;
    let patterns = Arc::new(patterns);
    instance.set_patterns(Arc::clone(&patterns));
    instance.declare_counters(&described.counters);
    match instance.configure(settings, START_MAX).await {
        Ok(()) => {}
        Err(CallError::Ended(error)) => return Err(with_log(ended_problem("configure", error, &limits))),
        Err(CallError::Failure(failure)) => {
            let message = format!("it refuses its settings: {}", failure.code);
            let next = format!(
                "correct [plugins.{}.settings] in config.toml; `hermes plugins why {} -v` shows what the plugin says",
                manifest.name, manifest.name
            );
            let mut error = with_log(Problem::new(Code::ConfigInvalid, "configure", message, next));
            error.1.push((tracing::Level::ERROR, said("configure", &failure.message)));
            return Err(error);
        }
    }
    match instance.self_test(START_MAX).await {
        Ok(()) => {}
        Err(CallError::Ended(error)) => return Err(with_log(ended_problem("self-test", error, &limits))),
        Err(CallError::Failure(failure)) => {
            let message = format!("its self-test failed: {}", failure.code);
            let next = "`hermes plugins test -v` shows what the plugin says; report it to its author";
            let mut error = with_log(Problem::new(Code::SelfTest, "self-test", message, next));
            error.1.push((tracing::Level::ERROR, said("self-test", &failure.message)));
            return Err(error);
        }
    }
    Ok((instance, Kept { patterns, counters: described.counters }))
}

/// A failure's message as a log line, for the author: without what could drive a terminal.
fn said(what: &str, message: &str) -> String {
    format!("{what}: {}", normalise::view_continued(message.as_bytes()).text)
}

/// A plugin's own word in a message: its name and version are plain there, anything else is left out.
fn word(text: &str) -> &str {
    let plain = text.len() <= 64 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.+".contains(&b));
    if plain && !text.is_empty() { text } else { "(something unprintable)" }
}

fn ended_problem(what: &str, ended: Ended, limits: &Limits) -> Problem {
    let next = "`hermes plugins test -v` shows the plugin's log; report it to its author";
    match ended {
        Ended::Trap => Problem::new(Code::StartTrap, what, format!("it trapped in {what}"), next),
        Ended::Timeout | Ended::HostTimeout => Problem::new(
            Code::Limits,
            what,
            format!("{what} did not return within {} of CPU time", duration::display(START_MAX)),
            next,
        ),
        Ended::Memory => Problem::new(
            Code::Limits,
            what,
            format!("{what} needs more memory than its limit of {} bytes", limits.memory_bytes),
            "raise memory_bytes in the plugin's [plugins.NAME.limits] of config.toml, or report it to its author",
        ),
        Ended::Output => Problem::new(
            Code::Limits,
            what,
            format!("{what} returned more than its limit of {} bytes", limits.output_bytes),
            next,
        ),
        Ended::Instances => Problem::new(
            Code::Limits,
            what,
            "there is no memory or address space for another instance",
            "raise the limits of this process (ulimit -v), or disable plugins that are not needed",
        ),
    }
}

fn canary_problem(result: &CanaryResult) -> Problem {
    Problem::new(
        Code::Canary,
        &result.name,
        format!("canary '{}' must show {}; it showed {}", result.name, result.expected, result.got),
        "do not rely on the plugin: report it to its author, or install another version",
    )
    .compared(&result.expected, &result.got)
}

/// Shows the canaries of a hook, or a neutral text if there are none.
async fn canaries(
    instance: &mut Instance,
    hook: Hook,
    manifest: &Manifest,
    limits: &Limits,
) -> Result<Vec<(CanaryResult, Option<Ended>)>, Problem> {
    let mine: Vec<&Canary> = manifest
        .canaries
        .iter()
        .filter(|canary| match canary.expect {
            Expect::Rules(_) => hook == Hook::Redact,
            Expect::Text { .. } => hook == Hook::Transform,
            Expect::Verdict(_) => hook == Hook::Notify,
        })
        .collect();
    if mine.is_empty() {
        return probe(instance, hook, limits).await.map(|()| Vec::new());
    }
    let mut results = Vec::new();
    for canary in mine {
        let result = show(instance, canary).await;
        let ended = result.1;
        results.push(result);
        if ended.is_some() {
            break;
        }
    }
    Ok(results)
}

async fn probe(instance: &mut Instance, hook: Hook, limits: &Limits) -> Result<(), Problem> {
    let context = Context::new(Surface::Foreground);
    let window = Window { text: PROBE, fresh_from: 0, front_cut: false, last: true };
    let answer = match hook {
        Hook::Redact => match instance.scan(&context, &window).await {
            Ok(found) => match wrong_span(PROBE, &found) {
                None => Ok(()),
                Some(wrong) => {
                    let result = CanaryResult {
                        name: "a plain text".to_owned(),
                        ok: false,
                        expected: "places in the text".to_owned(),
                        got: wrong,
                    };
                    return Err(canary_problem(&result));
                }
            },
            Err(error) => Err(error),
        },
        Hook::Transform => instance.apply(&context, PROBE).await.map(drop),
        Hook::Notify => instance.decide(&neutral("", PROBE)).await.map(drop),
    };
    match answer {
        Ok(()) => Ok(()),
        Err(CallError::Ended(ended)) => Err(ended_problem(hook.name(), ended, limits)),
        Err(CallError::Failure(failure)) => Err(Problem::new(
            Code::SelfTest,
            hook.name(),
            format!("it has no answer for a plain text: {}", failure.code),
            "`hermes plugins test -v` shows what the plugin says; report it to its author",
        )),
    }
}

/// Shows one canary. With [`Ended`], the instance is gone.
pub(crate) async fn show(instance: &mut Instance, canary: &Canary) -> (CanaryResult, Option<Ended>) {
    let context = context_of(canary);
    let (expected, answer) = match &canary.expect {
        Expect::Rules(rules) => {
            let window = Window { text: &canary.text, fresh_from: 0, front_cut: false, last: true };
            let mut expected = rules.clone();
            expected.sort();
            expected.dedup();
            let answer = instance.scan(&context, &window).await.map(|found| {
                if let Some(wrong) = wrong_span(&canary.text, &found) {
                    return (false, wrong);
                }
                let mut got: Vec<String> = found.spans.into_iter().map(|span| span.rule).collect();
                got.sort();
                got.dedup();
                (got == expected, rules_words(&got))
            });
            (rules_words(&expected), answer)
        }
        Expect::Text { changed, contains, lacks } => {
            let answer = instance.apply(&context, &canary.text).await.map(|outcome| {
                let result = applied(&canary.text, outcome);
                judge_text(&canary.text, &result, *changed, contains, lacks)
            });
            (text_words(*changed, contains, lacks), answer)
        }
        Expect::Verdict(verdict) => {
            let mut event = neutral(&canary.command, &canary.text);
            event.exit_code = canary.exit_code.or(event.exit_code);
            let answer = instance.decide(&event).await.map(|decided| {
                let got = match decided {
                    Verdict::Deliver => VerdictKind::Deliver,
                    Verdict::Rewrite(_) => VerdictKind::Rewrite,
                    Verdict::Suppress(_) => VerdictKind::Suppress,
                };
                (got == *verdict, got.word().to_owned())
            });
            (verdict.word().to_owned(), answer)
        }
    };
    let (ok, got, ended) = match answer {
        Ok((ok, got)) => (ok, got, None),
        Err(CallError::Failure(failure)) => (false, format!("the failure {}", failure.code), None),
        Err(CallError::Ended(ended)) => (false, ended.word().to_owned(), Some(ended)),
    };
    (CanaryResult { name: canary.name.clone(), ok, expected, got }, ended)
}

fn context_of(canary: &Canary) -> Context {
    let mut context = Context::new(Surface::Foreground);
    context.command.clone_from(&canary.command);
    context.exit_code = canary.exit_code;
    context
}

/// The first span that is not a place in the text. While it runs such a span is widened and never dropped, but a plugin
/// that returns one does not know what it masks.
pub(crate) fn wrong_span(text: &str, found: &Findings) -> Option<String> {
    let wrong = found.spans.iter().find(|span| {
        let whole = text.is_char_boundary(span.start) && text.is_char_boundary(span.end);
        span.start >= span.end || span.end > text.len() || !whole
    })?;
    Some(format!("a span from {} to {}, which is no place in its {} bytes", wrong.start, wrong.end, text.len()))
}

fn rules_words(rules: &[String]) -> String {
    if rules.is_empty() { "no mask".to_owned() } else { rules.join(", ") }
}

fn text_words(changed: bool, contains: &[String], lacks: &[String]) -> String {
    let mut words = if changed { "a changed text".to_owned() } else { "the same text".to_owned() };
    for word in contains {
        words += &format!(" with '{word}'");
    }
    for word in lacks {
        words += &format!(" without '{word}'");
    }
    words
}

fn judge_text(given: &str, result: &str, changed: bool, contains: &[String], lacks: &[String]) -> (bool, String) {
    if (given != result) != changed {
        let got = if changed { "the same text" } else { "a changed text" };
        return (false, got.to_owned());
    }
    if let Some(word) = contains.iter().find(|word| !result.contains(word.as_str())) {
        return (false, format!("a text without '{word}'"));
    }
    if let Some(word) = lacks.iter().find(|word| result.contains(word.as_str())) {
        return (false, format!("a text with '{word}'"));
    }
    (true, text_words(changed, contains, lacks))
}

/// The text a transform's outcome makes. Edits out of order leave the text as it was, as they do in a reply.
fn applied(text: &str, outcome: Transformed) -> String {
    match outcome {
        Transformed::Unchanged => text.to_owned(),
        Transformed::Replaced(text) => text,
        Transformed::Edits(edits) => {
            let (mut out, mut at) = (String::new(), 0);
            for (range, new) in edits {
                let Some(before) = text.get(at..range.start) else { return text.to_owned() };
                if text.get(range.clone()).is_none() {
                    return text.to_owned();
                }
                out += before;
                out += &new;
                at = range.end;
            }
            out + &text[at..]
        }
    }
}
