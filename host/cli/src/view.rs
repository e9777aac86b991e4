//! Where captured text becomes visible: one policy, one set of known secrets.
//!
//! Everything a verb shows of a command goes through a [`Desk`]: its output, its command line, errors that name it.

use std::sync::Arc;

use hermes_model::context::{Context, Surface};
use hermes_output::captured::Captured;
use hermes_output::cut::Limits;
use hermes_output::exact::{self, ExactValues};
use hermes_output::policy::Policy;
use hermes_output::reveal::{self, Revealed};
use hermes_output::stream::Stream;
use hermes_plugins::chain::Chain;
use hermes_process::environment::Environment;

/// A policy with the values the host itself knows to be secret.
#[derive(Clone)]
pub(crate) struct Desk {
    policy: Arc<Chain>,
    exact: Arc<ExactValues>,
    /// Said with every text, its surface apart.
    pub(crate) context: Context,
}

impl Desk {
    /// A desk that knows the secrets of this environment.
    pub(crate) fn new(policy: Arc<Chain>, environment: &Environment) -> Self {
        let variables: Vec<(String, String)> = environment
            .iter()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
            .collect();
        let exact = exact::from_environment(variables.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        Self { policy, exact: Arc::new(exact), context: Context::new(Surface::Foreground) }
    }

    /// A desk that knows the secrets of hermes' own environment.
    pub(crate) fn of_hermes(policy: Arc<Chain>) -> Self {
        Self::new(policy, &Environment::inherit())
    }

    /// The policy.
    pub(crate) fn policy(&self) -> &dyn Policy {
        &*self.policy
    }

    /// A whole output as an agent gets it.
    pub(crate) fn view(&self, captured: &Captured, limits: &Limits) -> Revealed {
        reveal::reveal(self.policy(), &self.context, captured, &self.exact, limits)
    }

    /// A short text: a command line, an error.
    pub(crate) fn text(&self, text: &str) -> Revealed {
        reveal::reveal_text(self.policy(), &self.context, text, &self.exact)
    }

    /// An output that is shown as it arrives.
    pub(crate) fn stream(&self) -> Stream {
        let context = Context { surface: Surface::Stream, ..self.context.clone() };
        Stream::new(context, Arc::clone(&self.exact))
    }
}
