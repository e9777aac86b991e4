//! What is kept for one client: who it is, the events it has not acknowledged, the logs it follows.
//!
//! A session that ends gives back every event that did not arrive. It must never believe an agent that names another
//! owner than its own.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hermes_ledger::event::{Claim, Settled};
use hermes_ledger::problem::LedgerError;
use hermes_model::id::Owner;
use hermes_process::registry::handle::Who;
use hermes_process::registry::request::Source;
use tokio::sync::Semaphore;

use crate::hearing::Hearing;
use crate::offer::Offer;
use crate::serve::Clients;
use crate::tools::arguments::Given;
use crate::tools::follow::Followers;
use crate::tools::trouble::{Code, Trouble};

/// How many calls of one client are worked on at the same time: more than any agent makes, and a bound for one that does
/// not read its answers.
const CALLS_MAX: usize = 64;

/// Who is at the other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asker {
    /// The user of this host, at a command line: whoever can reach the socket. May name any owner.
    Person,
    /// An agent, which sees what is its own.
    Agent(Owner),
}

impl Asker {
    /// Who is meant where nobody is named.
    pub(crate) fn owner(&self) -> Owner {
        match self {
            Self::Person => Owner::default(),
            Self::Agent(owner) => owner.clone(),
        }
    }
}

/// How many digits the owner of a session has that nobody named, in bytes.
const OWNER_BYTES: usize = 4;

/// An owner for a session of an agent that nobody named: `mcp-` and 8 hexadecimal digits.
///
/// # Errors
/// The system has no random numbers.
pub fn fresh_owner() -> std::io::Result<Owner> {
    let mut random = [0; OWNER_BYTES];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Owner::new(format!("mcp-{digits}")))
}

/// The number of the next session of this program.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The fields by which a person says whose processes are meant.
pub(crate) const WHOSE: [&str; 2] = ["owner", "all"];

/// One client and what is kept for it.
pub struct Session {
    pub(crate) offer: Arc<Offer>,
    pub(crate) asker: Asker,
    pub(crate) followers: Followers,
    pub(crate) calls: Arc<Semaphore>,
    pub(crate) clients: Clients,
    /// A number no other session of this program has.
    pub(crate) number: u64,
    /// What it wants to hear by itself.
    pub(crate) hearing: Hearing,
    held: Mutex<Held>,
}

/// The events that are on their way to a client.
#[derive(Default)]
struct Held {
    claims: Vec<Claim>,
    over: bool,
}

impl Session {
    /// A session that holds nothing yet. `clients` counts all clients of the host.
    pub fn new(offer: Arc<Offer>, asker: Asker, clients: Clients) -> Arc<Self> {
        if let Asker::Agent(owner) = &asker {
            clients.comes(owner);
            offer.gateway.wake();
        }
        let hearing = Hearing::new(&offer.gateway);
        Arc::new(Self {
            offer,
            asker,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            hearing,
            followers: Followers::default(),
            calls: Arc::new(Semaphore::new(CALLS_MAX)),
            clients,
            held: Mutex::default(),
        })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whose processes a call is about.
    pub(crate) fn who(&self, given: &Given) -> Result<Who, Trouble> {
        if given.flag("all")? {
            self.only_a_person("all")?;
            return Ok(Who::Anybody);
        }
        Ok(Who::Owner(self.owner(given)?))
    }

    /// Whose a process becomes.
    pub(crate) fn owner(&self, given: &Given) -> Result<Owner, Trouble> {
        let named = given.text("owner")?.filter(|name| !name.is_empty());
        match (&self.asker, named) {
            (Asker::Person, None) => Ok(Owner::default()),
            (Asker::Person, Some(name)) => Ok(Owner::new(name)),
            (Asker::Agent(owner), None) => Ok(owner.clone()),
            (Asker::Agent(_), Some(_)) => self.only_a_person("owner").map(|()| Owner::default()),
        }
    }

    /// Refuses a field that only a person may use.
    pub(crate) fn only_a_person(&self, field: &str) -> Result<(), Trouble> {
        match self.asker {
            Asker::Person => Ok(()),
            Asker::Agent(_) => Err(Trouble::new(
                Code::Refused,
                format!("'{field}' is for the command line: leave it out, and what is yours is meant"),
            )),
        }
    }

    /// Keeps claims until their events are acknowledged. False: the session is over, and they are to be given back.
    pub(crate) fn hold(&self, claims: &[Claim]) -> bool {
        let mut held = self.held();
        if !held.over {
            held.claims.extend(claims);
        }
        !held.over
    }

    /// Acknowledges events this session holds: those of `named`, or all of them. What it does not hold is stale.
    pub(crate) async fn acknowledge(&self, named: Option<&[Claim]>) -> Result<Settled, LedgerError> {
        let (mine, stale) = {
            let mut held = self.held();
            match named {
                None => (std::mem::take(&mut held.claims), Vec::new()),
                Some(named) => {
                    let (mine, stale) = named.iter().copied().partition(|claim| held.claims.contains(claim));
                    held.claims.retain(|claim| !named.contains(claim));
                    (mine, stale)
                }
            }
        };
        let mut settled = Settled::default();
        if !mine.is_empty() {
            match self.offer.registry.acknowledge(&mine).await {
                Ok(done) => settled = done,
                Err(error) => {
                    // They arrived, and the ledger does not know yet: the next call tells it.
                    if !self.hold(&mine) {
                        self.give_back(&mine).await;
                    }
                    return Err(error);
                }
            }
        }
        settled.stale.extend(stale);
        Ok(settled)
    }

    /// Gives back events that did not arrive.
    pub(crate) async fn give_back(&self, claims: &[Claim]) {
        if claims.is_empty() {
            return;
        }
        if let Err(error) = self.offer.registry.release(claims).await {
            tracing::warn!(%error, events = claims.len(), "events are told again only after their lease");
        }
    }

    /// Ends the session: what it holds is given back, and nothing is held any more. The processes of an agent end with its
    /// last session, but those that were started to persist.
    pub async fn end(&self) {
        let (claims, again) = {
            let mut held = self.held();
            let again = std::mem::replace(&mut held.over, true);
            (std::mem::take(&mut held.claims), again)
        };
        self.followers.clear();
        self.give_back(&claims).await;
        if again {
            return;
        }
        self.hearing.end(&self.offer.gateway).await;
        self.offer.gateway.store().forget(self.number);
        self.offer.gateway.counted().await;
        if let Asker::Agent(owner) = &self.asker
            && self.clients.goes(owner)
        {
            self.offer.registry.kill_all(owner, &BTreeSet::new(), Source::AgentClose).await;
        }
    }
}
