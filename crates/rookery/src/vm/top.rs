//! `rookery vm top`, and what `rookery up` shows of a vCenter that somebody named: its VMs, live.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rookery_vim::MoRef;
use rookery_vim::objects::PowerState;
use rookery_vim_client::{Completeness, Places, Snapshot, Vm};
use tokio::time::{Instant, timeout};

use super::ls;
use super::words::memory;
use super::{Glob, changes};
use crate::Ending;
use crate::live::model::{Fact, MachineTable, Section, States};
use crate::live::{Audience, Model, Page, on_page, took};
use crate::output::{LocalTime, Out, OutputError, printable};
use crate::session::{Reachability, Session, with_session};
use crate::vcenter::Vcenter;

/// How often the age of what is shown is told anew when nothing happens.
const TICK: Duration = Duration::from_secs(1);
/// How many VMs that wait for an answer are named.
const NAMED: usize = 3;
const HEADER: &[&str] = &["NAME", "POWER", "IP", "CPU", "MEMORY", "HOST", "POOL"];

/// The arguments of `vm top`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only VMs whose name fits; `*` is any text, `?` any one character
    pub(super) pattern: Option<Glob>,
}

/// What is to be shown, and for whom.
#[derive(Debug)]
pub(crate) struct Fleet<'a> {
    /// What vCenter's list of sessions shows.
    pub(crate) purpose: &'static str,
    pub(crate) pattern: Option<&'a Glob>,
    pub(crate) hints: &'static [&'static str],
    /// Whether to print the page once and end.
    pub(crate) once: bool,
}

pub(super) async fn run(vcenter: &Vcenter, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let fleet = Fleet { purpose: "vm top", pattern: args.pattern.as_ref(), hints: &[], once: false };
    show(vcenter, &fleet, out).await
}

/// Shows the fleet: once, or until a signal comes.
pub(crate) async fn show(vcenter: &Vcenter, fleet: &Fleet<'_>, out: &mut Out) -> anyhow::Result<Ending> {
    let audience = if fleet.once { Audience::Reader } else { Audience::of_stdout() };
    let shown = on_page(audience, out, async |page| {
        let (abandoned, mut seen) = (page.abandoned(), None::<Seen>);
        let ended = with_session(vcenter, fleet.purpose, async |session| {
            tokio::select! {
                biased;
                () = abandoned => Err(OutputError::ReaderGone.into()),
                ended = follow(session, fleet, page, &mut seen) => ended,
            }
        });
        let ended = ended.await?;
        if let Some(seen) = seen.filter(|_| audience == Audience::Person) {
            page.result(&seen.summary()).await?;
        }
        Ok(ended)
    });
    // The live view is ended by a signal; a page that was cut short is not done.
    Ok(shown.await?.unwrap_or(if fleet.once { Ending::Interrupted } else { Ending::Done }))
}

/// What was shown last, and what happened since the beginning.
#[derive(Debug)]
struct Seen {
    endpoint: String,
    states: States,
    since: Instant,
    changes: usize,
}

impl Seen {
    fn summary(&self) -> String {
        let Self { endpoint, states, since, changes } = self;
        let noun = if *changes == 1 { "change" } else { "changes" };
        let of = states.in_words();
        format!("watched {endpoint} for {}: {changes} {noun}; VMs {of}", took(since.elapsed()))
    }
}

async fn follow(
    session: &Session,
    fleet: &Fleet<'_>,
    page: &mut Page<'_>,
    shown: &mut Option<Seen>,
) -> anyhow::Result<Ending> {
    let fits = |vm: &Vm| fleet.pattern.is_none_or(|pattern| pattern.matches(&vm.name));
    let time = LocalTime::system();
    let endpoint = session.client().endpoint().to_string();
    // Without names, ids are shown.
    let places = match page.audience() {
        Audience::Person => Places::load(session.client()).await.unwrap_or_default(),
        Audience::Reader => Places::default(),
    };
    let mut reachability = Reachability::default();
    let mut snapshot = Arc::clone(&session.first);
    let mut view = View::of(&snapshot, fits, &places, time.now());
    let about = &session.client().content().about;
    let product = format!("{}, API {}", printable(&about.full_name), session.client().api_version());
    let since = Instant::now();
    let mut changed = 0;
    loop {
        let latest = session.inventory.snapshot();
        let state = inventory(latest.completeness(), latest.age());
        *shown =
            Some(Seen { endpoint: endpoint.clone(), states: view.states.clone(), since, changes: changed });
        page.show(view.model(fleet, &endpoint, &product, state)).await?;
        if fleet.once {
            return Ok(Ending::Done);
        }
        let Ok(latest) = timeout(TICK, session.inventory.newer_than(&snapshot)).await else { continue };
        let latest = latest?;
        if let Some(news) = reachability.note(latest.completeness(), Instant::now()) {
            page.happened(&printable(&news)).await?;
        }
        let events = changes(snapshot.vms(), latest.vms(), fits);
        for event in &events {
            page.happened(&event.line()).await?;
        }
        changed += events.len();
        if !events.is_empty() {
            view = View::of(&latest, fits, &places, time.now());
        }
        snapshot = latest;
    }
}

/// What a snapshot shows.
#[derive(Debug)]
struct View {
    states: States,
    templates: usize,
    questions: String,
    table: Arc<MachineTable>,
}

impl View {
    fn of(snapshot: &Snapshot, fits: impl Fn(&Vm) -> bool, places: &Places, now: Timestamp) -> Self {
        let vms: Vec<&Vm> = snapshot.vms().map(Arc::as_ref).filter(|vm| fits(vm)).collect();
        Self::of_vms(vms, places, now)
    }

    fn of_vms(mut vms: Vec<&Vm>, places: &Places, now: Timestamp) -> Self {
        vms.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
        let rows = vms.iter().map(|vm| row(vm, places, now)).collect();
        Self {
            states: states(&vms),
            templates: vms.iter().filter(|vm| vm.is_template()).count(),
            questions: questions(&vms),
            table: Arc::new(MachineTable { header: HEADER, rows }),
        }
    }

    fn model(&self, fleet: &Fleet<'_>, endpoint: &str, product: &str, inventory: String) -> Model {
        let those = fleet.pattern.map(|pattern| format!(", VMs {pattern:?}")).unwrap_or_default();
        let mut state = vec![
            Section::Fact(Fact::new("vCenter", product)),
            Section::Fact(Fact::new("inventory", inventory)),
            Section::States(self.states.clone()),
        ];
        let facts = [("templates", self.templates.to_string()), ("questions", self.questions.clone())];
        state.extend(facts.map(|(name, text)| Section::Fact(Fact::new(name, text))));
        Model {
            title: format!("the live fleet of {endpoint}{}", printable(&those)),
            state,
            machines: Some(Arc::clone(&self.table)),
            hints: fleet.hints.iter().map(|hint| (*hint).to_owned()).collect(),
            ending: format!("logging out of {endpoint}"),
            ..Model::default()
        }
    }
}

fn row(vm: &Vm, places: &Places, now: Timestamp) -> Vec<String> {
    let place = |id: &Option<MoRef>| {
        let name = id.as_ref().map(|id| places.get(id).map_or(id.id(), |place| &place.name));
        printable(name.unwrap_or("-"))
    };
    vec![
        // One that is being made has no name for a moment.
        printable(if vm.name.is_empty() { vm.id.id() } else { &vm.name }),
        ls::power(vm, now),
        vm.guest.ip.as_deref().map_or_else(|| "-".to_owned(), printable),
        vm.config.cpus.map_or_else(|| "-".to_owned(), |cpus| cpus.to_string()),
        vm.config.memory_mb.map_or_else(|| "-".to_owned(), memory),
        place(&vm.host),
        place(&vm.resource_pool),
    ]
}

fn inventory(completeness: &Completeness, age: Duration) -> String {
    match completeness {
        Completeness::Loading => "loading".to_owned(),
        Completeness::Complete => format!("complete, confirmed {} s ago", age.as_secs()),
        Completeness::Stale(why) => {
            format!("{} s old, vCenter cannot be heard: {}", age.as_secs(), printable(why))
        }
    }
}

fn states(vms: &[&Vm]) -> States {
    let machines: Vec<_> = vms.iter().filter(|vm| !vm.is_template()).collect();
    let count = |wanted: &PowerState| machines.iter().filter(|vm| vm.power.as_ref() == Some(wanted)).count();
    let known = [PowerState::On, PowerState::Off, PowerState::Suspended].map(|wanted| count(&wanted));
    let unknown = machines.len() - known.iter().sum::<usize>();
    let mut counts: Vec<_> = known.into_iter().zip(["on", "off", "suspended"]).collect();
    counts.extend((unknown > 0).then_some((unknown, "unknown")));
    States { name: "VMs", total: Some(machines.len()), counts }
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
    use super::super::tests::{running, vm};
    use super::*;
    use crate::live::plain_lines;

    fn page(completeness: &Completeness, vms: &[Vm]) -> Model {
        let fleet = Fleet { purpose: "up", pattern: None, hints: &["Works now    this"], once: false };
        let now = "2026-11-15T12:00:00Z".parse().unwrap();
        let view = View::of_vms(vms.iter().collect(), &Places::default(), now);
        let product = "VMware vCenter Server 8.0.3 build-1, API 7.0.0.0";
        let state = inventory(completeness, Duration::from_millis(3900));
        view.model(&fleet, "https://vc.example.com:443", product, state)
    }

    fn text(model: &Model) -> String {
        plain_lines(model).join("\n").replace(env!("CARGO_PKG_VERSION"), "VERSION")
    }

    #[test]
    fn the_page_of_a_small_fleet() {
        let mut template = vm("vm-1", "template");
        template.config.template = Some(true);
        let mut asking = running("vm-2", "web-1", "10.0.0.7");
        asking.question = Some("moved or copied?".to_owned());
        asking.host = Some(MoRef::new("HostSystem", "host-9"));
        let mut fresh = vm("vm-3", "being\x1b made");
        fresh.power = None;
        let page = page(&Completeness::Complete, &[template, asking, fresh, vm("vm-4", "web-2")]);
        insta::assert_snapshot!(text(&page), @r"
        Rookery VERSION: the live fleet of https://vc.example.com:443

        vCenter      VMware vCenter Server 8.0.3 build-1, API 7.0.0.0
        inventory    complete, confirmed 3 s ago
        VMs          3: 1 on, 1 off, 0 suspended, 1 unknown
        templates    1
        questions    1 wait for an answer: web-1

        Works now    this
        ");
        let rows = &page.machines.as_ref().expect("a table").rows;
        assert_eq!(rows[0][..2], [r"being\u{1b} made", "-"]);
        assert_eq!(rows[2], ["web-1", "on, asks", "10.0.0.7", "2", "4 GiB", "host-9", "-"]);
        assert_eq!(rows.iter().map(|row| row[1].as_str()).collect::<Vec<_>>()[1], "template");
    }

    #[test]
    fn the_page_of_a_vcenter_that_went_silent() {
        let page = page(&Completeness::Stale("refused".to_owned()), &[]);
        insta::assert_snapshot!(text(&page), @r"
        Rookery VERSION: the live fleet of https://vc.example.com:443

        vCenter      VMware vCenter Server 8.0.3 build-1, API 7.0.0.0
        inventory    3 s old, vCenter cannot be heard: refused
        VMs          0: 0 on, 0 off, 0 suspended
        templates    0
        questions    none

        Works now    this
        ");
    }
}
