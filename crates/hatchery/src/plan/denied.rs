//! Why what somebody asked for is not done.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    Refused(String),
    /// What was named does not exist, or may mean several things.
    Unclear(String),
}

impl From<String> for Denied {
    fn from(why: String) -> Self {
        Self::Refused(why)
    }
}

impl From<&str> for Denied {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Refused(why) | Self::Unclear(why)) = self;
        f.write_str(why)
    }
}
