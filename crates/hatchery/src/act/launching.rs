//! What is started in a guest, and as whom.

use rookery_cds::{Assignment, JobId, ModelRef, WorkerClaims, worker_token};
use rookery_daemon::telemetry::chain;
use rookery_fleet::MachineId;
use rookery_vim_client::{GuestError, GuestUser, Program};
use secrecy::{ExposeSecret as _, SecretString};

use super::Crew;
use crate::launch::config::{Task, WorkerConfig};
use crate::launch::credentials::{self, Credentials, Model, Secret};
use crate::launch::script::{Purpose, Source, Values, template_script};
use crate::launch::{Launch, worker_script};
use crate::model::{Guest, Runs};

/// What a worker is started for.
#[derive(Debug, Clone, Copy)]
pub(super) enum For<'j> {
    /// A job.
    Job(&'j JobId),
    /// Registering its model.
    Registration,
}

impl Crew {
    /// Who starts programs in guests of this model.
    pub(super) async fn user(&self, runs: &Runs) -> Result<GuestUser, String> {
        let settings = self.settings();
        let configured = &settings.models.credentials;
        let of_v1 = |own| Model::V1 { path: &runs.model, template: &runs.template, own };
        let own = match &runs.guest {
            Guest::V2 { own, .. } => own.clone(),
            // CDS is not asked for secrets that are of no use.
            Guest::V1 { own, .. } if credentials::are_in_settings(&of_v1(own), configured) => own.clone(),
            Guest::V1 { own, group, name, .. } => {
                let password = self.clear_password(&runs.model, group, name, &own.password).await?;
                Credentials { username: own.username.clone(), password }
            }
        };
        let model = match &runs.guest {
            Guest::V2 { name, .. } => Model::V2 { name, template: &runs.template, own: &own },
            Guest::V1 { .. } => of_v1(&own),
        };
        let found = credentials::resolve(&model, configured);
        let Credentials { username, password } = found.map_err(|error| chain(&error))?;
        Ok(GuestUser { name: username, password })
    }

    /// The password of a V1 model; the model itself keeps the reference.
    async fn clear_password(
        &self,
        path: &str,
        group: &str,
        name: &str,
        password: &SecretString,
    ) -> Result<SecretString, String> {
        if !password.expose_secret().contains("{{") {
            return Ok(password.clone());
        }
        let v1 = self.v1().map_err(|error| chain(&error))?;
        let secrets = v1.model_secrets(group, name).await.map_err(|error| chain(&error))?;
        let secrets: Vec<Secret> = secrets
            .into_iter()
            .filter_map(|secret| Some(Secret { name: secret.name, value: secret.value? }))
            .collect();
        Ok(credentials::with_secrets(path, password, &secrets))
    }

    /// The program that runs a worker.
    pub(super) async fn worker(&self, name: &str, runs: &Runs, purpose: For<'_>) -> Result<Program, String> {
        let settings = self.settings();
        let (assignment, task, region) = self.assignment(runs, purpose).await?;
        let claims =
            WorkerClaims { hatchery: settings.identity.name.clone(), worker: name.to_owned(), assignment };
        // CDS checks it by its own clock, and wants none that was issued later than now.
        let now = self.cds.now();
        let token = self.with_random(|random| worker_token(&self.key, &claims, now, random));
        let token = token.map_err(|error| chain(&error))?;
        let model = match &runs.guest {
            Guest::V1 { .. } => runs.model.clone(),
            Guest::V2 { name, .. } => name.clone(),
        };
        let config = WorkerConfig {
            name: name.to_owned(),
            base_dir: settings.worker.basedir.clone(),
            log: settings.worker.logs.clone(),
            hatchery_name: settings.identity.name.clone(),
            addresses: self.addresses.borrow().clone(),
            token,
            model,
            task,
            region,
            injected: settings.worker.env.clone(),
        };
        let values = Values { api: config.addresses.api.url.clone(), config: config.encoded() };
        let source = match (&runs.guest, purpose) {
            (Guest::V1 { commands, .. }, For::Job(_)) => Source::V1Model(commands, Purpose::Job),
            (Guest::V1 { commands, .. }, For::Registration) => {
                Source::V1Model(commands, Purpose::Registration)
            }
            (Guest::V2 { .. }, For::Job(JobId::V1(_)) | For::Registration) => Source::V1JobOnV2Model,
            (Guest::V2 { os_arch, .. }, For::Job(JobId::V2(_))) => Source::V2Model { os_arch },
        };
        let script = worker_script(&runs.label, source, &values).map_err(|error| chain(&error))?;
        Ok(Launch::worker(&script, config.encoded(), &settings.worker.env).program())
    }

    async fn assignment(&self, runs: &Runs, purpose: For<'_>) -> Result<(Assignment, Task, String), String> {
        let own_region = self.settings().queue.region.clone().unwrap_or_default();
        let model = match &runs.guest {
            Guest::V1 { id, name, .. } => Some(ModelRef { id: *id, name: name.clone() }),
            Guest::V2 { .. } => None,
        };
        match (purpose, &runs.guest) {
            (For::Job(JobId::V1(job)), _) => {
                Ok((Assignment::V1Job { job: *job, model }, Task::V1Job(job.number()), own_region))
            }
            (For::Job(JobId::V2(job)), guest) => {
                let name = match guest {
                    Guest::V1 { name, .. } | Guest::V2 { name, .. } => name.clone(),
                };
                let region = self.v2().map_err(|error| chain(&error))?.region().await;
                let region = region.map_err(|error| chain(&error))?;
                let assignment = Assignment::V2Job { job: job.clone(), model: name };
                Ok((assignment, Task::V2Job(job.to_string()), region))
            }
            (For::Registration, _) => {
                let model = model.ok_or("only V1 models are registered")?;
                Ok((Assignment::V1Registration { model }, Task::Registration, own_region))
            }
        }
    }

    /// Starts a worker, after what its model wants run first.
    pub(super) async fn start_worker(
        &self,
        machine: &MachineId,
        user: &GuestUser,
        runs: &Runs,
        worker: &Program,
    ) -> Result<(), String> {
        if let Some(script) = self.settings().models.pre_start_scripts.get(&runs.template) {
            let first = Launch::plain(script).program();
            self.hands.launch(machine, user, &first).await.map_err(|error| chain(&error))?;
        }
        started(self.hands.launch(machine, user, worker).await)
    }

    /// The program that finishes a template in the making; none if the model has none.
    pub(super) fn finisher(&self, runs: &Runs) -> Result<Option<Program>, String> {
        let Guest::V1 { commands, .. } = &runs.guest else { return Ok(None) };
        if commands.post_cmd.trim().is_empty() {
            return Ok(None);
        }
        let api = self.addresses.borrow().api.url.clone();
        let script = template_script(&runs.label, commands, &api).map_err(|error| chain(&error))?;
        Ok(Some(Launch::plain(script.expose_secret()).program()))
    }
}

/// After a lost answer a worker must not be started again. If it runs it registers, and if not it is swept.
fn started(launch: Result<i64, GuestError>) -> Result<(), String> {
    match launch {
        Ok(_) | Err(GuestError::MayHaveStarted { .. }) => Ok(()),
        Err(error) => Err(chain(&error)),
    }
}

#[cfg(test)]
mod tests {
    use rookery_vim::MoRef;
    use rookery_vim_client::CallError;

    use super::*;

    #[test]
    fn a_worker_that_may_have_started_counts_as_started() {
        let vm = || MoRef::new("VirtualMachine", "vm-1");
        let source = || Box::new(CallError::Credentials { endpoint: String::new(), user: String::new() });
        assert_eq!(started(Ok(7)), Ok(()));
        let open = GuestError::MayHaveStarted { program: String::new(), vm: vm(), source: source() };
        assert_eq!(started(Err(open)), Ok(()), "its machine is not thrown away, nor another one started");
        let refused = GuestError::Refused { action: "start".to_owned(), vm: vm(), source: source() };
        assert!(started(Err(refused)).is_err());
    }
}
