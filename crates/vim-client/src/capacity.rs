//! How much room there is in a resource pool.
//!
//! What the server did not say is `None`: it may be much or little, and nobody may take it for nothing.

use rookery_vim::objects::{DynamicProperty, PropertyFilterSpec};
use rookery_vim::{MoRef, Node};

use crate::client::Client;
use crate::error::CallError;
use crate::properties::{itself, properties, retrieve};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mhz(pub u64);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// What a resource pool or vApp has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolCapacity {
    pub cpu: Share<Mhz>,
    pub memory: Share<Bytes>,
}

/// A pool's part of one resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Share<U> {
    /// What it could use now, all limits above it considered.
    pub max_usage: Option<U>,
    /// What its VMs use now.
    pub usage: Option<U>,
    /// What a VM inside it may still reserve.
    pub unreserved_for_vm: Option<U>,
}

/// Reads how much room there is in a pool; none if it is gone, or hidden from the user.
pub async fn pool_capacity(client: &Client, pool: &MoRef) -> Result<Option<PoolCapacity>, CallError> {
    let spec = PropertyFilterSpec {
        prop_set: vec![properties("ResourcePool", &["runtime.cpu", "runtime.memory"])],
        object_set: vec![itself(pool.clone())],
        report_missing_objects: Some(true),
    };
    let found = retrieve(client, spec).await?.into_iter().next();
    Ok(found.map(|object| decode(&object.prop_set)))
}

fn decode(found: &[DynamicProperty]) -> PoolCapacity {
    let of = |path: &str| found.iter().find(|property| property.name == path).map(|property| &property.val);
    PoolCapacity { cpu: share(of("runtime.cpu"), Mhz), memory: share(of("runtime.memory"), Bytes) }
}

fn share<U>(usage: Option<&Node>, unit: fn(u64) -> U) -> Share<U> {
    // Nothing here can be less than zero: such a number means that the server does not know.
    let number = |name: &str| usage?.child_text(name)?.trim().parse().ok().map(unit);
    Share {
        max_usage: number("maxUsage"),
        usage: number("overallUsage"),
        unreserved_for_vm: number("unreservedForVm"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(path: &str, members: &[(&str, &str)]) -> DynamicProperty {
        let mut val = Node::new("val");
        val.children.extend(members.iter().map(|(name, text)| Node::leaf(name, "long", *text)));
        DynamicProperty { name: path.to_owned(), val }
    }

    #[test]
    fn a_pool_counts_cpu_in_megahertz_and_memory_in_bytes() {
        let cpu = [("maxUsage", "4121"), ("overallUsage", "7"), ("unreservedForVm", "4114")];
        let memory = [("maxUsage", "1007681536"), ("overallUsage", "0"), ("unreservedForVm", "3")];
        let pool = decode(&[usage("runtime.cpu", &cpu), usage("runtime.memory", &memory)]);
        let (max_usage, usage, unreserved_for_vm) = (Some(Mhz(4121)), Some(Mhz(7)), Some(Mhz(4114)));
        assert_eq!(pool.cpu, Share { max_usage, usage, unreserved_for_vm });
        assert_eq!(pool.memory.max_usage, Some(Bytes(961 << 20)));
        assert_eq!(pool.memory.usage, Some(Bytes(0)));
    }

    #[test]
    fn what_is_not_a_number_is_not_known() {
        for unknown in ["", "-1", "much", "18446744073709551616"] {
            let pool = decode(&[usage("runtime.memory", &[("maxUsage", unknown)])]);
            assert_eq!(pool, PoolCapacity::default(), "{unknown}");
        }
    }
}
