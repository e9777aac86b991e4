//! The words of a text: rows by hand, and properties for any text.

use proptest::prelude::*;

use super::*;

/// The commands of a text and of everything in it, innermost first, each as its words; what is not text is `*`.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    walk(&parse(text).unwrap().list, &mut found);
    found
}

fn walk(list: &[Simple], found: &mut Vec<Vec<String>>) {
    for simple in list {
        for word in &simple.words {
            parts(&word.0, found);
        }
        for redirection in &simple.redirections {
            match redirection {
                Redirection::From(word) | Redirection::To(word) | Redirection::HereString(word) => {
                    parts(&word.0, found)
                }
                Redirection::Here(here) => parts(&here.get().unwrap().nested, found),
            }
        }
        found.push(simple.words.iter().map(shown).collect());
    }
}

fn parts(parts_of: &[Part], found: &mut Vec<Vec<String>>) {
    for part in parts_of {
        match part {
            Part::Substitution(inner) => walk(inner, found),
            Part::Unknown(inner) | Part::Variable { default: inner, .. } => parts(inner, found),
            Part::Plain(_) | Part::Quoted(_) => {}
        }
    }
}

fn shown(word: &Word) -> String {
    word.0
        .iter()
        .map(|part| match part {
            Part::Plain(text) | Part::Quoted(text) => text.clone(),
            Part::Variable { name, .. } => format!("${name}"),
            Part::Substitution(_) | Part::Unknown(_) => "*".to_owned(),
        })
        .collect()
}

#[track_caller]
fn assert_commands(text: &str, expected: &[&str]) {
    let found: Vec<String> = commands(text).into_iter().map(|words| words.join(" ")).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn operators_end_commands() {
    assert_commands("a 1;b 2&&c||d|e&f\ng", &["a 1", "b 2", "c", "d", "e", "f", "g"]);
    assert_commands("(a; b) | { c; d; }", &["a", "b", "c", "d"]);
    assert_commands("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]);
    assert_commands("while ! a; do b; done < c", &["a", "b", ""]);
    assert_commands("f() { a; }; function g { b; }", &["f", "a", "b"]);
}

#[test]
fn quotes_and_joined_lines_are_spliced() {
    assert_commands("pk\"\"ill 'a b' \"c d\" e\\ f", &["pkill a b c d e f"]);
    assert_commands("pk\\\nill \\\n x", &["pkill x"]);
    assert_commands("$'\\x70k'ill $\"x\"", &["pkill x"]);
    assert_commands("a '' \"\"", &["a  "]);
}

#[test]
fn comments_are_no_commands() {
    assert_commands("a # b; c\nd#e", &["a", "d#e"]);
}

#[test]
fn substitutions_are_read_where_they_stand() {
    assert_commands("a $(b \"$(c)\") `d \\`e\\`` \"x$(f)\"", &["c", "b *", "e", "d *", "f", "a * * x*"]);
    assert_commands("a ${x:-$(b)} ${y%$(c)} <(d) >(e)", &["b", "c", "d", "e", "a $x * * *"]);
    assert_commands("a '$(b)' \\$(c)", &["a $(b) $", "c"]);
    assert_commands("a $(case x in x) b;; (y) c;; esac) d", &[" case x in x", "b", "y", "c", "a * d"]);
}

#[test]
fn an_apostrophe_in_a_default_quotes_only_outside_of_double_quotes() {
    assert_commands("a \"${x:-it's}\"; b", &["a $x", "b"]);
    assert_commands("a ${x:-'}'} c; b", &["a $x c", "b"]);
    assert_commands("a \"${x//'}'/}\"; b", &["a *", "b"]);
    assert_commands("a <<E\n${x:-it's}\nE\nb", &["a", "b"]);
}

#[test]
fn arithmetic_begins_no_here_document() {
    assert_commands("for ((i=0;i<3;i++)); do a; done; b", &["for", "i=0", "i", "i++", "a", "b"]);
    assert_commands("(( a << 2 ))\nb", &["a 2", "b"]);
    assert_commands("x $((1 << 2)) y\nb", &["1 2", "x * y", "b"]);
}

#[test]
fn redirections_are_no_words() {
    assert_commands("a 2>&1 >b <c 3< d &>e f", &["a f"]);
    let list = parse("a >x <y").unwrap().list;
    let word = |text: &str| Word(vec![Part::Plain(text.to_owned())]);
    assert_eq!(list[0].redirections, [Redirection::To(word("x")), Redirection::From(word("y"))]);
}

#[test]
fn a_here_document_is_kept_apart_and_its_substitutions_run_unless_its_end_is_quoted() {
    assert_commands("cat <<E; x\na $(b)\nE\nc", &["b", "cat", "x", "c"]);
    assert_commands("cat <<'E'; x\na $(b)\nE\nc", &["cat", "x", "c"]);
    assert_commands("cat <<-E\n\ta\n\tE\nc", &["cat", "c"]);
    let list = parse("cat <<E\na\n").unwrap().list;
    let Redirection::Here(here) = &list[0].redirections[0] else { panic!("no here-document") };
    assert_eq!(here.get(), Some(&Here { text: "a\n".to_owned(), nested: Vec::new(), closed: false }));
}

#[test]
fn what_never_ends_is_said() {
    for text in ["a 'b", "a \"b", "a ${b", "a $'b", "a \"$(b 'c)\"", "a `b 'c`"] {
        assert!(parse(text).unwrap().broken, "{text}");
    }
    for text in ["a 'b' \"c\" ${d} $'e' `f`", "a ${b:-'c'}", "it\\'s", "# it's", "$''"] {
        assert!(!parse(text).unwrap().broken, "{text}");
    }
}

#[test]
fn nesting_has_a_bound() {
    let nested = |levels: usize| format!("{}x{}", "$(".repeat(levels), ")".repeat(levels));
    assert!(parse(&nested(NESTING_MAX)).is_ok());
    assert_eq!(parse(&nested(NESTING_MAX + 1)), Err(TooNested));
    assert_eq!(parse(&"$(".repeat(100_000)), Err(TooNested));
    assert_eq!(parse(&"${a:-".repeat(100_000)), Err(TooNested));
    assert_eq!(parse(&"\"${a:-\"".repeat(100_000)), Err(TooNested));
    assert!(parse(&"(".repeat(100_000)).is_ok());
}

proptest! {
    #[test]
    fn no_text_is_a_mistake(text in any::<String>()) {
        let _ = parse(&text);
    }

    #[test]
    fn no_text_of_shell_characters_is_a_mistake(text in "[ab $(){}`'\"\\\\<>|&;#\n=!@*\\[\\]x0-]{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn a_text_in_single_quotes_is_one_word(text in any::<String>()) {
        let line = format!("a '{}' b", text.replace('\'', r"'\''"));
        prop_assert_eq!(commands(&line), vec![vec!["a".to_owned(), text, "b".to_owned()]]);
    }

    #[test]
    fn a_text_in_double_quotes_is_one_word(text in any::<String>()) {
        let mut line = "a \"".to_owned();
        for c in text.chars() {
            if "\"\\$`".contains(c) {
                line.push('\\');
            }
            line.push(c);
        }
        line.push_str("\" b");
        prop_assert_eq!(commands(&line), vec![vec!["a".to_owned(), text, "b".to_owned()]]);
    }

    #[test]
    fn a_backslash_before_each_character_changes_nothing(text in "[^\n]{1,40}") {
        let line: String = text.chars().flat_map(|c| ['\\', c]).collect();
        prop_assert_eq!(commands(&line), vec![vec![text]]);
    }

    #[test]
    fn a_command_is_found_behind_any_closed_quotes(text in any::<String>(), operator in "[;|&\n]") {
        let line = format!("a '{}'{operator}pkill x", text.replace('\'', r"'\''"));
        prop_assert_eq!(commands(&line).pop(), Some(vec!["pkill".to_owned(), "x".to_owned()]));
    }
}
