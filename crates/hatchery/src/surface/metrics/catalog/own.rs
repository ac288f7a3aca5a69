//! The metrics that only this hatchery has.

use std::sync::atomic::Ordering;

use rookery_daemon::expiry::Expires as _;
use rookery_daemon::metrics::{Value, numbers_of};
use rookery_fleet::deletion::Stop;

use super::super::words;
use super::{Row, counter, gauge, histogram};
use crate::plan::Why;

/// The metrics that only this hatchery has.
pub static OWN: &[Row] = &[
    gauge(
        "rookery_cds_call_seconds",
        &[],
        "The median of how long the last ten calls of CDS took. Missing until there were ten.",
        |sight, out| {
            if let Some(median) = sight.report.launches.median_call {
                out.value(median);
            }
        },
    ),
    counter(
        "rookery_cds_requests_total",
        &["route", "outcome"],
        "Requests to CDS, by what they do and what came of them.",
        |sight, out| {
            for ((what, how), count) in &sight.live.cds {
                out.labelled(&[what, how], *count);
            }
        },
    ),
    gauge(
        "rookery_hatchery_addresses",
        &["state"],
        "Configured addresses that are free, used by a VM, or reserved for one that is not seen yet. Only where addresses are configured.",
        |sight, out| {
            if let Some(addresses) = &sight.fleet.addresses {
                let usage = addresses.usage;
                out.labelled(&["free"], usage.free);
                out.labelled(&["reserved"], usage.reserved);
                out.labelled(&["used"], usage.used);
            }
        },
    ),
    gauge(
        "rookery_hatchery_braked",
        &["what"],
        "What waits for a person since it is unusually much: running VMs that would be deleted, workers that would be disabled, VMs that vanished from the inventory.",
        |sight, out| {
            let braked = sight.report.braked.iter().map(|waiting| waiting.subject.as_str());
            out.words(numbers_of(&words::BRAKED, braked));
        },
    ),
    counter(
        "rookery_hatchery_claim_misses_total",
        &["reason"],
        "Workers that got no warm VM, and warm VMs that could not be claimed.",
        |sight, out| out.words(sight.events.misses.iter()),
    ),
    gauge(
        "rookery_hatchery_clock_skew_seconds",
        &[],
        "How far vCenter's clock is ahead of ours. Missing until it was read.",
        |sight, out| {
            if let Some(skew) = sight.report.skew {
                out.value(Value::Real(skew.as_secs_f64()));
            }
        },
    ),
    counter(
        "rookery_hatchery_deletion_failures_total",
        &["reason"],
        "VMs that could not be deleted, by why they were to go.",
        |sight, out| out.words(sight.events.failed_deletions.iter()),
    ),
    counter("rookery_hatchery_deletions_total", &["reason"], "VMs that were deleted.", |sight, out| {
        out.words(sight.events.deletions.iter());
    }),
    gauge(
        "rookery_hatchery_deletions_stopped",
        &["reason"],
        "1 for the reason why nothing may be deleted.",
        |sight, out| out.words(numbers_of(&words::STOPS, sight.report.stopped.iter().map(Stop::as_str))),
    ),
    gauge("rookery_hatchery_draining", &[], "1 while no new jobs are taken.", |sight, out| {
        out.value(sight.report.draining);
    }),
    gauge(
        "rookery_hatchery_elected",
        &[],
        "1 if vCenter's sessions show that no other hatchery of this name acts; 0 if the user may not see them.",
        |sight, out| out.value(sight.events.elected.load(Ordering::Relaxed)),
    ),
    counter(
        "rookery_hatchery_heartbeats_total",
        &["protocol", "outcome"],
        "Heartbeats that CDS took, and those that failed.",
        |sight, out| {
            for (protocol, beats) in [("v1", &sight.events.v1_beats), ("v2", &sight.events.v2_beats)] {
                for (outcome, count) in beats.iter() {
                    out.labelled(&[protocol, outcome], count);
                }
            }
        },
    ),
    gauge(
        "rookery_hatchery_expiry_timestamp_seconds",
        &["what"],
        "When a token or a certificate ends, in seconds since 1970. Missing where that is not known.",
        |sight, out| {
            for (subject, end) in &sight.live.expiries {
                out.labelled(&[subject.as_str()], u64::try_from(end.as_second()).unwrap_or(0));
            }
        },
    ),
    gauge("rookery_hatchery_held_machines", &[], "VMs that somebody keeps to look at them.", |sight, out| {
        out.value(sight.report.held.len());
    }),
    gauge(
        "rookery_hatchery_hold_wishes",
        &[],
        "Wishes to keep the VMs of workers that fail, as long as they wait.",
        |sight, out| out.value(sight.report.wishes.len()),
    ),
    gauge(
        "rookery_hatchery_inventory_age_seconds",
        &[],
        "How long ago vCenter confirmed what is known of its VMs.",
        |sight, out| out.value(sight.live.inventory_age),
    ),
    gauge("rookery_hatchery_inventory_complete", &[], "1 if all VMs are known.", |sight, out| {
        out.value(sight.report.complete);
    }),
    histogram(
        "rookery_hatchery_job_start_seconds",
        &["path"],
        "From the moment a job was queued, by the clock of CDS, until its worker was launched, by how it got its VM.",
        |sight, out| sight.events.waited.iter().for_each(|(way, times)| out.histogram(&[way], times)),
    ),
    gauge(
        "rookery_hatchery_jobs_queued",
        &[],
        "Jobs that wait, as far as they were heard of.",
        |sight, out| out.value(sight.report.counts.queued),
    ),
    gauge(
        "rookery_hatchery_jobs_waiting",
        &["reason"],
        "Jobs that get no worker now, by why.",
        |sight, out| {
            let reasons = sight.report.waiting.values().map(Why::as_str);
            out.words(numbers_of(&words::WAITING, reasons));
        },
    ),
    gauge(
        "rookery_hatchery_last_pass_age_seconds",
        &[],
        "How long ago the last pass was made.",
        |sight, out| out.value(sight.now.duration_since(sight.report.steady).unsigned_abs()),
    ),
    gauge("rookery_hatchery_launches", &[], "Workers between launch and registration.", |sight, out| {
        out.value(sight.report.launches.under_way);
    }),
    gauge(
        "rookery_hatchery_launches_allowed",
        &[],
        "How many workers may be between launch and registration: maxConcurrentProvisioning, or fewer while CDS is slow.",
        |sight, out| out.value(sight.report.launches.allowed),
    ),
    counter(
        "rookery_hatchery_leaks_found_total",
        &["kind"],
        "What was found and put in order of what work that was cut off has left behind.",
        |sight, out| out.words(sight.events.leaks.iter()),
    ),
    histogram(
        "rookery_hatchery_pass_seconds",
        &[],
        "How long passes took: looking, planning, beginning and reporting.",
        |sight, out| out.histogram(&[], &sight.events.passes),
    ),
    counter(
        "rookery_hatchery_stage_failures_total",
        &["stage"],
        "Parts of starts that failed.",
        |sight, out| out.words(sight.events.stage_failures.iter()),
    ),
    histogram(
        "rookery_hatchery_stage_seconds",
        &["stage"],
        "How long the parts of starts took that were done: taking the job, claiming or cloning a VM, turning a claimed one on, waiting for its guest, launching the worker.",
        |sight, out| sight.events.stages.iter().for_each(|(stage, times)| out.histogram(&[stage], times)),
    ),
    counter(
        "rookery_hatchery_starts_total",
        &["path"],
        "Workers that were launched, by how they got their VM: the share that is not fresh is the hit ratio of the warm pool.",
        |sight, out| out.words(sight.events.starts.iter()),
    ),
    gauge(
        "rookery_hatchery_templates_resting",
        &[],
        "Templates that failed of late and are left alone for a while.",
        |sight, out| out.value(sight.report.resting),
    ),
    gauge("rookery_hatchery_work_in_flight", &["work"], "Work under way.", |sight, out| {
        out.words(numbers_of(&words::WORKS, sight.report.running.iter().map(|one| words::work(one.action))));
    }),
    counter(
        "rookery_log_lines_lost_total",
        &[],
        "Log lines that could not be written to standard error in time, or at all.",
        |sight, out| out.value(sight.live.lost_log_lines),
    ),
    counter(
        "rookery_panics_total",
        &[],
        "Tasks that ended with a panic, which is a bug in the hatchery.",
        |sight, out| out.value(sight.live.panics),
    ),
    gauge(
        "rookery_vcenter_operations",
        &["state"],
        "Heavy operations that vCenter is at, and those that wait for their turn.",
        |sight, out| {
            out.labelled(&["running"], sight.live.operations_running);
            out.labelled(&["waiting"], sight.live.operations_waiting);
        },
    ),
    counter(
        "rookery_vcenter_requests_total",
        &["method", "outcome"],
        "Requests to vCenter, by method and what came of them.",
        |sight, out| {
            for ((what, how), count) in &sight.live.vcenter {
                out.labelled(&[what, how], *count);
            }
        },
    ),
];
