//! How the values of the store that are not ours, or not whole, are written to a dump and read again.

use std::collections::{BTreeMap, HashMap};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A map whose order means nothing, always in the same order.
pub(super) fn in_order<K: Serialize + Ord, V: Serialize, S: Serializer>(
    map: &HashMap<K, V>,
    to: S,
) -> Result<S::Ok, S::Error> {
    map.iter().collect::<BTreeMap<_, _>>().serialize(to)
}

/// As vSphere writes UUIDs.
pub(super) mod uuid {
    use super::{Deserialize, Deserializer, Serialize as _, Serializer};
    use crate::world::{parse_uuid, uuid_text};
    use serde::de::Error as _;

    pub(crate) fn serialize<S: Serializer>(uuid: &u128, to: S) -> Result<S::Ok, S::Error> {
        uuid_text(*uuid).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        let text = String::deserialize(from)?;
        parse_uuid(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is not a UUID")))
    }
}

pub(super) mod power {
    use super::{Deserialize, Deserializer, Serializer};
    use rookery_vim::objects::PowerState;

    pub(crate) fn serialize<S: Serializer>(power: &PowerState, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(power.as_str())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PowerState, D::Error> {
        let text = String::deserialize(from)?;
        let known = [PowerState::On, PowerState::Off, PowerState::Suspended];
        Ok(known.into_iter().find(|state| state.as_str() == text).unwrap_or(PowerState::Other(text)))
    }
}

/// Saves trees of elements as XML.
pub(super) mod node {
    use super::{Deserialize, Deserializer, Serializer, text, tree};
    use rookery_vim::Node;
    use serde::de::Error as _;

    pub(crate) fn serialize<S: Serializer>(node: &Node, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&text(node))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Box<Node>, D::Error> {
        tree(&String::deserialize(from)?).map(Box::new).map_err(D::Error::custom)
    }
}

pub(super) mod nodes {
    use super::{BTreeMap, Deserialize, Deserializer, Serialize as _, Serializer, text, tree};
    use rookery_vim::Node;
    use serde::de::Error as _;

    pub(crate) fn serialize<S: Serializer>(nodes: &BTreeMap<String, Node>, to: S) -> Result<S::Ok, S::Error> {
        nodes.iter().map(|(key, node)| (key, text(node))).collect::<BTreeMap<_, _>>().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<String, Node>, D::Error> {
        let texts = BTreeMap::<String, String>::deserialize(from)?;
        texts.into_iter().map(|(key, text)| Ok((key, tree(&text).map_err(D::Error::custom)?))).collect()
    }
}

pub(super) mod boot_order {
    use super::{Deserialize, Deserializer, Serialize as _, Serializer, text, tree};
    use rookery_vim::Wire as _;
    use rookery_vim::specs::BootableDevice;
    use serde::de::Error as _;

    pub(crate) fn serialize<S: Serializer>(order: &[BootableDevice], to: S) -> Result<S::Ok, S::Error> {
        order.iter().map(text).collect::<Vec<_>>().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<BootableDevice>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let devices = texts.iter().map(|text| {
            let node = tree(text).map_err(D::Error::custom)?;
            BootableDevice::from_node(node).map_err(D::Error::custom)
        });
        devices.collect()
    }
}

const WRAPPER: &str = "<saved xmlns=\"urn:vim25\" xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" \
    xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">";

/// XML of one element.
fn text(value: &impl rookery_vim::Wire) -> String {
    let mut out = rookery_vim::Writer::new();
    value.write(&mut out, "value", false);
    out.into_string()
}

fn tree(text: &str) -> Result<rookery_vim::Node, String> {
    let document = format!("{WRAPPER}{text}</saved>");
    let limits = rookery_vim::Limits { bytes: 8 << 20, elements: 200_000, depth: 64 };
    let root = rookery_vim::node::parse(document.as_bytes(), &limits).map_err(|error| error.to_string())?;
    root.children.into_iter().next().ok_or_else(|| "there is no element".to_owned())
}

/// Texts of which there are only a few.
fn one_of<'de, D: Deserializer<'de>>(from: D, known: &[&'static str]) -> Result<&'static str, D::Error> {
    let text = String::deserialize(from)?;
    let found = known.iter().find(|known| **known == text).copied();
    found.ok_or_else(|| D::Error::custom(format!("`{text}` is none of {}", known.join(", "))))
}

pub(super) mod guest_state {
    use super::{Deserializer, Serializer, one_of};

    pub(crate) fn serialize<S: Serializer>(state: &str, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(state)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
        one_of(from, &["running", "notRunning", "shuttingDown", "resetting", "standby", "unknown"])
    }
}

/// What a folder may hold, by the last word of it, which tells the kinds of folders apart.
pub(super) mod holds {
    use super::{Deserializer, Serializer, one_of};

    const KINDS: [&[&str]; 5] = [
        &["Folder", "Datacenter"],
        &["Folder", "VirtualMachine", "VirtualApp"],
        &["Folder", "ComputeResource"],
        &["Folder", "Datastore", "StoragePod"],
        &["Folder", "Network", "DistributedVirtualSwitch"],
    ];

    pub(crate) fn serialize<S: Serializer>(
        holds: &&'static [&'static str],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(holds.last().copied().unwrap_or_default())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<&'static [&'static str], D::Error> {
        let last = KINDS.map(|kind| kind.last().copied().unwrap_or_default());
        let found = one_of(from, &last)?;
        Ok(KINDS.into_iter().find(|kind| kind.last() == Some(&found)).unwrap_or_default())
    }
}

/// Files are left out, since their content is not here; folders stay.
pub(super) mod folders {
    use super::{BTreeMap, Deserialize, Deserializer, Serialize as _, Serializer};
    use crate::files::StoredFile;

    pub(crate) fn serialize<S: Serializer>(
        files: &BTreeMap<String, Option<StoredFile>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let folders = files.iter().filter(|(_, file)| file.is_none()).map(|(path, _)| path);
        folders.collect::<Vec<_>>().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<String, Option<StoredFile>>, D::Error> {
        Ok(Vec::<String>::deserialize(from)?.into_iter().map(|path| (path, None)).collect())
    }
}
