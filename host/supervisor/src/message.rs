//! What a host says to its supervisor: first who it is, then which process groups are its.
//!
//! Lines of text, so that two builds of different ages either understand each other or say that they do not.

use std::fmt;

/// The variable that every process of a host carries.
pub const HOST_MARKER: &str = "HERMES_HOST";

/// The version of what is said here.
const VERSION: &str = "1";
/// The first word of the first line.
const NAME: &str = "hermes-supervisor";
/// Digits of a marker: 16 random bytes. A shorter one might be somebody else's by chance.
const MARKER_DIGITS: usize = 32;

/// Who the host is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Its number.
    pub host: i32,
    /// When it started, in clock ticks after boot: field 22 of `/proc/PID/stat`.
    pub start_ticks: u64,
    /// What each of its processes carries in [`HOST_MARKER`]: 32 hexadecimal digits.
    pub marker: String,
}

/// Why a first line is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoHello {
    /// The host speaks another version.
    Version,
    /// It says something else.
    Malformed,
}

impl fmt::Display for NoHello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version => f.write_str(
                "the host speaks another version of the protocol; install hermes and hermes-supervisor of one release",
            ),
            Self::Malformed => f.write_str(
                "this program is started by hermes and told what to do; there is no use in running it by hand",
            ),
        }
    }
}

impl fmt::Display for Hello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{NAME} {VERSION} {} {} {}", self.host, self.start_ticks, self.marker)
    }
}

impl Hello {
    /// Reads a first line, without its newline.
    ///
    /// # Errors
    /// [`NoHello`]: nothing can be protected.
    pub fn parse(line: &[u8]) -> Result<Self, NoHello> {
        let mut fields = std::str::from_utf8(line).map_err(|_| NoHello::Malformed)?.split(' ');
        match (fields.next(), fields.next()) {
            (Some(NAME), Some(VERSION)) => {}
            (Some(NAME), Some(_)) => return Err(NoHello::Version),
            _ => return Err(NoHello::Malformed),
        }
        let fields = (fields.next(), fields.next(), fields.next(), fields.next());
        let (Some(host), Some(start_ticks), Some(marker), None) = fields else { return Err(NoHello::Malformed) };
        let (Some(host), Ok(start_ticks)) = (number(host), start_ticks.parse()) else { return Err(NoHello::Malformed) };
        if !is_marker(marker) {
            return Err(NoHello::Malformed);
        }
        Ok(Self { host, start_ticks, marker: marker.to_owned() })
    }
}

/// Whether this is a marker as hosts make them.
pub(crate) fn is_marker(text: &str) -> bool {
    text.len() == MARKER_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What a host says after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// This process group is the host's.
    Register(i32),
    /// Nobody of this group is left.
    Unregister(i32),
    /// The host needs no supervisor any more: the end of the pipe is no death.
    Release,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Register(group) => writeln!(f, "register {group}"),
            Self::Unregister(group) => writeln!(f, "unregister {group}"),
            Self::Release => writeln!(f, "release"),
        }
    }
}

impl Message {
    /// Reads a line, without its newline. Anything else than these three is none.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = std::str::from_utf8(line).ok()?.split(' ');
        match (fields.next()?, fields.next(), fields.next()) {
            ("register", Some(group), None) => number(group).map(Self::Register),
            ("unregister", Some(group), None) => number(group).map(Self::Unregister),
            ("release", None, None) => Some(Self::Release),
            _ => None,
        }
    }
}

/// A number of a process or a group that may be signalled: 0 means the own group, 1 is the system's, and a negative one
/// is another kind of thing.
fn number(field: &str) -> Option<i32> {
    let plain = field.bytes().all(|byte| byte.is_ascii_digit());
    field.parse().ok().filter(|number| plain && *number > 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MARKER: &str = "0123456789abcdef0123456789abcdef";

    fn line(text: &str) -> &[u8] {
        text.strip_suffix('\n').unwrap().as_bytes()
    }

    #[test]
    fn what_is_no_message_is_ignored() {
        for text in [
            "",
            "register",
            "register 5 6",
            "register x",
            "register +5",
            "register 05x",
            "register  5",
            "register 0",
            "register 1",
            "register -7",
            "register 99999999999999999999",
            "unregister",
            "release 5",
            "Register 5",
            "quit",
            " register 5",
        ] {
            assert_eq!(Message::parse(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(Message::parse(b"register \xff"), None);
    }

    #[test]
    fn another_version_is_told_from_noise() {
        assert_eq!(Hello::parse(format!("hermes-supervisor 2 7 8 {MARKER}").as_bytes()), Err(NoHello::Version));
        assert_eq!(Hello::parse(b"hermes-supervisor 9"), Err(NoHello::Version));
        for text in [
            "",
            "hello",
            "hermes-supervisor",
            "hermes-supervisor 1",
            "hermes-supervisor 1 7 8 abc",
            "hermes-supervisor 1 7 8 ",
            "hermes-supervisor 1 1 8 0123456789abcdef0123456789abcdef",
            "hermes-supervisor 1 7 x 0123456789abcdef0123456789abcdef",
            "hermes-supervisor 1 7 8 0123456789abcdef0123456789abcdeg",
            "hermes-supervisor 1 7 8 0123456789abcdef0123456789abcdef 9",
        ] {
            assert_eq!(Hello::parse(text.as_bytes()), Err(NoHello::Malformed), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_said_is_understood(group in 2..i32::MAX, start_ticks in any::<u64>()) {
            for message in [Message::Register(group), Message::Unregister(group), Message::Release] {
                prop_assert_eq!(Message::parse(line(&message.to_string())), Some(message));
            }
            let hello = Hello { host: group, start_ticks, marker: MARKER.to_owned() };
            prop_assert_eq!(Hello::parse(line(&hello.to_string())), Ok(hello));
        }

        #[test]
        fn arbitrary_bytes_are_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = (Message::parse(&bytes), Hello::parse(&bytes));
        }
    }
}
