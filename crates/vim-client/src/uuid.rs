//! UUIDs of VMs.

use std::fmt;
use std::str::FromStr;

use rand::{Rng, RngExt as _};
use uuid::fmt::Hyphenated;
use uuid::{Builder, Variant, Version};

/// A UUID, in whatever spelling it came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(uuid::Uuid);

/// A text that is no UUID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a UUID such as \"564d1a2b-3c4d-4e5f-8a9b-0c1d2e3f4a5b\", found {given:?}")]
pub struct InvalidUuid {
    given: String,
}

impl Uuid {
    /// A new one that nobody else has (version 4).
    pub fn random(random: &mut impl Rng) -> Self {
        let random = Builder::from_u128(random.random()).with_version(Version::Random);
        Self(random.with_variant(Variant::RFC4122).into_uuid())
    }
}

impl FromStr for Uuid {
    type Err = InvalidUuid;

    fn from_str(text: &str) -> Result<Self, InvalidUuid> {
        let read = text.parse::<Hyphenated>().map_err(|_| InvalidUuid { given: text.to_owned() })?;
        Ok(Self(read.into_uuid()))
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn capitals_make_no_difference() {
        let text = "564D1A2B-3c4d-4e5f-8A9B-0c1d2e3f4a5b";
        assert_eq!(text.parse::<Uuid>().expect("a UUID").to_string(), text.to_lowercase());
    }

    #[test]
    fn what_is_no_uuid_is_refused_with_an_example() {
        for text in [
            "",
            "564d1a2b",
            "564d1a2b3c4d4e5f8a9b0c1d2e3f4a5b",
            "564d1a2b-3c4d-4e5f-8a9b-0c1d2e3f4a5g",
            "+64d1a2b-3c4d-4e5f-8a9b-0c1d2e3f4a5b",
            "564d1a2b-3c4d-4e5f-8a9b-0c1d2e3f4a5b-",
            "ééé4d1a2b-3c4d-4e5f-8a9b-0c1d2e3f4a5b",
        ] {
            let message = text.parse::<Uuid>().expect_err(text).to_string();
            assert!(message.contains("such as") && message.ends_with(&format!("{text:?}")), "{message}");
        }
    }

    proptest! {
        #[test]
        fn a_new_one_says_how_it_was_made_and_comes_back(seed: u64) {
            let uuid = Uuid::random(&mut StdRng::seed_from_u64(seed));
            let text = uuid.to_string();
            prop_assert_eq!(&text[14..15], "4");
            prop_assert!(matches!(&text[19..20], "8" | "9" | "a" | "b"));
            prop_assert_eq!(text.parse(), Ok(uuid));
        }

        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            text.parse::<Uuid>().ok();
        }
    }
}
