//! How this machine reaches the registries of packages, for tests in which hermes installs something as an author would.

use std::path::Path;
use std::process::Command;

use crate::home;

/// What names the certificates and the ways out of this machine.
const NAMES: [&str; 8] = [
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
    "NO_PROXY",
];

/// Lets a command that is started without an environment use npm as whoever runs the tests does, and keeps what it
/// downloads for the next test.
pub fn npm(command: &mut Command) {
    for name in NAMES {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    for (name, value) in std::env::vars_os() {
        if name.to_string_lossy().to_ascii_lowercase().starts_with("npm_config_") {
            command.env(name, value);
        }
    }
    if let Some(user) = std::env::var_os("HOME") {
        command.env("npm_config_userconfig", Path::new(&user).join(".npmrc"));
    }
    command.env("npm_config_cache", home::target().join("npm-cache")).env("npm_config_prefer_offline", "true");
}

/// Gives a command of hermes what cargo needs of this machine: its own folders, the toolchain, and a folder for what every
/// new plugin is made of, so that it is compiled once for all tests.
pub fn cargo(command: &mut Command) {
    let user = std::env::var_os("HOME").unwrap_or_default();
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        command.env(name, std::env::var_os(name).unwrap_or_else(|| Path::new(&user).join(folder).into()));
    }
    if let Some(toolchain) = std::env::var_os("RUSTUP_TOOLCHAIN") {
        command.env("RUSTUP_TOOLCHAIN", toolchain);
    }
    command.env("CARGO_BUILD_BUILD_DIR", home::target().join("new-plugin"));
}
