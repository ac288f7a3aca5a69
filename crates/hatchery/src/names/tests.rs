use std::cell::RefCell;
use std::collections::BTreeSet;

use proptest::prelude::*;
use rand::SeedableRng;

use super::*;
use rookery_fleet::names::LONGEST;

fn legal(name: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(letters) && !name.ends_with('-')
}

#[test]
fn the_longest_prefix_leaves_room_for_words() {
    assert!("provision-v2-ip-255-255-255-255-".len() <= rookery_fleet::names::LONGEST_PREFIX);
}

#[test]
fn a_prefix_tells_what_a_machine_is_for() {
    let mut random = StdRng::seed_from_u64(1);
    let free = |_: &str| false;
    let address = Some(Ipv4Addr::new(10, 0, 0, 5));

    let name = pooled(ModelKind::V1, address, &mut random, &free);
    assert!(name.starts_with("provision-v1-") && !name.contains("-ip-"), "{name}");
    let name = pooled(ModelKind::V2, None, &mut random, &free);
    assert!(name.starts_with("provision-v2-") && !name.contains("-ip-"), "{name}");
    let name = pooled(ModelKind::V2, address, &mut random, &free);
    assert!(name.starts_with("provision-v2-ip-10-0-0-5-"), "{name}");
    assert!(is_register_name(&register(&mut random, &free)));
    let name = worker(&mut random, &free);
    assert!(!is_pooled_name(&name) && !is_register_name(&name), "{name}");
}

#[test]
fn a_line_is_read_from_a_name() {
    for (name, kind) in [
        ("provision-v1-brave-curie", Some(ModelKind::V1)),
        ("provision-v2-brave-curie", Some(ModelKind::V2)),
        ("provision-v2-ip-10-0-0-5-brave-curie", Some(ModelKind::V2)),
        ("provision-v10-brave", None),
        ("provision-v3-brave", None),
        ("my-provision-v2-vm", None),
        ("brave-curie", None),
        ("", None),
    ] {
        assert_eq!(kind_of(name), kind, "{name}");
    }
}

#[test]
fn an_address_is_read_from_a_name() {
    let ten = Some(Ipv4Addr::new(10, 0, 0, 5));
    for (name, address) in [
        ("provision-v2-ip-10-0-0-5-brave-curie", ten),
        ("provision-v2-ip-10-0-0-5", ten),
        ("provision-v2-ip-10-0-0-5-7-7", ten),
        ("provision-v2-ip-255-255-255-255-x", Some(Ipv4Addr::BROADCAST)),
        ("provision-v2-ip-256-0-0-5-brave", None),
        ("provision-v2-ip-10-0-0-brave", None),
        ("provision-v2-ip-10-0-0", None),
        ("provision-v2-ip-+1-0-0-5-brave", None),
        ("provision-v2-ip---0-0-5", None),
        ("provision-v2-ip-", None),
        ("provision-v1-ip-10-0-0-5-brave", None),
        ("10-0-0-5", None),
    ] {
        assert_eq!(address_in(name), address, "{name}");
    }
}

#[test]
fn names_do_not_run_out_when_all_words_are_taken() {
    let mut random = StdRng::seed_from_u64(2);
    let worded = |name: &str| !name.bytes().any(|byte| byte.is_ascii_digit());
    let name = worker(&mut random, &worded);
    assert!(legal(&name) && !worded(&name), "{name}");
}

proptest! {
    #[test]
    fn names_are_legal_unique_and_keep_their_address(seed: u64, bits: u32) {
        let mut random = StdRng::seed_from_u64(seed);
        let address = Ipv4Addr::from_bits(bits);
        let used = RefCell::new(BTreeSet::<String>::new());
        let taken = |name: &str| used.borrow().contains(name);
        for _ in 0..40 {
            for name in [
                worker(&mut random, &taken),
                register(&mut random, &taken),
                pooled(ModelKind::V1, None, &mut random, &taken),
                pooled(ModelKind::V2, Some(address), &mut random, &taken),
            ] {
                prop_assert!(legal(&name), "{name}");
                let address_of_name = address_in(&name);
                prop_assert_eq!(address_of_name, name.starts_with("provision-v2-ip-").then_some(address));
                prop_assert!(used.borrow_mut().insert(name));
            }
        }
    }

    #[test]
    fn no_name_makes_a_reader_panic(name in ".*", tail in "[0-9-]{0,20}") {
        let name = if tail.is_empty() { name } else { format!("provision-v2-ip-{tail}") };
        let kind = kind_of(&name);
        prop_assert!(address_in(&name).is_none() || kind == Some(ModelKind::V2));
    }
}
