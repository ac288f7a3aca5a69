//! Extra configuration of VMs, by key. A VM has a hundred entries, so they are never asked for as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use rookery_vim::objects::ObjectContent;
use rookery_vim::specs::OptionValue;
use rookery_vim::{DecodeError, Node, Wire};

/// The key of one entry, such as `guestinfo.nest`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExtraConfigKey(Arc<str>);

/// Text that cannot be asked for as a key: a property path has no way to write it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} cannot be a key of extra configuration: it is empty, or has quotes, brackets or blanks")]
pub struct InvalidExtraConfigKey {
    given: String,
}

impl ExtraConfigKey {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The property that shows its value.
    pub fn path(&self) -> String {
        format!("config.extraConfig[\"{}\"]", self.0)
    }

    fn in_path(path: &str) -> Option<&str> {
        path.strip_prefix("config.extraConfig[\"")?.strip_suffix("\"]")
    }
}

impl TryFrom<&str> for ExtraConfigKey {
    type Error = InvalidExtraConfigKey;

    fn try_from(given: &str) -> Result<Self, InvalidExtraConfigKey> {
        let legal =
            |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '"' | '\'' | '[' | ']' | '\\');
        if !given.is_empty() && given.chars().all(legal) {
            Ok(Self(given.into()))
        } else {
            Err(InvalidExtraConfigKey { given: given.to_owned() })
        }
    }
}

impl fmt::Display for ExtraConfigKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is known of the entries of one VM. Only what was asked for can be known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtraConfig(BTreeMap<ExtraConfigKey, Option<String>>);

impl FromIterator<(ExtraConfigKey, Option<String>)> for ExtraConfig {
    /// Entries that are known: to be unset, or to have a value.
    fn from_iter<I: IntoIterator<Item = (ExtraConfigKey, Option<String>)>>(known: I) -> Self {
        Self(known.into_iter().collect())
    }
}

/// What is known of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtraValue<'v> {
    /// It was not asked for, it could not be read, or the VM shows no configuration yet.
    Unknown,
    /// The VM has no such entry.
    Unset,
    Set(&'v str),
}

impl ExtraConfig {
    /// Keys that were asked for, before an answer names those that are set.
    pub(crate) fn asked(keys: &BTreeSet<ExtraConfigKey>) -> Self {
        keys.iter().map(|key| (key.clone(), None)).collect()
    }

    /// What a read of a VM has shown of these keys. The read asked for [`ExtraConfigKey::path`] of each and for
    /// `config.template`, which every configuration has: without it the VM shows none, and nothing is known.
    pub fn read(keys: &BTreeSet<ExtraConfigKey>, vm: &ObjectContent) -> Self {
        if !vm.prop_set.iter().any(|property| property.name == "config.template") {
            return Self::default();
        }
        let mut extra = Self::asked(keys);
        for property in &vm.prop_set {
            if extra.set(&property.name, Some(property.val.clone())).is_err() {
                extra.forget(&property.name);
            }
        }
        for missing in &vm.missing_set {
            extra.forget(&missing.path);
        }
        extra
    }

    /// What is known of an entry.
    pub fn get(&self, key: &ExtraConfigKey) -> ExtraValue<'_> {
        match self.0.get(key) {
            None => ExtraValue::Unknown,
            Some(None) => ExtraValue::Unset,
            Some(Some(value)) => ExtraValue::Set(value),
        }
    }

    /// Takes over what a property says; those of other paths say nothing.
    pub(crate) fn set(&mut self, path: &str, val: Option<Node>) -> Result<(), DecodeError> {
        let Some(key) = ExtraConfigKey::in_path(path) else { return Ok(()) };
        let value = val.map(OptionValue::from_node).transpose()?.map(|option| option.value);
        if let Some(value) = value.as_ref().filter(|value| !value.children.is_empty()) {
            return Err(DecodeError::invalid(value, "a simple type"));
        }
        self.0.insert(ExtraConfigKey(key.into()), value.map(|value| value.text));
        Ok(())
    }

    /// Makes the entry of a path unknown.
    pub(crate) fn forget(&mut self, path: &str) {
        if let Some(key) = ExtraConfigKey::in_path(path) {
            self.0.remove(&ExtraConfigKey(key.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use rookery_vim::MoRef;
    use rookery_vim::objects::{DynamicProperty, LocalizedMethodFault, MissingProperty};

    use super::*;

    fn key(text: &str) -> ExtraConfigKey {
        text.try_into().expect("a key")
    }

    fn option(key: &str, value: Node) -> Node {
        let mut option = Node::leaf("val", "OptionValue", "");
        option.children = vec![Node::leaf("key", "string", key), Node { name: "value".into(), ..value }];
        option
    }

    #[test]
    fn a_key_stands_in_its_path_and_is_found_there() {
        let nest = key("guestinfo.nest-1:a/b");
        assert_eq!(nest.path(), "config.extraConfig[\"guestinfo.nest-1:a/b\"]");
        assert_eq!(ExtraConfigKey::in_path(&nest.path()), Some(nest.as_str()));
        for path in ["config.extraConfig", "config.extraConfig[\"a", "config.hardware.device[4000]"] {
            assert_eq!(ExtraConfigKey::in_path(path), None, "{path}");
        }
    }

    #[test]
    fn what_a_path_cannot_hold_is_no_key() {
        for bad in ["", "a b", "a\"b", "a]", "[a", "a\\", "a\n"] {
            assert!(ExtraConfigKey::try_from(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_read_tells_set_from_unset_and_both_from_what_could_not_be_read() {
        let [set, number, unset, hidden, odd, other] =
            ["set", "number", "unset", "hidden", "odd", "other"].map(key);
        let property = |name: String, val| DynamicProperty { name, val };
        let mut tree = Node::leaf("value", "Description", "");
        tree.children = vec![Node::leaf("label", "string", "x")];
        let fault = LocalizedMethodFault { fault: None, localized_message: None };
        let mut vm = ObjectContent {
            obj: MoRef::new("VirtualMachine", "vm-1"),
            prop_set: vec![
                property("config.template".into(), Node::leaf("val", "boolean", "false")),
                property(set.path(), option("set", Node::leaf("value", "string", "<twigs>"))),
                property(number.path(), option("number", Node::leaf("value", "int", "7"))),
                property(odd.path(), option("odd", tree)),
            ],
            missing_set: vec![MissingProperty { path: hidden.path(), fault }],
        };
        let keys = [&set, &number, &unset, &hidden, &odd].map(Clone::clone).into();
        let extra = ExtraConfig::read(&keys, &vm);
        assert_eq!(extra.get(&set), ExtraValue::Set("<twigs>"));
        assert_eq!(extra.get(&number), ExtraValue::Set("7"));
        assert_eq!(extra.get(&unset), ExtraValue::Unset);
        for unknown in [&hidden, &odd, &other] {
            assert_eq!(extra.get(unknown), ExtraValue::Unknown, "{unknown}");
        }
        vm.prop_set.remove(0);
        let extra = ExtraConfig::read(&keys, &vm);
        assert_eq!(extra.get(&unset), ExtraValue::Unknown, "without a configuration nothing is unset");
    }
}
