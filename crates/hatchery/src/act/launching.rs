//! What is started in a guest, and as whom.

use rookery_cds::{Assignment, JobId, ModelRef, V1Model, WorkerClaims, worker_token};
use rookery_daemon::telemetry::chain;
use rookery_fleet::MachineId;
use rookery_vim_client::{GuestError, GuestUser, Program};
use secrecy::{ExposeSecret as _, SecretString};

use super::ActionContext;
use crate::intake::model::{ModelSource, ResolvedModel};
use crate::launch::config::WorkerConfig;
use crate::launch::credentials::{self, Credentials, Model, Secret};
use crate::launch::script::{Purpose, Source, Values, template_script};
use crate::launch::{plain_program, worker_program, worker_script};

/// What a worker is started for.
#[derive(Debug, Clone, Copy)]
pub(super) enum For<'j> {
    Job(&'j JobId),
    Registration,
}

impl ActionContext {
    /// Who starts programs in guests of this model.
    pub(super) async fn user(&self, model: &ResolvedModel) -> Result<GuestUser, String> {
        let settings = self.settings();
        let configured = &settings.models.credentials;
        let (path, mut own) = (model.path(), own_credentials(&model.source));
        // CDS is not asked for secrets that are of no use.
        if let ModelSource::V1(v1) = &model.source
            && !credentials::are_in_settings(&guest_of(model, &path, &own), configured)
        {
            own.password = self.clear_password(v1, own.password).await?;
        }
        let found = credentials::resolve(&guest_of(model, &path, &own), configured);
        let Credentials { username, password } = found.map_err(|error| chain(&error))?;
        Ok(GuestUser { name: username, password })
    }

    /// The password of a V1 model; the model itself keeps the reference.
    async fn clear_password(&self, model: &V1Model, password: SecretString) -> Result<SecretString, String> {
        if !password.expose_secret().contains("{{") {
            return Ok(password);
        }
        let v1 = self.v1().map_err(|error| chain(&error))?;
        let secrets =
            v1.model_secrets(&model.group.name, &model.name).await.map_err(|error| chain(&error))?;
        let secrets: Vec<Secret> = secrets
            .into_iter()
            .filter_map(|secret| Some(Secret { name: secret.name, value: secret.value? }))
            .collect();
        Ok(credentials::with_secrets(&model.path(), &password, &secrets))
    }

    /// The program that runs a worker.
    pub(super) async fn worker(
        &self,
        name: &str,
        model: &ResolvedModel,
        purpose: For<'_>,
    ) -> Result<Program, String> {
        let settings = self.settings();
        let (assignment, region) = self.assignment(model, purpose).await?;
        let hatchery = settings.identity.name.clone();
        let claims = WorkerClaims { hatchery, worker: name.to_owned(), assignment };
        // CDS checks it by its own clock, and wants none that was issued later than now.
        let now = self.cds.now();
        let token = self.with_random(|random| worker_token(&self.key, &claims, now, random));
        let token = token.map_err(|error| chain(&error))?;
        let config = WorkerConfig {
            name: name.to_owned(),
            base_dir: settings.worker.basedir.clone(),
            log: settings.worker.logs.clone(),
            hatchery_name: settings.identity.name.clone(),
            addresses: self.addresses.borrow().clone(),
            token,
            model: model.identity(),
            job: if let For::Job(job) = purpose { Some(job.clone()) } else { None },
            region,
            injected: settings.worker.env.clone(),
        };
        let values = Values { api: config.addresses.api.url.clone(), config: config.encoded() };
        let source = match (&model.source, purpose) {
            (ModelSource::V1(v1), For::Job(_)) => Source::V1Model(&v1.model_virtual_machine, Purpose::Job),
            (ModelSource::V1(v1), For::Registration) => {
                Source::V1Model(&v1.model_virtual_machine, Purpose::Registration)
            }
            (ModelSource::V2(_), For::Job(JobId::V1(_)) | For::Registration) => Source::V1JobOnV2Model,
            (ModelSource::V2(v2), For::Job(JobId::V2(_))) => Source::V2Model { os_arch: &v2.osarch },
        };
        let script = worker_script(&model.label(), source, &values).map_err(|error| chain(&error))?;
        Ok(worker_program(&script, &config.encoded(), &settings.worker.env))
    }

    async fn assignment(
        &self,
        model: &ResolvedModel,
        purpose: For<'_>,
    ) -> Result<(Assignment, String), String> {
        let own_region = self.settings().queue.region.clone().unwrap_or_default();
        let (name, v1) = match &model.source {
            ModelSource::V1(v1) => (&v1.name, Some(ModelRef { id: v1.id, name: v1.name.clone() })),
            ModelSource::V2(v2) => (&v2.name, None),
        };
        match purpose {
            For::Job(JobId::V1(job)) => Ok((Assignment::V1Job { job: *job, model: v1 }, own_region)),
            For::Job(JobId::V2(job)) => {
                let region = self.v2().map_err(|error| chain(&error))?.region().await;
                let region = region.map_err(|error| chain(&error))?;
                Ok((Assignment::V2Job { job: job.clone(), model: name.clone() }, region))
            }
            For::Registration => {
                let model = v1.ok_or("only V1 models are registered")?;
                Ok((Assignment::V1Registration { model }, own_region))
            }
        }
    }

    /// Starts a worker, after what its model wants run first.
    pub(super) async fn start_worker(
        &self,
        machine: &MachineId,
        user: &GuestUser,
        model: &ResolvedModel,
        worker: &Program,
    ) -> Result<(), String> {
        if let Some(script) = self.settings().models.pre_start_scripts.get(model.template()) {
            self.hands.launch(machine, user, &plain_program(script)).await.map_err(|error| chain(&error))?;
        }
        started(self.hands.launch(machine, user, worker).await)
    }

    /// The program that finishes a template in the making; none if the model has none.
    pub(super) fn finisher(&self, model: &ResolvedModel) -> Result<Option<Program>, String> {
        let ModelSource::V1(v1) = &model.source else { return Ok(None) };
        let vm = &v1.model_virtual_machine;
        if vm.post_cmd.trim().is_empty() {
            return Ok(None);
        }
        let api = self.addresses.borrow().api.url.clone();
        let script = template_script(&model.label(), vm, &api).map_err(|error| chain(&error))?;
        Ok(Some(plain_program(script.expose_secret())))
    }
}

/// Who may enter the guests of a model, as the model says, with references to secrets.
fn own_credentials(source: &ModelSource) -> Credentials {
    let (user, password) = match source {
        ModelSource::V1(model) => {
            let vm = &model.model_virtual_machine;
            (vm.user.as_str(), &vm.password)
        }
        ModelSource::V2(model) => (model.spec.username.as_deref().unwrap_or_default(), &model.spec.password),
    };
    Credentials { username: user.to_owned(), password: password.clone().unwrap_or_default() }
}

fn guest_of<'m>(model: &'m ResolvedModel, path: &'m str, own: &'m Credentials) -> Model<'m> {
    let name = match &model.source {
        ModelSource::V1(_) => path,
        ModelSource::V2(v2) => &v2.name,
    };
    Model { kind: model.kind(), name, template: model.template(), own }
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
