//! FNV-1a, 64 bits: names cache entries. It tells sources apart; it does not protect against anybody.

/// A running hash over named pieces.
#[derive(Debug)]
pub(crate) struct Fnv(u64);

impl Fnv {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a piece under a name. Lengths go in too, or moving a byte from one piece to the next would go unseen.
    pub(crate) fn add(&mut self, name: &str, content: &[u8]) {
        for part in [name.as_bytes(), content] {
            self.bytes(&part.len().to_le_bytes());
            self.bytes(part);
        }
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(pieces: &[(&str, &str)]) -> u64 {
        let mut fnv = Fnv::new();
        for (name, content) in pieces {
            fnv.add(name, content.as_bytes());
        }
        fnv.finish()
    }

    #[test]
    fn it_is_the_published_function() {
        let mut fnv = Fnv::new();
        fnv.bytes(b"foobar");
        assert_eq!(fnv.finish(), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn equal_pieces_give_equal_hashes_and_any_change_another() {
        let base = hash(&[("a.go", "xy"), ("b.go", "z")]);
        assert_eq!(base, hash(&[("a.go", "xy"), ("b.go", "z")]));
        for other in [
            [("a.go", "xy"), ("b.go", "w")],
            [("a.go", "xy"), ("c.go", "z")],
            [("a.go", "x"), ("b.go", "yz")],
            [("a.g", "oxy"), ("b.go", "z")],
        ] {
            assert_ne!(base, hash(&other), "{other:?}");
        }
    }
}
