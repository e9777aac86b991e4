//! Events on their way to whoever asks: taken with a claim, shown, settled.
//!
//! It must never lose an event between the ledger and whoever asked, and never show one that has not been through the
//! policy again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hermes_ledger::event::{Claim, Claimed, Settled, StoredEvent};
use hermes_ledger::problem::LedgerError;
use hermes_model::context::{Context, Surface};
use hermes_model::event::EventKind;
use hermes_model::status::Status;

use super::entry::Entry;
use super::handle::{Registry, Who};
use super::shown::{EventShown, at};

impl Registry {
    /// Takes events of `who`, waiting up to `patience` for the first. Each comes with the claim that settles it: an
    /// event that is not acknowledged is delivered again.
    ///
    /// `skip_observed`: leave out the ends of processes that were listed after they ended, and settle them.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn events(
        &self,
        who: &Who,
        max: usize,
        patience: Duration,
        skip_observed: bool,
    ) -> Result<Vec<(Claim, EventShown)>, LedgerError> {
        self.shared().bus.news(who.scope(), patience).await?;
        let claimed = self.shared().ledger.claim(who.scope(), max).await?;
        let mut shown = Vec::with_capacity(claimed.len());
        let mut settled = Vec::new();
        for Claimed { claim, event, .. } in claimed {
            if skip_observed && self.was_observed(&event) {
                settled.push(claim);
            } else {
                shown.push((claim, self.show(event).await));
            }
        }
        if !settled.is_empty() {
            self.shared().ledger.acknowledge(&settled).await?;
        }
        Ok(shown)
    }

    fn was_observed(&self, event: &StoredEvent) -> bool {
        let observed =
            |entry: &Arc<Entry>| Some(&entry.id) == event.process.as_ref() && entry.observed.load(Ordering::Relaxed);
        event.kind == EventKind::Completion && self.entries().iter().any(observed)
    }

    async fn show(&self, event: StoredEvent) -> EventShown {
        let eyes = &self.shared().eyes;
        let mut context = Context::new(Surface::Completion);
        context.owner = event.owner.clone();
        context.source = event.process.as_ref().map_or_else(String::new, ToString::to_string);
        let pattern = match event.pattern {
            Some(pattern) => Some(eyes.stored(context.clone(), pattern).await),
            None => None,
        };
        EventShown {
            command: eyes.stored(context.clone(), event.command).await,
            output: eyes.stored(context, event.output).await,
            pattern,
            id: event.id,
            seq: event.seq,
            kind: event.kind,
            process: event.process,
            owner: event.owner,
            at: at(event.at),
            exit_code: event.status.as_ref().and_then(Status::exit_code),
            status: event.status,
            output_cut: event.output_cut,
            suppressed: event.suppressed,
            hidden: event.hidden,
            policy: event.policy,
        }
    }

    /// Settles events that arrived.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub async fn acknowledge(&self, claims: &[Claim]) -> Result<Settled, LedgerError> {
        self.shared().ledger.acknowledge(claims).await
    }

    /// Gives back events that did not arrive.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub async fn release(&self, claims: &[Claim]) -> Result<Settled, LedgerError> {
        let settled = self.shared().ledger.release(claims).await?;
        self.shared().bus.nudge();
        Ok(settled)
    }

    /// How many events wait for `who`.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn pending(&self, who: &Who) -> Result<u64, LedgerError> {
        self.shared().ledger.pending(who.scope()).await
    }
}
