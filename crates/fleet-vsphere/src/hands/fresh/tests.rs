use rookery_fleet::ownership::OtherFront;
use rookery_vim_client::{Config, Guest, Vm};

use super::*;
use crate::samples::{Mark, marked_by, notes, owner, recogniser};
use crate::site::Bounds;

const INSTANCE: &str = "5010";

/// A VM that is off, with that mark, as it is read.
pub(in crate::hands) fn fresh(name: &str, mark: &Mark) -> Fresh<Mark> {
    read_as(name, Some("false"), &notes(mark, None), &recogniser())
}

/// The same VM with another mark, written for it.
pub(in crate::hands) fn with(fresh: Fresh<Mark>, mark: &Mark) -> Fresh<Mark> {
    let (_, recognised) = fresh.signed(mark, &recogniser());
    Fresh { recognised, ..fresh }
}

/// The same VM, the mark of which is owned like this.
pub(in crate::hands) fn owned(fresh: Fresh<Mark>, ownership: Ownership) -> Fresh<Mark> {
    let recognised = Recognised { ownership, ..fresh.recognised };
    Fresh { recognised, ..fresh }
}

fn read_as(name: &str, template: Option<&str>, notes: &str, recogniser: &Recogniser<Mark>) -> Fresh<Mark> {
    let place = |kind: &str, id: &str| Node {
        ref_type: Some(kind.into()),
        ..Node::leaf("val", "ManagedObjectReference", id)
    };
    let text = |value: &str| Node::leaf("val", "string", value);
    let mut properties = vec![
        ("name", text(name)),
        ("runtime.powerState", text("poweredOff")),
        ("config.annotation", text(notes)),
        ("config.hardware.numCPU", text("2")),
        ("config.hardware.memoryMB", text("4096")),
        ("config.instanceUuid", text(INSTANCE)),
        ("parent", place("Folder", "group-v1")),
        ("resourcePool", place("ResourcePool", "resgroup-1")),
    ];
    properties.extend(template.map(|is_template| ("config.template", text(is_template))));
    let property = |(name, val): (&str, Node)| DynamicProperty { name: name.to_owned(), val };
    let prop_set = properties.into_iter().map(property).collect();
    let obj = MoRef::new("VirtualMachine", "vm-1");
    let object = ObjectContent { obj, prop_set, missing_set: Vec::new() };
    let datacenter = MoRef::new("Datacenter", "datacenter-1");
    Fresh::of(object, &Grounds { datacenter, bounds: bounds(), recogniser: recogniser.clone() })
}

fn bounds() -> Bounds {
    Bounds {
        folder: Some(MoRef::new("Folder", "group-v1")),
        pool: Some(MoRef::new("ResourcePool", "resgroup-1")),
    }
}

/// The row of the same VM.
fn row(name: &str, template: Option<&str>, notes: &str) -> Vm {
    Vm {
        name: name.to_owned(),
        parent: Some(MoRef::new("Folder", "group-v1")),
        resource_pool: Some(MoRef::new("ResourcePool", "resgroup-1")),
        power: Some(PowerState::Off),
        host: None,
        connection: None,
        boot_time: None,
        question: None,
        config: Config {
            template: template.map(|is_template| is_template == "true"),
            annotation: Some(notes.to_owned()),
            instance_uuid: Some(INSTANCE.to_owned()),
            cpus: Some(2),
            memory_mb: Some(4096),
            ..Config::default()
        },
        guest: Guest::default(),
        unreadable: std::collections::BTreeSet::default(),
        id: MoRef::new("VirtualMachine", "vm-1"),
    }
}

/// Claims each VM whose notes have its word in them.
fn another() -> OtherFront {
    Recogniser::for_others(rookery_fleet::ownership::Marking {
        extra_keys: &[],
        recognise: |labels| match labels.config {
            Some(config) if config.notes.contains("another") => Recognised {
                ownership: Ownership::By(OwnerId::new("another", "h1")),
                mark: Some(Box::new(())),
                ..Recognised::nobody()
            },
            _ => Recognised::nobody(),
        },
        write: |(), _| Written::default(),
        protects: |_, ()| false,
    })
}

#[test]
fn a_fresh_read_and_a_row_of_the_same_vm_say_the_same() {
    let ours = Mark { name: "a".to_owned(), pooled: true, ..marked_by("h1") };
    let recogniser = recogniser().beside([another()]);
    for notes in [
        String::new(),
        "a database".to_owned(),
        notes(&ours, None),
        notes(&ours, Some(INSTANCE)),
        notes(&ours, Some("5011")),
        notes(&marked_by(""), None),
        "another one".to_owned(),
        format!("{} another=yes", notes(&ours, None)),
    ] {
        for template in [None, Some("false"), Some("true")] {
            let fresh = read_as("a", template, &notes, &recogniser);
            let machine = observe::machine(&row("a", template, &notes), &recogniser, &bounds());
            assert_eq!(fresh.recognised, machine.recognised, "{notes:?} {template:?}");
            let told =
                (&fresh.name, fresh.role, fresh.power, fresh.hardware, fresh.reachable, fresh.is_outside);
            let shown = (
                &machine.name,
                machine.role,
                machine.power,
                machine.hardware,
                machine.reachable,
                machine.is_outside,
            );
            assert_eq!(told, shown, "{notes:?} {template:?}");
        }
    }
}

#[test]
fn a_vm_that_another_front_claims_too_is_refused() {
    let mark = marked_by("h1");
    let recogniser = recogniser().beside([another()]);
    let both = read_as("a", Some("false"), &format!("{} another=yes", notes(&mark, None)), &recogniser);
    assert_eq!(both.vm_of(&owner("h1")), Err(Refusal::Unknown));
    let theirs = read_as("a", Some("false"), "another one", &recogniser);
    let foreign = Refusal::Foreign { owner: "h1".to_owned(), found: Some("h1".to_owned()) };
    assert_eq!(theirs.vm_of(&owner("h1")), Err(foreign), "names of different fronts do not meet");
}

#[test]
fn a_mark_is_signed_for_the_vm_that_was_read_and_recognised_there() {
    let mark = Mark { name: "a".to_owned(), ..marked_by("h1") };
    let fresh = fresh("a", &marked_by("h1"));
    let (written, recognised) = fresh.signed(&mark, &recogniser());
    assert_eq!(written.notes, Some(notes(&mark, Some(INSTANCE))));
    assert_eq!(recognised.ownership, Ownership::By(owner("h1")));
    assert_eq!(recognised.mark.as_deref().map(|mark| mark.instance.as_str()), Some(INSTANCE));
    assert!(!fresh.is_marked(&recognised) && with(fresh.clone(), &mark).is_marked(&recognised));
    let nameless = Fresh { instance: None, ..fresh };
    let unsigned = nameless.signed(&mark, &recogniser()).1;
    assert!(unsigned.identity.is_some_and(|identity| !identity.is_proven));
}

#[test]
fn only_what_is_or_may_be_a_copy_is_adopted_or_unmarked_as_one() {
    let ours = owner("h1");
    let mark = Mark { name: "a".to_owned(), ..marked_by("h1") };
    let read = |notes: &str| read_as("a", Some("false"), notes, &recogniser());
    let check = |fresh: &Fresh<Mark>, expected: Result<(), Refusal>| {
        assert_eq!(fresh.copied_mark(&ours).map(drop), expected, "{fresh:?}");
    };
    check(&read(&notes(&mark, Some("5011"))), Ok(()));
    // That there is another one with the same mark, this VM does not tell.
    check(&read(&notes(&mark, None)), Ok(()));
    check(&read(&notes(&mark, Some(INSTANCE))), Err(Refusal::NoCopy));
    check(&owned(read(&notes(&mark, Some(INSTANCE))), Ownership::Disputed(owner("h1"))), Ok(()));
    let foreign =
        |found: Option<&str>| Refusal::Foreign { owner: "h1".to_owned(), found: found.map(str::to_owned) };
    check(&read("a database"), Err(foreign(None)));
    check(&read(&notes(&marked_by("h2"), Some("5011"))), Err(foreign(Some("h2"))));
    check(&read_as("a", None, "", &recogniser()), Err(Refusal::Unknown));
}
