//! Identifiers and chances that depend on nothing but a seed and how many were drawn: they go into a dump and come back.

use serde::{Deserialize, Serialize};

/// A source of numbers that look random.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    /// The next number. For one seed, no two are equal.
    pub(crate) fn next(&mut self) -> u64 {
        self.drawn += 1;
        let mut z = self.seed.wrapping_add(self.drawn.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Whether something of that chance happens.
    pub(crate) fn happens(&mut self, chance: f64) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let drawn = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        drawn < chance
    }

    pub(crate) fn uuid(&mut self) -> String {
        let high = self.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000;
        let low = self.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000;
        let text = format!("{high:016x}{low:016x}");
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| text.get(range).unwrap_or_default());
        parts.join("-")
    }
}

/// Whether it is written as a UUID.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.char_indices().all(|(at, c)| match at {
            8 | 13 | 18 | 23 => c == '-',
            _ => c.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn identifiers_are_uuids_and_differ_and_follow_from_the_seed() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..1000).map(|_| random.uuid()).collect::<BTreeSet<_>>()
        };
        assert_eq!(draw(7).len(), 1000);
        assert!(draw(7).iter().all(|id| is_uuid(id)), "{:?}", draw(7).first());
        assert_eq!(draw(7), draw(7));
        assert!(draw(7).is_disjoint(&draw(8)));
        assert!(!is_uuid("12"));
    }
}
