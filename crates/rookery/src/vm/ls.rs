//! `rookery vm ls`.

use std::sync::Arc;

use jiff::Timestamp;
use rookery_vim_client::Vm;
use serde::ser::{Serialize, Serializer};

use super::marks;
use super::words::{memory, power_of};
use super::{Glob, Row};
use crate::Ending;
use crate::output::{Column, Columns, Format, LocalTime, Out, printable, remark};
use crate::session::Session;

/// The arguments of `vm ls`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only VMs whose name fits; `*` is any text, `?` any one character
    pub(super) pattern: Option<Glob>,
    /// Only templates
    #[arg(long)]
    pub(super) templates: bool,
    /// How to show them; table=name,ip shows these columns
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_list(&VMS))]
    pub(super) output: Format,
}

pub(super) async fn run(session: &Session, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let chosen = choose(session.first.vms(), args);
    let now = LocalTime::system().now();
    let rows: Vec<_> = chosen.iter().map(|vm| Listed::of(vm, now)).collect();
    out.lines(&args.output.list(&VMS, &rows)?).await?;
    if chosen.is_empty() {
        remark(&format!("no VM fits; there are {}", session.first.vms().len()));
    }
    Ok(Ending::Done)
}

fn choose<'a>(vms: impl Iterator<Item = &'a Arc<Vm>>, args: &Args) -> Vec<&'a Vm> {
    let fits = |vm: &&Vm| args.pattern.as_ref().is_none_or(|pattern| pattern.matches(&vm.name));
    let mut chosen: Vec<_> =
        vms.map(Arc::as_ref).filter(fits).filter(|vm| !args.templates || vm.is_template()).collect();
    chosen.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    chosen
}

/// One VM of the list. To programs it is the VM itself.
#[derive(Debug)]
struct Listed {
    row: Row,
    power: String,
    memory_mb: Option<i32>,
}

impl Listed {
    fn of(vm: &Vm, now: Timestamp) -> Self {
        Self { row: Row::of(vm), power: power(vm, now), memory_mb: vm.config.memory_mb }
    }
}

impl Serialize for Listed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.row.serialize(serializer)
    }
}

/// The columns, by the keys of a VM.
const VMS: Columns<Listed> = Columns {
    name: "name",
    all: &[
        Column::usual("name"),
        Column::usual("power").shown(|vm: &Listed| vm.power.clone()).state(),
        Column::usual("ip"),
        Column::usual("cpus").titled("CPU"),
        Column::usual("memory_mb")
            .titled("MEMORY")
            .shown(|vm: &Listed| vm.memory_mb.map_or_else(|| "-".to_owned(), memory)),
        Column::usual("id"),
        Column::more("template"),
        Column::more("host"),
        Column::more("folder"),
        Column::more("resource_pool"),
        Column::more("connection"),
        Column::more("question"),
        Column::more("boot_time"),
        Column::more("created"),
        Column::more("uuid"),
        Column::more("instance_uuid"),
        Column::more("pending_customization"),
        Column::more("tools"),
        Column::more("guest_operations_ready"),
        Column::more("guest_host_name"),
        Column::more("guest_state"),
        Column::more("nics"),
        Column::more("annotation"),
        Column::more("unreadable"),
    ],
};

/// Its power, and what keeps it so.
pub(super) fn power(vm: &Vm, now: Timestamp) -> String {
    let asks = if vm.question.is_some() { ", asks" } else { "" };
    let held = if is_held(vm, now) { ", held" } else { "" };
    format!("{}{asks}{held}", printable(power_of(vm)))
}

/// Whether a hatchery keeps it for somebody to look at.
fn is_held(vm: &Vm, now: Timestamp) -> bool {
    marks::held_until(vm.config.annotation.as_deref()).is_some_and(|until| until > now)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{running, shared, vm};
    use super::*;

    /// One that a hatchery keeps, until a second later.
    fn held(id: &str, name: &str) -> Vm {
        let mut held = vm(id, name);
        held.config.annotation = Some(r#"{"rookery_hold_until":"2026-11-15T12:00:01Z"}"#.to_owned());
        held
    }

    #[test]
    fn a_vm_is_held_until_its_time_is_over() {
        let power = |now: &str| power(&held("vm-1", "a"), now.parse().unwrap());
        assert_eq!(power("2026-11-15T12:00:00Z"), "off, held");
        assert_eq!(power("2026-11-15T12:00:01Z"), "off");
    }

    fn shown(pattern: Option<&str>, templates: bool) -> String {
        let mut template = vm("vm-9", "a template");
        template.config.template = Some(true);
        let mut asking = running("vm-3", "größe/日本 100%", "fe80::1");
        asking.question = Some("moved or copied?".to_owned());
        let mut fresh = vm("vm-4", "\x1b[31mbeing made");
        (fresh.power, fresh.config.template) = (None, None);
        let vms =
            shared([running("vm-10", "web 1", "10.0.0.7"), template, asking, fresh, held("vm-2", "web 1")]);
        let pattern = pattern.map(|text| text.parse().unwrap());
        let args = Args { pattern, templates, output: Format::default() };
        let now = "2026-11-15T12:00:00Z".parse().unwrap();
        let rows: Vec<_> = choose(vms.iter(), &args).into_iter().map(|vm| Listed::of(vm, now)).collect();
        args.output.list(&VMS, &rows).unwrap()
    }

    #[test]
    fn vms_are_listed_by_name() {
        insta::assert_snapshot!(shown(None, false), @r"
        NAME                  POWER      IP        CPU  MEMORY  ID
        \u{1b}[31mbeing made  -          -         -    -       vm-4
        a template            template   -         -    -       vm-9
        größe/日本 100%       on, asks   fe80::1   2    4 GiB   vm-3
        web 1                 on         10.0.0.7  2    4 GiB   vm-10
        web 1                 off, held  -         -    -       vm-2
        ");
    }

    #[test]
    fn a_pattern_or_a_kind_narrows_the_list() {
        insta::assert_snapshot!(shown(Some("web*"), false), @r"
        NAME   POWER      IP        CPU  MEMORY  ID
        web 1  on         10.0.0.7  2    4 GiB   vm-10
        web 1  off, held  -         -    -       vm-2
        ");
        insta::assert_snapshot!(shown(None, true), @r"
        NAME        POWER     IP  CPU  MEMORY  ID
        a template  template  -   -    -       vm-9
        ");
        insta::assert_snapshot!(shown(Some("nothing"), false), @"NAME  POWER  IP  CPU  MEMORY  ID");
    }

    #[test]
    fn each_key_of_a_vm_can_be_a_column() {
        let row = Row::of(&vm("vm-1", "a"));
        let mut keys: Vec<_> = row.fields().map(|(key, _)| key).collect();
        let mut columns: Vec<_> = VMS.keys().collect();
        keys.sort_unstable();
        columns.sort_unstable();
        assert_eq!(columns, keys);
    }
}
