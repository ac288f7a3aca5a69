//! Inside the guest of a VM.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use rookery_fleet::MachineId;
use rookery_fleet::overlay::Fact;
use rookery_vim_client::{GuestError, GuestUser, Program};
use tokio::time::timeout;

use super::Hands;
use crate::observe::vm;
use crate::readiness::{ExpectedAddress, ReadinessError};

/// The first looks for the end of a program come soon after each other, later ones at leisure.
const FIRST_LOOKS: usize = 10;
const SOON: Duration = Duration::from_millis(200);
const LATER: Duration = Duration::from_secs(2);

impl<M: Clone + PartialEq + 'static> Hands<M> {
    /// Waits until a VM that was started can be used: with this address, or with any that DHCP gave it.
    pub async fn ready(
        &self,
        machine: &MachineId,
        address: Option<Ipv4Addr>,
        user: &GuestUser,
    ) -> Result<IpAddr, ReadinessError> {
        let wanted = address.map_or(ExpectedAddress::AnyIpv4, |ip| ExpectedAddress::Exactly(ip.into()));
        self.readiness.wait(&vm(machine), wanted, user).await
    }

    /// Waits until the guest of a VM that was started has its address, which is when it has been set up.
    pub async fn addressed(
        &self,
        machine: &MachineId,
        address: Option<Ipv4Addr>,
    ) -> Result<IpAddr, ReadinessError> {
        let wanted = address.map_or(ExpectedAddress::AnyIpv4, |ip| ExpectedAddress::Exactly(ip.into()));
        self.readiness.operations(&vm(machine)).await?;
        let found = self.readiness.address(&vm(machine), wanted).await?;
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

    /// Starts a program, waits for its end and gives its exit code. One that has not ended in time goes on.
    pub async fn run_to_end(
        &self,
        machine: &MachineId,
        user: &GuestUser,
        program: &Program,
        within: Duration,
    ) -> Result<i32, GuestError> {
        let pid = self.launch(machine, user, program).await?;
        let looks = std::iter::repeat_n(SOON, FIRST_LOOKS).chain(std::iter::repeat(LATER));
        let vm = vm(machine);
        let ended = timeout(within, self.guests.ended(&vm, user, pid, looks)).await;
        ended.unwrap_or(Err(GuestError::StillRunning { pid, vm }))
    }
}
