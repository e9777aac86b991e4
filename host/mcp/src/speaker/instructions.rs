//! What a model is told of the whole, once: how to run commands, wait for them, and use the servers.

/// How long all of it may be, in words: a model reads it before its first step, of every host it is connected to.
const WORDS_MAX: usize = 300;
/// Said where something is left out.
const LEFT_OUT: &str = "\n\n[what some servers say of themselves is too long to be repeated here]";
/// How many servers are named; of more, how many there are.
const NAMED: usize = 30;

/// The instructions for an agent of a host with these servers.
pub(crate) fn of(servers: &[&str]) -> String {
    let mut text = "hermes runs commands and MCP servers for you, and masks secrets in everything they say: a text like \
[REDACTED:...] stands where one was, and cannot be had.

Use 'terminal' to run a command. A short one runs in the foreground, and its output and exit code are the answer. Give a \
long one, or one that never ends (a server, a watcher, a build), \"background\": true: you get an id at once. Add \"notify\": \
true to be told of its end, and \"watch\" to be told of a text it prints. Do not use nohup, '&' or sleep loops.

Use 'process' for what runs: 'log' reads its output (page with 'offset' and 'limit'), 'wait' waits for its end, 'send' types \
into it, 'kill' ends it with everything it started. 'events' says what happened since you last asked; ask when you are told \
that events wait, or with 'wait_ms' when there is nothing else to do.

An answer that is too long is cut, and says so with an id that begins with 'res_': 'process' with action 'log' and this id \
reads the rest, as does the resource that is named there. An answer that says 'outcome_uncertain' may or may not have been \
carried out: look before you try again. Processes end with your session; where several agents share \
this host, those started with \"persist\": true go on."
        .to_owned();
    if !servers.is_empty() {
        let named = servers[..servers.len().min(NAMED)].join(", ");
        let more = servers.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        text.push_str(&format!(
            "\n\nTools of MCP servers are called 'SERVER__TOOL'. A server that is still starting appears in the list of tools \
             later. Servers: {named}{more}."
        ));
    }
    text
}

/// What servers say of themselves, each under its name, as far as it fits behind the instructions of this host. A text is
/// passed on whole or not at all: half an instruction may say the opposite.
pub(crate) fn from_servers<'a>(own: &str, all: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let words = |text: &str| text.split_whitespace().count();
    let (mut text, mut left_out) = (String::new(), false);
    let room = WORDS_MAX.saturating_sub(words(own) + words(LEFT_OUT));
    for (name, said) in all {
        let part = format!("\n\nFrom the server {name}:\n{}", said.trim());
        if words(&text) + words(&part) < room {
            text.push_str(&part);
        } else {
            left_out = true;
        }
    }
    if left_out {
        text.push_str(LEFT_OUT);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_are_short_and_name_the_servers() {
        let many: Vec<String> = (0..100).map(|number| format!("server-{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let text = of(&many);
        assert!(text.split_whitespace().count() < 300, "{}", text.split_whitespace().count());
        assert!(text.contains("server-0, server-1") && text.contains("and 70 more"));
        assert!(!of(&[]).contains("SERVER__TOOL"));
    }

    #[test]
    fn servers_speak_under_their_own_names_as_far_as_there_is_room() {
        let own = of(&["s0", "s1"]);
        let said = |texts: &[&str]| {
            let names: Vec<String> = (0..texts.len()).map(|number| format!("s{number}")).collect();
            from_servers(&own, names.iter().map(String::as_str).zip(texts.iter().copied()))
        };
        assert_eq!(
            said(&["be kind\n", "be brief"]),
            "\n\nFrom the server s0:\nbe kind\n\nFrom the server s1:\nbe brief"
        );
        let much = said(&[&"word ".repeat(200), "be kind"]);
        assert_eq!(much, format!("\n\nFrom the server s1:\nbe kind{LEFT_OUT}"));
        let many = said(&["four words of advice"; 100]);
        assert!((own.clone() + &many).split_whitespace().count() < WORDS_MAX && many.ends_with(LEFT_OUT), "{many}");
        assert_eq!(said(&[]), "");
    }
}
