//! Durations as Go writes them: `10m`, `1h30m`, `1.5s`. Kubernetes resources carry no other form.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// What Go's parser takes.
pub(crate) const PATTERN: &str = r"^([-+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+|[-+]?0)$";

/// The units by their names, each with its nanoseconds. Go knows two letters that look like the Greek mu.
const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3_600 * SECOND),
];
const SECOND: u64 = 1_000_000_000;
/// The magnitude of the least one, which has no positive counterpart.
const MOST: u64 = 1 << 63;

/// A duration with Go's range and precision: signed nanoseconds in 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GoDuration {
    nanoseconds: i64,
}

/// Why a text is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDuration {
    #[error("{text:?} is not a duration such as 10m or 1h30m")]
    NoDuration { text: String },
    #[error("{text:?} lacks a unit: write 10m or 30s")]
    NoUnit { text: String },
    #[error("{text:?} has the unit {unit:?}; there are ns, us, ms, s, m and h")]
    UnknownUnit { text: String, unit: String },
    #[error("{text:?} is longer than the 292 years that fit")]
    TooLong { text: String },
}

impl GoDuration {
    /// That many nanoseconds.
    pub const fn from_nanoseconds(nanoseconds: i64) -> Self {
        Self { nanoseconds }
    }

    /// That many minutes.
    pub const fn from_minutes(minutes: i32) -> Self {
        Self { nanoseconds: minutes as i64 * 60 * SECOND.cast_signed() }
    }

    pub const fn nanoseconds(self) -> i64 {
        self.nanoseconds
    }

    /// As a time to wait for; none if it is not positive.
    pub fn positive(self) -> Option<Duration> {
        u64::try_from(self.nanoseconds).ok().filter(|nanoseconds| *nanoseconds > 0).map(Duration::from_nanos)
    }
}

impl FromStr for GoDuration {
    type Err = InvalidDuration;

    fn from_str(text: &str) -> Result<Self, InvalidDuration> {
        let owned = || text.to_owned();
        let (is_negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if unsigned == "0" {
            return Ok(Self::default());
        }
        if unsigned.is_empty() {
            return Err(InvalidDuration::NoDuration { text: owned() });
        }
        let (mut rest, mut sum) = (unsigned, 0u64);
        while !rest.is_empty() {
            let (term, after) = term(rest).map_err(|problem| problem.of(text))?;
            sum =
                sum.checked_add(term).filter(|sum| *sum <= MOST).ok_or_else(|| Problem::TooLong.of(text))?;
            rest = after;
        }
        let nanoseconds =
            if is_negative { 0i64.checked_sub_unsigned(sum) } else { 0i64.checked_add_unsigned(sum) };
        Ok(Self { nanoseconds: nanoseconds.ok_or_else(|| Problem::TooLong.of(text))? })
    }
}

/// What is wrong with a term.
enum Problem {
    NoDuration,
    NoUnit,
    UnknownUnit(String),
    TooLong,
}

impl Problem {
    fn of(self, text: &str) -> InvalidDuration {
        let text = text.to_owned();
        match self {
            Self::NoDuration => InvalidDuration::NoDuration { text },
            Self::NoUnit => InvalidDuration::NoUnit { text },
            Self::UnknownUnit(unit) => InvalidDuration::UnknownUnit { text, unit },
            Self::TooLong => InvalidDuration::TooLong { text },
        }
    }
}

/// The first number with its unit, in nanoseconds, and what comes after it.
fn term(text: &str) -> Result<(u64, &str), Problem> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    if whole.is_empty() && fraction.is_empty() {
        return Err(Problem::NoDuration);
    }
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(end);
    if unit.is_empty() {
        return Err(Problem::NoUnit);
    }
    let known = UNITS.iter().find(|(name, _)| *name == unit);
    let (_, scale) = known.ok_or_else(|| Problem::UnknownUnit(unit.to_owned()))?;
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| Problem::TooLong)? };
    let whole = whole.checked_mul(*scale).ok_or(Problem::TooLong)?;
    let sum = whole.checked_add(part(fraction, *scale)).filter(|sum| *sum <= MOST);
    Ok((sum.ok_or(Problem::TooLong)?, rest))
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// The digits behind the point as nanoseconds, rounded down. Those beyond the eighteenth are less than any unit can show.
fn part(fraction: &str, scale: u64) -> u64 {
    let (mut value, mut tens) = (0u128, 1u128);
    for digit in fraction.bytes().take(18) {
        value = value * 10 + u128::from(digit - b'0');
        tens *= 10;
    }
    u64::try_from(value * u128::from(scale) / tens).unwrap_or(u64::MAX)
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.nanoseconds.unsigned_abs();
        if self.nanoseconds < 0 {
            f.write_str("-")?;
        }
        match all {
            0 => return f.write_str("0s"),
            1..1_000 => return write!(f, "{all}ns"),
            1_000..1_000_000 => return write!(f, "{}\u{b5}s", Decimal { value: all, unit: 1_000 }),
            1_000_000..SECOND => return write!(f, "{}ms", Decimal { value: all, unit: 1_000_000 }),
            SECOND.. => {}
        }
        let minutes = all / (60 * SECOND);
        match (minutes / 60, minutes % 60) {
            (0, 0) => {}
            (0, minutes) => write!(f, "{minutes}m")?,
            (hours, minutes) => write!(f, "{hours}h{minutes}m")?,
        }
        write!(f, "{}s", Decimal { value: all % (60 * SECOND), unit: SECOND })
    }
}

/// A quotient without the zeros at its end.
struct Decimal {
    value: u64,
    unit: u64,
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value / self.unit)?;
        let (rest, width) = (self.value % self.unit, self.unit.ilog10() as usize);
        if rest == 0 {
            return Ok(());
        }
        let digits = format!("{rest:0width$}");
        write!(f, ".{}", digits.trim_end_matches('0'))
    }
}

/// A duration as it is stored: the text is kept, since `10m` must not become `10m0s`, and one that is none, which an
/// older schema let in, must not make the whole list unreadable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DurationText(pub String);

impl DurationText {
    pub fn parse(&self) -> Result<GoDuration, InvalidDuration> {
        self.0.parse()
    }
}

impl From<GoDuration> for DurationText {
    fn from(duration: GoDuration) -> Self {
        Self(duration.to_string())
    }
}

impl JsonSchema for DurationText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": PATTERN })
    }
}

#[cfg(test)]
mod tests;
