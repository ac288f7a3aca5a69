//! What `up` shows. Pure.

use std::collections::VecDeque;
use std::time::Duration;

use rookery_vim::objects::PowerState;
use rookery_vim_client::{Completeness, Vm};

use crate::output::printable;

/// How many VMs that wait for an answer are named.
const NAMED: usize = 3;

/// What works and what does not yet, in as many words as it takes.
const ROAD: [&str; 2] = [
    "Works now    the CDS hatchery, this live view, `rookery vm`, `rookery doctor`, `rookery sim`",
    "Comes later  HyperShift agents, cluster pools, the tenant API",
];

/// What there is to show.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) endpoint: String,
    pub(super) product: String,
    pub(super) api: String,
    pub(super) completeness: Completeness,
    pub(super) age: Duration,
    pub(super) vms: Vec<&'a Vm>,
    /// The latest changes, oldest first.
    pub(super) recent: &'a VecDeque<String>,
}

/// The page, line by line.
pub(super) fn lines(view: &View<'_>) -> Vec<String> {
    let mut lines = vec![
        format!("Rookery {}: the live fleet of {}", env!("CARGO_PKG_VERSION"), view.endpoint),
        String::new(),
        format!("vCenter      {}, API {}", printable(&view.product), printable(&view.api)),
        format!("inventory    {}", state(&view.completeness, view.age)),
        format!("VMs          {}", counts(&view.vms)),
        format!("templates    {}", view.vms.iter().filter(|vm| vm.is_template()).count()),
        format!("questions    {}", questions(&view.vms)),
        String::new(),
    ];
    lines.extend(ROAD.map(str::to_owned));
    if !view.recent.is_empty() {
        lines.push(String::new());
        // The newest first: a small screen cuts the page off at its end.
        lines.extend(view.recent.iter().rev().cloned());
    }
    lines
}

fn state(completeness: &Completeness, age: Duration) -> String {
    match completeness {
        Completeness::Loading => "loading".to_owned(),
        Completeness::Complete => format!("complete, confirmed {} s ago", age.as_secs()),
        Completeness::Stale(why) => {
            format!("{} s old, vCenter cannot be heard: {}", age.as_secs(), printable(why))
        }
    }
}

fn counts(vms: &[&Vm]) -> String {
    let machines: Vec<_> = vms.iter().filter(|vm| !vm.is_template()).collect();
    let count = |wanted: &PowerState| machines.iter().filter(|vm| vm.power.as_ref() == Some(wanted)).count();
    let (on, off, suspended) =
        (count(&PowerState::On), count(&PowerState::Off), count(&PowerState::Suspended));
    let known = format!("{}: {on} on, {off} off, {suspended} suspended", machines.len());
    match machines.len() - on - off - suspended {
        0 => known,
        unknown => format!("{known}, {unknown} unknown"),
    }
}

fn questions(vms: &[&Vm]) -> String {
    let asking: Vec<_> = vms.iter().filter(|vm| vm.question.is_some()).collect();
    if asking.is_empty() {
        return "none".to_owned();
    }
    let named: Vec<_> = asking.iter().take(NAMED).map(|vm| printable(&vm.name)).collect();
    let more = if asking.len() > NAMED { ", …" } else { "" };
    format!("{} wait for an answer: {}{more}", asking.len(), named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::tests::{running, vm};

    fn page(completeness: Completeness, vms: &[Vm], recent: &[&str]) -> String {
        let recent = recent.iter().map(|line| (*line).to_owned()).collect();
        let view = View {
            endpoint: "https://vc.example.com:443".to_owned(),
            product: "VMware vCenter Server 8.0.3 build-1".to_owned(),
            api: "7.0.0.0".to_owned(),
            completeness,
            age: Duration::from_millis(3900),
            vms: vms.iter().collect(),
            recent: &recent,
        };
        lines(&view).join("\n").replace(env!("CARGO_PKG_VERSION"), "VERSION")
    }

    #[test]
    fn the_page_of_a_small_fleet() {
        let mut template = vm("vm-1", "template");
        template.config.template = Some(true);
        let mut asking = running("vm-2", "web-1", "10.0.0.7");
        asking.question = Some("moved or copied?".to_owned());
        let mut fresh = vm("vm-3", "being made");
        fresh.power = None;
        let vms = [template, asking, fresh, vm("vm-4", "web-2")];
        let recent = ["09:31:02 changed  web-2  power on → off", "09:31:05 gone     web-3"];
        insta::assert_snapshot!(page(Completeness::Complete, &vms, &recent), @r"
        Rookery VERSION: the live fleet of https://vc.example.com:443

        vCenter      VMware vCenter Server 8.0.3 build-1, API 7.0.0.0
        inventory    complete, confirmed 3 s ago
        VMs          3: 1 on, 1 off, 0 suspended, 1 unknown
        templates    1
        questions    1 wait for an answer: web-1

        Works now    the CDS hatchery, this live view, `rookery vm`, `rookery doctor`, `rookery sim`
        Comes later  HyperShift agents, cluster pools, the tenant API

        09:31:05 gone     web-3
        09:31:02 changed  web-2  power on → off
        ");
    }

    #[test]
    fn the_page_of_a_vcenter_that_went_silent() {
        insta::assert_snapshot!(page(Completeness::Stale("refused".to_owned()), &[], &[]), @r"
        Rookery VERSION: the live fleet of https://vc.example.com:443

        vCenter      VMware vCenter Server 8.0.3 build-1, API 7.0.0.0
        inventory    3 s old, vCenter cannot be heard: refused
        VMs          0: 0 on, 0 off, 0 suspended
        templates    0
        questions    none

        Works now    the CDS hatchery, this live view, `rookery vm`, `rookery doctor`, `rookery sim`
        Comes later  HyperShift agents, cluster pools, the tenant API
        ");
    }
}
