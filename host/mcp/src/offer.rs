//! What a host offers to all its clients: its processes, the way to start more, and who it is.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hermes_model::config::TerminalConfig;
use hermes_output::policy::InForce;
use hermes_process::order::Orders;
use hermes_process::registry::handle::Registry;

use crate::gateway::handle::Gateway;
use crate::tools::plugins::InstalledPlugins;

/// How long somebody may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// How long one wait lasts at most, and how long an agent's command runs that names no time (`terminal.timeout`).
    pub wait: Duration,
    /// How long a foreground command is waited for (`terminal.foreground_max`); then it goes on in the background.
    pub foreground: Duration,
}

impl From<&TerminalConfig> for Patience {
    fn from(terminal: &TerminalConfig) -> Self {
        Self { wait: terminal.timeout, foreground: terminal.foreground_max }
    }
}

/// Who a host is, for `status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The version of hermes.
    pub version: String,
    /// The home it works on.
    pub home: PathBuf,
    /// How long it stays with nothing to do; none: until somebody ends it.
    pub idle_exit: Option<Duration>,
}

/// Everything the tools work with.
pub struct Offer {
    /// The processes.
    pub registry: Registry,
    /// The way of a command to its start.
    pub orders: Orders,
    /// The policy, for the number of its generation.
    pub in_force: Arc<dyn InForce>,
    /// The plugins the policy is made of, for whoever asks what is in force.
    pub plugins: Arc<dyn InstalledPlugins>,
    /// How long somebody may wait.
    pub patience: Patience,
    /// Who this host is.
    pub about: About,
    /// Its servers, for agents.
    pub gateway: Gateway,
}
