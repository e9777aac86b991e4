//! The task of a server: takes messages and news, asks the state what they mean, and does it.
//!
//! It must never wait for a process in its loop: whoever asks for another server's list must not wait for this one's start.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::link::Link;
use super::message::Message;
use super::record::Record;
use super::run::{self, News, Orders};
use super::state::{Effect, Event, Life, PARKED_FOR, State};

/// How many news of a process may wait: it has a few in its whole life.
const NEWS: usize = 8;

/// A process that is there.
struct Running {
    orders: Orders,
    news: mpsc::Receiver<News>,
    over: JoinHandle<()>,
}

struct Task {
    record: Arc<Record>,
    life: Life,
    running: Option<Running>,
    waiting: Vec<oneshot::Sender<Result<Arc<Link>, String>>>,
    stopping: Vec<oneshot::Sender<()>>,
}

/// What the loop heard.
enum Heard {
    Message(Option<Message>),
    Woken,
    News(News),
    Over,
    Time,
}

/// Lives until the last handle is gone, and ends the process then.
pub(super) async fn live(record: Arc<Record>, mut messages: mpsc::Receiver<Message>) {
    let mut life = Life::new(RandomState::new().build_hasher().finish());
    if !record.config.enabled {
        (life, _) = life.on(Event::Stop { for_good: true }, Instant::now());
    }
    let mut task = Task { record, life, running: None, waiting: Vec::new(), stopping: Vec::new() };
    let mut orphaned = false;
    loop {
        let heard = task.hear(&mut messages, orphaned).await;
        match heard {
            Heard::Message(Some(message)) => task.take(message),
            Heard::Message(None) => {
                orphaned = true;
                task.on(Event::Stop { for_good: true });
            }
            Heard::Woken => task.wake(),
            Heard::News(news) => task.learn(news),
            Heard::Over => task.over(),
            Heard::Time => task.pass_time(),
        }
        task.settle();
        if orphaned && task.running.is_none() {
            return;
        }
    }
}

impl Task {
    async fn hear(&mut self, messages: &mut mpsc::Receiver<Message>, orphaned: bool) -> Heard {
        let deadline = self.deadline();
        let time = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let process = async {
            let Some(Running { news, over, .. }) = &mut self.running else { return std::future::pending().await };
            match news.recv().await {
                Some(news) => Heard::News(news),
                // What broke down has dropped its process, and with it everybody of it.
                None => {
                    let _ = over.await;
                    Heard::Over
                }
            }
        };
        tokio::select! {
            biased;
            heard = process => heard,
            message = messages.recv(), if !orphaned => Heard::Message(message),
            () = self.record.woken.notified(), if !orphaned => Heard::Woken,
            () = time => Heard::Time,
        }
    }

    /// When something is to be done though nothing happens.
    fn deadline(&self) -> Option<Instant> {
        let idle = self.record.config.idle_timeout.filter(|_| self.is_running()).map(|limit| {
            // Whoever is being answered ends its idle time when it is.
            self.record.idle_since().unwrap_or_else(Instant::now) + limit
        });
        self.life.deadline().into_iter().chain(idle).min()
    }

    fn is_running(&self) -> bool {
        matches!(self.life.state, State::Running { .. })
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Want(want) => {
                self.waiting.push(want);
                self.wake();
            }
            Message::Succeeded => self.on(Event::Succeeded),
            Message::Retire => self.retire(),
            Message::Stop { for_good, done } => {
                self.stopping.push(done);
                self.on(Event::Stop { for_good });
            }
        }
    }

    /// Somebody needs it.
    fn wake(&mut self) {
        if self.is_running() {
            // A link that has just ended is known here before its process is: what follows is decided with that.
            return self.serve();
        }
        self.on(Event::Wake);
    }

    fn retire(&mut self) {
        // Somebody who waits for an answer needs it.
        if self.record.idle_since().is_some() && self.waiting.is_empty() {
            self.on(Event::Retire);
        }
    }

    fn learn(&mut self, news: News) {
        match news {
            News::Spawned(pid) => self.record.set_status(|status| {
                (status.pid, status.since) = (Some(pid), Some(SystemTime::now()));
            }),
            News::Connected(link) => {
                let protocol = link.protocol();
                self.record.set_link(Some(link));
                self.record.touch();
                self.record.set_status(|status| (status.protocol, status.problem) = (protocol, None));
                self.on(Event::Connected);
            }
            News::Failed { permanent, problem } => {
                self.record.set_status(|status| status.problem = Some(problem));
                self.on(Event::Failed { permanent });
            }
            News::Lost(problem) => {
                self.record.set_link(None);
                self.record.set_status(|status| status.problem = Some(problem));
                self.on(Event::Lost);
                if !self.waiting.is_empty() {
                    self.on(Event::Wake);
                }
            }
        }
    }

    fn over(&mut self) {
        self.running = None;
        self.record.set_link(None);
        self.record.set_status(|status| (status.pid, status.since) = (None, None));
        if matches!(self.life.state, State::Starting | State::Running { .. }) {
            // It never said why.
            self.on(Event::Lost);
        }
        self.on(Event::Over);
    }

    fn pass_time(&mut self) {
        self.on(Event::Tick);
        let limit = self.record.config.idle_timeout.filter(|_| self.is_running());
        let idle = self.record.idle_since().map(|since| since.elapsed());
        if limit.is_some_and(|limit| idle.is_some_and(|idle| idle >= limit)) {
            self.retire();
        }
    }

    fn on(&mut self, event: Event) {
        let (life, effects) = self.life.clone().on(event, Instant::now());
        self.life = life;
        for effect in effects {
            match effect {
                Effect::Start => self.start(),
                Effect::End => self.order(|orders| &orders.end),
                Effect::Kill => self.order(|orders| &orders.kill),
                Effect::Serve => self.serve(),
                Effect::TurnAway => self.turn_away(),
            }
        }
        let (phase, restarts) = (self.life.phase(), self.life.starts.saturating_sub(1));
        self.record.set_status(|status| (status.phase, status.restarts) = (phase, restarts));
    }

    fn start(&mut self) {
        let (orders, (tell, news)) = (Orders::default(), mpsc::channel(NEWS));
        let over = tokio::spawn(run::run(Arc::clone(&self.record), orders.clone(), tell));
        self.running = Some(Running { orders, news, over });
    }

    fn order(&mut self, which: impl FnOnce(&Orders) -> &tokio_util::sync::CancellationToken) {
        self.record.set_link(None);
        if let Some(running) = &self.running {
            which(&running.orders).cancel();
        }
    }

    fn serve(&mut self) {
        if let Some(link) = self.record.link() {
            for waiting in self.waiting.drain(..) {
                // Whoever waited may have given up.
                let _ = waiting.send(Ok(Arc::clone(&link)));
            }
        }
    }

    fn turn_away(&mut self) {
        let problem = self.record.status().problem.unwrap_or_else(|| "it was stopped".to_owned());
        let problem = match self.life.state {
            State::Parked { .. } => {
                let minutes = PARKED_FOR.as_secs() / 60;
                format!(
                    "{problem} (it failed too often, and is tried again every {minutes} minutes and when it is asked)"
                )
            }
            _ => problem,
        };
        for waiting in self.waiting.drain(..) {
            let _ = waiting.send(Err(problem.clone()));
        }
    }

    /// Tells whoever waited for the end that it came.
    fn settle(&mut self) {
        if self.running.is_none() && matches!(self.life.state, State::Stopped { .. }) {
            for stopping in self.stopping.drain(..) {
                let _ = stopping.send(());
            }
        }
        self.waiting.retain(|waiting| !waiting.is_closed());
    }
}
