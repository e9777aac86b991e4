//! The session's D-Bus: whether anybody shows notifications there, and showing one.

use std::sync::mpsc;
use std::time::Duration;

use notify_rust::Notification;

use crate::message::{Message, escaped};

/// Why a notification was not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// No bus, or nobody on it who shows notifications.
    #[error(
        "nobody shows notifications on this session's D-Bus: start hermes in the desktop's session \
         (DBUS_SESSION_BUS_ADDRESS), or set notifications.desktop = false"
    )]
    Nobody,
    /// The bus does not answer.
    #[error("the session's D-Bus does not answer: log in again, or set notifications.desktop = false")]
    Silent,
}

/// Who shows notifications to a person.
pub trait Screen: Send {
    /// Shows one. May take its time.
    ///
    /// # Errors
    /// Nobody shows it.
    fn show(&mut self, message: &Message) -> Result<(), BusError>;
}

/// The session's D-Bus.
#[derive(Default)]
pub struct SessionBus {
    /// Whether bodies are read as markup; not known yet.
    markup: Option<bool>,
}

/// What a server says that reads bodies as markup.
const MARKUP: &str = "body-markup";
/// Whose notifications they are.
const NAME: &str = "hermes";

impl Screen for SessionBus {
    fn show(&mut self, message: &Message) -> Result<(), BusError> {
        let markup = match self.markup {
            Some(markup) => markup,
            None => {
                let able = notify_rust::get_capabilities().map_err(|_| BusError::Nobody)?;
                *self.markup.insert(able.iter().any(|word| word == MARKUP))
            }
        };
        let body = if markup { escaped(&message.body) } else { message.body.clone() };
        let shown = Notification::new().appname(NAME).summary(&message.summary).body(&body).show();
        // What failed is not told on: another server may be there next time, which reads bodies otherwise.
        shown.map(drop).map_err(|_| {
            self.markup = None;
            BusError::Nobody
        })
    }
}

/// Whether somebody shows notifications, for `doctor`. Returns within this time.
///
/// # Errors
/// Nobody does, or the bus does not answer.
pub fn look(within: Duration) -> Result<(), BusError> {
    let (answer, answers) = mpsc::sync_channel(1);
    let asked = std::thread::Builder::new().name("hermes-desktop".to_owned()).spawn(move || {
        // Nobody may be waiting any more.
        let _ = answer.send(notify_rust::get_server_information().is_ok());
    });
    if asked.is_err() {
        return Err(BusError::Silent);
    }
    match answers.recv_timeout(within) {
        Ok(true) => Ok(()),
        Ok(false) => Err(BusError::Nobody),
        Err(_) => Err(BusError::Silent),
    }
}
