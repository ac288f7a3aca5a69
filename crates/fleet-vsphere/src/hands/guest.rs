//! Inside the guest of a VM.

use std::net::{IpAddr, Ipv4Addr};

use rookery_fleet::MachineId;
use rookery_fleet::overlay::Fact;
use rookery_vim_client::{GuestError, GuestUser, Program};

use super::Hands;
use crate::observe::vm;
use crate::readiness::ReadinessError;

impl<M: Clone + PartialEq + 'static> Hands<M> {
    /// Waits until a VM that was started can be used: with this address, or with any that DHCP gave it.
    pub async fn ready(
        &self,
        machine: &MachineId,
        address: Option<Ipv4Addr>,
        user: &GuestUser,
    ) -> Result<IpAddr, ReadinessError> {
        self.readiness.wait(&vm(machine), address.into(), user).await
    }

    /// Waits until the guest of a VM that was started has its address, which is when it has been set up.
    pub async fn addressed(
        &self,
        machine: &MachineId,
        address: Option<Ipv4Addr>,
    ) -> Result<IpAddr, ReadinessError> {
        self.readiness.operations(&vm(machine)).await?;
        let found = self.readiness.address(&vm(machine), address.into()).await?;
        self.told(machine, Fact::SetUp);
        Ok(found)
    }

    /// Starts a program, once. After [`GuestError::MayHaveStarted`] it must not be started again.
    pub async fn launch(
        &self,
        machine: &MachineId,
        user: &GuestUser,
        program: &Program,
    ) -> Result<i64, GuestError> {
        self.guests.start(&vm(machine), user, program).await
    }
}
