//! One process of a server, from its start to its end.
//!
//! It must never return while anybody of the process lives, and never leave whoever waits for an answer without one.

use std::sync::Arc;
use std::time::Duration;

use hermes_model::context::{Context, Surface};
use hermes_output::reveal;
use hermes_output::stream::Stream;
use hermes_process::spawn::SpawnError;
use hermes_process::stdio::{self, Exit, Ladder, StdioChild, Streams};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::complaints::Complaints;
use super::link::wire::Loss;
use super::link::{HelloError, Link, Rest};
use super::listing::{self, List};
use super::prepare;
use super::raw::Raw;
use super::record::Record;

/// How a server is ended: most end with their input, and one that ignores SIGTERM must not keep a host.
const LADDER: Ladder = Ladder { after_input: Duration::from_secs(2), after_term: Duration::from_secs(2) };
/// How long the last words of a process that ended may take to arrive: they are in the pipe already, which others of its
/// tree may hold open.
const LAST_WORDS: Duration = Duration::from_millis(250);
/// How long a ping may take.
const PING: Duration = Duration::from_secs(30);

/// What a process has come to.
pub(super) enum News {
    /// It runs under this number.
    Spawned(i32),
    /// It answered and said what tools it has.
    Connected(Arc<Link>),
    /// It was not started, or did not answer as it should.
    Failed {
        /// Whether it is of no use to try again soon.
        permanent: bool,
        /// What is wrong and what to do.
        problem: String,
    },
    /// It ended, or the connection did.
    Lost(String),
}

/// What a process is told.
#[derive(Clone, Default)]
pub(super) struct Orders {
    /// End in steps.
    pub(super) end: CancellationToken,
    /// End at once.
    pub(super) kill: CancellationToken,
}

/// A task that ends with whoever holds this.
struct Attached(AbortHandle);

impl Drop for Attached {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs a process. Returns when nothing is left of it.
pub(super) async fn run(record: Arc<Record>, orders: Orders, news: mpsc::Sender<News>) {
    let mut run = Run { record, orders, news, hint: None };
    let Some((child, streams)) = run.start().await else { return };
    run.tell(News::Spawned(child.pid())).await;
    let Streams { input, output, errors } = streams;
    let complaints = run.listen(errors, child.pid());
    let trouble = tokio::select! {
        biased;
        () = run.orders.kill.cancelled() => return drop(child),
        () = run.orders.end.cancelled() => return drop(child),
        connected = run.connect(output, input) => match connected {
            Ok((link, rest)) => return run.stay(child, Arc::new(link), rest, complaints).await,
            Err(trouble) => trouble,
        },
        exit = child.exited() => Trouble::Exited(exit),
    };
    // With the connection its input is closed: one that closed its output most often ends by itself.
    let what = match trouble {
        Trouble::Closed => match timeout(LAST_WORDS, child.exited()).await {
            Ok(exit) => format!("it {} before it answered", how(exit)),
            Err(_) => "it closed its output before it answered".to_owned(),
        },
        Trouble::Exited(exit) => format!("it {} before it answered", how(exit)),
        Trouble::Other(what) => what,
    };
    let problem = run.problem(&what, &complaints).await;
    run.tell(News::Failed { permanent: false, problem }).await;
    run.end(child).await;
    let _ = timeout(LAST_WORDS, complaints.written()).await;
}

/// Why it did not connect.
enum Trouble {
    /// It closed its output, or does not read.
    Closed,
    /// It ended.
    Exited(Exit),
    /// In words.
    Other(String),
}

fn how(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exited with code {code}"),
        Exit::Signal(signal) => format!("was ended by signal {signal}"),
        Exit::Unknown => "ended".to_owned(),
    }
}

struct Run {
    record: Arc<Record>,
    orders: Orders,
    news: mpsc::Sender<News>,
    /// What the server may be missing, until it was there.
    hint: Option<String>,
}

impl Run {
    async fn tell(&self, news: News) {
        // The task of the server lives for longer than its process.
        let _ = self.news.send(news).await;
    }

    async fn start(&mut self) -> Option<(StdioChild, Streams)> {
        let spec = match prepare::prepare(&self.record).await {
            Ok(prepared) => {
                self.hint = prepared.hint;
                prepared.spec
            }
            Err(problem) => {
                let command = self.visible(self.record.config.command.clone()).await;
                let problem = format!("{problem} (its command is '{command}')");
                self.tell(News::Failed { permanent: true, problem }).await;
                return None;
            }
        };
        let started = tokio::select! {
            biased;
            () = self.orders.kill.cancelled() => return None,
            () = self.orders.end.cancelled() => return None,
            started = stdio::start(&self.record.setting.host, spec) => started,
        };
        match started {
            Ok(started) => Some(started),
            Err(error) => {
                let permanent = !matches!(error, SpawnError::Host { .. });
                // It quotes the command, which may hold what was put into it.
                let problem = self.visible(error.to_string()).await;
                self.tell(News::Failed { permanent, problem }).await;
                None
            }
        }
    }

    fn listen(&self, errors: Receiver, pid: i32) -> Complaints {
        let Record { setting, exact, .. } = &*self.record;
        let context = self.context(Surface::Stream);
        let stream = Stream::new(context, Arc::new(exact.clone()));
        Complaints::drain(errors, stream, setting.in_force.policy(), setting.logs.clone(), pid)
    }

    fn context(&self, surface: Surface) -> Context {
        let mut context = Context::new(surface);
        self.record.name.as_str().clone_into(&mut context.source);
        context
    }

    /// A text as it may be shown.
    async fn visible(&self, text: String) -> String {
        let (policy, exact) = (self.record.setting.in_force.policy(), self.record.exact.clone());
        let context = self.context(Surface::McpError);
        let reveal = move || reveal::reveal_text(&*policy, &context, &text, &exact).text.as_str().to_owned();
        let shown = tokio::task::spawn_blocking(reveal).await;
        shown.unwrap_or_else(|_| "it could not be started; why cannot be shown".to_owned())
    }

    /// The handshake, and the first list of tools.
    async fn connect(
        &self,
        output: Receiver,
        input: tokio::net::unix::pipe::Sender,
    ) -> Result<(Link, Rest<Receiver>), Trouble> {
        let record = &self.record;
        record.ears.counts.clear();
        let name = &record.name;
        let limit = record.config.connect_timeout;
        let connecting = async {
            let (link, rest) =
                Link::connect(output, input, record.ears.clone()).await.map_err(|error| match error {
                    HelloError::Gone => Trouble::Closed,
                    HelloError::Refused(code) => Trouble::Other(format!("it refused the handshake with error {code}")),
                    HelloError::Nonsense => Trouble::Other("its answer to the handshake makes no sense".to_owned()),
                })?;
            let hello = link.hello();
            let field = |field: &str| hello.value().get(field).cloned();
            let capabilities = Raw::of(field("capabilities").unwrap_or_default());
            let instructions = field("instructions").filter(|text| text.is_string()).map(Raw::of);
            record.offer(|offering| (offering.capabilities, offering.instructions) = (capabilities, instructions));
            read_list(record, &link, List::Tools).await;
            if link.has_ended() { Err(Trouble::Closed) } else { Ok((link, rest)) }
        };
        timeout(limit, connecting).await.unwrap_or_else(|_| {
            let limit = limit.as_secs();
            let what = format!(
                "it did not answer within {limit} s; raise mcp_servers.{name}.connect_timeout if it needs longer"
            );
            Err(Trouble::Other(what))
        })
    }

    /// It is there: for as long as it lasts, or until it is told to end.
    async fn stay(&mut self, child: StdioChild, link: Arc<Link>, rest: Rest<Receiver>, complaints: Complaints) {
        self.hint = None;
        let listing = Attached(tokio::spawn(keep_lists(Arc::clone(&self.record), Arc::clone(&link))).abort_handle());
        self.tell(News::Connected(Arc::clone(&link))).await;
        let lost = tokio::select! {
            biased;
            () = self.orders.kill.cancelled() => None,
            () = self.orders.end.cancelled() => None,
            loss = link.ended() => Some(loss),
            exit = child.exited() => {
                let _ = timeout(LAST_WORDS, link.ended()).await;
                link.close(Loss::Output);
                let what = format!("it {}", how(exit));
                self.lost(&what, &complaints).await;
                None
            }
            () = self.keep_alive(&link) => {
                link.close(Loss::Silent);
                Some(Loss::Silent)
            }
        };
        link.close(Loss::Closed);
        if let Some(loss) = lost {
            let what = match loss {
                Loss::Silent => format!("it did not answer a ping within {} s", PING.as_secs()),
                Loss::Deaf => "it did not read what it was sent".to_owned(),
                Loss::Output | Loss::Input | Loss::Closed => match timeout(LAST_WORDS, child.exited()).await {
                    Ok(exit) => format!("it {}", how(exit)),
                    Err(_) if loss == Loss::Input => "it closed its input".to_owned(),
                    Err(_) => "it closed its output".to_owned(),
                },
            };
            self.lost(&what, &complaints).await;
        }
        drop((listing, link));
        let draining = Attached(tokio::spawn(rest.drain()).abort_handle());
        self.end(child).await;
        drop(draining);
        let _ = timeout(LAST_WORDS, complaints.written()).await;
    }

    async fn lost(&self, what: &str, complaints: &Complaints) {
        let problem = self.problem(what, complaints).await;
        self.tell(News::Lost(problem)).await;
    }

    /// Pings where that is asked for. Returns when there is no answer.
    async fn keep_alive(&self, link: &Link) {
        let Some(every) = self.record.config.keepalive else { return std::future::pending().await };
        loop {
            tokio::time::sleep(every).await;
            // A server that works on an answer may not have the time.
            if self.record.idle_since().is_some() && !link.is_alive(PING).await && self.record.idle_since().is_some() {
                return;
            }
        }
    }

    /// A problem in words, with the last that the server complained of.
    async fn problem(&self, what: &str, complaints: &Complaints) -> String {
        let _ = timeout(LAST_WORDS, complaints.written()).await;
        let log = self.record.setting.logs.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = &self.record.name;
        let mut problem = match complaints.last_lines() {
            Some(lines) => format!("{what}; it last wrote to its stderr (logs/{log}): {lines}"),
            None => format!("{what}; it wrote nothing to its stderr: run the command of mcp_servers.{name} by hand"),
        };
        if let Some(hint) = &self.hint {
            problem.push_str("; ");
            problem.push_str(hint);
        }
        problem
    }

    async fn end(&self, child: StdioChild) {
        let pid = child.pid();
        let verdict = child.end(LADDER).await;
        if !verdict.is_complete() {
            let survivors = verdict.survivors.len();
            tracing::warn!(server = %self.record.name, pid, survivors, "a server could not be ended wholly");
        }
    }
}

/// Reads one list and offers it. An error is noted, and what was known before stays.
async fn read_list(record: &Record, link: &Link, list: List) {
    if !list.is_announced(&record.offering().capabilities) {
        record.note(list, None);
        return put(record, list, Vec::new());
    }
    match listing::read(link, list, &record.turns, record.config.connect_timeout).await {
        Ok(listed) => {
            record.note(list, listed.cut);
            put(record, list, listed.elements);
        }
        Err(note) => record.note(list, Some(note)),
    }
}

fn put(record: &Record, list: List, elements: Vec<Raw>) {
    let known = record.offering();
    let before = match list {
        List::Tools => &known.tools,
        List::Prompts => &known.prompts,
        List::Resources => &known.resources,
        List::Templates => &known.templates,
    };
    // Most servers offer the same after a restart, and whoever watches is not to look again for that.
    if before.len() == elements.len() && before.iter().zip(&elements).all(|(old, new)| old.value() == new.value()) {
        return;
    }
    drop(known);
    record.offer(|offering| match list {
        List::Tools => offering.tools = elements,
        List::Prompts => offering.prompts = elements,
        List::Resources => offering.resources = elements,
        List::Templates => offering.templates = elements,
    });
}

/// Reads the other lists, and each again when it changed.
async fn keep_lists(record: Arc<Record>, link: Arc<Link>) {
    let capabilities = record.offering().capabilities.clone();
    let reading = async {
        for list in [List::Prompts, List::Resources, List::Templates] {
            read_list(&record, &link, list).await;
        }
        if !record.offering().is_whole {
            record.offer(|offering| offering.is_whole = true);
        }
        loop {
            for list in record.ears.dirty.changed().await {
                read_list(&record, &link, list).await;
            }
        }
    };
    tokio::join!(listing::listen(&link, &capabilities), reading);
}
