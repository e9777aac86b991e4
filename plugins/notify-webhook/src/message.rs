//! What is sent for an event, in each format. Every text is cut to what the format takes, at a character.
//!
//! Everything here has been through the policy. Slack's own markup is escaped, so that output cannot make links or
//! mention people.

use hermes_plugin_sdk::Event;
use hermes_plugin_sdk::outside::Request;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::Settings;

/// What is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// A JSON document with every field of the event.
    #[default]
    Webhook,
    /// A message for an incoming webhook of Slack.
    Slack,
    /// A message for ntfy, published as JSON to the server's root.
    Ntfy,
}

/// The most bytes of an event's text in a document of our own.
pub const WEBHOOK_TEXT_MAX: usize = 16 * 1024;
/// The most bytes of text in a Slack message: a text object takes 3,000 characters, and escapes are longer.
pub const SLACK_TEXT_MAX: usize = 2400;
/// The most bytes of an ntfy message: longer ones become attachments.
pub const NTFY_TEXT_MAX: usize = 3500;
/// The most bytes of a command in a title.
pub const TITLE_MAX: usize = 120;

/// What stands where a text was cut.
const CUT: &str = "\n[…]";

/// The request for an event.
#[must_use]
pub fn request(settings: &Settings, event: &Event) -> Request {
    let (url, body) = match settings.format {
        Format::Webhook => (settings.url.clone(), webhook(event)),
        Format::Slack => (settings.url.clone(), slack(event)),
        Format::Ntfy => {
            let (root, topic) = ntfy_place(&settings.url);
            (root, ntfy(event, &topic))
        }
    };
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    let own = settings.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    headers.extend(own.map(|(name, value)| (name.clone(), value.clone())));
    Request { method: "POST".to_owned(), url, headers, body: body.to_string().into_bytes(), timeout_ms: 0 }
}

/// A document of our own: the event, field by field. Fields without a value are null, and none is left out.
#[must_use]
pub fn webhook(event: &Event) -> Value {
    let (text, cut) = cut(&event.text, WEBHOOK_TEXT_MAX);
    let labels: Map<String, Value> =
        event.labels.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    let or_null = |text: &str| if text.is_empty() { Value::Null } else { Value::from(text) };
    json!({
        "schema": "hermes.event.v1",
        "id": event.id,
        "kind": event.kind,
        "at_ms": event.at_ms,
        "source": or_null(&event.source),
        "command": or_null(&event.command),
        "owner": event.owner,
        "status": or_null(&event.status),
        "exit_code": event.exit_code,
        "pattern": event.pattern,
        "text": text,
        "text_cut": cut || has_label(event, "output-cut"),
        "labels": labels,
    })
}

/// A message for Slack: a title, and the text as it stands.
#[must_use]
pub fn slack(event: &Event) -> Value {
    let title = format!("*{}*", slack_escaped(&title(event)));
    let (text, _) = cut(event.text.trim_end(), SLACK_TEXT_MAX);
    // Three backticks would end the block early.
    let text = slack_escaped(&text).replace("```", "`\u{200b}`\u{200b}`");
    let text = if text.is_empty() { title } else { format!("{title}\n```\n{text}\n```") };
    json!({ "text": text })
}

/// A message for ntfy.
#[must_use]
pub fn ntfy(event: &Event, topic: &str) -> Value {
    let (text, _) = cut(event.text.trim_end(), NTFY_TEXT_MAX);
    let failed = event.exit_code.is_some_and(|code| code != 0) || event.status == "signalled" || event.status == "lost";
    json!({
        "topic": topic,
        "title": title(event),
        "message": if text.is_empty() { title(event) } else { text },
        "tags": [if failed { "x" } else { "white_check_mark" }],
        "priority": if failed { 4 } else { 3 },
    })
}

/// Where JSON is published, and the topic: the last part of the path of a topic's own URL.
#[must_use]
pub fn ntfy_place(url: &str) -> (String, String) {
    let plain = url.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let after_scheme = plain.find("://").map_or(0, |at| at + 3);
    match plain[after_scheme..].rfind('/') {
        Some(slash) => {
            let (root, topic) = plain.split_at(after_scheme + slash);
            (format!("{root}/"), topic[1..].to_owned())
        }
        None => (format!("{plain}/"), String::new()),
    }
}

/// One line that says what happened.
#[must_use]
pub fn title(event: &Event) -> String {
    let (command, cut_off) = cut(event.command.lines().next().unwrap_or_default(), TITLE_MAX);
    let command = command.replace(CUT, "…");
    let command = if command.is_empty() { event.source.clone() } else { command };
    let more = if !cut_off && event.command.lines().count() > 1 { " …" } else { "" };
    let said = match (event.kind.as_str(), event.exit_code) {
        ("completion", Some(0)) => "finished".to_owned(),
        ("completion", Some(code)) => format!("{} ({code})", ended(&event.status)),
        ("completion", None) => ended(&event.status).to_owned(),
        (kind, _) => kind.to_owned(),
    };
    if command.is_empty() { said } else { format!("{said}: {command}{more}") }
}

fn ended(status: &str) -> &str {
    match status {
        "exited" => "failed",
        "" => "finished",
        other => other,
    }
}

fn has_label(event: &Event, name: &str) -> bool {
    event.labels.iter().any(|(label, value)| label == name && value == "true")
}

/// The beginning of a text, at a character, and whether there was more. A mask is never cut in two.
fn cut(text: &str, max: usize) -> (String, bool) {
    if text.len() <= max {
        return (text.to_owned(), false);
    }
    let mut end = text.floor_char_boundary(max);
    if let Some(open) = text[..end].rfind("[REDACTED:")
        && !text[open..end].contains(']')
    {
        end = open;
    }
    (format!("{}{CUT}", &text[..end]), true)
}

/// Slack's three control characters, as its documentation asks for.
fn slack_escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(text: &str) -> Event {
        Event {
            id: "ev_1".into(),
            kind: "completion".into(),
            source: "proc_0123456789ab".into(),
            command: "make all".into(),
            owner: "cli".into(),
            status: "exited".into(),
            exit_code: Some(2),
            text: text.into(),
            ..Event::default()
        }
    }

    #[test]
    fn a_title_says_what_happened_in_one_line() {
        let mut event = event("");
        assert_eq!(title(&event), "failed (2): make all");
        event.exit_code = Some(0);
        event.command = "make\nall".into();
        assert_eq!(title(&event), "finished: make …");
        event.exit_code = None;
        event.status = "signalled".into();
        event.command = "x".repeat(200);
        assert_eq!(title(&event), format!("signalled: {}…", "x".repeat(TITLE_MAX)));
        event.kind = "server".into();
        event.command.clear();
        assert_eq!(title(&event), "server: proc_0123456789ab");
    }

    #[test]
    fn slack_gets_no_markup_from_the_output() {
        let body = slack(&event("<!channel> & ```code```"));
        let text = body["text"].as_str().unwrap();
        assert!(text.contains("&lt;!channel&gt; &amp;"), "{text}");
        assert_eq!(text.matches("```").count(), 2, "{text}");
    }

    #[test]
    fn ntfy_publishes_to_the_root_of_its_server_with_the_topic_named() {
        assert_eq!(ntfy_place("https://ntfy.sh/builds"), ("https://ntfy.sh/".into(), "builds".into()));
        assert_eq!(ntfy_place("https://h:8443/a/builds/?x"), ("https://h:8443/a/".into(), "builds".into()));
        assert_eq!(ntfy_place("https://ntfy.sh"), ("https://ntfy.sh/".into(), String::new()));
        let body = ntfy(&event("broken"), "builds");
        assert_eq!(
            (&body["topic"], &body["message"], &body["priority"]),
            (&json!("builds"), &json!("broken"), &json!(4))
        );
    }

    #[test]
    fn the_headers_of_the_settings_go_with_it_and_do_not_change_what_it_is() {
        let mut settings = Settings { url: "https://h/".into(), ..Settings::default() };
        settings.headers.insert("Authorization".into(), "Bearer t".into());
        settings.headers.insert("Content-Type".into(), "text/plain".into());
        let request = request(&settings, &event(""));
        let expected = [("content-type", "application/json"), ("Authorization", "Bearer t")];
        assert_eq!(request.headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    proptest! {
        #[test]
        fn a_cut_text_is_short_enough_and_holds_no_half_mask(text in "(x|ü|\\[REDACTED:env:A\\]| ){0,60}", max in 0usize..80) {
            let (shown, was_cut) = cut(&text, max);
            prop_assert!(shown.len() <= max + CUT.len());
            prop_assert_eq!(was_cut, text.len() > max);
            let halves = shown.matches("[REDACTED:").count();
            prop_assert_eq!(halves, shown.matches("[REDACTED:env:A]").count());
        }

        #[test]
        fn every_text_makes_a_document_that_reads_back(text: String, command: String) {
            let event = Event { command: command.clone(), ..event(&text) };
            for format in [Format::Webhook, Format::Slack, Format::Ntfy] {
                let settings = Settings { url: "https://h/t".into(), format, ..Settings::default() };
                let request = request(&settings, &event);
                let body: Value = serde_json::from_slice(&request.body).unwrap();
                prop_assert!(body.is_object());
                if format == Format::Webhook && !command.is_empty() {
                    prop_assert_eq!(body["command"].as_str(), Some(command.as_str()));
                }
            }
        }
    }
}
