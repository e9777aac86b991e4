//! What the scanner takes for a word, a command and a nesting.

use proptest::prelude::*;

use super::*;

/// The tokens of the outermost depth as short signs, words as they are.
fn outline(text: &str) -> String {
    let tokens = scan(text).unwrap_or_else(|_| panic!("unclear: {text}"));
    let signs = tokens.iter().filter(|token| token.depth == 0).map(|token| match token.kind {
        Kind::Word(Role::Target) => format!("<{}>", &text[token.start..token.end]),
        Kind::Word(_) | Kind::Keyword => text[token.start..token.end].to_owned(),
        Kind::Newline => "NL".to_owned(),
        Kind::Redirect => "REDIR".to_owned(),
        Kind::Body => "BODY".to_owned(),
        Kind::Open => "OPEN".to_owned(),
        Kind::Close => "CLOSE".to_owned(),
        Kind::And | Kind::Or | Kind::Pipe | Kind::Background | Kind::Semicolon => {
            text[token.start..token.end].to_owned()
        }
    });
    signs.collect::<Vec<_>>().join(" ")
}

#[test]
fn operators_are_told_from_redirections() {
    assert_eq!(outline("a && b || c | d |& e & f;g"), "a && b || c | d |& e & f ; g");
    assert_eq!(outline("a &> x 2>&1 >&- <&3 &>>y &"), "a REDIR <x> REDIR <1> REDIR <-> REDIR <3> REDIR <y> &");
    assert_eq!(outline("a 12>x b2>y"), "a REDIR <x> b2 REDIR <y>");
}

#[test]
fn quotes_and_comments_hide_what_is_in_them() {
    assert_eq!(outline(r#"echo "a & b" 'c && d' e\&f # & g"#), r#"echo "a & b" 'c && d' e\&f"#);
    assert_eq!(outline("echo a#b ${#x} $'it\\'s &' `x & y`"), "echo a#b ${#x} $'it\\'s &' `x & y`");
    assert_eq!(outline(r#"echo "$(echo "a & b")" & c"#), r#"echo "$(echo "a & b")" & c"#);
    assert_eq!(outline(r#"echo "${x:-it's}" ${y:-'}'} &"#), r#"echo "${x:-it's}" ${y:-'}'} &"#);
}

#[test]
fn nesting_is_one_level_deeper() {
    assert_eq!(outline("(a & b) && { c & } &"), "OPEN CLOSE && OPEN CLOSE &");
    assert_eq!(outline("for x in 1; do a & done; if a; then b & fi &"), "OPEN CLOSE ; OPEN CLOSE &");
    assert_eq!(outline("case $x in (a|b) c & ;; in) d;; esac &"), "OPEN CLOSE &");
    assert_eq!(
        outline("[[ a && b || ( c ) ]] && ((x & 1)) || f() { a & }"),
        "OPEN CLOSE && OPEN CLOSE || f OPEN CLOSE OPEN CLOSE"
    );
    assert_eq!(outline("function f { a & }; echo } { done"), "function f OPEN CLOSE ; echo } { done");
    assert_eq!(
        outline("a=(1 2 # it's )\n) b=$((1<<3)) echo $(case x in a) b;; esac)"),
        "a=(1 2 # it's )\n) b=$((1<<3)) echo OPEN CLOSE $(case x in a) b;; esac)"
    );
}

#[test]
fn a_here_document_is_no_command() {
    assert_eq!(outline("cat <<E & b\n'x & y\nE\nc"), "cat REDIR <E> & b BODY NL c");
    assert_eq!(outline("cat <<-'A B' <<C\n\t&\n\tA B\n\tC\nC\n"), "cat REDIR <'A B'> REDIR <C> BODY BODY NL");
    assert_eq!(outline("cat <<<x &"), "cat REDIR <x> &");
    assert_eq!(
        outline("git commit -m \"$(cat <<'E'\nit's a & b\nE\n)\" && x"),
        "git commit -m \"$(cat <<'E'\nit's a & b\nE\n)\" && x"
    );
}

#[test]
fn what_does_not_end_is_unclear() {
    let all = [
        "'",
        "\"a",
        "`",
        "$(",
        "${x",
        "(",
        "{ a;",
        "cat <<E\nx",
        "cat <<",
        "if a",
        "a)",
        "}",
        "done",
        "$'a",
        "[[ a",
        "((1)",
    ];
    for text in all {
        assert_eq!(scan(text), Err(Unclear), "{text}");
    }
}

proptest! {
    /// Text of the signs that matter never panics, and every token lies in the text and on its characters.
    #[test]
    fn any_text_is_read(text in r#"[ab é\n\t "'`$(){}<>&|;\\#=!\[\]EinfodsacN0-]{0,60}"#) {
        if let Ok(tokens) = scan(&text) {
            for token in tokens {
                prop_assert!(token.start < token.end || token.kind == Kind::Body);
                prop_assert!(text.get(token.start..token.end).is_some());
            }
        }
    }
}
