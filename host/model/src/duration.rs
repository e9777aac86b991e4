//! Durations as people write them: `500ms`, `30s`, `2m`, `1h`, `1m30s`.

use std::time::Duration;

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a duration: write a number and a unit, as in '500ms', '30s', '2m' or '1h'")]
pub struct BadDuration(String);

/// Reads a duration. A bare number is refused, since nobody can tell seconds from milliseconds.
///
/// # Errors
/// [`BadDuration`] for anything but numbers each with one of the units `ms`, `s`, `m`, `h`.
pub fn parse(text: &str) -> Result<Duration, BadDuration> {
    let bad = || BadDuration(text.chars().filter(|c| !c.is_control()).take(40).collect());
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(bad());
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(bad)?;
        let number = &rest[..digits];
        rest = &rest[digits..];
        let unit_len = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit_ms: u64 = match &rest[..unit_len] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return Err(bad()),
        };
        // Whole numbers stay exact; only a fraction goes through floating point.
        let part = if number.contains('.') {
            let number: f64 = number.parse().map_err(|_| bad())?;
            Duration::try_from_secs_f64(number * unit_ms as f64 / 1000.0).map_err(|_| bad())?
        } else {
            let number: u64 = number.parse().map_err(|_| bad())?;
            Duration::from_millis(number.checked_mul(unit_ms).ok_or_else(bad)?)
        };
        total = total.checked_add(part).ok_or_else(bad)?;
        rest = &rest[unit_len..];
    }
    Ok(total)
}

/// Writes a duration the way [`parse`] reads it, in its largest whole unit.
pub fn display(duration: Duration) -> String {
    let ms = duration.as_millis();
    match ms {
        0 => "0s".to_owned(),
        _ if ms.is_multiple_of(3_600_000) => format!("{}h", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        _ if ms.is_multiple_of(1_000) => format!("{}s", ms / 1_000),
        _ => format!("{ms}ms"),
    }
}

/// Serde for configuration fields: `#[serde(with = "hermes_model::duration::text")]`.
pub mod text {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    /// Reads the field with [`super::parse`].
    ///
    /// # Errors
    /// The text is not a duration.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(deserializer)?;
        super::parse(&text).map_err(serde::de::Error::custom)
    }

    /// Writes the field with [`super::display`].
    ///
    /// # Errors
    /// The serializer's own.
    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::display(*duration))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        assert_eq!(parse("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        for bad in ["", "30", "s", "5x", "-1s", "1s2", "..s", "99999999999999999999h"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_display_writes_parse_reads(ms in 0u64..10_000_000_000) {
            let duration = Duration::from_millis(ms);
            prop_assert_eq!(parse(&display(duration)), Ok(duration));
        }

        #[test]
        fn parse_never_panics(text in ".{0,20}") {
            let _ = parse(&text);
        }
    }
}
