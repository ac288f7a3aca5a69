//! Reads the server's properties as MHz and bytes. Pure.

use rookery_vim::objects::{DynamicProperty, ObjectContent};
use rookery_vim::{MoRef, Node, Wire as _};

use super::{
    Bytes, Capacity, ClusterCapacity, ClusterDemand, DatastoreCapacity, HostCapacity, HostConnection, Limit,
    Mhz, PoolCapacity, Share, class,
};

pub(super) fn decode(objects: Vec<ObjectContent>) -> Capacity {
    let mut capacity = Capacity::default();
    for ObjectContent { obj, prop_set, .. } in objects {
        let facts = Facts(prop_set);
        match class(&obj) {
            Some("ResourcePool") => drop(capacity.pools.insert(obj, facts.pool())),
            Some("ComputeResource") => drop(capacity.clusters.insert(obj, facts.cluster())),
            Some("HostSystem") => drop(capacity.hosts.insert(obj, facts.host())),
            Some(_) => drop(capacity.datastores.insert(obj, facts.datastore())),
            None => {}
        }
    }
    capacity
}

/// What was read of one object.
struct Facts(Vec<DynamicProperty>);

impl Facts {
    fn pool(&self) -> PoolCapacity {
        PoolCapacity {
            owner: self.at("owner").and_then(|owner| MoRef::from_node(owner.clone()).ok()),
            cpu: self.share("cpu", |mhz| Some(Mhz(mhz)), Mhz),
            // Megabytes where it is configured, bytes where it is measured.
            memory: self.share("memory", Bytes::from_mb, Bytes),
        }
    }

    fn share<U>(
        &self,
        of: &str,
        configured: impl Fn(u64) -> Option<U>,
        measured: impl Fn(u64) -> U,
    ) -> Share<U> {
        let allocation = |member: &str| format!("config.{of}Allocation.{member}");
        let runtime = |member: &str| self.number(&format!("runtime.{of}.{member}")).map(&measured);
        let limit = match self.text(&allocation("limit")) {
            Some("-1") => Some(Limit::Unlimited),
            Some(_) => self.number(&allocation("limit")).and_then(&configured).map(Limit::AtMost),
            None => None,
        };
        Share {
            reservation: self.number(&allocation("reservation")).and_then(&configured),
            limit,
            expandable: self.flag(&allocation("expandableReservation")),
            max_usage: runtime("maxUsage"),
            usage: runtime("overallUsage"),
            reservation_used: runtime("reservationUsed"),
            unreserved_for_pool: runtime("unreservedForPool"),
            unreserved_for_vm: runtime("unreservedForVm"),
        }
    }

    fn cluster(&self) -> ClusterCapacity {
        let total_memory = self.number("summary.totalMemory").map(Bytes);
        ClusterCapacity {
            total_cpu: self.number("summary.totalCpu").map(Mhz),
            effective_cpu: self.number("summary.effectiveCpu").map(Mhz),
            total_memory,
            effective_memory: self
                .number("summary.effectiveMemory")
                .and_then(|given| effective_memory(given, total_memory?)),
            hosts: self.number("summary.numHosts"),
            effective_hosts: self.number("summary.numEffectiveHosts"),
            demand: self.demand(),
        }
    }

    /// A capacity of nothing beside hosts that have some is a summary that was never filled in.
    fn demand(&self) -> Option<ClusterDemand> {
        let of = |member: &str| self.number(&format!("summary.usageSummary.{member}"));
        if of("totalCpuCapacityMhz")? == 0 && self.number("summary.totalCpu") != Some(0) {
            return None;
        }
        Some(ClusterDemand {
            cpu_reserved: of("cpuReservationMhz").map(Mhz),
            cpu: of("cpuDemandMhz").map(Mhz),
            memory_reserved: of("memReservationMB").and_then(Bytes::from_mb),
            memory: of("memDemandMB").and_then(Bytes::from_mb),
            vms: of("totalVmCount"),
            vms_off: of("poweredOffVmCount"),
        })
    }

    fn host(&self) -> HostCapacity {
        let core_cpu = self.number("summary.hardware.cpuMhz");
        let cores = self.number("summary.hardware.numCpuCores");
        HostCapacity {
            cpu: core_cpu.zip(cores).and_then(|(mhz, cores)| mhz.checked_mul(cores)).map(Mhz),
            core_cpu: core_cpu.map(Mhz),
            cores,
            threads: self.number("summary.hardware.numCpuThreads"),
            memory: self.number("summary.hardware.memorySize").map(Bytes),
            cpu_used: self.number("summary.quickStats.overallCpuUsage").map(Mhz),
            memory_used: self.number("summary.quickStats.overallMemoryUsage").and_then(Bytes::from_mb),
            connection: self.text("runtime.connectionState").map(|state| match state {
                "connected" => HostConnection::Connected,
                "disconnected" => HostConnection::Disconnected,
                "notResponding" => HostConnection::NotResponding,
                other => HostConnection::Other(other.to_owned()),
            }),
            in_maintenance: self.flag("runtime.inMaintenanceMode"),
        }
    }

    /// Numbers about a datastore that no host reaches are old ones, or zeros.
    fn datastore(&self) -> DatastoreCapacity {
        let accessible = self.flag("summary.accessible");
        let space = |path| self.number(path).filter(|_| accessible != Some(false)).map(Bytes);
        DatastoreCapacity {
            capacity: space("summary.capacity"),
            free: space("summary.freeSpace"),
            uncommitted: space("summary.uncommitted"),
            accessible,
            shared: self.flag("summary.multipleHostAccess"),
            in_maintenance: self.text("summary.maintenanceMode").map(|mode| mode != "normal"),
            kind: self.text("summary.type").map(str::to_owned),
        }
    }

    /// What stands at a path: a property that was asked for, or a member of one.
    fn at(&self, path: &str) -> Option<&Node> {
        self.0.iter().find_map(|property| {
            let inside = path.strip_prefix(property.name.as_str())?;
            let mut steps = inside.split('.');
            // Before the first dot there is nothing, or the rest of another name.
            steps.next().filter(|rest| rest.is_empty())?;
            steps.try_fold(&property.val, |node, step| node.child(step))
        })
    }

    fn text(&self, path: &str) -> Option<&str> {
        self.at(path).map(|node| node.text.trim()).filter(|text| !text.is_empty())
    }

    /// Nothing here can be less than zero: such a number means that the server does not know.
    fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    fn flag(&self, path: &str) -> Option<bool> {
        bool::from_node(self.at(path)?.clone()).ok()
    }
}

/// `effectiveMemory` is in megabytes on a vCenter and in bytes on some other servers, beside a total that is always in
/// bytes. Effective is never more than total, and never a millionth of it: so only one reading makes sense.
fn effective_memory(given: u64, total: Bytes) -> Option<Bytes> {
    let plausible = |bytes: &Bytes| *bytes <= total;
    Bytes::from_mb(given).filter(plausible).or_else(|| Some(Bytes(given)).filter(plausible))
}

#[cfg(test)]
mod tests;
