//! Moments as hermes writes them: RFC 3339, UTC, milliseconds.

use std::fmt;
use std::time::SystemTime;

use serde::{Serialize, Serializer};

/// A moment that shows and serialises as `2026-01-31T12:00:00.000Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub SystemTime);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&humantime::format_rfc3339_millis(self.0).to_string())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_moment_is_told_in_utc_with_milliseconds() {
        let at = Timestamp(SystemTime::UNIX_EPOCH + Duration::from_millis(1_769_860_800_250));
        assert_eq!(at.to_string(), "2026-01-31T12:00:00.250Z");
        assert_eq!(serde_json::to_string(&at).unwrap(), "\"2026-01-31T12:00:00.250Z\"");
    }
}
