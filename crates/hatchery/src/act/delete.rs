//! Deleting a machine, and what follows from it.

use jiff::Timestamp;
use rookery_cds::Worker;
use rookery_daemon::telemetry::chain;
use rookery_fleet::MachineId;
use rookery_fleet_vsphere::hands::{Proof, TemplateProof};
use tracing::{info, warn};

use super::{ActionContext, Ending, Failure};
use crate::mark::Mark;
use crate::plan::Deletion;
use crate::surface::metrics::Leak;

impl ActionContext {
    pub async fn delete(&self, deletion: &Deletion) -> Ending {
        let owner = self.owner();
        let now = self.now().saturating_sub(deletion.hold_shift).unwrap_or(Timestamp::MIN);
        let name = deletion.name.clone();
        let deleted = if deletion.is_template {
            let proof = TemplateProof { owner, name, accepts: |mark: &Mark| mark.model };
            self.hands.delete_template(&deletion.machine, &proof).await
        } else {
            let proof = Proof { owner, name, now, power: deletion.power };
            self.hands.delete(&deletion.machine, &proof).await
        };
        if let Err(error) = deleted {
            self.metrics.not_deleted(deletion.reason.as_str());
            let is_parent = error.is_of_a_parent();
            return Ending::Failed(Failure { error: chain(&error), is_parent, ..Failure::default() });
        }
        self.metrics.deleted(deletion.reason.as_str());
        info!(vm = %deletion.name, moref = %deletion.machine, reason = %deletion.reason, "machine deleted");
        // Not before: a deletion may take several tries, and CDS leaves models alone that have failed too often.
        if let Some(model) = &deletion.registers {
            self.report_registration(model).await;
        }
        Ending::Done
    }

    /// Disables a V1 worker whose machine is gone, if vCenter says so when it is asked for that machine.
    pub async fn disable(&self, worker: &Worker, machine: &MachineId) -> Ending {
        match self.hands.is_gone(machine).await {
            Ok(true) => {}
            Ok(false) => return Ending::failed("its VM still exists".to_owned()),
            Err(error) => {
                return Ending::failed(format!("cannot tell whether its VM is gone: {}", chain(&error)));
            }
        }
        let disabled = match self.v1() {
            Ok(v1) => v1.disable(worker).await,
            Err(error) => Err(error),
        };
        match disabled {
            Ok(()) => {
                self.metrics.leak_found(Leak::WorkerWithoutMachine);
                warn!(worker = %worker.name, "worker that has no machine was disabled");
                Ending::Done
            }
            Err(error) => Ending::failed(chain(&error)),
        }
    }

    /// A registration whose machine goes while CDS still wants the model registered has failed. CDS is asked now: a list
    /// of a few seconds ago may be from before the registration.
    async fn report_registration(&self, path: &str) {
        let Some((group, name)) = path.rsplit_once('/') else { return };
        let Ok(v1) = self.v1() else { return };
        let still_wanted = v1.model(group, name).await.is_ok_and(|model| model.need_registration);
        if still_wanted {
            let error =
                "the worker model could not be registered: its worker ended without telling what it can do";
            if let Err(error) = v1.model_error(group, name, error, &[]).await {
                warn!(model = path, error = %chain(&error), "failed registration could not be reported");
            }
        }
    }
}
