//! A home with a real ledger, and registries on it that redact nothing.

use hermes_fakes::policy::Fake;
use hermes_home::home::{Home, LocateArgs};
use hermes_ledger::live::handle::Ledger;
use hermes_model::config::BackgroundNotifications;
use hermes_process::host::Host;
use hermes_process::registry::handle::{Registry, Settings};
use hermes_process::spec::TERM_GRACE;

/// A temporary home. It goes when this does.
pub(crate) struct House {
    folder: tempfile::TempDir,
}

impl House {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// A registry with the defaults of the configuration.
    pub(crate) fn open(&self) -> Registry {
        let args = LocateArgs { home: Some(self.folder.path().join("home")), profile: None };
        let home = Home::locate(&args).expect("a home");
        let host = Host::start().expect("a host");
        let ledger = Ledger::open(&home, host.identity().expect("/proc")).expect("a ledger");
        let settings = Settings {
            term_grace: TERM_GRACE,
            reply_bytes: 50_000,
            completion_bytes: 2000,
            mode: BackgroundNotifications::Concise,
            supervised: false,
            adopt: true,
            log_by: "hermes logs",
        };
        Registry::start(host, ledger, Fake::nothing().in_force(), settings)
    }
}
