//! How long something takes: always the same, or drawn anew each time.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use rand::{Rng, RngExt as _};
use serde::{Deserialize, Serialize};

/// The longest that anything takes.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 365);
/// Beyond so many times its mean a falling distribution is cut off.
const TAIL: i32 = 5;

/// A time, or a distribution of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Span {
    /// Always this long: `5s`.
    Constant(SignedDuration),
    /// Anything in between, all equally likely: `1s..3s`.
    Between(SignedDuration, SignedDuration),
    /// About this long, at least half and at most one and a half times of it, the middle being likely: `~2s`.
    About(SignedDuration),
    /// Mostly short and at times long, with this mean, at most five times of it: `exp 2s`.
    Exponential(SignedDuration),
}

/// A text is not a span of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is not a time: write 5s, 1s..3s (between), ~2s (about) or exp 2s (mostly short), up to a year"
)]
pub struct InvalidSpan {
    given: String,
}

impl Span {
    pub const ZERO: Self = Self::Constant(SignedDuration::ZERO);

    /// One time of this distribution. Nothing is drawn for a constant.
    pub(crate) fn draw(self, random: &mut impl Rng) -> SignedDuration {
        match self {
            Self::Constant(time) => time,
            Self::Between(least, most) => {
                let width = millis(most - least);
                least + SignedDuration::from_millis(random.random_range(0..=width))
            }
            Self::About(middle) => {
                let width = millis(middle);
                // Four dice are close to a bell.
                let sum: i64 = (0..4).map(|_| random.random_range(0..=width)).sum();
                SignedDuration::from_millis(width / 2 + sum / 4)
            }
            Self::Exponential(mean) => {
                let uniform: f64 = random.random();
                let times = -(1.0 - uniform).ln();
                mean.mul_f64(times).min(mean * TAIL)
            }
        }
    }
}

fn millis(time: SignedDuration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX).max(0)
}

impl Default for Span {
    fn default() -> Self {
        Self::ZERO
    }
}

impl From<SignedDuration> for Span {
    fn from(time: SignedDuration) -> Self {
        Self::Constant(time.clamp(SignedDuration::ZERO, LONGEST))
    }
}

impl FromStr for Span {
    type Err = InvalidSpan;

    fn from_str(text: &str) -> Result<Self, InvalidSpan> {
        let invalid = || InvalidSpan { given: text.to_owned() };
        let time = |text: &str| {
            let text = text.trim();
            let time = if text == "0" { Some(SignedDuration::ZERO) } else { text.parse().ok() };
            time.filter(|time| (SignedDuration::ZERO..=LONGEST).contains(time)).ok_or_else(invalid)
        };
        let text = text.trim();
        if let Some(middle) = text.strip_prefix('~') {
            return time(middle).map(Self::About);
        }
        if let Some(mean) = text.strip_prefix("exp ") {
            return time(mean).map(Self::Exponential);
        }
        match text.split_once("..") {
            Some((least, most)) => {
                let (least, most) = (time(least)?, time(most)?);
                if least <= most { Ok(Self::Between(least, most)) } else { Err(invalid()) }
            }
            None => time(text).map(Self::Constant),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(time) => write!(f, "{time:#}"),
            Self::Between(least, most) => write!(f, "{least:#}..{most:#}"),
            Self::About(middle) => write!(f, "~{middle:#}"),
            Self::Exponential(mean) => write!(f, "exp {mean:#}"),
        }
    }
}

impl TryFrom<String> for Span {
    type Error = InvalidSpan;

    fn try_from(text: String) -> Result<Self, InvalidSpan> {
        text.parse()
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span.to_string()
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn spans_are_read_as_people_write_them_and_written_so_that_they_can_be_read() {
        let seconds = SignedDuration::from_secs;
        for (text, expected) in [
            ("5s", Some(Span::Constant(seconds(5)))),
            ("0", Some(Span::ZERO)),
            ("250ms", Some(Span::Constant(SignedDuration::from_millis(250)))),
            (" 1m 30s ", Some(Span::Constant(seconds(90)))),
            ("1s..3s", Some(Span::Between(seconds(1), seconds(3)))),
            ("~2s", Some(Span::About(seconds(2)))),
            ("exp 2s", Some(Span::Exponential(seconds(2)))),
            ("3s..1s", None),
            ("-1s", None),
            ("5", None),
            ("", None),
            ("1s..", None),
            ("~", None),
            ("9999999h", None),
        ] {
            let read = text.parse::<Span>().ok();
            assert_eq!(read, expected, "{text}");
            if let Some(span) = read {
                assert_eq!(span.to_string().parse(), Ok(span), "{text}");
            }
        }
    }

    #[test]
    fn times_are_drawn_within_their_bounds_and_around_their_mean() {
        let seconds = SignedDuration::from_secs;
        for (text, least, most, mean) in [
            ("4s", seconds(4), seconds(4), 4.0),
            ("2s..6s", seconds(2), seconds(6), 4.0),
            ("~4s", seconds(2), seconds(6), 4.0),
            ("exp 4s", seconds(0), seconds(20), 4.0),
        ] {
            let span: Span = text.parse().unwrap();
            let mut random = StdRng::seed_from_u64(7);
            let drawn: Vec<_> = (0..2_000).map(|_| span.draw(&mut random)).collect();
            assert!(drawn.iter().all(|time| (least..=most).contains(time)), "{text}");
            let average = drawn.iter().map(SignedDuration::as_secs_f64).sum::<f64>() / 2_000.0;
            assert!((average - mean).abs() < 0.3, "{text}: {average}");
        }
    }
}
