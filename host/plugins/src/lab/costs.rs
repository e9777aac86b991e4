//! What a plugin costs, beside what it may cost.

use serde::Serialize;

/// From this part of a limit on, a plugin fails its test: another machine, a longer text or the next version of a
/// compiler would reach it.
pub const NEAR: f64 = 0.8;

/// What a plugin costs, over its canaries and cases. Unknown figures are none.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Budget {
    /// Instructions for each byte of text.
    pub fuel_per_byte: Option<f64>,
    /// The most memory of an instance, in bytes.
    pub peak_memory: Option<u64>,
    /// The largest result of a transform, as a multiple of its text.
    pub expansion: Option<f64>,
    /// Host functions called.
    pub host_calls: Option<u64>,
    /// From the file to the first answer, in milliseconds.
    pub cold_ms: Option<f64>,
    /// One call on a warm instance, in microseconds of processor time, the median of all questions.
    pub warm_us: Option<f64>,
    /// Millions of bytes a second of processor time over a MiB made of the canaries and cases.
    pub mb_per_s: Option<f64>,
    /// Each figure with its limit.
    pub limits: Vec<Measure>,
}

/// A figure and its limit.
#[derive(Clone, Debug, Serialize)]
pub struct Measure {
    /// What was measured.
    pub name: &'static str,
    /// The most that was seen; none where the call that would have shown it was ended.
    pub used: Option<f64>,
    /// What may be used; none for what is counted and not limited.
    pub limit: Option<f64>,
    /// The unit of both.
    pub unit: Unit,
    /// Whether it is below [`NEAR`] of its limit.
    pub ok: bool,
    /// How a call was ended while this was measured.
    pub ended: Option<&'static str>,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Milliseconds of processor time.
    Ms,
    /// Bytes.
    Bytes,
    /// A multiple of the text.
    Times,
    /// Things.
    Count,
}

impl Unit {
    /// A figure with its unit, for a person.
    pub fn show(self, value: f64) -> String {
        const KIB: f64 = 1024.0;
        match self {
            Self::Ms if value < 1.0 => format!("{:.1} \u{b5}s", value * 1000.0),
            Self::Ms => format!("{value:.1} ms"),
            Self::Bytes if value >= KIB * KIB => format!("{:.1} MiB", value / KIB / KIB),
            Self::Bytes if value >= KIB => format!("{:.1} KiB", value / KIB),
            Self::Bytes => format!("{value:.0} bytes"),
            Self::Times => format!("{value:.2} times"),
            Self::Count if value.fract() > 0.0 => format!("{value:.1}"),
            Self::Count => format!("{value:.0}"),
        }
    }
}

impl Measure {
    /// A figure below its limit, near it, or beyond it.
    pub(super) fn new(name: &'static str, unit: Unit, used: f64, limit: f64) -> Self {
        Self { name, used: Some(used), limit: Some(limit), unit, ok: used < limit * NEAR, ended: None }
    }

    /// A figure without a limit.
    pub(super) fn counted(name: &'static str, unit: Unit, used: f64) -> Self {
        Self { name, used: Some(used), limit: None, unit, ok: true, ended: None }
    }

    /// A call that was ended while it was measured.
    pub(super) fn ended(name: &'static str, unit: Unit, limit: f64, ended: &'static str) -> Self {
        Self { name, used: None, limit: Some(limit), unit, ok: false, ended: Some(ended) }
    }

    /// How much of its limit is used, in per cent; none without both.
    pub fn percent(&self) -> Option<f64> {
        Some(self.used? / self.limit? * 100.0)
    }

    /// The sentence of its case.
    pub(super) fn sentence(&self) -> Option<String> {
        let limit = self.unit.show(self.limit?);
        Some(match (self.percent(), self.used) {
            (Some(percent), Some(used)) => {
                format!("{}: {percent:.0} % of its limit ({} of {limit})", self.name, self.unit.show(used))
            }
            _ => format!("{}: ended ({}), with a limit of {limit}", self.name, self.ended.unwrap_or("no answer")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_eighty_per_cent_of_a_limit_on_a_figure_is_not_well() {
        assert!(Measure::new("memory", Unit::Bytes, 79.9, 100.0).ok);
        assert!(!Measure::new("memory", Unit::Bytes, 80.0, 100.0).ok);
        let measure = Measure::new("memory", Unit::Bytes, 41_943_040.0, 67_108_864.0);
        assert_eq!(measure.sentence().as_deref(), Some("memory: 62 % of its limit (40.0 MiB of 64.0 MiB)"));
        assert_eq!(Measure::counted("host calls", Unit::Count, 3.0).sentence(), None);
        let ended = Measure::ended("a MiB", Unit::Ms, 300.0, "timeout");
        assert_eq!(ended.sentence().as_deref(), Some("a MiB: ended (timeout), with a limit of 300.0 ms"));
    }

    #[test]
    fn figures_are_shown_in_the_unit_a_person_would_choose() {
        let shown = [Unit::Ms.show(0.0161), Unit::Ms.show(12.0), Unit::Bytes.show(900.0), Unit::Bytes.show(2048.0)];
        assert_eq!(shown, ["16.1 \u{b5}s", "12.0 ms", "900 bytes", "2.0 KiB"]);
        assert_eq!(
            [Unit::Count.show(150.8), Unit::Count.show(3.0), Unit::Times.show(1.0)],
            ["150.8", "3", "1.00 times"]
        );
    }
}
