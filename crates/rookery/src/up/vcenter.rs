//! A simulated vCenter as a part of `up`.

mod guests;

use std::collections::BTreeSet;
use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context as _, bail};
use futures_util::future::LocalBoxFuture;
use jiff::SignedDuration;
use rookery_daemon::{Clock, Supervisor};
use rookery_vim_sim::server::Running;
use rookery_vim_sim::{
    Action, Body, Control, Durations, FaultSpec, GuestTimes, Login, Model, ProgramRule, Remains, Rule, Span,
};
use serde_json::Value;

use super::endpoint_kind::LOGIN;
use super::part::{Calm, News, Part, Removal};
use crate::Ending;
use crate::live::Page;
use crate::sim::{Embedded, instance};
pub(super) use guests::{GuestMode, Guests, real_programs};

/// The inventory, unless the hatchery's file names other templates.
const MODEL: &str = include_str!("vcenter/model.toml");
/// The guest user of the built-in templates.
pub(super) const GUEST: (&str, &str) = ("ci", "simulated");
pub(super) const DATACENTER: &str = "Rook";
/// How long tasks get to end.
const LINGER: Duration = Duration::from_secs(2);

pub(super) struct Simulation {
    pub(super) guests: Guests,
    pub(super) model: Model,
    /// The only login that guests accept; `None`: any.
    pub(super) guest_login: Option<Login>,
}

pub(super) struct Vcenter {
    pub(super) url: String,
    pub(super) running: Running,
    /// Whether to inject faults.
    faults: bool,
    supervisor: Supervisor,
}

impl Vcenter {
    pub(super) async fn start(
        simulation: &Simulation,
        seed: u64,
        faults: bool,
        supervisor: Supervisor,
    ) -> anyhow::Result<Self> {
        let Embedded { address: url, running } = serve(&supervisor, simulation, seed).await?;
        if simulation.guests == Guests::Scripted {
            guests::play(&running, &supervisor);
        }
        Ok(Self { url, running, faults, supervisor })
    }
}

impl Part for Vcenter {
    fn name(&self) -> &'static str {
        "the simulated vCenter"
    }

    fn run<'a>(&'a self, _: &'a News) -> LocalBoxFuture<'a, anyhow::Error> {
        Box::pin(async {
            for rule in rules().into_iter().filter(|_| self.faults) {
                self.running.control(Control::AddRule(rule)).await;
            }
            pending().await
        })
    }

    fn calm(&self) -> LocalBoxFuture<'_, Calm> {
        Box::pin(async {
            let rules = self.running.control(Control::Rules).await.map(|reply| reply.body);
            self.running.control(Control::ClearRules).await;
            let hits = if let Some(Body::Text(rules)) = &rules { hits(rules) } else { 0 };
            let trouble = self.faults.then(|| format!("{hits} calls to the vCenter"));
            Calm { news: None, trouble }
        })
    }

    fn dump(&self) -> LocalBoxFuture<'_, anyhow::Result<Option<(&'static str, String)>>> {
        Box::pin(async { Ok(Some(("vcenter.json", dump(&self.running).await?))) })
    }

    fn stop<'p>(
        self: Box<Self>,
        _: Removal,
        _: &'p mut Page<'_>,
    ) -> LocalBoxFuture<'p, anyhow::Result<Ending>> {
        Box::pin(async move {
            self.supervisor.shutdown(LINGER).await.ok();
            Ok(Ending::Done)
        })
    }
}

/// The whole inventory as JSON.
pub(super) async fn dump(vcenter: &Running) -> anyhow::Result<String> {
    match vcenter.control(Control::Dump).await.context("the simulated vCenter has ended")?.body {
        Body::Text(text) => Ok(text),
        Body::Bytes(_) | Body::Head(_) | Body::Blob(_) | Body::Cut | Body::Slow(..) => {
            bail!("the simulated vCenter did not dump its state")
        }
    }
}

/// The injected faults and their probabilities.
fn rules() -> Vec<Rule> {
    let rule = |method: &str, probability, action| Rule {
        method: method.to_owned(),
        probability: Some(probability),
        ..Rule::new(action)
    };
    let up_to = |millis| Span::Between(SignedDuration::ZERO, SignedDuration::from_millis(millis));
    let failed = |after| Action::TaskError {
        fault: FaultSpec::new("SystemError", "A general system error occurred: trouble on purpose"),
        after: up_to(after),
        remains: Remains::Nothing,
    };
    vec![
        rule("CloneVM_Task", 0.04, failed(800)),
        rule("PowerOnVM_Task", 0.02, failed(300)),
        rule("*_Task", 0.03, Action::LoseReply),
        rule("StartProgramInGuest", 0.03, Action::LoseReply),
        rule("*", 0.02, Action::Status { code: 503 }),
        rule("*", 0.02, Action::Drop),
        rule("*", 0.05, Action::Delay { by: up_to(1500) }),
        rule("*", 0.002, Action::ExpireCaller),
    ]
}

fn hits(rules: &str) -> u64 {
    let rules: Vec<Value> = serde_json::from_str(rules).unwrap_or_default();
    rules.iter().filter_map(|rule| rule["hits"].as_u64()).sum()
}

pub(super) fn guest_login() -> Login {
    Login { user: GUEST.0.to_owned(), password: GUEST.1.to_owned() }
}

pub(super) fn model() -> anyhow::Result<Model> {
    toml::from_str(MODEL).context("the built-in model cannot be read")
}

/// The built-in inventory with these templates in place of its own.
pub(super) fn model_with(templates: &BTreeSet<String>) -> anyhow::Result<Model> {
    let mut model = model()?;
    let vms = model.datacenters.iter_mut().find(|datacenter| datacenter.name == DATACENTER);
    let vms = &mut vms.context("the built-in model has no datacenter")?.vms;
    let pattern = vms.iter().find(|vm| vm.template).cloned().context("the built-in model has no template")?;
    vms.retain(|vm| !vm.template && !templates.contains(&vm.name));
    vms.extend(
        templates.iter().map(|name| rookery_vim_sim::VmModel { name: name.clone(), ..pattern.clone() }),
    );
    Ok(model)
}

/// Serves a vCenter whose operations take about as long as on a fast real one.
async fn serve(supervisor: &Supervisor, wanted: &Simulation, seed: u64) -> anyhow::Result<Embedded> {
    let between =
        |least, most| Span::Between(SignedDuration::from_millis(least), SignedDuration::from_millis(most));
    let played = ProgramRule { arguments: "*worker*".to_owned(), announced: true, ..ProgramRule::default() };
    let settings = rookery_vim_sim::Settings {
        seed,
        instance: instance()?,
        login: Some((LOGIN.0.to_owned(), LOGIN.1.to_owned())),
        guest_login: wanted.guest_login.clone(),
        allow_local_exec: wanted.guests == Guests::Real,
        programs: vec![played],
        durations: Durations {
            clone: between(400, 1200),
            reconfigure: between(50, 150),
            power: between(100, 300),
            snapshot: between(100, 200),
            destroy: between(100, 300),
            ..Durations::default()
        },
        guests: GuestTimes {
            tools: between(500, 1500),
            operations: between(50, 200),
            addresses: between(50, 200),
            shutdown: between(50, 200),
            ..GuestTimes::default()
        },
        ..rookery_vim_sim::Settings::default()
    };
    let clock = rookery_vim_sim::Clock::wall(Clock::system());
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Embedded::start(&wanted.model, settings, local, None, clock, supervisor).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_model_can_be_used_and_have_other_templates() {
        let build = |model: Model| {
            model.build(rookery_vim_sim::Settings::default(), jiff::Timestamp::UNIX_EPOCH).expect("a world");
        };
        build(model().expect("a model"));
        let names = BTreeSet::from(["centos".to_owned(), "web-1".to_owned()]);
        let model = model_with(&names).expect("a model");
        let templates =
            model.datacenters.iter().flat_map(|datacenter| &datacenter.vms).filter(|vm| vm.template);
        assert_eq!(templates.map(|vm| vm.name.clone()).collect::<BTreeSet<_>>(), names);
        build(model);
    }
}
