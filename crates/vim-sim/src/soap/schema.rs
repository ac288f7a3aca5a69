//! What may stand in calls. The vocabulary has the members that are used; here are all that there are, so that a member
//! that is ignored is told from one that does not exist.
//!
//! A line of the table is a method or a type, `<` and its base if it has one, and its own members in order: `[]` marks
//! lists, and the type follows if it has members itself. Any type may stand where it is `*`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rookery_vim::Node;
use rookery_vim::node::Space;

const TABLE: &str = include_str!("schema.txt");

/// Every type has these, and nobody uses them.
const COMMON: [&str; 2] = ["dynamicType", "dynamicProperty"];

type Members = Vec<Member>;

#[derive(Debug, Clone, Copy)]
struct Member {
    name: &'static str,
    is_list: bool,
    class: Option<&'static str>,
}

/// The members of every type and method, inherited ones first.
static SCHEMA: LazyLock<BTreeMap<&str, Members>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter_map(|line| line.split_once(' ').or(Some((line, ""))));
    let lines: BTreeMap<&str, &str> = lines.collect();
    lines.keys().map(|class| (*class, members(&lines, class))).collect()
});

fn members(lines: &BTreeMap<&str, &'static str>, class: &str) -> Members {
    let line = lines.get(class).copied().unwrap_or_default();
    let base = line.split(' ').find_map(|word| word.strip_prefix('<'));
    let mut all = base.map(|base| members(lines, base)).unwrap_or_default();
    let own = line.split(' ').filter(|word| !word.is_empty() && !word.starts_with('<'));
    all.extend(own.map(|word| {
        let (name, class) = word.split_once(':').map_or((word, None), |(name, class)| (name, Some(class)));
        let single = name.strip_suffix("[]");
        Member { name: single.unwrap_or(name), is_list: single.is_some(), class }
    }));
    all
}

/// What a call must not hold.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Wrong {
    #[error("Unexpected element tag \"{member}\" seen in {class}")]
    Unknown { member: String, class: String },
    #[error("Element {member} of {class} is out of order, or there twice")]
    Misplaced { member: String, class: String },
}

/// Whether all that an element holds may stand in a value of that type.
pub(super) fn check(node: &Node, class: &str) -> Result<(), Wrong> {
    // What the table does not have is of no type that calls are made of.
    let Some(members) = SCHEMA.get(class) else { return Ok(()) };
    let mut last: Option<usize> = None;
    for child in node.children.iter().filter(|child| child.space != Space::Foreign) {
        let name = || (child.name.to_string(), class.to_owned());
        let Some((place, member)) =
            members.iter().enumerate().find(|(_, member)| *member.name == *child.name)
        else {
            if COMMON.contains(&&*child.name) {
                continue;
            }
            let (member, class) = name();
            return Err(Wrong::Unknown { member, class });
        };
        if last.is_some_and(|last| place < last || place == last && !member.is_list) {
            let (member, class) = name();
            return Err(Wrong::Misplaced { member, class });
        }
        last = Some(place);
        if let Some(declared) = member.class {
            check(child, child.xsi_type.as_deref().unwrap_or(declared))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rookery_vim::{Limits, node};

    use super::*;

    fn reconfigure(spec: &str) -> Result<(), Wrong> {
        let xml = format!(
            "<ReconfigVM_Task xmlns=\"urn:vim25\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\
             <_this type=\"VirtualMachine\">vm-1</_this><spec>{spec}</spec></ReconfigVM_Task>"
        );
        check(&node::parse(xml.as_bytes(), &Limits::default()).unwrap(), "ReconfigVM_Task")
    }

    fn unknown(member: &str, class: &str) -> Result<(), Wrong> {
        Err(Wrong::Unknown { member: member.to_owned(), class: class.to_owned() })
    }

    fn misplaced(member: &str, class: &str) -> Result<(), Wrong> {
        Err(Wrong::Misplaced { member: member.to_owned(), class: class.to_owned() })
    }

    #[test]
    fn members_are_those_of_the_schema_in_its_order() {
        let change =
            |device: &str| format!("<deviceChange><operation>edit</operation>{device}</deviceChange>");
        let disk = |members: &str| change(&format!("<device xsi:type=\"VirtualDisk\">{members}</device>"));
        for (spec, expected) in [
            (String::new(), Ok(())),
            ("<name>a</name><annotation>b</annotation>".to_owned(), Ok(())),
            // The vocabulary does not have it; the schema does.
            ("<name>a</name><nestedHVEnabled>true</nestedHVEnabled>".to_owned(), Ok(())),
            ("<colour>red</colour>".to_owned(), unknown("colour", "VirtualMachineConfigSpec")),
            (
                "<nestedHVEnabled>true</nestedHVEnabled><name>a</name>".to_owned(),
                misplaced("name", "VirtualMachineConfigSpec"),
            ),
            ("<name>a</name><name>b</name>".to_owned(), misplaced("name", "VirtualMachineConfigSpec")),
            (change("") + &change(""), Ok(())),
            (change("<colour/>"), unknown("colour", "VirtualDeviceConfigSpec")),
            // Inherited members come first, and only that class has its own.
            (disk("<key>1</key><capacityInKB>1</capacityInKB>"), Ok(())),
            (disk("<capacityInKB>1</capacityInKB><key>1</key>"), misplaced("key", "VirtualDisk")),
            (disk("<macAddress>x</macAddress>"), unknown("macAddress", "VirtualDisk")),
            (
                change("<device><capacityInKB>1</capacityInKB></device>"),
                unknown("capacityInKB", "VirtualDevice"),
            ),
            // Of what nobody knows nothing can be said.
            (change("<device xsi:type=\"VirtualTeapot\"><colour>red</colour></device>"), Ok(())),
            (
                "<extraConfig><key>a</key><value xsi:type=\"xsd:string\">b</value></extraConfig>".to_owned(),
                Ok(()),
            ),
        ] {
            assert_eq!(reconfigure(&spec), expected, "{spec}");
        }
    }

    #[test]
    fn every_type_that_is_named_is_described() {
        for (class, members) in &*SCHEMA {
            for Member { name, class: of, .. } in members {
                let known = of.is_none_or(|of| of == "*" || SCHEMA.contains_key(of));
                assert!(known, "{name} of {class} is {of:?}");
            }
        }
    }
}
