//! `${VAR}` in the entries of MCP servers: variables, defaults, and a few words about the place.
//!
//! It must never look up anything itself, and never let a reference through that stands for nothing: a server that is
//! given the text `${GITHUB_TOKEN}` as its token fails far from the cause, and with a message that blames the token.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::config::servers::ServerConfig;
use crate::id::ServerName;

/// How a variable is looked up.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// What the words about the place stand for.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// `${userHome}`: the user's home folder, where it is known.
    pub home: Option<&'a Path>,
    /// `${workspaceFolder}`: the folder the host works in.
    pub folder: &'a Path,
}

/// An entry with everything put in. Its texts are raw: they may hold secrets, so nothing here shows itself.
#[derive(Clone)]
pub struct Resolved {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its own variables.
    pub env: BTreeMap<String, String>,
    /// The folder it runs in, where the entry names one.
    pub cwd: Option<PathBuf>,
    /// The variables that were put in anywhere, by name: what must be masked in everything the server says.
    pub put_in: BTreeMap<String, String>,
    /// Keys whose values begin or end with white space. They are passed on unchanged; whoever starts the server says so,
    /// once.
    pub spaced: Vec<String>,
}

/// Why an entry cannot be used. No message quotes what stands in the entry or in a variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InterpolateError {
    /// A variable is not there.
    #[error(
        "mcp_servers.{server}.{key} names the variable {variable}, which is not set where hermes runs; set it there, or \
         write ${{{variable}:-VALUE}} with a value for this case"
    )]
    Unset {
        /// The server.
        server: ServerName,
        /// The key in its entry.
        key: String,
        /// The variable.
        variable: String,
    },
    /// A variable holds no text.
    #[error(
        "mcp_servers.{server}.{key} names the variable {variable}, whose value is not UTF-8 text; set it to a text"
    )]
    NotText {
        /// The server.
        server: ServerName,
        /// The key in its entry.
        key: String,
        /// The variable.
        variable: String,
    },
    /// What stands in the braces is nothing hermes knows.
    #[error(
        "mcp_servers.{server}.{key} has a reference that hermes does not know; write ${{NAME}} for a variable, \
         ${{NAME:-VALUE}} with a value where it is not set, or $${{ for the two characters themselves"
    )]
    Unknown {
        /// The server.
        server: ServerName,
        /// The key in its entry.
        key: String,
    },
}

/// Puts variables into an entry: `${NAME}` and `${env:NAME}` stand for a variable, `${NAME:-VALUE}` for VALUE where it is
/// not set or empty; `${userHome}`, `${workspaceFolder}`, `${workspaceFolderBasename}`, `${pathSeparator}` and `${/}` for
/// the place. `$${` is `${` itself. What is put in is not looked at again.
///
/// # Errors
/// The first reference that stands for nothing, with the server, the key and the remedy.
pub fn resolve(
    server: &ServerName,
    config: &ServerConfig,
    around: &Around<'_>,
    lookup: Lookup<'_>,
) -> Result<Resolved, InterpolateError> {
    let mut put_in = BTreeMap::new();
    let mut spaced = Vec::new();
    let mut put = |key: String, text: &str| {
        let done = expand(text, around, lookup, &mut put_in).map_err(|flaw| flaw.at(server, &key))?;
        if done.trim() != done {
            spaced.push(key);
        }
        Ok(done)
    };
    let command = put("command".to_owned(), &config.command)?;
    let args =
        config.args.iter().enumerate().map(|(n, arg)| put(format!("args[{n}]"), arg)).collect::<Result<_, _>>()?;
    let env = config
        .env
        .iter()
        .map(|(name, value)| Ok((name.clone(), put(format!("env.{name}"), value)?)))
        .collect::<Result<_, _>>()?;
    let cwd = config.cwd.as_ref().map(|cwd| put("cwd".to_owned(), &cwd.to_string_lossy())).transpose()?;
    Ok(Resolved { command, args, env, cwd: cwd.map(PathBuf::from), put_in, spaced })
}

/// Whether every reference of a text is one that [`resolve`] knows.
pub fn is_known(text: &str) -> bool {
    pieces(text).all(|piece| !matches!(piece, Piece::Unknown))
}

/// What is wrong with a reference, before it is known where it stands.
enum Flaw {
    Unset(String),
    NotText(String),
    Unknown,
}

impl Flaw {
    fn at(self, server: &ServerName, key: &str) -> InterpolateError {
        let (server, key) = (server.clone(), key.to_owned());
        match self {
            Self::Unset(variable) => InterpolateError::Unset { server, key, variable },
            Self::NotText(variable) => InterpolateError::NotText { server, key, variable },
            Self::Unknown => InterpolateError::Unknown { server, key },
        }
    }
}

/// What stands in the braces.
enum Reference<'a> {
    UserHome,
    Folder,
    FolderName,
    Separator,
    Variable { name: &'a str, otherwise: Option<&'a str> },
}

/// A part of a text.
enum Piece<'a> {
    Plain(&'a str),
    Reference(Reference<'a>),
    /// A reference of a kind nobody knows, or one without its end.
    Unknown,
}

/// The parts of a text, in order.
fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some(after) = rest.strip_prefix("$${") {
            rest = after;
            return Some(Piece::Plain("${"));
        }
        if let Some(inside) = rest.strip_prefix("${") {
            let Some((inside, after)) = inside.split_once('}') else {
                rest = "";
                return Some(Piece::Unknown);
            };
            rest = after;
            return Some(reference(inside).map_or(Piece::Unknown, Piece::Reference));
        }
        let end = match (rest.find("$${"), rest.find("${")) {
            (Some(escaped), Some(plain)) => escaped.min(plain),
            (escaped, plain) => escaped.or(plain).unwrap_or(rest.len()),
        };
        let (plain, after) = rest.split_at(end);
        rest = after;
        Some(Piece::Plain(plain))
    })
}

fn reference(inside: &str) -> Option<Reference<'_>> {
    match inside {
        "userHome" => return Some(Reference::UserHome),
        "workspaceFolder" => return Some(Reference::Folder),
        "workspaceFolderBasename" => return Some(Reference::FolderName),
        "pathSeparator" | "/" => return Some(Reference::Separator),
        _ => {}
    }
    let variable = inside.strip_prefix("env:").unwrap_or(inside);
    let (name, otherwise) = match variable.split_once(":-") {
        Some((name, otherwise)) => (name, Some(otherwise)),
        None => (variable, None),
    };
    // A reference inside the default would end at the first brace and leave half of itself in the text.
    let nested = otherwise.is_some_and(|otherwise| otherwise.contains("${"));
    (is_variable(name) && !nested).then_some(Reference::Variable { name, otherwise })
}

/// Whether a text is the name of a variable as shells have them: letters, digits and `_`, no digit first.
pub fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn expand(
    text: &str,
    around: &Around<'_>,
    lookup: Lookup<'_>,
    put_in: &mut BTreeMap<String, String>,
) -> Result<String, Flaw> {
    let mut out = String::with_capacity(text.len());
    let path = |path: &Path| path.to_string_lossy().into_owned();
    for piece in pieces(text) {
        match piece {
            Piece::Plain(plain) => out.push_str(plain),
            Piece::Unknown => return Err(Flaw::Unknown),
            Piece::Reference(Reference::UserHome) => {
                out.push_str(&path(around.home.ok_or_else(|| Flaw::Unset("HOME".to_owned()))?));
            }
            Piece::Reference(Reference::Folder) => out.push_str(&path(around.folder)),
            Piece::Reference(Reference::FolderName) => {
                out.push_str(&around.folder.file_name().unwrap_or_default().to_string_lossy());
            }
            Piece::Reference(Reference::Separator) => out.push(std::path::MAIN_SEPARATOR),
            Piece::Reference(Reference::Variable { name, otherwise }) => {
                let found = match (lookup(name), otherwise) {
                    (None, None) => return Err(Flaw::Unset(name.to_owned())),
                    (None, Some(otherwise)) => {
                        out.push_str(otherwise);
                        continue;
                    }
                    (Some(value), Some(otherwise)) if value.is_empty() => {
                        out.push_str(otherwise);
                        continue;
                    }
                    (Some(value), _) => value.into_string().map_err(|_| Flaw::NotText(name.to_owned()))?,
                };
                out.push_str(&found);
                put_in.insert(name.to_owned(), found);
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lookup(name: &str) -> Option<OsString> {
        match name {
            "TOKEN" => Some("t0ken-of-mine".into()),
            "EMPTY" => Some("".into()),
            "NESTED" => Some("${TOKEN}".into()),
            "PADDED" => Some(" x\n".into()),
            _ => None,
        }
    }

    fn server() -> ServerName {
        "git".parse().unwrap()
    }

    fn resolved(config: &ServerConfig) -> Result<Resolved, InterpolateError> {
        let around = Around { home: Some(Path::new("/home/me")), folder: Path::new("/work/shop") };
        resolve(&server(), config, &around, &lookup)
    }

    fn one(text: &str) -> Result<String, InterpolateError> {
        let config = ServerConfig { args: vec![text.to_owned()], ..ServerConfig::default() };
        resolved(&config).map(|mut resolved| resolved.args.remove(0))
    }

    #[test]
    fn variables_defaults_and_places_are_put_in() {
        for (text, expected) in [
            ("plain $HOME $ {x} }", "plain $HOME $ {x} }"),
            ("a${TOKEN}b${env:TOKEN}", "at0ken-of-minebt0ken-of-mine"),
            ("${EMPTY}", ""),
            ("${NONE:-x y}${EMPTY:-z}${TOKEN:-no}${env:NONE:-}", "x yzt0ken-of-mine"),
            ("${userHome}${/}a", "/home/me/a"),
            ("${workspaceFolder}${pathSeparator}${workspaceFolderBasename}", "/work/shop/shop"),
            ("$${TOKEN} $$${TOKEN}", "${TOKEN} $${TOKEN}"),
            ("${NESTED}", "${TOKEN}"),
        ] {
            assert_eq!(one(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn every_part_of_an_entry_is_looked_at_and_what_was_put_in_is_remembered() {
        let config = ServerConfig {
            command: "${userHome}/bin/x".to_owned(),
            args: vec!["--key=${TOKEN}".to_owned()],
            env: BTreeMap::from([("A".to_owned(), "${PADDED}".to_owned())]),
            cwd: Some("${workspaceFolder}/sub".into()),
            ..ServerConfig::default()
        };
        let resolved = resolved(&config).unwrap();
        assert_eq!((resolved.command.as_str(), &resolved.cwd), ("/home/me/bin/x", &Some("/work/shop/sub".into())));
        assert_eq!((resolved.args[0].as_str(), resolved.env["A"].as_str()), ("--key=t0ken-of-mine", " x\n"));
        assert_eq!(resolved.put_in.keys().collect::<Vec<_>>(), ["PADDED", "TOKEN"]);
        assert_eq!(resolved.spaced, ["env.A"]);
    }

    #[test]
    fn a_variable_that_is_not_set_is_an_error_that_names_server_key_variable_and_remedy() {
        let config =
            ServerConfig { env: BTreeMap::from([("T".to_owned(), "x${NONE}".to_owned())]), ..ServerConfig::default() };
        let error = resolved(&config).err().unwrap().to_string();
        assert!(error.starts_with("mcp_servers.git.env.T names the variable NONE, which is not set"), "{error}");
        assert!(error.contains("${NONE:-VALUE}"), "{error}");
    }

    #[test]
    fn a_reference_nobody_knows_is_an_error_that_quotes_nothing() {
        for text in
            ["${input:secret}", "${}", "${1A}", "${TOKEN", "${env:}", "${USERHOME }", "${a.b}", "${NONE:-${TOKEN}}"]
        {
            let error = one(text).unwrap_err();
            assert!(matches!(error, InterpolateError::Unknown { .. }), "{text}");
            assert!(!error.to_string().contains("secret") && !is_known(text), "{error}");
        }
        assert!(is_known("${TOKEN} $${a.b}"));
    }

    proptest! {
        #[test]
        fn a_text_without_a_reference_stays_as_it_is(text in "([^$]|\\$[^${]){0,20}") {
            prop_assert_eq!(one(&text).unwrap(), text);
        }

        #[test]
        fn an_escaped_text_comes_back(text in "[${}a:-]{0,12}") {
            prop_assume!(!text.contains("$${"));
            prop_assert_eq!(one(&text.replace("${", "$${")).unwrap(), text);
        }

        #[test]
        fn any_text_is_resolved_or_refused(text in "[$A{}:/-]{0,16}") {
            let known = is_known(&text);
            match one(&text) {
                Ok(_) => prop_assert!(known),
                Err(InterpolateError::Unknown { .. }) => prop_assert!(!known),
                Err(_) => {}
            }
        }
    }
}
