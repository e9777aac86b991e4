//! Progress of a long task: which step of how many, and how long each took.

use std::time::{Duration, Instant};

use crate::error::TaskError;

/// The steps of one task, counted from 1.
pub(crate) struct Steps {
    total: usize,
    done: usize,
    started: Instant,
}

impl Steps {
    /// A task of so many steps.
    pub(crate) fn new(total: usize) -> Self {
        Self { total, done: 0, started: Instant::now() }
    }

    /// Runs one step, announcing it before and its time after.
    pub(crate) fn step<T>(&mut self, title: &str, work: impl FnOnce() -> Result<T, TaskError>) -> Result<T, TaskError> {
        self.done += 1;
        println!("\n[{}/{}] {title}", self.done, self.total);
        let started = Instant::now();
        let result = work()?;
        println!("  done in {}", elapsed(started.elapsed()));
        Ok(result)
    }

    /// Says that all is done and what to do next.
    pub(crate) fn finish(self, task: &str, next: &[&str]) {
        println!("\n{task}: {} steps in {}.", self.done, elapsed(self.started.elapsed()));
        println!("\nWhat to do next:");
        for line in next {
            println!("  {line}");
        }
    }
}

/// A duration as a person reads it: tenths of a second, or minutes and seconds.
pub(crate) fn elapsed(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds >= 60 {
        format!("{} min {} s", seconds / 60, seconds % 60)
    } else {
        format!("{:.1} s", duration.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_tenths_below_a_minute_and_in_minutes_above() {
        assert_eq!(elapsed(Duration::from_millis(1_240)), "1.2 s");
        assert_eq!(elapsed(Duration::from_secs(61)), "1 min 1 s");
    }
}
