//! Trouble on purpose, on all simulated sides: the same for the same seed, as far as timing lets it be.

use std::future::pending;
use std::time::Duration;

use jiff::SignedDuration;
use rand::RngExt as _;
use rand::rngs::StdRng;
use rookery_cds_sim::{Fault, Trouble};
use rookery_hatchery::control::Request;
use rookery_vim_sim::{Action, Body, FaultSpec, Remains, Rule, Span};
use serde_json::Value;
use tokio::time::sleep;

use super::stack::Stack;

/// What the vCenter does wrong, and how often.
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

/// What the CDS does wrong, and how often.
fn faults() -> Vec<Fault> {
    let fault = |chance, trouble| Fault { method: None, path: "*".to_owned(), times: None, chance, trouble };
    vec![
        fault(0.02, Trouble::Error { status: 500, id: 1 }),
        fault(0.02, Trouble::Html { status: 502 }),
        fault(0.01, Trouble::Maintenance),
        fault(0.02, Trouble::LostReply),
        fault(0.02, Trouble::Dropped),
        fault(0.05, Trouble::Slow { milliseconds: 1500 }),
    ]
}

/// Makes trouble until it is dropped; what comes now and then comes from here, the rest stays in the simulators.
pub(super) async fn make(stack: &Stack, mut random: StdRng) {
    for rule in rules() {
        if let Some(vcenter) = stack.vcenter.simulated() {
            vcenter.control(rookery_vim_sim::Control::AddRule(rule)).await;
        }
    }
    let Some(cds) = stack.cds.simulated() else { return pending().await };
    for fault in faults() {
        cds.control(rookery_cds_sim::Control::AddFault(fault)).await;
    }
    loop {
        sleep(Duration::from_millis(random.random_range(2000..6000))).await;
        let control = match random.random_range(0..10) {
            0 => rookery_cds_sim::Control::ExpireSessions,
            1 | 2 => rookery_cds_sim::Control::Restart { keep_sessions: true },
            _ => rookery_cds_sim::Control::DropSockets { politely: random.random() },
        };
        cds.control(control).await;
    }
}

/// Lets through what the brake holds back, as a person would who knows where the trouble comes from: so many lost answers
/// are more than it bears by itself. On a vCenter that is not simulated the person decides.
pub(super) async fn confirm(stack: &Stack) {
    if stack.vcenter.is_real() {
        return pending().await;
    }
    let mut report = stack.hatchery.board.report.clone();
    loop {
        let Ok(braked) = report.wait_for(|report| !report.braked.is_empty()).await else {
            return pending().await;
        };
        let list = braked.braked.iter().map(|waiting| waiting.subject.clone()).collect();
        drop(braked);
        stack.hatchery.desk().answer(Request::Confirm { list }).await;
        sleep(Duration::from_secs(1)).await;
    }
}

/// Ends all trouble; how many calls got into it, in words.
pub(super) async fn end(stack: &Stack) -> String {
    let mut told = Vec::new();
    if let Some(vcenter) = stack.vcenter.simulated() {
        let rules = vcenter.control(rookery_vim_sim::Control::Rules).await;
        vcenter.control(rookery_vim_sim::Control::ClearRules).await;
        let rules = rules.map(|reply| reply.body);
        let hits = if let Some(Body::Text(rules)) = &rules { hits(rules) } else { 0 };
        told.push(format!("{hits} calls to the vCenter"));
    }
    if let Some(cds) = stack.cds.simulated() {
        let cleared = cds.control(rookery_cds_sim::Control::ClearFaults).await;
        let met = cleared.and_then(|reply| reply.value()["met"].as_u64()).unwrap_or_default();
        told.push(format!("{met} calls to CDS"));
    }
    told.join(" and ")
}

fn hits(rules: &str) -> u64 {
    let rules: Vec<Value> = serde_json::from_str(rules).unwrap_or_default();
    rules.iter().filter_map(|rule| rule["hits"].as_u64()).sum()
}
