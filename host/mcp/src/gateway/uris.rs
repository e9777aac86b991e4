//! How a resource of a server is called here, and back.
//!
//! A listed one is `hermes://server/NAME/` and its own URI with everything escaped that could be mistaken for a part of
//! ours. A template is `hermes://template/NAME/` and the template as it is: what a client puts into it arrives at the server
//! exactly as if it had filled in the original.

use hermes_model::id::ServerName;

const LISTED: &str = "hermes://server/";
const TEMPLATE: &str = "hermes://template/";
const PROCESS: &str = "hermes://process/";
const RESULT: &str = "hermes://results/";

/// What a URI names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// The log of a process.
    Log(String),
    /// A result that was too large for its answer.
    Result(String),
    /// A resource of a server, by its own URI.
    OfServer(String, String),
}

/// The URI of a resource of a server.
pub(crate) fn of_resource(server: &ServerName, own: &str) -> String {
    format!("{LISTED}{server}/{}", escape(own))
}

/// The URI of a template of a server.
pub(crate) fn of_template(server: &ServerName, own: &str) -> String {
    format!("{TEMPLATE}{server}/{own}")
}

/// The URI of a process's log.
pub(crate) fn of_log(process: &str) -> String {
    format!("{PROCESS}{process}/log")
}

/// The URI of a result that was kept.
pub(crate) fn of_result(id: &str) -> String {
    format!("{RESULT}{id}")
}

/// What a URI names; none: nothing of this host.
pub(crate) fn read(uri: &str) -> Option<Named> {
    if let Some(rest) = uri.strip_prefix(PROCESS) {
        return Some(Named::Log(rest.strip_suffix("/log")?.to_owned()));
    }
    if let Some(id) = uri.strip_prefix(RESULT) {
        return Some(Named::Result(id.to_owned()));
    }
    if let Some(rest) = uri.strip_prefix(LISTED) {
        let (server, own) = rest.split_once('/')?;
        return Some(Named::OfServer(server.to_owned(), unescape(own)?));
    }
    let (server, own) = uri.strip_prefix(TEMPLATE)?.split_once('/')?;
    Some(Named::OfServer(server.to_owned(), own.to_owned()))
}

/// Escapes everything but the unreserved characters of RFC 3986.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn unescape(text: &str) -> Option<String> {
    let (mut out, mut bytes) = (Vec::with_capacity(text.len()), text.bytes());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        out.push(digit(bytes.next()?)? << 4 | digit(bytes.next()?)?);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn server() -> ServerName {
        "files".parse().unwrap()
    }

    #[test]
    fn our_own_resources_are_told_from_those_of_servers() {
        assert_eq!(read(&of_log("proc_0a")), Some(Named::Log("proc_0a".into())));
        assert_eq!(read(&of_result("res_0a")), Some(Named::Result("res_0a".into())));
        for other in
            ["file:///etc/passwd", "hermes://process/x", "hermes://server/x", "hermes://server/x/%zz", "hermes://x"]
        {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn a_template_that_was_filled_in_arrives_as_it_was_filled_in() {
        let offered = of_template(&server(), "file:///{path}");
        assert_eq!(offered, "hermes://template/files/file:///{path}");
        let filled = offered.replace("{path}", "a%2Fb");
        assert_eq!(read(&filled), Some(Named::OfServer("files".into(), "file:///a%2Fb".into())));
    }

    proptest! {
        #[test]
        fn a_resource_is_found_again(own in ".{0,40}") {
            let uri = of_resource(&server(), &own);
            prop_assert!(uri.is_ascii());
            prop_assert_eq!(read(&uri), Some(Named::OfServer("files".into(), own)));
        }
    }
}
