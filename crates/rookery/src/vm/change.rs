//! What is different between two moments. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use rookery_vim::MoRef;
use rookery_vim_client::Vm;
use serde_json::Value;

use super::Row;
use super::words::power_word;
use crate::output::{printable, value_text};

/// How much of a value stands on a line; annotations may be long.
const LONGEST: usize = 60;

/// What happened to one VM.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// It was not there before.
    Appeared(Arc<Vm>),
    /// It is not what it was.
    Changed { old: Arc<Vm>, new: Arc<Vm> },
    /// It is no longer there.
    Gone(Arc<Vm>),
}

/// One field with its values before and after.
pub(super) type FieldChange = (&'static str, Value, Value);

/// What happened to the VMs that `fits` is true for, before or after; sorted by name.
pub fn changes<'a>(
    before: impl IntoIterator<Item = &'a Arc<Vm>>,
    after: impl IntoIterator<Item = &'a Arc<Vm>>,
    fits: impl Fn(&Vm) -> bool,
) -> Vec<Event> {
    let mut before: BTreeMap<&MoRef, &Arc<Vm>> = before.into_iter().map(|vm| (&vm.id, vm)).collect();
    let mut events = Vec::new();
    for new in after {
        match before.remove(&new.id) {
            None if fits(new) => events.push(Event::Appeared(Arc::clone(new))),
            Some(old) if differ(old, new) && (fits(old) || fits(new)) => {
                events.push(Event::Changed { old: Arc::clone(old), new: Arc::clone(new) });
            }
            Some(_) | None => {}
        }
    }
    let gone = before.into_values().filter(|vm| fits(vm));
    events.extend(gone.map(|vm| Event::Gone(Arc::clone(vm))));
    events.sort_by(|a, b| (&a.vm().name, &a.vm().id).cmp(&(&b.vm().name, &b.vm().id)));
    events
}

/// Rows that nothing happened to are usually shared between snapshots.
fn differ(old: &Arc<Vm>, new: &Arc<Vm>) -> bool {
    !Arc::ptr_eq(old, new) && old != new
}

impl Event {
    /// The VM, as it is now or was last.
    pub fn vm(&self) -> &Vm {
        match self {
            Self::Appeared(vm) | Self::Changed { new: vm, .. } | Self::Gone(vm) => vm,
        }
    }

    /// `appeared`, `changed` or `gone`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Appeared(_) => "appeared",
            Self::Changed { .. } => "changed",
            Self::Gone(_) => "gone",
        }
    }

    pub(super) fn changed_fields(&self) -> Vec<FieldChange> {
        let Self::Changed { old, new } = self else { return Vec::new() };
        let (old, new) = (Row::of(old), Row::of(new));
        let pairs = old.fields().zip(new.fields()).filter(|((_, before), (_, after))| before != after);
        pairs.map(|((name, before), (_, after))| (name, before.clone(), after.clone())).collect()
    }

    /// What happened, on one line: `changed  web-1  power off → on`.
    pub fn line(&self) -> String {
        let details = match self {
            Self::Appeared(vm) => {
                vm.power.iter().map(|power| format!("power {}", power_word(power))).collect()
            }
            Self::Changed { .. } => self.changed_fields().iter().map(field).collect(),
            Self::Gone(_) => Vec::new(),
        };
        // A VM that is being made has no name for a moment.
        let vm = self.vm();
        let name = if vm.name.is_empty() { vm.id.id() } else { &vm.name };
        let line = format!("{:<8} {}  {}", self.kind(), printable(name), details.join(", "));
        line.trim_end().to_owned()
    }
}

fn field((name, before, after): &FieldChange) -> String {
    format!("{} {} → {}", name.replace('_', " "), short(before), short(after))
}

fn short(value: &Value) -> String {
    console::truncate_str(&printable(&value_text(value, "; ")), LONGEST, "…").into_owned()
}

#[cfg(test)]
mod tests {
    use rookery_vim::objects::PowerState;

    use super::super::tests::{running, shared, vm};
    use super::*;

    fn lines(before: &[Arc<Vm>], after: &[Arc<Vm>], fits: impl Fn(&Vm) -> bool) -> String {
        changes(before, after, fits).iter().map(Event::line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn each_vm_that_differs_is_one_event() {
        let before = shared([vm("vm-1", "steady"), vm("vm-2", "a started one"), vm("vm-3", "leaver")]);
        let mut started = running("vm-2", "a started one", "10.0.0.7");
        started.config.annotation = Some(format!("{{\"a\":\"{}\"}}\x1b", "x".repeat(100)));
        // The same content in a new row: nothing to tell.
        let after = shared([vm("vm-1", "steady"), started, vm("vm-4", "joiner")]);
        insta::assert_snapshot!(lines(&before, &after, |_| true), @r#"
        changed  a started one  power off → on, ip - → 10.0.0.7, cpus - → 2, memory mb - → 4096, annotation - → {"a":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
        appeared joiner  power off
        gone     leaver
        "#);
    }

    #[test]
    fn a_rename_in_or_out_of_a_pattern_is_a_change_and_not_an_arrival() {
        let before = shared([vm("vm-1", "web-1")]);
        let after = shared([vm("vm-1", "db-1")]);
        let web = |vm: &Vm| vm.name.starts_with("web");
        assert_eq!(lines(&before, &after, web), "changed  db-1  name web-1 → db-1");
        assert_eq!(lines(&after, &before, web), "changed  web-1  name db-1 → web-1");
        assert_eq!(lines(&before, &after, |_| false), "");
    }

    #[test]
    fn a_vm_that_has_no_name_yet_is_called_by_its_id() {
        let mut new = vm("vm-7", "");
        new.power = Some(PowerState::Other("odd".to_owned()));
        assert_eq!(lines(&[], &shared([new]), |_| true), "appeared vm-7  power odd");
    }
}
