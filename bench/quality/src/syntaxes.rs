//! The ways a value stands in a text: as a variable, in JSON, behind an option, in a diff.

/// How the words of a name are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `API_KEY`
    Upper,
    /// `api_key`
    Snake,
    /// `apiKey`
    Camel,
    /// `api-key`
    Kebab,
    /// `Api-Key`
    Header,
}

/// How a value is written so that it can stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// As it is.
    None,
    /// Quotes and backslashes, as in JSON.
    Json,
    /// The same, of what is escaped already.
    Twice,
    /// The entities of XML.
    Xml,
}

/// One way.
#[derive(Clone, Copy, Debug)]
pub struct Syntax {
    /// Its name in the reports.
    pub name: &'static str,
    /// The text, with `NAME` and `VALUE`. What is between `⟪` and `⟫` must stay.
    pub text: &'static str,
    /// How the name is written.
    pub style: Style,
    /// How the value is.
    pub escape: Escape,
    /// Whether a name stands before the value.
    pub named: bool,
}

const fn named(name: &'static str, style: Style, escape: Escape, text: &'static str) -> Syntax {
    Syntax { name, text, style, escape, named: true }
}

const fn bare(name: &'static str, text: &'static str) -> Syntax {
    Syntax { name, text, style: Style::Snake, escape: Escape::None, named: false }
}

use Escape::{Json, Twice, Xml};
use Style::{Camel, Header, Kebab, Snake, Upper};

/// Escapes nothing.
const AS_IS: Escape = Escape::None;

/// Every way.
pub const SYNTAXES: [Syntax; 42] = [
    named("env", Upper, AS_IS, "⟪PATH=/usr/bin⟫\n⟪NAME=⟫VALUE\n⟪HOME=/root⟫\n"),
    named("export", Upper, AS_IS, "⟪export NAME=⟫'VALUE'  ⟪# set by ci⟫\n"),
    named("json", Snake, Json, "{⟪\"user\": \"ci\", \"NAME\":⟫ \"VALUE\", ⟪\"n\": 1}⟫\n"),
    named("json-tight", Camel, Json, "{⟪\"NAME\":⟫\"VALUE\",⟪\"ok\":true}⟫\n"),
    named("json-in-json", Snake, Twice, "{⟪\"body\":\"{\\\"id\\\":7,\\\"NAME\\\":⟫\\\"VALUE\\\"⟪}\"}⟫\n"),
    named("yaml", Snake, AS_IS, "⟪service:⟫\n  ⟪NAME:⟫ VALUE\n  ⟪port: 5432⟫\n"),
    named("yaml-quoted", Camel, Json, "⟪NAME:⟫ \"VALUE\"\n⟪replicas: 2⟫\n"),
    named("toml", Snake, Json, "⟪[service]⟫\n⟪NAME =⟫ \"VALUE\"\n⟪port = 1⟫\n"),
    named("ini", Snake, AS_IS, "⟪[main]⟫\n⟪NAME =⟫ VALUE\n⟪debug = 0⟫\n"),
    named("properties", Snake, AS_IS, "⟪app.port=80⟫\n⟪app.NAME=⟫VALUE\n"),
    named("xml", Snake, Xml, "⟪<cfg><NAME>⟫VALUE⟪</NAME><port>1</port></cfg>⟫\n"),
    named("xml-attribute", Camel, Xml, "⟪<add key=\"NAME\" value=⟫\"VALUE\"⟪ />⟫\n"),
    named("option", Kebab, AS_IS, "⟪$ tool --NAME⟫ VALUE ⟪--verbose⟫\n"),
    named("option-equals", Kebab, AS_IS, "⟪$ tool --NAME=⟫VALUE ⟪--verbose⟫\n"),
    named("header", Header, AS_IS, "⟪> GET / HTTP/1.1⟫\n⟪> X-NAME:⟫ VALUE\n⟪> Accept: */*⟫\n"),
    named("url-query", Snake, AS_IS, "⟪GET https://api.example.test/v1?page=2&NAME=⟫VALUE⟪&sort=up⟫ 200\n"),
    named("python", Snake, Json, "⟪NAME =⟫ \"VALUE\"\n⟪print(1)⟫\n"),
    named("python-argument", Snake, Json, "⟪client = Client(NAME=⟫\"VALUE\"⟪, timeout=3)⟫\n"),
    named("python-repr", Upper, Json, "⟪env: {'LANG': 'C', 'NAME':⟫ 'VALUE'⟪}⟫\n"),
    named("pytest", Snake, Json, "⟪E   AssertionError: assert {'NAME':⟫ 'VALUE'} ⟪== {}⟫\n"),
    named("javascript", Camel, Json, "⟪const NAME =⟫ 'VALUE';\n⟪run();⟫\n"),
    named("javascript-object", Camel, Json, "⟪{ id: 4, NAME:⟫ 'VALUE', ⟪retry: true }⟫\n"),
    named("go", Camel, Json, "⟪NAME :=⟫ \"VALUE\"\n⟪return nil⟫\n"),
    named("rust", Upper, Json, "⟪const NAME: &str =⟫ \"VALUE\";\n⟪fn main() {}⟫\n"),
    named("rust-debug", Snake, Json, "⟪Config { port: 1, NAME:⟫ \"VALUE\"⟪, debug: false }⟫\n"),
    named("dockerfile", Upper, AS_IS, "⟪FROM alpine⟫\n⟪ENV NAME=⟫VALUE\n⟪RUN make⟫\n"),
    named("terraform", Snake, Json, "⟪resource \"a\" \"b\" {⟫\n  ⟪NAME =⟫ \"VALUE\"\n⟪}⟫\n"),
    named("makefile", Upper, AS_IS, "⟪NAME :=⟫ VALUE\n⟪all: build⟫\n"),
    named("powershell", Upper, AS_IS, "⟪$env:NAME =⟫ 'VALUE'\n⟪Get-Item .⟫\n"),
    named("csh", Upper, AS_IS, "⟪setenv NAME⟫ VALUE\n⟪rehash⟫\n"),
    named("docker-inspect", Upper, Json, "⟪\"Env\": [\"PATH=/usr/bin\",⟫ \"NAME=VALUE\"⟪, \"LANG=C\"]⟫\n"),
    named("kubectl", Upper, AS_IS, "⟪    Environment:⟫\n      ⟪NAME:⟫  VALUE\n⟪    Mounts:  <none>⟫\n"),
    named("log", Snake, AS_IS, "⟪2026-03-01T12:10:11Z INFO worker-3 retry NAME=⟫VALUE ⟪attempt=2⟫\n"),
    named("diff-plus", Upper, AS_IS, "⟪@@ -1 +1 @@⟫\n⟪+NAME=⟫VALUE\n⟪ LANG=C⟫\n"),
    named("diff-minus", Snake, AS_IS, "⟪@@ -1 +0 @@⟫\n⟪-NAME:⟫ VALUE\n⟪ lang: C⟫\n"),
    named("grep", Upper, AS_IS, "⟪src/.env:14:NAME=⟫VALUE\n⟪src/.env:15:LANG=C⟫\n"),
    bare("csv", "⟪id,name,note⟫\n⟪7,ci,⟫VALUE⟪,ok⟫\n"),
    bare("markdown", "⟪- use⟫ `VALUE` ⟪in the settings⟫\n"),
    bare("sentence", "⟪The service answered with⟫ VALUE ⟪and went on⟫\n"),
    bare("quoted", "⟪unexpected argument⟫ \"VALUE\" ⟪found⟫\n"),
    bare("table", "⟪│ 12 │⟫ VALUE ⟪│ ok │⟫\n"),
    bare("path", "⟪POST /hooks/⟫VALUE ⟪204⟫\n"),
];

impl Style {
    /// A name of these words.
    pub fn write(self, words: &str) -> String {
        let parts: Vec<&str> = words.split(' ').collect();
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        match self {
            Self::Upper => parts.join("_").to_uppercase(),
            Self::Snake => parts.join("_"),
            Self::Kebab => parts.join("-"),
            Self::Header => parts.iter().map(|word| capital(word)).collect::<Vec<_>>().join("-"),
            Self::Camel => parts[..1]
                .iter()
                .map(|word| (*word).to_owned())
                .chain(parts[1..].iter().map(|word| capital(word)))
                .collect(),
        }
    }
}

impl Escape {
    /// The value as it is written.
    pub fn write(self, value: &str) -> String {
        let json = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"");
        match self {
            Self::None => value.to_owned(),
            Self::Json => json(value),
            Self::Twice => json(&json(value)),
            Self::Xml => value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;"),
        }
    }
}

/// The text of a syntax with this name and value, and what of it must stay.
pub fn written(syntax: &Syntax, words: &str, value: &str) -> (String, Vec<String>) {
    let name = syntax.style.write(words);
    let (mut text, mut keeps, mut from) = (String::new(), Vec::new(), 0);
    for letter in syntax.text.replace("NAME", &name).replace("VALUE", value).chars() {
        match letter {
            '⟪' => from = text.len(),
            '⟫' => keeps.push(text[from..].to_owned()),
            _ => text.push(letter),
        }
    }
    (text, keeps)
}
