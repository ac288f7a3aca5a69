//! Durations and sizes, always with a unit: a bare number has cost someone a night before.

use std::str::FromStr;
use std::time::Duration;

const MILLISECONDS: &[(&str, u64)] = &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
const BYTES: &[(&str, u64)] = &[("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// A number of bytes, written such as `4GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(u64);

/// Why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Not a whole number followed by a unit of time.
    #[error(
        "expected a duration with its unit, such as \"90s\", \"5m\", \"2h\" or \"250ms\", found {given:?}"
    )]
    NotADuration { given: String },
    /// More than a number of milliseconds can hold.
    #[error("{given:?} is too long: the longest duration is {}h", u64::MAX / 3_600_000)]
    TooLong { given: String },
    /// More than a number of bytes can hold.
    #[error("{given:?} is too much: the largest size is {}TiB", u64::MAX >> 40)]
    TooLarge { given: String },
    /// Not a whole number followed by a binary unit.
    #[error(
        "expected a size with its unit, such as \"512MiB\", \"4GiB\" or \"2TiB\" (the units are KiB, MiB, GiB and TiB), \
         found {given:?}"
    )]
    NotASize { given: String },
}

/// Reads a duration such as `90s`.
pub fn duration(text: &str) -> Result<Duration, UnitError> {
    let given = || text.to_owned();
    let (number, factor) =
        quantity(text, MILLISECONDS).ok_or_else(|| UnitError::NotADuration { given: given() })?;
    let millis = number.and_then(|number| number.checked_mul(factor));
    millis.map(Duration::from_millis).ok_or_else(|| UnitError::TooLong { given: given() })
}

impl Size {
    /// The number of bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for Size {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let given = || text.to_owned();
        let (number, factor) = quantity(text, BYTES).ok_or_else(|| UnitError::NotASize { given: given() })?;
        let bytes = number.and_then(|number| number.checked_mul(factor));
        bytes.map(Self).ok_or_else(|| UnitError::TooLarge { given: given() })
    }
}

/// A number, unless it is too large for one, and what its unit multiplies it with.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<(Option<u64>, u64)> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    if number.is_empty() { None } else { Some((number.parse().ok(), *factor)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_are_read_with_their_unit() {
        let check = |text, millis| assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        check("90s", 90_000);
        check("5m", 300_000);
        check("2h", 7_200_000);
        check("250ms", 250);
        check("0s", 0);
    }

    #[test]
    fn sizes_are_read_with_their_unit() {
        let check = |text: &str, bytes| assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        check("4GiB", 4 << 30);
        check("512MiB", 512 << 20);
        check("10KiB", 10_240);
        check("1TiB", 1 << 40);
    }

    #[test]
    fn a_quantity_without_a_known_unit_is_refused_with_an_example() {
        for text in ["", "90", "s", "-5s", "1.5h", "90 s", "9S", "٣s"] {
            let message = duration(text).unwrap_err().to_string();
            assert!(
                message.contains("such as \"90s\"") && message.ends_with(&format!("{text:?}")),
                "{message}"
            );
        }
        for text in ["4", "4GB", "4gib", "GiB", "9PiB"] {
            let message = text.parse::<Size>().unwrap_err().to_string();
            assert!(
                message.contains("\"4GiB\"")
                    && message.contains("and TiB")
                    && message.ends_with(&format!("{text:?}")),
                "{message}"
            );
        }
    }

    #[test]
    fn what_is_too_much_is_told_with_the_most_that_there_can_be() {
        for text in ["99999999999999999999s", "9999999999999999h"] {
            let message = duration(text).unwrap_err().to_string();
            assert_eq!(message, format!("{text:?} is too long: the longest duration is 5124095576030h"));
        }
        assert!(duration("5124095576030h").is_ok() && duration("5124095576031h").is_err());
        let message = "99999999TiB".parse::<Size>().unwrap_err().to_string();
        assert_eq!(message, "\"99999999TiB\" is too much: the largest size is 16777215TiB");
        assert!("16777215TiB".parse::<Size>().is_ok() && "16777216TiB".parse::<Size>().is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in any::<String>(), number: u64, unit in "[a-zA-Z]{0,3}") {
            for text in [text, format!("{number}{unit}")] {
                duration(&text).ok();
                text.parse::<Size>().ok();
            }
        }
    }
}
