//! `InfraEnv`: what hosts boot from.

use serde::{Deserialize, Serialize};

use super::{Foreign, ForeignKind, Nothing};
use crate::reading::lenient;

/// An InfraEnv of the Assisted Installer.
pub type InfraEnv = Foreign<InfraEnvKind>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InfraEnvKind;

impl ForeignKind for InfraEnvKind {
    const GROUP: &'static str = "agent-install.openshift.io";
    const VERSION: &'static str = "v1beta1";
    const KIND: &'static str = "InfraEnv";
    const PLURAL: &'static str = "infraenvs";
    type Spec = Nothing;
    type Status = InfraEnvStatus;
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InfraEnvStatus {
    #[serde(
        default,
        rename = "isoDownloadURL",
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub iso_download_url: Option<String>,
}
