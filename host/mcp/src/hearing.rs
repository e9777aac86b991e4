//! What a session hears by itself: that lists changed, log messages, resources it subscribed to, that events wait.
//!
//! One task a session, which tells one thing after the other. It must never make anybody else wait for its client.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hermes_process::registry::handle::Who;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::gateway::handle::Gateway;
use crate::gateway::news::{Changed, Level, News};
use crate::reach::Reach;
use crate::session::Session;

/// How long changes are collected before they are told: a server that says a hundred times that its list changed is asked
/// once by each client.
const COLLECT: Duration = Duration::from_millis(100);
/// How often a session is told at most that events wait.
const EVENTS: Duration = Duration::from_secs(1);
/// How long one wait for events lasts.
const EVENTS_WAIT: Duration = Duration::from_secs(30);
/// The level of what is told of events.
const LEVEL: Level = Level::Info;
/// How many resources one session may subscribe to.
pub(crate) const SUBSCRIPTIONS_MAX: usize = 1000;

/// What a session wants to hear.
pub(crate) struct Hearing {
    wishes: Mutex<Wishes>,
}

struct Wishes {
    /// What is said from the beginning of the session on, until somebody tells it.
    news: Option<broadcast::Receiver<News>>,
    level: Option<Level>,
    /// The URI a client subscribed with, by server and the server's own URI.
    subscribed: HashMap<(usize, String), String>,
    task: Option<AbortHandle>,
    over: bool,
}

impl Hearing {
    /// Hears everything that is said from now on; it is told once [`Hearing::begin`] was called.
    pub(crate) fn new(gateway: &Gateway) -> Self {
        let news = Some(gateway.news());
        Self { wishes: Mutex::new(Wishes { news, level: None, subscribed: HashMap::new(), task: None, over: false }) }
    }

    fn wishes(&self) -> MutexGuard<'_, Wishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, log messages from this level up.
    pub(crate) fn set_level(&self, level: Level) {
        self.wishes().level = Some(level);
    }

    /// Whether it hears what a server logs at this level: only a client that named one wants to.
    fn hears_servers(&self, level: Level) -> bool {
        self.wishes().level.is_some_and(|least| level >= least)
    }

    /// Whether it hears that events wait.
    fn hears_of_events(&self) -> bool {
        self.wishes().level.is_none_or(|least| LEVEL >= least)
    }

    /// Begins to hear of a resource. False: there are too many.
    pub(crate) fn subscribe(&self, server: usize, own: String, uri: String) -> bool {
        let mut wishes = self.wishes();
        let room = wishes.subscribed.len() < SUBSCRIPTIONS_MAX && !wishes.over;
        if room {
            wishes.subscribed.insert((server, own), uri);
        }
        room
    }

    /// No longer hears of a resource. False: it did not.
    pub(crate) fn unsubscribe(&self, server: usize, own: &str) -> bool {
        self.wishes().subscribed.remove(&(server, own.to_owned())).is_some()
    }

    fn subscribed(&self, server: usize, own: &str) -> Option<String> {
        self.wishes().subscribed.get(&(server, own.to_owned())).cloned()
    }

    /// Begins to tell the client of `session`. Once is enough.
    pub(crate) fn begin(session: &Arc<Session>, reach: Reach) {
        let mut wishes = session.hearing.wishes();
        if wishes.over {
            return;
        }
        if let Some(news) = wishes.news.take() {
            wishes.task = Some(tokio::spawn(tell(Arc::clone(session), reach, news)).abort_handle());
        }
    }

    /// Tells nothing any more, and gives up what was subscribed to.
    pub(crate) async fn end(&self, gateway: &Gateway) {
        let subscribed = {
            let mut wishes = self.wishes();
            wishes.over = true;
            wishes.news = None;
            if let Some(task) = wishes.task.take() {
                task.abort();
            }
            std::mem::take(&mut wishes.subscribed)
        };
        let mut by_server = BTreeMap::<usize, Vec<String>>::new();
        for (server, own) in subscribed.into_keys() {
            by_server.entry(server).or_default().push(own);
        }
        for (server, owns) in by_server {
            gateway.unsubscribed(server, owns);
        }
    }
}

async fn tell(session: Arc<Session>, reach: Reach, news: broadcast::Receiver<News>) {
    tokio::select! {
        () = tell_news(&session, &reach, news) => {}
        () = tell_of_events(&session, &reach) => {}
    }
}

/// Tells what servers say, until the client is gone.
async fn tell_news(session: &Session, reach: &Reach, mut news: broadcast::Receiver<News>) {
    let mut collected: Option<(Changed, Instant)> = None;
    loop {
        let due = collected.map(|(_, due)| due);
        let heard = tokio::select! {
            heard = news.recv() => Some(heard),
            () = async { tokio::time::sleep_until(due.unwrap_or_else(Instant::now)).await }, if due.is_some() => None,
        };
        let told = match heard {
            None => match collected.take() {
                Some((changed, _)) => tell_changed(reach, changed).await,
                None => true,
            },
            Some(Ok(News::Changed(changed))) => {
                collect(&mut collected, changed);
                true
            }
            Some(Ok(News::Logged { level, params })) if session.hearing.hears_servers(level) => {
                reach.tell("notifications/message", Some(Value::clone(&params))).await
            }
            Some(Ok(News::Updated { server, own })) => match session.hearing.subscribed(server, &own) {
                Some(uri) => reach.tell("notifications/resources/updated", Some(json!({"uri": uri}))).await,
                None => true,
            },
            Some(Ok(News::Logged { .. })) => true,
            // It missed something, and nobody knows what.
            Some(Err(RecvError::Lagged(_))) => {
                collect(&mut collected, Changed::ALL);
                true
            }
            Some(Err(RecvError::Closed)) => return,
        };
        if !told {
            return;
        }
    }
}

fn collect(collected: &mut Option<(Changed, Instant)>, changed: Changed) {
    match collected {
        Some((before, _)) => *before = before.or(changed),
        None => *collected = Some((changed, Instant::now() + COLLECT)),
    }
}

async fn tell_changed(reach: &Reach, changed: Changed) -> bool {
    for (is, method) in [
        (changed.tools, "notifications/tools/list_changed"),
        (changed.prompts, "notifications/prompts/list_changed"),
        (changed.resources, "notifications/resources/list_changed"),
    ] {
        if is && !reach.tell(method, None).await {
            return false;
        }
    }
    true
}

/// Tells that events wait, whenever there are more of them. It takes none: the agent does, by the tool.
async fn tell_of_events(session: &Session, reach: &Reach) {
    let registry = &session.offer.registry;
    let who = Who::Owner(session.asker.owner());
    let mut known = 0;
    loop {
        // What the ledger cannot say now is asked again.
        let _ = registry.events(&who, 0, EVENTS_WAIT, false).await;
        let pending = registry.pending(&who).await.unwrap_or(known);
        if pending > known && session.hearing.hears_of_events() {
            let data =
                json!({"events": pending, "next": "take them with the tool 'process', {\"action\": \"events\"}"});
            let params = json!({"level": "info", "logger": "hermes", "data": data});
            if !reach.tell("notifications/message", Some(params)).await {
                return;
            }
        }
        known = pending;
        tokio::time::sleep(EVENTS).await;
    }
}
