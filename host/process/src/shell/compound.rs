//! The rewrite of `A && B &`: bash forks a shell that waits for B and holds the output open; `A && { B & }` starts B alone.
//!
//! A text that is not complete, or where nothing is to gain, must come back as it was.

use std::borrow::Cow;

use super::scan::{Kind, scan};

/// The text with the last command of each chain that is sent to the background as a whole in a group of its own.
///
/// `A && B &` becomes `A && { B & }`, where the chain stands in no bracket, group, loop or other compound command. `;`,
/// `|` and the end of a line begin a new chain. The part before the last operator then runs in the foreground. Rewriting
/// twice changes nothing more.
pub fn rewrite(text: &str) -> Cow<'_, str> {
    // Most commands have none, and are not read at all.
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let Ok(tokens) = scan(text) else { return Cow::Borrowed(text) };
    let mut chain = Chain::Plain;
    let mut groups: Vec<(usize, usize)> = Vec::new();
    for token in tokens.iter().filter(|token| token.depth == 0) {
        chain = match (token.kind, chain) {
            (Kind::And | Kind::Or, _) => Chain::Joined,
            // A line may end after an operator, and a here-document's body belongs to what is before it.
            (Kind::Newline | Kind::Body, Chain::Joined) => Chain::Joined,
            (Kind::Body, chain) => chain,
            (Kind::Background, Chain::Last { start }) => {
                groups.push((start, token.end));
                Chain::Plain
            }
            (Kind::Background | Kind::Semicolon | Kind::Newline | Kind::Pipe, _) => Chain::Plain,
            (_, Chain::Joined) => Chain::Last { start: token.start },
            (_, chain) => chain,
        };
    }
    if groups.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(grouped(text, &groups)) }
}

/// How far a chain has been read.
#[derive(Clone, Copy)]
enum Chain {
    /// No `&&` or `||` yet.
    Plain,
    /// Just after one.
    Joined,
    /// In the command after the last one, which begins at this byte.
    Last { start: usize },
}

/// The text with braces around each of the ranges, all of which end with `&`.
fn grouped(text: &str, groups: &[(usize, usize)]) -> String {
    let mut out = String::with_capacity(text.len() + groups.len() * "{  };".len());
    let mut copied = 0;
    for &(start, end) in groups {
        out.push_str(&text[copied..start]);
        out.push_str("{ ");
        out.push_str(&text[start..end]);
        out.push_str(" }");
        if needs_separator(&text[end..]) {
            out.push(';');
        }
        copied = end;
    }
    out.push_str(&text[copied..]);
    out
}

/// Whether something follows on the same line that does not separate by itself.
fn needs_separator(rest: &str) -> bool {
    let rest = rest.trim_start_matches([' ', '\t', '\r']);
    rest.starts_with("&>") || !(rest.is_empty() || rest.starts_with([';', '\n', '&', '|', ')', '}']))
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    /// Texts and what becomes of them.
    const REWRITTEN: [(&str, &str); 14] = [
        ("a && b &", "a && { b & }"),
        ("a || b &", "a || { b & }"),
        ("a && b && c -x 'y & z' &", "a && b && { c -x 'y & z' & }"),
        ("a && b & c && d &", "a && { b & }; c && { d & }"),
        ("a && b > log 2>&1 & echo $!", "a && { b > log 2>&1 & }; echo $!"),
        ("a && b &> log &", "a && { b &> log & }"),
        ("a && b &\nc", "a && { b & }\nc"),
        ("a &&\n  # now\n  b &", "a &&\n  # now\n  { b & }"),
        ("a | b && c &", "a | b && { c & }"),
        ("a && X=1 b & # note", "a && { X=1 b & }; # note"),
        ("a && (b; c) & wait", "a && { (b; c) & }; wait"),
        ("a && { b; } &", "a && { { b; } & }"),
        ("a && cat <<E &\nx & y\nE\n", "a && { cat <<E & }\nx & y\nE\n"),
        ("a && >x b &", "a && { >x b & }"),
    ];

    const LEFT_ALONE: [&str; 15] = [
        "a &",
        "a & b &",
        "a && b",
        "a && b; c &",
        "a && b | c &",
        "a && b\nc &",
        "(a && b &)",
        "{ a && b & }",
        "a && { b & }",
        "for i in 1 2; do a && b & done; wait",
        "echo \"a && b &\"",
        "echo a \\&\\& b '&'",
        "a && b &> log",
        "a && b 2>&1",
        "a && 'b &",
    ];

    #[test]
    fn the_last_command_of_a_chain_goes_to_the_background_alone() {
        for (text, wanted) in REWRITTEN {
            assert_eq!(rewrite(text), wanted);
        }
    }

    #[test]
    fn whatever_is_no_chain_in_the_background_stays() {
        for text in LEFT_ALONE {
            assert_eq!(rewrite(text), text);
        }
    }

    #[test]
    fn bash_reads_every_rewritten_text() {
        for (text, _) in REWRITTEN {
            assert!(bash_reads(text) && bash_reads(&rewrite(text)), "{text}");
        }
    }

    #[test]
    fn a_chain_with_a_sleeper_returns_at_once() {
        // The sleeper lets go of the output, so only a shell that waits for it could hold it.
        const SLEEP: &str = "sleep 60 >/dev/null 2>&1";
        for chain in ["true && SLEEP &", "false || SLEEP & :", "echo x | cat >/dev/null && SLEEP &"] {
            let begun = Instant::now();
            let text = format!("{}\necho $!", rewrite(&chain.replace("SLEEP", SLEEP)));
            let output = Command::new("bash").args(["-c", &text]).output().unwrap();
            assert!(begun.elapsed() < Duration::from_secs(30), "{text}");
            let sleeper = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
            let sleeper = rustix::process::Pid::from_raw(sleeper).unwrap();
            rustix::process::kill_process(sleeper, rustix::process::Signal::KILL).unwrap();
        }
    }

    fn bash_reads(text: &str) -> bool {
        let checked = Command::new("bash").args(["-n", "-c", text]).output().unwrap();
        checked.status.success() && checked.stderr.is_empty()
    }

    proptest! {
        #[test]
        fn what_bash_reads_it_reads_after_the_rewrite(
            text in r#"((a b|"d & e" f|\(g; h\)|\{ i; \}|j >x 2>&1|k \$\(l & m\)|\[\[ n && o \]\]|if p; then q & fi|! r # s\n)( && | \|\| | \| | & |; |\n)){1,5}(t|u &)"#
        ) {
            let rewritten = rewrite(&text);
            if matches!(rewritten, Cow::Owned(_)) && bash_reads(&text) {
                prop_assert!(bash_reads(&rewritten), "{text:?} became {rewritten:?}");
            }
        }

        #[test]
        fn rewriting_twice_is_rewriting_once(text in r#"([ab \n"'(){};#<>|=]|&& |\|\| | & |& ){0,40}"#) {
            let once = rewrite(&text).into_owned();
            prop_assert_eq!(rewrite(&once), once.as_str());
        }

        #[test]
        fn a_text_without_an_ampersand_is_untouched(text in "[^&]{0,80}") {
            prop_assert!(matches!(rewrite(&text), Cow::Borrowed(same) if same == text));
        }

        #[test]
        fn only_braces_and_separators_are_added(text in "\\PC{0,20}( && | & | \\|\\| |\\PC{0,10}){0,8}") {
            let added = rewrite(&text).into_owned();
            let bare = |text: &str| text.replace(['{', '}', ';', ' '], "");
            prop_assert_eq!(bare(&added), bare(&text));
        }
    }
}
