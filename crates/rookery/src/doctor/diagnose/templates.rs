//! What VMs would be cloned from.

use super::places::{judged, unnamed};
use crate::doctor::check::{Check, Finding, Group};
use crate::doctor::observed::{Datacenter, Datastore, Inventory, Template, Tools};
use crate::doctor::scope::Source;

pub(super) fn checks(sought: &Inventory, source: Source) -> Vec<Check> {
    let check = |name, about: Option<&str>, finding| Check::new(Group::Templates, name, about, finding);
    if sought.templates.is_empty() {
        return vec![check("template", None, unnamed(source.template()))];
    }
    let astray = matches!(sought.datacenter, Datacenter::Missing(_));
    let datastore = sought.datastore.as_ref().and_then(|sought| sought.found.as_ref().ok());
    let mut checks = Vec::new();
    for template in &sought.templates {
        let about = Some(template.name.as_str());
        checks.push(check("template", about, judged(template, astray, |seen| found(seen, &template.name))));
        let Ok(seen) = &template.found else { continue };
        checks.push(check("VMware Tools", about, tools(&seen.tools)));
        checks.push(check("snapshot", about, snapshot(seen, &template.name)));
        checks.push(check("disks", about, disks(seen, datastore)));
        checks.push(check("network cards", about, cards(seen)));
    }
    checks
}

fn found(template: &Template, name: &str) -> Finding {
    let path = &template.path;
    match (template.marked, template.power.as_deref()) {
        (Some(true), _) => Finding::ok(format!("{path}, a template")),
        (Some(false), Some("poweredOff")) => Finding::ok(format!("{path}, a VM that is off")),
        (Some(false), Some(power)) => Finding::warning(
            format!("{path}, a VM that is {}: its clones begin as after a power cut", power_word(power)),
            format!("`rookery vm power off {}`", quoted(name, template)),
        ),
        (Some(false), None) | (None, _) => Finding::warning(
            format!("{path}; vCenter does not tell what state it is in"),
            "it may still be being made; try again",
        ),
    }
}

fn power_word(power: &str) -> &str {
    if power == "poweredOn" { "on" } else { power }
}

fn tools(tools: &Tools) -> Finding {
    let by_version = tools.version.map(|version| version > 0);
    let by_status = |status: &Option<String>, absent: &str| status.as_deref().map(|status| status != absent);
    let told = [
        by_version,
        by_status(&tools.version_status, "guestToolsNotInstalled"),
        by_status(&tools.status, "toolsNotInstalled"),
    ];
    // Any trace of them will do: servers do not keep all three up to date for a VM that is off.
    if told.contains(&Some(true)) {
        return installed(tools);
    }
    let advice = "install open-vm-tools (or VMware Tools) in it: without them no address is seen and nothing can be started in the guest";
    if told.contains(&Some(false)) {
        Finding::problem("not installed", advice)
    } else {
        Finding::warning("vCenter does not tell whether they are installed", advice)
    }
}

fn installed(tools: &Tools) -> Finding {
    match tools.version_status.as_deref() {
        Some(status @ ("guestToolsTooOld" | "guestToolsBlacklisted")) => {
            Finding::warning(format!("installed, but {status}"), "update them in the template")
        }
        Some(_) | None => Finding::ok("installed"),
    }
}

fn snapshot(template: &Template, name: &str) -> Finding {
    let advice = match template.marked {
        Some(true) => {
            "make it a VM again, take one with `rookery vm snapshot take`, and make it a template once more"
                .to_owned()
        }
        Some(false) | None => format!("`rookery vm snapshot take {} base`", quoted(name, template)),
    };
    match template.snapshot {
        Some(true) => Finding::ok("there is one, linked clones are possible"),
        Some(false) => {
            Finding::warning("there is none: every clone is a full copy, which takes long", advice)
        }
        None => Finding::warning("vCenter does not tell whether there is one", advice),
    }
}

/// A name that a shell takes as one word, or the id.
fn quoted<'a>(name: &'a str, template: &'a Template) -> &'a str {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.is_empty() && name.chars().all(plain) { name } else { template.id.id() }
}

fn disks(template: &Template, wanted: Option<&Datastore>) -> Finding {
    let (Some(disks), Some(datastores)) = (template.disks, &template.datastores) else {
        return Finding::warning(
            "vCenter does not tell where they are",
            "the user's role may lack System.Read on it",
        );
    };
    let names: Vec<_> = datastores.iter().map(|(_, name)| name.as_str()).collect();
    let seen =
        format!("{disks} on {}", if names.is_empty() { "no datastore".to_owned() } else { names.join(", ") });
    if disks == 0 {
        return Finding::warning(
            format!("{seen}: there is nothing to start from"),
            "add a disk with a system on it",
        );
    }
    let elsewhere = |wanted: &&Datastore| {
        let members = wanted.members.as_ref();
        members.is_some_and(|members| !datastores.iter().all(|(id, _)| members.contains(id)))
    };
    match wanted.filter(elsewhere) {
        Some(wanted) => Finding::warning(
            format!("{seen}, not on {}: a linked clone would need both", wanted.path),
            "move it to the datastore that clones go to, or let every clone be a full copy",
        ),
        None => Finding::ok(seen),
    }
}

fn cards(template: &Template) -> Finding {
    match template.cards.as_deref() {
        Some([]) => Finding::warning("none: clones will have no address", "add a network card to it"),
        Some(classes) => Finding::ok(format!("{}: {}", classes.len(), classes.join(", "))),
        None => Finding::warning("vCenter does not tell", "the user's role may lack System.Read on it"),
    }
}

#[cfg(test)]
mod tests;
