//! Commands whose output is what was asked for: a file, a listing, the result of a search. They pass whole. Of a log
//! that was asked for and does not fit, what went wrong in it is kept.
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
    ("gh", &["api", "issue", "pr", "repo", "run"]),
    ("cargo", &["metadata", "tree"]),
    ("docker", &["images", "inspect", "ps"]),
    ("helm", &["get", "list", "show", "template"]),
    ("kubectl", &["describe", "explain", "get"]),
    ("npm", &["ls", "view"]),
    ("pip", &["freeze", "list", "show"]),
    ("systemctl", &["cat", "status"]),
    ("terraform", &["output", "show"]),
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

/// What a command line prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// What was asked for.
    Content,
    /// A log that was asked for.
    Log,
    /// What the command has to say about itself.
    Report,
}

/// Programs and subcommands that print a log.
const LOGS: &[(&str, &str)] =
    &[("dmesg", ""), ("docker", "logs"), ("journalctl", ""), ("kubectl", "logs"), ("oc", "logs"), ("podman", "logs")];

/// Programs that print a file, which may be a log.
const PRINTERS: &[&str] = &["bat", "cat", "head", "less", "more", "tail", "zcat", "zless"];

/// What a command line prints: decided by its last program.
#[must_use]
pub fn output_of(command: &str) -> Output {
    decide(command, NESTED)
}

fn decide(command: &str, nested: usize) -> Output {
    for (words, piped) in segments(command).iter().rev() {
        let Some((program, arguments)) = program(words) else { continue };
        let plain = arguments.iter().all(|argument| argument.starts_with('-'));
        if TRANSPARENT.contains(&program) || *piped && plain && matches!(program, "cat" | "less" | "more") {
            continue;
        }
        if SHELLS.contains(&program)
            && let Some(at) = arguments.iter().position(|argument| argument.starts_with('-') && argument.ends_with('c'))
        {
            let inner = arguments.get(at + 1).filter(|_| nested > 0);
            return inner.map_or(Output::Report, |inner| decide(inner, nested - 1));
        }
        let name = subcommand(program, arguments);
        if is_log(program, name, arguments) {
            return Output::Log;
        }
        let content = match SUBCOMMANDS.iter().find(|(name, _)| *name == program) {
            Some((_, subcommands)) => name.is_some_and(|name| subcommands.contains(&name)),
            None => PROGRAMS.contains(&program),
        };
        return if content { Output::Content } else { Output::Report };
    }
    Output::Report
}

fn is_log(program: &str, name: Option<&str>, arguments: &[String]) -> bool {
    let log = |argument: &String| {
        let file = argument.trim_end_matches(".gz").trim_end_matches(".1");
        std::path::Path::new(file).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("log"))
            || argument.starts_with("/var/log/")
    };
    LOGS.iter().any(|(of, logs)| *of == program && (logs.is_empty() || name == Some(logs)))
        || program == "docker" && name == Some("compose") && arguments.iter().any(|argument| argument == "logs")
        || program == "gh" && name == Some("run") && arguments.iter().any(|argument| argument.starts_with("--log"))
        || PRINTERS.contains(&program) && arguments.iter().any(log)
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
            "kubectl get pods",
            "grep -n error build.log",
        ] {
            assert_eq!(output_of(command), Output::Content, "{command}");
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
            assert_eq!(output_of(command), Output::Report, "{command}");
        }
    }

    #[test]
    fn a_log_that_was_asked_for_is_known_as_one() {
        for command in [
            "kubectl -n north logs relay-1",
            "docker logs --tail 900 relay",
            "docker compose logs relay",
            "journalctl -u relayd",
            "gh run view 12 --log-failed",
            "cat out/build.log",
            "sudo tail -n 5000 /var/log/syslog",
            "zcat old.log.gz",
        ] {
            assert_eq!(output_of(command), Output::Log, "{command}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_command_line_is_read_without_a_panic(command in ".{0,200}") {
            let _ = output_of(&command);
        }
    }
}
