//! Sizes as people write them, and what holds where a model says nothing.

use std::str::FromStr as _;

use rookery_daemon::settings::Size;
use serde::{Deserialize, Deserializer};

/// A number of bytes, written such as `4GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Bytes(pub i64);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let size = Size::from_str(&text).map_err(serde::de::Error::custom)?;
        i64::try_from(size.bytes()).map(Self).map_err(serde::de::Error::custom)
    }
}

impl Bytes {
    pub(crate) fn mib(self) -> i64 {
        self.0 >> 20
    }
}

pub(crate) fn default_true() -> bool {
    true
}
pub(super) fn one() -> usize {
    1
}
pub(super) fn one_cpu() -> i32 {
    1
}
pub(super) fn many_cores() -> i16 {
    64
}
pub(super) fn fast() -> i32 {
    2_400
}
pub(super) fn small() -> Bytes {
    Bytes(32 << 20)
}
pub(super) fn default_memory() -> Bytes {
    Bytes(4 << 40)
}
pub(super) fn large() -> Bytes {
    Bytes(1 << 50)
}
pub(super) fn one_disk() -> Vec<Bytes> {
    vec![Bytes(10 << 30)]
}
pub(super) fn card() -> String {
    "VirtualVmxnet3".to_owned()
}
pub(super) fn linux() -> String {
    "otherLinux64Guest".to_owned()
}
