//! Warm machines: made, set up by their first start, and stopped again until a job comes.

use crate::mark::Mark;
use crate::plan::sweep::Condemned;
use rookery_daemon::telemetry::chain;
use rookery_fleet::MachineId;
use tracing::info;

use super::{ActionContext, Ending, Failure};
use crate::plan::running::TaskId;
use crate::plan::{Finish, Make, Unclaim};

impl ActionContext {
    pub async fn make(&self, action: TaskId, make: Make) -> Ending {
        let mark = Mark {
            hatchery_name: self.settings().identity.name.clone(),
            worker_name: make.name.clone(),
            provisioning: true,
            worker_model_last_modified: make.last_modified.clone(),
            created: Some(self.now()),
            template_incarnation: make.incarnation.clone().unwrap_or_default(),
            ..Mark::of_model(make.kind, make.model.clone())
        };
        let (flavor, address) = (make.flavor.as_ref(), make.address.as_ref());
        let spec = self.clone_spec(&make.template, &make.name, mark, flavor, address);
        let machine = match self.clone_as(&spec, None, std::future::pending()).await {
            Ok(machine) => machine,
            Err(failure) => {
                let condemned = failure.condemned.map(|(machine, _)| (machine, Condemned::ProvisionFailed));
                return Ending::Failed(Failure { condemned, ..*failure });
            }
        };
        self.is_about(action, &machine).await;
        let ended = self.settle(&machine, &make.name, address.map(|assigned| assigned.ip)).await;
        if let Ending::Done = ended {
            info!(vm = %make.name, "warm machine made");
        }
        ended
    }

    /// Finishes a warm machine that was left half-made.
    pub async fn finish(&self, finish: &Finish) -> Ending {
        let (id, name) = (&finish.machine, &finish.name);
        if !finish.is_on
            && let Err(error) = self.hands.start(id, &self.owner(), name).await
        {
            return failed(chain(&error), id.clone());
        }
        self.settle(id, name, finish.address).await
    }

    /// Waits until the guest has its address, which is when it has been set up, and stops it.
    async fn settle(&self, machine: &MachineId, name: &str, address: Option<std::net::Ipv4Addr>) -> Ending {
        if let Err(error) = self.hands.addressed(machine, address).await {
            return failed(chain(&error), machine.clone());
        }
        if let Err(error) = self.hands.stop(machine, &self.owner(), name).await {
            return failed(chain(&error), machine.clone());
        }
        Ending::Done
    }

    /// Takes a machine back that was claimed and never started.
    pub async fn unclaim(&self, unclaim: Unclaim) -> Ending {
        let Unclaim { machine, name, mark } = unclaim;
        let pooled = Mark {
            worker_name: name,
            provisioning: true,
            job_id: String::new(),
            worker_start_time: None,
            ..*mark
        };
        match self.hands.unclaim(&machine, &self.owner(), &pooled.worker_name, &pooled).await {
            Ok(()) => Ending::Done,
            Err(error) => Ending::failed(chain(&error)),
        }
    }
}

fn failed(error: String, machine: MachineId) -> Ending {
    let condemned = Some((machine, Condemned::ProvisionFailed));
    Ending::Failed(Failure { error, condemned, tried: true, ..Failure::default() })
}
