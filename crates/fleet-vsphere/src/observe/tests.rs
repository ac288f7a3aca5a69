use rookery_fleet::Ownership;
use rookery_fleet::overlay::{Fact, Reading};
use rookery_vim_client::{Config, Guest, Nic};

use super::*;
use crate::samples::{Mark, marked_by, notes, owner, recogniser};

fn row(number: usize) -> Arc<Vm> {
    let id = format!("vm-{number}");
    Arc::new(Vm {
        name: format!("node-{number}"),
        parent: None,
        resource_pool: None,
        power: Some(PowerState::Off),
        host: None,
        connection: None,
        boot_time: None,
        question: None,
        config: Config {
            template: Some(false),
            annotation: Some(notes(&Mark { name: format!("node-{number}"), ..marked_by("h1") }, None)),
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

/// A row's machine, where the settings name no place.
fn seen(row: &Vm) -> Machine<Mark> {
    machine(row, &recogniser(), &Bounds::default())
}

fn read() -> ReadMachines<Mark> {
    ReadMachines::new(recogniser(), Bounds::default())
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[test]
fn the_book_tells_when_a_machine_was_first_seen_as_it_is() {
    let rows: Vec<_> = (0..3).map(row).collect();
    let id = |number: usize| MachineId::new(format!("vm-{number}"));
    let mut read = read();
    read.read(rows.iter().map(VmChange::Is), at(1));
    let before = read.machines.clone();

    let running = changed(&rows[1], |vm| vm.power = Some(PowerState::On));
    read.read([VmChange::Is(&running), VmChange::Gone(&rows[2].id)].into_iter(), at(2));
    assert_eq!([0, 1].map(|number| read.changed[&id(number)]), [at(1), at(2)]);
    assert_eq!(read.machines.get(&id(1)).map(|machine| machine.power), Some(Some(Power::On)));
    assert!(!read.machines.contains(&id(2)) && !read.changed.contains_key(&id(2)));
    let is_the_same = |machine: &&Arc<Machine<Mark>>| {
        read.machines.get(&machine.id).is_some_and(|other| Arc::ptr_eq(machine, other))
    };
    assert_eq!(before.iter().filter(is_the_same).count(), 1, "the others are not parsed again");

    read.read(std::iter::once(VmChange::Is(&rows[2])), at(3));
    assert_eq!(read.changed[&id(2)], at(3), "what comes back is new");
}

// Evidence that is older than the change would have condemned it.
#[test]
fn when_a_new_machine_changed_is_known_until_it_is_gone_however_many_readings_come() {
    let made = seen(&row(0));
    let id = || made.id.clone();
    let (mut read, mut overlay) = (read(), Overlay::default());
    read.hear(&mut overlay, id(), News::Told(Fact::Made(Box::new(made.clone()))), at(1));
    // Two readings are under way.
    assert_eq!((overlay.overdue(at(31)).len(), overlay.overdue(at(61)).len()), (1, 1));
    let Machine { name, role, power, recognised, hardware, .. } = made.clone();
    let reading = Reading { name, role, power, recognised, hardware };
    read.hear(&mut overlay, id(), News::Read(Some(reading.clone())), at(62));
    read.hear(&mut overlay, id(), News::Read(Some(reading)), at(63));
    assert_eq!(read.changed.get(&id()), Some(&at(62)));
    overlay.overdue(at(92));
    read.hear(&mut overlay, id(), News::Read(None), at(93));
    assert!(read.changed.is_empty(), "it never came");
}

#[test]
fn what_is_not_told_is_unknown() {
    let bare = seen(&changed(&row(1), |vm| vm.config = Config::default()));
    assert_eq!(
        (bare.role, &bare.recognised, bare.hardware),
        (Role::Unknown, &Recognised::unknown(), Hardware::default())
    );
    assert!(bare.is_unknown());
    assert_eq!(bare.incarnation.as_deref(), Some("vm-1"));

    let hidden = changed(&row(1), |vm| {
        vm.config.annotation = None;
        vm.unreadable.insert("config.annotation".to_owned());
    });
    assert_eq!(
        seen(&hidden).recognised,
        Recognised::unknown(),
        "notes that may not be read are not empty ones"
    );
    let without = changed(&row(1), |vm| vm.config.annotation = None);
    assert_eq!(seen(&without).recognised, Recognised::nobody());
    let prose = changed(&row(1), |vm| vm.config.annotation = Some("a database".to_owned()));
    assert_eq!(seen(&prose).recognised, Recognised::nobody());
    for (connection, reachable) in [
        (None, true),
        (Some(ConnectionState::Connected), true),
        (Some(ConnectionState::Disconnected), false),
        (Some(ConnectionState::Inaccessible), false),
    ] {
        let row = changed(&row(1), |vm| vm.connection.clone_from(&connection));
        assert_eq!(seen(&row).reachable, reachable, "{connection:?}");
    }
    let odd = changed(&row(1), |vm| vm.power = Some(PowerState::Other("asleep".to_owned())));
    assert_eq!(seen(&odd).power, None);
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
    let full = seen(&full);
    assert_eq!(full.role, Role::Template);
    assert_eq!(full.mark_of(&owner("h1")).map(|mark| mark.name.as_str()), Some("node-1"));
    assert_eq!(full.hardware, Hardware::new(2, 4096));
    assert_eq!(full.addresses, ["192.0.2.7".parse::<Ipv4Addr>().unwrap()]);
    assert_eq!((full.created, full.awaits_setup), (Some(at(9)), true));
    assert_eq!(full.incarnation.as_deref(), Some("5010"));
}

#[test]
fn a_mark_is_told_from_its_copy_and_a_machine_in_its_place_from_one_that_was_moved() {
    let signed = |instance: &str, row: &str| {
        let notes = notes(&marked_by("h1"), Some(instance));
        let row = changed(&self::row(1), |vm| {
            (vm.config.annotation, vm.config.instance_uuid) = (Some(notes), Some(row.to_owned()));
        });
        seen(&row).recognised.ownership
    };
    assert_eq!(signed("5010", "5010"), Ownership::By(owner("h1")));
    assert_eq!(signed("5010", "5011"), Ownership::Copied(owner("h1")));

    let (folder, pool) = (MoRef::new("Folder", "group-v1"), MoRef::new("ResourcePool", "resgroup-1"));
    let bounds = Bounds { folder: Some(folder.clone()), pool: Some(pool.clone()) };
    let here = changed(&row(1), |vm| (vm.parent, vm.resource_pool) = (Some(folder), Some(pool)));
    assert!(!machine(&here, &recogniser(), &bounds).is_outside);
    assert!(machine(&row(1), &recogniser(), &bounds).is_outside, "nobody tells where it is");
    let bare = changed(&row(1), |vm| vm.config = Config::default());
    assert!(!machine(&bare, &recogniser(), &bounds).is_outside, "nothing is told of it: it may be ours");
    let template = changed(&here, |vm| (vm.config.template, vm.resource_pool) = (Some(true), None));
    assert!(!machine(&template, &recogniser(), &bounds).is_outside, "a template is in no pool");
}
