//! Carries the creation of a VM out: answers get lost, names are taken, and servers keep keys that are not valid any more.

use std::time::Duration;

use rookery_vim::inventory_name::unescape;
use rookery_vim::methods::{CreateVmTask, ReconfigVmTask};
use rookery_vim::specs::{VirtualMachineBootOptions, VirtualMachineConfigSpec};
use rookery_vim::{FaultKind, MoRef, Node, ParseError, Wire as _};
use tokio::sync::watch;

use super::{BootDevice, Contradiction, CreateOrder, spec};
use crate::error::CallError;
use crate::governor::Site;
use crate::machine::{Machines, OperationError};
use crate::made::{child, child_after, configured};
use crate::placement::{self, PlacementError};
use crate::properties::{properties_of, property_of};
use crate::tasks::TaskError;
use crate::uuid::Uuid;

/// Why there is no new VM, or not the one that was wanted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CreateError {
    /// No VM can be like that. Nothing was asked of vCenter.
    #[error("{name:?} cannot be created: {}", listed(contradictions))]
    Impossible { name: String, contradictions: Vec<Contradiction> },
    /// The order cannot be written down.
    #[error("{name:?} was not created: its specification cannot be encoded")]
    NotEncodable { name: String, source: ParseError },
    /// What is needed for the order could not be read.
    #[error("{name:?} was not created: the folder's VMs could not be read")]
    Unreadable { name: String, source: CallError },
    /// There is no datastore for it.
    #[error("{name:?} was not created: no datastore can take its files")]
    NoPlace { name: String, source: PlacementError },
    /// Something else has the name.
    #[error("{name:?} was not created: {by} has that name in the folder")]
    NameTaken { name: String, by: MoRef },
    /// There is no such VM, as far as can be seen.
    #[error("{name:?} was not created")]
    Failed { name: String, source: OperationError },
    /// There is a VM, and something that was wanted of it did not happen.
    #[error("the VM is there as {}, but {missing}", vm.id())]
    LeftBehind { vm: MoRef, missing: &'static str, source: OperationError },
}

impl CreateError {
    /// The VM that is there all the same, without something that was wanted of it.
    pub fn left_behind(&self) -> Option<&MoRef> {
        if let Self::LeftBehind { vm, .. } = self { Some(vm) } else { None }
    }
}

fn listed(contradictions: &[Contradiction]) -> String {
    contradictions.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Machines {
    /// Makes a VM and returns it; it is off. If the order names its BIOS UUID, a VM of that name and UUID that is in the
    /// folder already is the one: it is what an earlier call made whose answer was lost. `progress` gets the per cent
    /// done.
    pub async fn create_vm(
        &self,
        order: &CreateOrder,
        deadline: Duration,
        progress: Option<watch::Sender<i32>>,
    ) -> Result<MoRef, CreateError> {
        let contradictions = order.contradictions();
        if !contradictions.is_empty() {
            return Err(CreateError::Impossible { name: order.name.clone(), contradictions });
        }
        let uuid = order.bios_uuid.unwrap_or_else(|| self.client.random_uuid());
        let unreadable = |source| CreateError::Unreadable { name: order.name.clone(), source };
        // Not every server refuses a name that is taken.
        let vm = match child(&self.client, &order.folder, &order.name).await.map_err(unreadable)? {
            Some(vm) => self.if_ours(vm, order, uuid).await?,
            None => self.order_new(order, uuid, deadline, progress).await?,
        };
        match self.ensure_boot_order(&vm, order, deadline).await {
            Ok(()) => Ok(vm),
            Err(source) => Err(CreateError::LeftBehind { vm, missing: "its boot order is not set", source }),
        }
    }

    /// Checks an order as far as that goes without carrying it out; the VM that it has made already, if there is one.
    pub async fn check_create(&self, order: &CreateOrder) -> Result<Option<MoRef>, CreateError> {
        let contradictions = order.contradictions();
        if !contradictions.is_empty() {
            return Err(CreateError::Impossible { name: order.name.clone(), contradictions });
        }
        let uuid = order.bios_uuid.unwrap_or_else(|| self.client.random_uuid());
        let unreadable = |source| CreateError::Unreadable { name: order.name.clone(), source };
        match child(&self.client, &order.folder, &order.name).await.map_err(unreadable)? {
            Some(vm) => self.if_ours(vm, order, uuid).await.map(Some),
            None => self.placed(order, uuid).await.map(|_| None),
        }
    }

    async fn order_new(
        &self,
        order: &CreateOrder,
        uuid: Uuid,
        deadline: Duration,
        progress: Option<watch::Sender<i32>>,
    ) -> Result<MoRef, CreateError> {
        let (call, datastore) = self.placed(order, uuid).await?;
        let run = async {
            let site = Site { host: order.host.clone(), datastore: Some(datastore) };
            let (task, result) = self.run(&call, site, deadline, progress).await?;
            let vm = result.and_then(|node| MoRef::from_node(node).ok());
            let why = || "vCenter did not say which VM it made".to_owned();
            vm.ok_or_else(|| TaskError::Unknown { task, why: why() }.into())
        };
        match run.await {
            Ok(vm) => Ok(vm),
            Err(error) => self.look_for_new(order, uuid, error).await,
        }
    }

    async fn placed(&self, order: &CreateOrder, uuid: Uuid) -> Result<(CreateVmTask, MoRef), CreateError> {
        let name = || order.name.clone();
        let unspeakable = |source| CreateError::NotEncodable { name: name(), source };
        let homeless = spec::config(order, uuid, None).map_err(unspeakable)?;
        let what = || spec::placement(order, homeless);
        let datastore = placement::datastore(&self.client, &order.datastore, None, what)
            .await
            .map_err(|source| CreateError::NoPlace { name: name(), source })?;
        let home = property_of(&self.client, &datastore, "name")
            .await
            .map_err(|source| CreateError::Unreadable { name: name(), source })?;
        let home = home.map(|node| unescape(&node.text)).unwrap_or_default();
        let config = spec::config(order, uuid, Some(&home)).map_err(unspeakable)?;
        Ok((spec::call(order, config), datastore))
    }

    /// After an error: whether the VM is there all the same.
    async fn look_for_new(
        &self,
        order: &CreateOrder,
        uuid: Uuid,
        error: OperationError,
    ) -> Result<MoRef, CreateError> {
        let failed = |source| CreateError::Failed { name: order.name.clone(), source };
        let taken = error.is(FaultKind::DuplicateName);
        if !taken && !error.may_have_happened() {
            return Err(failed(error));
        }
        let Some(vm) = child_after(&self.client, &order.folder, &order.name, &error).await else {
            return Err(failed(error));
        };
        let vm = self.if_ours(vm, order, uuid).await?;
        match error {
            // vCenter has said that it failed: what is there is a part of what was wanted.
            OperationError::Task(TaskError::Failed(_)) if !taken => Err(CreateError::LeftBehind {
                vm,
                missing: "vCenter says that creating it failed",
                source: error,
            }),
            OperationError::Call(_) | OperationError::Task(_) => Ok(vm),
        }
    }

    /// What has the name, if its UUID says that it was made by this order.
    async fn if_ours(&self, found: MoRef, order: &CreateOrder, uuid: Uuid) -> Result<MoRef, CreateError> {
        let name = order.name.clone();
        if found.kind() != "VirtualMachine" {
            return Err(CreateError::NameTaken { name, by: found });
        }
        match configured(&self.client, &found, "config.uuid").await {
            Ok(theirs) if theirs.text.parse() == Ok(uuid) => Ok(found),
            Ok(_) => Err(CreateError::NameTaken { name, by: found }),
            Err(source) => Err(CreateError::Failed { name, source }),
        }
    }

    /// A server that keeps the keys of the order, which hold no more, would start the VM from nothing.
    async fn ensure_boot_order(
        &self,
        vm: &MoRef,
        order: &CreateOrder,
        deadline: Duration,
    ) -> Result<(), OperationError> {
        if order.boot.iter().all(|device| *device == BootDevice::Cdrom) {
            return Ok(());
        }
        let paths = ["config.hardware.device", "config.bootOptions"];
        let (mut devices, mut found): (Vec<Node>, _) = (Vec::new(), None);
        for (path, node) in properties_of(&self.client, vm, &paths).await? {
            match path.as_str() {
                "config.hardware.device" => devices = node.children,
                _ => found = VirtualMachineBootOptions::from_node(node).ok(),
            }
        }
        let wanted = spec::boot_options_of(order, &devices);
        let order_of = |options: &Option<VirtualMachineBootOptions>| options.clone().map(|o| o.boot_order);
        if order_of(&wanted) == order_of(&found) {
            return Ok(());
        }
        let spec = VirtualMachineConfigSpec { boot_options: wanted, ..VirtualMachineConfigSpec::default() };
        self.run(&ReconfigVmTask { this: vm.clone(), spec }, Site::default(), deadline, None).await?;
        Ok(())
    }
}
