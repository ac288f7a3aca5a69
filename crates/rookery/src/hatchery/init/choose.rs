//! Where VMs go and what they are cloned from: what was named, or the only one there is. Pure.

use rookery_vim::MoRef;
use rookery_vim_client::{FindError, Kind, Place, Places};

/// It is not clear which one is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unclear {
    pub(super) why: String,
    /// From which it can be chosen.
    pub(super) candidates: Vec<String>,
}

/// The place of a kind by the shortest name that leads to it alone; none if there is nothing to choose from, and clones keep
/// what their template has.
pub(super) fn choose_place(
    places: &Places,
    kind: Kind,
    given: Option<&str>,
    within: &MoRef,
) -> Result<Option<String>, Unclear> {
    let short = |path: &str| shortest(path, |name| places.find(kind, Some(name), within).is_ok());
    let error = match places.find(kind, given, within) {
        // What somebody has written stays as it is.
        Ok(place) => return Ok(Some(given.map_or_else(|| short(&path(places, place)), str::to_owned))),
        Err(error) => error,
    };
    let why = error.to_string();
    let candidates = match error {
        FindError::NoDefault { candidates, .. }
            if candidates.is_empty() && matches!(kind, Kind::Datastore | Kind::Network) =>
        {
            return Ok(None);
        }
        FindError::NoDefault { candidates, .. } | FindError::Ambiguous { candidates, .. } => candidates,
        FindError::Missing { existing, .. } => existing,
    };
    let candidates: Vec<String> = candidates.iter().map(|path| short(path)).collect();
    let why = match given {
        None if candidates.is_empty() => "vCenter shows none".to_owned(),
        None => format!("there are several: {}", candidates.join(", ")),
        Some(_) => why,
    };
    Err(Unclear { why, candidates })
}

fn path(places: &Places, place: &Place) -> String {
    places.path(&place.id)
}

/// The shortest end of a path that is enough.
fn shortest(path: &str, is_enough: impl Fn(&str) -> bool) -> String {
    let starts = path.rmatch_indices('/').map(|(at, _)| at + 1);
    let ends = starts.filter_map(|start| path.get(start..));
    let mut enough = ends.filter(|end| !end.is_empty() && is_enough(end));
    enough.next().unwrap_or(path).to_owned()
}

/// The templates whose guests are logged in to.
pub(super) fn choose_templates(named: &[String], there: &[String]) -> Result<Vec<String>, Unclear> {
    let unclear = |why: String| Err(Unclear { why, candidates: there.to_vec() });
    let list = || if there.is_empty() { "none".to_owned() } else { there.join(", ") };
    let missing: Vec<_> = named.iter().filter(|name| !there.contains(name)).collect();
    match (named, there, missing.as_slice()) {
        (_, _, [missing, ..]) => unclear(format!("there is no template {missing:?}; there are: {}", list())),
        ([], [only], []) => Ok(vec![only.clone()]),
        ([], [], []) => {
            unclear("vCenter shows no template, and workers are cloned from templates".to_owned())
        }
        ([], _, []) => unclear(format!("there are several: {}", list())),
        (named, _, []) => Ok(named.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_named_by_as_little_of_its_path_as_is_enough() {
        let check = |path: &str, enough: &[&str], expected: &str| {
            assert_eq!(shortest(path, |end| enough.contains(&end)), expected);
        };
        check("/DC0/network/ci", &["ci", "network/ci"], "ci");
        check("/DC0/host/blade/Resources", &["blade/Resources"], "blade/Resources");
        check("/DC0/host/blade/Resources", &[], "/DC0/host/blade/Resources");
    }

    #[test]
    fn the_only_template_is_taken_and_others_have_to_be_named() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let check = |named: &[&str], there: &[&str], expected: Result<&[&str], &str>| {
            let found = choose_templates(&names(named), &names(there)).map_err(|unclear| unclear.why);
            assert_eq!(found, expected.map(names).map_err(str::to_owned));
        };
        check(&[], &["a"], Ok(&["a"]));
        check(&["b"], &["a", "b"], Ok(&["b"]));
        check(&[], &["a", "b"], Err("there are several: a, b"));
        check(&["c"], &["a", "b"], Err("there is no template \"c\"; there are: a, b"));
        check(&[], &[], Err("vCenter shows no template, and workers are cloned from templates"));
    }
}
