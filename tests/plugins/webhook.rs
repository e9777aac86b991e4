//! `notify-webhook` in the running host, against a real HTTPS server: what arrives, what is tried again, and that nobody
//! waits for it.

mod server;

use hermes_tests::home::TestHome;
use hermes_tests::hosted::Hosted;
use hermes_tests::wait;
use serde_json::Value;

use self::server::{Answer, Server};

/// A home in which events go to this server.
fn sending(server: &Server, path: &str, more: &str) -> Hosted {
    let home = TestHome::new().with("SSL_CERT_FILE", &server.authority().display().to_string());
    let url = format!("https://127.0.0.1:{}{path}", server.port);
    let hosted = Hosted::of(home, &format!("[plugins.notify-webhook.settings]\nurl = \"{url}\"\n{more}"));
    drop(hosted.run(&["plugins", "install", "notify-webhook"]).expect(0));
    hosted
}

/// The same, with everything granted.
fn granted(server: &Server, path: &str, more: &str) -> Hosted {
    let hosted = sending(server, path, more);
    drop(hosted.run(&["plugins", "grant", "notify-webhook", "storage", &server.grant()]).expect(0));
    assert_eq!(hosted.home().row("notify-webhook")["state"], "loaded");
    hosted
}

fn always(status: u16) -> impl Fn(usize) -> Answer {
    move |_| Answer::Status(status, "")
}

/// A document without what is another one each time.
fn steady(mut body: Value) -> Value {
    for (field, word) in [("id", "[ID]"), ("at_ms", "[TIME]"), ("source", "[PROCESS]")] {
        if body.get(field).is_some() {
            body[field] = word.into();
        }
    }
    body
}

#[test]
fn an_event_arrives_as_a_document_as_a_message_for_slack_and_as_one_for_ntfy() {
    let bodies: Vec<Value> = ["webhook", "slack", "ntfy"]
        .iter()
        .map(|format| {
            let server = Server::start(always(200));
            let hosted = granted(&server, "/builds", &format!("format = \"{format}\"\n"));
            drop(hosted.background(&["--notify", "-c", "echo 'a <b> & \"c\"'; exit 3"]));
            let asked = server.until_asked(1).remove(0);
            let path = if *format == "ntfy" { "/" } else { "/builds" };
            assert_eq!(asked.line, format!("POST {path} HTTP/1.1"));
            assert!(asked.head.contains("content-type: application/json\r\n"), "{}", asked.head);
            assert_eq!(hosted.events(1, &[]).len(), 1, "it is delivered too");
            steady(asked.body)
        })
        .collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&bodies).unwrap(), @r#"
    [
      {
        "schema": "hermes.event.v1",
        "id": "[ID]",
        "kind": "completion",
        "at_ms": "[TIME]",
        "source": "[PROCESS]",
        "command": "echo 'a <b> & \"c\"'; exit 3",
        "owner": "cli",
        "status": "exited",
        "exit_code": 3,
        "pattern": null,
        "text": "a <b> & \"c\"\n",
        "text_cut": false,
        "labels": {}
      },
      {
        "text": "*failed (3): echo 'a &lt;b&gt; &amp; \"c\"'; exit 3*\n```\na &lt;b&gt; &amp; \"c\"\n```"
      },
      {
        "topic": "builds",
        "title": "failed (3): echo 'a <b> & \"c\"'; exit 3",
        "message": "a <b> & \"c\"",
        "tags": [
          "x"
        ],
        "priority": 4
      }
    ]
    "#);
}

#[test]
fn a_server_that_is_unwell_is_asked_again_and_the_event_is_sent_once() {
    let server = Server::start(|number| Answer::Status(if number < 2 { 503 } else { 200 }, ""));
    let hosted = granted(&server, "/", "headers = { Authorization = \"Bearer t0ken\" }\n");
    drop(hosted.background(&["--notify", "--", "true"]));
    let asked = server.until_asked(3);
    assert!(asked.iter().all(|asked| asked.body["id"] == asked.body["id"]));
    assert!(asked[2].head.contains("authorization: bearer t0ken\r\n"), "{}", asked[2].head);
    drop(hosted.events(1, &[]));
    assert_eq!(server.asked().len(), 3, "an event that arrived is not sent again");
}

#[test]
fn a_server_that_stays_unwell_costs_the_budget_and_the_event_is_delivered() {
    let server = Server::start(always(500));
    let hosted = granted(&server, "/", "budget_ms = 1500\ntries = 10\n");
    drop(hosted.background(&["--notify", "--", "true"]));
    let event = hosted.events(1, &[]).remove(0);
    assert_eq!(event["kind"], "completion", "{event}");
    let tries = server.asked().len();
    assert!((2..10).contains(&tries), "it was tried {tries} times");
}

#[test]
fn a_redirect_is_not_followed() {
    let server = Server::start(|_| Answer::Status(307, "location: /elsewhere\r\n"));
    let hosted = granted(&server, "/", "");
    drop(hosted.background(&["--notify", "--", "true"]));
    drop(hosted.events(1, &[]));
    let lines: Vec<String> = server.asked().into_iter().map(|asked| asked.line).collect();
    assert_eq!(lines, ["POST / HTTP/1.1"]);
}

#[test]
fn a_private_address_is_reached_only_where_the_grant_says_so_and_a_running_host_follows() {
    let server = Server::start(always(200));
    let hosted = sending(&server, "/", "tries = 1\n");
    let public = server.grant().replace("+private", "");
    drop(hosted.run(&["plugins", "grant", "notify-webhook", "storage", &public]).expect(0));
    assert_eq!(hosted.home().row("notify-webhook")["state"], "loaded");
    drop(hosted.background(&["--notify", "--", "true"]));
    drop(hosted.events(1, &[]));
    assert_eq!(server.asked().len(), 0);
    // The grant for the same place takes the place of the first.
    drop(hosted.run(&["plugins", "grant", "notify-webhook", &server.grant()]).expect(0));
    assert_eq!(hosted.home().row("notify-webhook")["permissions"]["granted"].as_array().unwrap().len(), 2);
    wait::until("a request after the grant", wait::PATIENCE, || {
        drop(hosted.background(&["--notify", "--", "true"]));
        drop(hosted.events(1, &[]));
        (!server.asked().is_empty()).then_some(())
    });
}

#[test]
fn without_a_grant_it_waits_is_listed_so_and_every_event_says_it() {
    let server = Server::start(always(200));
    let hosted = sending(&server, "/", "");
    let row = hosted.home().row("notify-webhook");
    assert_eq!((&row["state"], &row["problems"][0]["code"]), (&"needs-grant".into(), &"needs-grant".into()), "{row}");
    let next: Vec<&str> =
        row["problems"].as_array().unwrap().iter().filter_map(|problem| problem["next"].as_str()).collect();
    assert_eq!(
        next,
        [
            "`hermes plugins grant notify-webhook http:HOST`, if you want that",
            "`hermes plugins grant notify-webhook storage`, if you want that"
        ]
    );
    drop(hosted.background(&["--notify", "--", "true"]));
    let event = hosted.events(1, &[]).remove(0);
    let warnings = event["policy"]["warnings"].to_string();
    assert!(warnings.contains("notifier notify-webhook is not in force (needs-grant)"), "{warnings}");
    assert_eq!(server.asked().len(), 0);
}

#[test]
fn a_secret_in_the_output_and_in_the_command_arrives_as_its_mask() {
    let server = Server::start(always(200));
    let hosted = granted(&server, "/", "");
    let secret = "ghp_Zq8xPl0aMn3vKc7dRt5yWb2eHu9jLs4gTf6k";
    drop(hosted.background(&["--notify", "-c", &format!("echo token {secret}")]));
    let body = server.until_asked(1).remove(0).body.to_string();
    assert!(!body.contains(&secret[8..20]), "{body}");
    assert_eq!(body.matches("[REDACTED:github-pat]").count(), 2, "{body}");
}

#[test]
fn a_server_that_never_answers_holds_up_no_reply() {
    let server = Server::start(|_| Answer::Never);
    let hosted = granted(&server, "/", "budget_ms = 9500\ntries = 1\n");
    drop(hosted.background(&["--notify", "--", "true"]));
    drop(server.until_asked(1));
    // Each of these is answered by the host while its notifier waits for the server.
    let id = hosted.background(&["--", "echo", "hello"]);
    drop(hosted.run(&["wait", &id]).expect(0));
    assert_eq!(hosted.run(&["logs", &id]).expect(0).stdout, "hello\n");
    assert_eq!(hosted.rows(&["--all"]).len(), 2);
    assert_eq!(server.given_up(), 0, "the notifier still waits");
    let event = hosted.events(1, &[]).remove(0);
    assert_eq!(event["kind"], "completion", "{event}");
}

#[test]
fn however_many_events_wait_for_a_server_no_reply_is_held_up_or_withheld() {
    let server = Server::start(|_| Answer::Never);
    let hosted = granted(&server, "/", "budget_ms = 9500\ntries = 1\n");
    // As many as there are instances of plugins in a host: if each of these events held one, no redactor would have any.
    for _ in 0..48 {
        drop(hosted.background(&["--notify", "--", "true"]));
    }
    drop(server.until_asked(16));
    let hanging = server.asked().len() - server.given_up();
    assert!(hanging <= 20, "{hanging} events wait for the server at once");
    let id = hosted.background(&["--", "echo", "hello"]);
    drop(hosted.run(&["wait", &id]).expect(0));
    assert_eq!(hosted.run(&["logs", &id]).expect(0).stdout, "hello\n");
}

#[test]
fn what_the_settings_hold_is_in_no_log_and_no_list() {
    let server = Server::start(always(401));
    let hosted = granted(&server, "/T0KEN-in-the-path", "headers = { Authorization = \"Bearer T0KEN-in-a-header\" }\n");
    drop(hosted.background(&["--notify", "--", "true"]));
    drop(hosted.events(1, &[]));
    drop(server.until_asked(1));
    let log = std::fs::read_to_string(hosted.root().join("logs").join("host.log")).unwrap();
    let said: String = [["plugins", "list"], ["plugins", "list"], ["doctor", "-v"]]
        .iter()
        .map(|words| hosted.run(words).all())
        .chain([hosted.run(&["plugins", "show", "notify-webhook"]).all(), log])
        .collect();
    assert!(!said.contains("T0KEN"), "{said}");
}
