//! `[mcp_servers.NAME]`: how a server is started, how long it may take, and what of it is shown.
//!
//! Values may name environment variables (`${VAR}`); whoever starts the server puts them in. It must never hold a secret
//! that was put in: what is read from the file stays as it was written.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::BadValue;
use crate::id::ServerName;
use crate::pattern;

/// The shortest time between two pings: a server that is asked more often does nothing else.
pub const KEEPALIVE_MIN: Duration = Duration::from_secs(5);

/// One server, as written in `config.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// The program: a path, `~/…`, or a name that is looked up in the `PATH` the server gets.
    pub command: String,
    /// Its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Variables it gets beside the few it inherits.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Variables it inherits beside the usual few, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_pass: Vec<String>,
    /// The folder it runs in; none: that of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Whether it is offered at all.
    pub enabled: bool,
    /// How long one call may take.
    #[serde(with = "crate::duration::text")]
    pub timeout: Duration,
    /// How long it may take to be ready: slow is not failed, so this is long.
    #[serde(with = "crate::duration::text")]
    pub connect_timeout: Duration,
    /// It is ended when nobody asked it for so long, and started again when somebody does; none: it stays while a client
    /// is connected.
    #[serde(with = "super::optional_duration", skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Duration>,
    /// How often an idle server is pinged; none: never. A server that does not answer a ping is started anew.
    #[serde(with = "super::optional_duration", skip_serializing_if = "Option::is_none")]
    pub keepalive: Option<Duration>,
    /// Whether it is started only when somebody first needs it.
    pub lazy: bool,
    /// Whether its tools may be called without asking the user.
    pub trust: Trust,
    /// Whether transforms (summarisers) see the text blocks of its results. A file's content is not a log.
    pub transform: bool,
    /// How many calls it is given at the same time.
    pub parallel: u16,
    /// The user looked at a command that [`crate::screening`] finds suspicious, and wants it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub confirmed: bool,
    /// What of it is offered.
    pub tools: ToolsConfig,
}

/// Whether a server's tools may be called without asking the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// They may.
    #[default]
    Full,
    /// Only those that say they only read.
    Untrusted,
}

/// `[mcp_servers.NAME.tools]`: patterns over the server's own names; `*` stands for anything, `?` for one character.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolsConfig {
    /// Only these tools; none: all. An empty list: no tool at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include: Option<Vec<String>>,
    /// Not these. What `include` names in full, without a sign, is offered all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Whether its resources are offered.
    pub resources: bool,
    /// Whether its prompts are offered.
    pub prompts: bool,
}

impl Default for ToolsConfig {
    fn default() -> Self {
        Self { include: None, exclude: Vec::new(), resources: true, prompts: true }
    }
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            command: String::new(),
            args: Vec::new(),
            env: BTreeMap::new(),
            env_pass: Vec::new(),
            cwd: None,
            enabled: true,
            timeout: Duration::from_secs(300),
            connect_timeout: Duration::from_secs(120),
            idle_timeout: None,
            keepalive: None,
            lazy: false,
            trust: Trust::default(),
            transform: false,
            parallel: 16,
            confirmed: false,
            tools: ToolsConfig::default(),
        }
    }
}

impl ToolsConfig {
    /// Whether a tool of this name, as the server has it, is offered.
    pub fn offers(&self, name: &str) -> bool {
        let fits = |patterns: &[String]| patterns.iter().any(|pattern| pattern::matches(pattern, name));
        let excluded = fits(&self.exclude);
        match &self.include {
            None => !excluded,
            Some(include) => {
                let named = || include.iter().any(|pattern| pattern::is_literal(pattern) && pattern == name);
                fits(include) && (!excluded || named())
            }
        }
    }
}

impl ServerConfig {
    /// Checks what the types cannot say of the server `name`. No message quotes an argument or the value of a variable.
    ///
    /// # Errors
    /// The first value that cannot be meant, with the rule.
    pub fn validate(&self, name: &ServerName) -> Result<(), BadValue> {
        self.validate_command(name)?;
        self.validate_times(name)?;
        self.validate_tools(name)
    }

    fn validate_command(&self, name: &ServerName) -> Result<(), BadValue> {
        let bad = |key: &str, rule: &str| Err(wrong(name, key, NOT_SHOWN, rule));
        if self.command.trim().is_empty() {
            return Err(wrong(name, "command", "\"\"", "must name the program to start, as in 'npx'"));
        }
        if self.command.chars().any(char::is_control) {
            return bad("command", "must be one line; arguments stand in args");
        }
        if self.args.iter().any(|arg| arg.contains('\0')) {
            return bad("args", "must hold no zero byte");
        }
        let named = |variable: &String| {
            !variable.is_empty()
                && !variable.contains('=')
                && !variable.chars().any(|c| c.is_control() || c.is_whitespace())
        };
        if !self.env.keys().all(named) {
            return bad("env", "must have names of variables as keys: no '=', no space, not empty");
        }
        if self.env.values().any(|value| value.contains('\0')) {
            return bad("env", "must hold no zero byte");
        }
        let passable = |variable: &String| {
            let stem = variable.strip_suffix('*').unwrap_or(variable);
            !stem.is_empty() && stem.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        };
        if !self.env_pass.iter().all(passable) {
            let rule = "must be names of variables (letters, digits and '_'), or the beginning of one and '*'; values \
                        stand in env";
            return bad("env_pass", rule);
        }
        if self.cwd.as_ref().is_some_and(|cwd| cwd.as_os_str().is_empty()) {
            return Err(wrong(name, "cwd", "\"\"", "must name a folder; leave it out for that of the host"));
        }
        Ok(())
    }

    fn validate_times(&self, name: &ServerName) -> Result<(), BadValue> {
        let times = [
            ("timeout", Some(self.timeout), "must be more than nothing, as in '300s'"),
            ("connect_timeout", Some(self.connect_timeout), "must be more than nothing, as in '120s'"),
            ("idle_timeout", self.idle_timeout, "must be more than nothing, as in '10m'; leave it out for never"),
        ];
        for (key, value, rule) in times {
            if let Some(value) = value.filter(Duration::is_zero) {
                return Err(wrong(name, key, &crate::duration::display(value), rule));
            }
        }
        if let Some(value) = self.keepalive.filter(|value| *value < KEEPALIVE_MIN) {
            let least = crate::duration::display(KEEPALIVE_MIN);
            let rule = format!("must be at least {least}; leave it out for never");
            return Err(wrong(name, "keepalive", &crate::duration::display(value), &rule));
        }
        if self.parallel == 0 {
            return Err(wrong(name, "parallel", "0", "must be at least 1: with 0 no call would ever be made"));
        }
        Ok(())
    }

    fn validate_tools(&self, name: &ServerName) -> Result<(), BadValue> {
        let lists =
            [("tools.include", self.tools.include.as_deref()), ("tools.exclude", Some(self.tools.exclude.as_slice()))];
        for (key, patterns) in lists {
            if !patterns.unwrap_or_default().iter().all(|text| pattern::is_pattern(text)) {
                let rule = format!(
                    "must be names of tools, where '*' stands for anything and '?' for one character; none is empty or \
                     longer than {} bytes",
                    pattern::PATTERN_BYTES_MAX
                );
                return Err(wrong(name, key, NOT_SHOWN, &rule));
            }
        }
        Ok(())
    }
}

/// What stands for a value that could be a secret.
const NOT_SHOWN: &str = "(not shown)";

fn wrong(name: &ServerName, key: &str, value: &str, rule: &str) -> BadValue {
    BadValue { key: format!("mcp_servers.{name}.{key}"), value: value.to_owned(), rule: rule.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::Config;

    fn said(entry: &str) -> String {
        let config: Config = toml::from_str(&format!("[mcp_servers.git]\n{entry}\n")).unwrap();
        config.validate().unwrap_err().to_string()
    }

    #[test]
    fn each_value_that_cannot_be_meant_is_named_with_key_and_rule() {
        for (entry, expected) in [
            ("", "mcp_servers.git.command = \"\": must name the program"),
            ("command = ' '", "mcp_servers.git.command = \"\": must name the program"),
            ("command = \"a\\nb\"", "mcp_servers.git.command = (not shown): must be one line"),
            ("command = 'x'\ntimeout = '0s'", "mcp_servers.git.timeout = 0s: must be more than nothing"),
            ("command = 'x'\nconnect_timeout = '0ms'", "mcp_servers.git.connect_timeout = 0s: must be more"),
            ("command = 'x'\nidle_timeout = '0s'", "mcp_servers.git.idle_timeout = 0s: must be more"),
            ("command = 'x'\nkeepalive = '1s'", "mcp_servers.git.keepalive = 1s: must be at least 5s"),
            ("command = 'x'\nparallel = 0", "mcp_servers.git.parallel = 0: must be at least 1"),
            ("command = 'x'\ncwd = ''", "mcp_servers.git.cwd = \"\": must name a folder"),
            ("command = 'x'\nenv_pass = ['*']", "mcp_servers.git.env_pass = (not shown): must be names"),
            ("command = 'x'\nenv_pass = ['A=hunter2']", "mcp_servers.git.env_pass = (not shown): must be names"),
            ("command = 'x'\nenv = { 'A=hunter2' = '' }", "mcp_servers.git.env = (not shown): must have names"),
            ("command = 'x'\nargs = [\"hunter2\\u0000\"]", "mcp_servers.git.args = (not shown): must hold no zero"),
            ("command = 'x'\ntools.include = ['']", "mcp_servers.git.tools.include = (not shown): must be names of"),
            ("command = 'x'\ntools.exclude = [\"a\\n\"]", "mcp_servers.git.tools.exclude = (not shown): must be"),
        ] {
            let said = said(entry);
            assert!(said.starts_with(expected) && !said.contains("hunter2"), "{entry}: {said}");
        }
    }

    #[test]
    fn an_ordinary_entry_is_in_order_and_written_as_it_was_read() {
        let text = "[mcp_servers.\"a.b\"]\ncommand = \"npx\"\nargs = [\"-y\"]\nenv_pass = [\"HTTP_*\"]\nkeepalive = \"5s\"\n\
                    [mcp_servers.\"a.b\".tools]\ninclude = []\n";
        let config: Config = toml::from_str(text).unwrap();
        config.validate().unwrap();
        assert_eq!(toml::from_str::<Config>(&toml::to_string(&config).unwrap()).unwrap(), config);
    }

    fn tools(include: Option<&[&str]>, exclude: &[&str]) -> ToolsConfig {
        let owned = |patterns: &[&str]| patterns.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        ToolsConfig { include: include.map(owned), exclude: owned(exclude), ..ToolsConfig::default() }
    }

    #[test]
    fn what_is_included_by_its_name_is_offered_whatever_is_excluded() {
        let of = |include: Option<&[&str]>, exclude: &[&str]| {
            let tools = tools(include, exclude);
            ["get", "delete_a", "delete_b"].into_iter().filter(|name| tools.offers(name)).collect::<Vec<_>>()
        };
        assert_eq!(of(None, &[]), ["get", "delete_a", "delete_b"]);
        assert_eq!(of(None, &["delete_*"]), ["get"]);
        assert_eq!(of(Some(&[]), &[]), Vec::<&str>::new());
        assert_eq!(of(Some(&["*"]), &["delete_?"]), ["get"]);
        assert_eq!(of(Some(&["*", "delete_a"]), &["delete_*"]), ["get", "delete_a"]);
        assert_eq!(of(Some(&["GET"]), &[]), Vec::<&str>::new());
    }

    proptest! {
        #[test]
        fn excluding_more_never_offers_more_and_a_full_name_always_wins(include in prop::option::of(prop::collection::vec("[ab*?]{1,3}", 0..3)), exclude in prop::collection::vec("[ab*?]{1,3}", 0..3), name in "[ab]{1,3}") {
            let less = ToolsConfig { include: include.clone(), exclude: exclude.clone(), ..ToolsConfig::default() };
            let none = ToolsConfig { include: include.clone(), ..ToolsConfig::default() };
            prop_assert!(!less.offers(&name) || none.offers(&name));
            let mut named = less;
            named.include = Some(include.into_iter().flatten().chain([name.clone()]).collect());
            prop_assert!(named.offers(&name));
        }
    }
}
