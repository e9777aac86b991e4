//! Files as other programs keep them.

use proptest::prelude::*;

use super::*;

fn all(text: &str) -> Imported {
    read(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The only server of a section, with its notes.
fn one(entry: &str) -> (Result<ServerConfig, &'static str>, Vec<String>) {
    let mut imported = all(&format!("{{\"mcpServers\": {{\"git\": {entry}}}}}"));
    assert_eq!(imported.servers.len(), 1);
    let found = imported.servers.remove(0);
    (found.server, found.notes)
}

fn taken(entry: &str) -> ServerConfig {
    let (server, notes) = one(entry);
    assert_eq!(notes, Vec::<String>::new(), "{entry}");
    server.unwrap()
}

#[test]
fn an_ordinary_entry_is_taken_as_it_is() {
    let server = taken(
        r#"{"command": "npx", "args": ["-y", "@x/server", 3], "env": {"A": "${A}", "PORT": 8080, "B": true},
            "cwd": "/srv", "type": "stdio", "timeout": 20000, "disabled": "false", "includeTools": ["a", "b*"]}"#,
    );
    assert_eq!((server.command.as_str(), server.args.join(" ").as_str()), ("npx", "-y @x/server 3"));
    let env: Vec<_> = server.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["A=${A}", "B=true", "PORT=8080"]);
    assert_eq!((server.cwd, server.timeout), (Some("/srv".into()), Duration::from_secs(20)));
    assert!(server.enabled);
    assert_eq!(server.tools.include, Some(vec!["a".to_owned(), "b*".to_owned()]));
}

#[test]
fn each_known_shape_of_file_is_read() {
    for text in [
        r#"{"mcpServers": {"a": {"command": "x"}}}"#,
        r#"{"inputs": [], "servers": {"a": {"type": "stdio", "command": "x"}}}"#,
        r#"{"mcp": {"servers": {"a": {"command": "x"}}}}"#,
        r#"{"theme": "One", "context_servers": {"a": {"source": "custom", "command": {"path": "x", "args": []}}}}"#,
        r#"{"a": {"command": ["x"]}}"#,
        "\u{feff}// mine\n{\"mcpServers\": {\"a\": {\"command\": \"x\", /* no */ \"args\": null,},},}",
    ] {
        let imported = all(text);
        assert_eq!(imported.servers.len(), 1, "{text}");
        let found = &imported.servers[0];
        assert_eq!((found.name.as_str(), &found.original), ("a", &None));
        assert_eq!(found.server.as_ref().unwrap(), &ServerConfig { command: "x".into(), ..ServerConfig::default() });
        assert!(found.notes.is_empty() && imported.notes.is_empty(), "{text}: {:?}", found.notes);
    }
}

#[test]
fn a_file_without_servers_says_what_was_looked_for_and_one_that_is_no_json_its_line() {
    for text in ["{}", "[]", "{\"a\": 1}", "{\"mcpServers\": []}"] {
        assert!(matches!(read(text), Err(ImportError::NoServers)), "{text}");
    }
    assert!(ImportError::NoServers.to_string().contains("mcpServers, mcp_servers, servers, context_servers"));
    let error = read("{\n \"mcpServers\": hunter2\n}").err().unwrap().to_string();
    assert!(error.starts_with("line 2 is not JSON") && !error.contains("hunter2"), "{error}");
    assert_eq!(all("{\"mcpServers\": {}}").servers.len(), 0);
}

#[test]
fn a_server_on_the_network_is_named_and_left_out() {
    for entry in [
        r#"{"url": "https://x.example/mcp"}"#,
        r#"{"type": "http", "url": "https://x.example/mcp", "headers": {"A": "b"}}"#,
        r#"{"type": "sse", "command": "x"}"#,
        r#"{"httpUrl": "https://x.example"}"#,
    ] {
        assert!(one(entry).0.unwrap_err().starts_with("is reached over the network"), "{entry}");
    }
    let (server, notes) = one(r#"{"url": "https://x.example/mcp", "command": "x"}"#);
    assert_eq!(
        (server.unwrap().command.as_str(), notes),
        ("x", vec!["url is left out: command is what is used".to_owned()])
    );
}

#[test]
fn what_cannot_be_an_entry_says_why() {
    for (entry, why) in [
        ("3", "is not an object"),
        ("{}", "has no command"),
        (r#"{"command": "  "}"#, "has no command"),
        (r#"{"command": 3}"#, "has a command that is no text"),
        (r#"{"command": []}"#, "has no command"),
        (r#"{"command": "x", "args": {"a": 1}}"#, "has args that are no list of texts"),
        (r#"{"command": "x", "env": "A=b"}"#, "has an env that is no table"),
        (r#"{"command": {"path": []}}"#, "has a command that is no text"),
    ] {
        assert_eq!(one(entry).0.unwrap_err(), why, "{entry}");
    }
}

#[test]
fn what_is_left_out_or_changed_is_noted_by_its_field_and_never_by_its_value() {
    for (entry, note) in [
        (r#"{"command": "x", "alwaysAllow": ["hunter2"]}"#, "alwaysAllow is left out"),
        (r#"{"command": "x", "envFile": "hunter2"}"#, "envFile is not read"),
        (r#"{"command": "x", "timeout": 60}"#, "timeout is taken as seconds"),
        (r#"{"command": "x", "timeout": "hunter2"}"#, "timeout is left out"),
        (r#"{"command": "x", "timeout": 0}"#, "timeout is left out"),
        (r#"{"command": "x", "disabled": "hunter2"}"#, "disabled is left out"),
        (r#"{"command": "x", "cwd": ["hunter2"]}"#, "cwd is left out"),
        (r#"{"command": "x", "env": {"A B": "hunter2"}}"#, "env.A B is left out"),
        (r#"{"command": "x", "env": {"A": ["hunter2"]}}"#, "env.A is left out"),
        (r#"{"command": "x hunter2"}"#, "command is cut at its spaces"),
        (r#"{"command": "x", "args": ["${input:hunter2}"]}"#, "args[0] has a reference that hermes does not know"),
        (r#"{"command": "x", "env": {"TOKEN": "${input:hunter2}"}}"#, "env.TOKEN was asked for by the other program"),
        (r#"{"command": "x", "tools": ["hunter2\n"]}"#, "tools is left out"),
    ] {
        let (server, notes) = one(entry);
        assert!(server.is_ok() && notes.len() == 1, "{entry}: {notes:?}");
        assert!(notes[0].starts_with(note) && !notes[0].contains("hunter2"), "{entry}: {notes:?}");
    }
    assert_eq!(all(r#"{"mcpServers": {}, "projects": {"/a": {"mcpServers": {"x": {}}}}}"#).notes.len(), 1);
}

#[test]
fn references_are_written_in_our_way() {
    let (server, _) =
        one(r#"{"command": "x", "env": {"A": "$TOKEN", "B": "${input:b}", "C": "a$TOKEN", "D": "${env:D}"}}"#);
    let env = server.unwrap().env;
    assert_eq!(["A", "B", "C", "D"].map(|name| env[name].as_str()), ["${TOKEN}", "${B}", "a$TOKEN", "${env:D}"]);
}

#[test]
fn switches_and_tables_of_other_programs_are_understood() {
    assert!(!taken(r#"{"command": "x", "disabled": true}"#).enabled);
    assert!(!taken(r#"{"command": "x", "enabled": 0}"#).enabled);
    assert_eq!(taken(r#"{"command": "x", "trust": false}"#).trust, Trust::Untrusted);
    assert_eq!(taken(r#"{"command": "x", "tools": ["*"]}"#).tools.include, None);
    assert_eq!(taken(r#"{"command": "x", "excludeTools": ["a"]}"#).tools.exclude, ["a"]);
    assert_eq!(taken(r#"{"command": ["x", "-y"], "environment": ["A=b=c"]}"#).env["A"], "b=c");
    assert_eq!(taken(r#"{"command": {"path": "x", "args": ["y"], "env": {"A": "1"}}}"#).args, ["y"]);
    assert_eq!(taken(r#"{"command": "/opt/my server/run"}"#).command, "/opt/my server/run");
}

#[test]
fn names_that_hermes_does_not_allow_become_some_that_it_does() {
    let imported = all(
        r#"{"mcpServers": {"My Server": {"command": "x"}, "My-Server": {"command": "x"}, "my/server": {"command": "x"},
            "--": {"command": "x"}, "ok_1.2": {"command": "x"}}}"#,
    );
    let names: Vec<&str> = imported.servers.iter().map(|found| found.name.as_str()).collect();
    assert_eq!(names, ["My-Server", "My-Server-2", "my-server-3", "server", "ok_1.2"]);
    assert_eq!(imported.servers[0].original.as_deref(), Some("My Server"));
    assert_eq!(imported.servers[4].original, None);
}

proptest! {
    #[test]
    fn every_entry_is_found_under_a_name_of_its_own(names in prop::collection::btree_set("\\PC{0,60}|[a-z -]{0,3}", 0..6)) {
        let entries: Map<String, Value> = names.iter().map(|name| (name.clone(), serde_json::json!({"command": "x"}))).collect();
        let imported = all(&serde_json::json!({"mcpServers": entries}).to_string());
        let mut found: Vec<&str> = imported.servers.iter().map(|found| found.name.as_str()).collect();
        prop_assert_eq!(found.len(), names.len());
        found.sort_unstable();
        found.dedup();
        prop_assert_eq!(found.len(), names.len());
    }

    #[test]
    fn an_entry_that_is_taken_is_in_order(entry in "\\{\"command\": \"(x|x y|/a b)\"(, \"(args|env|timeout|cwd|tools|disabled)\": (null|3|-1|1e300|\"\"|\"a\"|\\[\\]|\\[\"\"\\]|\\{\\}|\\{\"\": 1\\}|true))?\\}") {
        if let (Ok(server), _) = one(&entry) {
            prop_assert!(server.validate(&"git".parse().unwrap()).is_ok(), "{}", entry);
        }
    }
}
