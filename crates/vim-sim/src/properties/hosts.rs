//! Clusters and hosts.

use super::Members;
use crate::id::{Id, Kind};
use crate::privileges::seen;
use crate::store::Host;
use crate::world::{World, uuid_text};

pub(super) fn compute(world: &World, id: Id, m: &mut Members<'_, '_>) {
    let Some(compute) = world.store.computes.get(&id) else { return };
    let hosts = || compute.hosts.iter().filter_map(|host| world.store.hosts.get(host));
    let usable = || hosts().filter(|host| host.connected && !host.in_maintenance);
    let mhz = |host: &Host| i32::from(host.cores) * host.cpu_mhz;
    m.reference("resourcePool", compute.root_pool);
    m.references("host", seen(world, compute.hosts.iter().copied()));
    m.references("datastore", seen(world, compute.datastores.iter().copied()));
    m.references("network", seen(world, compute.networks.iter().copied()));
    let cluster = id.kind == Kind::ClusterComputeResource;
    let class = if cluster { "ClusterComputeResourceSummary" } else { "ComputeResourceSummary" };
    m.variant("summary", class, |m| {
        m.int("totalCpu", hosts().map(mhz).sum());
        m.long("totalMemory", hosts().map(|host| host.memory_bytes).sum());
        m.value::<i16>("numCpuCores", &hosts().map(|host| host.cores).sum());
        m.value::<i16>("numCpuThreads", &hosts().map(|host| host.cores * 2).sum());
        m.int("effectiveCpu", usable().map(mhz).sum());
        // In MB, unlike its neighbour: that is how vCenter has it.
        m.long("effectiveMemory", usable().map(|host| host.memory_bytes >> 20).sum());
        m.count("numHosts", hosts().count());
        m.count("numEffectiveHosts", usable().count());
        m.one_of("overallStatus", "ManagedEntityStatus", "green");
        if cluster {
            m.int("currentFailoverLevel", 0);
            m.int("numVmotions", 0);
        }
    });
    if cluster {
        m.variant("configurationEx", "ClusterConfigInfoEx", |m| {
            m.object("dasConfig", "ClusterDasConfigInfo", |m| {
                m.flag("enabled", false);
                m.flag("admissionControlEnabled", false);
            });
            m.object("drsConfig", "ClusterDrsConfigInfo", |m| {
                m.flag("enabled", true);
                m.one_of("defaultVmBehavior", "DrsBehavior", "fullyAutomated");
            });
        });
    } else {
        m.unset("configurationEx");
    }
    m.without(&["environmentBrowser", "lifecycleManaged"]);
    if cluster {
        m.without(&[
            "configuration",
            "recommendation",
            "drsRecommendation",
            "hciConfig",
            "migrationHistory",
            "actionHistory",
            "drsFault",
            "summaryEx",
        ]);
    }
}

pub(super) fn host(world: &World, id: Id, m: &mut Members<'_, '_>) {
    let Some(host) = world.store.hosts.get(&id) else { return };
    let compute = world.store.parent(id).and_then(|parent| world.store.computes.get(&parent));
    m.object("runtime", "HostRuntimeInfo", |m| runtime(host, m));
    m.object("summary", "HostListSummary", |m| summary(world, id, host, m));
    m.object("hardware", "HostHardwareInfo", |m| {
        m.object("systemInfo", "HostSystemInfo", |m| {
            m.text("vendor", "Rookery");
            m.text("model", "Simulated Host");
            m.text("uuid", &uuid_text(host.uuid));
        });
        m.object("cpuInfo", "HostCpuInfo", |m| {
            m.value::<i16>("numCpuPackages", &2);
            m.value::<i16>("numCpuCores", &host.cores);
            m.value::<i16>("numCpuThreads", &(host.cores * 2));
            m.long("hz", i64::from(host.cpu_mhz) * 1_000_000);
        });
        m.long("memorySize", host.memory_bytes);
    });
    m.references("vm", seen(world, host.vms.iter().copied()));
    m.references("datastore", seen(world, compute.into_iter().flat_map(|c| c.datastores.iter().copied())));
    m.references("network", seen(world, compute.into_iter().flat_map(|c| c.networks.iter().copied())));
    m.object("config", "HostConfigInfo", |m| {
        m.reference("host", id);
        // No addresses: clients then talk to whom they talk to already.
        m.object("virtualNicManagerInfo", "HostVirtualNicManagerInfo", |m| {
            m.objects("netConfig", "VirtualNicManagerNetConfig", std::iter::empty::<()>(), |_, _, ()| {});
        });
        let certificate = world.settings.host_certificate.as_deref();
        m.maybe("certificate", certificate, |m, name, pem| {
            m.objects(name, "byte", pem.bytes(), |out, element, byte| {
                out.leaf(element, None, &byte.cast_signed().to_string());
            });
        });
    });
    m.without(&["capability", "systemResources", "datastoreBrowser", "configManager", "licensableResource"]);
    m.without(&[
        "answerFileValidationResult",
        "answerFileValidationState",
        "complianceCheckResult",
        "complianceCheckState",
        "precheckRemediationResult",
        "remediationResult",
        "remediationState",
    ]);
}

fn runtime(host: &Host, m: &mut Members<'_, '_>) {
    let state = match (host.connected, host.disconnected_by_user) {
        (true, _) => "connected",
        (false, true) => "disconnected",
        (false, false) => "notResponding",
    };
    m.one_of("connectionState", "HostSystemConnectionState", state);
    m.one_of("powerState", "HostSystemPowerState", if host.connected { "poweredOn" } else { "unknown" });
    m.one_of("standbyMode", "string", "none");
    m.flag("inMaintenanceMode", host.in_maintenance);
    m.time("bootTime", host.boot_time);
}

fn summary(world: &World, id: Id, host: &Host, m: &mut Members<'_, '_>) {
    m.reference("host", id);
    m.object("hardware", "HostHardwareSummary", |m| {
        m.text("vendor", "Rookery");
        m.text("model", "Simulated Host");
        m.text("uuid", &uuid_text(host.uuid));
        m.long("memorySize", host.memory_bytes);
        m.text("cpuModel", "Simulated CPU");
        m.int("cpuMhz", host.cpu_mhz);
        m.value::<i16>("numCpuPkgs", &2);
        m.value::<i16>("numCpuCores", &host.cores);
        m.value::<i16>("numCpuThreads", &(host.cores * 2));
        m.int("numNics", 2);
        m.int("numHBAs", 1);
    });
    m.object("runtime", "HostRuntimeInfo", |m| runtime(host, m));
    m.object("config", "HostConfigSummary", |m| {
        m.text("name", world.store.name(id));
        m.int("port", 902);
        m.object("product", "AboutInfo", |m| {
            m.text("name", "VMware ESXi");
            m.text("fullName", "VMware ESXi 7.0.3 build-0 (simulated)");
            m.text("vendor", "Rookery");
            m.text("version", "7.0.3");
            m.text("build", "0");
            m.text("osType", "vmnix-x86");
            m.text("productLineId", "embeddedEsx");
            m.text("apiType", "HostAgent");
            m.text("apiVersion", "7.0.3.0");
        });
        m.flag("vmotionEnabled", true);
        m.unset("sslThumbprint");
    });
    m.object("quickStats", "HostListSummaryQuickStats", |m| {
        let cpus = i32::try_from(host.used_cpus).unwrap_or(i32::MAX);
        let most = i32::from(host.cores) * host.cpu_mhz;
        m.int("overallCpuUsage", cpus.saturating_mul(host.cpu_mhz).min(most) / 10);
        m.count("overallMemoryUsage", host.used_memory_mb);
        m.count("uptime", world.now.duration_since(host.boot_time).as_secs());
    });
    m.one_of("overallStatus", "ManagedEntityStatus", "green");
    m.flag("rebootRequired", false);
}
