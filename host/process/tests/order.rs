//! From an order to what is spawned: what a host changes on the way, and what it refuses.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

use std::ffi::OsString;
use std::path::Path;

use hermes_model::config::{OutputConfig, TerminalConfig};
use hermes_model::id::Owner;
use hermes_process::guard::Guarded;
use hermes_process::host::Host;
use hermes_process::order::{Asked, Order, Orders, Refused};
use hermes_process::spec::Program;

fn order(text: &str) -> Order {
    Order {
        asked: Asked::Shell(text.to_owned()),
        background: true,
        cwd: None,
        base_env: Some(vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("OPENAI_API_KEY".into(), "sk-fake".into()),
            ("EDITOR".into(), "vi".into()),
        ]),
        env: vec![(OsString::from("MINE"), OsString::from("yes"))],
        timeout: None,
        pty: None,
        owner: Owner::default(),
        stdin: false,
        persist: false,
        advise: true,
    }
}

fn orders(folder: &Path) -> Orders {
    let terminal = TerminalConfig { login_environment: false, ..TerminalConfig::default() };
    let guarded = Guarded::new(i32::try_from(std::process::id()).unwrap(), "hermes serve");
    Orders::new(Host::start().unwrap(), &terminal, &OutputConfig::default(), guarded, folder.join("scratch")).unwrap()
}

#[tokio::test]
async fn a_command_gets_its_own_variables_and_none_of_the_hosts_credentials() {
    let folder = tempfile::tempdir().unwrap();
    let prepared = orders(folder.path()).prepare(order("true")).await.unwrap();
    let environment = &prepared.spec.environment;
    assert_eq!(environment.get("MINE"), Some("yes".as_ref()));
    assert_eq!(environment.get("EDITOR"), Some("vi".as_ref()));
    assert_eq!(environment.get("OPENAI_API_KEY"), None);
    assert_eq!(environment.get("TMPDIR"), Some(folder.path().join("scratch").as_os_str()));
    assert_eq!(environment.get("GIT_TERMINAL_PROMPT"), Some("0".as_ref()));
}

#[tokio::test]
async fn an_agents_folder_that_is_gone_is_replaced_and_said_and_a_persons_is_left_as_it_was_named() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone/deeper");
    let orders = orders(folder.path());
    let agents = orders.prepare(Order { cwd: Some(gone.clone()), ..order("pwd") }).await.unwrap();
    assert_eq!(agents.spec.cwd.as_deref(), Some(folder.path()));
    assert!(agents.notes.iter().any(|note| note.contains("gone/deeper")), "{:?}", agents.notes);
    let persons = orders.prepare(Order { cwd: Some(gone.clone()), advise: false, ..order("pwd") }).await.unwrap();
    assert_eq!((persons.spec.cwd, persons.notes), (Some(gone), Vec::<String>::new()));
}

#[tokio::test]
async fn what_would_end_the_host_is_refused_and_so_is_a_foreground_that_never_ends() {
    let folder = tempfile::tempdir().unwrap();
    let orders = orders(folder.path());
    assert!(matches!(orders.prepare(order("sudo pkill hermes")).await, Err(Refused::Guard(_))));
    let foreground = |text| Order { background: false, ..order(text) };
    assert!(matches!(orders.prepare(foreground("npm run dev")).await, Err(Refused::Advice(_))));
    assert!(orders.prepare(order("npm run dev")).await.is_ok());
}

#[tokio::test]
async fn a_chain_in_the_background_is_rewritten_so_that_nobody_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let prepared = orders(folder.path()).prepare(order("cd / && sleep 5 &")).await.unwrap();
    let Program::Shell { text, .. } = &prepared.spec.program else { panic!("a text became a program") };
    assert_eq!(text, "cd / && { sleep 5 & }");
    assert_eq!(prepared.spec.display_command(), "cd / && sleep 5 &", "what was asked for is shown");
}
