use std::collections::BTreeSet;

use rookery_vim::MoRef;
use rookery_vim_client::{Config, Guest};

use super::*;

/// A VM that runs and has told nothing else.
fn running() -> Vm {
    Vm {
        id: MoRef::new("VirtualMachine", "vm-7"),
        name: "web-1".to_owned(),
        parent: None,
        resource_pool: None,
        power: Some(PowerState::On),
        host: None,
        connection: None,
        boot_time: None,
        question: None,
        config: Config::default(),
        guest: Guest::default(),
        unreadable: BTreeSet::new(),
    }
}

fn ready() -> Vm {
    let guest = Guest {
        operations_ready: Some(true),
        nics: vec![card(Some(4000), &["192.0.2.7"])],
        ..Guest::default()
    };
    Vm { guest, ..running() }
}

fn card(device: Option<i32>, ips: &[&str]) -> Nic {
    Nic { network: None, mac: None, ips: ips.iter().map(|ip| (*ip).to_owned()).collect(), device }
}

#[test]
fn guest_operations_are_ready_when_the_guest_says_so_and_not_before() {
    let check = |operations_ready, expected| {
        let guest = Guest { operations_ready, ..Guest::default() };
        assert_eq!(operations(&Vm { guest, ..running() }), expected, "{operations_ready:?}");
    };
    check(None, Verdict::Wait);
    check(Some(false), Verdict::Wait);
    check(Some(true), Verdict::Ready(()));
}

#[test]
fn a_vm_that_does_not_run_or_asks_is_never_ready_whatever_its_guest_said_before() {
    let check = |power: Option<PowerState>, question: Option<&str>, expected: Option<Halt>| {
        let vm = Vm { power, question: question.map(str::to_owned), ..ready() };
        let halted = |halt: &Halt| Verdict::Halted(halt.clone());
        assert_eq!(
            operations(&vm),
            expected.as_ref().map_or(Verdict::Ready(()), |halt| Verdict::Halted(halt.clone()))
        );
        assert_eq!(
            address(&vm, ExpectedAddress::AnyIpv4),
            expected.as_ref().map_or(Verdict::Ready("192.0.2.7".parse().expect("an address")), |halt| {
                Verdict::Halted(halt.clone())
            }),
        );
        assert_eq!(still_running(&vm), expected.as_ref().map_or(Verdict::Wait, halted));
    };
    check(Some(PowerState::On), None, None);
    check(Some(PowerState::Off), None, Some(Halt::NotRunning(PowerState::Off)));
    check(Some(PowerState::Suspended), None, Some(Halt::NotRunning(PowerState::Suspended)));
    check(Some(PowerState::On), Some("copied?"), Some(Halt::Question("copied?".to_owned())));
    check(Some(PowerState::Off), Some("copied?"), Some(Halt::Question("copied?".to_owned())));
    // Unknown is not off.
    check(None, None, None);
    check(Some(PowerState::Other("hibernated".to_owned())), None, None);
}

#[test]
fn the_wanted_address_is_looked_for_on_all_cards_of_the_vm() {
    let check = |wanted: Option<&str>, nics: &[(Option<i32>, &[&str])], expected: Option<&str>| {
        let parse = |ip: &str| -> IpAddr { ip.parse().expect("an address") };
        let wanted = wanted.map_or(ExpectedAddress::AnyIpv4, |ip| ExpectedAddress::Exactly(parse(ip)));
        let nics = nics.iter().map(|(device, ips)| card(*device, ips)).collect();
        // What came before the customization must not count.
        let guest = Guest { ip: Some("192.0.2.7".to_owned()), nics, ..Guest::default() };
        let verdict = expected.map_or(Verdict::Wait, |ip| Verdict::Ready(parse(ip)));
        let vm = Vm { guest, ..running() };
        assert_eq!(address(&vm, wanted), verdict, "{wanted:?} in {:?}", vm.guest.nics);
    };
    let fixed = Some("192.0.2.7");
    check(fixed, &[], None);
    check(fixed, &[(Some(4000), &[])], None);
    check(fixed, &[(Some(4000), &["192.0.2.70"])], None);
    check(fixed, &[(Some(4000), &["192.0.2.7"])], fixed);
    check(fixed, &[(None, &["192.0.2.7"])], fixed);
    check(fixed, &[(Some(4000), &["198.51.100.1"]), (Some(4001), &["fe80::1", "192.0.2.7"])], fixed);
    check(fixed, &[(Some(-1), &["192.0.2.7"])], None);
    check(Some("2001:db8::7"), &[(Some(4000), &["2001:DB8:0:0:0:0:0:7"])], Some("2001:db8::7"));
    check(Some("fe80::1"), &[(Some(4000), &["fe80::1"])], Some("fe80::1"));

    check(None, &[(Some(4000), &[])], None);
    check(None, &[(Some(4000), &["fe80::1", "2001:db8::7"])], None);
    check(None, &[(Some(4000), &["169.254.12.1"])], None);
    check(None, &[(Some(4000), &["0.0.0.0", "127.0.0.1", "not an address"])], None);
    check(None, &[(Some(-1), &["172.17.0.1"]), (Some(4000), &["169.254.3.4"])], None);
    check(None, &[(Some(-1), &["172.17.0.1"]), (Some(4000), &["fe80::1", "10.0.0.9"])], Some("10.0.0.9"));
}
