//! The metrics of the Go hatchery: names, kinds and labels are its own, so that dashboards go on working. The help is
//! ours.

use super::{Row, counter, gauge, histogram};

const SERVICE: &[&str] = &["service_name", "service_type"];
const MACHINE: &[&str] = &["flavor", "service_name", "service_type", "worker_model", "worker_name"];
const HANDLER: &[&str] = &["http_handler", "service_name", "service_type"];
const PROCESS: &[&str] = &["hostname", "service_name", "service_type"];

/// The metrics of the Go hatchery.
pub static UPSTREAM: &[Row] = &[
    gauge("cds_hatchery_building_workers", SERVICE, "Workers that run a job, as CDS says.", |sight, out| {
        out.value(sight.workers("Building"));
    }),
    counter(
        "cds_hatchery_chan_v1_job_add_count",
        SERVICE,
        "V1 jobs that were heard of for the first time.",
        |sight, out| out.value(sight.events.found.get("v1")),
    ),
    counter(
        "cds_hatchery_chan_v2_job_add_count",
        SERVICE,
        "V2 jobs that were heard of for the first time.",
        |sight, out| out.value(sight.events.found.get("v2")),
    ),
    counter(
        "cds_hatchery_chan_worker_starter_job_pop",
        SERVICE,
        "Jobs that work was begun for: a start, or giving them up.",
        |sight, out| out.value(sight.events.popped.get()),
    ),
    gauge(
        "cds_hatchery_checking_workers",
        SERVICE,
        "Workers that check a model, as CDS says.",
        |sight, out| out.value(sight.workers("Checking")),
    ),
    gauge(
        "cds_hatchery_disabled_workers",
        SERVICE,
        "Workers that are disabled, as CDS says.",
        |sight, out| out.value(sight.workers("Disabled")),
    ),
    counter(
        "cds_hatchery_job_received_in_queue_polling_ws_v1_count",
        SERVICE,
        "V1 jobs that CDS has pushed.",
        |sight, out| out.value(sight.events.pushed.get("v1")),
    ),
    counter(
        "cds_hatchery_job_received_in_queue_polling_ws_v2_count",
        SERVICE,
        "V2 jobs that CDS has pushed.",
        |sight, out| out.value(sight.events.pushed.get("v2")),
    ),
    counter(
        "cds_hatchery_jobs_count",
        SERVICE,
        "Jobs of which has become known what they need.",
        |sight, out| out.value(sight.events.known.get()),
    ),
    counter(
        "cds_hatchery_jobs_processed_count",
        SERVICE,
        "Jobs that a start of a worker was begun for.",
        |sight, out| out.value(sight.events.processed.get()),
    ),
    counter(
        "cds_hatchery_jobs_websocket_count",
        SERVICE,
        "Jobs that CDS has pushed, V1 and V2 together.",
        |sight, out| out.value(sight.events.pushed.iter().map(|(_, count)| count).sum::<u64>()),
    ),
    gauge(
        "cds_hatchery_pending_workers",
        SERVICE,
        "Workers that were started for a job and that CDS does not know yet.",
        |sight, out| out.value(sight.workers("Pending")),
    ),
    gauge(
        "cds_hatchery_registering_workers",
        SERVICE,
        "Workers that were started to register a model and that CDS does not know yet.",
        |sight, out| out.value(sight.workers("Registering")),
    ),
    counter("cds_hatchery_spawned_worker_count", SERVICE, "Workers that were started.", |sight, out| {
        out.value(sight.events.spawned.get());
    }),
    counter(
        "cds_hatchery_spawning_worker_count",
        SERVICE,
        "Jobs that were taken to start a worker for them.",
        |sight, out| out.value(sight.events.spawning.get()),
    ),
    counter(
        "cds_hatchery_spawning_worker_errors_count",
        SERVICE,
        "Starts of workers that failed after their job was taken.",
        |sight, out| out.value(sight.events.spawn_errors.get()),
    ),
    gauge(
        "cds_hatchery_vsphere_allocated_disk_gb",
        SERVICE,
        "Disks of all own VMs that are no templates, running or not.",
        |sight, out| out.value(sight.fleet.disk_gb),
    ),
    gauge(
        "cds_hatchery_vsphere_allocated_memory_mb",
        SERVICE,
        "Memory of all own VMs that are no templates, running or not.",
        |sight, out| out.value(sight.fleet.own.memory_mb),
    ),
    gauge(
        "cds_hatchery_vsphere_allocated_vcpus",
        SERVICE,
        "Virtual CPUs of all own VMs that are no templates, running or not.",
        |sight, out| out.value(sight.fleet.own.vcpus),
    ),
    gauge(
        "cds_hatchery_vsphere_ip_active_count",
        SERVICE,
        "Configured addresses that a guest shows on a network card. Only where addresses are configured.",
        |sight, out| {
            if let Some(addresses) = &sight.fleet.addresses {
                out.value(addresses.active);
            }
        },
    ),
    gauge(
        "cds_hatchery_vsphere_ip_reserved_count",
        SERVICE,
        "Configured addresses that a VM holds by its annotation. Only where addresses are configured.",
        |sight, out| {
            if let Some(addresses) = &sight.fleet.addresses {
                out.value(addresses.marked);
            }
        },
    ),
    gauge(
        "cds_hatchery_vsphere_ip_total_count",
        SERVICE,
        "Configured addresses that may be given away. Only where addresses are configured.",
        |sight, out| {
            if let Some(addresses) = &sight.fleet.addresses {
                out.value(addresses.usage.total);
            }
        },
    ),
    gauge(
        "cds_hatchery_vsphere_max_memory_mb",
        SERVICE,
        "The limit maxMemoryMB; 0 is unlimited.",
        |sight, out| out.value(sight.report.limits.size.memory_mb.unwrap_or_default()),
    ),
    gauge("cds_hatchery_vsphere_max_vcpus", SERVICE, "The limit maxCpus; 0 is unlimited.", |sight, out| {
        out.value(sight.report.limits.size.cpus.unwrap_or_default());
    }),
    gauge(
        "cds_hatchery_vsphere_pool_total_memory_mb",
        SERVICE,
        "Memory of everybody's VMs, templates included.",
        |sight, out| out.value(sight.fleet.all.memory_mb),
    ),
    gauge(
        "cds_hatchery_vsphere_pool_total_vcpus",
        SERVICE,
        "Virtual CPUs of everybody's VMs, templates included.",
        |sight, out| out.value(sight.fleet.all.vcpus),
    ),
    gauge(
        "cds_hatchery_vsphere_pool_total_vm_count",
        SERVICE,
        "Everybody's VMs, templates included.",
        |sight, out| out.value(sight.fleet.all.machines),
    ),
    gauge(
        "cds_hatchery_vsphere_provision_dying_count",
        SERVICE,
        "VMs of the pool that were given up and are not gone yet.",
        |sight, out| out.value(sight.fleet.dying),
    ),
    gauge(
        "cds_hatchery_vsphere_provision_inflight_count",
        SERVICE,
        "VMs of the pool that are being cloned and that vCenter does not list yet.",
        |sight, out| out.value(sight.report.unseen_makes),
    ),
    gauge(
        "cds_hatchery_vsphere_provision_ready_count",
        SERVICE,
        "VMs of the pool that a job can have.",
        |sight, out| out.value(sight.fleet.ready),
    ),
    gauge(
        "cds_hatchery_vsphere_provision_starting_count",
        SERVICE,
        "VMs of the pool that are still being made.",
        |sight, out| out.value(sight.fleet.starting),
    ),
    gauge(
        "cds_hatchery_vsphere_provisioned_vm_count",
        SERVICE,
        "VMs of the pool, in any state.",
        |sight, out| out.value(sight.fleet.pooled()),
    ),
    gauge(
        "cds_hatchery_vsphere_resource_pool_cpu_max_mhz",
        SERVICE,
        "The most CPU that the resource pool could use now. Missing while vCenter does not tell it.",
        |sight, out| {
            if let Some(value) = sight.report.pool.as_ref().and_then(|pool| pool.cpu.max_usage) {
                out.value(value.0);
            }
        },
    ),
    gauge(
        "cds_hatchery_vsphere_resource_pool_cpu_unreserved_mhz",
        SERVICE,
        "What a VM could still reserve of the CPU of the resource pool. Missing while vCenter does not tell it.",
        |sight, out| {
            if let Some(value) = sight.report.pool.as_ref().and_then(|pool| pool.cpu.unreserved_for_vm) {
                out.value(value.0);
            }
        },
    ),
    gauge(
        "cds_hatchery_vsphere_resource_pool_cpu_usage_mhz",
        SERVICE,
        "The CPU that the resource pool uses now. Missing while vCenter does not tell it.",
        |sight, out| {
            if let Some(value) = sight.report.pool.as_ref().and_then(|pool| pool.cpu.usage) {
                out.value(value.0);
            }
        },
    ),
    gauge(
        "cds_hatchery_vsphere_resource_pool_memory_max_bytes",
        SERVICE,
        "The most memory that the resource pool could use now. Missing while vCenter does not tell it.",
        |sight, out| {
            if let Some(value) = sight.report.pool.as_ref().and_then(|pool| pool.memory.max_usage) {
                out.value(value.0);
            }
        },
    ),
    gauge(
        "cds_hatchery_vsphere_resource_pool_memory_unreserved_bytes",
        SERVICE,
        "What a VM could still reserve of the memory of the resource pool. Missing while vCenter does not tell it.",
        |sight, out| {
            if let Some(value) = sight.report.pool.as_ref().and_then(|pool| pool.memory.unreserved_for_vm) {
                out.value(value.0);
            }
        },
    ),
    gauge(
        "cds_hatchery_vsphere_resource_pool_memory_usage_bytes",
        SERVICE,
        "The memory that the resource pool uses now. Missing while vCenter does not tell it.",
        |sight, out| {
            if let Some(value) = sight.report.pool.as_ref().and_then(|pool| pool.memory.usage) {
                out.value(value.0);
            }
        },
    ),
    gauge("cds_hatchery_vsphere_template_count", SERVICE, "Own templates of V1 models.", |sight, out| {
        out.value(sight.fleet.templates.machines);
    }),
    gauge(
        "cds_hatchery_vsphere_template_memory_mb",
        SERVICE,
        "Memory of own templates of V1 models.",
        |sight, out| out.value(sight.fleet.templates.memory_mb),
    ),
    gauge(
        "cds_hatchery_vsphere_template_vcpus",
        SERVICE,
        "Virtual CPUs of own templates of V1 models.",
        |sight, out| out.value(sight.fleet.templates.vcpus),
    ),
    gauge("cds_hatchery_vsphere_vm_count", SERVICE, "Own VMs that are no templates.", |sight, out| {
        out.value(sight.fleet.own.machines);
    }),
    gauge(
        "cds_hatchery_vsphere_worker_disk_gb",
        MACHINE,
        "The disks of one own VM that is no template.",
        |sight, out| sight.fleet.each_disk_gb(out),
    ),
    gauge(
        "cds_hatchery_vsphere_worker_memory_mb",
        MACHINE,
        "The memory of one own VM that is no template.",
        |sight, out| sight.fleet.memory_mb(out),
    ),
    gauge(
        "cds_hatchery_vsphere_worker_vcpus",
        MACHINE,
        "The virtual CPUs of one own VM that is no template.",
        |sight, out| sight.fleet.vcpus(out),
    ),
    gauge(
        "cds_hatchery_vsphere_worker_vm_count",
        SERVICE,
        "Own VMs that are for a job or a registration.",
        |sight, out| out.value(sight.fleet.workers),
    ),
    gauge(
        "cds_hatchery_waiting_workers",
        SERVICE,
        "Workers that wait for a job, as CDS says.",
        |sight, out| out.value(sight.workers("Waiting")),
    ),
    counter(
        "cds_http_router_router_hits",
        SERVICE,
        "Requests to the pages of the hatchery.",
        |sight, out| out.value(sight.events.pages.hits()),
    ),
    histogram(
        "cds_http_server_latency_by_handler",
        HANDLER,
        "Milliseconds until a page was answered.",
        |sight, out| sight.events.pages.latencies(out),
    ),
    histogram(
        "cds_http_server_request_bytes_by_handler",
        HANDLER,
        "Bytes in the bodies of requests.",
        |sight, out| sight.events.pages.request_bytes(out),
    ),
    counter("cds_http_server_request_count_by_handler", HANDLER, "Requests by page.", |sight, out| {
        sight.events.pages.requests(out);
    }),
    counter(
        "cds_http_server_request_count_by_method_and_handler",
        &["http_handler", "http_method", "service_name", "service_type"],
        "Requests by page and method.",
        |sight, out| sight.events.pages.by_method(out),
    ),
    histogram(
        "cds_http_server_response_bytes_by_handler",
        HANDLER,
        "Bytes in the bodies of answers.",
        |sight, out| sight.events.pages.response_bytes(out),
    ),
    counter(
        "cds_http_server_response_count_by_status_code_and_handler",
        &["http_handler", "http_status", "service_name", "service_type"],
        "Answers by page and status.",
        |sight, out| sight.events.pages.by_status(out),
    ),
    gauge("cds_mem_alloc", PROCESS, "Bytes of memory of the process that are resident.", |sight, out| {
        out.labelled(&[&sight.host.hostname], sight.live.memory.resident);
    }),
    gauge("cds_mem_gc", PROCESS, "Always 0: there is no garbage collector.", |sight, out| {
        out.labelled(&[&sight.host.hostname], 0_u64);
    }),
    gauge("cds_mem_sys", PROCESS, "Bytes of memory that the process has mapped.", |sight, out| {
        out.labelled(&[&sight.host.hostname], sight.live.memory.mapped);
    }),
    gauge(
        "cds_mem_total_alloc",
        PROCESS,
        "The most bytes of memory of the process that were resident at once.",
        |sight, out| out.labelled(&[&sight.host.hostname], sight.live.memory.peak),
    ),
];
