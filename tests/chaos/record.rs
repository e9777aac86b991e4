//! What the outside knows: what was started and answered, what was told, what was acknowledged and answered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// What a command does when its time comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Exits at once.
    Fast,
    /// Exits after the twentieth part of a second.
    Short,
    /// Exits only after its host was killed: nobody can know its exit code.
    Outliving,
}

/// A command that was started, as far as whoever started it knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started {
    pub(crate) kind: Kind,
    pub(crate) code: i64,
    pub(crate) notify: bool,
    /// Somebody tried to end it.
    pub(crate) ended: bool,
}

/// Everything that is known.
#[derive(Default)]
pub(crate) struct Record {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    started: BTreeMap<String, Started>,
    /// Every delivery of an event, in order, by its id.
    told: BTreeMap<String, Vec<Value>>,
    /// Events whose acknowledgement was answered.
    settled: BTreeSet<String>,
    wrong: Vec<String>,
}

impl Record {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn started(&self, id: &str, started: Started) {
        if self.known().started.insert(id.to_owned(), started).is_some() {
            self.known().wrong.push(format!("{id} was given twice"));
        }
    }

    /// A process that may be ended: one of those that were started last.
    pub(crate) fn one_of_the_last(&self, chance: u64) -> Option<String> {
        let known = self.known();
        let count = known.started.len();
        let at = usize::try_from(chance).unwrap_or(0) % count.max(1);
        known.started.keys().nth(at).cloned()
    }

    /// Somebody is about to end it.
    pub(crate) fn ending(&self, id: &str) {
        if let Some(started) = self.known().started.get_mut(id) {
            started.ended = true;
        }
    }

    pub(crate) fn told(&self, event: &Value) {
        let id = event["id"].as_str().unwrap().to_owned();
        let mut known = self.known();
        if known.settled.contains(&id) {
            known.wrong.push(format!("told after it was acknowledged: {event}"));
        }
        known.told.entry(id).or_default().push(event.clone());
    }

    /// The host said that it settled so many of these. Those that somebody meanwhile ended are settled by that.
    pub(crate) fn settled(&self, events: &[Value], count: u64) {
        let mut known = self.known();
        let ended = |event: &&Value| {
            let process = event["process"].as_str().unwrap_or_default();
            known.started.get(process).is_some_and(|started| started.ended)
        };
        let ended = events.iter().filter(ended).count();
        if count + (ended as u64) < events.len() as u64 {
            known.wrong.push(format!("only {count} were acknowledged of {events:#?}"));
        }
        known.settled.extend(events.iter().map(|event| event["id"].as_str().unwrap().to_owned()));
    }

    pub(crate) fn wrong(&self, what: String) {
        self.known().wrong.push(what);
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.known().started.keys().cloned().collect()
    }

    /// How many commands were started, and how many of them were told as exited and as lost.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let known = self.known();
        let count = |kind: &str| known.told.values().filter(|told| told[0]["status"]["kind"] == kind).count();
        (known.started.len(), count("exited"), count("lost"))
    }

    /// Fails with everything that is wrong, once nothing is to come any more.
    ///
    /// # Panics
    /// Something is.
    pub(crate) fn check(&self) {
        let known = self.known();
        let mut wrong = known.wrong.clone();
        for (event, told) in &known.told {
            wrong.extend(known.wrong_with(event, told));
        }
        for (id, started) in &known.started {
            let ends = known.told.contains_key(&format!("{id}-end"));
            // Whoever ends a process is told by the answer, so of its end there may be no event.
            if started.notify && !ends && !started.ended {
                wrong.push(format!("never told: the end of {id}, {started:?}"));
            }
            if !started.notify && ends {
                wrong.push(format!("told although nobody wanted to know: the end of {id}, {started:?}"));
            }
        }
        assert!(wrong.is_empty(), "{} things are wrong:\n{}", wrong.len(), wrong.join("\n"));
    }

    /// Compares the status of a process that is over with what was told of it.
    pub(crate) fn compare(&self, id: &str, status: &Value) {
        let mut known = self.known();
        let started = known.started[id];
        if let Some(problem) = wrong_status(started.kind, started.code, started.ended, status) {
            known.wrong.push(format!("{id} in the end: {problem}"));
        }
        if let Some(told) = known.told.get(&format!("{id}-end"))
            && told[0]["status"] != *status
        {
            let problem = format!("{id} was told as {} and is {status}", told[0]["status"]);
            known.wrong.push(problem);
        }
    }
}

impl Known {
    fn wrong_with(&self, event: &str, told: &[Value]) -> Vec<String> {
        let mut wrong = Vec::new();
        let first = &told[0];
        let process = first["process"].as_str().unwrap_or_default();
        if first["kind"] != "completion" || event != format!("{process}-end") {
            wrong.push(format!("not the end of a process: {first}"));
        }
        if told.iter().any(|again| ["process", "status", "seq"].iter().any(|field| again[field] != first[field])) {
            wrong.push(format!("told differently: {told:#?}"));
        }
        // A start whose answer did not arrive is known by its command line.
        let text = first["command"].as_str().unwrap_or_default();
        let (kind, code) = read(text);
        if let Some(started) = self.started.get(process)
            && (started.kind, started.code) != (kind, code)
        {
            wrong.push(format!("{process} is {started:?} and was told as {text}"));
        }
        let ended = self.started.get(process).is_some_and(|started| started.ended);
        wrong.extend(wrong_status(kind, code, ended, &first["status"]).map(|problem| format!("{process}: {problem}")));
        wrong
    }
}

/// What is wrong with how a command is said to have ended.
fn wrong_status(kind: Kind, code: i64, ended: bool, status: &Value) -> Option<String> {
    match status["kind"].as_str().unwrap_or_default() {
        "lost" => None,
        "exited" if status["code"] == code && (kind != Kind::Outliving) => None,
        "stopped" if ended => None,
        _ => Some(format!("invented: {kind:?} with exit code {code} is told as {status}")),
    }
}

/// The command of a kind, which says itself what it is.
pub(crate) fn script(kind: Kind, code: i64, gate: &str) -> String {
    match kind {
        Kind::Fast => format!("exit {code}"),
        Kind::Short => format!("sleep 0.05; exit {code}"),
        Kind::Outliving => format!("until [ -e {gate} ]; do sleep 0.02; done; exit {code}"),
    }
}

/// Reads what a command says it is.
fn read(text: &str) -> (Kind, i64) {
    let kind = match text.split(' ').next().unwrap_or_default() {
        "sleep" => Kind::Short,
        "until" => Kind::Outliving,
        _ => Kind::Fast,
    };
    (kind, text.rsplit(' ').next().and_then(|code| code.parse().ok()).unwrap_or(-1))
}
