//! `hermes plugins bench`: how fast a plugin is on ordinary text and on text full of what it looks for, and how that
//! compares with the last time. Time is processor time of the thread that calls.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_home::files;
use hermes_model::hook::Hook;
use serde::{Deserialize, Serialize};

use super::golden;
use super::subject::{Answer, Ask, Subject, put};
use super::{LabError, examine, texts};
use crate::author;
use crate::engine::Metering;
use crate::guest::thread_time;

/// What one reply of a command often is.
const REPLY_BYTES: usize = 4096;
/// What a stream hands on at once.
const WINDOW_BYTES: usize = 64 * 1024;
/// How many instances are started for the time of one.
const STARTS: u32 = 10;
/// The largest text of the author's own, in bytes.
const TEXT_MAX: u64 = 64 * 1024 * 1024;
/// The largest file of figures, in bytes.
const FIGURES_MAX: u64 = 1024 * 1024;

/// How `bench` goes about it.
#[derive(Clone, Debug)]
pub struct SpeedOptions {
    /// How many times each text is given.
    pub rounds: u32,
    /// A text of the author's own, beside the two that are always there.
    pub file: Option<PathBuf>,
}

/// What `bench` found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SpeedReport {
    /// The plugin's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The digest of the file.
    pub digest: String,
    /// The size of the component, in bytes.
    pub component_bytes: u64,
    /// Its compilation, in milliseconds.
    pub compile_ms: f64,
    /// What each hook does.
    pub hooks: Vec<HookSpeed>,
}

/// How fast a hook is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HookSpeed {
    /// The hook.
    pub hook: Hook,
    /// The start of an instance, in microseconds, the median.
    pub instantiate_us: f64,
    /// The memory of an instance that has seen every text, in bytes.
    pub memory: u64,
    /// Each text.
    pub texts: Vec<TextSpeed>,
}

/// How fast a text is answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TextSpeed {
    /// `clean`, `dirty` or `file`.
    pub text: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Half of the calls with 4 KiB took at most this long, in microseconds.
    pub p50_us: f64,
    /// Ninety of a hundred.
    pub p90_us: f64,
    /// Ninety-nine of a hundred.
    pub p99_us: f64,
    /// Millions of bytes a second in windows of 64 KiB, the median of all rounds.
    pub mb_per_s: f64,
    /// How a call was ended or refused, if one was: then the figures are those of the calls before.
    pub ended: Option<String>,
}

/// This time and the last time.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// This time.
    #[serde(flatten)]
    pub now: SpeedReport,
    /// The last time, if there was one with this plugin on this machine.
    pub previous: Option<SpeedReport>,
}

/// Measures a component or a plugin's folder, and keeps the figures in the cache for the next time.
///
/// # Errors
/// The plugin or the text cannot be read, or the plugin cannot load.
pub fn measure(path: &Path, cache_dir: &Path, options: &SpeedOptions) -> Result<Compared, LabError> {
    let own =
        options.file.as_ref().map(|file| files::read_bounded(file, TEXT_MAX)).transpose().map_err(LabError::Text)?;
    let own = own.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let compile_ms = compile(path)?;
    let (mut examined, _, loader) = examine(path, cache_dir, Metering::Epoch)?;
    let first = examined.problems.first().map(|problem| problem.message.clone()).unwrap_or_default();
    let Some(manifest) = examined.manifest.take() else { return Err(LabError::Broken(first)) };
    let golden = if path.is_dir() { golden::read(path, &manifest) } else { golden::Golden::default() };
    let digest = examined.digest.to_string();
    let Some(subject) = Subject::new(loader, examined, manifest) else { return Err(LabError::Broken(first)) };
    let asks: Vec<Ask> = subject.canaries().into_iter().chain(golden.asks()).collect();
    let hooks = subject.hooks().into_iter().map(|hook| of_hook(&subject, hook, &asks, own.as_deref(), options.rounds));
    let now = SpeedReport {
        name: subject.manifest.name.to_string(),
        version: subject.manifest.version.to_string(),
        digest,
        component_bytes: author::read_source(path)?.packed.len() as u64,
        compile_ms,
        hooks: hooks.collect(),
    };
    let kept = cache_dir.join("bench").join(format!("{}.json", now.name));
    let previous = files::read_bounded(&kept, FIGURES_MAX).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    keep(&kept, &now);
    Ok(Compared { now, previous })
}

/// The compilation, without a cache: an empty folder that is gone afterwards.
fn compile(path: &Path) -> Result<f64, LabError> {
    let Ok(empty) = tempfile::tempdir() else { return Ok(0.0) };
    let (examined, ..) = examine(path, empty.path(), Metering::Epoch)?;
    Ok(examined.steps.iter().find(|step| step.step == "compile").map(|step| step.ms).unwrap_or_default())
}

/// Figures that cannot be kept cost a comparison, not a measurement.
fn keep(path: &Path, report: &SpeedReport) {
    let Ok(bytes) = serde_json::to_vec(report) else { return };
    let Some(folder) = path.parent() else { return };
    if let Err(error) = files::create_private_dir(folder) {
        tracing::debug!(%error, "figures were not kept");
        return;
    }
    if let Err(error) = files::write_atomically(path, &bytes) {
        tracing::debug!(%error, "figures were not kept");
    }
}

fn of_hook(subject: &Subject, hook: Hook, asks: &[Ask], own: Option<&str>, rounds: u32) -> HookSpeed {
    let mut starts: Vec<Duration> = (0..STARTS)
        .filter_map(|_| {
            let live = subject.fresh(hook, None)?;
            let started = Instant::now();
            subject.engine.drive(live.start()).ok()?;
            Some(started.elapsed())
        })
        .collect();
    starts.sort();
    let cases: Vec<&str> = asks.iter().filter(|ask| ask.hook == hook).map(|ask| ask.text.as_str()).collect();
    let mut given = vec![("clean", texts::clean(texts::MIB)), ("dirty", texts::dirty(&cases, texts::MIB))];
    given.extend(own.map(|text| ("file", text.to_owned())));
    let mut memory = 0;
    let texts = given
        .iter()
        .map(|(name, text)| {
            let (speed, used) = of_text(subject, hook, name, text, rounds);
            memory = memory.max(used);
            speed
        })
        .collect();
    HookSpeed { hook, instantiate_us: us(at(&starts, 0.5)), memory, texts }
}

fn of_text(subject: &Subject, hook: Hook, name: &str, text: &str, rounds: u32) -> (TextSpeed, u64) {
    let questions = |bytes| {
        let pieces = texts::pieces(text, bytes).into_iter();
        pieces.map(|piece| Ask::about(hook, piece.to_owned())).collect::<Vec<_>>()
    };
    let (replies, windows) = (questions(REPLY_BYTES), questions(WINDOW_BYTES));
    let (mut calls, mut speeds, mut ended, mut memory) = (Vec::new(), Vec::new(), None, 0);
    for _ in 0..rounds.max(1) {
        let (times, end, used) = ask_all(subject, hook, &replies);
        calls.extend(times);
        ended = ended.or(end);
        let (times, end, more) = ask_all(subject, hook, &windows);
        if end.is_none() && !times.is_empty() {
            speeds.push(text.len() as f64 / times.iter().sum::<Duration>().as_secs_f64().max(1e-9) / 1e6);
        }
        ended = ended.or(end);
        memory = memory.max(used).max(more);
    }
    calls.sort();
    speeds.sort_by(f64::total_cmp);
    let speed = TextSpeed {
        text: name.to_owned(),
        bytes: text.len() as u64,
        p50_us: us(at(&calls, 0.5)),
        p90_us: us(at(&calls, 0.9)),
        p99_us: us(at(&calls, 0.99)),
        mb_per_s: speeds.get(speeds.len() / 2).map(|speed| (speed * 10.0).round() / 10.0).unwrap_or_default(),
        ended,
    };
    (speed, memory)
}

/// Asks one instance everything: the times, how it was ended, and its memory. A failure is an answer here.
fn ask_all(subject: &Subject, hook: Hook, asks: &[Ask]) -> (Vec<Duration>, Option<String>, u64) {
    let Some(live) = subject.fresh(hook, None) else { return (Vec::new(), None, 0) };
    let mut times = Vec::new();
    let mut memory = 0;
    for ask in asks {
        let answer = live.call(async |instance| {
            let before = thread_time();
            let answer: Answer = put(instance, ask).await?;
            let time = thread_time().saturating_sub(before);
            Ok((answer, time, instance.memory_used()))
        });
        match answer {
            Ok((Answer::Wrong(wrong), ..)) => return (times, Some(wrong), memory),
            Ok((_, time, used)) => {
                times.push(time);
                memory = memory.max(used);
            }
            Err(no) => return (times, Some(no.word().to_owned()), memory),
        }
    }
    (times, None, memory)
}

/// A quantile of sorted times.
fn at(sorted: &[Duration], part: f64) -> Duration {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index into a list")]
    let index = (sorted.len() as f64 * part) as usize;
    sorted.get(index.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

fn us(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e7).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_times() {
        let times: Vec<Duration> = (1..=100).map(Duration::from_micros).collect();
        assert_eq!(at(&times, 0.5), Duration::from_micros(51));
        assert_eq!(at(&times, 0.99), Duration::from_micros(100));
        assert_eq!(at(&[], 0.5), Duration::ZERO);
    }

    #[test]
    fn what_is_kept_is_private_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bench/a.json");
        let report = SpeedReport {
            name: "a".to_owned(),
            version: "1.0.0".to_owned(),
            digest: String::new(),
            component_bytes: 7,
            compile_ms: 1.5,
            hooks: Vec::new(),
        };
        keep(&path, &report);
        let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        let read: SpeedReport = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!((read.name.as_str(), read.component_bytes), ("a", 7));
    }
}
