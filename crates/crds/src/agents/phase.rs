//! Where a VM stands, and why; what a plan does. The words are stored, and others may stand there.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Where a VM stands on its way to a node and back.
///
/// ```text
///                 Agent seen          Agent bound         Agent unbound, Machine deleting or gone
/// Provisioning ──────────────► Available ─────► Bound ─────────────────────────────► Released
///       ▲                        │   │            │ Agent or VM gone
///       └──── VM made anew ──────┘   └────────────┴──► Orphaned ──► where it was, if the Agent comes back
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Phase {
    Provisioning,
    Available,
    Bound,
    Released,
    Orphaned,
    /// Not a word of this API.
    Other(String),
}

/// Why a VM is in its phase.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum VmReason {
    CreateRequested,
    VmCreatePending,
    AgentNotDiscovered,
    AgentAvailable,
    AgentPrepared,
    AgentBound,
    AgentReleased,
    MachineDeleting,
    /// Its Machine was seen deleting and is gone: the VM is to go.
    MachineDeleted,
    AgentMissing,
    AgentDiscoveryExpired,
    /// vCenter has it no more.
    VmMissing,
    /// Not a word of this API.
    Other(String),
}

/// What a plan does, or why it does not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ActionType {
    /// A VM is missing.
    DemandDeficit,
    PatchAgent,
    DeleteVm,
    DeleteAgent,
    /// There is nothing to do.
    Noop,
    CreateVm,
    /// Something is not done now, and this is why.
    Wait,
    /// Not a word of this API.
    Other(String),
}

const PHASES: &[(&str, Phase)] = &[
    ("Provisioning", Phase::Provisioning),
    ("Available", Phase::Available),
    ("Bound", Phase::Bound),
    ("Released", Phase::Released),
    ("Orphaned", Phase::Orphaned),
];

const REASONS: &[(&str, VmReason)] = &[
    ("CreateRequested", VmReason::CreateRequested),
    ("VMCreatePending", VmReason::VmCreatePending),
    ("AgentNotDiscovered", VmReason::AgentNotDiscovered),
    ("AgentAvailable", VmReason::AgentAvailable),
    ("AgentPrepared", VmReason::AgentPrepared),
    ("AgentBound", VmReason::AgentBound),
    ("AgentReleased", VmReason::AgentReleased),
    ("MachineDeleting", VmReason::MachineDeleting),
    ("MachineDeleted", VmReason::MachineDeleted),
    ("AgentMissing", VmReason::AgentMissing),
    ("AgentDiscoveryExpired", VmReason::AgentDiscoveryExpired),
    ("VMMissing", VmReason::VmMissing),
];

const ACTIONS: &[(&str, ActionType)] = &[
    ("DemandDeficit", ActionType::DemandDeficit),
    ("PatchAgent", ActionType::PatchAgent),
    ("DeleteVM", ActionType::DeleteVm),
    ("DeleteAgent", ActionType::DeleteAgent),
    ("Noop", ActionType::Noop),
    ("CreateVM", ActionType::CreateVm),
    ("Wait", ActionType::Wait),
];

/// A set of words to which others may add some.
trait Words: Sized + Clone + PartialEq + 'static {
    const NAME: &'static str;
    const WORDS: &'static [(&'static str, Self)];

    fn other(text: String) -> Self;
    fn as_other(&self) -> Option<&str>;

    fn read(text: String) -> Self {
        let known = Self::WORDS.iter().find(|(word, _)| *word == text);
        known.map_or_else(|| Self::other(text), |(_, value)| value.clone())
    }

    fn word(&self) -> &str {
        let known = Self::WORDS.iter().find(|(_, value)| value == self).map(|(word, _)| *word);
        known.or_else(|| self.as_other()).unwrap_or_default()
    }
}

macro_rules! words {
    ($set:ident, $all:ident) => {
        impl Words for $set {
            const NAME: &'static str = stringify!($set);
            const WORDS: &'static [(&'static str, Self)] = $all;

            fn other(text: String) -> Self {
                Self::Other(text)
            }

            fn as_other(&self) -> Option<&str> {
                if let Self::Other(text) = self { Some(text) } else { None }
            }
        }

        impl $set {
            /// All that have a name of their own.
            pub fn all() -> impl Iterator<Item = Self> {
                $all.iter().map(|(_, value)| value.clone())
            }

            pub fn as_str(&self) -> &str {
                self.word()
            }
        }

        impl From<String> for $set {
            fn from(text: String) -> Self {
                Self::read(text)
            }
        }

        impl From<$set> for String {
            fn from(value: $set) -> Self {
                value.word().to_owned()
            }
        }

        impl FromStr for $set {
            type Err = Infallible;

            fn from_str(text: &str) -> Result<Self, Infallible> {
                Ok(Self::read(text.to_owned()))
            }
        }

        impl fmt::Display for $set {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }

        impl JsonSchema for $set {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                <Self as Words>::NAME.into()
            }

            /// Open: a new word must not make objects unwritable while definition and operator differ.
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string" })
            }
        }
    };
}

words!(Phase, PHASES);
words!(VmReason, REASONS);
words!(ActionType, ACTIONS);

#[cfg(test)]
mod tests {
    use super::*;

    fn check<W: Words + fmt::Debug>() {
        for (word, value) in W::WORDS {
            assert_eq!(W::read((*word).to_owned()), *value);
            assert_eq!(value.word(), *word);
        }
        let stranger = W::read("Stranger".to_owned());
        assert_eq!((stranger.word(), stranger.as_other()), ("Stranger", Some("Stranger")));
    }

    #[test]
    fn words_are_read_as_they_are_written_and_strange_ones_stay() {
        check::<Phase>();
        check::<VmReason>();
        check::<ActionType>();
    }
}
