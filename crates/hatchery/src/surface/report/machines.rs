//! The hatchery's machines as people and programs ask for them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use rookery_fleet::Power;
use serde::{Deserialize, Serialize};

use super::{MachineState, Report};
use crate::machine::Machine;
use crate::mark::Mark;

/// A machine of the hatchery, or one that is being made for a job. What is not known is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineLine {
    pub name: String,
    pub state: MachineState,
    /// `on`, `off` or `suspended`.
    pub power: Option<String>,
    /// The path of its V1 model, or the template of its V2 model.
    pub model: Option<String>,
    /// The job that it is for.
    pub job: Option<String>,
    pub address: Option<Ipv4Addr>,
    pub cpus: Option<u32>,
    pub memory_mb: Option<u64>,
}

/// By state, and by name.
pub(super) fn machine_lines(report: &Report) -> Vec<MachineLine> {
    let listed = report.own.iter().filter_map(|(id, state)| {
        let machine = report.view.machines.get(id)?;
        Some(line(machine, *state))
    });
    let mut lines: BTreeMap<_, MachineLine> =
        listed.map(|line| ((line.state, line.name.clone()), line)).collect();
    // Those that vCenter does not show yet.
    for start in report.running.iter().filter(|one| one.is_start()) {
        if report.view.named(&start.name).next().is_none() {
            let (name, job) = (start.name.clone(), start.job.as_ref().map(ToString::to_string));
            let line = MachineLine { name, job, ..blank(MachineState::Starting) };
            lines.insert((line.state, line.name.clone()), line);
        }
    }
    lines.into_values().collect()
}

fn line(machine: &Machine, state: MachineState) -> MachineLine {
    let mark = machine.mark();
    let known = |text: &String| (!text.is_empty()).then(|| text.clone());
    let model =
        mark.and_then(|mark| known(&mark.worker_model_path).or_else(|| known(&mark.vmware_model_path)));
    let power = machine.power.map(|power| match power {
        Power::On => "on",
        Power::Off => "off",
        Power::Suspended => "suspended",
    });
    let given = mark.and_then(Mark::address);
    MachineLine {
        name: machine.name.clone(),
        power: power.map(str::to_owned),
        model,
        job: mark.and_then(|mark| known(&mark.job_id)),
        address: given.or_else(|| machine.addresses.first().copied()),
        cpus: machine.hardware.cpus,
        memory_mb: machine.hardware.memory_mb,
        ..blank(state)
    }
}

fn blank(state: MachineState) -> MachineLine {
    MachineLine {
        name: String::new(),
        state,
        power: None,
        model: None,
        job: None,
        address: None,
        cpus: None,
        memory_mb: None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::machine::View;
    use crate::samples::{Notes, running};
    use crate::surface::report::UnderWay;

    #[test]
    fn machines_are_listed_by_what_they_are_and_those_to_come_with_them() {
        let mark = |job: &str| Mark {
            hatchery_name: "nest".to_owned(),
            job_id: job.to_owned(),
            vmware_model_path: "debian".to_owned(),
            ip_address: "192.0.2.7".to_owned(),
            ..Mark::default()
        };
        let machine = |name: &str, job: &str| running(name, name, Notes::Mark(Box::new(mark(job))));
        let machines = [machine("b", "7"), machine("a", ""), machine("c", "8")];
        let view = View { machines: machines.iter().cloned().collect(), ..View::default() };
        let own = [MachineState::Running, MachineState::Warm, MachineState::Running];
        let start = |name: &str| UnderWay {
            action: "spawn",
            name: name.to_owned(),
            job: "9".parse().ok(),
            held_back: None,
        };
        let report = Report {
            own: machines.iter().map(|machine| machine.id.clone()).zip(own).collect(),
            running: vec![start("to-come"), start("b")],
            view: Arc::new(view),
            ..Report::default()
        };
        let lines = machine_lines(&report);
        let told: Vec<_> = lines
            .iter()
            .map(|line| (line.name.as_str(), line.state.as_str(), line.job.as_deref().unwrap_or("-")))
            .collect();
        assert_eq!(
            told,
            [("b", "running", "7"), ("c", "running", "8"), ("to-come", "starting", "9"), ("a", "warm", "-")]
        );
        let first = &lines[0];
        assert_eq!((first.power.as_deref(), first.model.as_deref()), (Some("on"), Some("debian")));
        assert_eq!(first.address, "192.0.2.7".parse().ok());
    }
}
