//! What calls cost: each question is asked on a warm instance and its costs are kept where they are highest. Time is
//! processor time, as the limits have it: a busy machine changes nothing.

use std::time::Duration;

use hermes_model::hook::Hook;

use super::costs::{Budget, Measure, Unit};
use super::subject::{Answer, Ask, Subject, put};
use super::{About, Case};
use crate::guest::thread_time;
use crate::instance::{CallError, Ended, Instance};
use crate::lab::texts;
use crate::limits::{EXPANSION_MAX, LOG_LINES_MAX, SPANS_MAX, START_MAX};

/// How often a question is asked for its time; the quickest counts, which the machine disturbed least.
const ROUNDS: u32 = 5;
/// How often a MiB is.
const LARGE_ROUNDS: u32 = 3;
/// Below this a text says nothing about expansion: a header is longer than it.
const EXPANSION_FROM: usize = 1024;

/// How a call is ended that needs too much memory.
const MEMORY: &str = Ended::Memory.word();
/// How a call is ended that returns too much.
const OUTPUT: &str = Ended::Output.word();

/// What one call came to.
struct Call {
    answer: Result<Answer, &'static str>,
    cpu: Duration,
    fuel: u64,
    memory: u64,
    host_calls: u64,
    log_lines: u64,
}

/// The highest costs of one hook.
#[derive(Default)]
struct Worst {
    measures: Vec<Measure>,
    warm: Vec<Duration>,
    fuel: u64,
    bytes: u64,
    memory: u64,
    host_calls: u64,
    expansion: Option<f64>,
}

impl Worst {
    /// Keeps the measure of each name that is nearest to its limit.
    fn add(&mut self, measure: Measure) {
        let part = |measure: &Measure| measure.percent().unwrap_or(f64::INFINITY);
        match self.measures.iter_mut().find(|known| known.name == measure.name) {
            Some(known) if part(known) < part(&measure) => *known = measure,
            Some(_) => {}
            None => self.measures.push(measure),
        }
    }
}

/// Measures every hook. `counting` is the same plugin in an engine that counts instructions. The cases say what of it
/// is near a limit.
pub(super) fn measure(subject: &Subject, counting: Option<&Subject>, asks: &[Ask], budget: &mut Budget) -> Vec<Case> {
    let mut worst = Worst::default();
    for hook in subject.hooks() {
        let mine: Vec<&Ask> = asks.iter().filter(|ask| ask.hook == hook).collect();
        starts(subject, hook, &mut worst);
        times(subject, hook, &mine, &mut worst);
        if let Some(counting) = counting {
            counts(counting, hook, &mine, &mut worst);
        }
        if hook != Hook::Notify {
            large(subject, hook, &mine, budget, &mut worst);
        }
    }
    worst.warm.sort();
    budget.warm_us = worst.warm.get(worst.warm.len() / 2).map(|time| rounded(time.as_secs_f64() * 1e6, 10.0));
    if worst.bytes > 0 {
        let each = rounded(worst.fuel as f64 / worst.bytes as f64, 10.0);
        budget.fuel_per_byte = Some(each);
        worst.add(Measure::counted("instructions a byte", Unit::Count, each));
    }
    budget.peak_memory = (worst.memory > 0).then_some(worst.memory);
    budget.expansion = worst.expansion.map(|ratio| rounded(ratio, 100.0));
    budget.host_calls = counting.map(|_| worst.host_calls);
    worst.add(Measure::counted("host calls", Unit::Count, worst.host_calls as f64));
    budget.limits = worst.measures;
    budget.limits.iter().filter_map(case_of).collect()
}

fn rounded(value: f64, to: f64) -> f64 {
    (value * to).round() / to
}

fn case_of(measure: &Measure) -> Option<Case> {
    let sentence = measure.sentence()?;
    let failed = (!measure.ok).then(|| {
        let what = match measure.name {
            "start" => "do less in `new` and `configure`: a host starts an instance whenever it needs another",
            "memory" => "keep less in memory at once, and nothing between calls",
            "expansion" => "return less: a transform is there to shorten",
            "output" => "return less at once",
            "spans" => "mask one place where many touch",
            "log lines" => "log less in one call: what is beyond the limit is lost",
            _ => "do less for each byte: look for the rare first, and use the host's `scan` for patterns",
        };
        format!("{what}. From 80 % on, a longer text or a slower machine reaches the limit, and the call is ended")
    });
    Some(Case::of(About::Budget, sentence, failed))
}

/// The processor time of a start.
fn starts(subject: &Subject, hook: Hook, worst: &mut Worst) {
    let quickest = (0..ROUNDS)
        .filter_map(|_| {
            let live = subject.fresh(hook, None)?;
            let before = thread_time();
            let started = subject.engine.drive(live.start()).is_ok();
            started.then(|| thread_time().saturating_sub(before))
        })
        .min();
    if let Some(time) = quickest {
        worst.add(Measure::new("start", Unit::Ms, ms(time), ms(START_MAX)));
    }
}

fn ms(time: Duration) -> f64 {
    rounded(time.as_secs_f64() * 1000.0, 10_000.0)
}

/// The processor time of each question, on an instance that answered it before.
fn times(subject: &Subject, hook: Hook, asks: &[&Ask], worst: &mut Worst) {
    let limits = subject.limits(hook);
    for ask in asks {
        let calls = ask_again(subject, ask, ROUNDS + 1);
        // The first call of an instance pays for what later ones find done.
        let quickest = calls.iter().skip(1).filter(|call| call.answer.is_ok()).map(|call| call.cpu).min();
        if let Some(time) = quickest {
            worst.warm.push(time);
            worst.add(Measure::new("call", Unit::Ms, ms(time), ms(limits.time_for(ask.text.len()))));
        }
    }
}

/// Everything that is counted of each question, in an engine that counts.
fn counts(counting: &Subject, hook: Hook, asks: &[&Ask], worst: &mut Worst) {
    let limits = counting.limits(hook);
    for ask in asks {
        for call in ask_again(counting, ask, 2) {
            let Ok(answer) = &call.answer else { continue };
            worst.fuel += call.fuel;
            worst.bytes += ask.text.len() as u64;
            worst.host_calls += call.host_calls;
            worst.memory = worst.memory.max(call.memory);
            worst.add(Measure::new(
                "memory",
                Unit::Bytes,
                call.memory as f64,
                limits.memory_for(ask.text.len()) as f64,
            ));
            worst.add(Measure::new("output", Unit::Bytes, answer.bytes() as f64, limits.output_bytes as f64));
            worst.add(Measure::new("log lines", Unit::Count, call.log_lines as f64, LOG_LINES_MAX as f64));
            of_answer(ask, answer, worst);
        }
    }
}

fn of_answer(ask: &Ask, answer: &Answer, worst: &mut Worst) {
    match answer {
        Answer::Found(found) => {
            worst.add(Measure::new("spans", Unit::Count, found.spans.len() as f64, SPANS_MAX as f64));
        }
        Answer::Text(text) if !ask.text.is_empty() => {
            let ratio = text.len() as f64 / ask.text.len() as f64;
            worst.expansion = Some(worst.expansion.map_or(ratio, |most| most.max(ratio)));
            if ask.text.len() >= EXPANSION_FROM {
                worst.add(Measure::new("expansion", Unit::Times, rounded(ratio, 100.0), EXPANSION_MAX as f64));
            }
        }
        _ => {}
    }
}

/// A MiB made of the questions, which is what a command prints that talks a lot about what the plugin is for.
fn large(subject: &Subject, hook: Hook, asks: &[&Ask], budget: &mut Budget, worst: &mut Worst) {
    let cases: Vec<&str> = asks.iter().map(|ask| ask.text.as_str()).collect();
    let ask = Ask::about(hook, texts::dirty(&cases, texts::MIB));
    let limits = subject.limits(hook);
    let (name, limit) = ("call with 1 MiB", ms(limits.time_for(ask.text.len())));
    let calls = ask_again(subject, &ask, LARGE_ROUNDS);
    if let Some(ended) = calls.iter().find_map(|call| call.answer.as_ref().err().copied()) {
        worst.add(match ended {
            MEMORY => Measure::ended("memory", Unit::Bytes, limits.memory_for(ask.text.len()) as f64, ended),
            OUTPUT => Measure::ended("output", Unit::Bytes, limits.output_bytes as f64, ended),
            _ => Measure::ended(name, Unit::Ms, limit, ended),
        });
        return;
    }
    let Some(quickest) = calls.iter().map(|call| call.cpu).min() else { return };
    let speed = ask.text.len() as f64 / quickest.as_secs_f64().max(1e-9) / 1e6;
    let slowest = budget.mb_per_s.map_or(speed, |known| known.min(speed));
    budget.mb_per_s = Some(rounded(slowest, 10.0));
    worst.add(Measure::new(name, Unit::Ms, ms(quickest), limit));
    for call in &calls {
        worst.memory = worst.memory.max(call.memory);
        worst.add(Measure::new("memory", Unit::Bytes, call.memory as f64, limits.memory_for(ask.text.len()) as f64));
        if let Ok(answer) = &call.answer {
            worst.add(Measure::new("output", Unit::Bytes, answer.bytes() as f64, limits.output_bytes as f64));
            of_answer(&ask, answer, worst);
        }
    }
}

/// Asks one instance the same several times.
fn ask_again(subject: &Subject, ask: &Ask, times: u32) -> Vec<Call> {
    let Some(live) = subject.fresh(ask.hook, ask.settings.as_deref()) else { return Vec::new() };
    subject.engine.drive(async {
        let Ok(mut instance) = live.start().await else { return Vec::new() };
        instance.log().take();
        let mut calls = Vec::new();
        for _ in 0..times {
            let call = one(&mut instance, ask).await;
            let ended = call.answer.is_err();
            calls.push(call);
            if ended {
                break;
            }
        }
        calls
    })
}

async fn one(instance: &mut Instance, ask: &Ask) -> Call {
    let (fuel, host_calls, before) = (instance.fuel(), instance.host_calls(), thread_time());
    let answer = put(instance, ask).await;
    let cpu = thread_time().saturating_sub(before);
    let (lines, dropped) = instance.log().take();
    Call {
        answer: match answer {
            Ok(answer) => Ok(answer),
            Err(CallError::Ended(ended)) => Err(ended.word()),
            // It answers with a failure in no time, which is its own case's business.
            Err(CallError::Failure(_)) => Err("a failure"),
        },
        cpu,
        fuel: fuel.saturating_sub(instance.fuel()),
        memory: instance.memory_used(),
        host_calls: instance.host_calls() - host_calls,
        log_lines: lines.len() as u64 + dropped,
    }
}
