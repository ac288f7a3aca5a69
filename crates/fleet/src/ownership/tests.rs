use proptest::prelude::*;

use super::*;
use crate::address;
use crate::machine::Machine;
use crate::samples::{MARKING, Mark, OWNER, at, owner, vm};

/// A second front, which marks its machines in the extra configuration: the owner, an address, and until when they are
/// held.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tag;

const KEY: &str = "tags.owner";
const TAGS: Marking<Tag> = Marking {
    extra_keys: &[KEY],
    recognise: |labels| {
        let Some(config) = labels.config else { return Recognised::unknown() };
        let Some(tag) = config.extra.get(KEY) else { return Recognised::nobody() };
        let mut words = tag.split(' ');
        let owner = OwnerId::new("tags", words.next().unwrap_or_default());
        Recognised {
            ownership: Ownership::By(owner),
            mark: Some(Box::new(Tag)),
            addresses: words.next().and_then(|ip| ip.parse().ok()).into_iter().collect(),
            held_until: words.next().and_then(|time| time.parse().ok()),
            identity: None,
        }
    },
    write: |_, _| Written { notes: None, extra: vec![(KEY, "tagged".to_owned())] },
    protects: |_, _| false,
};

fn both() -> Recogniser<Mark> {
    Recogniser::new(MARKING).beside([Recogniser::for_others(TAGS)])
}

/// What both see in a VM with those notes and that tag; no tag: an empty one.
fn seen(notes: &str, tag: &str) -> Recognised<Mark> {
    let extra = (!tag.is_empty()).then(|| (KEY.into(), tag.to_owned())).into_iter().collect();
    let config = Some(LabelConfig { notes, extra: &extra });
    both().recognise(&Labels { name: "x", config, instance: Some("50-1"), created: None })
}

fn ip(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, last)
}

const OURS: &str = "samples ours x 10.0.0.1 50-1";
const COPY: &str = "samples ours x 10.0.0.1 50-2";
const TAGGED: &str = "them 10.0.0.2 2026-11-15T12:00:00Z";

#[test]
fn two_fronts_that_claim_one_machine_both_lose_it_and_it_holds_the_addresses_of_both() {
    let them = OwnerId::new("tags", "them");
    for (notes, tag, ownership, addresses) in [
        ("a database", "", Ownership::Nobody, vec![]),
        (OURS, "", Ownership::By(owner("ours")), vec![ip(1)]),
        ("a database", TAGGED, Ownership::By(them.clone()), vec![ip(2)]),
        (OURS, TAGGED, Ownership::Unknown, vec![ip(1), ip(2)]),
        // A copy of ours is nobody's, so that somebody else may have it.
        (COPY, "", Ownership::Copied(owner("ours")), vec![ip(1)]),
        (COPY, TAGGED, Ownership::By(them), vec![ip(1), ip(2)]),
    ] {
        let found = seen(notes, tag);
        assert_eq!((found.ownership, found.addresses), (ownership, addresses), "{notes:?} {tag:?}");
    }
}

#[test]
fn a_machine_that_two_fronts_claim_is_neither_touched_nor_are_its_addresses_given_away() {
    let machine = Machine { recognised: seen(OURS, TAGGED), ..vm("x") };
    assert!(machine.is_unknown() && machine.mark_of(&OWNER).is_none() && !machine.is_of(&OWNER));
    assert_eq!(address::of_machine(&machine).collect::<Vec<_>>(), [ip(1), ip(2)]);
}

// Its mark was ours, so that a rule about marks took the other front's machine for ours.
#[test]
fn a_mark_of_ours_on_a_machine_of_another_front_tells_nothing() {
    let machine = Machine { recognised: seen(COPY, TAGGED), ..vm("x") };
    assert_eq!((machine.mark(), machine.any_mark(), &machine.recognised.identity), (None, None, &None));
    let copy = Machine { recognised: seen(COPY, ""), ..vm("x") };
    assert!(copy.mark().is_none() && copy.any_mark().is_some());
}

#[test]
fn a_mark_is_recognised_as_written_for_the_machine_another_one_or_nobody_knows_which() {
    let recognise = |instance| {
        let config = Some(LabelConfig { notes: OURS, extra: &BTreeMap::new() });
        both().recognise(&Labels { name: "x", config, instance, created: None }).ownership
    };
    assert_eq!(recognise(Some("50-1")), Ownership::By(owner("ours")));
    assert_eq!(recognise(Some("50-2")), Ownership::Copied(owner("ours")));
    assert_eq!(recognise(None), Ownership::Disputed(owner("ours")));
}

#[test]
fn while_the_notes_are_not_told_nobody_owns_it_and_a_name_holds_its_address() {
    let untold = Labels { name: "pool-a-ip-10-0-0-7-x", config: None, instance: None, created: None };
    let found = both().recognise(&untold);
    assert_eq!((found.ownership, found.addresses), (Ownership::Unknown, vec![ip(7)]));
    // Once they are, it does only on a machine of that front.
    let extra = BTreeMap::new();
    let told = |notes| Labels { config: Some(LabelConfig { notes, extra: &extra }), ..untold };
    assert!(both().recognise(&told("a database")).addresses.is_empty());
    assert_eq!(both().recognise(&told("samples ours x - -")).addresses, [ip(7)]);
}

#[test]
fn what_either_holds_for_longer_counts() {
    let until = Some(at("12:00:00"));
    assert_eq!(seen("a database", TAGGED).held_until, until);
    assert_eq!(seen(OURS, TAGGED).held_until, until, "whoever claims it");
    assert_eq!(seen(OURS, "them 10.0.0.2").held_until, None);
}

#[test]
fn what_is_written_is_recognised_again() {
    let mark = Mark { owner: "ours".to_owned(), name: "x".to_owned(), ip: Some(ip(1)), ..Mark::default() };
    let written = (MARKING.write)(&mark, Some("50-1"));
    assert_eq!(written.notes.as_deref(), Some(OURS));
    let found = seen(OURS, "");
    let signed = Mark { instance: "50-1".to_owned(), ..mark };
    assert_eq!((found.mark.as_deref(), found.ownership), (Some(&signed), Ownership::By(owner("ours"))));
}

fn any_ownership(front: &'static str) -> impl Strategy<Value = Ownership> {
    let owner = || OwnerId::new(front, "somebody");
    prop_oneof![
        1 => Just(Ownership::Unknown),
        4 => Just(Ownership::Nobody),
        2 => Just(Ownership::By(owner())),
        1 => Just(Ownership::Disputed(owner())),
        2 => Just(Ownership::Copied(owner())),
    ]
}

fn any_claim(front: &'static str, last: u8) -> impl Strategy<Value = Claim> {
    let hour = proptest::option::of(0..9u8);
    (any_ownership(front), any::<bool>(), hour).prop_map(move |(ownership, has_address, hour)| Claim {
        ownership,
        addresses: has_address.then_some(ip(last)).into_iter().collect(),
        held_until: hour.map(|hour| at(&format!("0{hour}:00:00"))),
    })
}

fn any_claims() -> impl Strategy<Value = Vec<Claim>> {
    (any_claim("a", 11), any_claim("b", 12), any_claim("c", 13)).prop_map(|(a, b, c)| vec![a, b, c])
}

proptest! {
    #[test]
    fn the_order_of_the_other_recognisers_does_not_matter(
        (claims, shuffled) in any_claims().prop_flat_map(|claims| (Just(claims.clone()), Just(claims).prop_shuffle())),
        notes in prop_oneof![Just("a database"), Just(OURS), Just(COPY), Just("samples  x - -")],
        is_told: bool,
    ) {
        let recognise = |claims: Vec<Claim>| {
            let others = claims.into_iter().map(|claim| OtherFront { extra_keys: &[], recognise: Arc::new(move |_| claim.clone()) });
            let recogniser = Recogniser::new(MARKING).beside(others);
            let extra = BTreeMap::new();
            let config = is_told.then_some(LabelConfig { notes, extra: &extra });
            let mut found = recogniser.recognise(&Labels { name: "x", config, instance: Some("50-1"), created: None });
            found.addresses.sort();
            found
        };
        let alone = recognise(Vec::new());
        let found = recognise(claims.clone());
        prop_assert_eq!(&found, &recognise(shuffled));

        let is_unknown = |ownership: &Ownership| *ownership == Ownership::Unknown;
        let all = || std::iter::once(&alone.ownership).chain(claims.iter().map(|claim| &claim.ownership));
        let claimed = all().filter(|ownership| ownership.is_claim()).count();
        let expected_unknown = claimed > 1 || all().any(is_unknown);
        prop_assert_eq!(is_unknown(&found.ownership), expected_unknown);
        if claimed == 1 && !expected_unknown {
            prop_assert!(all().any(|ownership| ownership.is_claim() && *ownership == found.ownership));
        }
        let held = claims.iter().flat_map(|claim| &claim.addresses).chain(&alone.addresses);
        prop_assert!(held.into_iter().all(|ip| found.addresses.contains(ip)), "an address was let go");
        prop_assert!(claims.iter().all(|claim| claim.held_until <= found.held_until));
    }
}
