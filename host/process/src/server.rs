//! From an entry of the configuration to what is started: variables put in, the command screened and found, the few
//! variables a server inherits.
//!
//! A server runs for as long as an agent does and talks to it all the time, so it gets what is on a short list and what
//! its entry says, and nothing else. It must never start anything, and its messages never quote an argument or a value.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use hermes_model::config::servers::ServerConfig;
use hermes_model::id::ServerName;
use hermes_model::interpolate::{self, Around, InterpolateError};
use hermes_model::screening::{self, Suspicion};

use crate::environment::{self, Environment};
use crate::resolve::{self, Unresolved};
use crate::stdio::StdioSpec;

/// What every server inherits: where programs and the user's files are, who the user is, the language, the clock.
/// A `*` at the end stands for anything.
const INHERITED: [&str; 11] =
    ["HOME", "LANG", "LC_*", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER", "XDG_*"];

/// Variables without which programs of some networks and machines do not work, and which servers do not inherit: the
/// usual reason why a server starts in a terminal and not here.
const WELL_KNOWN: [&str; 38] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSH_AUTH_SOCK",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_OPTIONS",
    "NPM_CONFIG_REGISTRY",
    "npm_config_registry",
    "NPM_CONFIG_USERCONFIG",
    "PIP_INDEX_URL",
    "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "NVM_DIR",
    "VOLTA_HOME",
    "PYENV_ROOT",
    "CARGO_HOME",
    "JAVA_HOME",
    "LD_LIBRARY_PATH",
    "DOCKER_HOST",
    "KUBECONFIG",
    "AWS_PROFILE",
    "AWS_REGION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GNUPGHOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "PLAYWRIGHT_BROWSERS_PATH",
    "VIRTUAL_ENV",
];

/// Programs that start most servers, with what they come with. Their installers put them where only login shells look.
const STARTERS: [(&str, &str); 7] = [
    ("bun", "Bun"),
    ("bunx", "Bun"),
    ("node", "Node.js"),
    ("npm", "Node.js"),
    ("npx", "Node.js"),
    ("uv", "uv"),
    ("uvx", "uv"),
];

/// Where those installers put them, below the user's home folder where it does not begin with a slash.
const STARTER_FOLDERS: [&str; 4] = [".local/bin", "/usr/local/bin", ".bun/bin", ".cargo/bin"];

/// A server that can be started.
#[derive(Clone)]
pub struct Prepared {
    /// What to start.
    pub spec: StdioSpec,
    /// What the entry gives the server, by name: its variables, and those of the host that were put in. To be masked in
    /// everything the server says.
    pub given: BTreeMap<String, String>,
    /// What is to be said once. Holds no value.
    pub warnings: Vec<String>,
}

/// Why a server cannot be started. Trying again without a change helps in no case.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// The entry names a variable that is not there.
    #[error(transparent)]
    Variable(#[from] InterpolateError),
    /// Its command looks like an attack.
    #[error(
        "mcp_servers.{server} is not started: {why}; look at its command and args, and where they are what you want, \
         write `confirmed = true` into its entry"
    )]
    Suspicious {
        /// The server.
        server: ServerName,
        /// What is suspicious.
        why: Suspicion,
    },
    /// There is no such program.
    #[error("the command of mcp_servers.{server} {what}; {remedy}")]
    Command {
        /// The server.
        server: ServerName,
        /// What is wrong with it.
        what: &'static str,
        /// What to do.
        remedy: String,
    },
    /// There is no such folder.
    #[error("the folder in mcp_servers.{server}.cwd {what}; correct it, or leave it out for the folder of the host")]
    Folder {
        /// The server.
        server: ServerName,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// Makes what is started of an entry. `base` is the whole environment of the host, `folder` the one it works in.
///
/// # Errors
/// [`NotReady`], with the remedy.
pub fn prepare(
    server: &ServerName,
    config: &ServerConfig,
    base: &Environment,
    folder: &Path,
) -> Result<Prepared, NotReady> {
    let home = base.get("HOME").map(Path::new);
    let lookup = |name: &str| base.get(name).map(OsStr::to_owned);
    let resolved = interpolate::resolve(server, config, &Around { home, folder }, &lookup)?;
    // What was put in counts too: a variable must not bring in what could not stand in the entry.
    if let Some(why) = screening::suspicion(&resolved.command, &resolved.args).filter(|_| !config.confirmed) {
        return Err(NotReady::Suspicious { server: server.clone(), why });
    }
    let mut environment = Environment::for_server(base, &config.env_pass, &resolved.env);
    let cwd = resolved.cwd.map(|cwd| folder.join(at_home(&cwd, &environment)));
    if let Some(cwd) = &cwd {
        let what = match cwd.metadata() {
            Ok(found) if found.is_dir() => None,
            Ok(_) => Some("is not a folder"),
            Err(_) => Some("does not exist, or cannot be entered"),
        };
        if let Some(what) = what {
            return Err(NotReady::Folder { server: server.clone(), what });
        }
    }
    let program = locate(server, &resolved.command, &mut environment, cwd.as_deref().unwrap_or(folder))?;
    let args = resolved.args.into_iter().map(OsString::from).collect();
    let mut given = resolved.put_in;
    given.extend(resolved.env);
    let spaced = |key: &String| {
        format!(
            "mcp_servers.{server}.{key} begins or ends with white space; it is passed on as it is, and often a mistake"
        )
    };
    let warnings = resolved.spaced.iter().map(spaced).collect();
    Ok(Prepared { spec: StdioSpec { program: program.into(), args, environment, cwd }, given, warnings })
}

impl Environment {
    /// The environment of a server, out of that of the host: the few that every server inherits (`PATH`, `HOME`, `USER`,
    /// `LOGNAME`, `LANG`, `LC_*`, `TERM`, `SHELL`, `TMPDIR`, `TZ`, `XDG_*`), those of `pass` (names, or beginnings of
    /// names and `*`), and on top the server's own. Of hermes' own variables only the home, the profile and the log level
    /// are inherited, whatever `pass` says.
    pub fn for_server(base: &Environment, pass: &[String], own: &BTreeMap<String, String>) -> Environment {
        let mut made = Environment::empty();
        for (name, value) in base.iter() {
            let listed = INHERITED.iter().copied().chain(pass.iter().map(String::as_str));
            let ours = environment::is_own(name);
            let kept = ours && environment::PASSED_ON.iter().any(|kept| name == *kept);
            if kept || (!ours && listed.into_iter().any(|pattern| environment::matches(pattern, name))) {
                made.set(name, value);
            }
        }
        for (name, value) in own {
            made.set(name, value);
        }
        made
    }
}

/// Which well-known variables the host has and a server did not get.
pub fn missing(base: &Environment, got: &Environment) -> Vec<&'static str> {
    let set = |of: &Environment, name: &str| of.get(name).is_some_and(|value| !value.is_empty());
    WELL_KNOWN.into_iter().filter(|name| set(base, name) && got.get(name).is_none()).collect()
}

/// The end of the text about a server that failed at its start: what it did not get, and how it would. None where it got
/// everything.
pub fn missing_hint(server: &ServerName, missing: &[&str]) -> Option<String> {
    let (last, before) = missing.split_last()?;
    let names = if before.is_empty() { (*last).to_owned() } else { format!("{} and {last}", before.join(", ")) };
    let them = if before.is_empty() { "it" } else { "them" };
    Some(format!("it does not get {names}; name {them} in mcp_servers.{server}.env_pass if it needs {them}"))
}

/// A path that begins with `~/`, below the home folder of the child.
fn at_home(path: &Path, environment: &Environment) -> PathBuf {
    match (path.strip_prefix("~"), environment.get("HOME")) {
        (Ok(below), Some(home)) => Path::new(home).join(below),
        _ => path.to_owned(),
    }
}

/// Finds the program of a server as the child would, and beside that where installers put the programs that start most
/// servers. Its folder becomes the first of the child's `PATH`: `npx` is a script that looks for the `node` beside it.
fn locate(
    server: &ServerName,
    command: &str,
    environment: &mut Environment,
    folder: &Path,
) -> Result<PathBuf, NotReady> {
    let command = at_home(Path::new(command), environment);
    let path = environment.get("PATH").map(OsStr::to_owned);
    let starter = STARTERS.iter().find(|(name, _)| command.as_os_str() == *name);
    let mut found = resolve::resolve(command.as_os_str(), path.as_deref(), Some(folder));
    if let (Err(Unresolved::NotFound), Some(_)) = (&found, starter) {
        let home = environment.get("HOME").map(PathBuf::from).unwrap_or_default();
        let places = STARTER_FOLDERS.iter().map(|place| home.join(place)).filter(|place| place.is_absolute());
        let mut tried = places.map(|place| resolve::resolve(place.join(&command).as_os_str(), None, None));
        found = tried.find_map(Result::ok).ok_or(Unresolved::NotFound);
    }
    let found = found.map_err(|unresolved| not_located(server, unresolved, starter))?;
    let found = folder.join(found);
    if let Some(beside) = found.parent() {
        put_first(beside, path.as_deref(), environment);
    }
    Ok(found)
}

fn not_located(server: &ServerName, unresolved: Unresolved, starter: Option<&(&str, &str)>) -> NotReady {
    let whole = format!("write its whole path into mcp_servers.{server}.command");
    let (what, remedy) = match (unresolved, starter) {
        (Unresolved::NotFound, Some((name, product))) => {
            ("is not found", format!("{name} comes with {product}: install it, or {whole}"))
        }
        (Unresolved::NotFound, None) => {
            ("is not found", format!("install it, correct the name, or {whole}: the PATH it gets is that of hermes"))
        }
        (Unresolved::IsADirectory, _) => ("is a folder", format!("{whole}, with the name of the program")),
        (Unresolved::NotExecutable, _) => (
            "is a file that may not be run",
            "make it executable (`chmod +x`), or name the program that runs it".to_owned(),
        ),
    };
    NotReady::Command { server: server.clone(), what, remedy }
}

fn put_first(folder: &Path, path: Option<&OsStr>, environment: &mut Environment) {
    let name = folder.as_os_str().as_bytes();
    let rest = path.map(OsStr::as_bytes).unwrap_or_default();
    let first = rest.split(|byte| *byte == b':').next();
    // A folder with a colon cannot stand in a PATH.
    if !folder.is_absolute() || name.contains(&b':') || first == Some(name) {
        return;
    }
    let mut joined = name.to_vec();
    if !rest.is_empty() {
        joined.push(b':');
        joined.extend_from_slice(rest);
    }
    environment.set("PATH", OsString::from_vec(joined));
}

#[cfg(test)]
mod tests;
