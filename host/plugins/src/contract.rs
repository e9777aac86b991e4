//! What this host offers: the contract of `wit/`, as data to compare with.
//!
//! The shapes come from the same bindings the engine calls through, so the report and the linker cannot disagree.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use semver::Version;

use crate::api;
use crate::surface::{self, Interface};

/// The package plugins import.
pub const HOST_PACKAGE: &str = "hermes:host";
/// The package plugins export.
pub const HOOK_PACKAGE: &str = "hermes:hook";

/// Who may import an interface of [`HOST_PACKAGE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Every plugin.
    Everyone,
    /// Plugins that see no raw text.
    NotifierOnly,
}

/// An interface of [`HOST_PACKAGE`].
#[derive(Clone, Debug)]
pub struct Offered {
    /// Who may import it.
    pub access: Access,
    /// Its functions.
    pub functions: Interface,
}

/// The version of [`HOST_PACKAGE`] in `wit/`.
pub fn host_version() -> Version {
    Version::new(0, 1, 0)
}

/// The version of [`HOOK_PACKAGE`] in `wit/`.
pub fn hook_version() -> Version {
    Version::new(0, 1, 0)
}

/// The version of the WASI interfaces the engine defines (wasmtime-wasi 48).
pub fn wasi_version() -> Version {
    Version::new(0, 2, 12)
}

/// The WASI interfaces a plugin can import. All are there, so that ordinary components load, and none leads anywhere.
pub const WASI_INTERFACES: [&str; 28] = [
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
    "wasi:sockets/instance-network",
    "wasi:sockets/ip-name-lookup",
    "wasi:sockets/network",
    "wasi:sockets/tcp",
    "wasi:sockets/tcp-create-socket",
    "wasi:sockets/udp",
    "wasi:sockets/udp-create-socket",
    // Types only, imported by some toolchains.
    "wasi:clocks/timezone",
];

struct Contract {
    host: BTreeMap<String, Offered>,
    hooks: BTreeMap<String, Interface>,
}

fn contract() -> &'static Contract {
    static CONTRACT: OnceLock<Contract> = OnceLock::new();
    CONTRACT.get_or_init(|| {
        let worlds = api::WORLDS.map(|(world, bytes)| {
            (world, surface::read_world(bytes).expect("the bindings were generated from the worlds of wit/"))
        });
        let mut host = BTreeMap::new();
        let mut hooks = BTreeMap::new();
        for (world, surface) in worlds {
            for (full, functions) in surface.imports {
                let Some(name) = short(&full, HOST_PACKAGE) else { continue };
                // What only the notifier's world imports is closed to those who see raw text.
                let access = if world == "notifier" { Access::NotifierOnly } else { Access::Everyone };
                host.entry(name).or_insert(Offered { access, functions });
            }
            for (full, functions) in surface.exports {
                if let Some(name) = short(&full, HOOK_PACKAGE) {
                    hooks.insert(name, functions);
                }
            }
        }
        Contract { host, hooks }
    })
}

/// `interface` of `package/interface@version`.
fn short(full: &str, package: &str) -> Option<String> {
    let rest = full.strip_prefix(package)?.strip_prefix('/')?;
    Some(rest.split('@').next().unwrap_or(rest).to_owned())
}

/// The interfaces of [`HOST_PACKAGE`] by name.
pub fn host_interfaces() -> &'static BTreeMap<String, Offered> {
    &contract().host
}

/// The functions of an interface of [`HOOK_PACKAGE`]; none for a name that is not one.
pub fn hook_interface(name: &str) -> &'static Interface {
    static NONE: Interface = Interface::new();
    contract().hooks.get(name).unwrap_or(&NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_text_hooks_get_log_count_and_scan_and_notifiers_the_rest() {
        let of = |access| {
            let names = host_interfaces().iter().filter(|(_, offered)| offered.access == access);
            names.map(|(name, _)| name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(of(Access::Everyone), ["count", "log", "scan"]);
        assert_eq!(of(Access::NotifierOnly), ["clock", "http", "storage"]);
    }

    #[test]
    fn every_hook_interface_has_its_functions() {
        for (interface, functions) in [
            ("lifecycle", &["configure", "describe", "self-test"][..]),
            ("redact", &["scan"]),
            ("transform", &["apply"]),
            ("notify", &["decide"]),
        ] {
            assert_eq!(hook_interface(interface).keys().collect::<Vec<_>>(), functions, "{interface}");
        }
    }
}
