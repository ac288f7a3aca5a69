//! Which addresses of a guest others can use. Pure.

use std::net::IpAddr;

use super::row::{Guest, Nic};

/// What stands for the device of an interface that no virtual card is behind.
const GUEST_ONLY: i32 = -1;

impl Guest {
    /// The addresses under which others may reach the guest: those of its network cards, IPv4 first, without those that
    /// only mean something on its own link or inside itself.
    pub fn addresses(&self) -> Vec<IpAddr> {
        let cards = self.nics.iter().filter(|nic| !nic.is_of_guest_alone()).flat_map(|nic| &nic.ips);
        // The primary address may be of any interface: it counts only if nothing is told of interfaces.
        let silent = self.nics.iter().all(|Nic { ips, .. }| ips.is_empty());
        let told = cards.chain(self.ip.as_ref().filter(|_| silent));
        let mut usable: Vec<IpAddr> = told.filter_map(|ip| ip.parse().ok()).filter(is_usable).collect();
        usable.sort_by_key(IpAddr::is_ipv6);
        usable
    }
}

impl Nic {
    /// Whether no virtual card is behind it, so that nobody else can reach it: the bridge of containers, for example.
    pub fn is_of_guest_alone(&self) -> bool {
        self.device == Some(GUEST_ONLY)
    }
}

fn is_usable(ip: &IpAddr) -> bool {
    let link_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    !(link_local || ip.is_loopback() || ip.is_unspecified() || ip.is_multicast())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(primary: Option<&str>, nics: &[(Option<i32>, &[&str])], expected: &[&str]) {
        let nic = |(device, ips): &(Option<i32>, &[&str])| Nic {
            network: None,
            mac: None,
            ips: ips.iter().map(|ip| (*ip).to_owned()).collect(),
            device: *device,
        };
        let ip = primary.map(str::to_owned);
        let guest = Guest { ip, nics: nics.iter().map(nic).collect(), ..Guest::default() };
        let found: Vec<_> = guest.addresses().iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn cards_count_in_their_order_and_ipv4_comes_first() {
        let cards: &[(Option<i32>, &[&str])] = &[
            (Some(4000), &["2001:db8::7", "10.0.0.7"]),
            (Some(4001), &["192.168.1.7"]),
            (None, &["10.9.9.9"]),
        ];
        check(Some("172.17.0.1"), cards, &["10.0.0.7", "192.168.1.7", "10.9.9.9", "2001:db8::7"]);
    }

    #[test]
    fn what_nobody_else_can_use_is_left_out() {
        check(Some("169.254.3.4"), &[], &[]);
        check(Some("fe80::1"), &[(Some(4000), &["fe80::1", "169.254.3.4", "::1", "127.0.0.1"])], &[]);
        check(Some("172.17.0.1"), &[(Some(-1), &["172.17.0.1"]), (Some(4000), &["fe80::1"])], &[]);
        check(None, &[(Some(4000), &["not an address", "", "10.0.0.7"])], &["10.0.0.7"]);
    }

    #[test]
    fn the_primary_address_counts_if_no_card_tells_one() {
        check(None, &[], &[]);
        check(Some("10.0.0.7"), &[], &["10.0.0.7"]);
        check(Some("10.0.0.7"), &[(Some(4000), &[])], &["10.0.0.7"]);
    }
}
