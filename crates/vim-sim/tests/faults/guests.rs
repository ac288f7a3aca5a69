//! Rules on guests.

use rookery_vim_sim::{Action, Control, GuestBehaviour, Incident, Rule, Settings};

use super::kit::Sim;

/// The state of the tools, whether orders are taken, and the address, after so many seconds.
fn after(behaviour: Option<GuestBehaviour>, seconds: i64) -> (String, String, String) {
    let mut settings = Settings::default();
    settings.guests.tools = "10s".parse().unwrap();
    settings.guests.operations = "5s".parse().unwrap();
    settings.guests.addresses = "5s".parse().unwrap();
    let mut sim = Sim::new(settings);
    if let Some(behaviour) = behaviour {
        sim.rule(Rule { target: "*_VM0".into(), ..Rule::new(Action::Guest(behaviour)) });
    }
    let vm = sim.vm(0);
    sim.power_on(&vm);
    sim.pass(seconds);
    (
        sim.get(&vm, "guest.toolsRunningStatus"),
        sim.get(&vm, "guest.guestOperationsReady"),
        sim.get(&vm, "guest.ipAddress"),
    )
}

#[test]
fn a_guest_behaves_as_a_rule_says() {
    let (up, down) = ("guestToolsRunning", "guestToolsNotRunning");
    let span = |text: &str| text.parse().unwrap();
    let own = after(None, 20).2;
    assert!(!own.is_empty());
    for (behaviour, seconds, expected) in [
        (None, 9, (down, "false", "")),
        (None, 10, (up, "false", "")),
        (None, 15, (up, "true", "")),
        (None, 20, (up, "true", own.as_str())),
        (Some(GuestBehaviour::SlowBoot { by: span("100s") }), 109, (down, "false", "")),
        (Some(GuestBehaviour::SlowBoot { by: span("100s") }), 120, (up, "true", own.as_str())),
        (Some(GuestBehaviour::NoTools), 3600, (down, "false", "")),
        (Some(GuestBehaviour::NoOperations), 3600, (up, "false", own.as_str())),
        (Some(GuestBehaviour::NoAddress), 3600, (up, "true", "")),
        (
            Some(GuestBehaviour::WrongAddress { ip: "192.0.2.9".parse().unwrap() }),
            20,
            (up, "true", "192.0.2.9"),
        ),
        (Some(GuestBehaviour::LosesTools { after: span("50s") }), 59, (up, "true", own.as_str())),
        (Some(GuestBehaviour::LosesTools { after: span("50s") }), 60, (down, "false", own.as_str())),
        (Some(GuestBehaviour::LosesTools { after: span("1s") }), 3600, (down, "false", "")),
    ] {
        let (tools, operations, ip) = after(behaviour.clone(), seconds);
        assert_eq!((tools.as_str(), operations.as_str(), ip.as_str()), expected, "{behaviour:?} {seconds}");
    }
}

#[test]
fn a_rule_on_guests_counts_starts_and_leaves_other_vms_alone() {
    let mut sim = Sim::new(Settings::default());
    let (first, second) = (sim.vm(0), sim.vm(1));
    let action = Action::Guest(GuestBehaviour::NoTools);
    sim.rule(Rule { target: "*_VM0".into(), count: Some(1), ..Rule::new(action) });
    for (vm, expected) in
        [(&second, "guestToolsRunning"), (&first, "guestToolsNotRunning"), (&first, "guestToolsRunning")]
    {
        sim.power_on(vm);
        assert_eq!(sim.get(vm, "guest.toolsRunningStatus"), expected);
        sim.order("PowerOffVM_Task", vm, "");
    }
}

#[test]
fn what_a_guest_shows_can_be_set_by_hand() {
    let mut sim = Sim::new(Settings::default());
    let vm = sim.vm(0);
    sim.power_on(&vm);
    let set = Incident::SetGuest {
        vm: "*_VM0".into(),
        tools: None,
        operations: Some(false),
        addresses: Some(vec!["192.0.2.1".parse().unwrap()]),
        host_name: Some("other".into()),
    };
    sim.control(Control::Do(set)).unwrap();
    assert_eq!(sim.get(&vm, "guest.ipAddress"), "192.0.2.1");
    assert_eq!(sim.get(&vm, "guest.hostName"), "other");
    assert_eq!(sim.get(&vm, "guest.guestOperationsReady"), "false");
    assert_eq!(sim.get(&vm, "guest.toolsRunningStatus"), "guestToolsRunning");
}
