//! Words as a program gets them, and its options taken apart.
//!
//! It must never take the value of an option for an operand where the option is known to have one.

/// Stands for what cannot be told without running something. Nobody types the object replacement character.
pub(crate) const UNKNOWN: char = '\u{fffc}';

/// One argument. Raw text, so it is not shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Arg(pub(crate) String);

impl Arg {
    /// The text, with [`UNKNOWN`] where it cannot be told.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Whether some of it is known, or it is empty and known to be.
    pub(crate) fn says_something(&self) -> bool {
        self.0.is_empty() || self.0.chars().any(|c| c != UNKNOWN)
    }
}

/// The name of the program a word stands for: without folder and `.exe`, and without what cannot be told.
pub(crate) fn program_name(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word).trim_matches(UNKNOWN);
    name.strip_suffix(".exe").or_else(|| name.strip_suffix(".EXE")).unwrap_or(name)
}

/// The options of a program that have a value.
#[derive(Clone, Copy)]
pub(crate) struct Valued {
    /// Letters.
    pub(crate) short: &'static str,
    /// Long names, without dashes.
    pub(crate) long: &'static [&'static str],
}

/// Arguments taken apart.
pub(crate) struct Options {
    /// The options by letter or long name, with their values.
    pub(crate) given: Vec<(String, Option<Arg>)>,
    /// The rest.
    pub(crate) operands: Vec<Arg>,
}

impl Options {
    /// Whether one of these was given.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The values of these.
    pub(crate) fn values<'a>(&'a self, names: &'a [&'a str]) -> impl Iterator<Item = &'a Arg> {
        self.given.iter().filter(|(name, _)| names.contains(&name.as_str())).filter_map(|(_, value)| value.as_ref())
    }
}

/// Takes arguments apart. Unless `anywhere`, the first operand ends the options, as it does where a command follows.
pub(crate) fn split(args: &[Arg], valued: Valued, anywhere: bool) -> Options {
    let mut options = Options { given: Vec::new(), operands: Vec::new() };
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        at += 1;
        let text = arg.text();
        if text == "--" {
            options.operands.extend_from_slice(&args[at..]);
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(Arg(value.to_owned()))),
                None if valued.long.contains(&long) => {
                    at += 1;
                    (long, args.get(at - 1).cloned())
                }
                None => (long, None),
            };
            options.given.push((name.to_owned(), value));
        } else if text.len() > 1 && text.starts_with('-') {
            let mut letters = text[1..].chars();
            while let Some(letter) = letters.next() {
                if !valued.short.contains(letter) {
                    options.given.push((letter.into(), None));
                    continue;
                }
                let value = if letters.as_str().is_empty() {
                    at += 1;
                    args.get(at - 1).cloned()
                } else {
                    Some(Arg(letters.as_str().to_owned()))
                };
                options.given.push((letter.into(), value));
                break;
            }
        } else if anywhere {
            options.operands.push(arg.clone());
        } else {
            options.operands.extend_from_slice(&args[at - 1..]);
            break;
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUED: Valued = Valued { short: "u", long: &["user"] };

    fn take(line: &str, anywhere: bool) -> (Vec<String>, Vec<String>) {
        let args: Vec<Arg> = line.split(' ').map(|word| Arg(word.to_owned())).collect();
        let options = split(&args, VALUED, anywhere);
        let shown = |(name, value): (String, Option<Arg>)| match value {
            Some(value) => format!("{name}={}", value.0),
            None => name,
        };
        (options.given.into_iter().map(shown).collect(), options.operands.into_iter().map(|arg| arg.0).collect())
    }

    #[test]
    fn values_are_no_operands() {
        for line in ["-xu me cmd -y", "-x -ume cmd -y"] {
            assert_eq!(take(line, false), (vec!["x".into(), "u=me".into()], vec!["cmd".into(), "-y".into()]));
        }
        assert_eq!(take("cmd --user me -x a", true).0, ["user=me", "x"]);
        assert_eq!(take("--user=me -- -x", true), (vec!["user=me".into()], vec!["-x".into()]));
        assert_eq!(take("-u", true), (vec!["u".into()], vec![]));
    }

    #[test]
    fn a_program_is_known_by_its_last_name() {
        assert_eq!(program_name("/usr/bin/pkill"), "pkill");
        assert_eq!(program_name(r"C:\Windows\taskkill.exe"), "taskkill");
    }
}
