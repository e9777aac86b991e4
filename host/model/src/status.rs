//! How a command ended. An exit is never invented, and a kill is never shown as success.

use serde::de::Error as _;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde::{Deserialize, Deserializer};

use crate::exit;

/// What is known of a command's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has not ended.
    Running,
    /// It exited by itself with this code.
    Exited(i32),
    /// A signal that hermes did not send ended it.
    Signalled(i32),
    /// Its time ran out and hermes ended it.
    TimedOut,
    /// Somebody asked hermes to end it; says who (for example `ctrl-c`, `kill`, `shutdown`).
    Stopped(String),
    /// It ended out of sight; says why nothing more is known.
    Lost(String),
    /// It never ran; says why, and what a shell would exit with (126: found but not runnable, 127: not found).
    FailedToStart {
        /// Why, without the command line.
        reason: String,
        /// 126 or 127.
        code: i32,
    },
}

impl Status {
    /// The word for this status in JSON and in events.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Exited(_) => "exited",
            Self::Signalled(_) => "signalled",
            Self::TimedOut => "timed-out",
            Self::Stopped(_) => "stopped",
            Self::Lost(_) => "lost",
            Self::FailedToStart { .. } => "failed-to-start",
        }
    }

    /// What a shell would show: the code, 128+n for a signal, 124 for a time-out, 130 for a stop; none while running or lost.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Self::Running | Self::Lost(_) => None,
            Self::Exited(code) | Self::FailedToStart { code, .. } => Some(*code),
            Self::Signalled(signal) => Some(exit::SIGNAL_BASE + signal),
            Self::TimedOut => Some(exit::TIMED_OUT),
            Self::Stopped(_) => Some(exit::INTERRUPTED),
        }
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (mut code, mut signal, mut by, mut reason) = (None, None, None, None);
        match self {
            Self::Running | Self::TimedOut => {}
            Self::Exited(value) => code = Some(*value),
            Self::Signalled(value) => signal = Some(*value),
            Self::Stopped(who) => by = Some(who),
            Self::Lost(why) => reason = Some(why),
            Self::FailedToStart { reason: why, code: value } => {
                code = Some(*value);
                reason = Some(why);
            }
        }
        let mut out = serializer.serialize_struct("Status", 5)?;
        out.serialize_field("kind", self.kind())?;
        out.serialize_field("code", &code)?;
        out.serialize_field("signal", &signal)?;
        out.serialize_field("by", &by)?;
        out.serialize_field("reason", &reason)?;
        out.end()
    }
}

impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Written {
            kind: String,
            code: Option<i32>,
            signal: Option<i32>,
            by: Option<String>,
            reason: Option<String>,
        }
        let Written { kind, code, signal, by, reason } = Written::deserialize(deserializer)?;
        let missing = |field| D::Error::custom(format!("a status '{kind}' without its {field}"));
        Ok(match kind.as_str() {
            "running" => Self::Running,
            "exited" => Self::Exited(code.ok_or_else(|| missing("code"))?),
            "signalled" => Self::Signalled(signal.ok_or_else(|| missing("signal"))?),
            "timed-out" => Self::TimedOut,
            "stopped" => Self::Stopped(by.ok_or_else(|| missing("by"))?),
            "lost" => Self::Lost(reason.ok_or_else(|| missing("reason"))?),
            "failed-to-start" => Self::FailedToStart {
                reason: reason.ok_or_else(|| missing("reason"))?,
                code: code.ok_or_else(|| missing("code"))?,
            },
            _ => return Err(D::Error::custom(format!("'{kind}' is no status that this hermes knows"))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_is_never_shown_as_success() {
        for status in [Status::Signalled(9), Status::TimedOut, Status::Stopped("kill".into())] {
            assert_ne!(status.exit_code(), Some(0));
        }
        assert_eq!(Status::Signalled(15).exit_code(), Some(143));
        assert_eq!(Status::TimedOut.exit_code(), Some(124));
    }

    #[test]
    fn a_status_comes_back_from_json_as_it_was() {
        let all = [
            Status::Running,
            Status::Exited(3),
            Status::Signalled(9),
            Status::TimedOut,
            Status::Stopped("kill".into()),
            Status::Lost("the host ended".into()),
            Status::FailedToStart { reason: "not found".into(), code: 127 },
        ];
        for status in all {
            let json = serde_json::to_string(&status).unwrap();
            assert_eq!(serde_json::from_str::<Status>(&json).unwrap(), status, "{json}");
        }
        assert!(serde_json::from_str::<Status>(r#"{"kind":"exited","code":null}"#).is_err());
    }

    #[test]
    fn json_names_every_field_and_leaves_none_out() {
        let json = serde_json::to_string(&Status::Exited(3)).unwrap();
        assert_eq!(json, r#"{"kind":"exited","code":3,"signal":null,"by":null,"reason":null}"#);
        let json = serde_json::to_string(&Status::Stopped("ctrl-c".into())).unwrap();
        assert_eq!(json, r#"{"kind":"stopped","code":null,"signal":null,"by":"ctrl-c","reason":null}"#);
    }
}
