use super::*;

/// As the Go hatchery wrote them.
const POOLED: &str = r#"{"hatchery_name":"rig-vsphere","worker_name":"provision-v2-ip-10-99-0-1-dreamy-and-pedantic-chebyshev","provisioning":true,"vmware_model_path":"debian12","created":"2026-11-15T08:15:10.032247556Z","worker_start_time":"0001-01-01T00:00:00Z","ip_address":"10.99.0.1"}"#;
const WORKING: &str = r#"{"hatchery_name":"rig-vsphere","worker_name":"mystifying-and-fervent-sinoussi","vmware_model_path":"debian12","created":"2026-11-15T08:15:10.032247556Z","worker_start_time":"2026-11-15T08:16:04.901653732Z","job_id":"b5b12a13-27f8-496b-b950-90325de33ede","ip_address":"10.99.0.1"}"#;

#[test]
fn a_mark_of_the_go_hatchery_is_read_and_written_back_byte_for_byte() {
    for notes in [POOLED, WORKING] {
        assert_eq!(Mark::read(notes).expect("a mark").write(), notes);
    }
}

#[test]
fn the_year_one_is_never() {
    let mark = Mark::read(POOLED).expect("a mark");
    assert_eq!(mark.worker_start_time, None);
    assert_eq!(mark.created, Some("2026-11-15T08:15:10.032247556Z".parse().expect("a time")));
    assert_eq!(mark.address(), Some(Ipv4Addr::new(10, 99, 0, 1)));
}

#[test]
fn older_forms_have_fewer_keys_and_those_of_v1() {
    let mark = Mark::read(
        r#"{"hatchery_name":"h","worker_name":"register-x","register_only":true,"worker_model_path":"shared.infra/deb","worker_model_last_modified":"1718000000","created":"2026-06-23T09:00:00+02:00"}"#,
    )
    .expect("a mark");
    assert!(mark.register_only);
    assert_eq!(mark.worker_model_last_modified, "1718000000");
    assert_eq!(mark.created, Some("2026-06-23T07:00:00Z".parse().expect("a time")));
    assert_eq!(mark.worker_start_time, None);
}

#[test]
fn what_is_no_object_is_no_mark() {
    for notes in ["", "   ", "web server, ask Jane", "[]", "null", "\"{}\"", "{", "{\"a\":", "12"] {
        assert_eq!(Mark::read(notes), None, "{notes}");
    }
}

#[test]
fn an_object_of_another_tool_is_a_mark_of_nobody() {
    let mark = Mark::read(r#"{"backup":{"last":"2026-01-01"},"worker_name":7,"created":"soon"}"#)
        .expect("an object");
    assert_eq!(mark, Mark::default());
}

#[test]
fn our_own_keys_come_last_and_only_when_they_say_something() {
    let mark = Mark {
        hold_until: Some("2026-11-15T12:00:00Z".parse().expect("a time")),
        hold_reason: "broken build".to_owned(),
        hold_wish: "7f".to_owned(),
        template_incarnation: "50-1".to_owned(),
        instance: "50-2".to_owned(),
        ..Mark::read(WORKING).expect("a mark")
    };
    let notes = mark.write();
    assert!(notes.ends_with(
        r#""rookery_template":"50-1","rookery_instance":"50-2","rookery_hold_until":"2026-11-15T12:00:00Z","rookery_hold_reason":"broken build","rookery_hold_wish":"7f"}"#
    ));
    assert_eq!(Mark::read(&notes), Some(mark));
}

#[test]
fn a_mark_tells_which_machine_it_was_written_for() {
    let at = |text: &str| Some(text.parse().expect("a time"));
    let signed = Mark { instance: "50-A".to_owned(), ..Mark::read(WORKING).expect("a mark") };
    let late = at("2027-01-01T00:00:00Z");
    for (instance, expected) in [(Some("50-a"), Some(true)), (Some("51-a"), Some(false)), (None, None)] {
        assert_eq!(signed.is_of(instance, late), expected, "{instance:?}");
    }
    // Somebody else's: it was started at 08:16:04.9, and an hour is what clones and clocks may take.
    let plain = Mark::read(WORKING).expect("a mark");
    for (created, expected) in [
        (None, true),
        (at("2026-11-15T08:15:00Z"), true),
        (at("2026-11-15T09:16:04Z"), true),
        (at("2026-11-15T09:16:05Z"), false),
    ] {
        assert_eq!(plain.is_of(Some("50-a"), created), Some(expected), "{created:?}");
    }
    assert_eq!(Mark::default().is_of(None, late), Some(true), "it tells no time");
}

#[test]
fn a_machine_is_recognised_by_its_notes_and_its_name() {
    let extra = std::collections::BTreeMap::new();
    let seen = |notes: Option<&str>| {
        let config = notes.map(|notes| rookery_fleet::ownership::LabelConfig { notes, extra: &extra });
        let name = "provision-v2-ip-10-0-0-5-x";
        let labels = Labels { name, config, instance: Some("50"), created: None };
        let recognised = (MARKING.recognise)(&labels);
        let addresses: Vec<_> = recognised.addresses.iter().map(ToString::to_string).collect();
        (recognised.ownership, addresses)
    };
    let held = |addresses: &[&str]| addresses.iter().map(|ip| (*ip).to_owned()).collect::<Vec<_>>();
    let by = |name: &str| Ownership::By(owner(name));
    for (notes, expected) in [
        (None, (Ownership::Unknown, held(&["10.0.0.5"]))),
        (Some(""), (Ownership::Nobody, held(&[]))),
        (Some("a database"), (Ownership::Nobody, held(&[]))),
        // Another tool wrote it. What it calls an address may be one.
        (Some(r#"{"backup":"daily"}"#), (Ownership::Nobody, held(&[]))),
        (Some(r#"{"ip_address":"10.0.0.7"}"#), (Ownership::Nobody, held(&["10.0.0.7"]))),
        (Some(r#"{"hatchery_name":"h"}"#), (by("h"), held(&["10.0.0.5"]))),
        (
            Some(r#"{"hatchery_name":"h","ip_address":"10.0.0.7"}"#),
            (by("h"), held(&["10.0.0.7", "10.0.0.5"])),
        ),
        (
            Some(r#"{"hatchery_name":"h","rookery_instance":"51"}"#),
            (Ownership::Copied(owner("h")), held(&["10.0.0.5"])),
        ),
    ] {
        assert_eq!(seen(notes), expected, "{notes:?}");
    }
}
