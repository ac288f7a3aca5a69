use proptest::prelude::*;

use super::*;

pub(crate) fn flavor(name: &str, cpus: u32, memory_mb: u64) -> Flavor {
    let (cpus, memory_mb) = (Some(cpus).filter(|cpus| *cpus > 0), Some(memory_mb).filter(|mb| *mb > 0));
    Flavor { name: name.to_owned(), hardware: Hardware { cpus, memory_mb }, disk_gb: None }
}

/// The example of the amendment.
pub(crate) fn three() -> Flavors {
    Flavors::new([flavor("small", 2, 4096), flavor("Medium", 4, 8192), flavor("large", 8, 16384)])
        .expect("flavors")
}

#[test]
fn case_does_not_tell_flavors_apart() {
    assert_eq!(three().get("MEDIUM").map(|found| found.hardware.cpus), Some(Some(4)));
    assert!(three().get("medium").expect("a flavor").is_named("mEdium"));
    let refused = Flavors::new([flavor("big", 1, 1), flavor("other", 1, 1), flavor("BIG", 2, 2)]);
    assert_eq!(refused, Err(SameName { first: "big".to_owned(), second: "BIG".to_owned() }));
}

#[test]
fn a_zero_comes_from_the_template_and_an_unreadable_template_is_not_known() {
    let template = Hardware::new(3, 3000);
    for (flavor, template, cpus, memory_mb) in [
        (Some(flavor("a", 8, 100)), template, Some(8), Some(100)),
        (Some(flavor("a", 0, 100)), template, Some(3), Some(100)),
        (Some(flavor("a", 8, 0)), template, Some(8), Some(3000)),
        (Some(flavor("a", 8, 0)), Hardware::default(), Some(8), None),
        (None, template, Some(3), Some(3000)),
        (None, Hardware::default(), None, None),
    ] {
        assert_eq!(footprint(flavor.as_ref(), template), Hardware { cpus, memory_mb }, "{flavor:?}");
    }
}

#[test]
fn the_smallest_flavor_below_is_what_room_is_kept_for() {
    let flavors = three();
    for (name, cpus, memory) in
        [("small", None, None), ("medium", Some(2), Some(4096)), ("large", Some(2), Some(4096))]
    {
        let flavor = flavors.get(name).expect("a flavor");
        let found = (
            flavors.smaller_cpus(flavor.hardware.cpus.unwrap_or_default()),
            flavors.smaller_memory(flavor.hardware.memory_mb.unwrap_or_default()),
        );
        assert_eq!(found, (cpus, memory), "{name}");
    }
    let with_zero = Flavors::new([flavor("a", 0, 0), flavor("b", 4, 4096)]).expect("flavors");
    assert_eq!((with_zero.smaller_cpus(4), with_zero.smaller_memory(4096)), (None, None));
}

#[test]
fn a_first_disk_is_large_enough_if_it_is_known_and_at_least_as_large() {
    let kb = |first_kb| Some(DiskSizes { all_kb: u64::MAX, first_kb });
    let twenty = Flavor { disk_gb: Some(20), ..flavor("a", 1, 4) };
    for (disks, fits) in [
        (kb(Some(20 * KB_PER_GB)), true),
        (kb(Some(40 * KB_PER_GB)), true),
        (kb(Some(20 * KB_PER_GB - 1)), false),
        (kb(None), false),
        (None, false),
    ] {
        assert_eq!(twenty.fits_disks(disks.as_ref()), fits, "{disks:?}");
        assert!(
            flavor("a", 1, 4).fits_disks(disks.as_ref()),
            "it leaves its disk to the template: {disks:?}"
        );
    }
}

proptest! {
    #[test]
    fn the_smaller_one_is_always_smaller(sizes in proptest::collection::vec((0..9u32, 0..9u64), 1..6)) {
        let all = sizes.iter().enumerate().map(|(at, (cpus, memory))| flavor(&at.to_string(), *cpus, *memory));
        let flavors = Flavors::new(all).expect("flavors");
        for flavor in flavors.iter() {
            let (cpus, memory) = (flavors.smaller_cpus(flavor.hardware.cpus.unwrap_or_default()), flavors.smaller_memory(flavor.hardware.memory_mb.unwrap_or_default()));
            prop_assert!(cpus.is_none_or(|cpus| cpus > 0 && cpus < flavor.hardware.cpus.unwrap_or_default()));
            prop_assert!(memory.is_none_or(|memory| memory > 0 && memory < flavor.hardware.memory_mb.unwrap_or_default()));
        }
    }
}
