//! Writes the rules as Rust: small integers, and one text in which every name and prefix stands once, so that the
//! component stays small.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::rules::{Rules, Token, alphabet};

/// One text that holds many, shared where one holds another or ends as the next begins.
struct Pool(String);

impl Pool {
    fn of(texts: BTreeSet<&str>) -> Self {
        let mut texts: Vec<&str> = texts.into_iter().collect();
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let mut pool = String::new();
        for text in texts {
            if pool.contains(text) {
                continue;
            }
            let shared = (0..text.len()).rev().find(|&size| pool.ends_with(&text[..size])).unwrap_or(0);
            pool.push_str(&text[shared..]);
        }
        Self(pool)
    }

    /// Where `text` stands, as Rust.
    fn text(&self, text: &str) -> String {
        let at = self.0.find(text).unwrap_or_else(|| panic!("{text} is not in the pool"));
        format!("Text {{ at: {at}, size: {} }}", text.len())
    }
}

/// The shape of a token, as Rust.
fn shape(rules: &Rules, token: &Token, prefix: &str) -> String {
    let (min, max) = token.lengths();
    let before = token.before.as_ref();
    format!(
        "Shape {{ body: Body::{}, min: {min}, max: {max}, whole: {}, sure: Sure::{:?}, body_only: {}, check: Check::{:?}, \
         before: Body::{}, before_min: {}, before_max: {}, order: {} }}",
        alphabet(&token.body, &token.label),
        token.whole,
        token.sure,
        token.mask.is_some(),
        token.check,
        before.map_or("Alnum", |before| alphabet(&before.body, &token.label)),
        before.map_or(0, |before| before.min),
        before.map_or(0, |before| before.max),
        rules.order(prefix)
    )
}

/// The source of all tables.
pub(crate) fn write(rules: &Rules) -> String {
    let labels: BTreeSet<&str> = rules
        .tokens
        .iter()
        .map(|token| token.label.as_str())
        .chain(rules.services.iter().map(|service| service.label.as_str()))
        .collect();
    let words = rules.services.iter().flat_map(|service| &service.word).map(String::as_str);
    let prefixes = rules.prefixes().map(|(_, prefix)| prefix);
    let pool = Pool::of(labels.iter().copied().chain(words).chain(prefixes).collect());
    let labels: Vec<&str> = labels.into_iter().collect();
    let mut out = String::new();
    table(&mut out, "str", &format!("static POOL: &str = {:?};", pool.0));
    table(&mut out, "names", &list("LABELS", "Text", labels.iter().map(|label| pool.text(label))));
    tokens(&mut out, rules, &pool, &labels);
    services(&mut out, rules, &pool, &labels);
    out
}

fn table(out: &mut String, what: &str, source: &str) {
    writeln!(out, "/// Made by the build script: {what}.\n{source}").unwrap_or_default();
}

fn list(name: &str, kind: &str, rows: impl Iterator<Item = String>) -> String {
    let rows: Vec<String> = rows.collect();
    format!("pub(crate) static {name}: &[{kind}] = &[\n    {},\n];", rows.join(",\n    "))
}

/// The number of a name.
fn label(labels: &[&str], name: &str) -> usize {
    labels.binary_search(&name).unwrap_or_else(|_| panic!("{name} is no label"))
}

fn tokens(out: &mut String, rules: &Rules, pool: &Pool, labels: &[&str]) {
    let mut shapes: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for (token, prefix) in rules.prefixes() {
        let shape = shape(rules, token, prefix);
        let at = shapes.iter().position(|known| *known == shape).unwrap_or_else(|| {
            shapes.push(shape);
            shapes.len() - 1
        });
        let at = u8::try_from(at).unwrap_or_else(|_| panic!("more than 256 shapes do not fit a byte"));
        rows.push(format!(
            "Token {{ prefix: {}, label: {}, shape: {at} }}",
            pool.text(prefix),
            label(labels, &token.label)
        ));
    }
    table(out, "tokens by prefix", &list("TOKENS", "Token", rows.into_iter()));
    table(out, "shapes of tokens", &list("SHAPES", "Shape", shapes.into_iter()));
}

fn services(out: &mut String, rules: &Rules, pool: &Pool, labels: &[&str]) {
    let forms = rules.forms().into_iter().flat_map(|(word, forms)| forms.into_iter().map(move |form| (word, form)));
    let rows = forms.map(|(word, (service, value))| {
        format!(
            "Service {{ word: {}, label: {}, size: {}, body: Body::{} }}",
            pool.text(word),
            label(labels, &service.label),
            value.size,
            alphabet(&value.body, &service.label)
        )
    });
    table(out, "services by name, in order", &list("SERVICES", "Service", rows));
}
