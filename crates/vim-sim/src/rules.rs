//! Rules: what goes wrong, for whom, how often.
//!
//! Every call is shown to all rules in the order in which they were added. A rule that fits lets the first few calls
//! pass, hits so many, and may leave each hit to chance. Rules that treat the answer add up; the first one that
//! refuses the call or drops the connection ends the matter. What chance decides is drawn from the world's own
//! randomness, so that the same inputs always meet the same fate.

mod action;
mod guest;
mod late;

use rand::RngExt as _;
use rookery_sim::{Request, RequestId, glob};
use rookery_vim::{MoRef, Node, Wire as _};
use serde::{Deserialize, Serialize};

use crate::id::Id;
use crate::incident;
use crate::io::{self, Reply};
use crate::refusal::Refusal;
use crate::soap::{self, Call};
use crate::world::World;
pub use action::{Action, FaultMember, FaultSpec, GuestBehaviour, Remains};
pub(crate) use guest::{Plan, plan};
pub(crate) use late::hold_back;

/// Which calls an action applies to, and the action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rule {
    /// Methods by name, such as `Power*VM_Task`. What is not SOAP has its verb and path: `PUT /folder/*`.
    #[serde(default = "any")]
    pub method: String,
    /// What the call is about: the object that it is made on, a VM that it names, or an object whose properties it reads;
    /// by reference or by name.
    #[serde(default = "any")]
    pub target: String,
    /// How many matching calls pass first.
    #[serde(default)]
    pub after: u64,
    /// How many calls it then applies to; all if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The probability of each application, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    pub action: Action,
}

fn any() -> String {
    "*".to_owned()
}

impl Rule {
    /// A rule for all calls.
    pub fn new(action: Action) -> Self {
        Self { method: any(), target: any(), after: 0, count: None, probability: None, action }
    }
}

/// Why a rule cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRule {
    #[error("the probability of a rule is from 0 to 1")]
    Probability,
    #[error("`{0}` is not the name of a fault or of its member")]
    Name(String),
    #[error("{0} is not a status between 400 and 599")]
    Status(u16),
    #[error(
        "a freeze holds from when it is added until it is removed: it has no after, count or probability"
    )]
    Freeze,
    #[error("a slow body needs at least one byte in a second")]
    Speed,
}

#[derive(Debug, Default)]
pub(crate) struct Rules {
    active: Vec<Active>,
    last: u64,
    /// What tasks that the call at hand starts are to come to.
    pub(crate) planned_failure: Option<PlannedFailure>,
    /// How guests that run were told to behave.
    pub(crate) guests: std::collections::BTreeMap<Id, Plan>,
    late: late::Late,
}

/// A rule at work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Active {
    id: u64,
    /// Calls that it matched.
    seen: u64,
    hits: u64,
    #[serde(flatten)]
    rule: Rule,
}

/// A failure that a rule has planned for the next task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlannedFailure {
    pub(crate) refusal: Refusal,
    pub(crate) after: jiff::SignedDuration,
    pub(crate) remains: Remains,
}

impl Rules {
    pub(crate) fn add(&mut self, rule: Rule) -> Result<u64, InvalidRule> {
        rule.action.check()?;
        if rule.probability.is_some_and(|p| !(0.0..=1.0).contains(&p)) {
            return Err(InvalidRule::Probability);
        }
        let counts = rule.after > 0 || rule.count.is_some() || rule.probability.is_some();
        if counts && rule.action == Action::Freeze {
            return Err(InvalidRule::Freeze);
        }
        self.last += 1;
        self.active.push(Active { id: self.last, seen: 0, hits: 0, rule });
        Ok(self.last)
    }

    pub(crate) fn remove(&mut self, id: u64) -> bool {
        let before = self.active.len();
        self.active.retain(|active| active.id != id);
        self.active.len() < before
    }

    pub(crate) fn clear(&mut self) {
        self.active.clear();
    }

    pub(crate) fn list(&self) -> &[Active] {
        &self.active
    }

    /// Whether waits on a collector are left unanswered.
    pub(crate) fn freeze(&self, collector: Id) -> bool {
        self.active.iter().any(|active| {
            active.rule.action == Action::Freeze && glob::matches(&active.rule.target, &collector.text())
        })
    }
}

/// The actions of all rules that apply, of those that are possible here. About are references and names.
fn hits(
    world: &mut World,
    method: Option<&str>,
    about: &[String],
    open: impl Fn(&Action) -> bool,
) -> Vec<Action> {
    let mut actions = Vec::new();
    for active in &mut world.rules.active {
        let rule = &active.rule;
        let matching = open(&rule.action)
            && method.is_none_or(|method| glob::matches(&rule.method, method))
            && (rule.target == "*" || about.iter().any(|name| glob::matches(&rule.target, name)));
        if !matching {
            continue;
        }
        active.seen += 1;
        if active.seen <= rule.after || rule.count.is_some_and(|count| active.hits >= count) {
            continue;
        }
        if rule.probability.is_some_and(|p| world.random.random::<f64>() >= p) {
            continue;
        }
        active.hits += 1;
        actions.push(rule.action.clone());
        if rule.action.ends_call() {
            break;
        }
    }
    actions
}

/// Applies the rules to a call; a reply if the call is not to be handled at all.
pub(crate) fn apply(world: &mut World, call: &Call, content: &Node) -> Option<Reply> {
    if world.rules.active.is_empty() {
        return None;
    }
    let about = about(world, call, content);
    let actions = hits(world, Some(&call.method), &about, Action::is_for_calls);
    act(world, call.request, call.session, actions, |fault| soap::refuse(&fault.refusal()))
}

/// The same for what is not SOAP.
pub(crate) fn apply_to_http(world: &mut World, id: RequestId, request: &Request) -> Option<Reply> {
    let method = format!("{} {}", request.method, request.path);
    let actions = hits(world, Some(&method), &[], Action::is_for_calls);
    act(world, id, None, actions, |fault| Reply::plain(500, &fault.message))
}

/// Applies the rules to a part of a task that is not a call of its own, such as powering on a clone.
pub(crate) fn apply_to_work(world: &mut World, method: &str, id: Id) -> Result<(), Refusal> {
    let about = names(world, &id.reference());
    let fails = |action: &Action| matches!(action, Action::Fault(_) | Action::TaskError { .. });
    let hit = hits(world, Some(method), &about, fails);
    match hit.first() {
        Some(Action::Fault(fault) | Action::TaskError { fault, .. }) => Err(fault.refusal()),
        Some(_) | None => Ok(()),
    }
}

fn act(
    world: &mut World,
    request: RequestId,
    session: Option<u32>,
    actions: Vec<Action>,
    refuse: impl Fn(&FaultSpec) -> Reply,
) -> Option<Reply> {
    for action in actions {
        match action {
            Action::Fault(fault) => return Some(refuse(&fault)),
            Action::Status { code } => return Some(Reply::plain(code, "a rule of the simulator says so")),
            Action::Drop => return Some(io::cut()),
            Action::LoseReply => world.traffic.treat(request, |treatment| treatment.lose = true),
            Action::SlowBody { bytes_per_second } => {
                world.traffic.treat(request, |treatment| treatment.slow = Some(bytes_per_second));
            }
            Action::Delay { by } => {
                let by = by.draw(&mut world.random);
                world.traffic.treat(request, |treatment| treatment.delay += by);
            }
            Action::TaskError { fault, after, remains } => {
                let after = after.draw(&mut world.random);
                world.rules.planned_failure =
                    Some(PlannedFailure { refusal: fault.refusal(), after, remains });
            }
            Action::ExpireCaller => {
                if let Some(session) = session {
                    crate::methods::end_session(world, session);
                }
            }
            Action::Do(incident) => {
                let restarts = matches!(incident, incident::Incident::Restart { .. });
                // What the rule names may have gone: then there is nothing to do.
                incident::apply(world, &incident).ok();
                if restarts {
                    return Some(io::cut());
                }
            }
            Action::Freeze | Action::Late { .. } | Action::Guest(_) => {}
        }
    }
    None
}

/// What a call is about: references and names.
fn about(world: &World, call: &Call, content: &Node) -> Vec<String> {
    let named = |node: &Node| {
        let reference = MoRef::from_node(node.clone()).ok();
        reference.map(|reference| names(world, &reference)).unwrap_or_default()
    };
    let mut about = names(world, &call.this);
    for member in &content.children {
        match &*member.name {
            "vm" => about.extend(named(member)),
            "specSet" => {
                let sets = member.children.iter().filter(|set| &*set.name == "objectSet");
                let objects = sets.flat_map(|set| set.children.iter().filter(|child| &*child.name == "obj"));
                about.extend(objects.flat_map(named));
            }
            "name" => about.push(member.text.clone()),
            "config" => about.extend(member.child_text("name").map(str::to_owned)),
            _ => {}
        }
    }
    about
}

fn names(world: &World, reference: &MoRef) -> Vec<String> {
    let id = Id::of(reference);
    // A snapshot is known by its VM.
    let id = id.and_then(|id| world.snapshots.get(&id).copied().or(Some(id)));
    let name = id.map(|id| world.store.name(id).to_owned()).filter(|name| !name.is_empty());
    std::iter::once(reference.id().to_owned()).chain(name).collect()
}
