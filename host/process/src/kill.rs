//! Ending a whole tree, and the truth about whether it ended.
//!
//! SIGTERM to everybody, a grace, SIGKILL to everybody, and looks until nobody is left. It must never call a tree ended
//! on one look: a process may fork behind it.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hermes_output::captured::Captured;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::children;
use crate::survey::{self, Identity};
use crate::tree::{Found, Member, Order, Tree};

/// How long a kill is watched for its effect where nothing changes any more: SIGKILL is asynchronous, and a process in
/// an uninterruptible wait may take this long or for ever (the settle time that is usual for this, 1 s).
const VERIFY: Duration = Duration::from_secs(1);

/// How long killing goes on where the tree still shrinks or forks. Then it is listed as it is.
const VERIFY_MAX: Duration = Duration::from_secs(5);

/// The first and the longest pause between two looks: quick for what ends at once, cheap for what takes its grace.
const PAUSE_FIRST: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// How many looks in a row must find nobody alive and nobody newly dead before a tree is called gone, and the pause
/// between them: a process that does nothing but fork and exit lives for about a millisecond, so one of them ends in it.
const QUIET_LOOKS: usize = 4;
const QUIET_PAUSE: Duration = Duration::from_millis(5);

/// How many looks it may take to find a tree at rest: a few that are disturbed by children just ending.
const REST_LOOKS: usize = 4 * QUIET_LOOKS;

/// How much of a survivor's command line is kept.
const COMMAND_BYTES: usize = 4096;

/// A process of a command that runs on.
#[derive(Clone)]
pub struct Survivor {
    pid: i32,
    command: Captured,
}

impl Survivor {
    /// Its number, at the time it was seen.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Its command line, words separated by spaces. Captured: it may hold secrets.
    pub fn command(&self) -> &Captured {
        &self.command
    }

    pub(crate) fn of(members: &[Member]) -> Vec<Self> {
        let survivor = |member: &Member| {
            let mut command = Captured::new(COMMAND_BYTES);
            command.push(&survey::command_line(member.identity.pid));
            Self { pid: member.identity.pid, command }
        };
        members.iter().map(survivor).collect()
    }
}

/// What a kill came to.
#[derive(Clone)]
pub struct Verdict {
    /// Who is still alive: not to be ended (an uninterruptible wait, another user's process), or forking too fast.
    pub survivors: Vec<Survivor>,
    /// Whether everybody could be seen. Where not (`/proc` cannot be read, or somebody forks and exits faster than any
    /// look), nobody knows who survived.
    pub seen: bool,
}

impl Verdict {
    /// Whether the tree is known to be gone.
    pub fn is_complete(&self) -> bool {
        self.seen && self.survivors.is_empty()
    }

    pub(crate) fn complete() -> Self {
        Self { survivors: Vec::new(), seen: true }
    }

    pub(crate) fn unseen() -> Self {
        Self { survivors: Vec::new(), seen: false }
    }
}

/// Counts the looks in a row that found a tree at rest.
#[derive(Default)]
struct Quiet {
    looks: usize,
    ended: BTreeSet<Identity>,
}

impl Quiet {
    /// Whether the tree is gone, after this look.
    fn after(&mut self, found: &Found) -> bool {
        let nothing_new = self.looks == 0 || found.ended.is_subset(&self.ended);
        self.looks = if found.alive.is_empty() && nothing_new { self.looks + 1 } else { 0 };
        self.ended.clone_from(&found.ended);
        self.looks >= QUIET_LOOKS
    }
}

/// Ends a tree: SIGTERM (and SIGCONT to the stopped), `grace`, SIGKILL, looks for up to a second or as long as the tree
/// still changes. `hurry` turning true cuts the grace short.
///
/// Its leader must stay unreaped until this returns.
pub(crate) async fn end_tree(tree: Arc<Tree>, grace: Duration, hurry: watch::Receiver<bool>) -> Verdict {
    if ended_by_itself(&tree, grace, hurry).await {
        return Verdict::complete();
    }
    // Zombies keep the numbers of their groups and sessions: without them a fast forker could not be named.
    let _hold = children::hold();
    let start = Instant::now();
    let (mut last, mut last_change, mut pause) = (BTreeSet::new(), start, PAUSE_FIRST);
    let mut quiet = Quiet::default();
    loop {
        let found = on_blocking_thread(&tree, |tree| tree.pass(Order::Kill)).await;
        let now = Instant::now();
        if let Ok(found) = &found {
            if quiet.after(found) {
                return Verdict::complete();
            }
            let seen: BTreeSet<Identity> = found.alive.iter().map(|member| member.identity).collect();
            let newcomers = seen.difference(&last).next().is_some();
            if seen != last {
                (last, last_change) = (seen, now);
            }
            pause = if newcomers {
                // Somebody forks: the next look must come before the next fork.
                Duration::ZERO
            } else if found.alive.is_empty() {
                QUIET_PAUSE
            } else {
                (pause * 2).clamp(PAUSE_FIRST, PAUSE_MAX)
            };
        } else {
            pause = PAUSE_MAX;
        }
        if now - last_change >= VERIFY || now - start >= VERIFY_MAX {
            return match found {
                Ok(found) => Verdict { seen: !found.alive.is_empty(), survivors: Survivor::of(&found.alive) },
                Err(error) => {
                    tracing::warn!(pid = tree.leader().pid, %error, "a kill could not be verified");
                    Verdict::unseen()
                }
            };
        }
        tokio::time::sleep(pause).await;
    }
}

/// SIGTERM and the grace. True when the tree is gone.
async fn ended_by_itself(tree: &Arc<Tree>, grace: Duration, mut hurry: watch::Receiver<bool>) -> bool {
    let deadline = Instant::now() + grace;
    let mut done = BTreeSet::new();
    let mut pause = PAUSE_FIRST;
    loop {
        let (found, told) = on_blocking_thread(tree, move |tree| {
            let found = tree.pass(Order::Term(&mut done));
            Ok((found, done))
        })
        .await
        .unwrap_or_else(|error| (Err(error), BTreeSet::new()));
        done = told;
        if found.is_ok_and(|found| found.alive.is_empty()) && matches!(at_rest(tree).await, Ok(Seen::Gone)) {
            return true;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || *hurry.borrow_and_update() {
            return false;
        }
        tokio::select! {
            () = tokio::time::sleep(pause.min(left)) => {}
            changed = hurry.changed() => if changed.is_err() { return false },
        }
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// What looks at a tree came to.
pub(crate) enum Seen {
    /// Nobody of it lives.
    Gone,
    /// These live.
    Alive(Vec<Member>),
    /// Nobody was caught alive, and yet somebody dies all the time.
    Restless,
}

/// Looks for the living without touching them.
pub(crate) async fn look(tree: &Arc<Tree>) -> io::Result<Seen> {
    let found = on_blocking_thread(tree, |tree| tree.pass(Order::Look)).await?;
    if !found.alive.is_empty() {
        return Ok(Seen::Alive(found.alive));
    }
    // Most commands leave nobody behind, dead or alive: one look does.
    if found.ended.is_empty() { Ok(Seen::Gone) } else { at_rest(tree).await }
}

/// Looks at a tree in which nobody seems to live until that is sure.
async fn at_rest(tree: &Arc<Tree>) -> io::Result<Seen> {
    let _hold = children::hold();
    let mut quiet = Quiet::default();
    for _ in 0..REST_LOOKS {
        let found = on_blocking_thread(tree, |tree| tree.pass(Order::Look)).await?;
        if quiet.after(&found) {
            return Ok(Seen::Gone);
        }
        if !found.alive.is_empty() {
            return Ok(Seen::Alive(found.alive));
        }
        tokio::time::sleep(QUIET_PAUSE).await;
    }
    Ok(Seen::Restless)
}

async fn on_blocking_thread<T: Send + 'static>(
    tree: &Arc<Tree>,
    work: impl FnOnce(&Tree) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let tree = Arc::clone(tree);
    tokio::task::spawn_blocking(move || work(&tree)).await.map_err(io::Error::other)?
}
