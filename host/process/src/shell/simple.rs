//! The simple commands of a text: names with their words, taken out of chains, pipelines and nesting.
//!
//! It must never look into quotes: a quoted name is not unwrapped, and so is nobody's name here.

use super::scan::{Kind, Role, Token, Unclear, scan};

/// A name and its words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Simple<'a> {
    /// Its words as they are written, the name first; assignments and redirections are left out.
    pub(super) words: Vec<&'a str>,
    /// How many brackets and compound commands are around it.
    pub(super) depth: usize,
    /// Byte offset of its name.
    pub(super) start: usize,
    /// Byte offset after its last word.
    pub(super) end: usize,
}

/// Words that run the command that follows them, with no meaning of their own here.
const PREFIXES: [&str; 9] = ["sudo", "doas", "env", "exec", "command", "builtin", "nice", "ionice", "stdbuf"];

/// Options of [`PREFIXES`] that take the next word: users, groups, niceness, classes, buffers, folders, prompts, names.
const PREFIX_OPTIONS: [&str; 8] = ["-u", "-g", "-n", "-c", "-o", "-C", "-p", "-a"];

/// Short options for help and version.
const SHORT_QUERIES: [&str; 3] = ["-h", "-v", "-V"];

impl<'a> Simple<'a> {
    /// The last part of a path to the program: `grep` of `/usr/bin/grep`.
    pub(super) fn name(&self) -> &'a str {
        base(self.words[0])
    }

    /// The words after those that only run another command: `nohup x` of `sudo -u me nohup x`.
    pub(super) fn bare(&self) -> &[&'a str] {
        let mut words = &self.words[..];
        while let [prefix, rest @ ..] = words {
            // `command -v x` asks where x is.
            let asks = *prefix == "command" && rest.first().is_some_and(|word| ["-v", "-V"].contains(word));
            if asks || !PREFIXES.contains(&base(prefix)) {
                break;
            }
            let Some(next) = skip_options(rest) else { break };
            words = next;
        }
        words
    }

    /// Whether it only asks for help or a version: by a long option, or by a short one at its end.
    pub(super) fn is_query(&self) -> bool {
        let last = self.words[1..].last();
        self.asks_at_length() || last.is_some_and(|last| SHORT_QUERIES.contains(last))
    }

    /// The same of a command that runs another one, where a short option at the end is the other's.
    pub(super) fn is_query_of_its_own(&self) -> bool {
        self.asks_at_length() || matches!(self.bare(), [_, option] if SHORT_QUERIES.contains(option))
    }

    fn asks_at_length(&self) -> bool {
        self.words[1..].iter().any(|word| ["--help", "--version"].contains(word))
    }
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// What follows options and `NAME=value` words, if anything does.
fn skip_options<'w, 'a>(mut words: &'w [&'a str]) -> Option<&'w [&'a str]> {
    while let [word, rest @ ..] = words {
        words = match *word {
            word if PREFIX_OPTIONS.contains(&word) => rest.get(1..)?,
            word if word.starts_with('-') || word.contains('=') => rest,
            _ => return Some(words),
        };
    }
    None
}

/// All simple commands outside quotes, in the order of their first words, and the tokens they come from.
///
/// # Errors
/// [`Unclear`] as [`scan`].
pub(super) fn commands(text: &str) -> Result<(Vec<Simple<'_>>, Vec<Token>), Unclear> {
    let tokens = scan(text)?;
    let mut done: Vec<Simple<'_>> = Vec::new();
    // One unfinished command for each depth: a substitution stands in the middle of another command.
    let mut growing: Vec<Option<Simple<'_>>> = Vec::new();
    for token in &tokens {
        if growing.len() <= token.depth {
            growing.resize_with(token.depth + 1, || None);
        }
        let word = &text[token.start..token.end];
        match (token.kind, &mut growing[token.depth]) {
            (Kind::Word(Role::Name), slot) => {
                done.extend(slot.replace(Simple {
                    words: vec![word],
                    depth: token.depth,
                    start: token.start,
                    end: token.end,
                }));
            }
            (Kind::Word(Role::Argument), Some(simple)) => {
                simple.words.push(word);
                simple.end = token.end;
            }
            (Kind::Word(_) | Kind::Redirect | Kind::Body | Kind::Open, _) => {}
            // The end of a substitution is no end of the command around it.
            (Kind::Close, _) => done.extend(growing.drain(token.depth + 1..).flatten()),
            (_, slot) => done.extend(slot.take()),
        }
    }
    done.extend(growing.into_iter().flatten());
    done.sort_by_key(|simple| simple.start);
    Ok((done, tokens))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<&str>> {
        commands(text).unwrap().0.into_iter().map(|simple| simple.words).collect()
    }

    #[test]
    fn commands_are_found_in_chains_groups_and_substitutions() {
        assert_eq!(
            words("A=1 make -j2 && (cd x; ls) | wc"),
            [vec!["make", "-j2"], vec!["cd", "x"], vec!["ls"], vec!["wc"]]
        );
        assert_eq!(words("echo $(date -u) end"), [vec!["echo", "$(date -u)", "end"], vec!["date", "-u"]]);
        assert_eq!(words("for f in a b; do cat $f > out; done"), [vec!["cat", "$f"]]);
    }

    #[test]
    fn words_that_only_run_another_command_are_passed_over() {
        let bare = |text| commands(text).unwrap().0[0].bare().join(" ");
        assert_eq!(bare("sudo -u me env A=b nohup ./x -u"), "nohup ./x -u");
        assert_eq!(bare("/usr/bin/env python3 -m http.server"), "python3 -m http.server");
        assert_eq!(bare("sudo -i"), "sudo -i");
        assert_eq!(bare("env -i nice -n 5 x"), "x");
        assert_eq!(bare("nohup x"), "nohup x");
        assert_eq!(bare("command -v nohup"), "command -v nohup");
        assert_eq!(bare("exec"), "exec");
    }
}
