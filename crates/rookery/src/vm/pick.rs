//! The one VM that is meant by a name or an id.

use std::sync::Arc;

use rookery_vim_client::Vm;

use crate::exit::Exit;

/// How much of a name must agree for it to be suggested, from 0 to 1.
const SIMILAR: f64 = 0.8;
const SUGGESTIONS: usize = 3;

/// Why it is not clear which VM is meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PickError {
    #[error("there is no VM {given:?}{}", suggestion(given, similar))]
    Unknown {
        given: String,
        /// Names that may have been meant, the nearest first.
        similar: Vec<String>,
    },
    #[error("{given:?} may mean several VMs, give the id of one: {}", candidates.join(", "))]
    Ambiguous {
        given: String,
        /// The VMs that it may mean.
        candidates: Vec<String>,
    },
}

/// The VM with this name or id.
///
/// An id counts as much as a name: a VM that is named like the id of another one makes both ambiguous, so that nothing
/// is done to the wrong one. `VirtualMachine:vm-63` is always an id.
pub fn pick<'a>(vms: impl IntoIterator<Item = &'a Arc<Vm>>, given: &str) -> Result<&'a Arc<Vm>, PickError> {
    let vms: Vec<_> = vms.into_iter().collect();
    let meant: Vec<_> = vms.iter().copied().filter(|vm| is_meant(vm, given)).collect();
    match meant.as_slice() {
        [one] => Ok(one),
        [] => Err(PickError::Unknown { given: given.to_owned(), similar: similar(&vms, given) }),
        [_, _, ..] => Err(PickError::Ambiguous {
            given: given.to_owned(),
            candidates: meant.into_iter().map(|vm| candidate(vm, given)).collect(),
        }),
    }
}

/// The VMs that are meant, each once, or every reason why one of them is unclear.
pub(super) fn pick_all(vms: &[&Arc<Vm>], given: &[String]) -> anyhow::Result<Vec<Arc<Vm>>> {
    let mut chosen: Vec<Arc<Vm>> = Vec::new();
    let mut unclear: Vec<PickError> = Vec::new();
    for given in given {
        match pick(vms.iter().copied(), given) {
            Ok(vm) if chosen.iter().any(|known| known.id == vm.id) => {}
            Ok(vm) => chosen.push(Arc::clone(vm)),
            Err(error) => unclear.push(error),
        }
    }
    if unclear.is_empty() {
        return Ok(chosen);
    }
    let reasons: Vec<_> = unclear.iter().map(ToString::to_string).collect();
    Err(Exit::Unclear.because(reasons.join("\n       ")).context("nothing was changed"))
}

fn is_meant(vm: &Vm, given: &str) -> bool {
    vm.name == given || vm.id.id() == given || vm.id.to_string() == given
}

fn candidate(vm: &Vm, given: &str) -> String {
    let id = if vm.id.id() == given { vm.id.to_string() } else { vm.id.id().to_owned() };
    let folder = vm.parent.as_ref().map(|parent| format!(" in folder {}", parent.id())).unwrap_or_default();
    if vm.name == given { format!("{id}{folder}") } else { format!("{id} named {:?}{folder}", vm.name) }
}

fn similar(vms: &[&Arc<Vm>], given: &str) -> Vec<String> {
    let folded = given.to_lowercase();
    let score = |name: &str| strsim::jaro_winkler(&name.to_lowercase(), &folded);
    let mut near: Vec<_> = vms.iter().map(|vm| (score(&vm.name), &vm.name)).collect();
    near.retain(|(score, _)| *score >= SIMILAR);
    near.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.cmp(other)));
    near.dedup_by(|(_, one), (_, other)| one == other);
    near.into_iter().take(SUGGESTIONS).map(|(_, name)| name.clone()).collect()
}

fn suggestion(given: &str, similar: &[String]) -> String {
    if given.contains(['*', '?']) {
        return format!(
            "; names are taken literally here: `rookery vm ls '{given}'` lists the VMs that fit a pattern, and \
             --all-matching, where a command has it, takes them all"
        );
    }
    let quoted: Vec<_> = similar.iter().map(|name| format!("{name:?}")).collect();
    if quoted.is_empty() { String::new() } else { format!("; did you mean {}?", quoted.join(" or ")) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{shared, vm};
    use super::*;

    fn check(given: &str, expected: Result<&str, &str>) {
        let vms = shared([
            vm("vm-1", "web-1"),
            vm("vm-2", "web-2"),
            vm("vm-3", "twin"),
            vm("vm-4", "twin"),
            vm("vm-5", "vm-6"),
            vm("vm-6", "100% / größe"),
        ]);
        let found = pick(&vms, given).map(|vm| vm.id.id().to_owned()).map_err(|error| error.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn a_name_or_an_id_picks_one() {
        check("web-1", Ok("vm-1"));
        check("vm-2", Ok("vm-2"));
        check("100% / größe", Ok("vm-6"));
        check("VirtualMachine:vm-6", Ok("vm-6"));
    }

    #[test]
    fn what_may_mean_several_is_refused_with_their_ids() {
        check(
            "twin",
            Err(
                "\"twin\" may mean several VMs, give the id of one: vm-3 in folder group-v3, vm-4 in folder group-v3",
            ),
        );
        check(
            "vm-6",
            Err(
                "\"vm-6\" may mean several VMs, give the id of one: vm-5 in folder group-v3, VirtualMachine:vm-6 \
                 named \"100% / größe\" in folder group-v3",
            ),
        );
    }

    #[test]
    fn a_slip_is_answered_with_what_may_have_been_meant() {
        check("wbe-1", Err("there is no VM \"wbe-1\"; did you mean \"web-1\" or \"web-2\"?"));
        check("WEB-2", Err("there is no VM \"WEB-2\"; did you mean \"web-2\" or \"web-1\"?"));
        check("database", Err("there is no VM \"database\""));
        check(
            "web-*",
            Err(
                "there is no VM \"web-*\"; names are taken literally here: `rookery vm ls 'web-*'` lists the VMs \
                 that fit a pattern, and --all-matching, where a command has it, takes them all",
            ),
        );
    }

    fn check_all(given: &[&str], expected: Result<&[&str], &str>) {
        let vms = shared([vm("vm-1", "web-1"), vm("vm-2", "web-2")]);
        let given: Vec<_> = given.iter().map(|name| (*name).to_owned()).collect();
        let chosen = pick_all(&vms.iter().collect::<Vec<_>>(), &given);
        let chosen = chosen.map(|vms| vms.iter().map(|vm| vm.id.id().to_owned()).collect::<Vec<_>>());
        let chosen = chosen.map_err(|error| format!("{error:#}"));
        assert_eq!(
            chosen,
            expected.map(|ids| ids.iter().map(|id| (*id).to_owned()).collect()).map_err(str::to_owned)
        );
    }

    #[test]
    fn each_vm_is_taken_once_in_the_order_given() {
        check_all(&["web-2", "vm-1", "web-1"], Ok(&["vm-2", "vm-1"]));
    }

    #[test]
    fn one_unclear_name_spares_all() {
        check_all(
            &["web-1", "wbe-2", "x"],
            Err(
                "nothing was changed: there is no VM \"wbe-2\"; did you mean \"web-2\" or \"web-1\"?\n       there is no VM \"x\"",
            ),
        );
    }
}
