//! The generated bindings of contract track 0.1, and the host's side of its imports.
//!
//! This module converts and delegates; it decides nothing.

use wasmtime::component::{HasSelf, Linker};

use crate::guest::Guest;

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
                import hermes:host/log@0.1.0;
                import hermes:host/count@0.1.0;
                import hermes:host/scan@0.1.0;
                import hermes:host/storage@0.1.0;
                import hermes:host/clock@0.1.0;
                import hermes:host/http@0.1.0;
            }",
            world: "hermes:offered/imports",
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
    fn find(&mut self, pattern_set: String) -> Result<Vec<host::scan::Hit>, host::scan::ScanError> {
        use crate::patterns::FindError;
        match self.find(&pattern_set) {
            Ok(hits) => Ok(hits
                .into_iter()
                .map(|hit| host::scan::Hit { pattern: hit.pattern, start: hit.start, end: hit.end })
                .collect()),
            Err(FindError::UnknownSet) => Err(host::scan::ScanError::UnknownSet),
            Err(FindError::NoText) => Err(host::scan::ScanError::NoText),
            Err(FindError::TooManyHits(limit)) => Err(host::scan::ScanError::TooManyHits(limit)),
        }
    }
}

/// What a notifier is told when it uses what was not granted.
const NOT_GRANTED: &str = "the permission was not granted";

impl host::storage::Host for Guest {
    fn get(&mut self, _: String) -> Result<Option<Vec<u8>>, host::storage::StorageError> {
        Err(host::storage::StorageError::Unavailable(NOT_GRANTED.to_owned()))
    }

    fn put(&mut self, _: String, _: Vec<u8>) -> Result<(), host::storage::StorageError> {
        Err(host::storage::StorageError::Unavailable(NOT_GRANTED.to_owned()))
    }

    fn remove(&mut self, _: String) -> Result<(), host::storage::StorageError> {
        Err(host::storage::StorageError::Unavailable(NOT_GRANTED.to_owned()))
    }
}

impl host::clock::Host for Guest {
    fn unix_ms(&mut self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

impl host::http::Host for Guest {
    fn send(&mut self, request: host::http::Request) -> Result<host::http::Response, host::http::HttpError> {
        let host =
            request.url.split_once("://").map_or("", |(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or(""));
        Err(host::http::HttpError::Denied(host.to_owned()))
    }
}
