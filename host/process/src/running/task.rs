//! The loop of one command: reads its output, waits for its exit, its time limit and requests, and does what the state says.
//!
//! It must never wait for the end of a pipe to call a command ended, and never leave while somebody of the tree is alive.

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hermes_model::id::ProcessId;
use hermes_model::status::Status;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::capture::{Capture, LIVE_CHUNKS};
use super::handle::{Ended, Process, Shared};
use super::input::{Input, Sink};
use super::message::Message;
use super::output::Output;
use super::source::Source;
use super::state::{Effect, Event, State};
use crate::host::Host;
use crate::kill::{self, Seen, Survivor, Verdict};
use crate::leader::{Exit, Leader};
use crate::pidfd;
use crate::pty::Terminal;
use crate::spec::{CommandSpec, Live};
use crate::tree::Member;

/// How many requests may wait: more is a caller in a loop, who then waits too.
const MESSAGES: usize = 16;

/// How many survivors are watched at a time, so that a swarm of them does not take all descriptors.
const WATCHED_MAX: usize = 32;

/// How soon the tree is looked at again where a survivor cannot be watched.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Who is named in the status of a command whose last handle was dropped.
const BY_NOBODY: &str = "dropped";

/// A started child that nobody watches yet. Dropping it kills it.
pub(crate) struct Newborn {
    pub(crate) host: Host,
    pub(crate) id: ProcessId,
    pub(crate) leader: Leader,
    pub(crate) ends: Ends,
    pub(crate) spec: CommandSpec,
}

/// The host's ends of a child's streams.
pub(crate) enum Ends {
    /// What it prints comes out of one pipe; what it reads goes into another, where it has one.
    Pipes { output: OwnedFd, input: Option<OwnedFd> },
    /// The master of its terminal.
    Terminal(OwnedFd),
}

impl Ends {
    fn open(self) -> io::Result<(Source, Input)> {
        Ok(match self {
            Self::Pipes { output, input } => {
                let sink = input.map(|input| Sender::from_owned_fd(input).map(|pipe| Sink::Pipe(Arc::new(pipe))));
                (Source::Pipe(Receiver::from_owned_fd(output)?), Input::new(sink.transpose()?))
            }
            Self::Terminal(master) => {
                let terminal = Arc::new(Terminal::new(master)?);
                (Source::terminal(Arc::clone(&terminal)), Input::new(Some(Sink::Terminal(terminal))))
            }
        })
    }
}

/// Gives a newborn its task.
pub(crate) fn adopt(newborn: Newborn) -> io::Result<Process> {
    let Newborn { host, id, leader, ends, spec } = newborn;
    let (pid, identity) = (leader.pid(), leader.tree().leader());
    let output = Arc::new(Output::new(spec.ring_bytes));
    let (live_in, live_out) = match spec.live {
        Live::None => (None, None),
        Live::Steady => Some(mpsc::channel(LIVE_CHUNKS)).unzip(),
        Live::Tap => (None, output.tap().1),
    };
    let (source, input) = ends.open()?;
    let input = Arc::new(input);
    let capture = Capture::new(source, Arc::clone(&output), live_in);
    let (messages, requests) = mpsc::channel(MESSAGES);
    let (announce, ended) = watch::channel(None);
    let (hurry, _) = watch::channel(false);
    let started = Instant::now();
    let task = Task {
        _host: host,
        leader: Some(leader),
        capture,
        output: Arc::clone(&output),
        input: Arc::clone(&input),
        requests,
        abandoned: false,
        announce,
        hurry,
        started,
        left: None,
        deadline: spec.timeout.and_then(|timeout| started.checked_add(timeout)),
        grace: spec.term_grace,
        answers: Vec::new(),
        ending: None,
        survivors_gone: None,
    };
    tokio::spawn(task.run());
    let shared = Shared { id, pid, identity, owner: spec.owner, output, input, live: Mutex::new(live_out), ended };
    Ok(Process { shared: Arc::new(shared), messages })
}

type Pending<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

struct Task {
    /// Orphans are collected for as long as a command runs.
    _host: Host,
    /// Gone once nothing of the tree is alive.
    leader: Option<Leader>,
    capture: Capture,
    output: Arc<Output>,
    input: Arc<Input>,
    requests: mpsc::Receiver<Message>,
    /// The last handle is gone.
    abandoned: bool,
    announce: watch::Sender<Option<Arc<Ended>>>,
    hurry: watch::Sender<bool>,
    started: Instant,
    /// When the leader ended.
    left: Option<Instant>,
    deadline: Option<Instant>,
    grace: Duration,
    /// Who waits for the verdict.
    answers: Vec<oneshot::Sender<Verdict>>,
    /// The ending of the tree, while it is under way.
    ending: Pending<Verdict>,
    /// Done when the survivors that were seen last have ended.
    survivors_gone: Pending<()>,
}

/// What woke the task.
enum Wake {
    Event(Event),
    Verdict(Verdict),
    SurvivorsGone,
    Nothing,
}

impl Task {
    async fn run(mut self) {
        let mut state = State::Running;
        while self.leader.is_some() {
            let event = match self.next(&state).await {
                Wake::Event(event) => event,
                Wake::Verdict(verdict) => {
                    self.ending = None;
                    state = self.act(state, Event::TreeEnded, Some(&verdict)).await;
                    for answer in self.answers.drain(..) {
                        // Whoever stopped waiting does not need the answer.
                        let _ = answer.send(verdict.clone());
                    }
                    continue;
                }
                Wake::SurvivorsGone => {
                    self.settle_or_watch(false).await;
                    continue;
                }
                Wake::Nothing => continue,
            };
            state = self.act(state, event, None).await;
        }
        // Refused from now on, and so is whatever was asked while the last of the tree ended.
        self.requests.close();
        while let Ok(Message::Stop { answer, .. }) = self.requests.try_recv() {
            let _ = answer.send(Verdict::complete());
        }
        self.capture.tree_is_gone();
        while !self.capture.is_done() {
            self.capture.step().await;
        }
    }

    async fn next(&mut self, state: &State) -> Wake {
        let left = self.left.is_some();
        tokio::select! {
            biased;
            // First: an exit that has happened is what counts, whatever else has too.
            exit = exit_of(&self.leader), if !left => {
                self.left = Some(Instant::now());
                Wake::Event(Event::Left(exit))
            }
            message = self.requests.recv(), if !self.abandoned => match message {
                Some(Message::Stop { by, answer }) => {
                    self.answers.push(answer);
                    Wake::Event(Event::StopAsked(by))
                }
                None => {
                    self.abandoned = true;
                    if state.is_running() { Wake::Event(Event::StopAsked(BY_NOBODY.to_owned())) } else { Wake::Nothing }
                }
            },
            () = tokio::time::sleep_until(self.deadline.unwrap_or_else(Instant::now)),
                if self.deadline.is_some() && state.is_running() => Wake::Event(Event::TimeUp),
            verdict = poll(&mut self.ending), if self.ending.is_some() => Wake::Verdict(verdict),
            () = poll(&mut self.survivors_gone), if self.survivors_gone.is_some() && state.is_over() => {
                self.survivors_gone = None;
                Wake::SurvivorsGone
            }
            () = self.capture.step(), if !self.capture.is_done() => Wake::Nothing,
        }
    }

    /// Moves the state on and does what follows. `verdict` is that of an ending that has just ended.
    async fn act(&mut self, state: State, event: Event, verdict: Option<&Verdict>) -> State {
        let (state, effect) = state.on(event);
        match effect {
            Effect::None => {
                if let (State::Over(_), Some(verdict)) = (&state, verdict) {
                    self.settle_or_watch(verdict.is_complete()).await;
                }
            }
            Effect::Hurry => {
                self.hurry.send_replace(true);
            }
            Effect::EndTree => {
                if let Some(leader) = &self.leader {
                    self.hurry.send_replace(false);
                    self.survivors_gone = None;
                    let ending = kill::end_tree(leader.tree(), self.grace, self.hurry.subscribe());
                    self.ending = Some(Box::pin(ending));
                }
            }
            Effect::Announce(status) => self.announce_end(status, verdict).await,
        }
        state
    }

    /// The end of the command: the rest of its output, whoever survived, and only then the news.
    async fn announce_end(&mut self, status: Status, verdict: Option<&Verdict>) {
        let duration = self.left.unwrap_or_else(Instant::now) - self.started;
        // Whoever survives reads the end of it.
        self.input.end();
        self.capture.drain().await;
        let survivors = match verdict {
            Some(verdict) => {
                let survivors = verdict.survivors.clone();
                self.settle_or_watch(verdict.is_complete()).await;
                survivors
            }
            None => self.settle_or_watch(false).await,
        };
        self.output.finish();
        let ended = Ended { status, survivors, duration, printed: Arc::clone(&self.output) };
        self.announce.send_replace(Some(Arc::new(ended)));
    }

    /// Lets the leader go if nobody of the tree is alive (`gone`: that is known), or else watches those who are.
    async fn settle_or_watch(&mut self, gone: bool) -> Vec<Survivor> {
        let Some(leader) = &self.leader else { return Vec::new() };
        let (pid, tree) = (leader.pid(), leader.tree());
        let seen = if gone { Ok(Seen::Gone) } else { kill::look(&tree).await };
        match seen {
            Ok(Seen::Gone) => {
                if let Some(leader) = self.leader.take() {
                    leader.settle();
                }
                return Vec::new();
            }
            Ok(Seen::Alive(members)) => {
                let survivors = Survivor::of(&members);
                self.survivors_gone = Some(Box::pin(all_gone(members)));
                return survivors;
            }
            Ok(Seen::Restless) => tracing::warn!(pid, "survivors fork and exit too fast to be seen; will look again"),
            Err(error) => tracing::warn!(pid, %error, "cannot look for survivors; will try again"),
        }
        self.survivors_gone = Some(Box::pin(tokio::time::sleep(LOOK_AGAIN)));
        Vec::new()
    }
}

async fn poll<T>(pending: &mut Pending<T>) -> T {
    match pending {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

async fn exit_of(leader: &Option<Leader>) -> Exit {
    match leader {
        Some(leader) => leader.exited().await,
        None => std::future::pending().await,
    }
}

/// Returns when all of these have ended, or after a while where that cannot be seen.
async fn all_gone(members: Vec<Member>) {
    // A number may be somebody else's by now: then one look too many follows, no more.
    let watches: Vec<_> = members.iter().take(WATCHED_MAX).map(|member| pidfd::watch(member.identity.pid)).collect();
    for watch in watches {
        match watch {
            Ok(Some(pidfd)) => {
                // Whatever this says, the tree is looked at again.
                let _ = pidfd.readable().await;
            }
            // It was gone before it could be watched.
            Ok(None) => {}
            Err(_) => tokio::time::sleep(LOOK_AGAIN).await,
        }
    }
}
