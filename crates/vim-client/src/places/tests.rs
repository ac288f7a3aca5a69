use super::*;

/// `class id name parent`, one a line; the root is `Folder root`.
fn world(lines: &str) -> Places {
    let place = |line: &str| {
        let [class, id, name, parent] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let parent_class = lines
            .lines()
            .filter_map(|l| l.trim().strip_suffix(' ').or(Some(l.trim())))
            .find(|l| l.split_whitespace().nth(1) == Some(parent))
            .and_then(|l| l.split_whitespace().next())
            .unwrap_or("Folder");
        Place {
            id: MoRef::new(class, id),
            name: name.replace('_', " "),
            parent: Some(MoRef::new(parent_class, parent)),
        }
    };
    let mut places = Places::new(lines.lines().map(str::trim).filter(|l| !l.is_empty()).map(place));
    let root = MoRef::new("Folder", "root");
    places.0.insert(root.clone(), Place { id: root, name: String::new(), parent: None });
    places
}

fn two_datacenters() -> Places {
    world(
        "Datacenter dc1 East root
         Datacenter dc2 West root
         Folder vm1 vm dc1
         Folder team vm1sub vm1
         Folder host1 host dc1
         ClusterComputeResource c1 Cluster host1
         ResourcePool rp1 Resources c1
         ResourcePool rp2 workers rp1
         Folder ds1 datastore dc1
         Datastore d1 fast ds1
         StoragePod pod pool_of_disks ds1
         Datastore d2 member pod
         Folder host2 host dc2
         ComputeResource c2 alone host2
         ResourcePool rp3 Resources c2
         ResourcePool rp4 workers rp3",
    )
}

fn check(kind: Kind, wanted: Option<&str>, within: &str, expected: Result<&str, &str>) {
    let places = two_datacenters();
    let within = places.0.values().find(|p| p.id.id() == within).expect("it is there").id.clone();
    let found = places.find(kind, wanted, &within).map(|p| p.id.id().to_owned()).map_err(|e| e.to_string());
    assert_eq!(found.as_deref().map_err(String::as_str), expected, "{kind:?} {wanted:?}");
}

#[test]
fn a_name_or_the_end_of_a_path_is_enough_where_it_is_clear() {
    check(Kind::Datacenter, Some("West"), "root", Ok("dc2"));
    check(Kind::Datacenter, Some("/West"), "root", Ok("dc2"));
    check(Kind::Pool, Some("workers"), "dc1", Ok("rp2"));
    check(Kind::Pool, Some("Cluster/Resources/workers"), "root", Ok("rp2"));
    check(Kind::Pool, Some("/West/host/alone/Resources"), "root", Ok("rp3"));
    check(Kind::Datastore, Some("pool of disks"), "dc1", Ok("pod"));
}

#[test]
fn an_unclear_name_lists_what_it_may_mean() {
    check(
        Kind::Pool,
        Some("workers"),
        "root",
        Err("\"workers\" may mean several things, give the path of one resource pool: \
             /East/host/Cluster/Resources/workers, /West/host/alone/Resources/workers"),
    );
    check(Kind::Network, Some("LAN"), "root", Err("there is no network \"LAN\"; there are: none"));
    // A part of a name is not the end of a path.
    check(
        Kind::Datacenter,
        Some("/est"),
        "root",
        Err("there is no datacenter \"/est\"; there are: /East, /West"),
    );
}

#[test]
fn the_default_is_the_only_one_that_is_not_inside_another() {
    check(Kind::Pool, None, "dc1", Ok("rp1"));
    check(Kind::Compute, None, "dc2", Ok("c2"));
    check(Kind::Datacenter, None, "root", Err("name a datacenter, there is no obvious one: /East, /West"));
    check(
        Kind::Datastore,
        None,
        "dc1",
        Err("name a datastore, there is no obvious one: /East/datastore/fast, /East/datastore/pool of disks"),
    );
    check(Kind::Datastore, None, "dc2", Err("name a datastore, there is no obvious one: none"));
}

#[test]
fn a_circle_of_parents_ends() {
    let places = world("Folder a A b\n Folder b B a");
    let a = MoRef::new("Folder", "a");
    assert!(places.path(&a).len() < 1000);
    assert!(places.find(Kind::Folder, None, &MoRef::new("Folder", "root")).is_ok());
}
