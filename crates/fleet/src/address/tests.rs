use proptest::prelude::*;

use super::*;
use crate::samples::{any_view, marked, untold, view, vm};

fn ip(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, last)
}

fn network(ranges: &[&str], prefix: u8) -> Network {
    let ranges = ranges.iter().map(|range| range.parse().expect("a block")).collect();
    Network { ranges, prefix, gateway: None, dns: Vec::new() }
}

fn all_free(networks: &[Network]) -> Vec<Ipv4Addr> {
    free(networks, &BTreeSet::new()).map(|assigned| assigned.ip).collect()
}

#[test]
fn a_block_is_a_slice_and_only_the_ends_of_the_subnet_are_left_out() {
    for (ranges, prefix, expected) in [
        (["10.0.0.0/30"].as_slice(), 24, vec![1, 2, 3]),
        (&["10.0.0.4/30"], 24, vec![4, 5, 6, 7]),
        (&["10.0.0.252/30"], 24, vec![252, 253, 254]),
        (&["10.0.0.8/29"], 30, vec![9, 10, 13, 14]),
        (&["10.0.0.9/32"], 24, vec![9]),
        (&["10.0.0.0/32"], 24, vec![]),
        (&["10.0.0.6/31"], 31, vec![6, 7]),
        (&["10.0.0.6/31"], 32, vec![6, 7]),
        (&["10.0.0.9/30"], 24, vec![8, 9, 10, 11]),
        (&["10.0.0.40/31", "10.0.0.20/31"], 24, vec![40, 41, 20, 21]),
    ] {
        let networks = [network(ranges, prefix)];
        let expected: Vec<_> = expected.into_iter().map(ip).collect();
        assert_eq!(all_free(&networks), expected, "{ranges:?}/{prefix}");
        assert_eq!(total(&networks), expected.len() as u64, "{ranges:?}/{prefix}");
    }
}

#[test]
fn gateways_and_name_servers_of_every_network_are_left_out() {
    let first = Network { gateway: Some(ip(9)), dns: vec![ip(5)], ..network(&["10.0.0.4/30"], 24) };
    let second = Network { gateway: Some(ip(6)), ..network(&["10.0.0.8/30"], 24) };
    let networks = [first, second];
    assert_eq!(all_free(&networks), [4, 7, 8, 10, 11].map(ip));
    assert_eq!(total(&networks), 5);
}

#[test]
fn an_address_of_overlapping_blocks_is_counted_once() {
    let networks =
        [network(&["10.0.0.4/30", "10.0.0.0/29"], 24), network(&["10.0.0.4/31", "10.0.0.0/29"], 24)];
    assert_eq!(all_free(&networks), [1, 2, 3, 4, 5, 6, 7].map(ip));
    assert_eq!(total(&networks), 7);
}

#[test]
fn the_next_network_is_used_when_the_first_is_full_and_with_its_own_settings() {
    let second = Network {
        gateway: Some(Ipv4Addr::new(10, 1, 0, 1)),
        dns: vec![Ipv4Addr::new(9, 9, 9, 9)],
        ..network(&["10.1.0.0/16"], 16)
    };
    let networks = [network(&["10.0.0.8/31"], 24), second];
    let held = BTreeSet::from([ip(8), ip(9), Ipv4Addr::new(10, 1, 0, 0)]);
    let expected = Assigned {
        ip: Ipv4Addr::new(10, 1, 0, 2),
        mask: Ipv4Addr::new(255, 255, 0, 0),
        gateway: Some(Ipv4Addr::new(10, 1, 0, 1)),
        dns: vec![Ipv4Addr::new(9, 9, 9, 9)],
    };
    assert_eq!(pick(&networks, &BTreeSet::from([ip(8)])).map(|assigned| assigned.ip), Some(ip(9)));
    assert_eq!(pick(&networks, &held), Some(expected));
}

#[test]
fn whatever_shows_an_address_holds_it() {
    let foreign = marked("web", |mark| {
        mark.owner = "theirs".to_owned();
        mark.ip = Some(ip(1));
    });
    let named = untold(vm("pool-a-ip-10-0-0-2-brave-curie"));
    let on_card = Machine { addresses: vec![ip(3), ip(4)], ..vm("printer") };
    let view = view([foreign, named, on_card]);
    assert_eq!(seen(&view), [1, 2, 3, 4].map(ip).into());

    let networks = [network(&["10.0.0.0/29"], 24)];
    assert_eq!(held(&networks, &view, [ip(5)].into_iter()), [1, 2, 3, 4, 5].map(ip).into());
    let narrow = [network(&["10.0.0.2/31"], 24)];
    assert_eq!(held(&narrow, &view, std::iter::empty()), [2, 3].map(ip).into(), "others are not given away");
    let expected = AddressUsage { total: 7, used: 4, reserved: 1, free: 2 };
    assert_eq!(usage(&networks, &view, [ip(5), ip(4), ip(99)].into_iter()), expected);
}

#[test]
fn the_last_address_of_all_is_found_and_nothing_overflows() {
    let networks = [network(&["0.0.0.0/0"], 0)];
    assert_eq!(total(&networks), (1 << 32) - 2);
    assert_eq!(
        pick(&networks, &BTreeSet::new()).map(|assigned| assigned.ip),
        Some(Ipv4Addr::new(0, 0, 0, 1))
    );
    assert_eq!(
        pick(&[network(&["255.255.255.254/31"], 31)], &BTreeSet::from([Ipv4Addr::new(255, 255, 255, 254)]))
            .map(|assigned| assigned.ip),
        Some(Ipv4Addr::BROADCAST)
    );
    assert_eq!(pick(&[], &BTreeSet::new()), None);
}

fn any_network() -> impl Strategy<Value = Network> {
    let block =
        (0..64u8, 26..=32u8).prop_map(|(last, prefix)| Ipv4Net::new(ip(last), prefix).expect("a block"));
    let special = || (0..64u8).prop_map(ip);
    let ranges = proptest::collection::vec(block, 0..4);
    (ranges, 24..=32u8, proptest::option::of(special()), proptest::collection::vec(special(), 0..2))
        .prop_map(|(ranges, prefix, gateway, dns)| Network { ranges, prefix, gateway, dns })
}

proptest! {
    #[test]
    fn each_address_is_given_once_and_the_sums_agree(
        networks in proptest::collection::vec(any_network(), 0..3),
        view in any_view(12),
        reserved in proptest::collection::btree_set((0..64u8).prop_map(ip), 0..8),
    ) {
        let held = held(&networks, &view, reserved.iter().copied());
        let given: Vec<_> = free(&networks, &held).map(|assigned| assigned.ip).collect();
        let distinct: BTreeSet<_> = given.iter().copied().collect();
        prop_assert_eq!(given.len(), distinct.len());
        prop_assert!(distinct.is_disjoint(&reserved) && distinct.is_disjoint(&seen(&view)));
        for network in &networks {
            for special in network.gateway.iter().chain(&network.dns) {
                prop_assert!(!distinct.contains(special));
            }
        }
        let usage = usage(&networks, &view, reserved.into_iter());
        prop_assert_eq!(usage.free, given.len() as u64);
        prop_assert_eq!(usage.total, usage.used + usage.reserved + usage.free);
        prop_assert_eq!(total(&networks), all_free(&networks).len() as u64);
    }
}
