//! Looks over the command of an MCP server for what no server does and what a pasted attack does: a script in the command
//! line that fetches and runs code or sends files away, or one that settles in a place that starts programs by itself.
//!
//! It stands between a configuration that somebody copied and the first start. It is no sandbox and can be got around:
//! whoever may write the configuration may run any program anyway. It must never quote what it looked at.

use std::fmt;

mod words;

use words::{
    COMMANDS_THAT_WRITE, DECODERS, EGRESS, INTERPRETERS, PLACES, RUNS, SETTINGS_OF_SHELLS, SHELLS, UPLOAD_OPTIONS,
    UPLOADS, WRAPPERS,
};

/// Why a command is suspicious.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspicion {
    /// Its inline script fetches something and runs it.
    FetchesAndRuns,
    /// Its inline script sends something away.
    SendsAway,
    /// Its inline script is hidden in an encoding, and run.
    Hidden,
    /// It touches a place whose content is run or believed by itself: this one.
    Settles(&'static str),
}

impl fmt::Display for Suspicion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FetchesAndRuns => f.write_str("its inline script fetches something from the network and runs it"),
            Self::SendsAway => f.write_str("its inline script sends something to the network"),
            Self::Hidden => f.write_str("its inline script is encoded, and decoded only to be run"),
            Self::Settles(place) => write!(f, "it touches {place}, which is how a program makes itself at home"),
        }
    }
}

/// Looks over a command with its arguments. None: nothing is wrong with it that could be seen from here.
pub fn suspicion(command: &str, args: &[String]) -> Option<Suspicion> {
    let words: Vec<&str> = std::iter::once(command).chain(args.iter().map(String::as_str)).collect();
    let words = without_wrappers(&words);
    let (program, args) = words.split_first()?;
    let program = base_name(program);
    if let Some(script) = inline_script(&program, args) {
        return match script {
            Inline::Encoded => Some(Suspicion::Hidden),
            Inline::Text(script) => of_script(&script),
        };
    }
    if COMMANDS_THAT_WRITE.contains(&program.as_str()) {
        let all = plain(&args.join(" "));
        return PLACES.iter().chain(SETTINGS_OF_SHELLS).find(|(needle, _)| all.contains(needle)).map(settles);
    }
    None
}

/// What stands in a command line to be run.
enum Inline {
    Text(String),
    Encoded,
}

fn settles((_, place): &(&'static str, &'static str)) -> Suspicion {
    Suspicion::Settles(place)
}

/// The name of a program without its folder, in small letters, without `.exe`.
fn base_name(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_ascii_lowercase();
    name.strip_suffix(".exe").map_or(name.clone(), str::to_owned)
}

/// The words without programs that only run another one (`env A=b nice -n 5 timeout 10 sh`).
fn without_wrappers<'a, 'b>(words: &'b [&'a str]) -> &'b [&'a str] {
    let mut words = words;
    while let Some((program, rest)) = words.split_first() {
        let name = base_name(program);
        if !WRAPPERS.contains(&name.as_str()) {
            break;
        }
        // Their options and values: all up to the next word that begins like the name of a program.
        let skipped = rest
            .iter()
            .take_while(|word| {
                word.starts_with('-') || word.contains('=') || word.starts_with(|c: char| c.is_ascii_digit())
            })
            .count();
        words = &rest[skipped..];
    }
    words
}

/// The script that stands in the arguments of a shell or an interpreter, if one does.
fn inline_script(program: &str, args: &[&str]) -> Option<Inline> {
    if SHELLS.contains(&program) {
        // `-c`, and in one word with others as in `-lc`; the script is the first word after the options.
        let at = args.iter().position(|arg| {
            arg.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains('c'))
        })?;
        let script = args[at + 1..].iter().find(|arg| !arg.starts_with(['-', '+']))?;
        return Some(Inline::Text((*script).to_owned()));
    }
    let (_, options) = INTERPRETERS.iter().find(|(name, _)| {
        // `python3.12` is python.
        program.strip_prefix(name).is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
    })?;
    let powershell = matches!(program, "powershell" | "pwsh");
    for (at, arg) in args.iter().enumerate() {
        let lower = arg.to_ascii_lowercase();
        if powershell && ["-e", "-ec", "-enc", "-encodedcommand"].contains(&lower.as_str()) {
            return Some(Inline::Encoded);
        }
        if options.contains(&lower.as_str()) {
            return Some(Inline::Text(args[at + 1..].join("\n")));
        }
        // `--eval=SCRIPT` and `-eSCRIPT`.
        let attached = |option: &&&str| !powershell && (option.starts_with("--") || option.len() == 2);
        let rest = options.iter().filter(attached).find_map(|option| lower.strip_prefix(option));
        if let Some(script) = rest.and_then(|rest| arg.get(arg.len() - rest.len()..)) {
            return Some(Inline::Text(script.strip_prefix('=').unwrap_or(script).to_owned()));
        }
        // A word that is no option is the script's file or the command: what follows belongs to it. Options of PowerShell
        // have values of their own.
        if !arg.starts_with('-') && !powershell {
            return None;
        }
    }
    None
}

/// A script without the signs that only split its words for the eye of a reader.
fn without_quotes(script: &str) -> String {
    let spaced = script.replace("${IFS}", " ").replace("$IFS", " ");
    spaced.chars().filter(|c| !matches!(c, '\'' | '"' | '\\' | '`')).collect()
}

/// The same in small letters.
fn plain(script: &str) -> String {
    without_quotes(script).to_ascii_lowercase()
}

/// Whether a text holds a word that stands alone: not a part of a longer name.
fn has_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let (head, tail) = (word.starts_with(part), word.ends_with(part));
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let longer = (head && before.is_some_and(part)) || (tail && after.is_some_and(part));
        !longer
    })
}

fn of_script(script: &str) -> Option<Suspicion> {
    // Backquotes run what is in them; they are read before they are taken out.
    let fetches_inside = script.contains('`');
    let text = plain(script);
    let any = |words: &[&str]| words.iter().any(|word| has_word(&text, word));
    let pipes_into = pipes_into_an_interpreter(&text);
    let runs = any(RUNS) || pipes_into || text.contains("<(");
    if let Some(place) = PLACES.iter().find(|(needle, _)| text.contains(needle)) {
        return Some(settles(place));
    }
    if let Some(place) = SETTINGS_OF_SHELLS.iter().find(|(needle, _)| is_written(&text, needle)) {
        return Some(settles(place));
    }
    if any(EGRESS) {
        if runs || text.contains("$(") || fetches_inside {
            return Some(Suspicion::FetchesAndRuns);
        }
        let unfolded = without_quotes(script);
        let options = || UPLOAD_OPTIONS.iter().any(|option| has_word(&unfolded, option));
        if any(UPLOADS) || options() || pipes_into_egress(&text) {
            return Some(Suspicion::SendsAway);
        }
    }
    (any(DECODERS) && runs).then_some(Suspicion::Hidden)
}

/// The first words behind each pipe of a script.
fn behind_pipes(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split('|').skip(1).filter_map(|after| {
        let words: Vec<&str> = after.trim_start_matches('&').split_whitespace().collect();
        without_wrappers(&words).first().map(|word| base_name(word))
    })
}

fn pipes_into_an_interpreter(text: &str) -> bool {
    behind_pipes(text).any(|word| {
        let word = word.trim_end_matches([';', ')']);
        SHELLS.contains(&word)
            || INTERPRETERS.iter().any(|(name, _)| {
                word.strip_prefix(name).is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
            })
    })
}

fn pipes_into_egress(text: &str) -> bool {
    behind_pipes(text).any(|word| EGRESS.contains(&word.as_str()))
}

/// Whether a file stands in a script for another reason than to be read by the shell: `. ~/.profile` is what many do to
/// find their `PATH`.
fn is_written(text: &str, needle: &str) -> bool {
    text.match_indices(needle).any(|(at, _)| {
        let word = text[..at].rfind(|c: char| c.is_whitespace() || c == ';').map_or(0, |space| space + 1);
        let before = text[..word].trim_end();
        let reads =
            |by: &str| before.strip_suffix(by).is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric()));
        // `[ -f ~/.bashrc ] && . ~/.bashrc`
        !["source", ".", "-f", "-e", "-s", "-r"].into_iter().any(reads)
    })
}

#[cfg(test)]
mod tests;
