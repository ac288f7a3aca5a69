//! What a simulated CDS is made of: who may sign in, which models there are, and how long things last.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::job::ModelType;
use crate::load::Capacity;

/// Everything that is decided before the simulator starts. Files may hold it as TOML or JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Config {
    /// Where clients reach the API, such as `https://cds.example.org/api`. Empty: as the caller's `Host` header says.
    pub url: String,
    /// The version that the API says it has.
    pub version: String,
    /// Who may sign in as a hatchery of the first protocol.
    pub builtin: Vec<BuiltinConsumer>,
    /// Who may sign in as a hatchery of the second protocol.
    pub hatcheries: Vec<HatcheryConsumer>,
    /// Worker models of the first protocol.
    pub models: Vec<Model>,
    /// Worker models that live in repositories.
    pub code_models: Vec<CodeModel>,
    /// Where logs would go.
    pub cdn: Cdn,
    /// Programs that workers look for when they register.
    pub binaries: Vec<String>,
    /// How long things last.
    pub times: Times,
    /// The capacity of the server; none means that it is unlimited.
    pub capacity: Option<Capacity>,
    /// At which release a job of the second protocol fails.
    pub releases_before_failure: u32,
    /// Whether a connection ends with its answer. CDS itself keeps connections; what stands before it may not.
    pub close_connections: bool,
    /// How many requests are remembered.
    pub remembered_requests: usize,
    /// What identifiers and chances follow from.
    pub seed: u64,
    /// After which number jobs and whatever else has one are numbered.
    pub numbers_after: i64,
    /// The token of the control API; none disables it over HTTP.
    pub control_token: Option<Token>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            url: String::new(),
            version: "snapshot".to_owned(),
            builtin: Vec::new(),
            hatcheries: Vec::new(),
            models: Vec::new(),
            code_models: Vec::new(),
            cdn: Cdn::default(),
            binaries: vec!["git".to_owned(), "gpg".to_owned()],
            times: Times::default(),
            capacity: None,
            releases_before_failure: 5,
            close_connections: false,
            remembered_requests: 10_000,
            seed: 0,
            numbers_after: 0,
            control_token: None,
        }
    }
}

/// A token that opens something. It shows itself to nobody but serde.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(pub String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl From<&str> for Token {
    fn from(token: &str) -> Self {
        Self(token.to_owned())
    }
}

/// A consumer of the first protocol, which a hatchery signs in with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct BuiltinConsumer {
    /// What it is called.
    pub name: String,
    /// What it signs in with.
    pub token: Token,
    /// The groups that it acts for.
    pub groups: Vec<String>,
    /// What it may do; empty means everything.
    pub scopes: Vec<String>,
    /// Whether it may look at everything.
    pub maintainer: bool,
    /// Whether it administers its groups, and so may register their models.
    pub group_admin: bool,
    /// Whether it counts for nothing at present.
    pub disabled: bool,
    /// The only name that a service may have.
    pub service_name: Option<String>,
    /// The only type that a service may have.
    pub service_type: Option<String>,
    /// The only region that a service may have.
    pub service_region: Option<String>,
    /// The only flag that a service may have.
    pub service_ignore_job_with_no_region: Option<bool>,
}

impl Default for BuiltinConsumer {
    fn default() -> Self {
        Self {
            name: String::new(),
            token: Token::default(),
            groups: vec![SHARED.to_owned()],
            scopes: Vec::new(),
            maintainer: false,
            group_admin: true,
            disabled: false,
            service_name: None,
            service_type: None,
            service_region: None,
            service_ignore_job_with_no_region: None,
        }
    }
}

/// The group that everybody's jobs run in.
pub const SHARED: &str = "shared.infra";

/// A hatchery of the second protocol.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct HatcheryConsumer {
    /// What it is called.
    pub name: String,
    /// What it signs in with.
    pub token: Token,
    /// Where it may start workers. None: nowhere.
    pub region: Option<String>,
    /// Whether it counts for nothing at present.
    pub disabled: bool,
}

/// A worker model of the first protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "these are the marks that CDS keeps")]
pub struct Model {
    pub group: String,
    pub name: String,
    /// What it runs on.
    pub model_type: ModelType,
    /// What it is cloned from.
    pub image: String,
    /// The size of its VMs.
    pub flavor: String,
    /// What runs before the worker.
    pub pre_cmd: String,
    /// What starts the worker.
    pub cmd: String,
    /// What runs after the worker.
    pub post_cmd: String,
    /// Who logs in to the guest.
    pub user: String,
    /// What they log in with, or a reference to a secret.
    pub password: String,
    /// Its secrets by name, such as `secrets.vsphere_password`.
    pub secrets: BTreeMap<String, Token>,
    /// Whether nobody uses it.
    pub disabled: bool,
    /// Whether it is for its group alone.
    pub restricted: bool,
    /// Whether it is used only where a job names it.
    pub deprecated: bool,
    /// Whether a worker must register it first.
    pub need_registration: bool,
    /// Whether a worker should look at it again.
    pub check_registration: bool,
    /// The programs that it is known to have.
    pub binaries: Vec<String>,
    /// Its system and processor as they are known, such as `linux/amd64`.
    pub osarch: Option<String>,
}

impl Default for Model {
    fn default() -> Self {
        let text = str::to_owned;
        Self {
            group: text(SHARED),
            name: String::new(),
            model_type: ModelType::Vsphere,
            image: String::new(),
            flavor: String::new(),
            pre_cmd: String::new(),
            cmd: text("./worker"),
            post_cmd: text("sudo shutdown -h now"),
            user: text("admin"),
            password: text("{{.secrets.vsphere_password}}"),
            secrets: BTreeMap::new(),
            disabled: false,
            restricted: false,
            deprecated: false,
            need_registration: false,
            check_registration: false,
            binaries: Vec::new(),
            osarch: Some(text("linux/amd64")),
        }
    }
}

/// A worker model that lives in a repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CodeModel {
    /// `PROJECT/vcs/org/repo/model`.
    pub path: String,
    #[serde(default = "main_branch")]
    pub branch: String,
    /// Whether it is what a call without a branch gets.
    #[serde(default)]
    pub default_branch: bool,
    /// Its system and processor.
    #[serde(default = "usual_osarch")]
    pub osarch: String,
    /// What it runs on.
    #[serde(default)]
    pub model_type: ModelType,
    /// What it is made of: `image`, `flavor`, `username`, `password`.
    pub spec: Value,
    /// The same with its secrets in clear, for those that may see them.
    #[serde(default)]
    pub clear_spec: Option<Value>,
}

fn main_branch() -> String {
    "main".to_owned()
}

fn usual_osarch() -> String {
    "linux/amd64".to_owned()
}

impl CodeModel {
    /// A vSphere model for Linux on the main branch, cloned from this image.
    pub fn vsphere(path: &str, image: &str) -> Self {
        Self {
            path: path.to_owned(),
            branch: main_branch(),
            default_branch: true,
            osarch: usual_osarch(),
            model_type: ModelType::Vsphere,
            spec: serde_json::json!({ "image": image }),
            clear_spec: None,
        }
    }

    /// The last part of its path.
    pub fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(self.path.as_str(), |(_, name)| name)
    }
}

/// Where logs would go.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Cdn {
    /// Where workers send logs.
    pub tcp_url: String,
    /// Whether that takes TLS.
    pub tcp_url_enable_tls: bool,
    /// Where workers send artifacts.
    pub http_url: String,
}

/// How long things last, in seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Times {
    /// A session of a hatchery.
    pub session: i64,
    /// A session of a worker.
    pub worker_session: i64,
    /// A booked job, if the hatchery did not say.
    pub booking: i64,
    /// A booked registration of a model.
    pub model_booking: i64,
    /// A worker that says nothing.
    pub silent_worker: i64,
    /// A disabled worker of the first protocol since its last word.
    pub disabled_worker: i64,
    /// Any disabled worker at least.
    pub deletion: i64,
    /// A job of the second protocol that nobody takes.
    pub waiting: i64,
    /// A job of the second protocol that no worker takes.
    pub scheduling: i64,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            session: 3600,
            worker_session: 86_400,
            booking: 120,
            model_booking: 360,
            silent_worker: 300,
            disabled_worker: 300,
            deletion: 10,
            waiting: 3600,
            scheduling: 600,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_only_what_is_not_as_usual() {
        let file = r#"{
            "builtin": [{ "name": "one", "token": "secret" }],
            "hatcheries": [{ "name": "one", "token": "secret", "region": "rbx" }],
            "models": [{ "name": "debian", "image": "debian12", "need-registration": true }],
            "code-models": [{ "path": "P/v/o/r/m", "spec": { "image": "debian12" } }],
            "times": { "booking": 5 }
        }"#;
        let config: Config = serde_json::from_str(file).unwrap();
        assert_eq!((config.times.booking, config.times.session), (5, 3600));
        assert_eq!(config.builtin[0].groups, [SHARED]);
        assert_eq!((config.code_models[0].name(), config.code_models[0].branch.as_str()), ("m", "main"));
        assert!(!format!("{config:?}").contains("secret\""), "{config:?}");
        assert!(serde_json::from_str::<Config>(r#"{ "time": {} }"#).is_err());
        let again = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<Config>(&again).unwrap(), config);
    }
}
