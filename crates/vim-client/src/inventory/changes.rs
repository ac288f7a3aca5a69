//! What the answers to a long poll do to the rows. Pure: the watcher does the talking.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use imbl::OrdMap;
use rookery_vim::MoRef;
use rookery_vim::objects::{ObjectUpdate, ObjectUpdateKind, UpdateSet};
use tracing::warn;

use super::row::Vm;
use crate::extra_config::ExtraConfig;

/// All VMs, by reference. A copy shares all rows that have not changed since: among many thousand VMs a change costs
/// what has changed.
pub(super) type Rows = OrdMap<MoRef, Arc<Vm>>;

/// How far a watch has come.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The version of the last page; empty before the first one.
    pub(super) version: String,
    /// What the versions of whole answers have shown so far. Pages of one answer prove nothing: vcsim marks them, too.
    last_whole: Option<String>,
    advanced: bool,
    stood_still: bool,
    /// What entered in the pages of the current answer, and how much of that was known already.
    entered: BTreeSet<MoRef>,
    known_again: usize,
    /// The extra configuration of a VM that has entered, unless it says otherwise.
    extra: ExtraConfig,
}

/// What remains to be done after an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// More pages of the same answer follow.
    More,
    /// The rows are current, but for these: the server sent everything anew and did not mention them.
    Verify(Vec<MoRef>),
}

impl Progress {
    /// A watch that asks for these entries of VMs.
    pub(super) fn asking(extra: ExtraConfig) -> Self {
        Self { extra, ..Self::default() }
    }

    /// Whether a lost answer can be had again. A server whose versions stand still while things change has nothing
    /// to tell two answers apart by.
    pub(super) fn replays(&self) -> bool {
        self.advanced && !self.stood_still
    }

    pub(super) fn apply_page(&mut self, rows: &mut Rows, set: UpdateSet) -> Next {
        self.version = set.version;
        for update in set.filter_set.into_iter().flat_map(|filter| filter.object_set) {
            if update.kind == ObjectUpdateKind::Enter {
                self.known_again += usize::from(rows.contains_key(&update.obj));
                self.entered.insert(update.obj.clone());
            }
            self.apply_object(rows, update);
        }
        if set.truncated == Some(true) {
            return Next::More;
        }
        if let Some(last) = self.last_whole.replace(self.version.clone()) {
            let same = last == self.version;
            self.stood_still |= same;
            self.advanced |= !same;
        }
        Next::Verify(self.left_out(rows))
    }

    /// Some servers answer a change of the view by sending everything anew, and then forget to tell what left.
    fn left_out(&mut self, rows: &Rows) -> Vec<MoRef> {
        let entered = mem::take(&mut self.entered);
        let known_again = mem::take(&mut self.known_again);
        if known_again == 0 {
            return Vec::new();
        }
        let left_out: Vec<_> = rows.keys().filter(|id| !entered.contains(id)).cloned().collect();
        // One VM that enters again is not everything anew.
        if known_again >= left_out.len() { left_out } else { Vec::new() }
    }

    fn apply_object(&self, rows: &mut Rows, update: ObjectUpdate) {
        let id = update.obj.clone();
        match update.kind {
            // Also for VMs that are known: it replaces all that is known of them.
            ObjectUpdateKind::Enter => {
                let mut vm = Vm::asked_for(id.clone(), self.extra.clone());
                vm.apply(update);
                rows.insert(id, Arc::new(vm));
            }
            ObjectUpdateKind::Modify => {
                let row = rows.entry(id.clone()).or_insert_with(|| Arc::new(Vm::new(id)));
                Arc::make_mut(row).apply(update);
            }
            ObjectUpdateKind::Leave => {
                rows.remove(&id);
            }
            ObjectUpdateKind::Other(kind) => warn!(%kind, "unknown kind of update ignored"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rookery_vim::Node;
    use rookery_vim::objects::{PropertyChange, PropertyChangeOp, PropertyFilterUpdate};

    use super::*;
    use crate::extra_config::{ExtraConfigKey, ExtraValue};
    use crate::inventory::row::{PATHS, watched_paths};

    fn vm(number: u8) -> MoRef {
        MoRef::new("VirtualMachine", &format!("vm-{number}"))
    }

    fn update(kind: ObjectUpdateKind, number: u8, name: Option<&str>) -> ObjectUpdate {
        let val = name.map(|n| Node::leaf("val", "string", n));
        let change = PropertyChange { name: "name".into(), op: PropertyChangeOp::Assign, val };
        let change_set = if kind == ObjectUpdateKind::Leave { Vec::new() } else { vec![change] };
        ObjectUpdate { kind, obj: vm(number), change_set, missing_set: Vec::new() }
    }

    fn enter(number: u8) -> ObjectUpdate {
        update(ObjectUpdateKind::Enter, number, Some("entered"))
    }

    fn leave(number: u8) -> ObjectUpdate {
        update(ObjectUpdateKind::Leave, number, None)
    }

    fn page(version: &str, truncated: bool, objects: Vec<ObjectUpdate>) -> UpdateSet {
        let filter = MoRef::new("PropertyFilter", "f");
        let filter_set = vec![PropertyFilterUpdate { filter, object_set: objects, missing_set: Vec::new() }];
        UpdateSet { version: version.into(), filter_set, truncated: truncated.then_some(true) }
    }

    fn loaded(numbers: impl IntoIterator<Item = u8>) -> (Progress, Rows) {
        let (mut progress, mut rows) = (Progress::default(), Rows::new());
        progress.apply_page(&mut rows, page("1", false, numbers.into_iter().map(enter).collect()));
        (progress, rows)
    }

    #[test]
    fn an_enter_replaces_the_row_a_modify_changes_it_and_a_leave_removes_it() {
        let (mut progress, mut rows) = loaded([1, 2]);
        let modify = update(ObjectUpdateKind::Modify, 1, Some("renamed"));
        assert_eq!(
            progress.apply_page(&mut rows, page("2", false, vec![modify, leave(2)])),
            Next::Verify(vec![])
        );
        assert_eq!(rows.keys().collect::<Vec<_>>(), [&vm(1)]);
        assert_eq!(rows[&vm(1)].name, "renamed");
        let unset = update(ObjectUpdateKind::Enter, 1, None);
        progress.apply_page(&mut rows, page("3", false, vec![unset]));
        assert_eq!(rows[&vm(1)].name, "", "nothing of the old row is left");
    }

    #[test]
    fn everything_sent_anew_over_several_pages_leaves_the_unmentioned_to_be_verified() {
        let (mut progress, mut rows) = loaded(1..=5);
        assert_eq!(progress.apply_page(&mut rows, page("2", true, vec![enter(1), enter(2)])), Next::More);
        assert_eq!(
            progress.apply_page(&mut rows, page("3", false, vec![enter(4), enter(6)])),
            Next::Verify(vec![vm(3), vm(5)])
        );
        assert_eq!(rows.len(), 6, "nothing goes without proof");
        assert_eq!(progress.apply_page(&mut rows, page("4", false, vec![])), Next::Verify(vec![]));
    }

    #[test]
    fn one_vm_that_enters_again_casts_no_doubt_on_the_others() {
        let (mut progress, mut rows) = loaded(1..=5);
        assert_eq!(progress.apply_page(&mut rows, page("2", false, vec![enter(1)])), Next::Verify(vec![]));
        assert_eq!(progress.apply_page(&mut rows, page("3", false, vec![enter(9)])), Next::Verify(vec![]));
    }

    #[test]
    fn only_a_server_whose_versions_advance_is_trusted_to_replay() {
        let check = |versions: &[(&str, bool)], expected: bool| {
            let (mut progress, mut rows) = (Progress::default(), Rows::new());
            for (version, truncated) in versions {
                progress.apply_page(&mut rows, page(version, *truncated, vec![]));
            }
            assert_eq!(progress.replays(), expected, "{versions:?}");
        };
        check(&[("1", false)], false);
        check(&[("1", false), ("2", false)], true);
        check(&[("-", false), ("-", false)], false);
        // vcsim marks the pages of one answer with another version, and then stands still.
        check(&[("-", true), ("P", true), ("P", false)], false);
        check(&[("-", true), ("P", false), ("P", false)], false);
        check(&[("-", false), ("P", false), ("P", false)], false);
        check(&[("1", true), ("2", false), ("3", false)], true);
    }

    #[test]
    fn extra_configuration_is_unset_set_or_unknown() {
        let [nest, never] = ["nest", "never"].map(|key| ExtraConfigKey::try_from(key).expect("a key"));
        assert_eq!(watched_paths(&[].into()), PATHS, "who asks for none asks as ever");
        assert_eq!(watched_paths(&[nest.clone()].into())[PATHS.len()..], [nest.path()]);
        let mut progress = Progress::asking(ExtraConfig::asked(&[nest.clone()].into()));
        let mut rows = Rows::new();
        let told = |changes: Vec<PropertyChange>, kind| {
            let update = ObjectUpdate { kind, obj: vm(1), change_set: changes, missing_set: Vec::new() };
            page("1", false, vec![update])
        };
        let change = |name: &str, op, val| PropertyChange { name: name.into(), op, val };
        let entry = |text: &str| {
            let mut option = Node::leaf("val", "OptionValue", "");
            option.children = vec![Node::leaf("key", "string", "nest"), Node::leaf("value", "string", text)];
            Some(option)
        };
        let mut check = |set, expected| {
            progress.apply_page(&mut rows, set);
            assert_eq!(rows[&vm(1)].config.extra(&nest), expected);
            assert_eq!(rows[&vm(1)].config.extra(&never), ExtraValue::Unknown, "nobody asked");
        };
        let (enter, modify) = (ObjectUpdateKind::Enter, ObjectUpdateKind::Modify);
        check(told(Vec::new(), enter.clone()), ExtraValue::Unknown);
        let template =
            change("config.template", PropertyChangeOp::Assign, Some(Node::leaf("val", "boolean", "0")));
        check(told(vec![template.clone()], modify.clone()), ExtraValue::Unset);
        let path = nest.path();
        for (op, val, expected) in [
            (PropertyChangeOp::Add, entry("twigs"), ExtraValue::Set("twigs")),
            (PropertyChangeOp::Assign, entry("moss"), ExtraValue::Set("moss")),
            (PropertyChangeOp::Remove, None, ExtraValue::Unset),
            (PropertyChangeOp::Assign, Some(Node::leaf("val", "string", "moss")), ExtraValue::Unknown),
            (PropertyChangeOp::Assign, None, ExtraValue::Unset),
        ] {
            check(told(vec![change(&path, op, val)], modify.clone()), expected);
        }
        check(
            told(vec![template, change(&path, PropertyChangeOp::Assign, entry("hay"))], enter),
            ExtraValue::Set("hay"),
        );
        assert!(rows[&vm(1)].unreadable.is_empty());
    }

    proptest! {
        #[test]
        fn where_the_pages_are_cut_does_not_matter(
            events in prop::collection::vec((0..8u8, any::<bool>()), 0..40),
            cut in 0..40usize,
        ) {
            let events: Vec<_> = events.into_iter().map(|(n, enters)| if enters { enter(n) } else { leave(n) }).collect();
            let (mut whole, mut rows) = loaded([1, 2, 3]);
            let expected = whole.apply_page(&mut rows, page("2", false, events.clone()));
            let (mut cut_up, mut rows_cut) = loaded([1, 2, 3]);
            let (first, second) = events.split_at(cut.min(events.len()));
            prop_assert_eq!(cut_up.apply_page(&mut rows_cut, page("2", true, first.to_vec())), Next::More);
            prop_assert_eq!(cut_up.apply_page(&mut rows_cut, page("3", false, second.to_vec())), expected);
            prop_assert_eq!(rows, rows_cut);
        }
    }
}
