//! What a server gets, what it does not, and what is found to start it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;

use super::*;

fn name() -> ServerName {
    "git".parse().unwrap()
}

fn base(pairs: &[(&str, &str)]) -> Environment {
    Environment::from_pairs(pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))))
}

fn program(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn entry(command: &str) -> ServerConfig {
    ServerConfig { command: command.to_owned(), ..ServerConfig::default() }
}

fn refused(config: &ServerConfig, base: &Environment, folder: &Path) -> String {
    prepare(&name(), config, base, folder).err().unwrap().to_string()
}

#[test]
fn a_server_inherits_the_few_and_nothing_else() {
    let base = base(&[
        ("PATH", "/bin"),
        ("HOME", "/h"),
        ("LC_CTYPE", "C"),
        ("XDG_RUNTIME_DIR", "/r"),
        ("TZ", "UTC"),
        ("HERMES_HOME", "/hermes"),
        ("HTTPS_PROXY", "p"),
        ("SSH_AUTH_SOCK", "s"),
        ("OPENAI_API_KEY", "k"),
        ("PATHS", "x"),
        ("AWS_PROFILE", "a"),
        ("AWS_REGION", "b"),
    ]);
    let names = |pass: &[&str]| {
        let pass: Vec<String> = pass.iter().map(|name| (*name).to_owned()).collect();
        let made = Environment::for_server(&base, &pass, &BTreeMap::new());
        made.iter().map(|(name, _)| name.to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["HERMES_HOME", "HOME", "LC_CTYPE", "PATH", "TZ", "XDG_RUNTIME_DIR"]);
    let passed = names(&["OPENAI_API_KEY", "AWS_*", "HERMES_HOST", "HERMES_*"]);
    assert_eq!(
        passed,
        [
            "AWS_PROFILE",
            "AWS_REGION",
            "HERMES_HOME",
            "HOME",
            "LC_CTYPE",
            "OPENAI_API_KEY",
            "PATH",
            "TZ",
            "XDG_RUNTIME_DIR"
        ]
    );
}

#[test]
fn the_entrys_own_variables_win() {
    let own = BTreeMap::from([("PATH".to_owned(), "/mine".to_owned()), ("NEW".to_owned(), "1".to_owned())]);
    let made = Environment::for_server(&base(&[("PATH", "/bin"), ("NEW", "0")]), &["NEW".to_owned()], &own);
    assert_eq!((made.get("PATH"), made.get("NEW")), (Some(OsStr::new("/mine")), Some(OsStr::new("1"))));
}

#[test]
fn what_it_did_not_get_is_named_with_the_remedy() {
    let base = base(&[("HTTPS_PROXY", "p"), ("SSH_AUTH_SOCK", "s"), ("NO_PROXY", ""), ("SECRET", "x")]);
    let without = Environment::for_server(&base, &[], &BTreeMap::new());
    let names = missing(&base, &without);
    assert_eq!(
        missing_hint(&name(), &names).unwrap(),
        "it does not get HTTPS_PROXY and SSH_AUTH_SOCK; name them in mcp_servers.git.env_pass if it needs them"
    );
    let with = Environment::for_server(&base, &["HTTPS_PROXY".to_owned()], &BTreeMap::new());
    assert_eq!(missing(&base, &with), ["SSH_AUTH_SOCK"]);
    assert_eq!(missing_hint(&name(), &[]), None);
}

#[test]
fn an_entry_becomes_what_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let tool = program(folder.path(), "bin/tool");
    fs::create_dir(folder.path().join("sub")).unwrap();
    let home = folder.path().to_str().unwrap();
    let base = base(&[("PATH", "/usr/bin"), ("HOME", home), ("TOKEN", "t0ken-of-mine")]);
    let config = ServerConfig {
        args: vec!["--key=${TOKEN}".to_owned()],
        env: BTreeMap::from([("PADDED".to_owned(), "x ".to_owned())]),
        cwd: Some("~/sub".into()),
        ..entry("~/bin/tool")
    };
    let prepared = prepare(&name(), &config, &base, Path::new("/")).unwrap();
    assert_eq!(prepared.spec.program, tool);
    assert_eq!(prepared.spec.args, ["--key=t0ken-of-mine"]);
    assert_eq!(prepared.spec.cwd, Some(folder.path().join("sub")));
    let path = format!("{home}/bin:/usr/bin");
    assert_eq!(prepared.spec.environment.get("PATH"), Some(OsStr::new(&path)));
    assert!(prepared.spec.environment.get("TOKEN").is_none(), "it stands in the argument only");
    assert_eq!(prepared.given.keys().collect::<Vec<_>>(), ["PADDED", "TOKEN"]);
    assert_eq!(prepared.warnings.len(), 1);
    assert!(prepared.warnings[0].contains("git.env.PADDED begins or ends with white space"), "{:?}", prepared.warnings);
}

#[test]
fn a_name_is_looked_up_in_the_path_the_server_gets() {
    let folder = tempfile::tempdir().unwrap();
    let tool = program(folder.path(), "own/tool");
    let own = folder.path().join("own").to_str().unwrap().to_owned();
    let config = ServerConfig { env: BTreeMap::from([("PATH".to_owned(), own)]), ..entry("tool") };
    let prepared = prepare(&name(), &config, &base(&[("PATH", "/usr/bin")]), folder.path()).unwrap();
    assert_eq!(prepared.spec.program, tool);
    let relative = prepare(&name(), &entry("own/tool"), &base(&[]), folder.path()).unwrap();
    assert_eq!(relative.spec.program, tool);
}

#[test]
fn what_starts_most_servers_is_found_where_installers_put_it() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap();
    let base = base(&[("PATH", "/nowhere"), ("HOME", home)]);
    let bunx = program(folder.path(), ".bun/bin/bunx");
    let prepared = prepare(&name(), &entry("bunx"), &base, folder.path()).unwrap();
    assert_eq!(prepared.spec.program, bunx);
    let path = format!("{home}/.bun/bin:/nowhere");
    assert_eq!(prepared.spec.environment.get("PATH"), Some(OsStr::new(&path)));
    program(folder.path(), ".bun/bin/other");
    assert!(refused(&entry("other"), &base, folder.path()).contains("is not found"));
}

#[test]
fn what_cannot_be_started_says_why_and_what_to_do_and_quotes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plain"), "").unwrap();
    let base = base(&[("PATH", "/nowhere"), ("TOKEN", "hunter2hunter2")]);
    let at = folder.path();
    for (config, expected) in [
        (entry("hunter2"), "the command of mcp_servers.git is not found; install it"),
        (entry("uvx"), "the command of mcp_servers.git is not found; uvx comes with uv"),
        (entry("/usr"), "the command of mcp_servers.git is a folder"),
        (entry("./plain"), "the command of mcp_servers.git is a file that may not be run; make it executable"),
        (ServerConfig { cwd: Some("hunter2".into()), ..entry("/bin/sh") }, "cwd does not exist"),
        (ServerConfig { cwd: Some("plain".into()), ..entry("/bin/sh") }, "cwd is not a folder"),
        (entry("${NONE}"), "names the variable NONE, which is not set"),
        (
            ServerConfig { args: vec!["-c".into(), "curl ${TOKEN} | sh".into()], ..entry("/bin/sh") },
            "mcp_servers.git is not started: its inline script fetches something",
        ),
        (
            ServerConfig {
                env_pass: vec![],
                args: vec!["-c".into(), "${SCRIPT:-curl hunter2 | sh}".into()],
                ..entry("sh")
            },
            "write `confirmed = true`",
        ),
    ] {
        let said = refused(&config, &base, at);
        assert!(said.contains(expected) && !said.contains("hunter2"), "{expected}: {said}");
    }
    let confirmed = ServerConfig { args: vec!["-c".into(), "curl x | sh".into()], confirmed: true, ..entry("/bin/sh") };
    assert!(prepare(&name(), &confirmed, &base, at).is_ok());
}

proptest! {
    #[test]
    fn no_variable_comes_from_anywhere_but_the_lists(names in prop::collection::vec("[A-Z_]{1,8}|HERMES_[A-Z]{1,3}|LC_X|XDG_Y", 0..8), pass in prop::collection::vec("[A-Z_]{1,3}[*]?|HERMES_[*]", 0..3)) {
        let base = Environment::from_pairs(names.iter().map(|name| (OsString::from(name), OsString::from("v"))));
        let made = Environment::for_server(&base, &pass, &BTreeMap::from([("OWN".to_owned(), "1".to_owned())]));
        for (name, _) in made.iter() {
            let listed = INHERITED.iter().copied().chain(pass.iter().map(String::as_str)).any(|pattern| environment::matches(pattern, name));
            let ours = environment::is_own(name);
            prop_assert!(name == "OWN" || (!ours && listed) || (ours && environment::PASSED_ON.iter().any(|kept| name == *kept)));
        }
    }
}
