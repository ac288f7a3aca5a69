//! What `up` shows of a hatchery at work. Pure.

use std::path::Path;

use rookery_hatchery::surface::report::{Report, Status};

use super::watch::at_work;
use crate::hatchery::top::shown;
use crate::live::model::{Fact, Section};
use crate::live::{Model, StartTimes};
use crate::output::{LocalTime, printable};
use crate::up::endpoint_kind::{Endpoint, EndpointKind, LOGIN};

/// What runs in the guests of a real vCenter.
pub(in crate::up) const OWN_GUESTS: &str = "are the vCenter's own";

/// Where vCenter, CDS and the pages of the hatchery are.
#[derive(Debug, Clone)]
pub(super) struct Endpoints {
    pub(super) vcenter: Endpoint,
    pub(super) cds: Endpoint,
    pub(super) pages: String,
}

/// What the page shows that does not change while the hatchery runs.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) endpoints: Endpoints,
    /// What runs in the guests, in words.
    pub(super) guests: &'static str,
    /// Whether there is trouble on purpose.
    pub(super) faults: bool,
    pub(super) hints: Vec<String>,
}

/// `starts` are those of jobs that no other part counts.
pub(super) fn shown(setting: &Setting, status: &Status, report: &Report, starts: StartTimes) -> Model {
    let mut state = Vec::new();
    let (vcenter, cds) = (setting.endpoints.vcenter.kind, setting.endpoints.cds.kind);
    if cds == EndpointKind::Real {
        let served = at_work(report).len();
        state.push(Section::Queue(vec![(status.counts.queued, "wait"), (served, "are served")]));
    }
    if starts.count() > 0 {
        state.push(Section::Starts(starts));
    }
    state.push(shown::states(status));
    state.extend(shown::capacity(status));
    state.push(Section::Fact(Fact::new("guests", setting.guests)));
    if setting.faults {
        let both = vcenter == EndpointKind::Simulated && cds == EndpointKind::Simulated;
        let sides = if both { "on both sides" } else { "on the simulated side" };
        state.push(Section::Fact(Fact::new("trouble", format!("on purpose, {sides}"))));
    }
    Model {
        title: title(&setting.endpoints),
        state,
        attention: shown::attention(status),
        queue: Some(shown::queue(status, &[], &LocalTime::system())),
        machines: Some(shown::machines(status)),
        hints: setting.hints.clone(),
        ending: String::new(),
    }
}

fn title(endpoints: &Endpoints) -> String {
    let named = |what: &str, endpoint: &Endpoint| match endpoint.kind {
        EndpointKind::Simulated => format!("a simulated {what}"),
        EndpointKind::Real => format!("the {what} at {}", printable(&endpoint.url)),
    };
    let (vcenter, cds) = (named("vCenter", &endpoints.vcenter), named("CDS", &endpoints.cds));
    format!("a hatchery at work between {vcenter} and {cds}")
}

/// What becomes of its machines when it ends, unless the teardown tells it.
pub(super) fn left(endpoints: &Endpoints, machines: usize) -> Option<String> {
    Some(match (endpoints.vcenter.kind, endpoints.cds.kind) {
        (EndpointKind::Simulated, EndpointKind::Simulated) => {
            "nothing: both simulators are gone, and all machines with them".to_owned()
        }
        (EndpointKind::Simulated, EndpointKind::Real) => {
            "nothing: the simulated vCenter is gone, and all machines with it".to_owned()
        }
        (EndpointKind::Real, EndpointKind::Simulated) => return None,
        (EndpointKind::Real, EndpointKind::Real) => {
            format!("{machines} machines stay on the vCenter; workers go on")
        }
    })
}

/// Commands to try. `asked` is the hatchery's name if it has a control socket, and `default_file` the settings file that is
/// read unless another one is given.
pub(super) fn hints(endpoints: &Endpoints, asked: Option<&str>, default_file: Option<&Path>) -> Vec<String> {
    let Endpoints { vcenter, cds, pages } = endpoints;
    let kinds = (vcenter.kind, cds.kind);
    let mut lines = match kinds {
        (EndpointKind::Simulated, EndpointKind::Simulated) => {
            vec!["try it       in another terminal; both simulators go when this ends:".to_owned()]
        }
        (EndpointKind::Simulated, EndpointKind::Real) => vec![
            "try it       in another terminal; the vCenter and all workers in it go when this ends:"
                .to_owned(),
        ],
        (EndpointKind::Real, EndpointKind::Simulated) => vec![
            format!(
                "workers      in guests must reach the simulated CDS at {}; --listen ADDRESS:PORT moves it",
                cds.url
            ),
            "try it       in another terminal; what was made on the vCenter goes when this ends:".to_owned(),
        ],
        (EndpointKind::Real, EndpointKind::Real) => {
            vec!["try it       in another terminal; workers go on when this ends:".to_owned()]
        }
    };
    match vcenter.kind {
        EndpointKind::Simulated => {
            let (user, password) = LOGIN;
            let url = vcenter.url.replacen("://", &format!("://{user}:{password}@"), 1);
            lines.push(format!("               export GOVC_URL={url}/sdk"));
            lines.push(
                "               rookery vm ls; rookery vm watch; rookery vm power off web-1; rookery doctor"
                    .to_owned(),
            );
        }
        EndpointKind::Real => {
            lines.push(format!(
                "               rookery vm watch --endpoint {} --user NAME --password-file FILE",
                vcenter.url
            ));
        }
    }
    lines.push(format!(
        "               curl {pages}/mon/status; curl {pages}/mon/workers; curl {}/mon/version",
        cds.url
    ));
    if let Some(name) = asked {
        let template = match kinds {
            (EndpointKind::Simulated, EndpointKind::Simulated) => "debian-12",
            (EndpointKind::Real, _) | (_, EndpointKind::Real) => "TEMPLATE",
        };
        lines.extend([
            format!("               rookery hatchery status --name {name}; rookery explain JOB --name {name}"),
            format!(
                "               rookery vm hold --model {template} --for 10m --reason curious --name {name}; rookery vm holds --name {name}"
            ),
        ]);
    }
    if let (EndpointKind::Simulated, EndpointKind::Simulated) = kinds {
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
#[cfg(feature = "sim")]
mod tests {
    use super::super::jobs;
    use super::super::jobs::tally::Tally;
    use super::*;
    use crate::live::plain_lines;
    use crate::up::vcenter::Guests;
    use rookery_fleet::address::AddressUsage;
    use rookery_hatchery::plan::NotMade;
    use rookery_hatchery::plan::capacity::{Ledger, Limits};
    use rookery_hatchery::plan::hold::Subject;
    use rookery_hatchery::surface::report::{Counts, Held, HoldRequestStatus, Host};

    #[test]
    fn the_page_of_a_hatchery_at_work() {
        let size = rookery_fleet::capacity::Ledger { cpus: 12, memory_mb: 24_576, unseen_memory_mb: 0 };
        let report = Report {
            complete: true,
            counts: Counts { queued: 1, warm: 4, warming: 1, starting: 2, running: 3, finished: 1, held: 1 },
            ledger: Ledger { workers: 5, size, ..Ledger::default() },
            limits: Limits {
                workers: Some(16),
                starting: 0,
                size: rookery_fleet::capacity::Limits {
                    cpus: Some(64),
                    ..rookery_fleet::capacity::Limits::default()
                },
            },
            held: vec![Held {
                machine: "brave-curie".to_owned(),
                power: "off".to_owned(),
                model: "debian-12".to_owned(),
                job: "7".to_owned(),
                until: "2026-11-15T16:00:00Z".parse().unwrap(),
                reason: "curious".to_owned(),
                wish: "7f".to_owned(),
            }],
            wishes: vec![HoldRequestStatus {
                id: "7f".to_owned(),
                of: Subject::Model("debian-12".to_owned()),
                count: 2,
                taken: 1,
                keep: 600,
                until: "2026-11-15T16:00:00Z".parse().unwrap(),
                reason: "curious".to_owned(),
            }],
            addresses: AddressUsage { total: 61, used: 9, reserved: 2, free: 50 },
            not_made: vec![(
                "shared.infra/builder".to_owned(),
                NotMade::Warm { missing: 1, why: rookery_fleet::warm::WaitReason::NoAddress },
            )],
            ..Report::default()
        };
        let file = Path::new("/home/me/.config/rookery/rookery.toml");
        let endpoints = Endpoints {
            vcenter: endpoint(EndpointKind::Simulated, "http://127.0.0.1:1"),
            cds: endpoint(EndpointKind::Simulated, "http://127.0.0.1:2"),
            pages: "http://127.0.0.1:3".to_owned(),
        };
        let hints = hints(&endpoints, Some("nest"), Some(file));
        let guests = Guests::Real.in_words(EndpointKind::Simulated);
        let setting = Setting { endpoints, guests, faults: true, hints };
        assert_eq!(jobs::open(&Tally::default(), &status(&report)), None, "no job was fed yet");
        let jobs = jobs::shown(&Tally::default(), Some(50));
        let text = whole(&jobs.and(shown(&setting, &status(&report), &report, StartTimes::default())));
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
        waiting      shared.infra/builder: 1 warm machine is missing: no address is free

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
        ");
    }

    fn endpoint(kind: EndpointKind, url: &str) -> Endpoint {
        Endpoint { kind, url: url.to_owned() }
    }

    fn status(report: &Report) -> Status {
        let host = Host {
            service: "nest".to_owned(),
            hostname: "m".to_owned(),
            version: "1".to_owned(),
            started: jiff::Timestamp::UNIX_EPOCH,
        };
        Status::new(&host, report, Vec::new())
    }

    fn whole(model: &Model) -> String {
        plain_lines(model).join("\n").replace(env!("CARGO_PKG_VERSION"), "VERSION")
    }

    fn real(vcenter: Endpoint, cds: Endpoint, tally: Option<&Tally>, guests: &'static str) -> String {
        let endpoints = Endpoints { vcenter, cds, pages: "http://127.0.0.1:3".to_owned() };
        let counts = Counts { queued: 2, running: 1, ..Counts::default() };
        let report = Report { complete: true, counts, ..Report::default() };
        let hints = hints(&endpoints, None, None);
        let setting = Setting { endpoints, guests, faults: tally.is_some(), hints };
        let jobs = tally.map(|tally| jobs::shown(tally, None)).unwrap_or_default();
        whole(&jobs.and(shown(&setting, &status(&report), &report, StartTimes::default())))
    }

    #[test]
    fn the_page_of_a_hatchery_on_a_real_vcenter() {
        let (vcenter, cds) = (
            endpoint(EndpointKind::Real, "https://vc.example.com:443"),
            endpoint(EndpointKind::Simulated, "http://192.0.2.7:8990"),
        );
        insta::assert_snapshot!(real(vcenter, cds, Some(&Tally::default()), OWN_GUESTS), @r"
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
        let (vcenter, cds) = (
            endpoint(EndpointKind::Simulated, "http://127.0.0.1:1"),
            endpoint(EndpointKind::Real, "https://cds.example.com"),
        );
        let guests = Guests::Real.in_words(EndpointKind::Real);
        insta::assert_snapshot!(real(vcenter, cds, None, guests), @r"
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
