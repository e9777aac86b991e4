//! Whether commands can be run in scopes at all: tried once a minute, with a command that does nothing.
//!
//! The answer must never be a guess: while a probe runs, everybody who needs it waits for the same one.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use hermes_model::id::ProcessId;

use super::bus::{Bus, NoBus};
use super::systemd::{Answer, Call, Systemd};
use super::unit::{Expansion, SYSTEMD_RUN, Unit};
use crate::environment::Environment;
use crate::spec::Program;

/// How long a verdict counts, good or bad (design: 60 s).
pub const PROBE_TTL: Duration = Duration::from_secs(60);
/// How long one try may take (design: 3 s).
pub const PROBE_LIMIT: Duration = Duration::from_secs(3);

/// What systemd-run names when it does not know the option, in any language.
const OPTION: &str = "expand-environment";

/// Whether commands can be run in scopes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They can, in this way.
    Usable(Expansion),
    /// They cannot.
    Unusable(Unusable),
}

/// Why commands cannot be run in scopes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// There is no user bus.
    #[error(transparent)]
    NoBus(#[from] NoBus),
    /// systemd-run is not there.
    #[error("{SYSTEMD_RUN} was not found")]
    NotInstalled,
    /// A command that does nothing failed in a scope.
    #[error("{SYSTEMD_RUN} failed with code {0}")]
    Refused(i32),
    /// It did not end in time.
    #[error("{SYSTEMD_RUN} did not answer within {} s", PROBE_LIMIT.as_secs())]
    TimedOut,
    /// It did not run.
    #[error("{SYSTEMD_RUN} did not run: {0}")]
    Lost(String),
}

/// What is known of each bus, for as long as it counts.
#[derive(Default)]
pub(super) struct Verdicts(BTreeMap<Bus, (Duration, Verdict)>);

impl Verdicts {
    pub(super) fn get(&self, bus: &Bus, now: Duration) -> Option<&Verdict> {
        let (at, verdict) = self.0.get(bus)?;
        counts(*at, now).then_some(verdict)
    }

    /// Remembers a verdict and forgets those that no longer count, so that this does not grow with each new folder.
    pub(super) fn put(&mut self, bus: Bus, now: Duration, verdict: Verdict) {
        self.0.retain(|_, (at, _)| counts(*at, now));
        self.0.insert(bus, (now, verdict));
    }
}

fn counts(at: Duration, now: Duration) -> bool {
    now.saturating_sub(at) < PROBE_TTL
}

/// Runs a command that does nothing, just as others will be run. A systemd-run that does not know the option that turns
/// expansion off is tried once more without it.
pub(super) async fn probe(
    systemd: &impl Systemd,
    program: &Path,
    id: &ProcessId,
    environment: &Environment,
    memory_max: u64,
) -> Verdict {
    // Not /bin/true: not every distribution has it there, and all have this.
    let nothing = Program::Shell { shell: "/bin/sh".into(), text: "exit 0".into() };
    let mut expansion = Expansion::ToldOff;
    loop {
        let args = Unit::of_probe(id).run_args(&nothing, memory_max, expansion);
        let (program, environment) = (program.to_owned(), environment.clone());
        let answer = systemd.run(Call { program, args, environment, limit: PROBE_LIMIT }).await;
        return match answer {
            Answer::Ended(0, _) => Verdict::Usable(expansion),
            Answer::Ended(_, printed) if expansion == Expansion::ToldOff && printed.says(OPTION) => {
                expansion = Expansion::Never;
                continue;
            }
            Answer::Ended(code, _) => Verdict::Unusable(Unusable::Refused(code)),
            Answer::TimedOut => Verdict::Unusable(Unusable::TimedOut),
            Answer::Lost(why) => Verdict::Unusable(Unusable::Lost(why)),
        };
    }
}
