//! What the machines of a vCenter say to the settings: addresses that are in use, and other hatcheries.

use std::collections::BTreeSet;
use std::time::Duration;

use rookery_daemon::Clock;
use rookery_daemon::telemetry::chain;
use rookery_fleet::OwnerId;
use rookery_fleet::address;
use rookery_fleet::address::Network;
use rookery_fleet_vsphere::sessions::{self, UnnamedSession};
use rookery_fleet_vsphere::{Candidate, Site, Vcenter};
use rookery_hatchery::machine::Observer;
use rookery_hatchery::machine::{Machine, View};
use rookery_hatchery::mark;
use rookery_hatchery::run::{PRODUCT, site_names};
use rookery_hatchery::settings::Settings;
use rookery_hatchery::standing::{Standing, standing};
use rookery_vim_client::{Client, Snapshot};
use tokio::time::timeout;

use crate::doctor::{Check, Finding, Group};

/// How long the machines may take to be listed.
const LOAD: Duration = Duration::from_mins(2);
/// How many machines are named.
const NAMED: usize = 5;

pub(super) async fn checks(vcenter: &Vcenter, settings: &Settings) -> Vec<Check> {
    let check = |name, finding| Check::new(Group::Places, name, None, finding);
    let mut checks = Vec::new();
    let client = vcenter.client();
    match Site::find(client, &site_names(settings)).await {
        Ok(site) => {
            checks.push(check("site", Finding::ok("folder, pool, datastore and network are there")));
            checks.push(check("addresses", addresses(vcenter, &site, settings).await));
        }
        Err(error) => {
            checks.push(check("site", Finding::problem(chain(&error), "correct the names in the file")));
            checks.push(check(
                "addresses",
                Finding::skipped("not checked, because it is not known where VMs go"),
            ));
        }
    }
    let [others, go] = hatcheries(client, &settings.identity.name).await;
    checks.push(check("other hatcheries", others));
    checks.push(check("Go hatchery", go));
    checks
}

async fn addresses(vcenter: &Vcenter, site: &Site, settings: &Settings) -> Finding {
    let networks = &settings.addresses.networks;
    if networks.is_empty() {
        return Finding::ok("from DHCP");
    }
    let inventory = vcenter.inventory(&site.datacenter, &BTreeSet::new());
    if !matches!(timeout(LOAD, inventory.until(Snapshot::is_complete)).await, Ok(Ok(_))) {
        let seen = "the machines cannot be listed: which addresses are free is not known";
        return Finding::problem(seen, "the user needs at least the role \"Read-only\" on the datacenter");
    }
    let view = Observer::new(inventory, mark::recogniser()).view(Clock::system().now());
    judge(&view, networks, &settings.identity.owner)
}

fn judge(view: &View, networks: &[Network], owner: &OwnerId) -> Finding {
    let none = BTreeSet::new();
    let ours: BTreeSet<_> = address::free(networks, &none).map(|assigned| assigned.ip).collect();
    let used = address::seen(view).intersection(&ours).count();
    let foreign: Vec<&Machine> = view
        .iter()
        .filter(|machine| standing(machine, owner) == Standing::Foreign)
        .filter(|machine| address::of_machine(machine).any(|ip| ours.contains(&ip)))
        .collect();
    let seen = format!("{used} of {} are in use", ours.len());
    if !foreign.is_empty() {
        let named = foreign.iter().take(NAMED).map(|machine| whose(machine)).collect::<Vec<_>>().join(", ");
        let more = if foreign.len() > NAMED { ", …" } else { "" };
        let has_owner = |machine: &&Machine| machine.recognised.ownership.marked_by().is_some();
        let advice = if foreign.iter().any(has_owner) {
            "the ranges overlap: give each hatchery its own; one sees what another gives away only once its machine shows it"
        } else {
            "take those addresses out of the range; they are not given away while the machines are there"
        };
        return Finding::warning(format!("{seen}, some by machines of others: {named}{more}"), advice);
    }
    if used == ours.len() {
        return Finding::warning(seen, "no machine can be made until one goes");
    }
    Finding::ok(seen)
}

fn whose(machine: &Machine) -> String {
    match machine.recognised.ownership.marked_by() {
        Some(owner) => format!("{} ({} {owner})", machine.name, owner.front()),
        None => machine.name.clone(),
    }
}

/// Other hatcheries of that name, and Go hatcheries, which do not tell their names.
async fn hatcheries(client: &Client, name: &str) -> [Finding; 2] {
    match sessions::list(client, &PRODUCT, name).await {
        Ok(listing) => [others(&listing.candidates, name), go_hatcheries(&listing.nameless)],
        Err(error) => [
            Finding::warning(
                chain(&error),
                "grant it, or make sure that no other one of this name runs; `run --standby` needs it",
            ),
            Finding::skipped("not checked: make sure that no Go hatchery of this name runs"),
        ],
    }
}

fn others(hatcheries: &[Candidate], name: &str) -> Finding {
    let Some(other) = hatcheries.first() else {
        return Finding::ok(format!("none of the name {name:?} has a session"));
    };
    Finding::warning(
        format!(
            "one of the name {name:?} has a session: {}, from {}",
            other.instance,
            other.address.as_deref().unwrap_or("an unknown address")
        ),
        "if it is not the one that is meant, stop it; `run --standby` waits until it ends",
    )
}

fn go_hatcheries(sessions: &[UnnamedSession]) -> Finding {
    let Some(session) = sessions.first() else {
        return Finding::ok("no Go program has used vCenter as our user in the last 3 minutes");
    };
    Finding::warning(
        format!(
            "a Go program uses vCenter as our user: {}, from {}",
            session.user_agent,
            session.address.as_deref().unwrap_or("an unknown address")
        ),
        "a Go hatchery does not tell its name: if it is one of this name, stop it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;
    use rookery_fleet::{Ownership, Recognised};

    #[test]
    fn an_address_of_somebody_else_in_the_range_is_warned_about() {
        let network = Network {
            ranges: vec!["10.0.0.8/30".parse().unwrap()],
            prefix: 24,
            gateway: None,
            dns: Vec::new(),
        };
        let machine = |name: &str, ip: &str| Machine {
            name: name.to_owned(),
            role: rookery_fleet::Role::Vm,
            recognised: Recognised::nobody(),
            addresses: vec![ip.parse().unwrap()],
            ..Machine::blank(&rookery_fleet::MachineId::new(name))
        };
        let view =
            |machines: Vec<Machine>| View { machines: machines.into_iter().collect(), ..View::default() };
        let found = |view: &View| judge(view, std::slice::from_ref(&network), &mark::owner("h"));
        assert_eq!(found(&view(vec![machine("web", "10.0.0.7")])).seen, "0 of 4 are in use");
        let warned = found(&view(vec![machine("web", "10.0.0.9")]));
        assert_eq!(
            (warned.state, warned.seen.as_str()),
            (State::Warning, "1 of 4 are in use, some by machines of others: web")
        );
        let owned = |owner: &str| {
            let recognised = Recognised {
                ownership: Ownership::By(mark::owner(owner)),
                addresses: vec!["10.0.0.10".parse().unwrap()],
                mark: Some(Box::new(mark::Mark { hatchery_name: owner.to_owned(), ..mark::Mark::default() })),
                ..Recognised::nobody()
            };
            Machine { recognised, ..machine("w1", "10.9.9.9") }
        };
        let warned = found(&view(vec![owned("h2")]));
        assert_eq!(
            (warned.state, warned.seen.as_str()),
            (State::Warning, "1 of 4 are in use, some by machines of others: w1 (hatchery h2)")
        );
        assert!(warned.advice.is_some_and(|advice| advice.starts_with("the ranges overlap")));
        assert_eq!(found(&view(vec![owned("h")])).state, State::Ok);
    }
}
