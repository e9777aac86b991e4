//! One look at all of `/proc`, shared by everybody who asks for one before it begins: a thousand trees that are looked at
//! together cost as much as one.
//!
//! It must never answer with a look that began before it was asked for: whoever asks may have just sent a signal.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::environment::PROCESS_MARKER;
use crate::survey::{self, Environs, Stat};

/// The processes there were, as each was when it was looked at.
pub(crate) struct Picture {
    stats: Vec<Stat>,
    /// The entries of living processes that may be a command's marker, by pid.
    markers: HashMap<i32, Vec<u8>>,
}

impl Picture {
    /// Looks at everything that started at this tick or later. Blocks.
    pub(crate) fn take(start_ticks: u64) -> io::Result<Self> {
        let (mut stats, mut markers, mut environs) = (Vec::new(), HashMap::new(), Environs::default());
        survey::since(start_ticks, |stat| {
            stats.push(stat);
            if stat.is_alive() {
                let found = environs.entries(stat.identity.pid, PROCESS_MARKER.as_bytes());
                if !found.is_empty() {
                    markers.insert(stat.identity.pid, found);
                }
            }
        })?;
        Ok(Self { stats, markers })
    }

    /// The processes that started at this tick or later, the highest numbers first.
    pub(crate) fn since(&self, start_ticks: u64) -> impl Iterator<Item = &Stat> {
        self.stats.iter().filter(move |stat| stat.identity.start_ticks >= start_ticks)
    }

    /// Whether a living process carries this `NAME=value`, the name being [`PROCESS_MARKER`].
    pub(crate) fn carries(&self, pid: i32, marker: &[u8]) -> bool {
        self.markers.get(&pid).is_some_and(|entries| survey::carries(entries, marker))
    }
}

/// A look that is to come, or was.
struct Round {
    /// The earliest tick anybody of it asked for.
    since: AtomicU64,
    /// Shared as it is, because an error cannot be copied.
    seen: OnceLock<Result<Arc<Picture>, Arc<io::Error>>>,
}

struct Turn {
    /// The look that begins next, if somebody asked for it.
    next: Option<Arc<Round>>,
    /// Somebody looks now.
    looking: bool,
}

static TURN: Mutex<Turn> = Mutex::new(Turn { next: None, looking: false });
static LOOKED: Condvar = Condvar::new();

fn turn() -> MutexGuard<'static, Turn> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends somebody's turn, also when the look broke down.
struct Looking;

impl Drop for Looking {
    fn drop(&mut self) {
        turn().looking = false;
        LOOKED.notify_all();
    }
}

/// A look that began after this was called, at everything that started at this tick or later. Blocks, for two looks at
/// the most.
pub(crate) fn shared(start_ticks: u64) -> io::Result<Arc<Picture>> {
    let mut turn = turn();
    let round = || Arc::new(Round { since: AtomicU64::new(u64::MAX), seen: OnceLock::new() });
    let mine = Arc::clone(turn.next.get_or_insert_with(round));
    mine.since.fetch_min(start_ticks, Ordering::Relaxed);
    loop {
        if let Some(seen) = mine.seen.get() {
            return seen.clone().map_err(|error| io::Error::new(error.kind(), error));
        }
        if turn.looking {
            turn = LOOKED.wait(turn).unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        // Whoever asks from here on waits for the next one.
        turn.next.take_if(|next| Arc::ptr_eq(next, &mine));
        turn.looking = true;
        drop(turn);
        {
            let _looking = Looking;
            let seen = Picture::take(mine.since.load(Ordering::Relaxed));
            // Nobody else looks for this round: `looking` is ours.
            let _ = mine.seen.set(seen.map(Arc::new).map_err(Arc::new));
        }
        turn = self::turn();
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

    use super::*;

    fn sleeper(marker: &str) -> (Child, i32) {
        let child = Command::new("sleep").arg("60").env(PROCESS_MARKER, marker).spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        // A spawn returns a moment before the new program's environment can be read.
        let deadline = Instant::now() + Duration::from_secs(30);
        while std::fs::read(format!("/proc/{pid}/environ")).unwrap().is_empty() {
            assert!(Instant::now() < deadline, "no environment");
            std::thread::yield_now();
        }
        (child, pid)
    }

    fn end(mut child: Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn whoever_asks_sees_what_was_there_before_however_many_ask() {
        let askers: Vec<_> = (0..16)
            .map(|asker| {
                std::thread::spawn(move || {
                    for round in 0..4 {
                        let marker = format!("proc_{asker}_{round}");
                        let (child, pid) = sleeper(&marker);
                        let ticks = survey::look(pid).unwrap().unwrap().identity.start_ticks;
                        let alive = |picture: &Picture| picture.since(ticks).any(|stat| stat.identity.pid == pid);
                        let before = shared(ticks).unwrap();
                        assert!(alive(&before));
                        assert!(before.carries(pid, format!("{PROCESS_MARKER}={marker}").as_bytes()));
                        assert!(!before.carries(pid, format!("{PROCESS_MARKER}=proc_{asker}").as_bytes()));
                        end(child);
                        // An end that is known is in the next look, whoever began the one before.
                        assert!(!alive(&shared(ticks).unwrap()));
                    }
                })
            })
            .collect();
        for asker in askers {
            asker.join().unwrap();
        }
    }

    #[test]
    fn a_look_reaches_as_far_back_as_each_who_shares_it_asked() {
        let me = survey::look(std::process::id() as i32).unwrap().unwrap().identity;
        let askers: Vec<_> = (0..8)
            .map(|asker| {
                std::thread::spawn(move || {
                    // Half of them ask for nothing at all, and must not keep the others from what they ask for.
                    let ticks = if asker % 2 == 0 { me.start_ticks } else { u64::MAX };
                    let found = shared(ticks).unwrap().since(ticks).any(|stat| stat.identity == me);
                    assert_eq!(found, asker % 2 == 0);
                })
            })
            .collect();
        for asker in askers {
            asker.join().unwrap();
        }
    }
}
