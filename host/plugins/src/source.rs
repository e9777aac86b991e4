//! Where a plugin comes from: what a person gave, taken apart and checked, and what is kept of it.
//!
//! Nothing is read here. It must never show more of a URL than its host and path: a query may hold a token.

use std::fmt;
use std::path::{Path, PathBuf};

use hermes_model::id::PluginName;
use hermes_model::suggest;

use crate::bundled;
use crate::digest::Digest;
use crate::generation::BUNDLED;

/// What a stored path begins with.
const FILE: &str = "file:";
/// What a URL that is taken begins with.
const HTTPS: &str = "https://";
/// The longest URL (RFC 9110, section 4.1, asks for at least 8,000 octets).
const URL_MAX: usize = 8000;

/// Where a plugin comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The binary itself, under this name.
    Bundled(PluginName),
    /// A component, or a plugin's folder.
    Path(PathBuf),
    /// A component behind a URL.
    Https(Url),
}

/// An https URL without user, fragment and odd characters. Shown without its query.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    text: String,
    /// The digest its fragment gave.
    pub digest: Option<Digest>,
}

/// Why what was given is no source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The binary carries no plugin of this name.
    #[error("this hermes bundles no plugin '{name}'{hint}")]
    NotBundled {
        /// The name.
        name: String,
        /// A suggestion.
        hint: String,
    },
    /// A way that is not taken.
    #[error("'{kind}' sources are not supported: {instead}")]
    Unsupported {
        /// The kind, as in `git+`.
        kind: String,
        /// What works.
        instead: &'static str,
    },
    /// The URL names a user, maybe with a password.
    #[error("a URL with a user or a password is refused: it would be kept in lists; give the plain https:// URL")]
    Credentials,
    /// The URL's fragment is no digest.
    #[error("what follows '#' in the URL is not 'sha256=' and 64 hexadecimal digits")]
    Fragment,
    /// It is no URL of a file.
    #[error("the URL is not well formed ({0}): give https://HOST/PATH.wasm#sha256=HEX")]
    Malformed(&'static str),
    /// Nothing says which bytes are meant.
    #[error(
        "a plugin from the network needs its digest, so that nobody can put another file in its place; \
         `hermes plugins install '{0}' --pin` fetches it and shows the digest"
    )]
    Unpinned(Url),
    /// Two digests were given, and they are not the same.
    #[error("the URL and --digest name different digests: give one of them")]
    TwoDigests,
}

impl Source {
    /// Takes apart what a person gave: `bundled:NAME` or a bundled plugin's bare name where no such file exists, a URL,
    /// or a path (also as lists show it, `file:PATH`).
    ///
    /// # Errors
    /// It is a URL that is not taken, or names a plugin that is not bundled.
    pub fn parse(given: &Path) -> Result<Self, SourceError> {
        // A path that is not UTF-8 is no URL and no name.
        let Some(text) = given.to_str() else { return Ok(Self::Path(given.to_owned())) };
        if let Some(name) = text.strip_prefix("bundled:") {
            return bundled_named(name);
        }
        if let Some(path) = text.strip_prefix(FILE) {
            return Ok(Self::Path(PathBuf::from(path.strip_prefix("//").unwrap_or(path))));
        }
        if let Some(rest) = strip_scheme(text, HTTPS) {
            return Url::parse(rest).map(Self::Https);
        }
        if let Some(error) = unsupported(text) {
            return Err(error);
        }
        if let Ok(name) = text.parse::<PluginName>()
            && !given.exists()
            && bundled::component(&name).is_some()
        {
            return Ok(Self::Bundled(name));
        }
        Ok(Self::Path(given.to_owned()))
    }

    /// What a generation keeps of it: `bundled`, `file:` and the absolute path, or the URL without its query.
    pub fn stored(&self) -> String {
        match self {
            Self::Bundled(_) => BUNDLED.to_owned(),
            Self::Path(path) => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                format!("{FILE}{}", path.display())
            }
            Self::Https(url) => url.kept(),
        }
    }

    /// The source of a plugin of a generation.
    pub(crate) fn of_stored(name: &PluginName, stored: &str) -> Option<Self> {
        if stored == BUNDLED {
            return Some(Self::Bundled(name.clone()));
        }
        if let Some(path) = stored.strip_prefix(FILE) {
            return Some(Self::Path(PathBuf::from(path)));
        }
        Url::parse(stored.strip_prefix(HTTPS)?).ok().map(Self::Https)
    }
}

/// How a plugin of this source is installed again, as a command.
pub(crate) fn install_again(stored: &str) -> String {
    match stored {
        BUNDLED => "`hermes plugins install NAME`".to_owned(),
        url if url.starts_with(HTTPS) => format!("`hermes plugins install '{url}#sha256=HEX'`"),
        stored => format!("`hermes plugins install {}`", stored.trim_start_matches(FILE)),
    }
}

fn bundled_named(text: &str) -> Result<Source, SourceError> {
    let known: Vec<String> = bundled::names().map(|name| name.to_string()).collect();
    let found = text.parse::<PluginName>().ok().filter(|name| bundled::component(name).is_some());
    found.map(Source::Bundled).ok_or_else(|| {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        // What is no name is not repeated.
        let name = text.parse::<PluginName>().map_or_else(|_| "(no name)".to_owned(), |name| name.to_string());
        SourceError::NotBundled { hint: suggest::hint(text, &known), name }
    })
}

fn strip_scheme<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    let start = text.get(..scheme.len())?;
    start.eq_ignore_ascii_case(scheme).then(|| &text[scheme.len()..])
}

/// The ways that are not taken, each by name with what works.
fn unsupported(text: &str) -> Option<SourceError> {
    const HTTPS_ONLY: &str = "plain http can be changed on its way; give https://HOST/PATH.wasm#sha256=HEX";
    const BUILD: &str = "clone it, run `hermes plugins build FOLDER`, and install the folder";
    const FETCH: &str = "download the .wasm file and install it, or give https://HOST/PATH.wasm#sha256=HEX";
    let refused = |kind: &str, instead| Some(SourceError::Unsupported { kind: kind.to_owned(), instead });
    if text.starts_with("git@") || text.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("git+")) {
        return refused("git", BUILD);
    }
    let (scheme, _) = text.split_once("://")?;
    let plain = !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    if !plain {
        return None;
    }
    let scheme = scheme.to_ascii_lowercase();
    match scheme.as_str() {
        "http" => refused("http://", HTTPS_ONLY),
        "git" | "ssh" => refused(&format!("{scheme}://"), BUILD),
        _ => refused(&format!("{scheme}://"), FETCH),
    }
}

impl Url {
    /// A URL without its `https://`.
    fn parse(rest: &str) -> Result<Self, SourceError> {
        if rest.len() > URL_MAX {
            return Err(SourceError::Malformed("it is too long"));
        }
        let (place, fragment) = match rest.split_once('#') {
            Some((place, fragment)) => (place, Some(fragment)),
            None => (rest, None),
        };
        // Printable ASCII only, so that what is shown is what is asked, and no escape reaches a terminal.
        if !place.bytes().all(|b| b.is_ascii_graphic() && !b"\\\"<>`{}|^'".contains(&b)) {
            return Err(SourceError::Malformed("a character must be percent-encoded"));
        }
        let authority = &place[..place.find(['/', '?']).unwrap_or(place.len())];
        if authority.contains('@') {
            return Err(SourceError::Credentials);
        }
        if authority.is_empty() || authority.starts_with(':') {
            return Err(SourceError::Malformed("it names no host"));
        }
        if !place[authority.len()..].starts_with('/') {
            return Err(SourceError::Malformed("it names no file"));
        }
        let digest = fragment
            .map(|fragment| {
                let hex = fragment.strip_prefix("sha256=").filter(|hex| !hex.contains(':'));
                hex.and_then(|hex| hex.parse().ok()).ok_or(SourceError::Fragment)
            })
            .transpose()?;
        Ok(Self { text: format!("{HTTPS}{place}"), digest })
    }

    /// What is asked of the server: everything but the fragment.
    pub(crate) fn asked(&self) -> &str {
        &self.text
    }

    /// Host and path.
    fn kept(&self) -> String {
        self.text.split('?').next().unwrap_or_default().to_owned()
    }

    /// The digest that is binding: of the URL or of the flag.
    ///
    /// # Errors
    /// There is none, or there are two.
    pub fn pinned(&self, flag: Option<Digest>) -> Result<Digest, SourceError> {
        match (self.digest, flag) {
            (Some(one), Some(other)) if one != other => Err(SourceError::TwoDigests),
            (one, other) => one.or(other).ok_or_else(|| SourceError::Unpinned(self.clone())),
        }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kept())?;
        if self.text.contains('?') { f.write_str("?\u{2026}") } else { Ok(()) }
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEX: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn parse(text: &str) -> Result<Source, SourceError> {
        Source::parse(Path::new(text))
    }

    fn url(text: &str) -> Url {
        match parse(text).unwrap() {
            Source::Https(url) => url,
            other => panic!("{text} is {other:?}"),
        }
    }

    #[test]
    fn names_paths_and_urls_are_told_apart() {
        let bundled = Source::Bundled("redact-secrets".parse().unwrap());
        assert_eq!(parse("redact-secrets").unwrap(), bundled);
        assert_eq!(parse("bundled:redact-secrets").unwrap(), bundled);
        assert_eq!(bundled.stored(), "bundled");
        assert_eq!(parse("./redact-secrets").unwrap(), Source::Path("./redact-secrets".into()));
        assert_eq!(parse("file:/a/b.wasm").unwrap(), Source::Path("/a/b.wasm".into()));
        assert_eq!(parse("file:///a/b.wasm").unwrap().stored(), "file:/a/b.wasm");
        assert_eq!(parse("odd:name.wasm").unwrap(), Source::Path("odd:name.wasm".into()));
        let error = parse("bundled:redact-secret").unwrap_err().to_string();
        assert_eq!(error, "this hermes bundles no plugin 'redact-secret'; did you mean 'redact-secrets'?");
    }

    #[test]
    fn a_url_keeps_its_query_to_itself() {
        let url = url(&format!("HTTPS://plugins.example.com:8443/a/b.wasm?token=hunter2#sha256={HEX}"));
        assert_eq!(url.asked(), "https://plugins.example.com:8443/a/b.wasm?token=hunter2");
        assert_eq!(url.digest.unwrap().hex(), HEX);
        assert_eq!(url.to_string(), "https://plugins.example.com:8443/a/b.wasm?\u{2026}");
        assert_eq!(Source::Https(url.clone()).stored(), "https://plugins.example.com:8443/a/b.wasm");
        assert!(!format!("{url:?} {:?}", url.pinned(None)).contains("hunter2"));
    }

    #[test]
    fn a_url_without_a_digest_is_not_pinned_and_two_must_be_the_same() {
        let bare = url("https://example.com/b.wasm?k=v");
        let said = bare.pinned(None).unwrap_err().to_string();
        assert!(said.contains("`hermes plugins install 'https://example.com/b.wasm?\u{2026}' --pin`"), "{said}");
        let digest: Digest = HEX.parse().unwrap();
        assert_eq!(bare.pinned(Some(digest)), Ok(digest));
        let pinned = url(&format!("https://example.com/b.wasm#sha256={HEX}"));
        assert_eq!(pinned.pinned(Some(digest)), Ok(digest));
        assert_eq!(pinned.pinned(Some(Digest::of(b"x"))), Err(SourceError::TwoDigests));
    }

    #[test]
    fn what_is_not_taken_is_refused_by_name_with_what_works() {
        for (given, said) in [
            ("http://example.com/a.wasm", "'http://' sources are not supported: plain http"),
            ("git+https://example.com/a.git", "'git' sources are not supported: clone it"),
            ("git@example.com:a/b.git", "'git' sources are not supported: clone it"),
            ("ssh://example.com/a", "'ssh://' sources are not supported: clone it"),
            ("oci://example.com/a:1", "'oci://' sources are not supported: download the .wasm file"),
            ("ftp://example.com/a", "'ftp://' sources are not supported: download the .wasm file"),
            ("https://user:hunter2@example.com/a.wasm", "a URL with a user or a password is refused"),
            ("https://example.com/a.wasm#sha256=12", "what follows '#'"),
            ("https://example.com/a.wasm#md5=12", "what follows '#'"),
            ("https://example.com", "it names no file"),
            ("https://example.com?a=/b", "it names no file"),
            ("https:///a.wasm", "it names no host"),
            ("https://:80/a.wasm", "it names no host"),
            ("https://example.com/a b.wasm", "percent-encoded"),
            ("https://exam\\ple.com/a", "percent-encoded"),
        ] {
            let error = parse(given).unwrap_err().to_string();
            assert!(error.contains(said), "{given}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_stored_is_read_back_and_shows_no_query(path in "[a-z/.%-]{0,30}", query in "[a-z0-9=&/@:?]{0,30}") {
            let url = url(&format!("https://example.com/{path}?{query}"));
            let source = Source::Https(url);
            let stored = source.stored();
            prop_assert_eq!(&stored, &format!("https://example.com/{path}"));
            let read = Source::of_stored(&"a".parse().unwrap(), &stored).unwrap();
            prop_assert_eq!(read.stored(), stored);
        }

        #[test]
        fn anything_is_taken_or_refused_without_a_panic(text in ".{0,80}") {
            let _ = parse(&text);
            let _ = parse(&format!("https://{text}"));
        }
    }
}
