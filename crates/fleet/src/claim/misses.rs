//! Why no warm machine was taken.

use std::collections::BTreeMap;
use std::fmt;

/// Why one warm machine of the model was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Miss {
    /// Somebody is at it, or it is about to be deleted.
    #[error("in use")]
    Busy,
    #[error("still being made")]
    NotReady,
    /// A claim of it died half-way and is not undone yet.
    #[error("half claimed")]
    HalfClaimed,
    /// It was made for another flavor, and may not get another size.
    #[error("of another flavor")]
    Flavor,
    /// Disks are not changed after the clone.
    #[error("with a disk that is too small or not known yet")]
    Disk,
    /// It is or was kept for somebody to look at.
    #[error("kept to be looked at")]
    Held,
    /// Whose it is or what it was made from is not told yet.
    #[error("not known yet")]
    Unknown,
}

impl Miss {
    /// Its label in metrics and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::NotReady => "not_ready",
            Self::HalfClaimed => "half_claimed",
            Self::Flavor => "flavor",
            Self::Disk => "disk",
            Self::Held => "held",
            Self::Unknown => "unknown",
        }
    }
}

/// Why none of the warm machines was taken: how many for which reason. None of any: there was no machine at all.
#[derive(Debug, Clone, PartialEq, Eq, Default, thiserror::Error)]
pub struct Misses(BTreeMap<Miss, u32>);

impl Misses {
    pub(super) fn add(&mut self, miss: Miss) {
        *self.0.entry(miss).or_default() += 1;
    }

    /// The reasons with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Miss, u32)> {
        self.0.iter().map(|(miss, number)| (*miss, *number))
    }

    /// The label of the whole: the reason of most machines, or `none`.
    pub fn as_str(&self) -> &'static str {
        let most = self.iter().max_by_key(|(miss, number)| (*number, std::cmp::Reverse(*miss)));
        most.map_or("none", |(miss, _)| miss.as_str())
    }
}

impl fmt::Display for Misses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("there is no warm machine");
        }
        f.write_str("no warm machine fits: ")?;
        for (at, (miss, number)) in self.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            write!(f, "{separator}{number} {miss}")?;
        }
        Ok(())
    }
}
