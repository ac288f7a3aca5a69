//! Ends a hatchery that has one real server: removes what it made on a real vCenter, or names what stays; and lets jobs of a
//! real CDS finish.
//!
//! ```text
//!   no new jobs ─► work under way ends ─► the hatchery ends ─► list ─► remove ─► list again ─► what is left, if anything
//! ```

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use jiff::Timestamp;
use rookery_daemon::Clock;
use rookery_daemon::telemetry::chain;
use rookery_fleet::OwnerId;
use rookery_fleet::{MachineId, Power};
use rookery_fleet_vsphere::hands::Proof;
use rookery_fleet_vsphere::readiness::TimeOuts;
use rookery_fleet_vsphere::{Site, Vcenters};
use rookery_hatchery::machine::Hands;
use rookery_hatchery::machine::{Machine, View};
use rookery_hatchery::mark;
use rookery_hatchery::run::{Running, site_names};
use rookery_hatchery::settings::Settings;
use rookery_hatchery::standing::{Standing, standing};
use rookery_hatchery::surface::report::{Report, UnderWay};
use rookery_vim_client::{Snapshot, Trust};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::survey::view;
use super::watch::at_work;
use crate::Ending;
use crate::hatchery::vcenter_of;
use crate::live::Page;
use crate::output::{printable, remark};
use crate::session::{Session, with_session_until};
use crate::vcenter::Vcenter;

/// How long work under way gets to end. A second signal ends the program at once.
const PATIENCE: Duration = Duration::from_mins(5);
/// How often to report what is waited for.
const TELL: Duration = Duration::from_secs(15);
/// How long the inventory may still list a machine that was deleted.
const LISTED: Duration = Duration::from_mins(1);

/// What was made on a real vCenter.
#[derive(Debug)]
pub(super) struct Teardown {
    vcenters: Vcenters,
    vcenter: Vcenter,
    settings: Settings,
    /// The file that asks for warm machines, if any does.
    file: Option<PathBuf>,
}

/// The remaining machines of an owner, by what to do with them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Leftovers<'v> {
    /// Made for sample jobs.
    remove: Vec<&'v Machine>,
    /// Warm machines that the file asks for.
    keep: Vec<&'v Machine>,
    /// Held machines, until when and why.
    held: Vec<(&'v Machine, Timestamp, &'v str)>,
}

/// Ends the hatchery and removes what it made.
pub(super) async fn from_vcenter(
    hatchery: Running,
    teardown: &Teardown,
    page: &mut Page<'_>,
) -> anyhow::Result<Ending> {
    page.stopping("the VMs that this run made are removed");
    remark(
        "removing the VMs that this run made on the vCenter; another signal (Ctrl-C) ends this at once and leaves the rest \
         there, where `rookery vm ls` shows it",
    );
    let unfinished = drain(&hatchery, still_to_come).await;
    hatchery.stop().await;
    let cleared = teardown.clear().await;
    let (mut lines, all_gone) = cleared.with_context(|| teardown.not_all_removed())?;
    for work in &unfinished {
        let work = printable(work);
        lines.push(format!("wrong        {work} did not end in time; a VM that it makes may still appear"));
    }
    // Whoever read it may have gone, which is no reason to fail.
    page.result(&lines.join("\n")).await.ok();
    Ok(if all_gone && unfinished.is_empty() { Ending::Done } else { Ending::Failed })
}

/// Ends a hatchery whose workers end with it, once they have; they serve jobs of a real CDS.
pub(super) async fn from_cds(hatchery: Running) {
    let cut_off = drain(&hatchery, |report| {
        let jobs = at_work(report).into_iter().map(|(job, machine)| format!("job {job} on {machine}"));
        let starts = report.running.iter().any(UnderWay::is_start);
        jobs.chain(report.running.iter().filter(|_| starts).map(ToString::to_string)).collect()
    })
    .await;
    for job in cut_off {
        remark(&format!("{} is interrupted; CDS will notice", printable(&job)));
    }
    hatchery.stop().await;
}

/// What may still make something that no list shows yet, or leave something half made. Workers that are waited for have
/// their machines already, and those go.
fn still_to_come(report: &Report) -> Vec<String> {
    let runs = |name: &str| report.view.named(name).any(|machine| machine.power == Some(Power::On));
    let to_come = report.running.iter().filter(|one| !(one.is_start() && runs(&one.name)));
    to_come.map(ToString::to_string).collect()
}

/// Takes no new jobs and waits until nothing is under way; what still is when patience ends.
async fn drain(hatchery: &Running, under_way: impl Fn(&Report) -> Vec<String>) -> Vec<String> {
    hatchery.drain(true).await;
    let mut report = hatchery.published.report.clone();
    let deadline = Instant::now() + PATIENCE;
    let mut tell = Instant::now() + TELL;
    loop {
        let (draining, left) = {
            let report = report.borrow_and_update();
            (report.draining, under_way(&report))
        };
        if (draining && left.is_empty()) || Instant::now() >= deadline {
            return left;
        }
        tokio::select! {
            biased;
            changed = report.changed() => if changed.is_err() { return left },
            () = sleep_until(deadline.min(tell)) => {
                let left: Vec<_> = left.iter().map(|work| printable(work)).collect();
                remark(&format!("waiting for: {}; another signal (Ctrl-C) ends the wait", left.join(", ")));
                tell = Instant::now() + TELL;
            }
        }
    }
}

impl Teardown {
    /// What a hatchery with these settings may have made.
    pub(super) fn new(vcenters: Vcenters, settings: Settings, file: Option<PathBuf>) -> Self {
        Self { vcenters, vcenter: vcenter_of(&settings), settings, file }
    }

    /// Removes what is left and lists again, in a session that knows nothing of before; what to tell, and whether all is as
    /// it should be.
    async fn clear(&self) -> anyhow::Result<(Vec<String>, bool)> {
        let failures = self.with_session(async |session| self.remove(session).await).await?;
        let view = self.with_session(async |session| Ok(view(session))).await?;
        let left = self.left(&view);
        Ok((self.lines(&left, &failures), left.remove.is_empty()))
    }

    async fn with_session<T>(
        &self,
        work: impl AsyncFnOnce(&Session) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        // A first signal may be why we are here; a second one ends the program.
        let never = CancellationToken::new();
        let done = with_session_until(&never, &self.vcenters, &self.vcenter, "up", work).await?;
        done.context("it was interrupted")
    }

    /// Removes what nobody asked for; why some of it stays.
    async fn remove(&self, session: &Session) -> anyhow::Result<Vec<String>> {
        let view = view(session);
        let doomed = self.left(&view).remove;
        let site = Site::find(session.client(), &site_names(&self.settings)).await?;
        let ground = (site.datacenter, site.bounds);
        let (client, machines, inventory) =
            (session.client().clone(), session.machines().clone(), session.inventory.clone());
        let hands = &Hands::new(client, machines, inventory, ground, mark::recogniser(), TimeOuts::default());
        let delete = async |machine: &Machine| {
            let (owner, name) = (self.settings.identity.owner.clone(), machine.name.clone());
            let proof = Proof { owner, name, now: Clock::system().now(), power: None };
            hands.delete(&machine.id, &proof).await
        };
        let mut deleting: FuturesUnordered<_> = doomed.iter().map(|machine| delete(machine)).collect();
        let mut failures = Vec::new();
        while let Some(deleted) = deleting.next().await {
            failures.extend(deleted.err().map(|error| chain(&error)));
        }
        let ids: BTreeSet<&MachineId> = doomed.iter().map(|machine| &machine.id).collect();
        let gone = |snapshot: &Snapshot| !snapshot.vms().any(|vm| ids.contains(&MachineId::new(vm.id.id())));
        // What stays listed is found by the recount.
        timeout(LISTED, session.inventory.until(gone)).await.ok();
        Ok(failures)
    }

    fn left<'v>(&'v self, view: &'v View) -> Leftovers<'v> {
        let asked_for: BTreeSet<&str> =
            self.settings.warm.pools.iter().map(|pool| pool.model.name()).collect();
        left(view, &self.settings.identity.owner, &asked_for, Clock::system().now())
    }

    fn lines(&self, left: &Leftovers<'_>, failures: &[String]) -> Vec<String> {
        let owner = &self.settings.identity.name;
        let named = |machine: &Machine| {
            let power = match machine.power {
                Some(Power::On) => "on",
                Some(Power::Off) => "off",
                Some(Power::Suspended) => "suspended",
                None => "in an unknown state",
            };
            format!("{} ({power})", printable(&machine.name))
        };
        let mut lines: Vec<_> =
            failures.iter().map(|why| format!("trouble      {}", printable(why))).collect();
        let file = self.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
        let wrong = |machine: &&Machine| format!("wrong        machine {} is still there", named(machine));
        let warm = |machine: &&Machine| format!("left         {}, kept warm as {file} asks", named(machine));
        lines.extend(left.remove.iter().map(wrong));
        lines.extend(left.keep.iter().map(warm));
        lines.extend(left.held.iter().map(|(machine, until, reason)| {
            format!("left         {}, kept until {until:.0}: {}", named(machine), printable(reason))
        }));
        let held = left.held.iter().map(|(machine, ..)| machine);
        let stay: Vec<&Machine> = left.remove.iter().chain(&left.keep).chain(held).copied().collect();
        if stay.is_empty() {
            lines.push(format!(
                "vCenter      no machine of hatchery {owner:?} is left, counted by a new session"
            ));
        } else {
            lines.extend(self.how_to_remove(&stay));
        }
        lines
    }

    fn how_to_remove(&self, machines: &[&Machine]) -> Vec<String> {
        let (flags, id) = (self.flags(), |machine: &&Machine| machine.id.to_string());
        let awake = machines.iter().filter(|machine| machine.power != Some(Power::Off));
        let awake = awake.map(id).collect::<Vec<_>>().join(" ");
        let all = machines.iter().map(id).collect::<Vec<_>>().join(" ");
        let mut lines =
            vec!["to remove    with the password in GOVC_PASSWORD, or with --password-file FILE:".to_owned()];
        if !awake.is_empty() {
            lines.push(format!("               rookery vm power off {awake} {flags}"));
        }
        lines.push(format!("               rookery vm destroy {all} {flags}"));
        lines
    }

    fn not_all_removed(&self) -> String {
        let (owner, flags) = (&self.settings.identity.name, self.flags());
        format!("machines of hatchery {owner:?} may be left; `rookery vm ls {flags}` lists what is there")
    }

    /// How to reach the vCenter again, without the password.
    fn flags(&self) -> String {
        let trust = match &self.vcenter.trust {
            Trust::SystemRoots => String::new(),
            Trust::Insecure => " --insecure".to_owned(),
            Trust::CaFile(file) => format!(" --ca-file '{}'", file.display()),
            Trust::Thumbprint(thumbprint) => format!(" --thumbprint {thumbprint}"),
        };
        format!("--endpoint {} --user '{}'{trust}", self.vcenter.endpoint, self.vcenter.user)
    }
}

/// Splits what bears the owner's mark. Templates stay in any case: they were there before.
fn left<'v>(view: &'v View, owner: &'v OwnerId, asked_for: &BTreeSet<&str>, now: Timestamp) -> Leftovers<'v> {
    let mut left = Leftovers::default();
    for (machine, mark) in view.owned(owner) {
        if let Some(until) = mark.hold_until.filter(|until| *until > now) {
            left.held.push((machine, until, &mark.hold_reason));
            continue;
        }
        let model = [&mark.vmware_model_path, &mark.worker_model_path];
        let wanted = model.iter().any(|model| asked_for.contains(model.as_str()));
        match standing(machine, owner) {
            Standing::Pooled if wanted => left.keep.push(machine),
            Standing::Pooled
            | Standing::HalfClaimed
            | Standing::Worker
            | Standing::Registering
            | Standing::TemplateInMaking => left.remove.push(machine),
            Standing::Template | Standing::Foreign | Standing::Unknown => {}
        }
    }
    left
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use rookery_fleet::Role;
    use rookery_fleet::ownership::{LabelConfig, Labels};
    use rookery_hatchery::mark::Mark;

    use super::*;

    /// A machine that is off.
    pub(in crate::up::hatchery) fn machine(id: &str, name: &str, role: Role, mark: Option<Mark>) -> Machine {
        let (notes, extra) = (mark.map(|mark| mark.write()).unwrap_or_default(), BTreeMap::new());
        let config = Some(LabelConfig { notes: &notes, extra: &extra });
        let labels = Labels { name, config, instance: None, created: None };
        Machine {
            name: name.to_owned(),
            role,
            power: Some(Power::Off),
            recognised: (mark::MARKING.recognise)(&labels),
            awaits_setup: false,
            ..Machine::blank(&MachineId::new(id))
        }
    }

    #[test]
    fn all_that_is_ours_goes_but_warm_machines_that_a_file_asks_for_and_what_somebody_keeps() {
        let mark = |owner: &str, template: &str| Mark {
            hatchery_name: owner.to_owned(),
            vmware_model_path: template.to_owned(),
            ..Mark::default()
        };
        let warm = |template| Mark { provisioning: true, ..mark("up", template) };
        let model = Mark { model: true, worker_model_path: "g/builder".to_owned(), ..mark("up", "") };
        let hold_until = Some(Timestamp::MAX);
        let machines = [
            machine("1", "worker-1", Role::Vm, Some(mark("up", "debian"))),
            machine("2", "provision-v2-x", Role::Vm, Some(warm("debian"))),
            machine("3", "provision-v2-y", Role::Vm, Some(warm("rocky"))),
            machine("4", "provision-v2-z", Role::Vm, Some(mark("up", "debian"))),
            machine("5", "builder", Role::Template, Some(model.clone())),
            machine("6", "builder-tmp", Role::Vm, Some(model)),
            machine("7", "worker-2", Role::Vm, Some(mark("other", "debian"))),
            machine("8", "web-1", Role::Vm, None),
            machine("9", "web-2", Role::Unknown, None),
            machine("a", "worker-3", Role::Vm, Some(Mark { hold_until, ..mark("up", "debian") })),
        ];
        let view = View { machines: machines.into_iter().collect(), complete: true, ..View::default() };
        let owner = mark::owner("up");
        let check = |asked_for: &[&str], removed: &[&str], kept: &[&str]| {
            let left = left(&view, &owner, &asked_for.iter().copied().collect(), Timestamp::UNIX_EPOCH);
            let names = |machines: &[&Machine]| machines.iter().map(|m| m.id.to_string()).collect::<Vec<_>>();
            assert_eq!(
                (names(&left.remove), names(&left.keep)),
                (
                    removed.iter().map(|id| (*id).to_owned()).collect(),
                    kept.iter().map(|id| (*id).to_owned()).collect()
                )
            );
            assert_eq!(left.held.len(), 1, "whatever somebody wants to look at");
        };
        check(&[], &["1", "2", "3", "4", "6"], &[]);
        check(&["debian"], &["1", "3", "4", "6"], &["2"]);
    }
}
