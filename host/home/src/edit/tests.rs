//! What a change leaves of the file.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use hermes_model::config::servers::{ToolsConfig, Trust};
use proptest::prelude::*;

use super::*;
use crate::home::LocateArgs;

fn home(folder: &std::path::Path) -> Home {
    Home::locate(&LocateArgs { home: Some(folder.to_owned()), profile: None }).unwrap()
}

fn name(text: &str) -> ServerName {
    text.parse().unwrap()
}

fn server(command: &str) -> ServerConfig {
    ServerConfig { command: command.to_owned(), ..ServerConfig::default() }
}

/// The file after a change.
fn changed(before: &str, change: impl FnOnce(&mut ConfigFile)) -> String {
    let temp = tempfile::tempdir().unwrap();
    let home = home(temp.path());
    fs::write(home.config_path(), before).unwrap();
    let mut file = ConfigFile::open(&home).unwrap();
    change(&mut file);
    file.save().unwrap();
    fs::read_to_string(home.config_path()).unwrap()
}

const WRITTEN: &str = "# my file\n\n# about the policy\n[policy]\nrequired = [] # none yet\n\n# about git\n\
                       [mcp_servers.git]\ncommand = \"uvx\" # runs it\n# its name\nargs = [\n  \"mcp-server-git\", # here\n]\n\
                       timeout = \"5s\"\n\n[output]\nreply_bytes = 20000\n\n# the end\n";

#[test]
fn a_server_is_added_behind_the_others_and_nothing_else_changes() {
    let new = ServerConfig { args: vec!["-y".to_owned(), "it's".to_owned()], ..server("npx") };
    let text = changed(WRITTEN, |file| assert_eq!(file.put(&name("a.b"), &new), Put::Added));
    let added = "\n[mcp_servers.\"a.b\"]\ncommand = \"npx\"\nargs = [\"-y\", \"it's\"]\n";
    assert_eq!(text, WRITTEN.replace("timeout = \"5s\"\n", &format!("timeout = \"5s\"\n{added}")));
}

#[test]
fn a_server_is_replaced_in_its_place_and_comments_stay() {
    let new = ServerConfig { env: BTreeMap::from([("A".to_owned(), "${A}".to_owned())]), ..server("npx") };
    let text = changed(WRITTEN, |file| assert_eq!(file.put(&name("git"), &new), Put::Replaced));
    let expected = WRITTEN.replace("\"uvx\" # runs it", "\"npx\" # runs it").replace(
        "# its name\nargs = [\n  \"mcp-server-git\", # here\n]\ntimeout = \"5s\"\n",
        "env = { A = \"${A}\" }\n",
    );
    assert_eq!(text, expected);
}

#[test]
fn a_server_is_removed_with_its_own_comment_only() {
    let text = changed(WRITTEN, |file| assert!(file.remove(&name("git")) && !file.remove(&name("git"))));
    assert_eq!(
        text,
        "# my file\n\n# about the policy\n[policy]\nrequired = [] # none yet\n\n[output]\nreply_bytes = 20000\n\n# the end\n"
    );
    let first = "# my file\n# of servers\n\n# one\n[mcp_servers.one]\ncommand = \"x\"\n\n[mcp_servers.one.env]\nA = \"1\"\n\n# two\n[mcp_servers.two]\ncommand = \"x\"\n";
    let text = changed(first, |file| assert!(file.remove(&name("one"))));
    assert_eq!(text, "# my file\n# of servers\n\n# two\n[mcp_servers.two]\ncommand = \"x\"\n");
    let text = changed(&text, |file| assert!(file.remove(&name("two"))));
    assert_eq!(text, "# my file\n# of servers\n\n");
}

#[test]
fn the_section_may_be_written_in_any_way() {
    for before in [
        "",
        "mcp_servers = {}\n",
        "mcp_servers = { a = { command = \"x\" } }\n",
        "mcp_servers.a.command = \"x\"\n",
        "mcp_servers.a = { command = \"x\" }\n[output]\n",
        "[mcp_servers]\na.command = \"x\"\n[output]\n",
        "[mcp_servers]\n[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.a.tools]\nprompts = false\n",
    ] {
        let text = changed(before, |file| {
            file.put(&name("b"), &server("y"));
            file.put(&name("a"), &server("z"));
        });
        let config: Config = toml::from_str(&text).unwrap();
        assert_eq!(config.mcp_servers.values().map(|s| s.command.as_str()).collect::<Vec<_>>(), ["z", "y"], "{text}");
        let text = changed(&text, |file| assert!(file.remove(&name("a"))));
        assert_eq!(toml::from_str::<Config>(&text).unwrap().mcp_servers.len(), 1, "{text}");
    }
}

#[test]
fn what_is_the_same_already_is_not_written() {
    let temp = tempfile::tempdir().unwrap();
    let home = home(temp.path());
    fs::write(home.config_path(), "[mcp_servers.a]\n  command='x'\n").unwrap();
    let mut file = ConfigFile::open(&home).unwrap();
    assert_eq!(file.put(&name("a"), &server("x")), Put::Unchanged);
    assert!(!file.save().unwrap());
    assert_eq!(fs::read_to_string(home.config_path()).unwrap(), "[mcp_servers.a]\n  command='x'\n");
}

#[test]
fn the_file_is_private_a_link_stays_a_link_and_nothing_is_left_beside_it() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("home");
    let home = home(&root);
    let mut file = ConfigFile::open(&home).unwrap();
    file.put(&name("a"), &server("x"));
    assert!(file.save().unwrap());
    assert_eq!(home.config_path().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let kept = temp.path().join("kept.toml");
    fs::rename(home.config_path(), &kept).unwrap();
    std::os::unix::fs::symlink(&kept, home.config_path()).unwrap();
    let mut file = ConfigFile::open(&home).unwrap();
    file.put(&name("b"), &server("x"));
    file.save().unwrap();
    assert!(home.config_path().is_symlink());
    assert!(fs::read_to_string(&kept).unwrap().contains("[mcp_servers.b]"));
    let mut names: Vec<_> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["config.lock", "config.toml"]);
}

#[test]
fn a_broken_file_or_entry_changes_nothing_and_shows_no_value() {
    let temp = tempfile::tempdir().unwrap();
    let home = home(temp.path());
    let broken = "[policy]\nrequird = \"hunter2\"\n";
    fs::write(home.config_path(), broken).unwrap();
    let said = ConfigFile::open(&home).err().unwrap().to_string();
    assert!(said.contains("requird") && !said.contains("hunter2"), "{said}");
    assert_eq!(fs::read_to_string(home.config_path()).unwrap(), broken);
    fs::write(home.config_path(), "").unwrap();
    let mut file = ConfigFile::open(&home).unwrap();
    file.put(&name("a"), &server(""));
    let said = file.save().unwrap_err().to_string();
    assert!(said.contains("mcp_servers.a.command"), "{said}");
    assert_eq!(fs::read_to_string(home.config_path()).unwrap(), "");
}

#[test]
fn changes_at_the_same_time_are_all_made() {
    let temp = tempfile::tempdir().unwrap();
    let home = home(temp.path());
    std::thread::scope(|scope| {
        for n in 0..8 {
            let home = &home;
            scope.spawn(move || {
                let mut file = ConfigFile::open(home).unwrap();
                file.put(&name(&format!("s{n}")), &server("x"));
                file.save().unwrap();
            });
        }
    });
    assert_eq!(crate::config::load(&home).unwrap().config.mcp_servers.len(), 8);
}

fn any_server() -> impl Strategy<Value = ServerConfig> {
    let text = "\\PC{0,6}|[\"'\\\\\n\t#=\\[\\]{}]{0,4}";
    let tools = (prop::option::of(prop::collection::vec("[a-z*]{1,3}", 0..2)), any::<bool>());
    let rest = (prop::option::of(1u64..9000), any::<bool>(), any::<bool>(), 1u16..20, tools);
    (prop::collection::vec(text, 0..3), prop::collection::btree_map("[A-Z]{1,4}|[a-z.]{1,3}", text, 0..3), rest)
        .prop_map(|(args, env, (ms, lazy, trust, parallel, (include, prompts)))| ServerConfig {
            args,
            env,
            timeout: Duration::from_millis(ms.unwrap_or(300_000)),
            keepalive: ms.map(|ms| Duration::from_millis(ms + 5000)),
            lazy,
            trust: if trust { Trust::Full } else { Trust::Untrusted },
            parallel,
            tools: ToolsConfig { include, prompts, ..ToolsConfig::default() },
            ..server("x")
        })
}

proptest! {
    #[test]
    fn what_is_put_in_is_what_is_read(one in any_server(), two in any_server(), shape in prop::sample::select(vec!["", "mcp_servers = {}\n", WRITTEN])) {
        let text = changed(shape, |file| {
            file.put(&name("git"), &one);
            file.put(&name("b"), &two);
            file.put(&name("git"), &two);
            file.put(&name("b"), &one);
        });
        let config: Config = toml::from_str(&text).unwrap();
        prop_assert_eq!(&config.mcp_servers[&name("git")], &two);
        prop_assert_eq!(&config.mcp_servers[&name("b")], &one);
    }
}
