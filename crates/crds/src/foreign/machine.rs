//! `Machine`: a node to be, as Cluster API sees it.

use serde::{Deserialize, Serialize};

use super::{Foreign, ForeignKind, Nothing};
use crate::reading::lenient;

/// A Machine of Cluster API.
pub type Machine = Foreign<MachineKind>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MachineKind;

impl ForeignKind for MachineKind {
    const GROUP: &'static str = "cluster.x-k8s.io";
    const VERSION: &'static str = "v1beta1";
    const KIND: &'static str = "Machine";
    const PLURAL: &'static str = "machines";
    type Spec = Nothing;
    type Status = MachineStatus;
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MachineStatus {
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}
