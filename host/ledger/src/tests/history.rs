//! Any sequence of what can happen: no event is lost, none comes again after its acknowledgement, none is tried too often.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hermes_output::event::Event;
use proptest::prelude::*;

use super::{Place, event, undecided, visible};
use crate::event::{Claim, Delivery, NewEvent, Scope};
use crate::limits::{ATTEMPTS_MAX, LEASE};
use crate::live::handle::Ledger;

#[derive(Clone, Debug)]
enum Step {
    Record {
        host: usize,
        undecided: bool,
    },
    /// A notifier answers about the event at this place of those it was asked about.
    Decide {
        which: usize,
        wakes: bool,
    },
    Claim {
        host: usize,
        max: usize,
    },
    Settle {
        which: usize,
        how: How,
    },
    /// Everybody is killed; two other hosts open what is left.
    Crash {
        look: bool,
    },
    Pass(u64),
}

#[derive(Clone, Copy, Debug)]
enum How {
    Acknowledge,
    Release,
    Defer,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..2_usize, any::<bool>()).prop_map(|(host, undecided)| Step::Record { host, undecided }),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(which, wakes)| Step::Decide { which, wakes }),
        5 => (0..2_usize, 1..4_usize).prop_map(|(host, max)| Step::Claim { host, max }),
        5 => (
            any::<usize>(),
            prop_oneof![1 => Just(How::Acknowledge), 3 => Just(How::Release), 1 => Just(How::Defer)]
        )
            .prop_map(|(which, how)| Step::Settle { which, how }),
        1 => any::<bool>().prop_map(|look| Step::Crash { look }),
        2 => (0..400_u64).prop_map(Step::Pass),
    ]
}

/// What is known of an event from outside.
#[derive(Default)]
struct Known {
    attempts: u32,
    acknowledged: bool,
    kept_back: bool,
}

struct World {
    place: Place,
    hosts: Vec<Ledger>,
    opened: usize,
    events: BTreeMap<u64, Known>,
    asked: Vec<(u64, String)>,
    /// Claims, and when they were taken, in seconds of the world.
    held: Vec<(Claim, Duration)>,
    now: Duration,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            place: Place::new(),
            hosts: Vec::new(),
            opened: 0,
            events: BTreeMap::new(),
            asked: Vec::new(),
            held: Vec::new(),
            now: Duration::ZERO,
        };
        world.open();
        world
    }

    fn open(&mut self) {
        self.hosts = (0..2).map(|number| self.place.open(&format!("h{}", self.opened + number))).collect();
        self.opened += 2;
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Record { host, undecided: waits } => {
                let name = format!("e{}", self.events.len());
                let delivery = if waits { Delivery::Undecided } else { Delivery::Pending };
                let new = NewEvent { delivery, ..undecided(&name, &self.place) };
                let seq = self.hosts[host].record(new).await.unwrap();
                assert!(self.events.insert(seq, Known::default()).is_none(), "{seq} is new");
                if waits {
                    self.asked.push((seq, name));
                }
            }
            Step::Decide { which, wakes } => {
                if self.asked.is_empty() {
                    return;
                }
                let (seq, name) = self.asked.swap_remove(which % self.asked.len());
                let delivery = if wakes { Delivery::Pending } else { Delivery::Muted };
                let decided = Event { output: visible("decided"), ..event(&name, &self.place) };
                let counts = self.hosts[0].decided(seq, decided, delivery).await.unwrap();
                let known = self.events.get_mut(&seq).unwrap();
                assert!(!counts || known.attempts == 0, "who was claimed is decided");
                known.kept_back |= counts && !wakes;
            }
            Step::Claim { host, max } => self.claim(host, max).await,
            Step::Settle { which, how } => {
                if self.held.is_empty() {
                    return;
                }
                let (claim, _) = self.held.swap_remove(which % self.held.len());
                let host = &self.hosts[which % 2];
                let settled = match how {
                    How::Acknowledge => host.acknowledge(&[claim]).await,
                    How::Release => host.release(&[claim]).await,
                    How::Defer => host.defer(&[claim]).await,
                }
                .unwrap();
                let known = self.events.get_mut(&claim.seq).unwrap();
                if settled.stale.is_empty() {
                    assert!(!known.acknowledged, "settled after its acknowledgement");
                    match how {
                        How::Acknowledge => known.acknowledged = true,
                        How::Release => assert_eq!(settled.dropped.is_empty(), known.attempts < ATTEMPTS_MAX),
                        How::Defer => known.attempts -= 1,
                    }
                }
            }
            Step::Crash { look } => {
                self.place = self.place.killed();
                self.open();
                self.held.clear();
                self.asked.clear();
                if look {
                    let alive: BTreeSet<String> =
                        (self.opened - 2..self.opened).map(|number| format!("h{number}")).collect();
                    self.hosts[0].abandoned(move |host| alive.contains(&host.marker)).await.unwrap();
                }
            }
            Step::Pass(seconds) => self.pass(Duration::from_secs(seconds)),
        }
    }

    fn pass(&mut self, time: Duration) {
        self.place.clock.pass(time);
        self.now += time;
    }

    async fn claim(&mut self, host: usize, max: usize) {
        let claimed = self.hosts[host].claim(Scope::All, max).await.unwrap();
        assert!(claimed.len() <= max);
        assert!(claimed.is_sorted_by_key(|claimed| claimed.claim.seq));
        for claimed in claimed {
            let seq = claimed.claim.seq;
            let known = self.events.get_mut(&seq).unwrap();
            known.attempts += 1;
            assert!(!known.acknowledged && !known.kept_back, "{seq} is settled");
            assert!(known.attempts <= ATTEMPTS_MAX && claimed.attempts == known.attempts, "{seq} is tried too often");
            let holders = self.held.iter().filter(|(held, since)| held.seq == seq && self.now < *since + LEASE);
            assert_eq!(holders.count(), 0, "{seq} is held by somebody");
            self.held.push((claimed.claim, self.now));
        }
    }

    /// Everybody who holds something vanishes, and one deliverer is left that never fails.
    async fn settle_all(&mut self) {
        self.held.clear();
        self.pass(LEASE);
        loop {
            self.claim(0, 4).await;
            if self.held.is_empty() {
                break;
            }
            let held: Vec<Claim> = self.held.drain(..).map(|(claim, _)| claim).collect();
            assert_eq!(self.hosts[0].acknowledge(&held).await.unwrap().done, held);
            for claim in held {
                self.events.get_mut(&claim.seq).unwrap().acknowledged = true;
            }
        }
        for (seq, known) in &self.events {
            let tried = known.attempts == ATTEMPTS_MAX;
            assert!(known.acknowledged || known.kept_back || tried, "{seq} is lost");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_event_is_lost_and_none_comes_again(steps in prop::collection::vec(step(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new();
            for step in steps {
                world.take(step).await;
            }
            world.settle_all().await;
        });
    }
}
