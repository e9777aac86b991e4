//! What a notifier may use because an operator granted it: values of its own, and requests to the hosts named.
//!
//! Both may wait for a disk or a network, so they run on a thread of their own while the call waits. Nothing here is
//! ever held while they do: a notifier that hangs holds up its own event only.

use std::sync::Arc;
use std::time::Duration;

use hermes_ledger::values::{Values, ValuesError};
use hermes_outbound::error::SendError;
use hermes_outbound::request::{self, Reach, Request, Response};

use crate::limits::RESPONSE_MAX;
use crate::permission::{self, Grant};

/// What was granted. The default is nothing.
#[derive(Default)]
pub(crate) struct Granted {
    values: Option<Values>,
    reach: Reach,
}

/// A request as a notifier makes it.
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) timeout: Duration,
}

/// Why a notifier's value was not kept or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StorageRefused {
    /// It may not keep any.
    #[error("the permission was not granted")]
    NotGranted,
    /// The store did not answer within the call's own time.
    #[error("the store did not answer in time")]
    Late,
    /// The store refused.
    #[error(transparent)]
    Values(#[from] ValuesError),
}

impl Granted {
    /// These grants, with the values of the plugin they are for.
    pub(crate) fn new(values: Values, grants: &[Grant]) -> Arc<Self> {
        let keeps = grants.contains(&Grant::Storage);
        Arc::new(Self { values: keeps.then_some(values), reach: permission::reach(grants) })
    }

    /// Does something with the plugin's values.
    pub(crate) async fn values<T: Send + 'static>(
        &self,
        within: Duration,
        work: impl FnOnce(&Values) -> Result<T, ValuesError> + Send + 'static,
    ) -> Result<T, StorageRefused> {
        let values = self.values.clone().ok_or(StorageRefused::NotGranted)?;
        let done = tokio::task::spawn_blocking(move || work(&values));
        match tokio::time::timeout(within, done).await {
            Ok(Ok(done)) => Ok(done?),
            Ok(Err(_)) | Err(_) => Err(StorageRefused::Late),
        }
    }

    /// Sends a request to one of the hosts granted.
    pub(crate) async fn send(&self, asked: Asked) -> Result<Response, SendError> {
        let reach = self.reach.clone();
        let sent = tokio::task::spawn_blocking(move || {
            let Asked { method, url, headers, body, timeout } = &asked;
            let request = Request { method, url, headers, body, timeout: *timeout, response_max: RESPONSE_MAX };
            request::send(&request, &reach)
        });
        sent.await.unwrap_or_else(|_| Err(SendError::Invalid("the request broke down".to_owned())))
    }
}
