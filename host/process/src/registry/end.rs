//! Ending processes: one, all of an owner, all since a moment, all there are.
//!
//! It must never say that something ended that lives, and never spare or end what belongs to somebody else.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use hermes_ledger::receipt::StoredReceipt;
use hermes_model::context::{Context, Surface};
use hermes_model::id::{Owner, ProcessId};
use hermes_model::status::Status;
use hermes_output::reveal::Revealed;

use super::entry::{Body, Entry, Stage};
use super::handle::{Registry, Who};
use super::request::{AskError, Source};
use super::shown::{KillResult, Killed, SurvivorShown};
use crate::adopted::Adopted;
use crate::kill::{Survivor, Verdict};

/// How long the announcement of an end may take after a kill that was complete: the views and the ledger. Then the reply
/// says what is known.
const ANNOUNCEMENT: Duration = Duration::from_secs(30);

/// What is shown of the output in the answer to a kill, in bytes, where the process asked for no other size.
const OUTPUT_BYTES: usize = 2000;

impl Registry {
    /// Ends a process with everything it started, and says what came of it. Returns after the effect.
    ///
    /// Of a process that is over, those who survived it are ended.
    ///
    /// # Errors
    /// There is no such process, or it is another owner's.
    pub async fn kill(&self, who: &Who, asked: &str, source: Source) -> Result<Killed, AskError> {
        let entry = match self.find(who, asked).await? {
            super::handle::Found::Here(entry) => entry,
            super::handle::Found::Written(receipt) => return Ok(self.end_left(*receipt).await),
        };
        Ok(self.end(&entry, source).await)
    }

    /// Ends whom a process left that only the ledger knows: its host is gone, and who it left carries its id still.
    async fn end_left(&self, receipt: StoredReceipt) -> Killed {
        let mut context = Context::new(Surface::Preview);
        context.source = receipt.id.to_string();
        context.owner = receipt.owner.clone();
        let verdict = Adopted::unled(&receipt.id).stop(self.shared().settings.term_grace).await;
        let mut killed = self.already_ended(receipt).await;
        if !verdict.is_complete() {
            killed.result = KillResult::Incomplete;
            killed.survivors = self.name_in(&context, &verdict.survivors).await;
        }
        killed
    }

    /// Ends one process.
    pub(crate) async fn end(&self, entry: &Arc<Entry>, source: Source) -> Killed {
        let ran = matches!(entry.stage(), Stage::Running | Stage::Unended(_));
        let mut swept: Vec<i32> = if ran { Vec::new() } else { self.alive(entry).iter().map(Survivor::pid).collect() };
        let verdict = self.end_tree(entry, source).await;
        swept.retain(|pid| verdict.seen && !verdict.survivors.iter().any(|survivor| survivor.pid() == *pid));
        let complete = verdict.is_complete();
        if complete {
            // Every end is announced; a full disk announces too. The limit is for a plugin that takes its time.
            let _ = tokio::time::timeout(ANNOUNCEMENT, entry.wait_for_announcement()).await;
            // Nobody is there to see what the end of the host ends: that is told by the next one.
            if source != Source::Shutdown {
                self.shared().consume(entry).await;
            }
        } else if ran {
            entry.set(Stage::Unended(verdict.survivors.clone()));
        }
        let result = match (complete, ran) {
            (false, _) => KillResult::Incomplete,
            (true, true) => KillResult::Killed,
            (true, false) => KillResult::AlreadyEnded,
        };
        let eyes = &self.shared().eyes;
        let view = eyes.view(entry, Surface::Background, OUTPUT_BYTES.max(entry.wishes.completion_bytes)).await;
        self.shared().audit(entry, Surface::Background, &view).await;
        let Revealed { text, report, cut, .. } = view;
        let status = entry.status();
        Killed {
            id: entry.id.clone(),
            result,
            exit_code: status.exit_code(),
            status,
            survivors: self.name(entry, &verdict.survivors).await,
            swept,
            output: text,
            output_cut: cut,
            policy: report,
        }
    }

    async fn end_tree(&self, entry: &Arc<Entry>, source: Source) -> Verdict {
        let shared = self.shared();
        let verdict = match &entry.body {
            Body::Own(process) => process.stop(source.name()).await,
            Body::Adopted(adopted) => {
                if entry.is_under_way() {
                    // Before the effect: its task writes what ended it.
                    entry.set(Stage::Finalizing(Status::Stopped(source.name().to_owned())));
                }
                let verdict = adopted.stop(shared.settings.term_grace).await;
                if !verdict.is_complete() {
                    entry.set(Stage::Running);
                }
                verdict
            }
        };
        shared.stop_scope(entry).await;
        verdict
    }

    /// Survivors with their command lines, which may hold secrets.
    pub(crate) async fn name(&self, entry: &Arc<Entry>, survivors: &[Survivor]) -> Vec<SurvivorShown> {
        self.name_in(&super::look::context(entry, Surface::Preview), survivors).await
    }

    async fn name_in(&self, context: &Context, survivors: &[Survivor]) -> Vec<SurvivorShown> {
        let mut named = Vec::with_capacity(survivors.len());
        for survivor in survivors {
            let command = self.shared().eyes.stored(context.clone(), survivor.command().clone()).await;
            named.push(SurvivorShown { pid: survivor.pid(), command });
        }
        named
    }

    /// The ids of an owner's running processes: a baseline for [`Registry::kill_since`].
    pub fn running(&self, owner: &Owner) -> BTreeSet<ProcessId> {
        let all = self.entries();
        all.iter().filter(|entry| entry.owner == *owner && entry.is_under_way()).map(|entry| entry.id.clone()).collect()
    }

    /// Ends everything of an owner that runs, but for `except` and, where the source spares them, those that persist.
    /// Returns what came of each.
    pub async fn kill_all(&self, owner: &Owner, except: &BTreeSet<ProcessId>, source: Source) -> Vec<Killed> {
        let chosen = self.entries().into_iter().filter(|entry| {
            entry.owner == *owner
                && (entry.is_under_way() || entry.has_survivors())
                && !except.contains(&entry.id)
                && !(source.spares_persistent() && entry.wishes.persist)
        });
        self.end_together(chosen.collect(), source).await
    }

    /// Ends everything of an owner that was started since a baseline. What is ended so wakes nobody.
    pub async fn kill_since(&self, owner: &Owner, baseline: &BTreeSet<ProcessId>, source: Source) -> Vec<Killed> {
        self.kill_all(owner, baseline, source).await
    }

    /// Cuts the grace of every end that is under way short.
    pub async fn hurry(&self) {
        for entry in self.entries() {
            if let Body::Own(process) = &entry.body
                && !process.is_gone()
            {
                let process = process.clone();
                tokio::spawn(async move { process.stop(Source::Shutdown.name()).await });
            }
        }
    }

    /// Ends everything, persistent or not, for the end of the host.
    pub(crate) async fn end_all(&self) -> Vec<Killed> {
        let all = self.entries().into_iter().filter(|entry| entry.is_under_way() || entry.has_survivors()).collect();
        self.end_together(all, Source::Shutdown).await
    }

    async fn end_together(&self, entries: Vec<Arc<Entry>>, source: Source) -> Vec<Killed> {
        let ends: Vec<_> = entries
            .into_iter()
            .map(|entry| {
                let registry = self.clone();
                tokio::spawn(async move { registry.end(&entry, source).await })
            })
            .collect();
        let mut killed = Vec::with_capacity(ends.len());
        for end in ends {
            match end.await {
                Ok(one) => killed.push(one),
                Err(error) => tracing::error!(%error, "ending a process broke down"),
            }
        }
        killed
    }
}
