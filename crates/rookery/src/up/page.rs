//! What `up` shows of a hatchery at work. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use rookery_hatchery::report::{Report, of_limit};

use super::endpoint_kind::EndpointKind;
use super::guests::Guests;
use super::stack::LOGIN;
use super::tally::{Tally, seconds};
use super::watch::at_work;
use crate::output::printable;

/// How many events should be seen on a small screen, too.
const EVENTS: usize = 4;
/// How many reasons to wait are shown.
const REASONS: usize = 3;

/// What there is to show.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) endpoints: Endpoints<'a>,
    /// How many jobs will be fed, if there is an end.
    pub(super) jobs: Option<u64>,
    /// Whether there is trouble on purpose.
    pub(super) faults: bool,
    /// How programs run in guests, if they are simulated.
    pub(super) guests: Option<Guests>,
    /// What became of the jobs that are fed; a real CDS keeps its own.
    pub(super) tally: Option<&'a Tally>,
    pub(super) report: &'a Report,
    /// The latest events, oldest first.
    pub(super) recent: &'a VecDeque<String>,
    pub(super) hints: &'a [String],
}

/// Where vCenter, CDS and the pages of the hatchery are. No address holds a password.
#[derive(Debug, Clone, Copy)]
pub(super) struct Endpoints<'a> {
    pub(super) vcenter: EndpointKind<&'a str, &'a str>,
    pub(super) cds: EndpointKind<&'a str, &'a str>,
    pub(super) pages: &'a str,
}

/// The page, line by line.
#[derive(Debug)]
pub(super) struct Page {
    /// What this is, and how it stands.
    state: Vec<String>,
    /// What can be done.
    hints: Vec<String>,
    /// The latest events, newest first.
    recent: Vec<String>,
}

impl Page {
    pub(super) fn of(view: &View<'_>) -> Self {
        let mut lines = title(view);
        lines.extend(state(view));
        let recent = view.recent.iter().rev().cloned().collect();
        Self { state: lines, hints: view.hints.to_vec(), recent }
    }

    /// All of it.
    pub(super) fn whole(self) -> Vec<String> {
        let parts = [self.state, self.hints, self.recent];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(&String::new())
    }

    /// What so many rows have room for, as far as that is up to the page: hints do not change, and leave room for events.
    pub(super) fn within(mut self, rows: usize) -> Vec<String> {
        let events = self.recent.len().min(EVENTS);
        let gap = |lines: usize| if lines == 0 { 0 } else { lines + 1 };
        let room = rows.saturating_sub(self.state.len() + 1 + gap(events));
        self.hints.truncate(room);
        // The first one alone only announces the others.
        if self.hints.len() == 1 {
            self.hints.clear();
        }
        self.whole()
    }
}

fn title(view: &View<'_>) -> Vec<String> {
    let named = |what: &str, side: EndpointKind<&str, &str>| match side {
        EndpointKind::Simulated(_) => format!("a simulated {what}"),
        EndpointKind::Real(url) => format!("the {what} at {}", printable(url)),
    };
    let (vcenter, cds) = (named("vCenter", view.endpoints.vcenter), named("CDS", view.endpoints.cds));
    let version = env!("CARGO_PKG_VERSION");
    vec![format!("Rookery {version}: a hatchery at work between {vcenter} and {cds}"), String::new()]
}

fn state(view: &View<'_>) -> Vec<String> {
    let (machines, addresses) = (view.report.counts, view.report.addresses);
    let guests = match view.guests {
        Some(Guests::Real) if view.endpoints.cds.is_real() => {
            "run jobs of that CDS on this machine: they share its network and read what anybody may read"
        }
        Some(Guests::Real) => "run real programs of this machine, which cannot change it",
        Some(Guests::Scripted) => "are scripted: workers are played, nothing runs for real",
        None => "are the vCenter's own",
    };
    let mut lines = match view.tally {
        Some(tally) => fed(tally, view.jobs),
        None => {
            vec![format!("queue        {} wait, {} are served", machines.queued, at_work(view.report).len())]
        }
    };
    lines.push(format!(
        "machines     {} warm, {} warming, {} starting, {} running, {} finished, {} kept",
        machines.warm,
        machines.warming,
        machines.starting,
        machines.running,
        machines.finished,
        machines.held
    ));
    lines.push(format!("capacity     {}", capacity(view.report)));
    lines.push(if addresses.total == 0 {
        "addresses    from DHCP".to_owned()
    } else {
        format!("addresses    {} of {} used", addresses.used + addresses.reserved, addresses.total)
    });
    lines.push(format!("guests       {guests}"));
    if view.faults {
        let both = !view.endpoints.vcenter.is_real() && !view.endpoints.cds.is_real();
        let sides = if both { "on both sides" } else { "on the simulated side" };
        lines.push(format!("trouble      on purpose, {sides}"));
    }
    lines.extend(held(view.report));
    lines.extend(waiting(view.report).iter().map(|why| format!("waiting      {why}")));
    lines
}

/// What became of the jobs that were fed.
fn fed(tally: &Tally, wanted: Option<u64>) -> Vec<String> {
    let jobs = tally.counts();
    let of = wanted.map(|jobs| format!(" of {jobs}")).unwrap_or_default();
    let starts = tally.starts().map_or_else(
        || "no job has started yet".to_owned(),
        |(p50, p99)| format!("p50 {}, p99 {}, from the queue to the worker", seconds(p50), seconds(p99)),
    );
    vec![
        format!("jobs         {}{of} fed, {} succeeded, {} failed", jobs.all(), jobs.success, jobs.failed),
        format!("queue        {} wait, {} are taken, {} run", jobs.waiting, jobs.scheduling, jobs.building),
        format!("start time   {starts}"),
    ]
}

/// What is still to come, in one line for whoever reads a pipe.
pub(super) fn open(tally: &Tally, report: &Report) -> Option<String> {
    let jobs = tally.counts();
    let open = jobs.all() - jobs.ended();
    let counts = format!("{} wait, {} are taken, {} run", jobs.waiting, jobs.scheduling, jobs.building);
    let why = waiting(report).first().map(|why| format!("; {why}")).unwrap_or_default();
    let jobs = if open == 1 { "job is" } else { "jobs are" };
    (open > 0).then(|| format!("{open} {jobs} open: {counts}{why}"))
}

/// What is in use of what may be, as the hatchery's status says it.
fn capacity(report: &Report) -> String {
    let ledger = &report.ledger;
    format!(
        "{} workers, {} CPUs, {} MB",
        of_limit(ledger.workers.into(), report.max_workers.map(u64::from)),
        of_limit(ledger.cpus, report.max_cpus),
        of_limit(ledger.memory_mb, report.max_memory_mb)
    )
}

/// What somebody keeps to look at it, and what else is to be kept.
fn held(report: &Report) -> Vec<String> {
    let kept = report.held.iter().map(|held| {
        let until = held.until.strftime("%H:%M:%S UTC");
        format!("kept         {} ({}) until {until}: {}", held.machine, held.power, printable(&held.reason))
    });
    let wishes = report.wishes.iter().map(|wish| {
        let text = format!("{} of {} failed workers of {}: {}", wish.taken, wish.count, wish.of, wish.reason);
        format!("to be kept   {}", printable(&text))
    });
    kept.chain(wishes).take(REASONS).collect()
}

/// The reasons that keep jobs and models waiting, the most common first.
fn waiting(report: &Report) -> Vec<String> {
    let mut jobs = BTreeMap::<&str, usize>::new();
    for line in report.waiting.values() {
        *jobs.entry(&line.why).or_default() += 1;
    }
    let mut reasons: Vec<_> = jobs.into_iter().collect();
    reasons.sort_by_key(|(why, count)| (std::cmp::Reverse(*count), *why));
    let jobs = reasons.into_iter().map(|(why, count)| {
        let who = if count == 1 { "1 job".to_owned() } else { format!("{count} jobs") };
        format!("{who}: {}", printable(why))
    });
    let models = report.warm_waiting.iter().map(|(model, why)| format!("{model}: {}", printable(why)));
    jobs.chain(models).take(REASONS).collect()
}

/// Where everything is, and how to name servers of one's own; `asked` is the hatchery's name if it can be asked, and
/// `default_file` the settings file that is read when none is asked for.
pub(super) fn hints(
    endpoints: Endpoints<'_>,
    asked: Option<&str>,
    default_file: Option<&Path>,
) -> Vec<String> {
    let Endpoints { vcenter, cds, pages } = endpoints;
    let mut lines = match (vcenter, cds) {
        (EndpointKind::Simulated(_), EndpointKind::Simulated(_)) => {
            vec!["try it       in another terminal; both simulators go when this ends:".to_owned()]
        }
        (EndpointKind::Simulated(_), EndpointKind::Real(_)) => vec![
            "try it       in another terminal; the vCenter and all workers in it go when this ends:"
                .to_owned(),
        ],
        (EndpointKind::Real(_), EndpointKind::Simulated(cds)) => vec![
            format!(
                "workers      in guests must reach the simulated CDS at {cds}; --listen ADDRESS:PORT moves it"
            ),
            "try it       in another terminal; what was made on the vCenter goes when this ends:".to_owned(),
        ],
        (EndpointKind::Real(_), EndpointKind::Real(_)) => {
            vec!["try it       in another terminal; workers go on when this ends:".to_owned()]
        }
    };
    match vcenter {
        EndpointKind::Simulated(url) => {
            let (user, password) = LOGIN;
            let url = url.replacen("://", &format!("://{user}:{password}@"), 1);
            lines.push(format!("               export GOVC_URL={url}/sdk"));
            lines.push(
                "               rookery vm ls; rookery vm watch; rookery vm power off web-1; rookery doctor"
                    .to_owned(),
            );
        }
        EndpointKind::Real(url) => {
            lines.push(format!(
                "               rookery vm watch --endpoint {url} --user NAME --password-file FILE"
            ));
        }
    }
    let version = match cds {
        EndpointKind::Simulated(url) | EndpointKind::Real(url) => format!("curl {url}/mon/version"),
    };
    lines.push(format!("               curl {pages}/mon/status; curl {pages}/mon/workers; {version}"));
    if let Some(name) = asked {
        let template = match (vcenter, cds) {
            (EndpointKind::Simulated(_), EndpointKind::Simulated(_)) => "debian-12",
            (EndpointKind::Real(_), _) | (_, EndpointKind::Real(_)) => "TEMPLATE",
        };
        lines.extend([
            format!("               rookery hatchery status --name {name}; rookery explain JOB --name {name}"),
            format!(
                "               rookery vm hold --model {template} --for 10m --reason curious --name {name}; rookery vm holds --name {name}"
            ),
        ]);
    }
    if let (EndpointKind::Simulated(_), EndpointKind::Simulated(_)) = (vcenter, cds) {
        let file = default_file
            .map_or_else(|| "a file given with --config".to_owned(), |path| path.display().to_string());
        lines.extend([
            "your own     rookery up --vcenter https://vc.example.com --user me@vsphere.local --password-file FILE".to_owned(),
            "             lets the hatchery work there, rookery up --cds https://cds.example.com -c FILE --guests real for a CDS;".to_owned(),
            "             rookery up --endpoint vc.example.com --user me@vsphere.local --password-file FILE".to_owned(),
            format!("             shows a real fleet, as does [vcenter] in {file}; README.md has them all"),
        ]);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use rookery_fleet::address::Usage;
    use rookery_fleet::capacity::Ledger;
    use rookery_fleet::hold::Subject;
    use rookery_hatchery::report::{Counts, Held, Wished};

    #[test]
    fn the_page_of_a_hatchery_at_work() {
        let report = Report {
            counts: Counts { queued: 1, warm: 4, warming: 1, starting: 2, running: 3, finished: 1, held: 1 },
            ledger: Ledger { workers: 5, cpus: 12, memory_mb: 24_576, ..Ledger::default() },
            max_workers: Some(16),
            max_cpus: Some(64),
            held: vec![Held {
                machine: "brave-curie".to_owned(),
                power: "off".to_owned(),
                model: "debian-12".to_owned(),
                job: "7".to_owned(),
                until: "2026-11-15T16:00:00Z".parse().unwrap(),
                reason: "curious".to_owned(),
                wish: "7f".to_owned(),
            }],
            wishes: vec![Wished {
                id: "7f".to_owned(),
                of: Subject::Model("debian-12".to_owned()),
                count: 2,
                taken: 1,
                keep: 600,
                until: "2026-11-15T16:00:00Z".parse().unwrap(),
                reason: "curious".to_owned(),
            }],
            addresses: Usage { total: 61, used: 9, reserved: 2, free: 50 },
            warm_waiting: vec![("shared.infra/builder".to_owned(), "1 warm machine is missing".to_owned())],
            ..Report::default()
        };
        let file = Path::new("/home/me/.config/rookery/rookery.toml");
        let endpoints = Endpoints {
            vcenter: EndpointKind::Simulated("http://127.0.0.1:1"),
            cds: EndpointKind::Simulated("http://127.0.0.1:2"),
            pages: "http://127.0.0.1:3",
        };
        let hints = hints(endpoints, Some("nest"), Some(file));
        let view = View {
            endpoints,
            jobs: Some(50),
            faults: true,
            guests: Some(Guests::Real),
            tally: Some(&Tally::default()),
            report: &report,
            recent: &["09:31:02 first".to_owned(), "09:31:03 second".to_owned()].into(),
            hints: &hints,
        };
        assert_eq!(open(&Tally::default(), &report), None, "no job was fed yet");
        let text = Page::of(&view).whole().join("\n").replace(env!("CARGO_PKG_VERSION"), "VERSION");
        insta::assert_snapshot!(text, @r"
        Rookery VERSION: a hatchery at work between a simulated vCenter and a simulated CDS

        jobs         0 of 50 fed, 0 succeeded, 0 failed
        queue        0 wait, 0 are taken, 0 run
        start time   no job has started yet
        machines     4 warm, 1 warming, 2 starting, 3 running, 1 finished, 1 kept
        capacity     5/16 workers, 12/64 CPUs, 24576/unlimited MB
        addresses    11 of 61 used
        guests       run real programs of this machine, which cannot change it
        trouble      on purpose, on both sides
        kept         brave-curie (off) until 16:00:00 UTC: curious
        to be kept   1 of 2 failed workers of model debian-12: curious
        waiting      shared.infra/builder: 1 warm machine is missing

        try it       in another terminal; both simulators go when this ends:
                       export GOVC_URL=http://me:simulated@127.0.0.1:1/sdk
                       rookery vm ls; rookery vm watch; rookery vm power off web-1; rookery doctor
                       curl http://127.0.0.1:3/mon/status; curl http://127.0.0.1:3/mon/workers; curl http://127.0.0.1:2/mon/version
                       rookery hatchery status --name nest; rookery explain JOB --name nest
                       rookery vm hold --model debian-12 --for 10m --reason curious --name nest; rookery vm holds --name nest
        your own     rookery up --vcenter https://vc.example.com --user me@vsphere.local --password-file FILE
                     lets the hatchery work there, rookery up --cds https://cds.example.com -c FILE --guests real for a CDS;
                     rookery up --endpoint vc.example.com --user me@vsphere.local --password-file FILE
                     shows a real fleet, as does [vcenter] in /home/me/.config/rookery/rookery.toml; README.md has them all

        09:31:03 second
        09:31:02 first
        ");
    }

    #[test]
    fn a_small_screen_shows_events_before_hints() {
        let lines = |word: &str, count: usize| (1..=count).map(|n| format!("{word}{n}")).collect();
        let check = |(hints, events), rows, expected: &str| {
            let page = Page { state: lines("s", 3), hints: lines("h", hints), recent: lines("e", events) };
            let shown = page.within(rows);
            assert_eq!(shown.iter().take(rows).cloned().collect::<Vec<_>>().join(" "), expected, "{rows}");
        };
        check((4, 5), 20, "s1 s2 s3  h1 h2 h3 h4  e1 e2 e3 e4 e5");
        check((4, 5), 11, "s1 s2 s3  h1 h2  e1 e2 e3 e4");
        check((4, 5), 10, "s1 s2 s3  e1 e2 e3 e4 e5");
        check((4, 1), 8, "s1 s2 s3  h1 h2  e1");
        check((4, 0), 8, "s1 s2 s3  h1 h2 h3 h4");
        check((4, 5), 2, "s1 s2");
        check((0, 0), 9, "s1 s2 s3");
    }

    fn real(
        vcenter: EndpointKind<&str, &str>,
        cds: EndpointKind<&str, &str>,
        tally: Option<&Tally>,
        guests: Option<Guests>,
    ) -> String {
        let endpoints = Endpoints { vcenter, cds, pages: "http://127.0.0.1:3" };
        let report =
            Report { counts: Counts { queued: 2, running: 1, ..Counts::default() }, ..Report::default() };
        let (hints, recent) = (hints(endpoints, None, None), VecDeque::new());
        let view = View {
            endpoints,
            jobs: None,
            faults: tally.is_some(),
            guests,
            tally,
            report: &report,
            recent: &recent,
            hints: &hints,
        };
        Page::of(&view).whole().join("\n").replace(env!("CARGO_PKG_VERSION"), "VERSION")
    }

    #[test]
    fn the_page_of_a_hatchery_on_a_real_vcenter() {
        let (vcenter, cds) = (
            EndpointKind::Real("https://vc.example.com:443"),
            EndpointKind::Simulated("http://192.0.2.7:8990"),
        );
        insta::assert_snapshot!(real(vcenter, cds, Some(&Tally::default()), None), @r"
        Rookery VERSION: a hatchery at work between the vCenter at https://vc.example.com:443 and a simulated CDS

        jobs         0 fed, 0 succeeded, 0 failed
        queue        0 wait, 0 are taken, 0 run
        start time   no job has started yet
        machines     0 warm, 0 warming, 0 starting, 1 running, 0 finished, 0 kept
        capacity     0/unlimited workers, 0/unlimited CPUs, 0/unlimited MB
        addresses    from DHCP
        guests       are the vCenter's own
        trouble      on purpose, on the simulated side

        workers      in guests must reach the simulated CDS at http://192.0.2.7:8990; --listen ADDRESS:PORT moves it
        try it       in another terminal; what was made on the vCenter goes when this ends:
                       rookery vm watch --endpoint https://vc.example.com:443 --user NAME --password-file FILE
                       curl http://127.0.0.1:3/mon/status; curl http://127.0.0.1:3/mon/workers; curl http://192.0.2.7:8990/mon/version
        ");
    }

    #[test]
    fn the_page_of_a_hatchery_for_a_real_cds() {
        let (vcenter, cds) =
            (EndpointKind::Simulated("http://127.0.0.1:1"), EndpointKind::Real("https://cds.example.com"));
        insta::assert_snapshot!(real(vcenter, cds, None, Some(Guests::Real)), @r"
        Rookery VERSION: a hatchery at work between a simulated vCenter and the CDS at https://cds.example.com

        queue        2 wait, 0 are served
        machines     0 warm, 0 warming, 0 starting, 1 running, 0 finished, 0 kept
        capacity     0/unlimited workers, 0/unlimited CPUs, 0/unlimited MB
        addresses    from DHCP
        guests       run jobs of that CDS on this machine: they share its network and read what anybody may read

        try it       in another terminal; the vCenter and all workers in it go when this ends:
                       export GOVC_URL=http://me:simulated@127.0.0.1:1/sdk
                       rookery vm ls; rookery vm watch; rookery vm power off web-1; rookery doctor
                       curl http://127.0.0.1:3/mon/status; curl http://127.0.0.1:3/mon/workers; curl https://cds.example.com/mon/version
        ");
    }
}
