mod cases;

use jiff::Timestamp;
use rookery_sim::RequestId;
use rookery_vim::{Limits, Wire as _, Writer, node};

use super::table::{On, Row, TABLE};
use super::*;
use crate::id::Kind;
use crate::model::{Counts, Model, ModelError};
use crate::settings::Settings;
use crate::soap::Call;
use cases::Case;

const XML: &str = "xmlns=\"urn:vim25\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";

/// A world in which somebody has all privileges but those, everywhere.
fn world_without(missing: &[&str]) -> World {
    let privileges = PRIVILEGES.iter().filter(|id| !missing.contains(id)).map(|&id| id.to_owned()).collect();
    let access = Access {
        users: vec![User { name: "somebody".to_owned(), password: "secret".to_owned() }],
        roles: vec![Role { name: "most".to_owned(), privileges }],
        permissions: vec![Permission {
            principal: "somebody".to_owned(),
            role: "most".to_owned(),
            entity: "/".to_owned(),
            propagate: true,
        }],
    };
    build(Settings { access, ..Settings::default() })
}

fn build(settings: Settings) -> World {
    let model = Model::uniform(Counts { on: false, ..Counts::default() });
    model.build(settings, Timestamp::UNIX_EPOCH).expect("a model")
}

fn of_class(world: &World, kind: Kind) -> Id {
    world.store.entities_of(kind).next().expect("there is one")
}

fn reference(name: &str, id: Id) -> String {
    let mut out = Writer::new();
    id.reference().write(&mut out, name, false);
    out.into_string()
}

/// Whether a user may call a method on an object; if not, which privilege is missing on which object.
fn ask(world: &World, method: &str, this: Id, parameters: &str) -> Result<(), String> {
    let content = format!("<{method} {XML}>{}{parameters}</{method}>", reference("_this", this));
    let content = node::parse(content.as_bytes(), &Limits::default()).expect("XML");
    let call = Call {
        request: RequestId(1),
        session: Some(1),
        user: "somebody".to_owned(),
        this: this.reference(),
        method: method.to_owned(),
    };
    check(world, &call, &content).map_err(|refusal| {
        assert_eq!(refusal.class, "NoPermission");
        let mut out = Writer::new();
        refusal.write(&mut out, "f");
        let text = format!("<all {XML}>{}</all>", out.into_string());
        let fault = node::parse(text.as_bytes(), &Limits::default()).expect("XML");
        let fault = fault.child("f").expect("a fault");
        let text = |name| fault.child_text(name).expect("a member");
        format!("{} on {}", text("privilegeId"), text("object"))
    })
}

#[test]
fn each_row_is_refused_for_want_of_its_privilege_alone() {
    for row in TABLE {
        let Row { method, privilege, on } = *row;
        let parameters = |world: &World| -> String {
            let rows = TABLE.iter().filter(|other| other.method == method);
            let vm = of_class(world, Kind::VirtualMachine);
            let text = rows.map(|row| match row.on {
                On::This | On::Root => String::new(),
                On::Parameter(name) => reference(name, vm),
                On::Datastore(name) => format!("<{name}>[LocalDS_0] a/b</{name}>"),
            });
            text.collect()
        };
        let vm = |world: &World| of_class(world, Kind::VirtualMachine);
        let all = world_without(&[]);
        assert_eq!(ask(&all, method, vm(&all), &parameters(&all)), Ok(()), "{row:?}");
        let most = world_without(&[privilege]);
        let object = match on {
            On::This | On::Parameter(_) => vm(&most),
            On::Root => most.root,
            On::Datastore(_) => of_class(&most, Kind::Datastore),
        };
        let refused = ask(&most, method, vm(&most), &parameters(&most));
        assert_eq!(refused, Err(format!("{privilege} on {}", object.text())), "{row:?}");
    }
}

#[test]
fn every_privilege_that_a_row_names_is_known() {
    for row in TABLE {
        assert!(PRIVILEGES.contains(&row.privilege), "{row:?}");
    }
    let known: BTreeSet<&str> = PRIVILEGES.iter().copied().collect();
    assert_eq!(known.len(), PRIVILEGES.len());
}

/// A world for a case: the VM that it is about has a CD drive, and is a template if need be.
fn prepared(missing: &[&str], template: bool) -> World {
    let mut world = world_without(missing);
    let vm = of_class(&world, Kind::VirtualMachine);
    let drive = crate::store::Cdrom { iso: None, connected: true, start_connected: true };
    let vm = world.store.vms.get_mut(&vm).expect("a VM");
    vm.template = template;
    vm.devices.push(crate::store::Device {
        key: 3000,
        class: "VirtualCdrom".to_owned(),
        controller: Some(200),
        unit: Some(0),
        what: crate::store::What::Cdrom(drive),
    });
    world
}

fn subject(world: &World, kind: Kind) -> Id {
    if kind == Kind::Folder {
        return world.store.datacenters.values().next().expect("a datacenter").vm_folder;
    }
    of_class(world, kind)
}

#[test]
fn what_a_call_needs_depends_on_what_it_asks_for_and_nothing_else() {
    let model = prepared(&[], false);
    for Case { method, on, template, parameters, needs } in cases::all(&model) {
        for privilege in PRIVILEGES {
            let world = prepared(&[privilege], template);
            let outcome = ask(&world, method, subject(&world, on), &parameters);
            let expected = match needs.iter().find(|(needed, _)| needed == privilege) {
                Some((_, kind)) => Err(format!("{privilege} on {}", subject(&world, *kind).text())),
                None => Ok(()),
            };
            assert_eq!(outcome, expected, "{method} {parameters} without {privilege}");
        }
    }
}

/// What Rookery's doctor asks for. Reading needs the first two; files over HTTP need the datastore's.
const DOCTOR: [&str; 33] = [
    "System.View",
    "System.Read",
    "VirtualMachine.Inventory.CreateFromExisting",
    "VirtualMachine.Inventory.Delete",
    "VirtualMachine.Config.AddNewDisk",
    "VirtualMachine.Config.EditDevice",
    "VirtualMachine.Config.CPUCount",
    "VirtualMachine.Config.Memory",
    "VirtualMachine.Config.Annotation",
    "VirtualMachine.Config.AdvancedConfig",
    "VirtualMachine.Config.Settings",
    "VirtualMachine.Config.Rename",
    "VirtualMachine.Interact.PowerOn",
    "VirtualMachine.Interact.PowerOff",
    "VirtualMachine.Interact.Reset",
    "VirtualMachine.Interact.Suspend",
    "VirtualMachine.GuestOperations.Query",
    "VirtualMachine.GuestOperations.Modify",
    "VirtualMachine.GuestOperations.Execute",
    "VirtualMachine.Inventory.Create",
    "VirtualMachine.Config.AddRemoveDevice",
    "VirtualMachine.Interact.SetCDMedia",
    "VirtualMachine.Interact.DeviceConnection",
    "Resource.AssignVMToPool",
    "Datastore.AllocateSpace",
    "Datastore.Browse",
    "Datastore.FileManagement",
    "Network.Assign",
    "VirtualMachine.Provisioning.DeployTemplate",
    "VirtualMachine.Provisioning.Customize",
    "VirtualMachine.Provisioning.Clone",
    "VirtualMachine.State.CreateSnapshot",
    "VirtualMachine.Provisioning.MarkAsTemplate",
];

#[test]
fn whatever_the_doctor_asks_for_is_needed_by_something() {
    let model = prepared(&[], false);
    let cases = cases::all(&model);
    let by_case = cases.iter().flat_map(|case| case.needs.iter().map(|(privilege, _)| *privilege));
    let needed: BTreeSet<&str> = TABLE.iter().map(|row| row.privilege).chain(by_case).collect();
    for privilege in DOCTOR {
        let reading = privilege == "System.Read";
        assert!(reading || needed.contains(privilege), "{privilege}");
    }
}

#[test]
fn only_tasks_of_others_need_a_privilege_to_be_cancelled() {
    let mut world = world_without(&["Global.CancelTask"]);
    let vm = of_class(&world, Kind::VirtualMachine);
    world.settings.durations.power = jiff::SignedDuration::from_secs(1).into();
    let mut start = |user: &str| {
        let work = crate::machine::Work::PowerOn { vm, host: None };
        crate::task::start(&mut world, "PowerOnVM_Task", vm, user, work)
    };
    let (own, other) = (start("somebody"), start("else"));
    assert_eq!(ask(&world, "CancelTask", own, ""), Ok(()));
    assert_eq!(ask(&world, "CancelTask", other, ""), Err(format!("Global.CancelTask on {}", vm.text())));
}

#[test]
fn a_nearer_permission_takes_the_place_of_one_further_up() {
    let mut world = world_without(&[]);
    let vm = of_class(&world, Kind::VirtualMachine);
    let (folder, pool) =
        (world.store.parent(vm).expect("a folder"), world.store.vms[&vm].pool.expect("a pool"));
    let view = |world: &World| holds(world, "somebody", vm, "System.View");
    assert!(view(&world));
    // A VM is below its pool, too.
    grant(&mut world, folder, "somebody", NO_ACCESS, true);
    assert!(view(&world) && !holds(&world, "somebody", folder, "System.View"));
    grant(&mut world, pool, "somebody", NO_ACCESS, true);
    assert!(!view(&world));
    grant(&mut world, vm, "SOMEBODY", READ_ONLY, false);
    assert!(view(&world) && !holds(&world, "somebody", vm, "VirtualMachine.Interact.PowerOn"));
    assert!(revoke(&mut world, vm, "somebody") && !revoke(&mut world, vm, "somebody"));
    assert!(!view(&world));
    // What does not propagate stops nothing below.
    grant(&mut world, folder, "somebody", NO_ACCESS, false);
    assert!(view(&world));
}

#[test]
fn whoever_is_not_listed_is_an_administrator_until_told_otherwise() {
    let mut world = build(Settings::default());
    let dc = of_class(&world, Kind::Datacenter);
    assert!(holds(&world, "anybody", dc, "Datacenter.Delete") && may_log_in(&world, "anybody", ""));
    let folder = world.store.datacenters[&dc].vm_folder;
    grant(&mut world, folder, "CORP\\bob", READ_ONLY, true);
    assert!(
        !holds(&world, "bob@corp", folder, "Folder.Create")
            && holds(&world, "bob@corp", folder, "System.Read")
    );
    assert!(
        holds(&world, "bob@corp", dc, "Datacenter.Delete") && holds(&world, "alice", folder, "Folder.Create")
    );
}

#[test]
fn only_listed_users_may_log_in_where_there_are_any() {
    let world = world_without(&[]);
    let check = |user: &str, password: &str, expected: bool| {
        assert_eq!(may_log_in(&world, user, password), expected, "{user}");
    };
    check("somebody", "secret", true);
    check("Somebody", "secret", true);
    check("somebody", "Secret", false);
    check("anybody", "secret", false);
    check("", "", false);
}

#[test]
fn what_is_wrong_with_the_settings_is_told_all_at_once() {
    let text = r#"{"access": {
        "users": [{"name": "", "password": "x"}],
        "roles": [{"name": "Admin", "privileges": []}, {"name": "r", "privileges": ["Nonsense.Do"]}],
        "permissions": [{"principal": "u", "role": "none", "entity": "DC9"}]
    }}"#;
    let model: Model = serde_json::from_str(text).expect("a model");
    let access = model.access.as_ref().expect("settings");
    assert!(access.permissions[0].propagate && !format!("{access:?}").contains('x'));
    let refused = model.build(Settings::default(), Timestamp::UNIX_EPOCH);
    let expected = [
        "users: a user has no name",
        "roles: there are two roles Admin",
        "roles: r: there is no privilege Nonsense.Do",
        "permissions: there is no role none",
        "permissions: there is nothing at DC9",
    ];
    let Err(ModelError::Access { problems }) = refused else { panic!("it was built") };
    assert_eq!(problems, expected);
    assert!(serde_json::from_str::<Access>(r#"{"user": []}"#).is_err());
}
