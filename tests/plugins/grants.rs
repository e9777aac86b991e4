//! Grants: who may have what, what they let a notifier do, and what becomes of them with another version.

use std::io::{Read, Write};
use std::net::TcpListener;

use hermes_model::context::{Context, Surface};
use hermes_model::event::EventKind;
use hermes_model::id::Owner;
use hermes_model::report::PolicyReport;
use hermes_output::event::{Event, Notifier, Verdict};
use hermes_output::exact::ExactValues;
use hermes_output::reveal::reveal_text;
use hermes_tests::home::TestHome;
use hermes_tests::policy::open;
use hermes_tests::{guests, manifests};

/// Installs the guest that uses what it is granted, asking for this.
pub(crate) fn install(home: &TestHome, permissions: &[&str]) {
    let manifest = format!("{}permissions = {permissions:?}\n", manifests::plain("uses-grants", "notify"));
    let path = guests::write(&home.work(), "uses-grants", &manifest);
    drop(home.run(["plugins", "install", &path.display().to_string()]).expect(0));
}

/// What the guest says to this text, in a host that opens the home now.
pub(crate) fn told(home: &TestHome, text: &str) -> String {
    let plugins = open(home);
    let chain = plugins.policy();
    let output = reveal_text(&*chain, &Context::new(Surface::Completion), text, &ExactValues::default()).text;
    let event = Event {
        id: "event".into(),
        kind: EventKind::Completion,
        process: None,
        command: output.clone(),
        owner: Owner::default(),
        at: std::time::SystemTime::UNIX_EPOCH,
        status: None,
        output,
        output_cut: false,
        pattern: None,
        suppressed: 0,
        hidden: false,
        policy: PolicyReport::default(),
    };
    let index = (0..chain.notifiers()).find(|index| chain.notifier_name(*index) == "uses-grants").unwrap();
    match chain.decide(index, 1, &event) {
        Ok(Verdict::Rewrite(said)) => said,
        other => panic!("{other:?}"),
    }
}

fn state(home: &TestHome) -> String {
    home.row("uses-grants")["state"].as_str().unwrap().to_owned()
}

fn granted(home: &TestHome) -> Vec<String> {
    let row = home.row("uses-grants");
    row["permissions"]["granted"].as_array().unwrap().iter().map(|grant| grant.as_str().unwrap().to_owned()).collect()
}

#[test]
fn only_what_a_plugin_asks_for_is_granted_and_the_answer_says_what_it_asks_for() {
    let home = TestHome::new();
    install(&home, &["storage", "http:a.example.com"]);
    assert_eq!(state(&home), "needs-grant");
    let grant = |words: &[&str]| home.run(["plugins", "grant", "uses-grants"].iter().chain(words));
    let refused = grant(&["http:b.example.com"]).expect(1).stderr;
    assert!(
        refused.contains("does not ask for 'http:b.example.com'; it asks for: storage http:a.example.com"),
        "{refused}"
    );
    let other_port = grant(&["http:a.example.com:8443"]).expect(1).stderr;
    assert!(other_port.contains("does not ask for"), "{other_port}");
    assert!(grant(&["files"]).expect(2).stderr.contains("permission 'files' is not known"));
    assert!(grant(&["http:a.example.com+plain"]).expect(2).stderr.contains("+private+plain"));
    assert_eq!(granted(&home), [""; 0]);

    let said = grant(&["storage"]).expect(0).all();
    assert!(said.contains("asks for: storage, http:a.example.com"), "{said}");
    assert!(said.contains("granted: storage"), "{said}");
    assert!(said.contains("missing: http:a.example.com"), "{said}");
    assert_eq!(state(&home), "needs-grant");
    drop(grant(&["--all"]).expect(0));
    assert_eq!((state(&home).as_str(), granted(&home).len()), ("loaded", 2));
}

#[test]
fn what_was_granted_is_taken_back_and_a_rollback_gives_it_again() {
    let home = TestHome::new();
    install(&home, &["storage"]);
    drop(home.run(["plugins", "grant", "uses-grants", "--all"]).expect(0));
    let wrong = home.run(["plugins", "revoke", "uses-grants", "http:a.example.com"]).expect(1).stderr;
    assert!(wrong.contains("has no grant 'http:a.example.com'; granted: storage"), "{wrong}");
    drop(home.run(["plugins", "revoke", "uses-grants", "--all"]).expect(0));
    assert_eq!(state(&home), "needs-grant");
    drop(home.run(["plugins", "rollback"]).expect(0));
    assert_eq!(state(&home), "loaded");
}

#[test]
fn nothing_is_granted_to_what_sees_raw_text_or_asks_for_nothing() {
    let home = TestHome::new();
    let raw = home.run(["plugins", "grant", "redact-secrets", "storage"]).expect(1).stderr;
    assert!(raw.contains("has the hook redact, which sees raw text"), "{raw}");
    home.install_guest("quiet-notifier", "notify");
    let none = home.run(["plugins", "grant", "quiet-notifier", "storage"]).expect(1).stderr;
    assert!(none.contains("asks for no permission"), "{none}");
    let unknown = home.run(["plugins", "grant", "quiet-notifer", "storage"]).expect(1).stderr;
    assert!(unknown.contains("did you mean 'quiet-notifier'"), "{unknown}");
}

#[test]
fn another_version_keeps_what_it_asks_for_too_and_waits_for_what_is_new() {
    let home = TestHome::new();
    install(&home, &["storage", "http:a.example.com"]);
    drop(home.run(["plugins", "grant", "uses-grants", "--all"]).expect(0));
    install(&home, &["storage"]);
    assert_eq!((state(&home).as_str(), granted(&home)), ("loaded", vec!["storage".to_owned()]));
    install(&home, &["storage", "http:a.example.com"]);
    assert_eq!((state(&home).as_str(), granted(&home)), ("needs-grant", vec!["storage".to_owned()]));
}

#[test]
fn a_host_that_the_operator_names_is_asked_for_by_http_alone() {
    let home = TestHome::new();
    install(&home, &["http"]);
    let all = home.run(["plugins", "grant", "uses-grants", "--all"]).expect(1).stderr;
    assert!(all.contains("`hermes plugins grant uses-grants http:HOST`"), "{all}");
    drop(home.run(["plugins", "grant", "uses-grants", "http:a.example.com:8443+private"]).expect(0));
    assert_eq!(state(&home), "loaded");
    let shown = home.run(["plugins", "show", "uses-grants"]).expect(0).stdout;
    assert!(shown.contains("http (granted: http:a.example.com:8443+private)"), "{shown}");
}

#[test]
fn requests_reach_the_hosts_that_were_granted_and_no_others() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
        }
    });
    let home = TestHome::new();
    install(&home, &["http"]);
    drop(home.run(["plugins", "grant", "uses-grants", &format!("http:127.0.0.1:{port}+private+plain")]).expect(0));
    assert_eq!(told(&home, &format!("ASK http://127.0.0.1:{port}/")), "Ok(204)");
    for other in
        [format!("http://localhost:{port}/"), "http://127.0.0.1/".to_owned(), "https://example.com/".to_owned()]
    {
        let said = told(&home, &format!("ASK {other}"));
        assert!(said.starts_with("Err(Denied(") && said.contains("not among the hosts that were granted"), "{said}");
    }
    let said = told(&home, "GET key");
    assert!(said.contains("the permission was not granted"), "{said}");
}

#[test]
fn a_wait_ends_before_the_calls_own_time_does() {
    let home = TestHome::new();
    install(&home, &[]);
    assert_eq!(told(&home, "SLEEP 5"), "Ok(5)");
    let said = told(&home, "SLEEP 3600000");
    let waited: u32 = said.trim_start_matches("Ok(").trim_end_matches(')').parse().unwrap();
    // 10 s, less 100 ms, less what was used before.
    assert!((1000..=9900).contains(&waited), "{waited}");
}
