//! From what somebody asked for to what is spawned: the guard, advice, the folder, the environment, the shell.
//!
//! Everything a running host starts comes through here. It must never change what a command does, only where it runs and
//! what it inherits, and it must say what it changed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hermes_model::config::{OutputConfig, TerminalConfig};
use hermes_model::id::Owner;

use crate::environment::{BadPattern, EnvRules, Environment};
use crate::guard::scripts::Files;
use crate::guard::{self, Guarded};
use crate::host::Host;
use crate::registry::look::blocking;
use crate::shell::folder::{self, BadName};
use crate::shell::guidance::{self, Advice};
use crate::shell::login::{self, LoginEnvironments};
use crate::shell::{compound, scratch};
use crate::spec::{CommandSpec, Program, PtySize, Stdin};

/// What is to run.
#[derive(Clone)]
pub enum Asked {
    /// A text for the shell.
    Shell(String),
    /// A program and its arguments.
    Exec(Vec<OsString>),
}

/// What somebody asks a running host to start.
#[derive(Clone)]
pub struct Order {
    /// What is to run.
    pub asked: Asked,
    /// Whether nobody waits for it.
    pub background: bool,
    /// The folder to run in; none: that of the host.
    pub cwd: Option<PathBuf>,
    /// The environment of whoever asks; none: that of the host, with what a login shell makes of it.
    pub base_env: Option<Vec<(OsString, OsString)>>,
    /// Variables set on purpose: nothing filters them.
    pub env: Vec<(OsString, OsString)>,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// The size of its terminal, if it gets one.
    pub pty: Option<PtySize>,
    /// Who may see and end it.
    pub owner: Owner,
    /// Whether it reads what it is sent.
    pub stdin: bool,
    /// Whether it may outlive the host.
    pub persist: bool,
    /// Whether a foreground command that never ends is refused with advice, as it is for agents.
    pub advise: bool,
}

/// What is spawned.
pub struct Prepared {
    /// The command.
    pub spec: CommandSpec,
    /// What is to be said beside it.
    pub notes: Vec<String>,
}

/// Why an order is not carried out. Nothing of the command is quoted.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It would end the host.
    #[error(transparent)]
    Guard(#[from] guard::Refused),
    /// It would keep the agent waiting for nothing.
    #[error("{0}")]
    Advice(Advice),
    /// The folder's name holds what no folder's name should.
    #[error(transparent)]
    Folder(#[from] BadName),
    /// There is nothing to run.
    #[error("no command is given: name a program, or a text for the shell")]
    Nothing,
}

/// What does not change between two orders.
pub struct Orders {
    host: Host,
    shell: PathBuf,
    /// That it is not the shell of the configuration.
    other_shell: Option<String>,
    logins: Option<LoginEnvironments>,
    rules: EnvRules,
    guarded: Arc<Guarded>,
    scratch: PathBuf,
    term_grace: Duration,
    ring_bytes: usize,
}

impl Orders {
    /// Prepares orders for a host as its configuration says. `scratch` is the folder for temporary files of commands.
    ///
    /// # Errors
    /// `terminal.env_block` or `terminal.env_pass` hold something that is no pattern.
    pub fn new(
        host: Host,
        terminal: &TerminalConfig,
        output: &OutputConfig,
        guarded: Guarded,
        scratch: PathBuf,
    ) -> Result<Self, BadPattern> {
        let environment = Environment::inherit();
        let configured = Path::new(&terminal.shell);
        let shell = login::choose_shell(Some(configured), environment.get("SHELL"), login::is_executable);
        let logins = terminal.login_environment.then(|| LoginEnvironments::new(shell.clone()));
        let other_shell = (shell != configured).then(|| {
            let (shell, configured) = (shell.display(), configured.display());
            format!(
                "shell '{configured}' cannot be run, so '{shell}' runs the text; correct terminal.shell in config.toml"
            )
        });
        Ok(Self {
            host,
            shell,
            other_shell,
            logins,
            rules: EnvRules::new(terminal.env_block.clone(), terminal.env_pass.clone())?,
            guarded: Arc::new(guarded),
            scratch,
            term_grace: terminal.term_grace,
            ring_bytes: usize::try_from(output.ring_bytes).unwrap_or(usize::MAX),
        })
    }

    /// Makes a command of an order.
    ///
    /// # Errors
    /// [`Refused`]: it is not to be started.
    pub async fn prepare(&self, order: Order) -> Result<Prepared, Refused> {
        self.guard(&order.asked, order.cwd.as_deref()).await?;
        if let Asked::Shell(text) = &order.asked
            && order.advise
            && !order.background
            && let Some(advice) = guidance::advise(text)
        {
            return Err(Refused::Advice(advice));
        }
        let mut notes = Vec::new();
        // An agent's folder may have gone since it was last used; a person has just named one.
        let cwd = match order.cwd {
            Some(cwd) if order.advise => Some(self.folder(&cwd, &mut notes)?),
            cwd => cwd,
        };
        let mut environment = self.environment(order.base_env).await;
        environment.filter(&self.rules);
        self.offer_scratch(&mut environment);
        for (name, value) in order.env {
            environment.set(name, value);
        }
        let mut as_asked = None;
        let program = match order.asked {
            Asked::Shell(text) => {
                notes.extend(self.other_shell.clone());
                let rewritten = compound::rewrite(&text).into_owned();
                as_asked = (rewritten != text).then_some(text);
                Program::Shell { shell: self.shell.clone(), text: rewritten }
            }
            Asked::Exec(words) => {
                let mut words = words.into_iter();
                Program::Exec { program: words.next().ok_or(Refused::Nothing)?, args: words.collect() }
            }
        };
        let spec = CommandSpec {
            cwd,
            environment,
            timeout: order.timeout,
            term_grace: self.term_grace,
            owner: order.owner,
            stdin: if order.stdin { Stdin::Pipe } else { Stdin::Null },
            ring_bytes: self.ring_bytes,
            pty: order.pty,
            persist: order.persist,
            as_asked,
            ..CommandSpec::new(program)
        };
        Ok(Prepared { spec, notes })
    }

    /// Reads whatever scripts the command names, so it may block.
    async fn guard(&self, asked: &Asked, cwd: Option<&Path>) -> Result<(), guard::Refused> {
        let cwd = cwd.map(Path::to_owned).or_else(|| std::env::current_dir().ok()).unwrap_or_default();
        let (asked, guarded) = (asked.clone(), Arc::clone(&self.guarded));
        blocking(move || {
            let scripts = Files::new(cwd);
            match asked {
                Asked::Shell(text) => guard::check(&guard::Command::Shell(&text), &guarded, &scripts),
                Asked::Exec(words) => {
                    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
                    guard::check(&guard::Command::Exec(&words), &guarded, &scripts)
                }
            }
        })
        .await
    }

    fn folder(&self, asked: &Path, notes: &mut Vec<String>) -> Result<PathBuf, BadName> {
        folder::check_name(&asked.to_string_lossy())?;
        let place = folder::find(asked, &std::env::temp_dir());
        notes.extend(place.notice());
        Ok(place.folder().to_owned())
    }

    async fn environment(&self, base: Option<Vec<(OsString, OsString)>>) -> Environment {
        if let Some(base) = base {
            return Environment::from_pairs(base);
        }
        let mut environment = Environment::inherit();
        if let Some(logins) = &self.logins {
            logins.get(&self.host, &environment).await.apply(&mut environment);
        }
        environment
    }

    fn offer_scratch(&self, environment: &mut Environment) {
        let offered = scratch::offer(&self.scratch, None, environment).and_then(|offered| {
            if offered { scratch::clean(&self.scratch, SystemTime::now()).map(drop) } else { Ok(()) }
        });
        if let Err(error) = offered {
            tracing::warn!(%error, "the folder for temporary files of commands cannot be used as it should");
        }
    }
}
