//! The token a caller must bring.
//!
//! It must never be printed, and never be compared in a way that says how much of a wrong one is right.

use std::io;

use sha2::{Digest, Sha256};

use super::streams::{hex, random};

/// The random bytes of a token.
const BYTES: usize = 32;
/// The shortest text that is taken for a token, in bytes: 128 bits in hexadecimal.
const LENGTH_MIN: usize = 32;
/// The longest one, in bytes.
const LENGTH_MAX: usize = 512;

/// What a caller brings as `Authorization: Bearer …`. No `Debug`, no `Display`.
#[derive(Clone)]
pub struct Token(String);

/// A text that cannot be a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no token: 32 to 512 letters, digits and -._~+/= are; remove the file, and a new one is made")]
pub struct NoToken;

impl Token {
    /// A new one: 256 random bits, in hexadecimal.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn random() -> io::Result<Self> {
        random::<BYTES>().map(|bytes| Self(hex(&bytes)))
    }

    /// One that was kept. Blanks around it are not part of it.
    ///
    /// # Errors
    /// It is too short or too long, or has bytes no header can carry.
    pub fn parse(text: &str) -> Result<Self, NoToken> {
        let text = text.trim_ascii();
        let fits = (LENGTH_MIN..=LENGTH_MAX).contains(&text.len());
        let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte));
        if fits && plain { Ok(Self(text.to_owned())) } else { Err(NoToken) }
    }

    /// The text to keep, in a file only its owner reads, and to hand to callers.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether this is what a caller brought. Digests are compared: how soon they differ says nothing of the text.
    pub(super) fn is(&self, brought: &[u8]) -> bool {
        Sha256::digest(brought) == Sha256::digest(self.0.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = Token::random().unwrap();
        let text = token.reveal().to_owned();
        assert!(token.is(text.as_bytes()));
        assert!(!token.is(&text.as_bytes()[1..]) && !token.is(b"") && !token.is(format!("{text} ").as_bytes()));
        assert!(!token.is(Token::random().unwrap().reveal().as_bytes()));
    }

    #[test]
    fn a_kept_token_is_read_back() {
        let token = Token::random().unwrap();
        assert!(Token::parse(&format!("{}\n", token.reveal())).unwrap().is(token.reveal().as_bytes()));
        for wrong in ["", "short", &"a b".repeat(20), &"a".repeat(513), &"ä".repeat(40)] {
            assert_eq!(Token::parse(wrong).err(), Some(NoToken), "{wrong}");
        }
    }
}
