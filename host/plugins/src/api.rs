//! The generated bindings of contract track 0.1, and the host's side of its imports.
//!
//! This module converts and delegates; it decides nothing.

use std::time::Duration;

use hermes_ledger::limits::{VALUE_BYTES_MAX, VALUES_BYTES_MAX};
use hermes_ledger::values::ValuesError;
use hermes_outbound::error::SendError;
use wasmtime::component::{HasSelf, Linker};

use crate::granted::{Asked, StorageRefused};
use crate::guest::Guest;
use crate::limits::ANSWER_TIME;
use crate::patterns::Hit;

#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    reason = "generated from wit/, whose comments are the documentation"
)]
pub(crate) mod bindings {
    pub(crate) mod imports {
        wasmtime::component::bindgen!({
            path: ["../../wit/host/v0.1", "../../wit/hook/v0.1"],
            inline: "package hermes:offered; world imports {
                import hermes:host/log@0.1.1;
                import hermes:host/count@0.1.1;
                import hermes:host/scan@0.1.1;
                import hermes:host/storage@0.1.1;
                import hermes:host/clock@0.1.1;
                import hermes:host/http@0.1.1;
            }",
            world: "hermes:offered/imports",
            imports: {
                "hermes:host/clock.sleep": async,
                "hermes:host/http.send": async,
                "hermes:host/scan.find": trappable,
                "hermes:host/storage.get": async,
                "hermes:host/storage.put": async,
                "hermes:host/storage.remove": async,
            },
        });
    }
    pub(crate) mod redactor {
        wasmtime::component::bindgen!({
            path: ["../../wit/host/v0.1", "../../wit/hook/v0.1"],
            world: "hermes:hook/redactor",
            exports: { default: async },
            ownership: Borrowing { duplicate_if_necessary: true },
            include_component_type: true,
            with: { "hermes:host": super::imports::hermes::host },
        });
    }
    pub(crate) mod transformer {
        wasmtime::component::bindgen!({
            path: ["../../wit/host/v0.1", "../../wit/hook/v0.1"],
            world: "hermes:hook/transformer",
            exports: { default: async },
            ownership: Borrowing { duplicate_if_necessary: true },
            include_component_type: true,
            with: { "hermes:host": super::imports::hermes::host },
        });
    }
    pub(crate) mod notifier {
        wasmtime::component::bindgen!({
            path: ["../../wit/host/v0.1", "../../wit/hook/v0.1"],
            world: "hermes:hook/notifier",
            exports: { default: async },
            include_component_type: true,
            with: { "hermes:host": super::imports::hermes::host },
        });
    }
}

use bindings::imports::hermes::host;

/// The encoded worlds the bindings were generated from, the least privileged first.
pub(crate) const WORLDS: [(&str, &[u8]); 3] = [
    ("redactor", bindings::redactor::COMPONENT_TYPE),
    ("transformer", bindings::transformer::COMPONENT_TYPE),
    ("notifier", bindings::notifier::COMPONENT_TYPE),
];

/// Defines everything this host offers: its own interfaces and an inert WASI.
///
/// # Errors
/// Two definitions of the same name, which would be a mistake in this module.
pub(crate) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    host::log::add_to_linker::<_, HasSelf<_>>(linker, |guest| guest)?;
    host::count::add_to_linker::<_, HasSelf<_>>(linker, |guest| guest)?;
    host::scan::add_to_linker::<_, HasSelf<_>>(linker, |guest| guest)?;
    host::storage::add_to_linker::<_, HasSelf<_>>(linker, |guest| guest)?;
    host::clock::add_to_linker::<_, HasSelf<_>>(linker, |guest| guest)?;
    host::http::add_to_linker::<_, HasSelf<_>>(linker, |guest| guest)
}

impl host::log::Host for Guest {
    fn write(&mut self, level: host::log::Level, message: String) {
        let level = match level {
            host::log::Level::Trace => tracing::Level::TRACE,
            host::log::Level::Debug => tracing::Level::DEBUG,
            host::log::Level::Info => tracing::Level::INFO,
            host::log::Level::Warn => tracing::Level::WARN,
            host::log::Level::Error => tracing::Level::ERROR,
        };
        self.log.write(level, &message);
    }
}

impl host::count::Host for Guest {
    fn add(&mut self, name: String, by: u64) {
        self.count(&name, by);
    }
}

impl host::scan::Host for Guest {
    fn find(&mut self, pattern_set: String) -> wasmtime::Result<Result<Vec<host::scan::Hit>, host::scan::ScanError>> {
        use crate::patterns::FindError;
        let hit = |hit: Hit| host::scan::Hit { pattern: hit.pattern, start: hit.start, end: hit.end };
        Ok(match self.find(&pattern_set) {
            Ok(hits) => Ok(hits.into_iter().map(hit).collect()),
            Err(FindError::UnknownSet) => Err(host::scan::ScanError::UnknownSet),
            Err(FindError::NoText) => Err(host::scan::ScanError::NoText),
            Err(FindError::TooManyHits(limit)) => Err(host::scan::ScanError::TooManyHits(limit)),
            // The same end as that of a guest that takes too long itself.
            Err(FindError::OutOfTime) => return Err(wasmtime::Trap::Interrupt.into()),
        })
    }
}

impl host::storage::Host for Guest {
    async fn get(&mut self, key: String) -> Result<Option<Vec<u8>>, host::storage::StorageError> {
        self.host_calls += 1;
        self.granted.values(self.host_time_left(), move |values| values.get(&key)).await.map_err(storage_error)
    }

    async fn put(&mut self, key: String, value: Vec<u8>) -> Result<(), host::storage::StorageError> {
        self.host_calls += 1;
        self.granted.values(self.host_time_left(), move |values| values.put(&key, &value)).await.map_err(storage_error)
    }

    async fn remove(&mut self, key: String) -> Result<(), host::storage::StorageError> {
        self.host_calls += 1;
        self.granted.values(self.host_time_left(), move |values| values.remove(&key)).await.map_err(storage_error)
    }
}

fn storage_error(error: StorageRefused) -> host::storage::StorageError {
    use host::storage::StorageError;
    match error {
        StorageRefused::Values(ValuesError::TooLarge) => StorageError::TooLarge(VALUE_BYTES_MAX as u64),
        StorageRefused::Values(ValuesError::Quota) => StorageError::QuotaExceeded(VALUES_BYTES_MAX),
        other => StorageError::Unavailable(other.to_string()),
    }
}

impl host::clock::Host for Guest {
    fn unix_ms(&mut self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    async fn sleep(&mut self, ms: u32) -> u32 {
        self.host_calls += 1;
        let left = self.host_time_left().saturating_sub(ANSWER_TIME);
        let wait = Duration::from_millis(u64::from(ms)).min(left);
        tokio::time::sleep(wait).await;
        u32::try_from(wait.as_millis()).unwrap_or(u32::MAX)
    }
}

impl host::http::Host for Guest {
    async fn send(&mut self, request: host::http::Request) -> Result<host::http::Response, host::http::HttpError> {
        self.host_calls += 1;
        let asked = Asked {
            method: request.method,
            url: request.url,
            headers: request.headers,
            body: request.body,
            timeout: Duration::from_millis(u64::from(request.timeout_ms)).min(self.host_time_left()),
        };
        let response = self.granted.send(asked).await.map_err(http_error)?;
        Ok(host::http::Response { status: response.status, headers: response.headers, body: response.body })
    }
}

fn http_error(error: SendError) -> host::http::HttpError {
    use host::http::HttpError;
    match error {
        SendError::Denied(_) | SendError::Plain(_) | SendError::Address { .. } => HttpError::Denied(error.to_string()),
        SendError::Invalid(what) => HttpError::Invalid(what),
        SendError::TimedOut(_) => HttpError::TimedOut,
        SendError::TooLarge { max, .. } => HttpError::TooLarge(max),
        other => HttpError::Failed(other.to_string()),
    }
}
