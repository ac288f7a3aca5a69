//! The metrics of the Go hatchery: names, kinds and labels are its own, so that dashboards go on working. The help is
//! ours.

use super::{Row, Write, counter as labelled_counter, gauge as labelled_gauge, histogram, optional};

const SERVICE: &[&str] = &["service_name", "service_type"];
const MACHINE: &[&str] = &["flavor", "service_name", "service_type", "worker_model", "worker_name"];
const HANDLER: &[&str] = &["http_handler", "service_name", "service_type"];
const PROCESS: &[&str] = &["hostname", "service_name", "service_type"];

/// Most of them have no labels of their own.
const fn counter(name: &'static str, help: &'static str, write: Write) -> Row {
    labelled_counter(name, SERVICE, help, write)
}

const fn gauge(name: &'static str, help: &'static str, write: Write) -> Row {
    labelled_gauge(name, SERVICE, help, write)
}

pub static UPSTREAM: &[Row] = &[
    gauge("cds_hatchery_building_workers", "Workers that run a job, as CDS says.", |s, out| {
        out.value(s.workers("Building"));
    }),
    counter(
        "cds_hatchery_chan_v1_job_add_count",
        "V1 jobs that were heard of for the first time.",
        |s, out| out.value(s.events.found.get("v1")),
    ),
    counter(
        "cds_hatchery_chan_v2_job_add_count",
        "V2 jobs that were heard of for the first time.",
        |s, out| out.value(s.events.found.get("v2")),
    ),
    counter(
        "cds_hatchery_chan_worker_starter_job_pop",
        "Jobs for which a worker was started, or that were failed.",
        |s, out| out.value(s.events.popped.get()),
    ),
    gauge("cds_hatchery_checking_workers", "Workers that check a model, as CDS says.", |s, out| {
        out.value(s.workers("Checking"));
    }),
    gauge("cds_hatchery_disabled_workers", "Workers that are disabled, as CDS says.", |s, out| {
        out.value(s.workers("Disabled"));
    }),
    counter(
        "cds_hatchery_job_received_in_queue_polling_ws_v1_count",
        "V1 jobs that CDS has pushed.",
        |s, out| out.value(s.events.pushed.get("v1")),
    ),
    counter(
        "cds_hatchery_job_received_in_queue_polling_ws_v2_count",
        "V2 jobs that CDS has pushed.",
        |s, out| out.value(s.events.pushed.get("v2")),
    ),
    counter("cds_hatchery_jobs_count", "Jobs whose requirements were read.", |s, out| {
        out.value(s.events.known.get());
    }),
    counter("cds_hatchery_jobs_processed_count", "Jobs that a start of a worker was begun for.", |s, out| {
        out.value(s.events.processed.get());
    }),
    counter(
        "cds_hatchery_jobs_websocket_count",
        "Jobs that CDS has pushed, V1 and V2 together.",
        |s, out| out.value(s.events.pushed.iter().map(|(_, count)| count).sum::<u64>()),
    ),
    gauge(
        "cds_hatchery_pending_workers",
        "Workers that were started for a job and that CDS does not know yet.",
        |s, out| out.value(s.workers("Pending")),
    ),
    gauge(
        "cds_hatchery_registering_workers",
        "Workers that were started to register a model and that CDS does not know yet.",
        |s, out| out.value(s.workers("Registering")),
    ),
    counter("cds_hatchery_spawned_worker_count", "Workers that were started.", |s, out| {
        out.value(s.events.spawned.get());
    }),
    counter(
        "cds_hatchery_spawning_worker_count",
        "Jobs that were taken to start a worker for them.",
        |s, out| out.value(s.events.spawning.get()),
    ),
    counter(
        "cds_hatchery_spawning_worker_errors_count",
        "Starts of workers that failed after their job was taken.",
        |s, out| out.value(s.events.spawn_errors.get()),
    ),
    gauge(
        "cds_hatchery_vsphere_allocated_disk_gb",
        "Disks of all own VMs that are no templates, running or not.",
        |s, out| out.value(s.fleet.disk_gb),
    ),
    gauge(
        "cds_hatchery_vsphere_allocated_memory_mb",
        "Memory of all own VMs that are no templates, running or not.",
        |s, out| out.value(s.fleet.own.memory_mb),
    ),
    gauge(
        "cds_hatchery_vsphere_allocated_vcpus",
        "Virtual CPUs of all own VMs that are no templates, running or not.",
        |s, out| out.value(s.fleet.own.vcpus),
    ),
    gauge(
        "cds_hatchery_vsphere_ip_active_count",
        "Configured addresses that a guest shows on a network card. Only where addresses are configured.",
        |s, out| optional(out, s.fleet.addresses.map(|addresses| addresses.active)),
    ),
    gauge(
        "cds_hatchery_vsphere_ip_reserved_count",
        "Configured addresses that a VM holds by its annotation. Only where addresses are configured.",
        |s, out| optional(out, s.fleet.addresses.map(|addresses| addresses.marked)),
    ),
    gauge(
        "cds_hatchery_vsphere_ip_total_count",
        "Configured addresses that may be given away. Only where addresses are configured.",
        |s, out| optional(out, s.fleet.addresses.map(|addresses| addresses.usage.total)),
    ),
    gauge("cds_hatchery_vsphere_max_memory_mb", "The limit maxMemoryMB; 0 is unlimited.", |s, out| {
        out.value(s.report.limits.size.memory_mb.unwrap_or_default());
    }),
    gauge("cds_hatchery_vsphere_max_vcpus", "The limit maxCpus; 0 is unlimited.", |s, out| {
        out.value(s.report.limits.size.cpus.unwrap_or_default());
    }),
    gauge(
        "cds_hatchery_vsphere_pool_total_memory_mb",
        "Memory of everybody's VMs, templates included.",
        |s, out| out.value(s.fleet.all.memory_mb),
    ),
    gauge(
        "cds_hatchery_vsphere_pool_total_vcpus",
        "Virtual CPUs of everybody's VMs, templates included.",
        |s, out| out.value(s.fleet.all.vcpus),
    ),
    gauge("cds_hatchery_vsphere_pool_total_vm_count", "Everybody's VMs, templates included.", |s, out| {
        out.value(s.fleet.all.machines);
    }),
    gauge(
        "cds_hatchery_vsphere_provision_dying_count",
        "VMs of the pool that were given up and are not gone yet.",
        |s, out| out.value(s.fleet.dying),
    ),
    gauge(
        "cds_hatchery_vsphere_provision_inflight_count",
        "VMs of the pool that are being cloned and that vCenter does not list yet.",
        |s, out| out.value(s.report.unseen_makes),
    ),
    gauge("cds_hatchery_vsphere_provision_ready_count", "VMs of the pool that a job can have.", |s, out| {
        out.value(s.fleet.ready);
    }),
    gauge(
        "cds_hatchery_vsphere_provision_starting_count",
        "VMs of the pool that are still being made.",
        |s, out| out.value(s.fleet.starting),
    ),
    gauge("cds_hatchery_vsphere_provisioned_vm_count", "VMs of the pool, in any state.", |s, out| {
        out.value(s.fleet.pooled());
    }),
    gauge(
        "cds_hatchery_vsphere_resource_pool_cpu_max_mhz",
        "The most CPU that the resource pool could use now. Missing while vCenter does not tell it.",
        |s, out| optional(out, s.report.pool.as_ref().and_then(|pool| Some(pool.cpu.max_usage?.0))),
    ),
    gauge(
        "cds_hatchery_vsphere_resource_pool_cpu_unreserved_mhz",
        "What a VM could still reserve of the CPU of the resource pool. Missing while vCenter does not tell it.",
        |s, out| optional(out, s.report.pool.as_ref().and_then(|pool| Some(pool.cpu.unreserved_for_vm?.0))),
    ),
    gauge(
        "cds_hatchery_vsphere_resource_pool_cpu_usage_mhz",
        "The CPU that the resource pool uses now. Missing while vCenter does not tell it.",
        |s, out| optional(out, s.report.pool.as_ref().and_then(|pool| Some(pool.cpu.usage?.0))),
    ),
    gauge(
        "cds_hatchery_vsphere_resource_pool_memory_max_bytes",
        "The most memory that the resource pool could use now. Missing while vCenter does not tell it.",
        |s, out| optional(out, s.report.pool.as_ref().and_then(|pool| Some(pool.memory.max_usage?.0))),
    ),
    gauge(
        "cds_hatchery_vsphere_resource_pool_memory_unreserved_bytes",
        "What a VM could still reserve of the memory of the resource pool. Missing while vCenter does not tell it.",
        |s, out| {
            optional(out, s.report.pool.as_ref().and_then(|pool| Some(pool.memory.unreserved_for_vm?.0)));
        },
    ),
    gauge(
        "cds_hatchery_vsphere_resource_pool_memory_usage_bytes",
        "The memory that the resource pool uses now. Missing while vCenter does not tell it.",
        |s, out| optional(out, s.report.pool.as_ref().and_then(|pool| Some(pool.memory.usage?.0))),
    ),
    gauge("cds_hatchery_vsphere_template_count", "Own templates of V1 models.", |s, out| {
        out.value(s.fleet.templates.machines);
    }),
    gauge("cds_hatchery_vsphere_template_memory_mb", "Memory of own templates of V1 models.", |s, out| {
        out.value(s.fleet.templates.memory_mb);
    }),
    gauge("cds_hatchery_vsphere_template_vcpus", "Virtual CPUs of own templates of V1 models.", |s, out| {
        out.value(s.fleet.templates.vcpus);
    }),
    gauge("cds_hatchery_vsphere_vm_count", "Own VMs that are no templates.", |s, out| {
        out.value(s.fleet.own.machines);
    }),
    labelled_gauge(
        "cds_hatchery_vsphere_worker_disk_gb",
        MACHINE,
        "The disks of one own VM that is no template.",
        |s, out| s.fleet.each(out, |one| one.disk_gb),
    ),
    labelled_gauge(
        "cds_hatchery_vsphere_worker_memory_mb",
        MACHINE,
        "The memory of one own VM that is no template.",
        |s, out| s.fleet.each(out, |one| one.machine.hardware.memory_mb),
    ),
    labelled_gauge(
        "cds_hatchery_vsphere_worker_vcpus",
        MACHINE,
        "The virtual CPUs of one own VM that is no template.",
        |s, out| s.fleet.each(out, |one| one.machine.hardware.cpus.map(u64::from)),
    ),
    gauge(
        "cds_hatchery_vsphere_worker_vm_count",
        "Own VMs that are for a job or a registration.",
        |s, out| out.value(s.fleet.workers),
    ),
    gauge("cds_hatchery_waiting_workers", "Workers that wait for a job, as CDS says.", |s, out| {
        out.value(s.workers("Waiting"));
    }),
    counter("cds_http_router_router_hits", "Requests to the pages of the hatchery.", |s, out| {
        out.value(s.events.pages.hits());
    }),
    histogram(
        "cds_http_server_latency_by_handler",
        HANDLER,
        "Milliseconds until a page was answered.",
        |s, out| s.events.pages.histograms(out, |handler| &handler.latency),
    ),
    histogram(
        "cds_http_server_request_bytes_by_handler",
        HANDLER,
        "Bytes in the bodies of requests.",
        |s, out| s.events.pages.histograms(out, |handler| &handler.request_bytes),
    ),
    labelled_counter("cds_http_server_request_count_by_handler", HANDLER, "Requests by page.", |s, out| {
        s.events.pages.requests(out);
    }),
    labelled_counter(
        "cds_http_server_request_count_by_method_and_handler",
        &["http_handler", "http_method", "service_name", "service_type"],
        "Requests by page and method.",
        |s, out| s.events.pages.counts(out, |handler| &handler.methods),
    ),
    histogram(
        "cds_http_server_response_bytes_by_handler",
        HANDLER,
        "Bytes in the bodies of answers.",
        |s, out| s.events.pages.histograms(out, |handler| &handler.response_bytes),
    ),
    labelled_counter(
        "cds_http_server_response_count_by_status_code_and_handler",
        &["http_handler", "http_status", "service_name", "service_type"],
        "Answers by page and status.",
        |s, out| s.events.pages.counts(out, |handler| &handler.statuses),
    ),
    labelled_gauge(
        "cds_mem_alloc",
        PROCESS,
        "Bytes of memory of the process that are resident.",
        |s, out| {
            out.labelled(&[&s.host.hostname], s.live.memory.resident);
        },
    ),
    labelled_gauge("cds_mem_gc", PROCESS, "Always 0: there is no garbage collector.", |s, out| {
        out.labelled(&[&s.host.hostname], 0_u64);
    }),
    labelled_gauge("cds_mem_sys", PROCESS, "Bytes of memory that the process has mapped.", |s, out| {
        out.labelled(&[&s.host.hostname], s.live.memory.mapped);
    }),
    labelled_gauge(
        "cds_mem_total_alloc",
        PROCESS,
        "The most bytes of memory of the process that were resident at once.",
        |s, out| out.labelled(&[&s.host.hostname], s.live.memory.peak),
    ),
];
