//! What the policy did to what servers said, counted in the ledger: for each server, surface and generation.
//!
//! It must never hold up an answer, and never hold anything of a text.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hermes_ledger::audit::AuditEntry;
use hermes_ledger::live::handle::Ledger;
use hermes_model::context::Surface;
use hermes_model::id::ServerName;
use hermes_model::report::PolicyReport;
use hermes_output::policy::Policy;
use serde_json::Value;
use tokio::sync::Notify;

/// How long it is waited for counts to be written when a session ends: the ledger commits within milliseconds, and a
/// session must end also where it does not.
const LAST: Duration = Duration::from_millis(500);

/// The counts that are not in the ledger yet.
pub(super) struct Counts {
    ledger: Ledger,
    waiting: Mutex<BTreeMap<Key, AuditEntry>>,
    came: Notify,
    /// Held while counts are written, so that whoever waits for it knows that they are.
    writing: tokio::sync::Mutex<()>,
}

/// What is counted together: server, surface, generation.
type Key = (String, &'static str, u64);

impl Counts {
    pub(super) fn new(ledger: Ledger) -> Arc<Self> {
        Arc::new(Self {
            ledger,
            waiting: Mutex::default(),
            came: Notify::new(),
            writing: tokio::sync::Mutex::default(),
        })
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<Key, AuditEntry>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one document or text of a server of this many bytes, as it was before the policy saw it.
    pub(super) fn add(
        &self,
        server: &ServerName,
        surface: Surface,
        policy: &dyn Policy,
        report: &PolicyReport,
        bytes: u64,
    ) {
        let key = (server.as_str().to_owned(), surface.name(), report.generation);
        {
            let mut waiting = self.waiting();
            let entry = waiting.entry(key).or_insert_with(|| AuditEntry {
                source: server.as_str().to_owned(),
                surface,
                generation: report.generation,
                texts: 0,
                bytes: 0,
                redactions: BTreeMap::new(),
                withheld: BTreeMap::new(),
                redactor_digests: policy.redactor_digests().into_iter().collect(),
            });
            entry.texts += 1;
            entry.bytes += bytes;
            for (rule, count) in &report.redactions {
                *entry.redactions.entry(rule.clone()).or_default() += count;
            }
            if let Some(withheld) = &report.withheld {
                *entry.withheld.entry(withheld.code.clone()).or_default() += bytes;
            }
        }
        self.came.notify_one();
    }

    /// Writes what there is to be written. What comes meanwhile is written together, the next time.
    async fn write(&self) {
        let _writing = self.writing.lock().await;
        let waiting = std::mem::take(&mut *self.waiting());
        for entry in waiting.into_values() {
            let server = entry.source.clone();
            if let Err(error) = self.ledger.audit(entry).await {
                tracing::debug!(server, %error, "what the policy did was not counted");
            }
        }
    }

    /// Returns when everything counted so far is in the ledger, or soon.
    pub(super) async fn written(self: &Arc<Self>) {
        let counts = Arc::clone(self);
        // A task of its own: what was taken to be written is written, also where nobody waits any more.
        let writing = tokio::spawn(async move { counts.write().await });
        let _ = tokio::time::timeout(LAST, writing).await;
    }
}

/// Writes counts whenever there are some. Never returns.
pub(super) async fn keep_writing(counts: Arc<Counts>) {
    loop {
        counts.came.notified().await;
        counts.write().await;
    }
}

/// How many bytes a document has, written without white space.
pub(super) fn size(value: &Value) -> u64 {
    struct Count(u64);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Nothing here can fail: every key is a text, and the count takes everything.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_size_of_a_document_is_that_of_its_shortest_form() {
        for value in [json!(null), json!({"a": ["x\n\"é", 1.5, {}]})] {
            assert_eq!(size(&value), value.to_string().len() as u64);
        }
    }
}
