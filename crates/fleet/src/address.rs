//! Addresses are chosen here and nowhere else, from all that can be seen to hold one.
//!
//! A configured block is a slice of a subnet, not a subnet: all its addresses count but the subnet's own two, the
//! gateways and the name servers. Of blocks within each other only the widest counts.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use crate::machine::{Machine, View};

/// Where machines get their addresses from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The blocks that may be given away, in the order to use them.
    pub ranges: Vec<Ipv4Net>,
    /// How many leading bits of the mask are set.
    pub prefix: u8,
    pub gateway: Option<Ipv4Addr>,
    pub dns: Vec<Ipv4Addr>,
}

/// What a machine is told about its place in a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assigned {
    pub ip: Ipv4Addr,
    /// The mask of its subnet.
    pub mask: Ipv4Addr,
    pub gateway: Option<Ipv4Addr>,
    pub dns: Vec<Ipv4Addr>,
}

/// How the configured addresses are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AddressUsage {
    /// All that may be given away.
    pub total: u64,
    /// Those that a machine holds.
    pub used: u64,
    /// Those promised to something in flight that no machine shows yet.
    pub reserved: u64,
    pub free: u64,
}

/// The addresses that machines hold, whoever owns them: a foreign machine answers on its address as well as ours.
pub fn seen<M>(view: &View<M>) -> BTreeSet<Ipv4Addr> {
    view.machines.addresses_in(Ipv4Addr::UNSPECIFIED..=Ipv4Addr::BROADCAST).collect()
}

/// The addresses of these networks that must not be given away.
pub fn held<M>(
    networks: &[Network],
    view: &View<M>,
    reserved: impl Iterator<Item = Ipv4Addr>,
) -> BTreeSet<Ipv4Addr> {
    seen_in(networks, view).chain(reserved).collect()
}

/// Those of these networks that machines hold.
fn seen_in<M>(networks: &[Network], view: &View<M>) -> impl Iterator<Item = Ipv4Addr> {
    let blocks = blocks(networks).into_iter().map(|(_, block)| block.network()..=block.broadcast());
    blocks.flat_map(|block| view.machines.addresses_in(block))
}

/// The addresses that one machine holds by its mark, its cards and its name.
pub fn of_machine<M>(machine: &Machine<M>) -> impl Iterator<Item = Ipv4Addr> {
    machine.addresses.iter().chain(&machine.recognised.addresses).copied()
}

/// The first free address, networks in order.
pub fn pick(networks: &[Network], held: &BTreeSet<Ipv4Addr>) -> Option<Assigned> {
    free(networks, held).next()
}

/// The free addresses in the order to use them, each once; found one by one, since a block may have millions.
pub fn free<'a>(
    networks: &'a [Network],
    held: &'a BTreeSet<Ipv4Addr>,
) -> impl Iterator<Item = Assigned> + use<'a> {
    let special = special(networks);
    blocks(networks).into_iter().flat_map(move |(network, block)| {
        let special = special.clone();
        let all = block.network().to_bits()..=block.broadcast().to_bits();
        let free =
            move |ip: &Ipv4Addr| !held.contains(ip) && !special.contains(ip) && !is_edge(*ip, network.prefix);
        all.map(Ipv4Addr::from_bits).filter(free).map(|ip| network.assign(ip))
    })
}

/// How many addresses may be given away in all.
pub fn total(networks: &[Network]) -> u64 {
    let special = special(networks);
    let of_block = |(network, block): (&Network, Ipv4Net)| {
        let size = 1_u64 << (32 - block.prefix_len());
        let taken = special
            .range(block.network()..=block.broadcast())
            .filter(|ip| !is_edge(**ip, network.prefix))
            .count();
        size - edges(block, network.prefix) - taken as u64
    };
    blocks(networks).into_iter().map(of_block).sum()
}

/// How many of these addresses may be given away by configuration.
pub fn count_in(networks: &[Network], addresses: &BTreeSet<Ipv4Addr>) -> u64 {
    let special = special(networks);
    let in_block = |(network, block): (&Network, Ipv4Net)| {
        addresses
            .range(block.network()..=block.broadcast())
            .filter(|ip| !special.contains(ip) && !is_edge(**ip, network.prefix))
            .count() as u64
    };
    blocks(networks).into_iter().map(in_block).sum()
}

/// How the configured addresses are used.
pub fn usage<M>(
    networks: &[Network],
    view: &View<M>,
    reserved: impl Iterator<Item = Ipv4Addr>,
) -> AddressUsage {
    let seen: BTreeSet<_> = seen_in(networks, view).collect();
    let promised: BTreeSet<_> = reserved.filter(|ip| !seen.contains(ip)).collect();
    let total = total(networks);
    let used = count_in(networks, &seen);
    let reserved = count_in(networks, &promised);
    AddressUsage { total, used, reserved, free: total.saturating_sub(used + reserved) }
}

impl Network {
    fn assign(&self, ip: Ipv4Addr) -> Assigned {
        let bits = u32::MAX.checked_shl(32 - u32::from(self.prefix.min(32))).unwrap_or(0);
        let mask = Ipv4Addr::from_bits(bits);
        Assigned { ip, mask, gateway: self.gateway, dns: self.dns.clone() }
    }
}

/// The widest blocks, in order. Two blocks lie within each other or apart, never across.
fn blocks(networks: &[Network]) -> Vec<(&Network, Ipv4Net)> {
    let all: Vec<_> = networks
        .iter()
        .flat_map(|network| network.ranges.iter().map(move |range| (network, range.trunc())))
        .collect();
    let wider = |at: usize, block: &Ipv4Net| {
        let covers = |(other_at, (_, other)): (usize, &(_, Ipv4Net))| {
            other.contains(block) && (other != block || other_at < at)
        };
        all.iter().enumerate().any(covers)
    };
    all.iter().enumerate().filter(|(at, (_, block))| !wider(*at, block)).map(|(_, found)| *found).collect()
}

fn special(networks: &[Network]) -> BTreeSet<Ipv4Addr> {
    networks
        .iter()
        .flat_map(|network| network.gateway.into_iter().chain(network.dns.iter().copied()))
        .collect()
}

/// Whether it is the first or the last address of its subnet. Subnets of one or two addresses have no such ones.
fn is_edge(ip: Ipv4Addr, prefix: u8) -> bool {
    let host = u32::MAX.checked_shr(prefix.into()).unwrap_or(0);
    prefix < 31 && matches!(ip.to_bits() & host, bits if bits == 0 || bits == host)
}

/// How many addresses of a block are the first or the last one of their subnet.
fn edges(block: Ipv4Net, prefix: u8) -> u64 {
    if prefix >= 31 {
        0
    } else if block.prefix_len() <= prefix {
        2_u64 << (prefix - block.prefix_len())
    } else {
        let first = is_edge(block.network(), prefix);
        let last = block.network() != block.broadcast() && is_edge(block.broadcast(), prefix);
        u64::from(first) + u64::from(last)
    }
}

#[cfg(test)]
mod tests;
