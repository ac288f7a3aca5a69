//! What a row of the inventory means for a stage. Pure.

use std::convert::Infallible;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use rookery_vim::objects::PowerState;
use rookery_vim_client::{Nic, Vm};

/// The address that a VM has to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedAddress {
    /// Exactly this one. Before it is set up, a guest may show another.
    Exactly(IpAddr),
    /// Any IPv4 address that others can reach, as DHCP gives it.
    AnyIpv4,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict<T> {
    Wait,
    Ready(T),
    /// It will not come, however long one waits.
    Halted(Halt),
}

/// Why waiting is in vain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Halt {
    /// It is off or suspended.
    NotRunning(PowerState),
    /// It hangs until a person answers.
    Question(String),
}

/// Whether guest operations are accepted.
pub(super) fn operations(vm: &Vm) -> Verdict<()> {
    unless_halted(vm, || (vm.guest.operations_ready == Some(true)).then_some(()))
}

/// Whether the address is there. The guest's primary address does not count: it may be the one from before.
pub(super) fn address(vm: &Vm, wanted: ExpectedAddress) -> Verdict<IpAddr> {
    unless_halted(vm, || reachable(&vm.guest.nics).find(|found| wanted.is_met_by(*found)))
}

/// Never ready: for stages whose success is told by something else.
pub(super) fn still_running(vm: &Vm) -> Verdict<Infallible> {
    unless_halted(vm, || None)
}

/// Why a VM will not get ready, if it is known not to.
pub(super) fn halt(vm: &Vm) -> Option<Halt> {
    halt_of(vm.power.as_ref(), vm.question.as_deref())
}

/// The same, from the two properties that tell it.
pub(super) fn halt_of(power: Option<&PowerState>, question: Option<&str>) -> Option<Halt> {
    if let Some(question) = question {
        return Some(Halt::Question(question.to_owned()));
    }
    match power {
        Some(power @ (PowerState::Off | PowerState::Suspended)) => Some(Halt::NotRunning(power.clone())),
        // What is not known, or not understood, is no reason to give up.
        Some(PowerState::On | PowerState::Other(_)) | None => None,
    }
}

fn unless_halted<T>(vm: &Vm, ready: impl FnOnce() -> Option<T>) -> Verdict<T> {
    match halt(vm) {
        Some(halt) => Verdict::Halted(halt),
        None => ready().map_or(Verdict::Wait, Verdict::Ready),
    }
}

/// The addresses of cards, without those that only the guest itself can reach.
fn reachable(nics: &[Nic]) -> impl Iterator<Item = IpAddr> {
    let cards = nics.iter().filter(|nic| !nic.is_of_guest_alone());
    cards.flat_map(|nic| &nic.ips).filter_map(|ip| ip.parse().ok())
}

impl ExpectedAddress {
    fn is_met_by(self, found: IpAddr) -> bool {
        match (self, found) {
            (Self::Exactly(wanted), found) => wanted == found,
            (Self::AnyIpv4, IpAddr::V4(v4)) => {
                !(v4.is_link_local() || v4.is_loopback() || v4.is_unspecified())
            }
            (Self::AnyIpv4, IpAddr::V6(_)) => false,
        }
    }
}

impl From<Option<Ipv4Addr>> for ExpectedAddress {
    fn from(address: Option<Ipv4Addr>) -> Self {
        address.map_or(Self::AnyIpv4, |ip| Self::Exactly(ip.into()))
    }
}

impl fmt::Display for ExpectedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(address) => write!(f, "the address {address}"),
            Self::AnyIpv4 => f.write_str("an IPv4 address that is not link-local"),
        }
    }
}

#[cfg(test)]
mod tests;
