//! What commands that change VMs share: how a change is told, which VMs are meant, and asking first.

use std::sync::Arc;

use anyhow::bail;
use clap::builder::NonEmptyStringValueParser;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use rookery_vim::Node;
use rookery_vim::inventory_name::unescape;
use rookery_vim_client::{Snapshot, Vm, properties_of};

use super::Glob;
use super::pick::pick_all;
use super::words::power_of;
use crate::exit::Exit;
use crate::output::{Did, Format, Out, Report, Subject, confirm, plain_table, printable, remark};
use crate::session::Session;

/// How a change is told, and whether it is made.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Changing {
    /// Check everything and tell what would be done, but change nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// How to tell what was done
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_one())]
    pub(super) output: Format,
}

impl Changing {
    pub(super) fn report<'o>(&'o self, out: &'o mut Out) -> Report<'o> {
        Report::new(out, &self.output)
    }
}

/// All VMs of a pattern instead of some that are named.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Matching {
    /// Instead of names: all VMs whose name fits, where `*` is any text and `?` any one character. Lists them and asks
    #[arg(long, value_name = "PATTERN")]
    pub(super) all_matching: Option<Glob>,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(super) yes: bool,
}

/// Which VMs are changed.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Targets {
    /// Their names or ids; none is changed if one of them is unclear
    #[arg(required_unless_present = "all_matching", conflicts_with = "all_matching", value_name = "VM")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    vms: Vec<String>,
    #[command(flatten)]
    pub(super) matching: Matching,
}

impl Targets {
    /// The VMs that are named, or that fit the pattern and are known to be no templates.
    pub(super) fn choose(&self, snapshot: &Snapshot) -> anyhow::Result<Vec<Arc<Vm>>> {
        let no_template = |vm: &Vm| vm.config.template == Some(false);
        match &self.matching.all_matching {
            Some(pattern) => all_matching(snapshot.vms(), pattern, no_template),
            None => pick_all(&snapshot.vms().collect::<Vec<_>>(), &self.vms),
        }
    }
}

/// The VMs whose name fits, in the order of their names.
pub(super) fn all_matching<'v>(
    vms: impl Iterator<Item = &'v Arc<Vm>>,
    pattern: &Glob,
    may_be: impl Fn(&Vm) -> bool,
) -> anyhow::Result<Vec<Arc<Vm>>> {
    let mut chosen: Vec<_> =
        vms.filter(|vm| pattern.matches(&vm.name) && may_be(vm)).map(Arc::clone).collect();
    chosen.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    if chosen.is_empty() {
        return Err(Exit::Unclear.because(format!("nothing was changed: no VM fits {pattern:?}")));
    }
    Ok(chosen)
}

impl Matching {
    /// Lists what a pattern means, and asks. Whoever named each VM has said it already.
    pub(super) async fn ask(&self, question: &str, chosen: &[Arc<Vm>]) -> anyhow::Result<()> {
        if self.all_matching.is_none() || self.yes {
            return Ok(());
        }
        remark(&listed(chosen));
        let noun = if chosen.len() == 1 { "VM" } else { "VMs" };
        confirm(format!("{question} ({} {noun})?", chosen.len()), "nothing was changed").await
    }

    /// Fails if a VM is not any more what a pattern meant when it was listed.
    pub(super) async fn check(&self, session: &Session, listed: &Vm) -> anyhow::Result<()> {
        if self.all_matching.is_none() { Ok(()) } else { still_as_listed(session, listed).await }
    }
}

/// Fails if a VM is not any more what it was when somebody was asked about it, who may have taken their time.
pub(super) async fn still_as_listed(session: &Session, listed: &Vm) -> anyhow::Result<()> {
    // Not the live inventory, which may be a moment behind.
    let now = match properties_of(session.client(), &listed.id, &["name", "config.template"]).await {
        Err(error) if error.is_not_found() => None,
        read => Some(read?),
    };
    let text = |path| now.as_ref()?.get(path).map(|node: &Node| node.text.as_str());
    let name = text("name").map(unescape);
    as_listed(listed, name.as_deref(), text("config.template").map(|text| text == "true"))
}

fn listed(chosen: &[Arc<Vm>]) -> String {
    let row = |vm: &Arc<Vm>| [printable(&vm.name), printable(power_of(vm)), vm.id.id().to_owned()];
    plain_table(["NAME", "POWER", "ID"], chosen.iter().map(row))
}

/// Whether a VM is still what was listed, now that it has this name and is, or is not, a template.
fn as_listed(listed: &Vm, name: Option<&str>, template: Option<bool>) -> anyhow::Result<()> {
    match name {
        None => bail!("nothing was done to it: it is gone"),
        Some(name) if name != listed.name => bail!("nothing was done to it: it is called {name:?} now"),
        Some(_) if template != listed.config.template => {
            bail!("nothing was done to it: it was made a template, or is none any more")
        }
        Some(_) => Ok(()),
    }
}

pub(super) fn subject(vm: &Vm, action: &'static str) -> Subject {
    Subject { name: vm.name.clone(), id: Some(vm.id.id().to_owned()), action }
}

/// Does something to all of them at once, and tells how each went. What has begun goes on although it cannot be told.
pub(super) async fn to_each(
    vms: Vec<Arc<Vm>>,
    action: &'static str,
    work: impl AsyncFn(&Vm) -> anyhow::Result<Did>,
    mut report: Report<'_>,
) -> anyhow::Result<crate::Ending> {
    let work = async |vm: Arc<Vm>| (work(&vm).await, vm);
    let mut running: FuturesUnordered<_> = vms.into_iter().map(work).collect();
    let mut told = Ok(());
    while let Some((outcome, vm)) = running.next().await {
        told = told.and(report.tell(subject(&vm, action), outcome).await);
    }
    told?;
    Ok(report.ending())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::ErrorKind;

    use tokio::task::yield_now;

    use super::super::tests::{running, shared, vm};
    use super::*;
    use crate::Ending;
    use crate::output::tests::refusing;

    fn template(id: &str, name: &str) -> Vm {
        let mut template = vm(id, name);
        template.config.template = Some(true);
        template
    }

    #[test]
    fn a_pattern_means_the_vms_of_now_and_no_template() {
        let mut unknown = vm("vm-5", "web-5");
        unknown.config.template = None;
        let vms = shared([
            running("vm-2", "web-2", "192.0.2.2"),
            vm("vm-1", "web-1"),
            template("vm-3", "web-3"),
            vm("vm-4", "db-1"),
            unknown,
        ]);
        let no_template = |vm: &Vm| vm.config.template == Some(false);
        let chosen = |pattern: &str| {
            let chosen = all_matching(vms.iter(), &pattern.parse().unwrap(), no_template);
            chosen.map(|chosen| listed(&chosen)).map_err(|error| (error.to_string(), Exit::of(&error)))
        };
        insta::assert_snapshot!(chosen("web-*").unwrap(), @r"
        NAME   POWER  ID
        web-1  off    vm-1
        web-2  on     vm-2
        ");
        let none = "nothing was changed: no VM fits \"web\"".to_owned();
        assert_eq!(chosen("web"), Err((none, Exit::Unclear)));
    }

    #[test]
    fn what_was_confirmed_must_still_be_so() {
        let listed = vm("vm-1", "web-1");
        let check = |name, template, expected: Result<(), &str>| {
            let found = as_listed(&listed, name, template).map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(|why| format!("nothing was done to it: {why}")));
        };
        check(Some("web-1"), Some(false), Ok(()));
        check(None, None, Err("it is gone"));
        check(Some("db-1"), Some(false), Err("it is called \"db-1\" now"));
        for other in [Some(true), None] {
            check(Some("web-1"), other, Err("it was made a template, or is none any more"));
        }
    }

    // `vm power off a b c | true` ended with 0 once `a` was off: nobody heard of `b` and `c`, which stayed on.
    #[tokio::test]
    async fn what_has_begun_goes_on_although_nobody_can_be_told() {
        for (kind, expected) in
            [(ErrorKind::BrokenPipe, Ok(Ending::Exited(8))), (ErrorKind::StorageFull, Err(()))]
        {
            let (mut out, done) = (refusing(kind), Cell::new(0));
            let work = async |vm: &Vm| {
                if vm.name != "a" {
                    yield_now().await;
                }
                done.set(done.get() + 1);
                if vm.name == "b" {
                    bail!("refused")
                }
                Ok(Did::done("off"))
            };
            let vms = shared([vm("vm-1", "a"), vm("vm-2", "b"), vm("vm-3", "c")]);
            let ended = to_each(vms, "power_off", work, Report::new(&mut out, &Format::Json)).await;
            assert_eq!((ended.map_err(drop), done.get()), (expected, 3), "{kind}");
        }
    }
}
