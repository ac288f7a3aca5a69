use std::time::Duration;

use super::*;
use crate::capacity::ledger;
use crate::machine::View;
use crate::samples::{Mark, OWNER, at, id, marked, membership, running, untold, vm, warm};
use crate::warm::Membership;

const POOLED: &str = "pool-a-ip-10-0-0-7-a";
const NOON: &str = "12:00:00";

fn rows(machines: impl IntoIterator<Item = Machine<Mark>>) -> Machines<Mark> {
    machines.into_iter().collect()
}

fn tell(overlay: &mut Overlay<Mark>, rows: &Machines<Mark>, machine: &Machine<Mark>, fact: Fact<Mark>) {
    overlay.hear(rows, &machine.id, News::Told(fact), at(NOON));
}

fn mark(machine: &Machine<Mark>) -> Fact<Mark> {
    Fact::Marked(Box::new(machine.recognised.clone()))
}

/// The row of a warm machine, and what a claim has made of it: same reference.
fn claimed() -> (Machine<Mark>, Machine<Mark>) {
    let row = Machine { id: id("x"), ..warm(POOLED, "debian", "") };
    (row, Machine { id: id("x"), ..running("busy-curie", "12:00:00") })
}

/// What a claim is told.
fn claim(overlay: &mut Overlay<Mark>, rows: &Machines<Mark>, claimed: &Machine<Mark>) {
    for fact in [mark(claimed), Fact::Name(claimed.name.clone()), Fact::Power(Power::On)] {
        tell(overlay, rows, claimed, fact);
    }
}

fn view(overlay: &mut Overlay<Mark>, rows: &Machines<Mark>) -> View<Mark> {
    let (machines, overlaid) = overlay.over(rows);
    View { machines, overlaid, complete: true, age: Duration::ZERO }
}

fn seen(overlay: &mut Overlay<Mark>, rows: &Machines<Mark>, of: &str) -> Machine<Mark> {
    Machine::clone(overlay.over(rows).0.get(&id(of)).expect("it is there"))
}

#[test]
fn a_claimed_machine_is_what_the_claim_made_of_it_before_its_row_shows_it() {
    let (row, claimed) = claimed();
    let (rows, mut overlay) = (rows([row]), Overlay::default());
    claim(&mut overlay, &rows, &claimed);
    let known = seen(&mut overlay, &rows, "x");
    assert_eq!(
        (&known.name, known.power, &known.recognised),
        (&claimed.name, Some(Power::On), &claimed.recognised)
    );
    assert_eq!(membership(&known), Membership::None);
}

#[test]
fn each_property_ends_when_the_row_shows_it_changed_or_equal_and_no_other_with_it() {
    let (row, claimed) = claimed();
    let before = rows([row.clone()]);
    // What the next row shows, and what is known then.
    let other = || "renamed-by-jane".to_owned();
    for (name, power, expected) in [
        (row.name.clone(), row.power, (claimed.name.clone(), claimed.power)),
        (claimed.name.clone(), row.power, (claimed.name.clone(), claimed.power)),
        (other(), row.power, (other(), claimed.power)),
        (row.name.clone(), Some(Power::Suspended), (claimed.name.clone(), Some(Power::Suspended))),
        (other(), Some(Power::Suspended), (other(), Some(Power::Suspended))),
    ] {
        let mut overlay = Overlay::default();
        claim(&mut overlay, &before, &claimed);
        let shown = rows([Machine { name, power, ..row.clone() }]);
        let known = seen(&mut overlay, &shown, "x");
        assert_eq!((known.name.clone(), known.power), expected, "{shown:?}");
        assert_eq!(known.recognised, claimed.recognised, "the mark was not shown yet");
    }
    let mut overlay = Overlay::default();
    claim(&mut overlay, &before, &claimed);
    assert!(overlay.over(&rows([claimed.clone()])).1.is_empty(), "all of it was shown");
    assert!(overlay.over(&before).1.is_empty(), "what has ended does not come back");
}

#[test]
fn what_the_row_shows_already_is_laid_over_nothing() {
    let (_, claimed) = claimed();
    let (rows, mut overlay) = (rows([claimed.clone()]), Overlay::default());
    assert!(!overlay.hear(&rows, &claimed.id, News::Told(Fact::Power(Power::On)), at(NOON)));
    assert!(overlay.over(&rows).1.is_empty());
}

#[test]
fn after_30_seconds_the_machine_is_read_once_and_what_was_read_stays_until_the_row_changes() {
    let (row, claimed) = claimed();
    let (rows, mut overlay) = (rows([row.clone()]), Overlay::default());
    claim(&mut overlay, &rows, &claimed);
    assert_eq!(overlay.overdue(at("12:00:29")), []);
    assert_eq!(overlay.overdue(at("12:00:30")), [id("x")]);
    assert_eq!(overlay.overdue(at("12:00:31")), [], "it is being read");
    assert!(view(&mut overlay, &rows).is_unsettled(&id("x")), "the read has not answered");
    // Somebody has stopped it meanwhile.
    let reading = Reading {
        name: claimed.name.clone(),
        role: Role::Vm,
        power: Some(Power::Off),
        recognised: claimed.recognised.clone(),
        hardware: claimed.hardware,
    };
    assert!(overlay.hear(&rows, &id("x"), News::Read(Some(reading)), at("12:00:32")));
    let known = view(&mut overlay, &rows);
    assert!(!known.is_unsettled(&id("x")), "a read is as good as a row");
    let machine = known.machines.get(&id("x")).expect("it is there");
    assert_eq!((&machine.name, machine.power), (&claimed.name, Some(Power::Off)));
    assert_eq!(overlay.overdue(at("12:01:02")), [id("x")], "it may have changed since");
    // A read that shows what the row shows ends it.
    tell(&mut overlay, &rows, &claimed, Fact::Power(Power::On));
    overlay.overdue(at("12:00:30"));
    let Machine { name, role, power, recognised, hardware, .. } = row;
    let reading = Reading { name, role, power, recognised, hardware };
    overlay.hear(&rows, &id("x"), News::Read(Some(reading)), at("12:00:31"));
    assert!(overlay.over(&rows).1.is_empty());
}

#[test]
fn what_an_act_is_told_while_the_machine_is_read_is_newer_than_the_reading() {
    let (row, claimed) = claimed();
    let (rows, mut overlay) = (rows([row.clone()]), Overlay::default());
    claim(&mut overlay, &rows, &claimed);
    assert_eq!(overlay.overdue(at("12:00:30")).len(), 1);
    tell(&mut overlay, &rows, &claimed, Fact::Name("later".to_owned()));
    let Machine { name, role, power, recognised, hardware, .. } = row;
    let reading = Some(Reading { name, role, power, recognised, hardware });
    assert!(!overlay.hear(&rows, &id("x"), News::Read(reading), at("12:00:31")));
    assert_eq!(seen(&mut overlay, &rows, "x").name, "later");
}

#[test]
fn a_new_machine_holds_its_name_and_address_before_the_inventory_shows_it() {
    let (made, _) = claimed();
    let made = Machine { power: Some(Power::On), awaits_setup: true, ..made };
    let (none, mut overlay) = (rows([]), Overlay::default());
    tell(&mut overlay, &none, &made, Fact::Made(Box::new(made.clone())));
    let known = view(&mut overlay, &none);
    assert!(known.is_taken(POOLED) && known.is_unsettled(&id("x")));
    assert_eq!(address::seen(&known).len(), 1);
    // It is set up and stopped, and the first row that shows it is from before.
    tell(&mut overlay, &none, &made, Fact::SetUp);
    tell(&mut overlay, &none, &made, Fact::Power(Power::Off));
    let first = Machine { role: Role::Unknown, ..untold(made.clone()) };
    let known = seen(&mut overlay, &rows([first]), "x");
    assert_eq!(
        (known.power, known.awaits_setup, &known.recognised),
        (Some(Power::Off), false, &made.recognised)
    );
    assert!(matches!(membership(&known), Membership::Pooled(_)));
    let whole = Machine { power: Some(Power::Off), awaits_setup: false, ..made };
    assert!(overlay.over(&rows([whole])).1.is_empty());
}

#[test]
fn a_new_machine_that_never_appears_is_read_and_forgotten_when_it_is_gone() {
    let (made, _) = claimed();
    let (none, mut overlay) = (rows([]), Overlay::default());
    tell(&mut overlay, &none, &made, Fact::Made(Box::new(made.clone())));
    let Machine { name, role, power, recognised, hardware, .. } = made;
    let reading = Reading { name, role, power, recognised, hardware };
    for (second, reading, left) in [(30, Some(reading), 1), (60, None, 0)] {
        let now = at(NOON) + SignedDuration::from_secs(second);
        assert_eq!(overlay.overdue(now), [id("x")]);
        overlay.hear(&none, &id("x"), News::Read(reading), now);
        assert_eq!(overlay.over(&none).0.len(), left);
    }
}

#[test]
fn a_deleted_machine_is_gone_and_holds_what_its_row_shows() {
    let (row, _) = claimed();
    let (before, mut overlay) = (rows([row.clone()]), Overlay::default());
    tell(&mut overlay, &before, &row, Fact::Gone);
    let known = view(&mut overlay, &before);
    assert!(known.is_gone(&id("x")) && known.is_unsettled(&id("x")));
    assert!(known.is_taken(POOLED));
    assert_eq!(address::seen(&known).len(), 1);
    let known = view(&mut overlay, &rows([]));
    assert!(!known.is_gone(&id("x")) && !known.is_taken(POOLED));
    // Deleted before it was shown at all: the row may still come.
    let mut overlay = Overlay::default();
    tell(&mut overlay, &rows([]), &row, Fact::Gone);
    assert!(overlay.over(&rows([])).1.is_empty());
    assert!(view(&mut overlay, &before).is_gone(&id("x")));
}

#[test]
fn an_overlay_frees_no_name_no_address_and_no_slot() {
    let row = Machine { power: Some(Power::On), ..claimed().0 };
    let held = marked("x", |mark| mark.ip = Some([10, 0, 0, 9].into()));
    let (rows, mut overlay) = (rows([row.clone()]), Overlay::default());
    for fact in [Fact::Name("x".to_owned()), mark(&held), Fact::Power(Power::Off)] {
        tell(&mut overlay, &rows, &row, fact);
    }
    let known = view(&mut overlay, &rows);
    assert!(known.is_taken("x") && known.is_taken(POOLED));
    let addresses: Vec<String> = address::seen(&known).iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["10.0.0.7", "10.0.0.9"]);
    let used = ledger(&known, &OWNER, &[], &mut |_, _| {});
    assert_eq!((used.cpus, used.memory_mb), (2, 4096), "its row runs");
}

#[test]
fn what_is_known_of_a_machine_goes_with_its_row() {
    let row = vm("x");
    let mut overlay = Overlay::default();
    tell(&mut overlay, &rows([row.clone()]), &row, Fact::Power(Power::On));
    assert!(overlay.over(&rows([])).1.is_empty());
    tell(&mut overlay, &rows([]), &row, Fact::Power(Power::On));
    assert!(overlay.entries.is_empty(), "nothing can be said of a machine that nobody has seen");
}

// The address in a name is held by it, and the row that shows the new name was taken for one that shows the new mark.
#[test]
fn a_mark_is_known_until_the_row_shows_it_though_the_name_holds_another_address() {
    let (row, claimed) = claimed();
    let (before, mut overlay) = (rows([row.clone()]), Overlay::default());
    claim(&mut overlay, &before, &claimed);
    // The name comes first, and what it held is not held by it any more.
    let mut renamed = Machine { name: claimed.name.clone(), ..row };
    renamed.recognised.addresses.clear();
    let shown = rows([renamed]);
    let known = seen(&mut overlay, &shown, "x");
    assert_eq!((&known.name, known.any_mark()), (&claimed.name, claimed.any_mark()));
    assert!(view(&mut overlay, &shown).is_unsettled(&id("x")));
}
