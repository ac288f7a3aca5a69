use rookery_vim_client::{Config, Guest, Nic};

use super::*;

fn row(number: usize) -> Arc<Vm> {
    let id = format!("vm-{number}");
    Arc::new(Vm {
        name: format!("worker-{number}"),
        parent: None,
        resource_pool: None,
        power: Some(PowerState::Off),
        host: None,
        connection: None,
        boot_time: None,
        question: None,
        config: Config {
            template: Some(false),
            annotation: Some(format!("{{\"hatchery_name\":\"h1\",\"worker_name\":\"worker-{number}\"}}")),
            cpus: Some(2),
            memory_mb: Some(4096),
            ..Config::default()
        },
        guest: Guest::default(),
        unreadable: std::collections::BTreeSet::default(),
        id: MoRef::new("VirtualMachine", &id),
    })
}

fn changed(row: &Arc<Vm>, change: impl FnOnce(&mut Vm)) -> Arc<Vm> {
    let mut vm = Vm::clone(row);
    change(&mut vm);
    Arc::new(vm)
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[test]
fn of_ten_thousand_machines_only_the_one_that_changed_is_parsed_again() {
    // As numbers and as texts these references have two orders, and then one.
    for first in [0, 10_000] {
        check_reading(first);
    }
}

fn check_reading(first: usize) {
    let mut rows: Vec<_> = (first..first + 10_000).map(row).collect();
    let mut book = Book::default();
    assert_eq!(book.read(rows.iter(), at(1)), 10_000);
    let before = book.machines.clone();
    assert_eq!(book.read(rows.iter(), at(2)), 0);

    let id = |number: usize| MachineId::new(format!("vm-{}", first + number));
    rows[77] = changed(&rows[77], |vm| vm.power = Some(PowerState::On));
    // An inventory that was built again has new rows that say the same.
    rows[78] = changed(&rows[78], |_| {});
    assert_eq!(book.read(rows.iter(), at(3)), 1);
    let kept = before.iter().filter(|(id, machine)| Arc::ptr_eq(machine, &book.machines[*id])).count();
    assert_eq!(kept, 9_999);
    assert_eq!(book.machines[&id(77)].power, Some(Power::On));
    assert_eq!([77, 78].map(|number| book.rows[&id(number)].changed), [at(3), at(1)]);

    rows.remove(77);
    assert_eq!(book.read(rows.iter(), at(4)), 0);
    assert!(!book.machines.contains_key(&id(77)) && book.machines.len() == 9_999);
    rows.insert(77, row(first + 77));
    assert_eq!(book.read(rows.iter(), at(5)), 1);
    assert_eq!(book.rows[&id(77)].changed, at(5), "what comes back is new");
}

#[test]
fn what_is_not_told_is_unknown() {
    let bare = machine(&changed(&row(1), |vm| vm.config = Config::default()));
    assert_eq!((bare.role, &bare.notes, bare.hardware), (Role::Unknown, &Notes::Unknown, None));
    assert!(bare.is_unknown());
    assert_eq!(bare.incarnation.as_deref(), Some("vm-1"));

    let hidden = changed(&row(1), |vm| {
        vm.config.annotation = None;
        vm.unreadable.insert("config.annotation".to_owned());
    });
    assert_eq!(machine(&hidden).notes, Notes::Unknown, "notes that may not be read are not empty ones");
    let without = changed(&row(1), |vm| vm.config.annotation = None);
    assert_eq!(machine(&without).notes, Notes::NoMark);
    let prose = changed(&row(1), |vm| vm.config.annotation = Some("a database".to_owned()));
    assert_eq!(machine(&prose).notes, Notes::NoMark);
    let odd = changed(&row(1), |vm| vm.power = Some(PowerState::Other("asleep".to_owned())));
    assert_eq!(machine(&odd).power, None);
}

#[test]
fn a_machine_is_what_its_row_says() {
    let nic = |device, ip: &str| Nic {
        network: None,
        mac: None,
        ips: vec!["fe80::1".to_owned(), ip.to_owned()],
        device: Some(device),
    };
    let full = changed(&row(1), |vm| {
        vm.config.template = Some(true);
        vm.config.instance_uuid = Some("5010".to_owned());
        vm.config.pending_customization = Some("/tmp/spec".to_owned());
        vm.config.created = Some(at(9));
        vm.guest.nics = vec![nic(-1, "172.17.0.1"), nic(4000, "192.0.2.7")];
    });
    let seen = machine(&full);
    assert_eq!(seen.role, Role::Template);
    assert_eq!(seen.mark_of("h1").map(|mark| mark.worker_name.as_str()), Some("worker-1"));
    assert_eq!(seen.hardware, Some(Hardware { cpus: 2, memory_mb: 4096 }));
    assert_eq!(seen.addresses, ["192.0.2.7".parse::<Ipv4Addr>().unwrap()]);
    assert_eq!((seen.created, seen.awaits_setup), (Some(at(9)), true));
    assert_eq!(seen.incarnation.as_deref(), Some("5010"));
}
