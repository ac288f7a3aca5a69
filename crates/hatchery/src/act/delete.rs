//! Deleting a machine, and what follows from it.

use jiff::{SignedDuration, Timestamp};
use rookery_daemon::telemetry::chain;
use rookery_fleet::{MachineId, Power};
use rookery_fleet_vsphere::hands::{Proof, TemplateProof};
use tracing::info;

use super::{ActionContext, Ending, Failure};
use crate::mark::Mark;

/// A machine to delete, as the plan saw it.
#[derive(Debug, Clone)]
pub struct Deletion {
    /// Which.
    pub machine: MachineId,
    /// Its name.
    pub name: String,
    /// Why, in words.
    pub reason: String,
    /// Why, as a word for metrics.
    pub label: &'static str,
    /// The path of the V1 model that it was to register, unless CDS was told already that this failed.
    pub registers: Option<String>,
    /// Whether it is a template, which stays while disks stand on its own.
    pub is_template: bool,
    /// The power that it goes for, if that is the reason.
    pub power: Option<Power>,
    /// How much longer it is kept than its mark says, since vCenter's clock was set.
    pub hold_shift: SignedDuration,
}

impl ActionContext {
    /// Deletes a machine.
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
            self.metrics.not_deleted(deletion.label);
            let is_parent = error.is_of_a_parent();
            return Ending::Failed(Failure { error: chain(&error), is_parent, ..Failure::default() });
        }
        self.metrics.deleted(deletion.label);
        info!(vm = %deletion.name, moref = %deletion.machine, reason = %deletion.reason, "machine deleted");
        // Not before: a deletion may take several tries, and CDS leaves models alone that have failed too often.
        if let Some(model) = &deletion.registers {
            self.report_registration(model).await;
        }
        Ending::Done
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
                tracing::warn!(model = path, error = %chain(&error), "failed registration could not be reported");
            }
        }
    }
}
