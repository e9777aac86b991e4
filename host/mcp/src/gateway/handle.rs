//! The handle of the gateway: what sessions list and ask.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hermes_ledger::live::handle::Ledger;
use hermes_model::context::{Context, Surface};
use hermes_model::id::Owner;
use hermes_model::report::{PolicyReport, Withheld};
use hermes_output::exact::ExactValues;
use hermes_output::json::{RevealedJson, WithheldJson, reveal_json};
use hermes_output::policy::{InForce, Policy};
use hermes_output::reveal::{Revealed, reveal_text};
use hermes_output::visible::Visible;
use serde_json::Value;
use tokio::sync::broadcast;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::catalogue::{self, Catalogue, Shelf};
use super::counting::{self, Counts};
use super::names;
use super::news::{self, News};
use super::serving::Serving;
use super::store::Store;
use super::subscribing::Subscriptions;
use crate::servers::handle::Phase;
use crate::servers::listing::List;

/// How long a list waits for servers that are about to be ready: a client may never ask again.
const LIST_WAIT: Duration = Duration::from_secs(3);
/// How long a client waits to be told who this is until servers that start have said who they are. Its first list waits for
/// them anyway.
const HELLO_WAIT: Duration = Duration::from_secs(1);
/// How long a call of something unknown waits for a server that may have it.
const CALL_WAIT: Duration = Duration::from_secs(15);

/// How long the last report of progress may take before the answer.
pub(crate) const LAST_PROGRESS: Duration = Duration::from_secs(1);

/// What a gateway works with.
#[derive(Clone)]
pub struct Means {
    /// The policy.
    pub in_force: Arc<dyn InForce>,
    /// The secrets of the host itself, masked in everything.
    pub exact: ExactValues,
    /// The longest text of an answer, in bytes (`output.reply_bytes`).
    pub reply_bytes: usize,
    /// Where it is counted what the policy did.
    pub ledger: Ledger,
}

/// The servers of a host as agents see them. Cloning it gives another handle to the same.
#[derive(Clone)]
pub struct Gateway {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    servers: Vec<Entry>,
    pub(crate) means: Means,
    store: Store,
    subscriptions: Subscriptions,
    counts: Arc<Counts>,
    catalogue: Mutex<Option<Made>>,
    pub(crate) news: broadcast::Sender<News>,
    watching: Mutex<Vec<AbortHandle>>,
}

struct Entry {
    serving: Arc<dyn Serving>,
    /// The secrets it was given, and those of the host: preparing to look for them costs far more than looking.
    exact: ExactValues,
    shelf: tokio::sync::Mutex<Option<Arc<Shelf>>>,
}

/// A catalogue and the shelves it was made of.
struct Made {
    shelves: Vec<Arc<Shelf>>,
    catalogue: Arc<Catalogue>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        for watching in self.watching.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            watching.abort();
        }
    }
}

impl Gateway {
    /// A gateway to these servers; their order is that of the lists. Call it inside a runtime.
    pub fn start(servers: Vec<Arc<dyn Serving>>, means: Means) -> Self {
        let entry = |serving: Arc<dyn Serving>| {
            let exact = ExactValues::joined([&serving.exact(), &means.exact]);
            Entry { serving, exact, shelf: tokio::sync::Mutex::default() }
        };
        let servers: Vec<Entry> = servers.into_iter().map(entry).collect();
        let counts = Counts::new(means.ledger.clone());
        let shared = Arc::new(Shared {
            servers,
            means,
            store: Store::default(),
            subscriptions: Subscriptions::default(),
            counts: Arc::clone(&counts),
            catalogue: Mutex::default(),
            news: broadcast::channel(news::KEPT).0,
            watching: Mutex::default(),
        });
        let watch = |(at, entry): (usize, &Entry)| {
            let serving = Arc::clone(&entry.serving);
            tokio::spawn(news::watch(Arc::downgrade(&shared), at, serving)).abort_handle()
        };
        let mut watching: Vec<AbortHandle> = shared.servers.iter().enumerate().map(watch).collect();
        watching.push(tokio::spawn(counting::keep_writing(counts)).abort_handle());
        *shared.watching.lock().unwrap_or_else(PoisonError::into_inner) = watching;
        Self { shared }
    }

    pub(super) fn of(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Tells every session something. Nobody may listen.
    pub(super) fn say(&self, news: News) {
        let _ = self.shared.news.send(news);
    }

    /// The servers, in their order.
    pub fn servers(&self) -> impl ExactSizeIterator<Item = &Arc<dyn Serving>> {
        self.shared.servers.iter().map(|entry| &entry.serving)
    }

    pub(crate) fn server(&self, at: usize) -> &Arc<dyn Serving> {
        &self.shared.servers[at].serving
    }

    /// What was too large for its answer.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// The longest text of an answer, in bytes.
    pub(crate) fn reply_bytes(&self) -> usize {
        self.means().reply_bytes
    }

    pub(super) fn subscriptions(&self) -> &Subscriptions {
        &self.shared.subscriptions
    }

    pub(crate) fn means(&self) -> &Means {
        &self.shared.means
    }

    pub(crate) fn news(&self) -> broadcast::Receiver<News> {
        self.shared.news.subscribe()
    }

    /// Begins to start the servers that were retired, for a client that comes.
    pub fn wake(&self) {
        for serving in self.servers() {
            if serving.standing().phase == Phase::Stopped && !serving.config().lazy {
                serving.wake();
            }
        }
    }

    /// Waits until no server is about to be ready of which nothing is known yet, but not for ever. One that is started
    /// only when somebody needs it is needed now.
    pub(crate) async fn settled(&self) {
        self.wait_for(LIST_WAIT, |_| true, untold).await;
    }

    /// The same until all their lists were read: prompts and resources come after the tools.
    pub(crate) async fn settled_whole(&self) {
        self.wait_for(LIST_WAIT, |_| true, unread).await;
    }

    /// The same for the server to which a tool of this name may belong.
    pub(crate) async fn settled_for(&self, name: &str) {
        self.wait_for(CALL_WAIT, |serving| names::may_be_of(name, serving.name().as_str()), untold).await;
    }

    /// The same for the server to which a prompt of this name may belong.
    pub(crate) async fn settled_whole_for(&self, name: &str) {
        self.wait_for(CALL_WAIT, |serving| names::may_be_of(name, serving.name().as_str()), unread).await;
    }

    /// Waits until the servers that are being started have said who they are, but not for long. It starts none.
    pub(crate) async fn introduced(&self) {
        let silent = |serving: &Arc<dyn Serving>| serving.standing().phase == Phase::Starting && unknown(serving);
        until_none(self.servers(), Instant::now() + HELLO_WAIT, silent).await;
    }

    async fn wait_for(
        &self,
        patience: Duration,
        meant: impl Fn(&Arc<dyn Serving>) -> bool,
        lacks: impl Fn(&Arc<dyn Serving>) -> bool,
    ) {
        let asleep = |serving: &Arc<dyn Serving>| {
            unknown(serving) && serving.standing().phase == Phase::Stopped && serving.config().enabled
        };
        let meant: Vec<_> = self.servers().filter(|serving| meant(serving)).collect();
        meant.iter().filter(|serving| asleep(serving)).for_each(|serving| serving.wake());
        until_none(meant, Instant::now() + patience, lacks).await;
    }

    /// Everything that is offered now.
    pub(crate) async fn catalogue(&self) -> Arc<Catalogue> {
        let mut shelves = Vec::with_capacity(self.shared.servers.len());
        for (server, entry) in self.shared.servers.iter().enumerate() {
            shelves.push(self.shelf(server, entry).await);
        }
        let mut made = self.shared.catalogue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = &*made
            && made.shelves.iter().zip(&shelves).all(|(before, now)| Arc::ptr_eq(before, now))
        {
            return Arc::clone(&made.catalogue);
        }
        let names = self.servers().map(|serving| serving.name());
        let catalogue = Arc::new(Catalogue::of(names.zip(shelves.iter().map(Arc::as_ref))));
        *made = Some(Made { shelves, catalogue: Arc::clone(&catalogue) });
        catalogue
    }

    async fn shelf(&self, server: usize, entry: &Entry) -> Arc<Shelf> {
        let (policy, offering) = (self.policy(), entry.serving.offering());
        let mut kept = entry.shelf.lock().await;
        if let Some(shelf) = kept.as_ref().filter(|shelf| shelf.is_of(&offering, &*policy)) {
            return Arc::clone(shelf);
        }
        let gateway = self.clone();
        let made = tokio::task::spawn_blocking(move || catalogue::shelf(&gateway, server, offering));
        match made.await {
            Ok(shelf) => Arc::clone(kept.insert(Arc::new(shelf))),
            Err(_) => {
                tracing::error!(server = %entry.serving.name(), "looking at what a server offers broke down");
                Arc::clone(kept.insert(Arc::new(Shelf::broken(broken_words()))))
            }
        }
    }

    /// What decides about what servers say.
    pub(super) fn policy(&self) -> Arc<dyn Policy> {
        self.means().in_force.policy()
    }

    /// The secrets that are masked in everything a server says.
    pub(super) fn exact(&self, server: usize) -> &ExactValues {
        &self.shared.servers[server].exact
    }

    /// What hooks are told of something a server says to an owner.
    pub(super) fn context(&self, server: usize, surface: Surface, owner: Owner) -> Context {
        let source = self.server(server).name().as_str().to_owned();
        Context { source, owner, ..Context::new(surface) }
    }

    /// Counts what the policy did to something of a server that had `bytes` before.
    pub(super) fn count(
        &self,
        server: usize,
        surface: Surface,
        policy: &dyn Policy,
        report: &PolicyReport,
        bytes: u64,
    ) {
        self.shared.counts.add(self.server(server).name(), surface, policy, report, bytes);
    }

    /// Returns when what was counted is in the ledger, or soon.
    pub(crate) async fn counted(&self) {
        self.shared.counts.written().await;
    }

    /// Shows a document of a server. Plugins are asked, so it may block.
    pub(super) fn look(
        &self,
        server: usize,
        surface: Surface,
        owner: Owner,
        value: Value,
    ) -> Result<RevealedJson, WithheldJson> {
        let (policy, context) = (self.policy(), self.context(server, surface, owner));
        let bytes = counting::size(&value);
        let revealed = reveal_json(&*policy, &context, value, self.exact(server));
        let report = revealed.as_ref().map_or_else(|withheld| &withheld.report, |revealed| &revealed.report);
        self.count(server, surface, &*policy, report, bytes);
        revealed
    }

    /// Shows a text of a server, or about it. Plugins are asked, so it may block.
    pub(super) fn look_at_text(&self, server: usize, surface: Surface, text: &str) -> Revealed {
        let (policy, context) = (self.policy(), self.context(server, surface, Owner::default()));
        let revealed = reveal_text(&*policy, &context, text, self.exact(server));
        self.count(server, surface, &*policy, &revealed.report, revealed.output_bytes);
        revealed
    }

    /// Shows a document of a server.
    pub(crate) async fn reveal(
        &self,
        server: usize,
        surface: Surface,
        owner: Owner,
        value: Value,
    ) -> Result<RevealedJson, WithheldJson> {
        let gateway = self.clone();
        let revealed = tokio::task::spawn_blocking(move || gateway.look(server, surface, owner, value));
        revealed.await.unwrap_or_else(|_| Err(broken()))
    }

    /// Shows a sentence of this host about a server.
    pub(crate) async fn sentence(&self, server: usize, text: String) -> String {
        let gateway = self.clone();
        let shown = tokio::task::spawn_blocking(move || gateway.look_at_text(server, Surface::McpError, &text).text);
        shown.await.map_or_else(|_| broken_words(), |shown| shown.as_str().to_owned())
    }
}

fn broken_words() -> String {
    "it cannot be shown: the policy broke down; the log of the host says where".to_owned()
}

/// Returns when this is true of none of them any more, or at the deadline.
async fn until_none<'a>(
    servers: impl IntoIterator<Item = &'a Arc<dyn Serving>>,
    deadline: Instant,
    lacks: impl Fn(&Arc<dyn Serving>) -> bool,
) {
    for serving in servers {
        let mut changes = serving.changes();
        while lacks(serving) {
            match tokio::time::timeout_at(deadline, changes.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => break,
                Err(_) => return,
            }
        }
    }
}

fn unknown(serving: &Arc<dyn Serving>) -> bool {
    serving.offering().capabilities.value().is_null()
}

/// Whether it is about to say which tools it has: it says who it is before that.
fn untold(serving: &Arc<dyn Serving>) -> bool {
    let offering = serving.offering();
    let announced = List::Tools.is_announced(&offering.capabilities);
    serving.standing().phase == Phase::Starting && (unknown(serving) || announced && offering.tools.is_empty())
}

/// Whether lists of it are about to be read for the first time.
fn unread(serving: &Arc<dyn Serving>) -> bool {
    let coming = matches!(serving.standing().phase, Phase::Starting | Phase::Ready | Phase::Proven);
    coming && !serving.offering().is_whole
}

/// What stands for a document on which the policy broke down.
pub(super) fn broken() -> WithheldJson {
    let withheld = Withheld { plugin: "hermes".to_owned(), code: "failed".to_owned(), message: broken_words() };
    WithheldJson {
        notice: Visible::empty(),
        report: PolicyReport { withheld: Some(withheld), ..PolicyReport::default() },
    }
}
