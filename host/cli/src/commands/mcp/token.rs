//! The token that callers over HTTP bring: one for each home, in a file only its user can read.

use std::io;

use hermes_home::files::{self, CreateError, ReadError, WriteError};
use hermes_mcp::http::token::{NoToken, Token};

use crate::place::Place;

/// Where it is kept in the home.
const TOKEN: &str = "http-token";
/// The longest file that is read as one, in bytes: the longest token and a newline.
const TOKEN_MAX: u64 = 1024;

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    #[error(transparent)]
    Read(ReadError),
    #[error("the token in '{TOKEN}' of the home: {0}")]
    Bad(#[from] NoToken),
    #[error("the system gives no random bytes for a token")]
    New(#[source] io::Error),
    #[error(transparent)]
    Home(#[from] CreateError),
    #[error(transparent)]
    Keep(#[from] WriteError),
}

/// The token of this home, made where there is none.
pub(crate) fn of(place: &Place) -> Result<Token, TokenError> {
    let path = place.home.root().join(TOKEN);
    match files::read_bounded(&path, TOKEN_MAX) {
        Ok(bytes) => Ok(Token::parse(&String::from_utf8_lossy(&bytes))?),
        Err(error) if error.is_missing() => {
            place.home.ensure()?;
            let token = Token::random().map_err(TokenError::New)?;
            files::write_atomically(&path, token.reveal().as_bytes())?;
            Ok(token)
        }
        Err(error) => Err(TokenError::Read(error)),
    }
}
