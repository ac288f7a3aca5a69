//! `rookery vm snapshot`: taking snapshots, listing them, going back to them, removing them.

mod ls;
mod remove;
mod revert;
mod take;

use std::sync::Arc;

use anyhow::Context as _;
use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;
use rookery_vim::MoRef;
use rookery_vim_client::{Vm, VmSnapshot};

pub(super) use ls::{Row as SnapshotRow, rows as snapshot_rows};

use super::OnVcenter;
use super::changing::still_as_listed;
use crate::Ending;
use crate::cli::Connect;
use crate::exit::Exit;
use crate::output::{Out, confirm};
use crate::session::Session;

/// What to do with the snapshots of VMs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Take a snapshot of a VM's disks, as a base for linked clones
    Take(OnVcenter<take::Args>),
    /// List the snapshots of a VM as a tree
    Ls(OnVcenter<ls::Args>),
    /// Make a VM what it was when a snapshot was taken
    Revert(OnVcenter<revert::Args>),
    /// Remove a snapshot; the VM stays as it is
    Rm(OnVcenter<remove::Args>),
}

impl Command {
    pub(super) fn session(&self) -> (&'static str, &Connect) {
        match self {
            Self::Take(on) => ("vm snapshot take", &on.connect),
            Self::Ls(on) => ("vm snapshot ls", &on.connect),
            Self::Revert(on) => ("vm snapshot revert", &on.connect),
            Self::Rm(on) => ("vm snapshot rm", &on.connect),
        }
    }

    /// What is wrong with the arguments, told without a login.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        if let Self::Take(on) = self { Ok(on.args.check()?) } else { Ok(()) }
    }

    /// Whether it changes anything.
    pub(super) fn changes(&self) -> bool {
        match self {
            Self::Take(_) | Self::Revert(_) | Self::Rm(_) => true,
            Self::Ls(_) => false,
        }
    }
}

pub(super) async fn run(session: &Session, command: &Command, out: &mut Out) -> anyhow::Result<Ending> {
    match command {
        Command::Take(on) => take::run(session, &on.args, out).await,
        Command::Ls(on) => ls::run(session, &on.args, out).await,
        Command::Revert(on) => revert::run(session, &on.args, out).await,
        Command::Rm(on) => remove::run(session, &on.args, out).await,
    }
}

/// The one snapshot to which something is done that nobody can undo.
#[derive(Debug, clap::Args)]
struct One {
    /// Its name, or its id such as vm-63
    vm: String,
    /// The snapshot's name, or its id such as snapshot-9
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    snapshot: String,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

impl One {
    /// Its VM, all snapshots of that, and the one.
    async fn find<'s>(
        &self,
        session: &'s Session,
    ) -> anyhow::Result<(&'s Arc<Vm>, Vec<VmSnapshot>, VmSnapshot)> {
        let vm = super::pick(session.first.vms(), &self.vm)?;
        let snapshots = session.machines().snapshots(&vm.id).await?;
        let one = pick(&snapshots, &vm.name, &self.snapshot)?.clone();
        Ok((vm, snapshots, one))
    }

    /// Asks, unless it is said that nobody is to be asked; then looks whether the VM still is what was asked about.
    async fn confirm(
        &self,
        session: &Session,
        vm: &Vm,
        question: String,
        otherwise: &str,
    ) -> anyhow::Result<()> {
        if self.yes {
            return Ok(());
        }
        confirm(question, otherwise).await?;
        still_as_listed(session, vm).await.with_context(|| vm.name.clone())
    }
}

/// The snapshot of this name or id. `VirtualMachineSnapshot:snapshot-9` is always an id.
fn pick<'s>(snapshots: &'s [VmSnapshot], vm: &str, given: &str) -> anyhow::Result<&'s VmSnapshot> {
    let is_meant =
        |one: &&VmSnapshot| one.name == given || one.id.id() == given || one.id.to_string() == given;
    let meant: Vec<_> = snapshots.iter().filter(is_meant).collect();
    let listed = |all: &mut dyn Iterator<Item = String>| all.collect::<Vec<_>>().join(", ");
    let why = match meant.as_slice() {
        [one] => return Ok(one),
        [] if snapshots.is_empty() => format!("{vm:?} has no snapshots"),
        [] => {
            let names = listed(&mut snapshots.iter().map(|one| format!("{:?}", one.name)));
            format!("{vm:?} has no snapshot {given:?}; it has: {names}")
        }
        several => {
            // A name may be the id of another one: then only the whole reference is clear.
            let is_id = several.iter().any(|one| one.id.id() == given);
            let id = |one: &&VmSnapshot| if is_id { one.id.to_string() } else { one.id.id().to_owned() };
            let ids = listed(&mut several.iter().map(id));
            format!("{given:?} may mean several snapshots of {vm:?}, give the id of one: {ids}")
        }
    };
    Err(Exit::Unclear.because(format!("nothing was changed: {why}")))
}

/// The snapshots that stand on one, directly or not.
fn descendants<'s>(snapshots: &'s [VmSnapshot], id: &MoRef) -> Vec<&'s VmSnapshot> {
    let mut found: Vec<&VmSnapshot> = Vec::new();
    // Each comes behind the one that it stands on.
    for one in snapshots {
        let parent = one.parent.as_ref();
        if parent == Some(id) || found.iter().any(|above| parent == Some(&above.id)) {
            found.push(one);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A snapshot that is called by its id, unless it has a name.
    pub(super) fn snapshot(id: &str, name: &str, parent: Option<&str>) -> VmSnapshot {
        let reference = |id: &str| MoRef::new("VirtualMachineSnapshot", id);
        VmSnapshot {
            id: reference(id),
            name: name.to_owned(),
            description: String::new(),
            created: Some("2031-02-03T04:05:06.7Z".parse().unwrap()),
            power: None,
            parent: parent.map(reference),
            current: false,
        }
    }

    pub(super) fn forest() -> Vec<VmSnapshot> {
        vec![
            snapshot("s-1", "base", None),
            snapshot("s-2", "before", Some("s-1")),
            snapshot("s-3", "before", Some("s-2")),
            snapshot("s-4", "aside", Some("s-1")),
        ]
    }

    fn check(given: &str, expected: Result<&str, &str>) {
        let snapshots = forest();
        let found = pick(&snapshots, "web-1", given).map(|one| one.id.id());
        let found = found.map_err(|error| {
            assert_eq!(Exit::of(&error), Exit::Unclear);
            error.to_string()
        });
        let expected = expected.map_err(|why| format!("nothing was changed: {why}"));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_snapshot_is_meant_by_its_name_or_its_id() {
        check("base", Ok("s-1"));
        check("s-3", Ok("s-3"));
        check(
            "before",
            Err("\"before\" may mean several snapshots of \"web-1\", give the id of one: s-2, s-3"),
        );
        check(
            "x",
            Err("\"web-1\" has no snapshot \"x\"; it has: \"base\", \"before\", \"before\", \"aside\""),
        );
        check("VirtualMachineSnapshot:s-3", Ok("s-3"));
        let none = pick(&[], "web-1", "x").unwrap_err();
        assert_eq!(none.to_string(), "nothing was changed: \"web-1\" has no snapshots");
    }

    // The error said to give the id, which was what had been given; no other spelling of it was taken.
    #[test]
    fn a_snapshot_that_is_named_like_the_id_of_another_leaves_both_within_reach() {
        let snapshots = [snapshot("s-1", "base", None), snapshot("s-2", "s-1", Some("s-1"))];
        let found = |given| pick(&snapshots, "web-1", given).map(|one| one.id.id());
        let unclear = found("s-1").unwrap_err().to_string();
        let ids = ": VirtualMachineSnapshot:s-1, VirtualMachineSnapshot:s-2";
        assert!(unclear.ends_with(ids), "{unclear}");
        for (given, expected) in [
            ("VirtualMachineSnapshot:s-1", "s-1"),
            ("VirtualMachineSnapshot:s-2", "s-2"),
            ("base", "s-1"),
            ("s-2", "s-2"),
        ] {
            assert_eq!(found(given).unwrap(), expected);
        }
    }

    #[test]
    fn what_stands_on_a_snapshot_is_known_at_any_depth() {
        let snapshots = forest();
        let of = |id: &str| {
            let found = descendants(&snapshots, &MoRef::new("VirtualMachineSnapshot", id));
            found.into_iter().map(|one| one.id.id()).collect::<Vec<_>>()
        };
        assert_eq!(of("s-1"), ["s-2", "s-3", "s-4"]);
        assert_eq!(of("s-2"), ["s-3"]);
        assert_eq!(of("s-4"), [""; 0]);
    }
}
