//! What a notification says of an event: one line, and the end of its text.

use hermes_model::event::EventKind;
use hermes_model::status::Status;
use hermes_output::event::Event;
use hermes_output::visible::Visible;

/// The most bytes of a command in the first line: desktops show some forty characters.
pub const COMMAND_MAX: usize = 80;
/// The most bytes of text below it: desktops show a few lines, and errors stand at the end.
pub const TEXT_MAX: usize = 400;

/// A notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What happened.
    pub summary: String,
    /// The end of the event's text, without markup.
    pub body: String,
}

impl Message {
    /// What is said of an event.
    pub fn of(event: &Event) -> Self {
        let command = first_line(&event.command);
        let happened = happened(event);
        let summary = if command.is_empty() { happened } else { format!("{happened}: {command}") };
        Self { summary, body: event.output.last(TEXT_MAX).as_str().trim().to_owned() }
    }
}

fn happened(event: &Event) -> String {
    match (event.kind, &event.status) {
        (EventKind::Completion, Some(Status::Exited(0))) => "finished".to_owned(),
        (EventKind::Completion, Some(Status::Exited(code))) => format!("failed ({code})"),
        (EventKind::Completion, Some(status)) => status.kind().to_owned(),
        (kind, _) => kind.name().to_owned(),
    }
}

fn first_line(command: &Visible) -> String {
    let end = command.as_str().find('\n').unwrap_or(command.len());
    let line = command.part(0..end);
    let shown = line.first(COMMAND_MAX);
    let more = if shown.len() < command.len() { "…" } else { "" };
    format!("{}{more}", shown.as_str().trim_end())
}

/// A text in the markup of notification bodies (the desktop notifications specification, § markup: XML).
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::SystemTime;

    use hermes_fakes::policy::Fake;
    use hermes_model::context::{Context, Surface};
    use hermes_model::id::Owner;
    use hermes_model::report::PolicyReport;
    use hermes_output::exact::ExactValues;
    use hermes_output::reveal::reveal_text;
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn event(kind: EventKind, command: &str, output: &str, status: Option<Status>) -> Event {
        let policy = Fake::default();
        let shown =
            |text: &str| reveal_text(&policy, &Context::new(Surface::Completion), text, &ExactValues::default()).text;
        Event {
            id: "e".into(),
            kind,
            process: None,
            command: shown(command),
            owner: Owner::default(),
            at: SystemTime::UNIX_EPOCH,
            status,
            output: shown(output),
            output_cut: false,
            pattern: None,
            suppressed: 0,
            hidden: false,
            policy: PolicyReport::default(),
        }
    }

    #[test]
    fn a_notification_says_what_happened_and_shows_the_end_of_the_text() {
        let said = |status| Message::of(&event(EventKind::Completion, "make all", "one\ntwo\n", status));
        assert_eq!(
            said(Some(Status::Exited(0))),
            Message { summary: "finished: make all".into(), body: "one\ntwo".into() }
        );
        assert_eq!(said(Some(Status::Exited(2))).summary, "failed (2): make all");
        assert_eq!(said(Some(Status::TimedOut)).summary, "timed-out: make all");
        let long = Message::of(&event(EventKind::Match, "a\nb", &"line of text\n".repeat(100), Some(Status::Running)));
        assert_eq!(long.summary, "match: a…");
        assert!(long.body.len() <= TEXT_MAX && long.body.starts_with("line of"), "{}", long.body);
        assert_eq!(Message::of(&event(EventKind::Server, "", "", None)).summary, "server");
    }

    #[test]
    fn output_speaks_no_markup() {
        assert_eq!(escaped("<b>a</b> & <a href='x'>"), "&lt;b&gt;a&lt;/b&gt; &amp; &lt;a href='x'&gt;");
    }

    proptest! {
        #[test]
        fn a_notification_is_short_whatever_is_shown(command in "\\PC{0,300}", output in "(\\PC|\n){0,900}") {
            let message = Message::of(&event(EventKind::Completion, &command, &output, Some(Status::Exited(1))));
            prop_assert!(message.summary.len() <= COMMAND_MAX + 40);
            prop_assert!(message.body.len() <= TEXT_MAX);
            prop_assert!(!message.summary.contains('\n'));
        }
    }
}
