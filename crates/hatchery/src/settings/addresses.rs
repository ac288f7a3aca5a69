//! The addresses that VMs may get. A range is a slice of a network, not a network: each of its addresses counts.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;
use rookery_fleet::address::Network;

use super::section::Section;

/// The addresses of a `/16`. With more, somebody wrote the whole network instead of our share of it.
const MOST: u64 = 1 << 16;

/// The mask of the network in the keys beside `user`.
pub(super) const DEFAULT_MASK: &str = "255.255.255.0";

/// The addresses that VMs may get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Addresses {
    /// In the order in which they are used; empty: VMs use DHCP.
    pub networks: Vec<Network>,
    /// Whether the file has them in `networks[]`, not in the keys beside `user`.
    pub listed: bool,
    /// Name servers as the file has them. The networks hold the IPv4 ones.
    pub dns: Vec<IpAddr>,
}

/// The mask of a network as it is written.
pub(super) fn mask(network: &Network) -> String {
    Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - u32::from(network.prefix)).unwrap_or(0)).to_string()
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum InvalidRange {
    #[error("{0:?} is a range of IPv6; only IPv4 can be handed out")]
    Six(String),
    #[error("{0:?} is one address; write {0}/32 for it")]
    Bare(String),
    #[error("{0:?} is not a range such as 10.0.0.0/24")]
    Nonsense(String),
}

pub(super) fn addresses(section: &mut Section<'_, '_>) -> Addresses {
    let dns = dns(section);
    let mut listed = false;
    let mut taken = BTreeMap::new();
    let mut networks = section.entries("networks", |entry| {
        listed = true;
        let (iprange, gateway) = (entry.required("iprange"), entry.required("gateway"));
        let mask = entry.required("subnetMask");
        network(entry, &iprange?, Some(&gateway?), &mask?, &mut taken)
    });
    let legacy = legacy(section, listed, &mut taken);
    if !listed {
        networks.extend(legacy);
    }
    let total: u64 = taken.values().map(|(range, _)| size(*range)).sum();
    if total > MOST {
        let name = if listed { "networks" } else { "iprange" };
        section.problem(
            name,
            format!("{total} addresses are more than {MOST}: give only this hatchery's share of the network"),
        );
    }
    let ipv4 = |address: &IpAddr| if let IpAddr::V4(address) = address { Some(*address) } else { None };
    for network in &mut networks {
        network.dns = dns.iter().filter_map(ipv4).collect();
    }
    Addresses { networks, listed, dns }
}

/// The single network of older files, in the keys beside `user`.
fn legacy(section: &mut Section<'_, '_>, hidden: bool, taken: &mut Taken) -> Option<Network> {
    let iprange = section.text("iprange");
    let gateway = section.text("gateway");
    let mask = section.text_or_default("subnetMask");
    if hidden {
        if iprange.is_some() {
            section.warn("iprange", "has no effect beside networks");
        }
        return None;
    }
    let Some(iprange) = iprange else {
        if gateway.is_some() {
            section.warn("gateway", "has no effect without iprange: machines ask DHCP");
        }
        return None;
    };
    if gateway.is_none() {
        section.warn("gateway", "is not set, so machines reach nothing outside their own network");
    }
    network(section, &iprange, gateway.as_deref(), &mask, taken)
}

/// Ranges by their first address, with the path of their key.
type Taken = BTreeMap<Ipv4Addr, (Ipv4Net, String)>;

fn network(
    section: &mut Section<'_, '_>,
    iprange: &str,
    gateway: Option<&str>,
    mask: &str,
    taken: &mut Taken,
) -> Option<Network> {
    let known = section.notes.problems.as_slice().len();
    let ranges = ranges(section, iprange, taken);
    let gateway = gateway.map(|text| (text, text.trim().parse::<Ipv4Addr>()));
    let gateway = gateway.and_then(|(text, parsed)| {
        parsed.map_err(|_| section.problem("gateway", format!("{text:?} is not an address of IPv4"))).ok()
    });
    let prefix = mask.trim().parse().ok().and_then(|mask| ipnet::ipv4_mask_to_prefix(mask).ok());
    let prefix = prefix.filter(|prefix| *prefix != 0);
    if prefix.is_none() {
        section.problem("subnetMask", format!("{mask:?} is not a mask such as 255.255.255.0"));
    }
    if section.notes.problems.as_slice().len() != known {
        return None;
    }
    let prefix = prefix?;
    warn_off_link(section, &ranges, gateway, prefix);
    Some(Network { ranges, prefix, gateway, dns: vec![] })
}

fn ranges(section: &mut Section<'_, '_>, iprange: &str, taken: &mut Taken) -> Vec<Ipv4Net> {
    let mut ranges = vec![];
    for text in iprange.split(',').map(str::trim) {
        let range = match range(text) {
            Ok(range) => range,
            Err(error) => {
                section.problem("iprange", error.to_string());
                continue;
            }
        };
        if range != range.trunc() {
            section.warn("iprange", format!("{range} means {}", range.trunc()));
        }
        let range = range.trunc();
        let overlaps = taken.values().find(|(other, _)| other.contains(&range) || range.contains(other));
        if let Some((other, at)) = overlaps {
            section.problem("iprange", format!("{range} and {other} of {at} have addresses in common"));
            continue;
        }
        taken.insert(range.network(), (range, section.path("iprange")));
        ranges.push(range);
    }
    ranges
}

fn range(text: &str) -> Result<Ipv4Net, InvalidRange> {
    let given = || text.to_owned();
    match text.parse::<Ipv4Net>() {
        Ok(range) => Ok(range),
        Err(_) if text.contains(':') => Err(InvalidRange::Six(given())),
        Err(_) if text.parse::<Ipv4Addr>().is_ok() => Err(InvalidRange::Bare(given())),
        Err(_) => Err(InvalidRange::Nonsense(given())),
    }
}

/// Only a warning: some sites have routers that answer for addresses outside the network.
fn warn_off_link(section: &mut Section<'_, '_>, ranges: &[Ipv4Net], gateway: Option<Ipv4Addr>, prefix: u8) {
    let Some(link) = gateway.and_then(|gateway| Ipv4Net::new(gateway, prefix).ok()) else { return };
    for range in ranges.iter().filter(|range| !link.contains(*range)) {
        let message = format!("by its mask, {} is not in one network with {range}", link.addr());
        section.warn("gateway", message);
    }
}

fn size(range: Ipv4Net) -> u64 {
    1 << (32 - u32::from(range.prefix_len()))
}

fn dns(section: &mut Section<'_, '_>) -> Vec<IpAddr> {
    let mut servers = vec![];
    for text in section.texts("dns") {
        match text.trim().parse() {
            Ok(server) => servers.push(server),
            Err(_) => section.problem("dns", format!("{text:?} is not an address")),
        }
    }
    servers
}
