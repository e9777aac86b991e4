//! Commands of a host that is itself a service, each in a systemd scope of its own: [`Scopes`].
//!
//! Without one, a restart of the service ends its commands, and a command that uses all memory takes the host with it. A
//! host that is no service must never ask systemd for anything; one that cannot use scopes says so and runs on.

pub mod bus;
pub mod memory;
pub mod probe;
pub mod systemd;
pub mod unit;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use hermes_model::id::ProcessId;
use tokio::sync::Mutex;

use crate::environment::Environment;
use crate::resolve;
use crate::spec::{CommandSpec, Program};
use bus::{Bus, NoBus, User};
use probe::{Unusable, Verdict, Verdicts};
use systemd::{Answer, Call, Systemd};
use unit::{SYSTEMCTL, SYSTEMD_RUN, Unit};

#[cfg(test)]
mod tests;

/// How long stopping a scope may take (design: 15 s).
pub const STOP_LIMIT: Duration = Duration::from_secs(15);

/// What `systemctl stop` exits with for a unit that is not loaded (systemctl(1), after the LSB: "not installed").
const NOT_LOADED: i32 = 5;

/// Whether the host is a service, by the value of `INVOCATION_ID`, which systemd gives to all it starts.
pub fn is_supervised(invocation_id: Option<&OsStr>) -> bool {
    invocation_id.is_some_and(|id| !id.is_empty())
}

/// Tells the time since any moment, and never goes back.
pub type Clock = Box<dyn Fn() -> Duration + Send + Sync>;

/// What does not change while the host runs.
pub struct Settings {
    /// Whether the host is a service: see [`is_supervised`].
    pub supervised: bool,
    /// How much memory each command may use, in bytes: see [`memory::MemoryMax`].
    pub memory_max: u64,
    /// Whose bus is used.
    pub user: User,
}

/// Puts commands into scopes, where that is called for and can be done.
pub struct Scopes<S> {
    systemd: S,
    clock: Clock,
    settings: Settings,
    /// Held while a probe runs, so that there is one and everybody gets its answer.
    verdicts: Mutex<Verdicts>,
}

/// A command, ready to be spawned, and where it will run.
pub struct Placed {
    /// What to spawn. What it was before is what people should be shown as the command.
    pub spec: CommandSpec,
    /// Where it will run.
    pub placement: Placement,
}

/// Where a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// With the host, as it should be: the host is no service, or there is no such program and the spawn will say so.
    Plain,
    /// In a scope of its own, to be stopped when the command has ended.
    Scoped(Unit),
    /// With the host, because it cannot be done better. To be shown to a person, once; or to be treated as a failure by
    /// who needs the command to outlive the host.
    Degraded(Degraded),
}

/// Why a command of a service runs within that service, with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "commands run inside the service of this host and end with it when it restarts, because {why}; {}, or set KillMode=process in the unit of the service",
    self.remedy()
)]
pub struct Degraded {
    /// What is in the way.
    pub why: Unusable,
}

impl Degraded {
    fn remedy(&self) -> &'static str {
        match self.why {
            Unusable::NoBus(_) => "run 'loginctl enable-linger' as this user",
            Unusable::NotInstalled => "install systemd's command-line programs",
            Unusable::Refused(_) | Unusable::TimedOut | Unusable::Lost(_) => {
                "see what 'systemd-run --user --scope /bin/sh' says as this user"
            }
        }
    }
}

/// Why a scope was not stopped. Its command may still run; call again later.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StopError {
    /// There is no bus to reach systemd by.
    #[error("{unit} was not stopped: {why}; log in as this user or run 'loginctl enable-linger', then try again")]
    NoBus {
        /// The scope.
        unit: Unit,
        /// What is wrong with the bus.
        why: NoBus,
    },
    /// systemctl did not do it.
    #[error("{unit} was not stopped: {SYSTEMCTL} {reason}; try again, or run '{SYSTEMCTL} --user kill -s KILL {unit}'")]
    Failed {
        /// The scope.
        unit: Unit,
        /// What systemctl did instead, as the rest of a sentence.
        reason: String,
    },
}

impl<S: Systemd> Scopes<S> {
    /// Scopes by way of `systemd`. Nothing is asked of it yet.
    pub fn new(systemd: S, clock: Clock, settings: Settings) -> Self {
        Self { systemd, clock, settings, verdicts: Mutex::default() }
    }

    /// Puts a command into the scope named by `id`, or says why it runs with the host. The scope's bus is the one that
    /// the command's own environment leads to.
    pub async fn place(&self, id: &ProcessId, mut spec: CommandSpec) -> Placed {
        if !self.settings.supervised || !exists(&spec) {
            return Placed { spec, placement: Placement::Plain };
        }
        let mut environment = spec.environment.clone();
        let placement = match self.prepare(id, &mut environment).await {
            Err(why) => Placement::Degraded(Degraded { why }),
            Ok((program, expansion)) => {
                let unit = Unit::of(id);
                let args = unit.run_args(&spec.program, self.settings.memory_max, expansion);
                spec.program = Program::Exec { program: program.into(), args };
                spec.environment = environment;
                Placement::Scoped(unit)
            }
        };
        Placed { spec, placement }
    }

    /// Stops a scope and all that is left in it. One that is gone already counts as stopped.
    ///
    /// # Errors
    /// [`StopError`]: it may be there still.
    pub async fn stop(&self, unit: &Unit, environment: &Environment) -> Result<(), StopError> {
        let mut environment = environment.clone();
        let bus =
            Bus::find(&environment, &self.settings.user).map_err(|why| StopError::NoBus { unit: unit.clone(), why })?;
        bus.name_in(&mut environment);
        let failed = |reason| Err(StopError::Failed { unit: unit.clone(), reason });
        let Some(program) = find(SYSTEMCTL, &environment) else { return failed("was not found".to_owned()) };
        let call = Call { program, args: unit.stop_args(), environment, limit: STOP_LIMIT };
        match self.systemd.run(call).await {
            Answer::Ended(0 | NOT_LOADED, _) => Ok(()),
            Answer::Ended(_, printed) if printed.says("not loaded") || printed.says("not found") => Ok(()),
            Answer::Ended(code, _) => failed(format!("failed with code {code}")),
            Answer::TimedOut => failed(format!("did not answer within {} s", STOP_LIMIT.as_secs())),
            Answer::Lost(why) => failed(format!("did not run: {why}")),
        }
    }

    /// Asks, after systemd-run ended before its command began, whether the bus of that environment is gone. If it is, no
    /// scope is tried on it until the verdict is too old.
    pub async fn lost_bus(&self, environment: &Environment) -> Option<Degraded> {
        let none = Bus::find(environment, &self.settings.user).err()?;
        let why = Unusable::NoBus(none);
        let mut verdicts = self.verdicts.lock().await;
        for (_, bus) in Bus::candidates(environment, &self.settings.user) {
            verdicts.put(bus, (self.clock)(), Verdict::Unusable(why.clone()));
        }
        Some(Degraded { why })
    }

    /// Finds the bus and systemd-run for a command, and has them proven.
    async fn prepare(
        &self,
        id: &ProcessId,
        environment: &mut Environment,
    ) -> Result<(PathBuf, unit::Expansion), Unusable> {
        let bus = Bus::find(environment, &self.settings.user)?;
        let program = find(SYSTEMD_RUN, environment).ok_or(Unusable::NotInstalled)?;
        bus.name_in(environment);
        let mut verdicts = self.verdicts.lock().await;
        let known = verdicts.get(&bus, (self.clock)()).cloned();
        let verdict = match known {
            Some(verdict) => verdict,
            None => {
                let memory_max = self.settings.memory_max;
                let verdict = probe::probe(&self.systemd, &program, id, environment, memory_max).await;
                verdicts.put(bus, (self.clock)(), verdict.clone());
                verdict
            }
        };
        match verdict {
            Verdict::Usable(expansion) => Ok((program, expansion)),
            Verdict::Unusable(why) => Err(why),
        }
    }
}

/// Whether the spawn will find the program. In a scope nobody could tell why it did not.
fn exists(spec: &CommandSpec) -> bool {
    let name = match &spec.program {
        Program::Shell { shell, .. } => shell.as_os_str(),
        Program::Exec { program, .. } => program.as_os_str(),
    };
    resolve::resolve(name, spec.environment.get("PATH"), spec.cwd.as_deref()).is_ok()
}

/// A program of systemd: where the command would find it, else where systems have it. A command with a narrow `PATH` of
/// its own is no reason to run it in the service.
fn find(program: &str, environment: &Environment) -> Option<PathBuf> {
    let paths = [environment.get("PATH"), None];
    let find = |path| resolve::resolve(OsStr::new(program), path, None).ok().filter(|found| found.is_absolute());
    paths.into_iter().find_map(find)
}
