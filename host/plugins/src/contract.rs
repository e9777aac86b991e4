//! What a host offers: the contract of `wit/`, as data to compare with. The one of this host, and each one that was
//! released.
//!
//! The shapes of this host's come from the same bindings the engine calls through, so the report and the linker cannot
//! disagree. Those of the released ones come from the frozen copies in `wit/released`. Nothing here may decide; `check`
//! compares.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use semver::Version;
use wit_component::StringEncoding;
use wit_parser::Resolve;

use crate::api;
use crate::surface::{self, Interface, Surface};

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

/// The worlds of [`HOOK_PACKAGE`]: each is a permission class.
const WORLDS: [&str; 3] = ["redactor", "transformer", "notifier"];
/// The world whose imports are closed to those who see raw text.
const NOTIFIER: &str = "notifier";

/// A frozen copy of a released contract.
struct Release {
    /// The version of [`HOST_PACKAGE`], after which its folder is named.
    host: Version,
    /// The version of [`HOOK_PACKAGE`] beside it.
    hook: Version,
    /// The first hermes that offered both.
    hermes: Version,
    /// `host.wit`.
    host_wit: &'static str,
    /// `hook.wit`.
    hook_wit: &'static str,
}

macro_rules! release {
    ($folder:literal, host $host:expr, hook $hook:expr, hermes $hermes:expr) => {
        Release {
            host: $host,
            hook: $hook,
            hermes: $hermes,
            host_wit: include_str!(concat!("../../../wit/released/", $folder, "/host.wit")),
            hook_wit: include_str!(concat!("../../../wit/released/", $folder, "/hook.wit")),
        }
    };
}

/// Every released contract, the oldest first.
static RELEASES: [Release; 2] = [
    release!("0.1.0", host Version::new(0, 1, 0), hook Version::new(0, 1, 0), hermes Version::new(0, 1, 0)),
    release!("0.1.1", host Version::new(0, 1, 1), hook Version::new(0, 1, 0), hermes Version::new(0, 1, 0)),
];

/// The version of [`HOST_PACKAGE`] in `wit/`.
pub fn host_version() -> Version {
    Version::new(0, 1, 1)
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

/// What a host offers, in one version of the contract.
#[derive(Clone)]
pub struct Contract {
    /// The version of [`HOST_PACKAGE`].
    pub host: Version,
    /// The version of [`HOOK_PACKAGE`].
    pub hook: Version,
    /// The first hermes that offered it.
    pub hermes: Version,
    interfaces: BTreeMap<String, Offered>,
    hooks: BTreeMap<String, Interface>,
}

/// Why there is no contract to compare with.
#[derive(Debug, thiserror::Error)]
#[error("no contract '{asked}' of {HOST_PACKAGE} is known here{hint}")]
pub struct UnknownContract {
    asked: String,
    hint: String,
}

impl Contract {
    /// The contract of this host.
    pub fn current() -> &'static Self {
        static CONTRACT: OnceLock<Contract> = OnceLock::new();
        CONTRACT.get_or_init(|| {
            let read = |bytes| surface::read_world(bytes).expect("the bindings were generated from the worlds of wit/");
            let worlds = api::WORLDS.map(|(world, bytes)| (world, read(bytes)));
            let hermes = crate::load::hermes_version();
            Self::of_worlds(host_version(), hook_version(), hermes, worlds.into())
        })
    }

    /// Every contract there is to compare with, the oldest first: the released ones, and this host's.
    pub fn known() -> &'static [Self] {
        static KNOWN: OnceLock<Vec<Contract>> = OnceLock::new();
        KNOWN.get_or_init(|| {
            let mut known: Vec<Self> = RELEASES.iter().map(Self::of_release).collect();
            // Between two releases, what this host offers is more than the last copy.
            if known.last().is_none_or(|last| last.host < host_version()) {
                known.push(Self::current().clone());
            }
            known
        })
    }

    /// The contracts of these versions of [`HOST_PACKAGE`], in the order asked for; all known ones if none is named.
    ///
    /// # Errors
    /// One of them is not known; the message lists those that are.
    pub fn named(versions: &[String]) -> Result<Vec<&'static Self>, UnknownContract> {
        if versions.is_empty() {
            return Ok(Self::known().iter().collect());
        }
        let find = |asked: &String| {
            Self::known().iter().find(|contract| contract.host.to_string() == *asked).ok_or_else(|| {
                let known: Vec<String> = Self::known().iter().map(|contract| contract.host.to_string()).collect();
                UnknownContract { asked: asked.clone(), hint: format!("; known: {}", known.join(", ")) }
            })
        };
        versions.iter().map(find).collect()
    }

    /// Whether it is what this host offers.
    pub fn is_current(&self) -> bool {
        self.host == host_version() && self.hook == hook_version()
    }

    /// The interfaces of [`HOST_PACKAGE`] by name.
    pub fn host_interfaces(&self) -> &BTreeMap<String, Offered> {
        &self.interfaces
    }

    /// The functions of an interface of [`HOOK_PACKAGE`]; none for a name that is not one.
    pub fn hook_interface(&self, name: &str) -> &Interface {
        static NONE: Interface = Interface::new();
        self.hooks.get(name).unwrap_or(&NONE)
    }

    fn of_release(release: &Release) -> Self {
        let mut resolve = Resolve::default();
        // What was released was read by every test run since; a file that is not WIT does not get here.
        resolve.push_str("host.wit", release.host_wit).expect("a frozen copy is WIT");
        let hook = resolve.push_str("hook.wit", release.hook_wit).expect("a frozen copy is WIT");
        let worlds = WORLDS.map(|name| {
            let world = resolve.select_world(&[hook], Some(name)).expect("a frozen copy has the three worlds");
            let encoded = wit_component::metadata::encode(&resolve, world, StringEncoding::UTF8, None)
                .expect("a world that was read can be written");
            (name, surface::read_world(&encoded).expect("a world that was written can be read"))
        });
        Self::of_worlds(release.host.clone(), release.hook.clone(), release.hermes.clone(), worlds.into())
    }

    fn of_worlds(host: Version, hook: Version, hermes: Version, worlds: Vec<(&str, Surface)>) -> Self {
        let mut contract = Self { host, hook, hermes, interfaces: BTreeMap::new(), hooks: BTreeMap::new() };
        for (world, surface) in worlds {
            for (full, functions) in surface.imports {
                let Some(name) = short(&full, HOST_PACKAGE) else { continue };
                // What only the notifier's world imports is closed to those who see raw text.
                let access = if world == NOTIFIER { Access::NotifierOnly } else { Access::Everyone };
                contract.interfaces.entry(name).or_insert(Offered { access, functions });
            }
            for (full, functions) in surface.exports {
                if let Some(name) = short(&full, HOOK_PACKAGE) {
                    contract.hooks.insert(name, functions);
                }
            }
        }
        contract
    }
}

/// `interface` of `package/interface@version`.
fn short(full: &str, package: &str) -> Option<String> {
    let rest = full.strip_prefix(package)?.strip_prefix('/')?;
    Some(rest.split('@').next().unwrap_or(rest).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_text_hooks_get_log_count_and_scan_and_notifiers_the_rest() {
        let of = |access| {
            let names = Contract::current().host_interfaces().iter().filter(|(_, offered)| offered.access == access);
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
            assert_eq!(
                Contract::current().hook_interface(interface).keys().collect::<Vec<_>>(),
                functions,
                "{interface}"
            );
        }
    }

    #[test]
    fn the_frozen_copy_of_this_contract_is_read_as_the_bindings_are() {
        let current = Contract::current();
        let released = Contract::known().iter().find(|known| known.is_current()).unwrap();
        assert_eq!(released.hooks, current.hooks);
        assert_eq!(released.interfaces.keys().collect::<Vec<_>>(), current.interfaces.keys().collect::<Vec<_>>());
        for (name, offered) in &released.interfaces {
            assert_eq!(offered.functions, current.interfaces[name].functions, "{name}");
            assert_eq!(offered.access, current.interfaces[name].access, "{name}");
        }
    }

    #[test]
    fn what_a_release_added_is_not_in_the_one_before() {
        let clock = |host: &str| {
            let contract = Contract::named(&[host.to_owned()]).unwrap()[0];
            contract.host_interfaces()["clock"].functions.keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(clock("0.1.0"), ["unix-ms"]);
        assert_eq!(clock("0.1.1"), ["sleep", "unix-ms"]);
    }

    #[test]
    fn a_contract_nobody_released_is_refused_with_those_that_are_known() {
        let refused = Contract::named(&["0.1.0".to_owned(), "0.7.0".to_owned()]).err().unwrap();
        assert_eq!(refused.to_string(), "no contract '0.7.0' of hermes:host is known here; known: 0.1.0, 0.1.1");
        assert_eq!(Contract::named(&[]).unwrap().len(), Contract::known().len());
    }

    #[test]
    fn the_folder_of_each_release_is_its_version() {
        for release in &RELEASES {
            assert!(release.host_wit.contains(&format!("package hermes:host@{};", release.host)));
            assert!(release.hook_wit.contains(&format!("package hermes:hook@{};", release.hook)));
        }
        assert!(RELEASES.is_sorted_by(|a, b| a.host < b.host));
    }
}
