//! The files of cases: what is read, what is refused and where, and what is written back.

use super::*;

fn manifest(hooks: &str) -> Manifest {
    let text = format!(
        "name = \"a\"\nversion = \"1.0.0\"\ndescription = \"a\"\nlicense = \"MIT\"\nrequires-hermes = \">=0.1\"\n\
         hooks = [{hooks}]\n[settings]\ntype = \"object\"\nadditionalProperties = false\n\
         [settings.properties.limit]\ntype = \"integer\"\n"
    );
    Manifest::parse(text.as_bytes()).unwrap()
}

fn refused(line: &str, hooks: &str) -> String {
    match case_of(line, &manifest(hooks)) {
        Ok(_) => panic!("accepted: {line}"),
        Err(error) => error,
    }
}

#[test]
fn every_key_is_read() {
    let line = r#"{"name": "a", "text": "t", "command": "make", "exit_code": 2, "surface": "mcp-result",
        "settings": {"limit": 3}, "spans": [{"start": 0, "end": 1, "rule": "r"}]}"#;
    let (ask, want) = case_of(line, &manifest("\"redact\"")).unwrap();
    assert_eq!((ask.name.as_str(), ask.text.as_str(), ask.hook), ("a", "t", Hook::Redact));
    assert_eq!((ask.context.command.as_str(), ask.context.exit_code), ("make", Some(2)));
    assert_eq!((ask.context.surface, ask.settings.as_deref()), (Surface::McpResult, Some("{\"limit\":3}")));
    assert!(matches!(want, Some(Want::Spans(spans)) if spans.len() == 1));
    assert!(case_of(r#"{"name": "a", "text": "t"}"#, &manifest("\"redact\"")).unwrap().1.is_none());
}

#[test]
fn a_notifiers_case_says_what_the_event_is() {
    let line = r#"{"name": "a", "text": "t", "command": "make", "exit_code": 3,
        "event": {"kind": "completion", "owner": "me", "labels": {"hidden": "true"}}, "verdict": {"suppress": "quiet"}}"#;
    let (ask, want) = case_of(line, &manifest("\"notify\"")).unwrap();
    let event = ask.event.unwrap();
    assert_eq!((event.kind.as_str(), event.status.as_str(), event.exit_code), ("completion", "exited", Some(3)));
    assert_eq!((event.owner.as_str(), event.command.as_str(), event.text.as_str()), ("me", "make", "t"));
    assert_eq!(event.labels, [("hidden".to_owned(), "true".to_owned())]);
    assert!(matches!(want, Some(Want::Verdict(VerdictKind::Suppress, Some(reason))) if reason == "quiet"));
    let match_case = r#"{"name": "a", "event": {"kind": "match", "pattern": "x"}, "verdict": "deliver"}"#;
    let event = case_of(match_case, &manifest("\"notify\"")).unwrap().0.event.unwrap();
    assert_eq!((event.status.as_str(), event.exit_code, event.pattern.as_deref()), ("", None, Some("x")));
}

#[test]
fn what_is_wrong_is_named_with_a_suggestion() {
    let redact = "\"redact\"";
    assert_eq!(refused(r#"{"name": "a", "maskd": ""}"#, redact), "unknown key 'maskd'; did you mean 'masked'?");
    let span = r#"{"name": "a", "spans": [{"start": 0, "ends": 1, "rule": "r"}]}"#;
    assert_eq!(refused(span, redact), "unknown key 'ends'; did you mean 'end'?");
    let event = r#"{"name": "a", "event": {"knid": "match"}, "verdict": "deliver"}"#;
    assert_eq!(refused(event, "\"notify\""), "unknown key 'knid'; did you mean 'kind'?");
    assert!(refused(r#"{"name": "a", "surface": "steam", "masked": ""}"#, redact).contains("did you mean 'stream'?"));
    assert!(refused(r#"{"name": "a", "masked": "", "unchanged": true}"#, redact).contains("more than one thing"));
    assert!(refused(r#"{"name": "a", "becomes": ""}"#, redact).contains("does not have"));
    assert!(refused(r#"{"name": "a", "settings": {"limit": "x"}}"#, redact).contains("setting 'limit'"));
    assert!(refused(r#"{"name": "a", "unchanged": true}"#, "\"redact\", \"transform\"").contains("\"hook\""));
    assert!(refused(r#"{"name": "a", "event": {}, "masked": ""}"#, redact).contains("notify hook"));
    assert!(refused("{", redact).contains("EOF"));
}
