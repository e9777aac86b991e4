//! Summarises a long output: keeps errors, failing tests, the final counts and the exit status within a token budget,
//! folds repeats and progress, and says which lines it left out.
//!
//! This must never claim that a run succeeded or failed, change a line, or return more than it was given.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

pub mod classify;
pub mod content;
pub mod find;
pub mod fold;
pub mod memo;
pub mod prefix;
pub mod rank;
pub mod render;
pub mod select;
mod simd;
pub mod tell;
pub mod walk;
pub mod words;

use hermes_plugin_sdk::{Context, Failure, Outcome, Plugin, Transform};
use serde::Deserialize;

use crate::content::Output;
use crate::render::Ended;
use crate::select::Choice;

/// Bytes that count as one token.
pub const TOKEN: usize = 4;

/// A text of fewer lines is shown as it is, if the budget allows.
const FEW_LINES: u32 = 40;
/// A text of fewer tokens likewise.
const FEW_TOKENS: usize = 500;
/// A text that fits is shortened only if that saves one byte in this many.
const WORTH: usize = 10;

/// What a user may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Tokens a summary may take, four bytes each.
    pub budget_tokens: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { budget_tokens: 4_000 }
    }
}

/// The plugin.
#[derive(Clone, Copy, Debug)]
pub struct SummarizeOutput {
    settings: Settings,
}

/// The budgets a user may choose from; smaller ones have no room for marks.
const BUDGETS: std::ops::RangeInclusive<usize> = 100..=100_000;

impl Plugin for SummarizeOutput {
    type Settings = Settings;

    fn new(settings: Settings) -> Result<Self, Failure> {
        if !BUDGETS.contains(&settings.budget_tokens) {
            let message = format!("budget_tokens is {}; choose a number from {BUDGETS:?}", settings.budget_tokens);
            return Err(Failure::new("bad-settings", message));
        }
        Ok(Self { settings })
    }
}

impl Transform for SummarizeOutput {
    fn apply(&mut self, context: &Context, text: &str) -> Result<Outcome, Failure> {
        if u32::try_from(text.len()).is_err() {
            return Err(Failure::new("text-too-long", "the text has 4 GiB or more"));
        }
        let summary = summarize(context, text, self.settings.budget_tokens * TOKEN);
        Ok(summary.filter(|summary| summary.len() < text.len()).map_or(Outcome::Unchanged, Outcome::Replaced))
    }
}

/// The label under which the host says how a command ended that has no exit code.
const STATUS: &str = "status";

fn summarize(context: &Context, text: &str, budget: usize) -> Option<String> {
    let ended = match (context.signal, context.exit_code) {
        (Some(signal), _) => Ended::Signal(signal),
        (None, Some(code)) => Ended::Exit(code),
        (None, None) => match context.labels.iter().find(|(name, _)| name == STATUS).map(|(_, status)| status.as_str())
        {
            Some("timed-out") => Ended::TimedOut,
            Some("stopped") => Ended::Stopped,
            _ => Ended::Unknown,
        },
    };
    let fits = text.len() <= budget;
    // `grep` and `diff` exit with 1 and have done their work; beyond that a content command failed like any other.
    let done = matches!(ended, Ended::Exit(0 | 1) | Ended::Unknown);
    let output = if done { content::output_of(&context.command) } else { Output::Report };
    if fits && output != Output::Report {
        return None;
    }
    let mut folded = fold::fold(text);
    if output == Output::Content {
        /// Of content, as much is shown from the front as from the back.
        const PARTS: usize = 2;
        return Some(Choice::ends(text, &folded, budget, PARTS).write(ended, false));
    }
    if fits {
        let contradicted =
            if ended.failed() { rank::contradicted(&folded.records, ended.killed()) } else { Vec::new() };
        let short = folded.lines < FEW_LINES || text.len() < FEW_TOKENS * TOKEN;
        if short && contradicted.is_empty() {
            return None;
        }
        let choice = Choice::all_but(text, &folded, &contradicted);
        let mut summary = choice.write(ended, short);
        if !contradicted.is_empty() && summary.len() >= text.len() {
            summary = choice.write(ended, true); // What contradicts the end goes, even if only just.
        }
        return (!contradicted.is_empty() || summary.len() + text.len() / WORTH <= text.len()).then_some(summary);
    }
    if ended.failed() && !rank::recognised(&folded.records) {
        /// Of a failure that nothing is known about, the end tells more than the front.
        const PARTS: usize = 3;
        return Some(Choice::ends(text, &folded, budget, PARTS).write(ended, false));
    }
    fold::fold_plain(&mut folded, text);
    let ranked = rank::rank(&mut folded.records, text, ended.failed());
    Some(Choice::best(text, &folded, &ranked, budget).write(ended, false))
}

hermes_plugin_sdk::export!(SummarizeOutput: transform);
