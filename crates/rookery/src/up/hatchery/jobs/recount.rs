//! Counts again from the simulators' own state: what the vCenter still has, and how jobs ended in CDS. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use rookery_cds_sim::Job;
use rookery_hatchery::mark::Mark;
use rookery_hatchery::names;
use rookery_hatchery::surface::report::Report;
use serde::Deserialize;

/// The part of a dump that is needed.
#[derive(Debug, Deserialize)]
struct Dump {
    store: Store,
}

#[derive(Debug, Deserialize)]
struct Store {
    vms: BTreeMap<String, Vm>,
    entities: BTreeMap<String, Entity>,
}

#[derive(Debug, Deserialize)]
struct Vm {
    template: bool,
    annotation: String,
    power: String,
}

#[derive(Debug, Deserialize)]
struct Entity {
    name: String,
}

/// What is wrong with what a vCenter holds after all jobs: machines and addresses of `owner` that should be gone.
pub(super) fn leaks(dump: &str, owner: &str, report: &Report) -> anyhow::Result<Vec<String>> {
    let Dump { store } = serde_json::from_str(dump)?;
    let mut wrong = Vec::new();
    let mut held = BTreeSet::<Ipv4Addr>::new();
    for (id, vm) in &store.vms {
        let name = store.entities.get(id).map_or(id.as_str(), |entity| entity.name.as_str());
        let Some(mark) = Mark::read(&vm.annotation).filter(|mark| mark.hatchery_name == owner) else {
            continue;
        };
        let address = mark.address().or_else(|| names::address_in(name));
        held.extend(address);
        let warm = mark.provisioning && names::is_pooled_name(name);
        if vm.template {
            wrong.extend(address.map(|ip| format!("template {name} still holds address {ip}")));
        } else if report.held.iter().any(|held| held.machine == name) {
            // Somebody wanted it to stay.
        } else if !warm {
            let job = if mark.job_id.is_empty() { String::new() } else { format!(" of job {}", mark.job_id) };
            wrong.push(format!("machine {name}{job} is still there, {}", vm.power));
        } else if vm.power != "poweredOff" {
            wrong.push(format!("warm machine {name} is {}", vm.power));
        }
    }
    let (shown, known) = (held.len() as u64, report.addresses.used + report.addresses.reserved);
    if shown != known {
        wrong.push(format!("the hatchery counts {known} addresses in use, and machines hold {shown}"));
    }
    if !report.running.is_empty() {
        let running: Vec<_> = report.running.iter().map(ToString::to_string).collect();
        wrong.push(format!("still at work: {}", running.join(", ")));
    }
    Ok(wrong)
}

/// What is wrong with the jobs: `wanted` of them should have ended, and well if that is asked for.
pub(super) fn failures(jobs: &[Job], wanted: u64, all_well: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    if jobs.len() as u64 != wanted {
        wrong.push(format!("CDS knows {} jobs, and {wanted} were fed", jobs.len()));
    }
    for job in jobs {
        let well = job.status == rookery_cds_sim::Status::Success;
        if !job.status.is_final() {
            wrong.push(format!("job {} has not ended, it is {}; {}", job.id, job.status, last_word(job)));
        } else if all_well && !well {
            let how = format!("job {} should have succeeded, but ended as {}", job.id, job.status);
            wrong.push(format!("{how}; {}", last_word(job)));
        }
    }
    wrong
}

fn last_word(job: &Job) -> String {
    match job.logs.lines().last() {
        Some(line) => format!("its log ends with: {line} (--dump DIR keeps all of it)"),
        None => "it has logged nothing: perhaps no worker ran it (--dump DIR keeps its history)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rookery_fleet::address::AddressUsage;
    use serde_json::json;

    fn check(vms: &[(&str, Mark, bool, &str)], used: u64, expected: &[&str]) {
        let row = |(name, mark, template, power): &(&str, Mark, bool, &str)| {
            let vm = json!({ "template": template, "annotation": mark.write(), "power": power });
            (format!("vm-{name}"), vm, json!({ "name": name, "parent": null }))
        };
        let rows: Vec<_> = vms.iter().map(row).collect();
        let store = json!({
            "vms": rows.iter().map(|(id, vm, _)| (id, vm)).collect::<BTreeMap<_, _>>(),
            "entities": rows.iter().map(|(id, _, entity)| (id, entity)).collect::<BTreeMap<_, _>>(),
        });
        let report =
            Report { addresses: AddressUsage { used, ..AddressUsage::default() }, ..Report::default() };
        let found = leaks(&json!({ "store": store }).to_string(), "nest", &report).expect("a dump");
        assert_eq!(found, expected);
    }

    fn ours(ip: &str) -> Mark {
        Mark { hatchery_name: "nest".to_owned(), ip_address: ip.to_owned(), ..Mark::default() }
    }

    #[test]
    fn warm_machines_and_templates_may_stay_and_nothing_else() {
        let warm = Mark { provisioning: true, ..ours("10.0.0.1") };
        let other = Mark { hatchery_name: "other".to_owned(), ..Mark::default() };
        let pooled = "provision-v2-ab-10-0-0-1";
        assert!(names::is_pooled_name(pooled));
        check(
            &[
                (pooled, warm.clone(), false, "poweredOff"),
                ("b", ours(""), true, "poweredOff"),
                ("c", other, false, "poweredOn"),
            ],
            1,
            &[],
        );
        let worker = Mark { job_id: "7".to_owned(), ..ours("10.0.0.2") };
        check(
            &[
                (pooled, warm, false, "poweredOn"),
                ("w", worker, false, "poweredOff"),
                ("t", ours("10.0.0.3"), true, "poweredOff"),
            ],
            4,
            &[
                "warm machine provision-v2-ab-10-0-0-1 is poweredOn",
                "template t still holds address 10.0.0.3",
                "machine w of job 7 is still there, poweredOff",
                "the hatchery counts 4 addresses in use, and machines hold 3",
            ],
        );
    }
}
