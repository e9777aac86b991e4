//! What a server is started with, and which secrets it is given.
//!
//! It must never block the runtime, and never say a value of a variable.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hermes_model::config::servers::ServerConfig;
use hermes_model::id::ServerName;
use hermes_model::interpolate::{self, Around};
use hermes_output::exact::{self, ExactValues};
use hermes_process::environment::Environment;
use hermes_process::server;
use hermes_process::stdio::StdioSpec;

use super::record::Record;

/// What to start, and what may be missing there.
pub(super) struct Prepared {
    pub(super) spec: StdioSpec,
    /// Which variables of the host the server did not get and how it would, as the end of a problem.
    pub(super) hint: Option<String>,
}

/// Makes what is started of the configuration, as it is now: variables and folders may have come since.
///
/// # Errors
/// What is wrong with it and what to do. Trying again without a change helps in no case.
pub(super) async fn prepare(record: &Arc<Record>) -> Result<Prepared, String> {
    let record = Arc::clone(record);
    // It looks for files, on whatever file system they are.
    let prepared = tokio::task::spawn_blocking(move || {
        let (name, base) = (&record.name, &record.setting.environment);
        let prepared = server::prepare(name, &record.config, base, &folder()).map_err(|error| error.to_string())?;
        if !record.has_warned.swap(true, Ordering::Relaxed) {
            for warning in &prepared.warnings {
                tracing::warn!(server = %name, "{warning}");
            }
        }
        let hint = server::missing_hint(name, &server::missing(base, &prepared.spec.environment));
        Ok(Prepared { spec: prepared.spec, hint })
    });
    prepared.await.unwrap_or_else(|_| Err("its configuration could not be read; look at its section".to_owned()))
}

/// The folder the host works in.
fn folder() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"))
}

/// The secrets a server is given: its own variables, those of the host that were put into its entry, but for what is
/// plainly a place, and of those that it inherits by name the ones that look like secrets.
pub(super) fn exact(name: &ServerName, config: &ServerConfig, base: &Environment) -> ExactValues {
    let around_home = base.get("HOME").map(Path::new);
    let (folder, lookup) = (folder(), |name: &str| base.get(name).map(std::ffi::OsStr::to_owned));
    let around = Around { home: around_home, folder: &folder };
    let given: Vec<(String, String)> = match interpolate::resolve(name, config, &around, &lookup) {
        Ok(resolved) => resolved.env.into_iter().chain(resolved.put_in).collect(),
        // It cannot be started like this. What stands in its entry is a secret all the same.
        Err(_) => config.env.clone().into_iter().collect(),
    };
    let got = Environment::for_server(base, &config.env_pass, &Default::default());
    let inherited = got.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
    let given = ExactValues::of_entries(given.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    ExactValues::joined([&given, &exact::from_environment(inherited)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        Environment::from_pairs(pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())))
    }

    #[test]
    fn what_a_server_is_given_is_masked_and_what_it_merely_inherits_is_not() {
        let base = environment(&[
            ("HOME", "/home/somebody"),
            ("GITHUB_TOKEN", "ghp_0123456789abcdef0123"),
            ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMIK7MDENG"),
            ("AWS_REGION", "eu-central-1"),
        ]);
        let config = ServerConfig {
            command: "srv".to_owned(),
            env: [
                ("KEY", "${GITHUB_TOKEN}"),
                ("PIN", "1234"),
                ("DATA", "/var/lib/srv"),
                ("DB", "postgres://u:horse-staple@h/d"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
            env_pass: vec!["AWS_*".to_owned()],
            ..ServerConfig::default()
        };
        let exact = exact(&"srv".parse().unwrap(), &config, &base);
        let masked = |text: &str| !exact.find(text).is_empty();
        assert!(masked("a ghp_0123456789abcdef0123 b") && masked("wJalrXUtnFEMIK7MDENG"));
        assert!(masked("the password is horse-staple"));
        assert!(!masked("eu-central-1") && !masked("/home/somebody") && !masked("1234") && !masked("/var/lib/srv/x"));
    }

    #[test]
    fn an_entry_that_cannot_be_used_keeps_its_secrets() {
        let config = ServerConfig {
            command: "${NOT_THERE}".to_owned(),
            env: [("KEY".to_owned(), "0123456789abcdef".to_owned())].into(),
            ..ServerConfig::default()
        };
        let exact = exact(&"srv".parse().unwrap(), &config, &environment(&[]));
        assert!(!exact.find("0123456789abcdef").is_empty());
    }
}
