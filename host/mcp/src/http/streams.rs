//! The two streams of a session, and its name.
//!
//! What is written into them for the client must have been revealed: nothing here looks at it any more.

use std::io;

use rustix::rand::GetRandomFlags;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, duplex};

/// How much of a session's messages is on the way between its peer and the server, in bytes each way.
const ON_THE_WAY: usize = 64 << 10;
/// The random bytes of a name: nobody guesses 128 bits.
const ID_BYTES: usize = 16;

/// The server's ends of the two streams of a session. One JSON-RPC message a line, in both directions.
pub struct Streams {
    pub(super) read: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) write: Box<dyn AsyncWrite + Send + Unpin>,
}

impl Streams {
    /// From `read` comes what the peer says, to `write` goes what the client says. The session ends when `read` does, and
    /// drops both when the client leaves.
    pub fn new<R, W>(read: R, write: W) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self { read: Box::new(read), write: Box::new(write) }
    }

    /// Streams within this process, and the far end, for the peer.
    pub fn pair() -> (Self, DuplexStream) {
        let (near, far) = duplex(ON_THE_WAY);
        let (read, write) = tokio::io::split(near);
        (Self::new(read, write), far)
    }
}

/// The name of a session. Whoever knows it and may call at all can speak in the session, so it is not printed: no `Debug`,
/// no `Display`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SessionId(String);

impl SessionId {
    /// A new one: 128 random bits, in hexadecimal.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(super) fn random() -> io::Result<Self> {
        random::<ID_BYTES>().map(|bytes| Self(hex(&bytes)))
    }

    /// As it stands in the header.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Random bytes of the system.
pub(super) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += rustix::rand::getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// Bytes in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_sessions_have_one_name() {
        let (one, other) = (SessionId::random().unwrap(), SessionId::random().unwrap());
        assert!(one != other);
        assert!(one.as_str().len() == 32 && one.as_str().bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
