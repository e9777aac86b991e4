//! Asking every running host of a home about its plugins, or telling it to take up a change: at the same time, and never for
//! longer than a bound.

use std::time::Duration;

use hermes_home::home::Home;
use hermes_mcp::client::Client;
use hermes_mcp::hosts;
use hermes_mcp::socket::{self, SocketPath};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::task::JoinSet;

use super::ask::{arguments, block_on};
use super::current::Listed;
use crate::report::Report;

/// How long a host may take to say what is in force: it looks nothing up.
const LIST: Duration = Duration::from_secs(3);
/// How long a host may take to take up a change. What is new was compiled by the verb that made it, so this is for machines
/// that are busy; whoever takes longer takes it up all the same.
const TAKE_UP: Duration = Duration::from_secs(30);

/// What a host is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// What is in force.
    List,
    /// To take up the current generation, and then the same.
    TakeUp,
}

impl Question {
    fn action(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::TakeUp => "take-up",
        }
    }

    fn patience(self) -> Duration {
        match self {
            Self::List => LIST,
            Self::TakeUp => TAKE_UP,
        }
    }
}

/// What a host said.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    /// The number of its process.
    pub(crate) pid: u32,
    /// Why it did not take up the current generation, if it was told to.
    pub(crate) problem: Option<String>,
    /// What is in force in it.
    #[serde(flatten)]
    pub(crate) listed: Listed,
}

/// A host that listens and had no answer.
#[derive(Debug)]
pub(crate) struct Silent {
    /// The number of its process, where its socket says it.
    pub(crate) pid: Option<u32>,
    /// Why, with what to do.
    pub(crate) message: String,
}

/// A host in documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct HostRow {
    /// The number of its process; none where it did not say.
    pub(crate) pid: Option<u32>,
    /// The generation in force in it.
    pub(crate) generation: Option<u64>,
    /// Whether that is the current one.
    pub(crate) ok: bool,
    /// What there is to say of it.
    pub(crate) message: Option<String>,
}

/// What the hosts of a home said: each that listens stands in one of the two lists.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// Those that answered, by number.
    pub(crate) answered: Vec<Answer>,
    /// Those that did not.
    pub(crate) silent: Vec<Silent>,
}

impl Answers {
    /// Every host, as documents have it. `current` is the generation that should be in force.
    pub(crate) fn rows(&self, current: Option<u64>) -> Vec<HostRow> {
        let answered = self.answered.iter().map(|answer| {
            let generation = answer.listed.generation;
            let message = match (&answer.problem, current) {
                (Some(problem), _) => Some(format!("host {} keeps generation {generation}: {problem}", answer.pid)),
                (None, Some(current)) if current != generation => {
                    Some(format!("host {} runs generation {generation}, not {current}", answer.pid))
                }
                (None, _) => None,
            };
            HostRow { pid: Some(answer.pid), generation: Some(generation), ok: message.is_none(), message }
        });
        let silent = self.silent.iter().map(|silent| HostRow {
            pid: silent.pid,
            generation: None,
            ok: false,
            message: Some(silent.message.clone()),
        });
        answered.chain(silent).collect()
    }
}

/// Asks every host of this home. None runs: both lists are empty.
pub(crate) fn ask_all(home: &Home, question: Question) -> Answers {
    if !home.exists() {
        return Answers::default();
    }
    let own = SocketPath::in_home(home.root());
    let mut sockets = hosts::found(home.root());
    if socket::has_listener(&own) {
        sockets.push(own);
    }
    if sockets.is_empty() {
        return Answers::default();
    }
    let asked = block_on(async {
        let mut asking = JoinSet::new();
        for at in sockets {
            asking.spawn(async move { one(&at, question).await });
        }
        let mut answers = Answers::default();
        for said in asking.join_all().await {
            match said {
                Ok(Some(answer)) => answers.answered.push(answer),
                // It has just ended.
                Ok(None) => {}
                Err(silent) => answers.silent.push(silent),
            }
        }
        answers.answered.sort_by_key(|answer| answer.pid);
        answers.silent.sort_by_key(|silent| silent.pid);
        Ok(answers)
    });
    asked.unwrap_or_else(|report| Answers {
        answered: Vec::new(),
        silent: vec![Silent { pid: None, message: report.sentence() }],
    })
}

async fn one(at: &SocketPath, question: Question) -> Result<Option<Answer>, Silent> {
    let path = at.path();
    let silent = |message: String| Silent { pid: hosts::pid_of(&path), message };
    match tokio::time::timeout(question.patience(), ask(at, question)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(report)) => Err(silent(report.sentence())),
        Err(_) => Err(silent(format!(
            "the host at '{}' does not answer after {} s; it looks for another generation itself, once a second",
            path.display(),
            question.patience().as_secs()
        ))),
    }
}

async fn ask(at: &SocketPath, question: Question) -> Result<Option<Answer>, Report> {
    let Some(client) = Client::connect(at).await.map_err(|error| Report::of(&error))? else { return Ok(None) };
    let told = client.call("plugins", arguments(json!({"action": question.action()}))).await?.into_told();
    // Names, states, problems and figures of hermes' own: what the same person reads from the disk.
    let answer: Answer = serde_json::from_str(&told.as_json_text()).map_err(|_| {
        Report::new(format!("the host at '{}' is of another version of hermes", at.path().display()))
            .hint("end it, and the next one is of this version")
    })?;
    Ok(Some(answer))
}
