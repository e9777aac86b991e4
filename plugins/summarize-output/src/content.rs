//! Commands whose output is what was asked for: a file, a listing, the result of a search. They pass whole.
//!
//! This must never run or expand anything: it reads a command line as far as it needs to find the last program.

/// Programs that print content.
const PROGRAMS: &[&str] = &[
    "awk",
    "base64",
    "bat",
    "cat",
    "column",
    "comm",
    "curl",
    "cut",
    "diff",
    "du",
    "egrep",
    "env",
    "fd",
    "fgrep",
    "file",
    "find",
    "fold",
    "gawk",
    "grep",
    "head",
    "hexdump",
    "http",
    "jq",
    "ldd",
    "less",
    "ls",
    "man",
    "more",
    "nl",
    "nm",
    "objdump",
    "od",
    "paste",
    "pdftotext",
    "printenv",
    "ps",
    "psql",
    "readelf",
    "rg",
    "sed",
    "sort",
    "sqlite3",
    "stat",
    "strings",
    "tac",
    "tail",
    "tr",
    "tree",
    "uniq",
    "wc",
    "wget",
    "xmllint",
    "xxd",
    "yq",
    "zcat",
    "zgrep",
    "zless",
];

/// Subcommands that print content, by program.
const SUBCOMMANDS: &[(&str, &[&str])] = &[
    (
        "git",
        &[
            "blame", "branch", "cat-file", "config", "diff", "grep", "log", "ls-files", "ls-tree", "reflog",
            "rev-list", "shortlog", "show", "stash", "status", "tag",
        ],
    ),
    ("gh", &["api", "issue", "pr", "run"]),
    ("cargo", &["metadata", "tree"]),
    ("docker", &["images", "inspect", "logs", "ps"]),
    ("kubectl", &["describe", "get", "logs"]),
    ("npm", &["ls", "view"]),
    ("pip", &["freeze", "list", "show"]),
    ("systemctl", &["cat", "status"]),
];

/// Programs that run the program named after them.
const WRAPPERS: &[&str] =
    &["builtin", "command", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo", "time", "timeout"];

/// Programs that pass on what they are given, or print next to nothing: the one before them decides.
const TRANSPARENT: &[&str] =
    &[":", "cd", "echo", "exit", "export", "popd", "printf", "pushd", "set", "sleep", "tee", "true", "unset"];

/// Shells that take a command line after `-c`.
const SHELLS: &[&str] = &["bash", "dash", "sh", "zsh"];

/// Shells in shells are followed this far.
const NESTED: usize = 3;

/// Whether a command line's output is content: decided by its last program.
#[must_use]
pub fn is_content(command: &str) -> bool {
    decide(command, NESTED)
}

fn decide(command: &str, nested: usize) -> bool {
    for (words, piped) in segments(command).iter().rev() {
        let Some((program, arguments)) = program(words) else { continue };
        let plain = arguments.iter().all(|argument| argument.starts_with('-'));
        if TRANSPARENT.contains(&program) || *piped && plain && matches!(program, "cat" | "less" | "more") {
            continue;
        }
        if SHELLS.contains(&program)
            && let Some(at) = arguments.iter().position(|argument| argument.starts_with('-') && argument.ends_with('c'))
        {
            return nested > 0 && arguments.get(at + 1).is_some_and(|inner| decide(inner, nested - 1));
        }
        if let Some((_, subcommands)) = SUBCOMMANDS.iter().find(|(name, _)| *name == program) {
            return subcommand(program, arguments).is_some_and(|name| subcommands.contains(&name));
        }
        return PROGRAMS.contains(&program);
    }
    false
}

/// The program of a segment, without its folder, and its arguments. Variables and wrappers before it are left out.
fn program(words: &[String]) -> Option<(&str, &[String])> {
    let mut at = 0;
    let mut wrapped = None;
    while let Some(word) = words.get(at) {
        let name = word.rsplit('/').next().unwrap_or(word);
        let assigns = word
            .split_once('=')
            .is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
        // What follows a wrapper may be an option of its or the seconds of `timeout`.
        let of_wrapper = wrapped.is_some() && (word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit()));
        if WRAPPERS.contains(&name) {
            wrapped = Some(at);
        } else if !assigns && !of_wrapper && !matches!(word.as_str(), "(" | "{" | "!" | "if" | "then" | "do" | "while")
        {
            return Some((name, &words[at + 1..]));
        }
        at += 1;
    }
    // `env` alone prints the environment.
    wrapped.map(|at| (words[at].rsplit('/').next().unwrap_or(&words[at]), &words[at + 1..]))
}

/// Options that take the next word.
const WITH_VALUE: &[&str] = &["-C", "-c", "--context", "--namespace", "-n", "--repo", "-R", "--git-dir", "--work-tree"];

fn subcommand<'w>(program: &str, arguments: &'w [String]) -> Option<&'w str> {
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word) {
            words.next();
        } else if !(word.starts_with('-') || program == "cargo" && word.starts_with('+')) {
            return Some(word);
        }
    }
    None
}

/// Splits a command line at `|`, `&&`, `||`, `;`, `&` and line ends outside quotes, and each part into words. The flag
/// tells whether the part reads from a pipe.
fn segments(command: &str) -> Vec<(Vec<String>, bool)> {
    let mut found = vec![(Vec::new(), false)];
    let mut word = String::new();
    let mut quoted = None;
    let mut some = false;
    let mut chars = command.chars().peekable();
    let mut previous = ' ';
    while let Some(c) = chars.next() {
        match (c, quoted) {
            ('\\', None | Some('"')) => {
                word.extend(chars.next().filter(|&next| next != '\n'));
                some = true;
            }
            (c, Some(quote)) if c == quote => quoted = None,
            (c, Some(_)) => word.push(c),
            ('\'' | '"', None) => {
                quoted = Some(c);
                some = true;
            }
            // `2>&1` and `&>file` redirect.
            ('&', None) if previous == '>' || chars.peek() == Some(&'>') => word.push(c),
            ('|' | '&' | ';' | '\n', None) => {
                push(&mut found, &mut word, &mut some);
                let piped = c == '|' && chars.peek() != Some(&'|');
                if chars.peek() == Some(&c) || c == '|' && chars.peek() == Some(&'&') {
                    chars.next();
                }
                found.push((Vec::new(), piped));
            }
            (c, None) if c.is_whitespace() || c == '(' || c == ')' => push(&mut found, &mut word, &mut some),
            (c, None) => {
                word.push(c);
                some = true;
            }
        }
        previous = c;
    }
    push(&mut found, &mut word, &mut some);
    found
}

fn push(found: &mut [(Vec<String>, bool)], word: &mut String, some: &mut bool) {
    if *some && let Some((words, _)) = found.last_mut() {
        words.push(std::mem::take(word));
    }
    word.clear();
    *some = false;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_program_decides() {
        for command in [
            "cat src/lib.rs",
            "git show HEAD~1",
            "git -C /repo --no-pager diff",
            "rg -n foo | head -50",
            "cd x && ls -la",
            "cargo build 2>&1 | tail -20",
            "LC_ALL=C grep -r x .",
            "sudo -n /usr/bin/find / -name x",
            "bash -lc 'git log -p'",
            "curl -s https://example.test | jq .",
            "cat a; echo done",
            "env",
            "timeout 5 cat x",
            "sed -n 1,9p f | tee out",
            "cat a | cat",
        ] {
            assert!(is_content(command), "{command}");
        }
        for command in [
            "",
            "cargo test",
            "cat list | xargs make",
            "git push",
            "git fetch 2>&1",
            "ls && make -j4",
            "make | tee log",
            "make | cat",
            "echo 'cat x'",
            "bash -c \"npm test\"",
            "sh build.sh",
            "make & ",
            "env FOO=1 make",
            "timeout 60 cargo test; echo $?",
        ] {
            assert!(!is_content(command), "{command}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_command_line_is_read_without_a_panic(command in ".{0,200}") {
            let _ = is_content(&command);
        }
    }
}
