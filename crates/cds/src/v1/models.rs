//! V1 worker models: what they are made of, whether they must be registered, and who is doing that.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use jiff::Timestamp;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::json;

use super::V1;
use super::queue::{Group, Requirement};
use crate::api::{Call, Repeat};
use crate::error::{CdsError, ErrorId};
use crate::json;
use crate::path::segment;
use crate::settle::{Seen, settle};

/// The group whose models are everybody's.
const SHARED: &str = "shared.infra";

/// A V1 worker model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct V1Model {
    pub id: i64,
    /// Its name within its group.
    pub name: String,
    pub group: Group,
    /// The kind of hatchery that serves it.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it is used only where it is asked for by name.
    pub is_deprecated: bool,
    /// Whether no worker may use it before it is registered.
    pub need_registration: bool,
    /// Whether it should be registered again.
    pub check_registration: bool,
    /// When a person last changed it.
    #[serde(deserialize_with = "json::time")]
    pub user_last_modified: Option<Timestamp>,
    /// The system that registered.
    pub registered_os: Option<String>,
    /// The architecture that registered.
    pub registered_arch: Option<String>,
    /// What was found on the machine that registered. There may be hundreds, and clones share them.
    #[serde(deserialize_with = "json::shared")]
    pub registered_capabilities: Arc<[Requirement]>,
    /// How often its workers could not be started since it was registered.
    pub nb_spawn_err: i64,
    pub model_virtual_machine: VirtualMachine,
}

/// The machine of a V1 worker model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct VirtualMachine {
    /// What it is made from.
    pub image: String,
    /// How large it is.
    pub flavor: String,
    /// What is run first.
    pub pre_cmd: String,
    /// What runs the worker.
    pub cmd: String,
    /// What is run last.
    pub post_cmd: String,
    pub user: String,
    /// Their password, or a reference to one of the model's secrets.
    #[serde(deserialize_with = "json::secret")]
    pub password: Option<SecretString>,
}

/// A secret of a model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ModelSecret {
    /// Its name, such as `secrets.vsphere_password`.
    pub name: String,
    /// Its value.
    #[serde(deserialize_with = "json::secret")]
    pub value: Option<SecretString>,
}

impl V1Model {
    /// `group/name`, always.
    pub fn path(&self) -> String {
        format!("{}/{}", self.group.name, self.name)
    }

    /// What people call it: without its group if it is everybody's.
    pub fn display_path(&self) -> String {
        if self.group.name == SHARED { self.name.clone() } else { self.path() }
    }
}

impl V1 {
    /// The models that this hatchery may use, of every type, in the order of their names.
    pub async fn models(&self) -> Result<Vec<V1Model>, CdsError> {
        self.session.call(&Call::get("list the worker models", "/worker/model/enabled")).await?.list()
    }

    pub async fn model(&self, group: &str, name: &str) -> Result<V1Model, CdsError> {
        let call = Call::get(format!("read worker model {group}/{name}"), route(group, name, ""));
        self.session.call(&call).await?.object()
    }

    /// The secrets that a model refers to.
    pub async fn model_secrets(&self, group: &str, name: &str) -> Result<Vec<ModelSecret>, CdsError> {
        let what = format!("read the secrets of worker model {group}/{name}");
        self.session.call(&Call::get(what, route(group, name, "/secret"))).await?.list()
    }

    /// Books a model for registration, for six minutes.
    ///
    /// CDS tells nobody who has booked a model. After a lost answer it is booked once more, and "already booked" counts as
    /// ours then: at worst another hatchery was faster in that moment, and both register the model, which does no harm. A
    /// slot that is ours without our knowing it would keep the model's jobs waiting for six minutes.
    pub async fn book_model(&self, group: &str, name: &str) -> Result<(), CdsError> {
        let what = format!("book worker model {group}/{name}");
        let book = Call::new(what, Method::PUT, route(group, name, "/book"), Repeat::Never);
        let attempt = async || self.session.call(&book).await.map(drop);
        let once_more = async || match attempt().await {
            Ok(()) => Ok(Seen::Done(())),
            Err(error) if error.is(ErrorId::MODEL_ALREADY_BOOKED) => Ok(Seen::Done(())),
            Err(error) if error.is_transient() || error.may_have_happened() => Ok(Seen::NotDone),
            Err(error) => Err(error),
        };
        settle(attempt, once_more).await
    }

    /// Reports that a worker of a model could not be started, or did not register; frees the model's booking.
    pub async fn model_error(
        &self,
        group: &str,
        name: &str,
        error: &str,
        logs: &[u8],
    ) -> Result<(), CdsError> {
        let what = format!("report an error of worker model {group}/{name}");
        let call = Call::new(what, Method::PUT, route(group, name, "/error"), Repeat::IfNotDone);
        let call = call.with(&json!({"Error": error, "Logs": STANDARD.encode(logs)}))?;
        self.session.call(&call).await.map(drop)
    }
}

fn route(group: &str, name: &str, rest: &str) -> String {
    format!("/worker/model/{}/{}{rest}", segment(group), segment(name))
}
