//! A gate that lets so many calls in at once and makes the others wait: the share of the pool one plugin may hold, and
//! what all together may.
//!
//! Nothing runs while its lock is held.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A gate.
pub(crate) struct Gate {
    max: usize,
    state: Mutex<State>,
    moved: Condvar,
}

/// Who is inside and who waits.
#[derive(Default)]
struct State {
    inside: usize,
    /// The tickets of those who wait, first come first served: whoever comes back at once must not pass them.
    waiting: VecDeque<u64>,
    next: u64,
}

/// A place inside, given back when it is dropped.
pub(crate) struct Place<'a>(&'a Gate);

impl Gate {
    /// A gate for this many.
    pub(crate) fn new(max: usize) -> Self {
        Self { max, state: Mutex::default(), moved: Condvar::new() }
    }

    /// A place inside, as soon as it is one's turn; none if that is not within this time.
    pub(crate) fn enter(&self, within: Duration) -> Option<Place<'_>> {
        let mut state = self.lock();
        if state.inside >= self.max || !state.waiting.is_empty() {
            state = self.wait(state, within)?;
        }
        state.inside += 1;
        Some(Place(self))
    }

    /// Waits for one's turn.
    fn wait<'a>(&'a self, mut state: MutexGuard<'a, State>, within: Duration) -> Option<MutexGuard<'a, State>> {
        let started = Instant::now();
        let ticket = state.next;
        state.next += 1;
        state.waiting.push_back(ticket);
        while state.inside >= self.max || state.waiting.front() != Some(&ticket) {
            let left = within.saturating_sub(started.elapsed());
            if left.is_zero() {
                state.waiting.retain(|waiting| *waiting != ticket);
                self.moved.notify_all();
                return None;
            }
            state = self.moved.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.waiting.pop_front();
        // There may be room for the next one as well.
        self.moved.notify_all();
        Some(state)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.inside -= 1;
        // Waking somebody costs more than most calls; mostly nobody waits.
        if !state.waiting.is_empty() {
            self.0.moved.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn no_more_than_its_number_are_inside_and_all_get_in() {
        let gate = Gate::new(2);
        let (inside, most, done) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let _place = gate.enter(Duration::from_secs(60)).unwrap();
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        done.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) <= 2);
        assert_eq!(done.load(Ordering::SeqCst), 1600);
    }

    #[test]
    fn whoever_comes_back_at_once_passes_nobody() {
        let gate = Gate::new(1);
        let served = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let first = gate.enter(Duration::ZERO).unwrap();
            let waiter = scope.spawn(|| {
                let _place = gate.enter(Duration::from_secs(60)).unwrap();
                served.fetch_add(1, Ordering::SeqCst);
            });
            while gate.lock().waiting.is_empty() {
                std::thread::yield_now();
            }
            drop(first);
            let _again = gate.enter(Duration::from_secs(60)).unwrap();
            assert_eq!(served.load(Ordering::SeqCst), 1);
            waiter.join().unwrap();
        });
    }

    #[test]
    fn whoever_gets_no_place_in_time_is_told() {
        let gate = Gate::new(1);
        let first = gate.enter(Duration::ZERO);
        assert!(first.is_some());
        assert!(gate.enter(Duration::from_millis(1)).is_none());
        drop(first);
        assert!(gate.enter(Duration::ZERO).is_some());
    }
}
