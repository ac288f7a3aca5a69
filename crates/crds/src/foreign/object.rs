//! What all kinds of others have in common.

use std::borrow::Cow;
use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::reading::lenient;

/// A namespaced kind of somebody else's, and what of it is read.
pub trait ForeignKind: Clone + Debug + Default + PartialEq + Send + Sync + 'static {
    const GROUP: &'static str;
    const VERSION: &'static str;
    const KIND: &'static str;
    const PLURAL: &'static str;
    type Spec: Clone + Debug + Default + PartialEq + DeserializeOwned + Serialize + Send + Sync;
    type Status: Clone + Debug + Default + PartialEq + DeserializeOwned + Serialize + Send + Sync;
}

/// An object of such a kind.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Foreign<K: ForeignKind> {
    #[serde(default)]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "lenient")]
    pub spec: K::Spec,
    #[serde(default, deserialize_with = "lenient")]
    pub status: K::Status,
}

impl<K: ForeignKind> Resource for Foreign<K> {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        K::KIND.into()
    }

    fn group((): &()) -> Cow<'_, str> {
        K::GROUP.into()
    }

    fn version((): &()) -> Cow<'_, str> {
        K::VERSION.into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        K::PLURAL.into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// A part of an object of which nothing is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Nothing {}

/// A condition of any API, with less than Kubernetes' own type demands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ForeignCondition {
    #[serde(rename = "type")]
    pub name: String,
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
