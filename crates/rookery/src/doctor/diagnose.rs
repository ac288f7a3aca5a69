//! From what was seen to what is to be said. Pure: no clock, no I/O.
//!
//! Every check is always there, whatever else is wrong. One that could not be made says which other one to mend first.

mod connection;
mod places;
mod privileges;
mod templates;

use rookery_daemon::telemetry::chain;
use rookery_vim_client::{CallError, FindError};

use super::check::{Check, Finding, Group};
use super::observed::{Miss, Observed};
use super::scope::Scope;

/// All checks, in the order in which one would mend what is wrong.
pub fn diagnose(observed: &Observed, scope: &Scope) -> Vec<Check> {
    let mut checks = connection::checks(observed, scope.source);
    let sought = match &observed.session {
        Ok(session) => match &session.sought {
            Ok(sought) => Ok(sought),
            Err(error) => {
                let advice = "the user needs at least the role \"Read-only\" on the datacenter";
                let unread = problem_of_call("the inventory cannot be read", error, advice);
                checks.push(Check::new(Group::Places, "inventory", None, unread));
                Err("the inventory cannot be read")
            }
        },
        Err(_) => Err("there is no session"),
    };
    match sought {
        Ok(sought) => {
            checks.extend(places::checks(sought, scope.source));
            checks.extend(templates::checks(sought, scope.source));
            checks.extend(privileges::checks(&sought.privileges));
        }
        Err(because) => checks.extend(skipped(scope, because)),
    }
    checks
}

/// What would have been looked at.
fn skipped(scope: &Scope, because: &str) -> Vec<Check> {
    let skip = |group, check, about: Option<&str>| {
        Check::new(group, check, about, Finding::skipped(format!("not checked, because {because}")))
    };
    let place = |check, name: &Option<String>| skip(Group::Places, check, name.as_deref());
    let mut checks = vec![place("datacenter", &scope.datacenter), place("datastore", &scope.datastore)];
    checks.extend(scope.networks.iter().map(|name| skip(Group::Places, "network", Some(name))));
    checks.extend([place("resource pool", &scope.pool), place("folder", &scope.folder)]);
    checks.extend(scope.templates.iter().map(|name| skip(Group::Templates, "template", Some(name))));
    checks.push(skip(Group::Privileges, "privileges", None));
    checks
}

/// A call that failed: refused for good, or lost. Either way nothing is known.
fn problem_of_call(what: &str, error: &CallError, advice: &str) -> Finding {
    let advice = if error.is_permission() { advice } else { "try again; -vv logs every call" };
    Finding::problem(format!("{what}: {}", chain(error)), advice)
}

/// Why something was not found, and what was perhaps meant.
fn missed(name: &str, miss: &Miss) -> Finding {
    match miss {
        Miss::Place(error) => not_found(error),
        Miss::Vm { similar } if similar.is_empty() => Finding::problem(
            "there is no VM or template of this name",
            "`rookery vm ls --templates` lists those that there are",
        ),
        Miss::Vm { similar } => {
            let advice = format!("perhaps one of these is meant: {}", similar.join(", "));
            Finding::problem("there is no VM or template of this name", advice)
        }
        Miss::Vms(ids) => {
            let ids: Vec<_> = ids.iter().map(rookery_vim::MoRef::id).collect();
            let seen = format!("{} VMs have this name", ids.len());
            Finding::problem(seen, format!("give the path or the id of one: {}", ids.join(", ")))
        }
        Miss::Path(error) => Finding::problem(
            chain(error),
            "a path begins with the datacenter and its folder \"vm\": /DC0/vm/folder/name",
        ),
        Miss::Call(error) => problem_of_call(
            &format!("{name:?} cannot be read"),
            error,
            "the user's role lacks System.Read on it",
        ),
    }
}

/// How many alternatives are shown.
const SHOWN: usize = 8;

/// A name that does not lead to one place.
fn not_found(error: &FindError) -> Finding {
    match error {
        FindError::Missing { name, existing, .. } if !existing.is_empty() => {
            Finding::problem("there is none of this name", format!("there are: {}", nearest(name, existing)))
        }
        FindError::Missing { .. } => Finding::problem(
            "there is none of this name, nor any other that this user can see",
            "check the role of the user in vCenter, or make one",
        ),
        FindError::Ambiguous { candidates, .. } => {
            let seen = format!("{} have this name", candidates.len());
            Finding::problem(seen, format!("give the path of one: {}", some_of(candidates)))
        }
        FindError::NoDefault { candidates, .. } => Finding::problem(
            "none is named, and there is no obvious one",
            format!("there are: {}", some_of(candidates)),
        ),
    }
}

fn nearest(name: &str, existing: &[String]) -> String {
    let mut ranked: Vec<_> = existing.to_vec();
    let distance = |path: &String| {
        let last = path.rsplit('/').next().unwrap_or(path);
        strsim::damerau_levenshtein(&last.to_lowercase(), &name.to_lowercase())
    };
    ranked.sort_by_cached_key(distance);
    some_of(&ranked)
}

fn some_of(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests;
