//! The settings that a sign-in reports to CDS, under the names of the Go hatchery and without secrets.

use rookery_cds::Cdn;
use rookery_fleet::Hardware;
use rookery_fleet::address::Network;
use rookery_vim_client::Trust;
use serde_json::{Value, json};

use super::addresses::{DEFAULT_MASK, mask};
use super::{ModelRef, Pool, Settings};
use crate::launch::config::LogServer;

/// The settings as a JSON object.
pub fn reported(settings: &Settings) -> Value {
    let mut value = vsphere(settings);
    let mut add = |name: &str, part: Value| {
        if let Some(object) = value.as_object_mut() {
            object.insert(name.to_owned(), part);
        }
    };
    add("commonConfiguration", common(settings));
    // CDS reads it only here, and assumes linux/amd64 if it is missing.
    add("osArch", json!(settings.identity.os_arch));
    if !settings.addresses.dns.is_empty() {
        let servers: Vec<_> = settings.addresses.dns.iter().map(ToString::to_string).collect();
        add("dns", json!(servers.join(",")));
    }
    if settings.flavors.iter().next().is_some() {
        let flavors = settings.flavors.iter();
        let flavors = flavors.map(|f| {
            let Hardware { cpus, memory_mb } = f.hardware;
            json!({ "name": f.name, "cpus": cpus.unwrap_or_default(), "memoryMB": memory_mb.unwrap_or_default() })
        });
        add("flavors", flavors.collect());
    }
    if let Some(default) = &settings.default_flavor {
        add("defaultFlavor", json!(default));
    }
    value
}

fn vsphere(settings: &Settings) -> Value {
    let Settings { vcenter, warm, cleaning, limits, models, .. } = settings;
    let script = |template| models.pre_start_scripts.get(template).map_or("", String::as_str);
    let models = models.templates.iter();
    let models =
        models.map(|template| json!({ "modelVMWare": template, "preStartScript": script(template) }));
    let networks = &settings.addresses.networks;
    json!({
        "cardName": vcenter.card_name,
        "countSmallerFlavorToKeep": limits.size.keep_smaller,
        "datacenterString": vcenter.datacenter,
        "datastoreString": vcenter.datastore.as_deref().unwrap_or_default(),
        "endpoint": vcenter.address,
        "finishedWorkerGracePeriod": cleaning.grace.as_secs(),
        "killAwolServersInterval": cleaning.interval.as_secs(),
        "maxCpus": limits.size.cpus.unwrap_or(0),
        "maxMemoryMB": limits.size.memory_mb.unwrap_or(0),
        "models": models.collect::<Vec<_>>(),
        "networkString": vcenter.network.as_deref().unwrap_or_default(),
        "networks": networks.iter().map(network).collect::<Vec<_>>(),
        "subnetMask": networks.first().map_or_else(|| DEFAULT_MASK.to_owned(), mask),
        "user": vcenter.user,
        "workerProvisioning": warm.pools.iter().map(pool).collect::<Vec<_>>(),
        "workerProvisioningInterval": warm.interval.as_secs(),
        "workerProvisioningPoolSize": warm.concurrency.unwrap_or(0),
        "workerRegistrationTTL": cleaning.registration_ttl.as_secs() / 60,
        "workerTTL": cleaning.worker_ttl.as_secs() / 60,
    })
}

fn network(network: &Network) -> Value {
    let ranges: Vec<_> = network.ranges.iter().map(ToString::to_string).collect();
    json!({
        "gateway": network.gateway.map(|gateway| gateway.to_string()).unwrap_or_default(),
        "iprange": ranges.join(","),
        "subnetMask": mask(network),
    })
}

fn pool(pool: &Pool) -> Value {
    let mut value = match &pool.model {
        ModelRef::V1(path) => json!({ "modelPath": path, "number": pool.number }),
        ModelRef::V2(template) => json!({ "modelVMWare": template, "number": pool.number }),
    };
    if let (Some(flavor), Some(object)) = (&pool.flavor, value.as_object_mut()) {
        object.insert("flavor".to_owned(), json!(flavor));
    }
    value
}

fn common(settings: &Settings) -> Value {
    let Settings { identity, listen, api, queue, .. } = settings;
    json!({
        "api": {
            "http": { "insecure": api.trust == Trust::Insecure, "url": api.url.as_str() },
            "maxHeartbeatFailures": api.max_heartbeat_failures,
            "requestTimeout": api.request_timeout.as_secs(),
        },
        "cdn": cdn(&settings.cdn),
        "http": {
            "addr": listen.address,
            // Not a typing error: CDS spells it that way.
            "header_w_forwarded_for": listen.forwarded_header,
            "port": listen.port,
        },
        "logOptions": {
            "spawnOptions": {
                "thresholdCritical": queue.slow_spawn.critical.as_secs(),
                "thresholdWarning": queue.slow_spawn.warning.as_secs(),
            },
        },
        "name": identity.name,
        "osArch": identity.os_arch,
        "provision": provision(settings),
        "url": identity.url.as_str(),
    })
}

fn provision(settings: &Settings) -> Value {
    let Settings { queue, limits, worker, .. } = settings;
    let switchable = |number: Option<u32>| number.map_or(-1, i64::from);
    let mut graylog = server(&worker.logs.graylog);
    let mut syslog = server(&worker.logs.syslog);
    for (value, name, text) in [
        (&mut graylog, "extraKey", &worker.logs.graylog_extra_key),
        (&mut syslog, "extraTag", &worker.logs.syslog_extra_tag),
    ] {
        if let Some(object) = value.as_object_mut() {
            object.insert(name.to_owned(), json!(text));
        }
    }
    json!({
        "ignoreJobWithNoRegion": queue.ignore_jobs_without_region,
        "maxAttemptsNumberBeforeFailure": switchable(queue.attempts),
        "maxConcurrentProvisioning": limits.starting,
        "maxConcurrentRegistering": switchable(queue.registering),
        "maxWorker": limits.workers.unwrap_or(0),
        "region": queue.region.as_deref().unwrap_or_default(),
        "registerFrequency": queue.register_every.as_secs(),
        "workerApiHttp": {
            "insecure": worker.addresses.api.insecure,
            "url": worker.addresses.api.url,
        },
        "workerBasedir": worker.basedir,
        "workerCdn": cdn(&worker.addresses.cdn),
        "workerLogsOptions": { "graylog": graylog, "level": worker.logs.level, "syslog": syslog },
    })
}

fn cdn(cdn: &Cdn) -> Value {
    json!({
        "tcp": { "enable_tls": cdn.tcp_url_enable_tls, "url": cdn.tcp_url },
        "url": cdn.http_url,
    })
}

fn server(server: &LogServer) -> Value {
    json!({ "host": server.host, "port": server.port, "protocol": server.protocol })
}
