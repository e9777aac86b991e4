//! Reads `config.toml`. A message names the key, the line and the reason, and never quotes a value: it could be a secret.

use std::ops::Range;
use std::path::{Path, PathBuf};

use hermes_model::config::Config;
use hermes_model::suggest;
use toml::Table;

use crate::effective::{self, Effective};
use crate::files::{self, ReadError};
use crate::home::Home;

/// The largest file read: thousands of times what anyone writes by hand.
pub const CONFIG_BYTES_MAX: u64 = 1024 * 1024;
/// How much of a key is shown, so that a pasted text does not fill the screen.
const SHOWN_KEY_MAX: usize = 64;

/// The configuration in force, and where it is from.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The configuration; the defaults where there is no file.
    pub config: Config,
    /// The file.
    pub path: PathBuf,
    /// Whether the file exists.
    pub found: bool,
    /// Every value, with where it came from.
    pub effective: Vec<Effective>,
}

/// Why the file is not usable.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is not a text.
    #[error("'{path}' line {line}: not UTF-8 text; save the file as UTF-8")]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The first bad line, from 1.
        line: usize,
    },
    /// It is not TOML.
    #[error("'{path}' line {line}: {reason}; correct the line (the file is TOML: `key = value` below a `[section]`)")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What the parser expected.
        reason: String,
    },
    /// Nothing has this name.
    #[error("'{path}' line {line}: unknown key '{key}'{hint}")]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key, with its section.
        key: String,
        /// What was meant, or what is known.
        hint: String,
    },
    /// A value does not fit its key.
    #[error("'{path}' line {line}: {key}: {reason}")]
    BadValue {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key, with its section.
        key: String,
        /// What it must be.
        reason: String,
    },
}

/// Reads the configuration of a home. No file means the defaults. Creates nothing.
///
/// # Errors
/// The file cannot be read, is not TOML, names an unknown key, or a value does not fit.
pub fn load(home: &Home) -> Result<Loaded, ConfigError> {
    let path = home.config_path();
    let bytes = match files::read_bounded(&path, CONFIG_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.is_missing() => {
            let config = Config::default();
            let effective = effective::of(&config, &Table::new());
            return Ok(Loaded { config, path, found: false, effective });
        }
        Err(error) => return Err(error.into()),
    };
    let config = parse(&path, &bytes)?;
    // It parsed as a configuration, so it parses as a table.
    let given = String::from_utf8_lossy(&bytes).parse().unwrap_or_default();
    let effective = effective::of(&config, &given);
    Ok(Loaded { config, path, found: true, effective })
}

pub(crate) fn parse(path: &Path, bytes: &[u8]) -> Result<Config, ConfigError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| ConfigError::NotUtf8 { path: path.to_owned(), line: line_at(bytes, error.valid_up_to()) })?;
    // Parsed once as a plain document, so that what is left to go wrong below is about keys and values.
    let document = toml::de::DeTable::parse(text).map_err(|error| ConfigError::Syntax {
        path: path.to_owned(),
        line: line_of(text, error.span()),
        reason: error.message().to_owned(),
    })?;
    if let Some((key, span)) = first_date(document.get_ref(), "") {
        let line = line_of(text, Some(span));
        let reason = "a date has no meaning here; write it as a text, in quotes".to_owned();
        return Err(ConfigError::BadValue { path: path.to_owned(), line, key: shown_key(&key), reason });
    }
    let config: Config = toml::from_str(text).map_err(|error| explain(path, text, error))?;
    config.validate().map_err(|bad| ConfigError::BadValue {
        path: path.to_owned(),
        line: line_of(text, span_of(document.get_ref(), &bad.key)),
        key: bad.key,
        reason: bad.rule,
    })?;
    Ok(config)
}

/// Turns the deserializer's error into ours, which quotes no value.
fn explain(path: &Path, text: &str, mut error: toml::de::Error) -> ConfigError {
    let line = line_of(text, error.span());
    // Without its input the error displays its message and, on a line of its own, the key it is about.
    error.set_input(None);
    let shown = error.to_string();
    let section = shown.lines().last().and_then(|last| last.strip_prefix("in `")).and_then(|l| l.strip_suffix('`'));
    let message = error.message();

    if let Some((key, expected)) = message.strip_prefix("unknown field `").and_then(split_expected) {
        let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        let hint = suggest::hint(key, &known);
        let full = match section {
            // The path ends in the key itself where the deserializer knows it.
            Some(section) if section == key || section.ends_with(&format!(".{key}")) => section.to_owned(),
            Some(section) => format!("{section}.{key}"),
            None => key.to_owned(),
        };
        return ConfigError::UnknownKey { path: path.to_owned(), line, key: shown_key(&full), hint };
    }
    let key = section.map_or_else(|| "the file".to_owned(), shown_key);
    ConfigError::BadValue { path: path.to_owned(), line, key, reason: reason_without_value(message) }
}

/// Splits serde's "KEY`, expected ..." at its last "expected": a key may contain anything.
fn split_expected(rest: &str) -> Option<(&str, &str)> {
    rest.rsplit_once("`, expected ").or_else(|| rest.rsplit_once("`, there are no fields"))
}

/// Says what a value must be, from a message that may quote what it is. Only shapes known to be harmless pass.
fn reason_without_value(message: &str) -> String {
    if let Some(rest) = message.strip_prefix("invalid type: ") {
        // "string \"...\", expected u64": the kind is the words before the value.
        let kind = rest.split(['"', '`', ',']).next().unwrap_or("").trim();
        return match rest.rsplit_once(", expected ") {
            Some((_, expected)) => format!("must be {expected}, and is of type {kind}"),
            None => format!("cannot be of type {kind}"),
        };
    }
    if let Some((_, expected)) =
        message.strip_prefix("invalid value: ").and_then(|rest| rest.rsplit_once(", expected "))
    {
        return format!("must be {expected}");
    }
    if let Some((_, expected)) = message.strip_prefix("unknown variant `").and_then(split_expected) {
        return format!("must be {}", expected.replace('`', "'"));
    }
    if message.contains("untagged enum") {
        return "must be a text, a number, true, false, a list or a table".to_owned();
    }
    if message.starts_with("missing field `") {
        return message.replace('`', "'");
    }
    // Our own words: "'VALUE' is not a duration: write ...". The last occurrence, since the value may contain it too.
    match message.rfind("' is not a") {
        Some(at) if message.starts_with('\'') => format!("the value{}", &message[at + 1..]),
        _ => "the value does not fit".to_owned(),
    }
}

/// A key as a message shows it.
fn shown_key(key: &str) -> String {
    key.chars().filter(|c| !c.is_control()).take(SHOWN_KEY_MAX).collect()
}

/// The first date or time of the document: settings have none, and the deserializer would hand over a table of its own.
fn first_date(table: &toml::de::DeTable<'_>, section: &str) -> Option<(String, Range<usize>)> {
    table.iter().find_map(|(key, value)| {
        let name = key.get_ref();
        let full = if section.is_empty() { name.to_string() } else { format!("{section}.{name}") };
        date_in(value, full)
    })
}

fn date_in(value: &toml::Spanned<toml::de::DeValue<'_>>, key: String) -> Option<(String, Range<usize>)> {
    match value.get_ref() {
        toml::de::DeValue::Datetime(_) => Some((key, value.span())),
        toml::de::DeValue::Array(items) => items.iter().find_map(|item| date_in(item, key.clone())),
        toml::de::DeValue::Table(table) => first_date(table, &key),
        _ => None,
    }
}

/// Where the value of a key with its section stands; of a value that is not written, where its section does. A name may
/// hold dots itself.
fn span_of(document: &toml::de::DeTable<'_>, key: &str) -> Option<Range<usize>> {
    document.iter().find_map(|(name, value)| {
        let rest = key.strip_prefix(name.get_ref().as_ref())?;
        match rest.strip_prefix('.') {
            None => rest.is_empty().then(|| value.span()),
            Some(rest) => value.get_ref().as_table().map(|table| span_of(table, rest).unwrap_or_else(|| name.span())),
        }
    })
}

/// The line of a span, from 1; the first where there is none.
fn line_of(text: &str, span: Option<Range<usize>>) -> usize {
    line_at(text.as_bytes(), span.map_or(0, |span| span.start))
}

fn line_at(bytes: &[u8], at: usize) -> usize {
    1 + bytes[..at.min(bytes.len())].iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;
    use crate::home::LocateArgs;

    /// Stands for a secret a person pasted in the wrong place.
    const SECRET: &str = "ghp_neverShownNeverShown";

    fn home(folder: &Path) -> Home {
        Home::locate(&LocateArgs { home: Some(folder.to_owned()), profile: None }).unwrap()
    }

    fn error(text: &str) -> String {
        parse(Path::new("/h/config.toml"), text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn no_file_is_the_defaults_and_creates_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("none");
        let loaded = load(&Home::locate(&LocateArgs { home: Some(root.clone()), profile: None }).unwrap()).unwrap();
        assert_eq!((loaded.config, loaded.found), (Config::default(), false));
        assert!(!root.exists());
    }

    #[test]
    fn a_file_is_read() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("config.toml"), "[terminal]\nterm_grace = \"5s\"\n").unwrap();
        let loaded = load(&home(temp.path())).unwrap();
        assert!(loaded.found);
        assert_eq!(loaded.config.terminal.term_grace, Duration::from_secs(5));
    }

    #[test]
    fn a_folder_in_place_of_the_file_and_a_huge_file_are_named() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("config.toml");
        fs::create_dir(&path).unwrap();
        let said = load(&home(temp.path())).unwrap_err().to_string();
        assert!(said.contains("config.toml' is a folder"), "{said}");
        fs::remove_dir(&path).unwrap();
        fs::File::create(&path).unwrap().set_len(CONFIG_BYTES_MAX + 1).unwrap();
        let said = load(&home(temp.path())).unwrap_err().to_string();
        assert!(said.contains("1048577 bytes, more than the 1048576"), "{said}");
    }

    #[test]
    fn an_unknown_key_is_named_with_its_section_line_and_what_was_meant() {
        let said = error("[output]\nring_bytes = 100000\n\n[policy]\nrequird = []\n");
        assert_eq!(said, "'/h/config.toml' line 5: unknown key 'policy.requird'; did you mean 'required'?");
        let said = error("[polcy]\n");
        assert_eq!(said, "'/h/config.toml' line 1: unknown key 'polcy'; did you mean 'policy'?");
        let said = error("\n[plugins.redact-secrets.limits]\ncal = \"1s\"\n");
        assert!(
            said.contains("line 3: unknown key 'plugins.redact-secrets.limits.cal'; did you mean 'call'?"),
            "{said}"
        );
    }

    #[test]
    fn an_unknown_key_that_is_near_nothing_lists_what_is_known() {
        let said = error("[policy]\nzebra = 1\n");
        assert!(said.ends_with("unknown key 'policy.zebra'; known: required, transforms_see"), "{said}");
    }

    #[test]
    fn a_value_of_the_wrong_type_names_key_line_and_type() {
        let said = error("[output]\nring_bytes = \"8 MiB\"\n");
        assert_eq!(said, "'/h/config.toml' line 2: output.ring_bytes: must be u64, and is of type string");
    }

    #[test]
    fn a_value_out_of_range_names_the_line_and_the_range() {
        let said = error("# comment\n[output]\nring_bytes = 10\n");
        assert!(said.contains("line 3: output.ring_bytes: must be between 65536"), "{said}");
    }

    #[test]
    fn a_bad_value_of_a_server_names_its_line_and_one_that_is_missing_that_of_the_section() {
        let said = error("[mcp_servers.\"a.b\"]\ncommand = \"x\"\nparallel = 0\n");
        assert!(said.contains("line 3: mcp_servers.a.b.parallel: must be at least 1"), "{said}");
        let said = error("\n[mcp_servers.git]\nargs = [\"ghp_neverShown\"]\n");
        assert!(said.contains("line 2: mcp_servers.git.command: must name the program"), "{said}");
        let said = error("[mcp_servers.git]\ncomand = \"ghp_neverShown\"\n");
        assert!(said.contains("line 2: unknown key 'mcp_servers.git.comand'; did you mean 'command'?"), "{said}");
        let said = error("[mcp_servers.\"a b\"]\ncommand = \"x\"\n");
        assert!(said.contains("line 1"), "{said}");
    }

    #[test]
    fn a_date_is_refused_by_key_and_line_wherever_it_stands() {
        let said = error("[plugins.a.settings]\nlist = [1, { on = 1979-05-27 }]\n");
        assert!(said.contains("line 2: plugins.a.settings.list.on: a date has no meaning"), "{said}");
    }

    #[test]
    fn bad_syntax_and_bad_bytes_name_the_line() {
        assert!(error("[policy]\nrequired = [\n\n").contains("line "), "{}", error("[policy]\nrequired = [\n\n"));
        let said = parse(Path::new("/h/config.toml"), b"[policy]\n\n# \xff\n").unwrap_err().to_string();
        assert!(said.contains("line 3: not UTF-8"), "{said}");
    }

    #[test]
    fn no_message_quotes_a_value() {
        let texts = [
            format!("policy = \"{SECRET}\""),
            format!("[policy]\nrequired = \"{SECRET}\""),
            format!("[policy]\nrequired = [\"{SECRET}\"]"),
            format!("[policy]\nrequired = [\"x' is not a plugin name: {SECRET}\"]"),
            format!("[policy]\ntransforms_see = \"{SECRET}\""),
            format!("[policy]\ntransforms_see = \"a`, expected {SECRET}\""),
            format!("[output]\nring_bytes = \"{SECRET}\""),
            format!("[output]\nring_bytes = \"x, expected {SECRET}\""),
            format!("[terminal]\nterm_grace = \"{SECRET}\""),
            format!("[terminal]\nterm_grace = \"a' is not a {SECRET}\""),
            format!("[terminal]\nshell = \"{SECRET}\""),
            format!("[terminal]\nunknown = \"{SECRET}\""),
            format!("[plugins.a.settings]\ntoken = \"{SECRET}"),
            format!("[plugins.a.settings]\ntoken = {SECRET}"),
            format!("[plugins.a]\nsettings = \"{SECRET}\""),
            format!("[plugins.a.settings]\nt = 1979-05-27\nu = \"{SECRET}\""),
            format!("token = \"\\q{SECRET}\""),
            format!("x = 1\nx = \"{SECRET}\""),
            format!("[mcp_servers.git]\ncommand = \"a\\n{SECRET}\""),
            format!("[mcp_servers.git]\ncommand = \"a\"\nargs = \"{SECRET}\""),
            format!("[mcp_servers.git]\ncommand = \"a\"\nenv = {{ TOKEN = [\"{SECRET}\"] }}"),
            format!("[mcp_servers.git]\ncommand = \"a\"\nenv = {{ \"A={SECRET}\" = \"\" }}"),
            format!("[mcp_servers.git]\ncommand = \"a\"\nenv_pass = [\"A={SECRET}\"]"),
            format!("[mcp_servers.git]\ncommand = \"a\"\ntimeout = \"{SECRET}\""),
            format!("[mcp_servers.git]\ncommand = \"a\"\ntrust = \"{SECRET}\""),
            format!("[mcp_servers.\"a {SECRET}\"]\ncommand = \"a\""),
        ];
        for text in texts {
            let error = parse(Path::new("/h/config.toml"), text.as_bytes()).unwrap_err();
            let mut said = format!("{error} {error:?}");
            let mut source = std::error::Error::source(&error);
            while let Some(inner) = source {
                said.push_str(&inner.to_string());
                source = inner.source();
            }
            assert!(!said.contains("neverShown"), "{text}\n{said}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_message_quotes_a_value_whatever_stands_around_the_secret(before in "\\PC{0,12}|[`'\", aknotise]{0,20}", after in "\\PC{0,12}|[`'\", aknotise]{0,20}", place in 0usize..6) {
            let value = toml::Value::String(format!("{before}{SECRET}{after}"));
            let text = match place {
                0 => format!("policy = {value}"),
                1 => format!("[policy]\nrequired = [{value}]"),
                2 => format!("[policy]\ntransforms_see = {value}"),
                3 => format!("[output]\nring_bytes = {value}"),
                4 => format!("[terminal]\nterm_grace = {value}"),
                _ => format!("[terminal]\nshell = {value}"),
            };
            let error = parse(Path::new("/h/config.toml"), text.as_bytes());
            // A text that happens to start with '/' is a shell.
            if let Err(error) = error {
                proptest::prop_assert!(!format!("{error} {error:?}").contains(SECRET), "{}", error);
            }
        }
    }
}
