//! What can happen to a call.

use std::net::IpAddr;

use rookery_vim::Node;
use serde::{Deserialize, Serialize};

use super::InvalidRule;
use crate::incident::Incident;
use crate::refusal::Refusal;
use crate::span::Span;

/// What happens to a call that a rule hits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Action {
    /// It is refused with this fault; nothing is done.
    Fault(FaultSpec),
    /// It is answered with this status and no SOAP, as by a proxy; nothing is done.
    Status {
        /// From 400 to 599.
        code: u16,
    },
    /// The task that it starts runs for this long and then fails.
    TaskError {
        #[serde(flatten)]
        fault: FaultSpec,
        /// How long it runs.
        #[serde(default)]
        after: Span,
        #[serde(default)]
        remains: Remains,
    },
    /// It is done, and the connection ends instead of an answer.
    LoseReply,
    /// The connection ends before anything is done.
    Drop,
    /// It is answered, but not faster than this.
    SlowBody {
        /// At least 1.
        bytes_per_second: u64,
    },
    /// It is done, and answered so much later.
    Delay { by: Span },
    /// The caller's session has ended: the call is refused, and so are all after it.
    ExpireCaller,
    /// No wait for updates is answered while the rule is there. Its target is the collector.
    Freeze,
    /// Whoever waits for updates is told so much later that a property has changed. Its target is the VM. A read shows the
    /// new value at once.
    Late {
        /// Which properties, such as `config.*`.
        #[serde(default = "super::any")]
        property: String,
        by: Span,
    },
    /// An incident happens before the call.
    Do(Incident),
    /// How guests behave that start while the rule is there. Its target is the VM.
    Guest(GuestBehaviour),
}

/// What a task that fails leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remains {
    /// Nothing: all is as if it had not begun.
    #[default]
    Nothing,
    /// Everything: all was done, and only the task says otherwise.
    Everything,
}

/// A fault of any class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FaultSpec {
    /// Such as `SystemError`.
    pub class: String,
    /// The localized message.
    #[serde(default = "no_words")]
    pub message: String,
    /// In schema order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<FaultMember>,
}

fn no_words() -> String {
    "A general system error occurred: a rule of the simulator".to_owned()
}

/// A member of a fault.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct FaultMember {
    /// Such as `object`.
    pub name: String,
    pub value: String,
    /// For a reference: the class of the object.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// For an object of a class of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<FaultMember>,
}

/// How a guest behaves in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuestBehaviour {
    /// It starts so much later.
    SlowBoot { by: Span },
    /// Its tools never run.
    NoTools,
    /// Its tools run, but it takes no orders.
    NoOperations,
    /// It never has an address.
    NoAddress,
    /// It has this address instead of its own.
    WrongAddress { ip: IpAddr },
    /// Its tools stop so long after they came.
    LosesTools { after: Span },
}

impl FaultSpec {
    /// A fault without members.
    pub fn new(class: &str, message: &str) -> Self {
        Self { class: class.to_owned(), message: message.to_owned(), members: Vec::new() }
    }

    pub(crate) fn refusal(&self) -> Refusal {
        let refusal = Refusal::new(self.class.clone(), self.message.clone());
        self.members.iter().fold(refusal, |refusal, member| refusal.having(member.node()))
    }

    fn check(&self) -> Result<(), InvalidRule> {
        name(&self.class)?;
        self.members.iter().try_for_each(FaultMember::check)
    }
}

impl FaultMember {
    fn node(&self) -> Node {
        Node {
            xsi_type: self.class.as_deref().map(Into::into),
            ref_type: self.reference.as_deref().map(Into::into),
            text: self.value.clone(),
            children: self.members.iter().map(Self::node).collect(),
            ..Node::new(&self.name)
        }
    }

    fn check(&self) -> Result<(), InvalidRule> {
        name(&self.name)?;
        self.reference.iter().chain(&self.class).try_for_each(|class| name(class))?;
        self.members.iter().try_for_each(Self::check)
    }
}

/// Names become names of elements: letters and digits, a letter first.
fn name(text: &str) -> Result<(), InvalidRule> {
    let legal = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if legal { Ok(()) } else { Err(InvalidRule::Name(text.to_owned())) }
}

impl Action {
    pub(super) fn check(&self) -> Result<(), InvalidRule> {
        match self {
            Self::Fault(fault) | Self::TaskError { fault, .. } => fault.check(),
            Self::Status { code } if !(400..600).contains(code) => Err(InvalidRule::Status(*code)),
            Self::SlowBody { bytes_per_second: 0 } => Err(InvalidRule::Speed),
            Self::Status { .. }
            | Self::LoseReply
            | Self::Drop
            | Self::SlowBody { .. }
            | Self::Delay { .. }
            | Self::ExpireCaller
            | Self::Freeze
            | Self::Late { .. }
            | Self::Do(_)
            | Self::Guest(_) => Ok(()),
        }
    }

    pub(super) fn is_for_calls(&self) -> bool {
        !matches!(self, Self::Freeze | Self::Late { .. } | Self::Guest(_))
    }

    /// Whether a call that this action applies to is not handled any further.
    pub(super) fn ends_call(&self) -> bool {
        matches!(self, Self::Fault(_) | Self::Status { .. } | Self::Drop)
    }
}
