//! What sample jobs run on in a real vCenter: from what was said and what is there. Pure.

use std::collections::{BTreeMap, BTreeSet};

use rookery_cds_sim::{CodeModel, Protocol};
use rookery_daemon::settings::Problems;
use rookery_fleet_vsphere::site::SiteProblem;

/// The path of sample models.
const REPOSITORY: &str = "DEMO/github/rookery/samples";
/// If the vCenter has no more templates than this, sample jobs use all of them; otherwise the user names some.
const MOST: usize = 4;

/// What the user asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Requested {
    /// Templates that the hatchery's file names, if there is one.
    pub(super) file: Option<BTreeSet<String>>,
    /// Those of them whose guest credentials the file has.
    pub(super) known_guests: BTreeSet<String>,
    /// Templates named by flags.
    pub(super) templates: Vec<String>,
    /// Whether there are guest credentials for all other templates.
    pub(super) guest: bool,
    pub(super) datacenter: Option<String>,
    /// The hatchery's name if the file gives it: another hatchery may own machines of that name, which must not be touched.
    pub(super) spared: Option<String>,
}

/// What the vCenter has.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub(super) datacenters: Vec<String>,
    /// Placement settings that match no object, or several.
    pub(super) unclear: Vec<SiteProblem>,
    /// Templates of the one that was named, or of all.
    pub(super) templates: BTreeSet<String>,
    /// Machines that bear the hatchery's name, templates aside.
    pub(super) owned: Vec<String>,
}

/// What sample jobs use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) datacenter: String,
    pub(super) templates: Vec<String>,
    /// Those whose guest credentials the file does not have.
    pub(super) unknown_guests: Vec<String>,
}

/// Chooses, or returns everything that the user has to specify.
pub(super) fn choose(said: &Requested, seen: &Found) -> Result<Choice, Problems> {
    let mut problems = Problems::new();
    let datacenter = datacenter(said, seen, &mut problems);
    // The datacenter was checked above.
    for SiteProblem { setting, problem } in
        seen.unclear.iter().filter(|one| one.setting != "datacenterString")
    {
        let place = place(said);
        problems.push(*setting, format!("{problem}; write it {place}:\n    {setting} = \"…\""));
    }
    if let Some(name) = said.spared.as_ref().filter(|_| !seen.owned.is_empty()) {
        problems.push("commonConfiguration.name", owned_already(name, &seen.owned));
    }
    let templates = templates(said, seen, &mut problems);
    let unknown_guests: Vec<String> =
        templates.iter().filter(|name| !said.known_guests.contains(*name)).cloned().collect();
    if !said.guest && (!unknown_guests.is_empty() || said.known_guests.is_empty()) {
        problems.push("guest", who_enters(said, &unknown_guests));
    }
    match datacenter {
        Some(datacenter) if problems.is_empty() => Ok(Choice { datacenter, templates, unknown_guests }),
        _ => Err(problems),
    }
}

fn datacenter(said: &Requested, seen: &Found, problems: &mut Problems) -> Option<String> {
    if said.datacenter.is_some() {
        return said.datacenter.clone();
    }
    let found = match seen.datacenters.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err("the vCenter shows none".to_owned()),
        several => Err(format!("there are several: {}; name one with --datacenter", several.join(", "))),
    };
    problems.keep("datacenter", found)
}

fn owned_already(name: &str, machines: &[String]) -> String {
    let more = if machines.len() > MOST { ", …" } else { "" };
    let named = machines.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    format!(
        "the vCenter has machines of hatchery {name:?} already: {named}{more}. The simulated CDS knows none of their jobs, \
         so that they would be deleted. Write another name into the file; or, if nothing else uses this one, --take-over \
         goes on"
    )
}

fn templates(said: &Requested, seen: &Found, problems: &mut Problems) -> Vec<String> {
    let named: BTreeSet<String> = if said.templates.is_empty() {
        said.file.clone().unwrap_or_default()
    } else {
        said.templates.iter().cloned().collect()
    };
    let there = list(&seen.templates);
    if named.is_empty() {
        match seen.templates.len() {
            0 => problems.push("template", "the vCenter has no template, and clones need one"),
            1..=MOST => return seen.templates.iter().cloned().collect(),
            _ => problems.push("template", format!("there are many; --template picks one of {there}")),
        }
        return Vec::new();
    }
    for missing in named.difference(&seen.templates) {
        problems.push("template", format!("the vCenter has no template {missing:?}; it has {there}"));
    }
    named.intersection(&seen.templates).cloned().collect()
}

/// Which guest credentials to provide.
fn who_enters(said: &Requested, templates: &[String]) -> String {
    let entry = |name: &String| {
        format!(
            "\n    [[guestCredentials]]\n    modelVMWare = {name:?}\n    username = \"…\"\n    password = \"…\""
        )
    };
    let (place, some) = (place(said), ["TEMPLATE".to_owned()]);
    let entries: String = if templates.is_empty() { &some } else { templates }.iter().map(entry).collect();
    format!(
        "no guest credentials; give --guest-user and --guest-password-file (or GOVC_GUEST_LOGIN), or \
         write {place}:{entries}"
    )
}

fn place(said: &Requested) -> &'static str {
    if said.file.is_some() { "into the file of -c" } else { "into a file for -c" }
}

fn list(names: &BTreeSet<String>) -> String {
    if names.is_empty() { "none".to_owned() } else { names.iter().cloned().collect::<Vec<_>>().join(", ") }
}

/// The models of sample jobs: one for each template, named after it as far as the path of a model can be.
pub(super) fn models(templates: &[String]) -> Vec<CodeModel> {
    let mut taken = BTreeMap::<String, usize>::new();
    let model = |template: &String| {
        let legal = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        let name: String = template.chars().map(legal).collect();
        let count = taken.entry(name.to_lowercase()).or_default();
        *count += 1;
        let name = if *count == 1 { name } else { format!("{name}-{count}") };
        CodeModel::vsphere(&format!("{REPOSITORY}/{name}"), template)
    };
    templates.iter().map(model).collect()
}

/// What jobs ask for, in turns: each model by both protocols.
pub(super) fn kinds(models: &[CodeModel]) -> Vec<(Protocol, String)> {
    // Jobs of the first protocol may name a model of the second one, and its branch if that is not `master`.
    let of = |model: &CodeModel| {
        [(Protocol::V2, model.path.clone()), (Protocol::V1, format!("{}@{}", model.path, model.branch))]
    };
    models.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use rookery_vim_client::{FindError, Kind};

    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn seen(datacenters: &[&str], templates: &[&str]) -> Found {
        let datacenters = datacenters.iter().map(|name| (*name).to_owned()).collect();
        Found { datacenters, templates: set(templates), ..Found::default() }
    }

    fn check(said: &Requested, seen: &Found, expected: (&str, &[&str], &[&str])) {
        let chosen = choose(said, seen).expect("all is known");
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let (datacenter, templates, unknown_guests) = expected;
        let expected = Choice {
            datacenter: datacenter.to_owned(),
            templates: texts(templates),
            unknown_guests: texts(unknown_guests),
        };
        assert_eq!(chosen, expected, "{said:?} {seen:?}");
    }

    #[test]
    fn what_is_not_said_is_what_there_is() {
        let guest = Requested { guest: true, ..Requested::default() };
        let (one, two) = (seen(&["DC0"], &["a"]), seen(&["DC0", "DC1"], &["a", "b"]));
        check(&guest, &one, ("DC0", &["a"], &["a"]));
        let named = Requested { datacenter: Some("DC1".to_owned()), ..guest.clone() };
        check(&named, &two, ("DC1", &["a", "b"], &["a", "b"]));
        let picked = Requested { templates: vec!["b".to_owned()], ..named.clone() };
        check(&picked, &two, ("DC1", &["b"], &["b"]));
        let file = Requested {
            file: Some(set(&["a", "b"])),
            known_guests: set(&["a"]),
            datacenter: Some("DC1".to_owned()),
            ..guest
        };
        check(&file, &two, ("DC1", &["a", "b"], &["b"]));
        let known = Requested { guest: false, templates: vec!["a".to_owned()], ..file.clone() };
        check(&known, &two, ("DC1", &["a"], &[]));
        let silent = Requested { file: Some(set(&[])), known_guests: set(&[]), ..file };
        check(&silent, &two, ("DC1", &["a", "b"], &["a", "b"]));
    }

    fn refused(said: &Requested, seen: &Found) -> String {
        choose(said, seen).expect_err("something is missing").to_string()
    }

    #[test]
    fn all_that_is_missing_is_told_at_once_with_the_lines_to_write() {
        insta::assert_snapshot!(refused(&Requested::default(), &seen(&["DC0", "DC1"], &["deb"])), @r#"
        2 problems in the settings:
          datacenter: there are several: DC0, DC1; name one with --datacenter
          guest: no guest credentials; give --guest-user and --guest-password-file (or GOVC_GUEST_LOGIN), or write into a file for -c:
            [[guestCredentials]]
            modelVMWare = "deb"
            username = "…"
            password = "…"
        "#);
        insta::assert_snapshot!(refused(&Requested::default(), &seen(&[], &[])), @r#"
        3 problems in the settings:
          datacenter: the vCenter shows none
          template: the vCenter has no template, and clones need one
          guest: no guest credentials; give --guest-user and --guest-password-file (or GOVC_GUEST_LOGIN), or write into a file for -c:
            [[guestCredentials]]
            modelVMWare = "TEMPLATE"
            username = "…"
            password = "…"
        "#);
        let file = Requested {
            file: Some(set(&["a", "b"])),
            known_guests: set(&["a"]),
            datacenter: Some("DC0".to_owned()),
            ..Requested::default()
        };
        insta::assert_snapshot!(refused(&file, &seen(&["DC0"], &["b", "c"])), @r#"
        2 problems in the settings:
          template: the vCenter has no template "a"; it has b, c
          guest: no guest credentials; give --guest-user and --guest-password-file (or GOVC_GUEST_LOGIN), or write into the file of -c:
            [[guestCredentials]]
            modelVMWare = "b"
            username = "…"
            password = "…"
        "#);
        let many = Requested { guest: true, ..Requested::default() };
        insta::assert_snapshot!(refused(&many, &seen(&["DC0"], &["a", "b", "c", "d", "e"])), @r#"
        1 problem in the settings:
          template: there are many; --template picks one of a, b, c, d, e
        "#);
        let problem = FindError::NoDefault {
            kind: Kind::Network,
            candidates: vec!["/DC0/network/a".to_owned(), "/DC0/network/b".to_owned()],
        };
        let unclear = vec![SiteProblem { setting: "networkString", problem }];
        insta::assert_snapshot!(refused(&many, &Found { unclear, ..seen(&["DC0"], &["a"]) }), @r#"
        1 problem in the settings:
          networkString: name a network, there is no obvious one: /DC0/network/a, /DC0/network/b; write it into a file for -c:
            networkString = "…"
        "#);
    }

    #[test]
    fn machines_that_may_be_somebodys_are_spared() {
        let said = Requested { guest: true, spared: Some("prod".to_owned()), ..Requested::default() };
        let none = seen(&["DC0"], &["a"]);
        let some = Found { owned: vec!["worker-1".to_owned(), "worker-2".to_owned()], ..none.clone() };
        check(&said, &none, ("DC0", &["a"], &["a"]));
        check(&Requested { spared: None, ..said.clone() }, &some, ("DC0", &["a"], &["a"]));
        let refused = refused(&said, &some);
        assert!(refused.contains("\"prod\" already: worker-1, worker-2. "), "{refused}");
    }

    #[test]
    fn models_are_named_after_their_templates_and_never_alike() {
        let names = ["debian-12", "a b", "a/b", "A-B"].map(str::to_owned);
        let models = models(&names);
        let found: Vec<_> = models
            .iter()
            .map(|model| (model.name(), model.spec["image"].as_str().unwrap_or_default()))
            .collect();
        let expected = [("debian-12", "debian-12"), ("a-b", "a b"), ("a-b-2", "a/b"), ("A-B-3", "A-B")];
        assert_eq!(found, expected);
        let kinds = kinds(&models[..1]);
        let path = "DEMO/github/rookery/samples/debian-12";
        assert_eq!(kinds, [(Protocol::V2, path.to_owned()), (Protocol::V1, format!("{path}@main"))]);
    }
}
