//! Finds secrets in what is about to be written into `config.toml`, which holds none: it names variables.
//!
//! It must never show what it found, only where.

use hermes_model::config::servers::ServerConfig;
use hermes_model::id::ServerName;
use hermes_model::interpolate;
use hermes_output::exact;
use hermes_plugins::registry::Depth;

use crate::place::Place;
use crate::printer::Printer;
use crate::view::Desk;

/// Looks for secrets by the names they go by, and with the policy of the home, which knows what they look like.
pub(crate) struct Eye {
    /// None where no policy is in force that could tell.
    desk: Option<Desk>,
}

/// A secret in an entry.
pub(crate) struct Spotted {
    /// The key it stands at, as in `env.TOKEN` or `args[1]`.
    pub(crate) key: String,
    /// The variable that would hold it.
    pub(crate) variable: String,
    place: At,
}

/// Where it stands.
enum At {
    Command,
    Env(String),
    /// From this byte to the end of the argument.
    Arg(usize, usize),
}

impl Eye {
    /// An eye that knows the policy of a home.
    pub(crate) fn open(place: &Place, printer: &Printer) -> Self {
        // Without a policy the names still say much, and nothing is shown of the values either way.
        let plugins = place.open(Depth::Enabled, printer).ok();
        Self { desk: plugins.map(|plugins| Desk::of_hermes(plugins.policy())) }
    }

    /// The secrets of an entry, in its order.
    pub(crate) fn look(&self, server: &ServerName, config: &ServerConfig) -> Vec<Spotted> {
        let mut found = Vec::new();
        if self.is_secret("", &config.command) {
            found.push(Spotted { key: "command".to_owned(), variable: variable_of("", server), place: At::Command });
        }
        for (at, arg) in config.args.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| config.args[before].as_str());
            if let Some((from, name)) = self.in_argument(before, arg) {
                let variable = variable_of(&name, server);
                found.push(Spotted { key: format!("args[{at}]"), variable, place: At::Arg(at, from) });
            }
        }
        for (name, value) in &config.env {
            if self.is_secret(name, value) {
                // A variable that the server knows by this name is best known by it everywhere.
                let variable = if interpolate::is_variable(name) { name.clone() } else { variable_of(name, server) };
                found.push(Spotted { key: format!("env.{name}"), variable, place: At::Env(name.clone()) });
            }
        }
        found
    }

    /// Where in an argument a secret begins, and the name it goes by.
    fn in_argument(&self, before: Option<&str>, arg: &str) -> Option<(usize, String)> {
        // `--api-key=VALUE`, `TOKEN=VALUE` behind `docker -e`; `Authorization: VALUE`.
        for sign in ['=', ':'] {
            let Some((name, value)) = arg.split_once(sign) else { continue };
            let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
            if plain && !value.starts_with("//") && self.is_secret(name, value) {
                return Some((arg.len() - value.trim_start().len(), name.to_owned()));
            }
        }
        let option = before.filter(|before| before.starts_with('-') && !before.contains('=')).unwrap_or_default();
        self.is_secret(option, arg).then(|| (0, option.to_owned()))
    }

    /// Whether a value is a secret, or holds one, beside the variables it names.
    fn is_secret(&self, name: &str, value: &str) -> bool {
        let value = without_references(value);
        let value = value.trim();
        let name = name.trim_start_matches('-');
        let header = if name.to_ascii_lowercase().ends_with("authorization") { "AUTH" } else { name };
        if value.is_empty() {
            return false;
        }
        exact::secret_looking(header, value)
            || self.masks(value)
            || (!name.is_empty() && self.masks(&format!("{name}={value}")))
    }

    fn masks(&self, text: &str) -> bool {
        let Some(desk) = &self.desk else { return false };
        let report = desk.text(text).report;
        report.withheld.is_none() && !report.redactions.is_empty()
    }
}

impl Spotted {
    /// Writes the variable in the secret's place.
    pub(crate) fn replace(&self, config: &mut ServerConfig) {
        let reference = format!("${{{}}}", self.variable);
        match &self.place {
            At::Command => config.command = reference,
            At::Env(name) => drop(config.env.insert(name.clone(), reference)),
            At::Arg(at, from) => config.args[*at].replace_range(*from.., &reference),
        }
    }
}

/// The text without `${...}`.
fn without_references(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        match after.split_once('}') {
            Some((_, behind)) => rest = behind,
            None => return out,
        }
    }
    out.push_str(rest);
    out
}

/// The variable that would hold what goes by a name, as in `API_KEY` for `--api-key`.
fn variable_of(name: &str, server: &ServerName) -> String {
    let shape = |text: &str| {
        let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        text.trim_start_matches('-').chars().map(upper).collect::<String>()
    };
    // A short option says nothing.
    let variable = match shape(name) {
        short if short.len() < 3 => format!("{}_SECRET", shape(server.as_str())),
        long => long,
    };
    if variable.starts_with(|c: char| c.is_ascii_digit()) { format!("_{variable}") } else { variable }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(words: &[&str], env: &[(&str, &str)]) -> Vec<String> {
        spotted(words, env).0
    }

    /// What is found by names alone, and the entry with the variables in place.
    fn spotted(words: &[&str], env: &[(&str, &str)]) -> (Vec<String>, ServerConfig) {
        let mut config = ServerConfig {
            command: words[0].to_owned(),
            args: words[1..].iter().map(|word| (*word).to_owned()).collect(),
            env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..ServerConfig::default()
        };
        let found = Eye { desk: None }.look(&"git-hub".parse().unwrap(), &config);
        found.iter().for_each(|spotted| spotted.replace(&mut config));
        (found.into_iter().map(|spotted| format!("{} {}", spotted.key, spotted.variable)).collect(), config)
    }

    #[test]
    fn secrets_are_found_by_the_names_before_them_and_replaced() {
        let (found, config) = spotted(
            &[
                "x",
                "--api-key=hunter2hunter2",
                "--token",
                "hunter2hunter2",
                "-e",
                "GITHUB_TOKEN=hunter2hunter2",
                "--header",
                "Authorization: Bearer hunter2hunter2",
                "postgres://me:hunter2hunter2@db/x",
            ],
            &[("TOKEN", "hunter2hunter2"), ("URL", "https://example.com")],
        );
        assert_eq!(
            found,
            [
                "args[0] API_KEY",
                "args[2] TOKEN",
                "args[4] GITHUB_TOKEN",
                "args[6] AUTHORIZATION",
                "args[7] GIT_HUB_SECRET",
                "env.TOKEN TOKEN"
            ]
        );
        let args = [
            "--api-key=${API_KEY}",
            "--token",
            "${TOKEN}",
            "-e",
            "GITHUB_TOKEN=${GITHUB_TOKEN}",
            "--header",
            "Authorization: ${AUTHORIZATION}",
            "${GIT_HUB_SECRET}",
        ];
        assert_eq!(config.args, args);
        assert_eq!(config.env["TOKEN"], "${TOKEN}");
    }

    #[test]
    fn ordinary_entries_and_references_hold_none() {
        let words = [
            "npx",
            "-y",
            "@modelcontextprotocol/server-github",
            "--token-file",
            "/run/secrets/token",
            "--api-key=${API_KEY}",
            "--token",
            "${TOKEN:-none}",
            "Authorization: Bearer ${TOKEN}",
            "postgres://me:${PASSWORD}@db/x",
            "https://example.com:8080/mcp",
            "C:\\servers\\x",
        ];
        assert_eq!(
            keys(&words, &[("GITHUB_TOKEN", "${GITHUB_TOKEN}"), ("LOG", "debug"), ("KEY", "")]),
            Vec::<String>::new()
        );
    }
}
