//! The script that downloads a worker, runs it and turns its VM off, and how it is handed to a guest.

use std::collections::BTreeMap;

use rookery_cds::VirtualMachine;
use rookery_vim_client::Program;
use secrecy::{ExposeSecret as _, SecretString};

use super::config::VARIABLE;
use super::template::{TemplateError, Value, render};

/// Where the script of a worker comes from.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// A V2 model, for workers of this system and architecture, such as `linux/amd64`.
    V2Model {
        /// `os/arch`.
        os_arch: &'a str,
    },
    /// A V1 job on a V2 model: the guest itself says what it is.
    V1JobOnV2Model,
    /// The commands of a V1 model, which are Go templates. Only such models are registered.
    V1Model(&'a VirtualMachine, Purpose),
}

/// What the worker is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Job,
    /// Telling the API what its model can do.
    Registration,
}

#[derive(Debug, Clone)]
pub struct Values {
    /// The API as workers reach it.
    pub api: String,
    /// The worker's configuration as in `CDS_CONFIG`.
    pub config: SecretString,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// A template that cannot be rendered.
    #[error("the {part} of model {model} cannot be used")]
    Template {
        model: String,
        part: &'static str,
        /// What is wrong with it; lines are those of the part.
        source: TemplateError,
    },
    /// A model without a command would start a VM for nothing.
    #[error("model {model} has no command")]
    NoCommand { model: String },
    /// A V2 model for no system that there is.
    #[error("model {model} is for {os_arch:?}, where os/arch is expected, such as linux/amd64")]
    OsArch { model: String, os_arch: String },
}

/// What a guest is, in CDS's words: it knows `x86_64` and `i686`, but not `aarch64`.
const OF_GUEST: &str = "\"linux/$(case $(uname -m) in (aarch64) echo arm64;; (*) uname -m;; esac)\"";

/// The script that runs a worker. It may hold the worker's token, where a V1 model puts it.
pub fn worker_script(model: &str, source: Source<'_>, values: &Values) -> Result<SecretString, ScriptError> {
    match source {
        Source::V2Model { os_arch } => {
            let segments = os_arch.split_once('/');
            if segments.is_none_or(|(os, arch)| os.is_empty() || arch.is_empty() || arch.contains('/')) {
                return Err(ScriptError::OsArch { model: model.to_owned(), os_arch: os_arch.to_owned() });
            }
            Ok(downloaded(&values.api, &quoted(os_arch)).into())
        }
        Source::V1JobOnV2Model => Ok(downloaded(&values.api, OF_GUEST).into()),
        Source::V1Model(commands, purpose) => v1_script(commands, model, purpose, values),
    }
}

/// What a V1 model runs when its template is made, after which the VM must be off.
pub fn template_script(
    model: &str,
    commands: &VirtualMachine,
    api: &str,
) -> Result<SecretString, ScriptError> {
    let values = Values { api: api.to_owned(), config: SecretString::default() };
    render(&commands.post_cmd, |name| values.field(name))
        .map(Into::into)
        .map_err(|source| ScriptError::Template { model: model.to_owned(), part: "post_cmd", source })
}

/// One template, as in the Go hatchery: a branch may begin in one command and end in another.
fn v1_script(
    commands: &VirtualMachine,
    model: &str,
    purpose: Purpose,
    values: &Values,
) -> Result<SecretString, ScriptError> {
    if commands.cmd.trim().is_empty() {
        return Err(ScriptError::NoCommand { model: model.to_owned() });
    }
    let text = joined(&commands.pre_cmd, &commands.cmd, purpose, &commands.post_cmd);
    render(&text, |name| values.field(name)).map(Into::into).map_err(|error| {
        let (part, line) = part_of(commands, error.line);
        ScriptError::Template { model: model.to_owned(), part, source: TemplateError { line, ..error } }
    })
}

/// Which command a line of the joined script belongs to, and where in it.
fn part_of(commands: &VirtualMachine, line: usize) -> (&'static str, usize) {
    let lines = |text: &str| text.matches('\n').count() + 1;
    let (pre, cmd) = (lines(&commands.pre_cmd), lines(&commands.cmd));
    match line {
        line if line <= pre => ("pre_cmd", line),
        line if line <= pre + cmd => ("cmd", line - pre),
        line => ("post_cmd", line - pre - cmd),
    }
}

fn joined(pre: &str, cmd: &str, purpose: Purpose, post: &str) -> String {
    let redirected = match purpose {
        Purpose::Job => " 1>/tmp/worker.log 2>&1;",
        Purpose::Registration => " register 1>/tmp/worker.register.log 2>&1",
    };
    format!("{pre}\n{cmd}{redirected}\n{post}")
}

/// Where a worker is put.
const WORKER: &str = "/usr/local/bin/worker";
/// What is said while it is fetched.
const LOG: &str = "/tmp/cds-worker-setup.log";

/// The script of V2 models; `segment` is for the shell. A guest has no environment but what it is given: `PATH` is only
/// the shell's own until the worker gets it. A refused download must not become a worker, hence `-f`.
fn downloaded(api: &str, segment: &str) -> String {
    let url = format!("{}/download/worker/{segment}", quoted(api.trim_end_matches('/')));
    let pre = format!(
        "#!/bin/sh
if command -v curl >/dev/null 2>&1; then
  curl -f -L --retry 10 --retry-max-time 120 -o {WORKER} {url} >>{LOG} 2>&1 && chmod +x {WORKER}
elif command -v wget >/dev/null 2>&1; then
  wget -t 10 -T 12 -O {WORKER} {url} >>{LOG} 2>&1 && chmod +x {WORKER}
else
  echo 'the worker cannot be downloaded: there is neither curl nor wget' >>{LOG}
  exit 1
fi"
    );
    joined(&pre, "PATH=$PATH worker", Purpose::Job, "sudo shutdown -h now")
}

/// A word that a shell takes for exactly this text.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

impl Values {
    /// The fields of templates. Those of former versions are still there and empty, each by its Go type.
    fn field(&self, name: &str) -> Option<Value<'_>> {
        match name {
            "API" => Some(Value::Text(&self.api)),
            "Config" => Some(Value::Text(self.config.expose_secret())),
            "FromWorkerImage" => Some(Value::Flag(true)),
            "HTTPInsecure" => Some(Value::Flag(false)),
            "WorkflowJobID" | "TTL" | "GraylogPort" => Some(Value::Number(0)),
            "InjectEnvVars" => Some(Value::EmptyMap),
            "Token" | "Name" | "BaseDir" | "Model" | "HatcheryName" | "GraylogHost" | "GraylogExtraKey"
            | "GraylogExtraValue" | "WorkerBinary" => Some(Value::Text("")),
            _ => None,
        }
    }
}

/// Runs the script of a worker, which gets its configuration, what is injected, and nothing else.
pub fn worker_program(
    script: &SecretString,
    config: &SecretString,
    injected: &BTreeMap<String, SecretString>,
) -> Program {
    let exposed = |name: &str, value: &SecretString| (name.to_owned(), value.expose_secret().to_owned());
    let injected = injected.iter().map(|(name, value)| exposed(name, value));
    let environment = std::iter::once(exposed(VARIABLE, config)).chain(injected).collect();
    Program { environment, ..plain_program(script.expose_secret()) }
}

/// Runs a script that needs no variables: a `preStartScript`, or that of [`template_script`].
///
/// The tools hand path and arguments to a shell as one line, so that the script follows a command that does nothing.
pub fn plain_program(script: &str) -> Program {
    let (path, arguments) = ("/bin/echo".to_owned(), format!("-n ;{script}"));
    Program { path, arguments, environment: Vec::new(), directory: None }
}

#[cfg(test)]
mod tests;
