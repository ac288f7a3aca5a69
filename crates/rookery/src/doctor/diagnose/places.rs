//! Where VMs would be put.

use rookery_vim_client::FindError;

use super::{missed, not_found, some_of};
use crate::doctor::check::{Check, Finding, Group, State};
use crate::doctor::observed::{
    Datacenter, Datastore, Folder, Inventory, Miss, Network, Pool, PoolUsage, Reach, Sought,
};
use crate::doctor::scope::Source;

/// A datastore with less than this part of its space left is warned about.
const SCARCE_PERCENT: i64 = 10;
/// A pool that uses this part of what it may is warned about.
const BUSY_PERCENT: i64 = 90;

pub(super) fn checks(sought: &Inventory, source: Source) -> Vec<Check> {
    let reach = pool_reach(sought.pool.as_ref());
    let astray = matches!(sought.datacenter, Datacenter::Missing(_));
    let check = |name, about: Option<&str>, finding| Check::new(Group::Places, name, about, finding);
    let mut checks =
        vec![check("datacenter", datacenter_name(&sought.datacenter), datacenter(&sought.datacenter))];
    checks.push(one("datastore", source.datastore(), sought.datastore.as_ref(), astray, |found| {
        datastore(found, reach)
    }));
    for network in &sought.networks {
        let finding = judged(network, astray, |found| self::network(found, reach));
        checks.push(check("network", Some(&network.name), finding));
    }
    if sought.networks.is_empty() {
        checks.push(check("network", None, unnamed(source.network())));
    }
    checks.push(one("resource pool", source.pool(), sought.pool.as_ref(), astray, self::pool));
    checks.push(one("folder", source.folder(), sought.folder.as_ref(), astray, folder));
    checks
}

pub(super) fn unnamed(how: &str) -> Finding {
    Finding::skipped(format!("not checked, because none is named ({how})"))
}

/// A check of something that may be named once.
fn one<T>(
    name: &'static str,
    how: &str,
    sought: Option<&Sought<T>>,
    astray: bool,
    judge: impl FnOnce(&T) -> Finding,
) -> Check {
    let finding = sought.map_or_else(|| unnamed(how), |sought| judged(sought, astray, judge));
    Check::new(Group::Places, name, sought.map(|sought| sought.name.as_str()), finding)
}

/// Without its datacenter (`astray`) a name is looked for everywhere, and may well be there more than once.
pub(super) fn judged<T>(sought: &Sought<T>, astray: bool, judge: impl FnOnce(&T) -> Finding) -> Finding {
    match &sought.found {
        Ok(found) => judge(found),
        Err(Miss::Place(FindError::Ambiguous { .. }) | Miss::Vms(_)) if astray => {
            Finding::skipped("not checked, because several have this name, and the datacenter is not known")
        }
        Err(miss) => missed(&sought.name, miss),
    }
}

fn datacenter_name(datacenter: &Datacenter) -> Option<&str> {
    match datacenter {
        Datacenter::Missing(FindError::Missing { name, .. } | FindError::Ambiguous { name, .. }) => {
            Some(name)
        }
        Datacenter::Missing(FindError::NoDefault { .. }) | Datacenter::One(_) | Datacenter::All(_) => None,
    }
}

fn datacenter(datacenter: &Datacenter) -> Finding {
    match datacenter {
        Datacenter::One(path) => Finding::ok(path.clone()),
        Datacenter::All(paths) if paths.is_empty() => Finding::problem(
            "this user can see none",
            "give the user at least the role \"Read-only\" on a datacenter",
        ),
        Datacenter::All(paths) => Finding::ok(format!("none is named, so all: {}", some_of(paths))),
        Datacenter::Missing(error) => not_found(error),
    }
}

/// Two findings about one thing: as bad as the worse, which speaks first.
fn worse(one: Finding, other: Finding) -> Finding {
    let rank = |finding: &Finding| match finding.state {
        State::Ok | State::Skipped => 0,
        State::Warning => 1,
        State::Problem => 2,
    };
    let (worst, milder) = if rank(&other) > rank(&one) { (other, one) } else { (one, other) };
    let seen = format!("{}; {}", worst.seen, milder.seen);
    let advice = match (worst.advice, milder.advice) {
        (Some(one), Some(other)) => Some(format!("{one}; {other}")),
        (advice, other) => advice.or(other),
    };
    Finding { state: worst.state, seen, advice }
}

/// What is known of what the hosts of the pool reach.
#[derive(Debug, Clone, Copy)]
enum PoolReach<'a> {
    NoPoolNamed,
    Unknown,
    Known(&'a Reach),
}

fn pool_reach(pool: Option<&Sought<Pool>>) -> PoolReach<'_> {
    let Some(pool) = pool else { return PoolReach::NoPoolNamed };
    let found = pool.found.as_ref().ok().and_then(|pool| pool.reach.as_ref().ok());
    found.map_or(PoolReach::Unknown, PoolReach::Known)
}

fn datastore(datastore: &Datastore, reach: PoolReach<'_>) -> Finding {
    let own = space(datastore);
    let reached = match reach {
        PoolReach::Known(reach) => reach.datastores.as_ref(),
        PoolReach::NoPoolNamed | PoolReach::Unknown => None,
    };
    match (reached, &datastore.members) {
        (Some(reached), Some(members)) if !members.iter().any(|member| reached.contains(member)) => worse(
            own,
            Finding::problem(
                "no host of the resource pool reaches it",
                "choose a datastore that its hosts share",
            ),
        ),
        (_, _) => own,
    }
}

fn space(datastore: &Datastore) -> Finding {
    let is_cluster = datastore.id.kind() == "StoragePod";
    if datastore.members.as_ref().is_some_and(Vec::is_empty) {
        return Finding::problem(
            format!("{} is a cluster without datastores", datastore.path),
            "put datastores into it, or name another one",
        );
    }
    if datastore.accessible == Some(false) {
        return Finding::problem(
            format!("{} is not accessible: no host reaches it", datastore.path),
            "look after the storage, or name another datastore",
        );
    }
    if let Some(mode) = datastore.maintenance.as_deref().filter(|mode| *mode != "normal") {
        return Finding::problem(
            format!("{} is in maintenance ({mode})", datastore.path),
            "end the maintenance mode, or name another datastore",
        );
    }
    let (Some(capacity), Some(free)) = (datastore.capacity, datastore.free) else {
        return Finding::warning(
            format!("{}; vCenter does not tell how much space it has", datastore.path),
            "the user's role may lack System.Read on it",
        );
    };
    let seen = format!("{}, {} free of {}", datastore.path, gib(free), gib(capacity));
    if free.saturating_mul(100) < capacity.saturating_mul(SCARCE_PERCENT) {
        Finding::warning(
            format!("{seen}: less than {SCARCE_PERCENT} %"),
            "remove what is not needed, or add space",
        )
    } else if datastore.accessible.is_none() && !is_cluster {
        Finding::warning(
            format!("{seen}; vCenter does not tell whether it is accessible"),
            "look at it in vCenter",
        )
    } else {
        Finding::ok(seen)
    }
}

fn gib(bytes: i64) -> String {
    format!("{} GiB", bytes >> 30)
}

fn network(network: &Network, reach: PoolReach<'_>) -> Finding {
    let path = &network.path;
    let (hosts, reached) = match reach {
        PoolReach::NoPoolNamed => {
            return Finding::ok(format!("{path}; name a resource pool to see whether its hosts have it"));
        }
        PoolReach::Known(Reach { hosts: Some(hosts), networks: Some(reached), .. }) => (hosts, reached),
        PoolReach::Known(_) | PoolReach::Unknown => {
            return Finding::ok(format!(
                "{path}; whether the hosts of the resource pool have it is not known"
            ));
        }
    };
    if !reached.contains(&network.id) {
        return Finding::problem(
            format!("{path}; no host of the resource pool has it"),
            "choose a network that its hosts have, or add it to them",
        );
    }
    let without = hosts.iter().filter(|host| !network.hosts.contains(host)).count();
    // Some servers do not list the hosts of a network.
    if network.hosts.is_empty() || without == 0 {
        return Finding::ok(format!("{path}, on the hosts of the resource pool"));
    }
    Finding::warning(
        format!("{path}; {without} of the {} hosts of the resource pool lack it", hosts.len()),
        "add it to all of them, or VMs cannot be placed or moved there",
    )
}

fn pool(pool: &Pool) -> Finding {
    let path = &pool.path;
    let own = match pool.status.as_deref() {
        Some("red") => {
            Finding::problem(format!("{path}; vCenter shows it in red"), "look at its alarms in vCenter")
        }
        Some("yellow") => {
            Finding::warning(format!("{path}; vCenter shows it in yellow"), "look at its alarms in vCenter")
        }
        Some(_) => Finding::ok(path.clone()),
        None => Finding::warning(
            format!("{path}; vCenter does not tell its status"),
            "the user's role may lack System.Read on it",
        ),
    };
    let own = match exhausted(pool) {
        Some(finding) => worse(own, finding),
        None => own,
    };
    match &pool.reach {
        Ok(Reach { usable_hosts: Some(0), .. }) => worse(
            own,
            Finding::problem(
                "none of its hosts can run VMs",
                "end maintenance modes, or reconnect the hosts",
            ),
        ),
        Ok(_) => own,
        Err(error) => worse(
            own,
            super::problem_of_call(
                "its cluster or host cannot be read",
                error,
                "the user's role lacks System.Read on it",
            ),
        ),
    }
}

fn exhausted(pool: &Pool) -> Option<Finding> {
    let busy = |usage: PoolUsage| {
        let (used, most) = (usage.used?, usage.most.filter(|most| *most > 0)?);
        (used.saturating_mul(100) >= most.saturating_mul(BUSY_PERCENT)).then_some((used, most))
    };
    let cpu = busy(pool.cpu).map(|(used, most)| format!("{used} of {most} MHz"));
    let memory = busy(pool.memory).map(|(used, most)| format!("{} of {} MiB", used >> 20, most >> 20));
    let full: Vec<_> = cpu.into_iter().chain(memory).collect();
    (!full.is_empty()).then(|| {
        Finding::warning(
            format!("{} are in use", full.join(" and ")),
            "raise its limits, or stop what is not needed",
        )
    })
}

fn folder(folder: &Folder) -> Finding {
    match &folder.holds {
        Some(classes) if classes.iter().any(|class| class == "VirtualMachine") => {
            Finding::ok(folder.path.clone())
        }
        Some(_) => Finding::problem(
            format!("{} is no folder for VMs", folder.path),
            "give the path of one below the datacenter's folder \"vm\"",
        ),
        None => Finding::warning(
            format!("{}; vCenter does not tell what may be in it", folder.path),
            "the user's role may lack System.Read on it",
        ),
    }
}

#[cfg(test)]
mod tests;
