//! A server that answers what a test says.

use std::sync::{Arc, Mutex};

use hermes_model::config::servers::ServerConfig;
use hermes_model::id::ServerName;
use hermes_output::exact::ExactValues;
use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, watch};

use crate::gateway::serving::{Later, Serving};
use crate::servers::handle::{Ask, AskError, Offering, Phase, Standing, Told};
use crate::servers::raw::Raw;

type Answer = dyn Fn(&Ask) -> Result<Value, AskError> + Send + Sync;

pub(super) struct Fake {
    name: ServerName,
    pub(super) config: ServerConfig,
    exact: ExactValues,
    offering: Mutex<Arc<Offering>>,
    phase: Mutex<Phase>,
    changes: watch::Sender<u64>,
    told: broadcast::Sender<Told>,
    answer: Box<Answer>,
    /// What it was asked.
    pub(super) asked: Mutex<Vec<(String, Map<String, Value>)>>,
    /// What is waited for before an answer.
    pub(super) gate: watch::Sender<bool>,
}

/// The list of a server.
pub(super) fn raws(list: Value) -> Vec<Raw> {
    list.as_array().unwrap().iter().cloned().map(Raw::of).collect()
}

impl Fake {
    /// A server that is ready with these tools.
    pub(super) fn new(
        name: &str,
        tools: Value,
        answer: impl Fn(&Ask) -> Result<Value, AskError> + Send + Sync + 'static,
    ) -> Self {
        let offering = Offering {
            tools: raws(tools),
            capabilities: Raw::of(json!({"tools": {}})),
            is_whole: true,
            ..Offering::default()
        };
        Self {
            name: name.parse().unwrap(),
            config: ServerConfig::default(),
            exact: ExactValues::default(),
            offering: Mutex::new(Arc::new(offering)),
            phase: Mutex::new(Phase::Ready),
            changes: watch::channel(0).0,
            told: broadcast::channel(16).0,
            answer: Box::new(answer),
            asked: Mutex::default(),
            gate: watch::channel(true).0,
        }
    }

    /// One with one tool `t`, whose result is always this.
    pub(super) fn answering(result: Value) -> Self {
        Self::new("s", json!([{"name": "t"}]), move |_| Ok(result.clone()))
    }

    pub(super) fn configured(mut self, change: impl FnOnce(&mut ServerConfig)) -> Self {
        change(&mut self.config);
        self
    }

    pub(super) fn knowing(mut self, name: &str, value: &str) -> Self {
        self.exact = ExactValues::new([(name.to_owned(), value.to_owned())]);
        self
    }

    pub(super) fn in_phase(self, phase: Phase) -> Self {
        *self.phase.lock().unwrap() = phase;
        self
    }

    pub(super) fn offers(self, change: impl FnOnce(&mut Offering)) -> Self {
        self.change(Phase::Ready, change);
        self
    }

    /// It is in another phase, and offers something else.
    pub(super) fn change(&self, phase: Phase, change: impl FnOnce(&mut Offering)) {
        let mut offering = Offering::clone(&self.offering.lock().unwrap());
        change(&mut offering);
        *self.offering.lock().unwrap() = Arc::new(offering);
        *self.phase.lock().unwrap() = phase;
        self.changes.send_modify(|number| *number += 1);
    }

    /// How many wait for a change of it.
    pub(super) fn listeners(&self) -> usize {
        self.changes.receiver_count()
    }

    pub(super) fn says(&self, method: &str, params: Value) {
        let _ = self.told.send(Told { method: method.to_owned(), params: Raw::of(params) });
    }
}

impl Serving for Fake {
    fn name(&self) -> &ServerName {
        &self.name
    }

    fn config(&self) -> &ServerConfig {
        &self.config
    }

    fn exact(&self) -> ExactValues {
        self.exact.clone()
    }

    fn wake(&self) {
        if *self.phase.lock().unwrap() == Phase::Stopped {
            self.change(Phase::Starting, |_| {});
        }
    }

    fn standing(&self) -> Standing {
        let phase = *self.phase.lock().unwrap();
        let tools = self.offering.lock().unwrap().tools.len();
        Standing {
            phase,
            pid: None,
            since: None,
            restarts: 0,
            protocol: None,
            tools,
            junk: 0,
            notes: Vec::new(),
            problem: Some("it is secret".to_owned()),
        }
    }

    fn offering(&self) -> Arc<Offering> {
        Arc::clone(&self.offering.lock().unwrap())
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn told(&self) -> broadcast::Receiver<Told> {
        self.told.subscribe()
    }

    fn ask(&self, ask: Ask) -> Later<'_, Result<Raw, AskError>> {
        self.asked.lock().unwrap().push((ask.method.to_owned(), ask.params.clone()));
        Box::pin(async move {
            let mut open = self.gate.subscribe();
            tokio::select! {
                _ = open.wait_for(|open| *open) => (self.answer)(&ask).map(Raw::of),
                () = ask.cancelled.cancelled() => Err(AskError::Cancelled),
            }
        })
    }

    fn tell(&self, method: &'static str, params: Map<String, Value>) -> Later<'_, ()> {
        self.asked.lock().unwrap().push((method.to_owned(), params));
        Box::pin(std::future::ready(()))
    }

    fn stop(&self) -> Later<'_, ()> {
        self.change(Phase::Stopped, |_| {});
        Box::pin(std::future::ready(()))
    }
}
