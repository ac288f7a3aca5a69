//! The metrics that only this hatchery has.

use std::sync::atomic::Ordering;

use rookery_daemon::expiry::Expires as _;
use rookery_daemon::metrics::{Value, numbers_of};
use rookery_fleet::deletion::Stop;

use super::super::words;
use super::{Row, counter, gauge, histogram, optional};
use crate::plan::WaitReason;

pub static OWN: &[Row] = &[
    gauge(
        "rookery_cds_call_seconds",
        &[],
        "The median of how long the last ten calls of CDS took. Missing until there were ten.",
        |s, out| optional(out, s.report.launches.median_call),
    ),
    counter(
        "rookery_cds_requests_total",
        &["route", "outcome"],
        "Requests to CDS, by what they do and what came of them.",
        |s, out| {
            for ((what, how), count) in &s.live.cds {
                out.labelled(&[what, how], *count);
            }
        },
    ),
    gauge(
        "rookery_hatchery_addresses",
        &["state"],
        "Configured addresses that are free, used by a VM, or reserved for one that is not seen yet. Only where addresses are configured.",
        |s, out| {
            if let Some(addresses) = &s.fleet.addresses {
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
        "What waits for a person to confirm it, because it is unusually much: running VMs that would be deleted, \
         workers that would be disabled, VMs that vanished from the inventory.",
        |s, out| {
            let braked = s.report.braked.iter().map(|waiting| waiting.subject.as_str());
            out.words(numbers_of(&words::BRAKED, braked));
        },
    ),
    counter(
        "rookery_hatchery_claim_misses_total",
        &["reason"],
        "Workers that got no warm VM, and warm VMs that could not be claimed.",
        |s, out| out.words(s.events.misses.iter()),
    ),
    gauge(
        "rookery_hatchery_clock_skew_seconds",
        &[],
        "How far vCenter's clock is ahead of ours. Missing until it was read.",
        |s, out| optional(out, s.report.skew.map(|skew| Value::Real(skew.as_secs_f64()))),
    ),
    counter(
        "rookery_hatchery_deletion_failures_total",
        &["reason"],
        "VMs that could not be deleted, by why they were to go.",
        |s, out| out.words(s.events.failed_deletions.iter()),
    ),
    counter("rookery_hatchery_deletions_total", &["reason"], "VMs that were deleted.", |s, out| {
        out.words(s.events.deletions.iter());
    }),
    gauge(
        "rookery_hatchery_deletions_stopped",
        &["reason"],
        "1 for the reason why nothing may be deleted.",
        |s, out| out.words(numbers_of(&words::STOPS, s.report.stopped.iter().map(Stop::as_str))),
    ),
    gauge("rookery_hatchery_draining", &[], "1 while no new jobs are taken.", |s, out| {
        out.value(s.report.draining);
    }),
    gauge(
        "rookery_hatchery_elected",
        &[],
        "1 if vCenter's sessions show that no other hatchery of this name acts; 0 if the user may not see them.",
        |s, out| out.value(s.events.elected.load(Ordering::Relaxed)),
    ),
    counter(
        "rookery_hatchery_heartbeats_total",
        &["protocol", "outcome"],
        "Heartbeats that CDS took, and those that failed.",
        |s, out| {
            for (protocol, beats) in [("v1", &s.events.v1_beats), ("v2", &s.events.v2_beats)] {
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
        |s, out| {
            for (subject, end) in &s.live.expiries {
                out.labelled(&[subject.as_str()], u64::try_from(end.as_second()).unwrap_or(0));
            }
        },
    ),
    gauge("rookery_hatchery_held_machines", &[], "VMs that somebody keeps to look at them.", |s, out| {
        out.value(s.report.held.len());
    }),
    gauge(
        "rookery_hatchery_hold_wishes",
        &[],
        "Open requests to keep the VMs of workers that fail.",
        |s, out| out.value(s.report.wishes.len()),
    ),
    gauge(
        "rookery_hatchery_inventory_age_seconds",
        &[],
        "How long ago vCenter confirmed what is known of its VMs.",
        |s, out| out.value(s.live.inventory_age),
    ),
    gauge("rookery_hatchery_inventory_complete", &[], "1 if all VMs are known.", |s, out| {
        out.value(s.report.complete);
    }),
    histogram(
        "rookery_hatchery_job_start_seconds",
        &["path"],
        "From the moment a job was queued, by the clock of CDS, until its worker was launched, by how it got its VM.",
        |s, out| s.events.waited.iter().for_each(|(way, times)| out.histogram(&[way], times)),
    ),
    gauge("rookery_hatchery_jobs_queued", &[], "Jobs that wait, as far as this hatchery knows.", |s, out| {
        out.value(s.report.counts.queued);
    }),
    gauge("rookery_hatchery_jobs_waiting", &["reason"], "Jobs that get no worker now, by why.", |s, out| {
        let reasons = s.report.waiting.values().map(WaitReason::as_str);
        out.words(numbers_of(&words::WAITING, reasons));
    }),
    gauge("rookery_hatchery_last_pass_age_seconds", &[], "How long ago the last pass was made.", |s, out| {
        out.value(s.now.duration_since(s.report.steady).unsigned_abs());
    }),
    gauge("rookery_hatchery_launches", &[], "Workers between launch and registration.", |s, out| {
        out.value(s.report.launches.under_way);
    }),
    gauge(
        "rookery_hatchery_launches_allowed",
        &[],
        "How many workers may be between launch and registration: maxConcurrentProvisioning, or fewer while CDS is slow.",
        |s, out| out.value(s.report.launches.allowed),
    ),
    counter(
        "rookery_hatchery_leaks_found_total",
        &["kind"],
        "Leftovers of interrupted work that were found and cleaned up.",
        |s, out| out.words(s.events.leaks.iter()),
    ),
    histogram(
        "rookery_hatchery_pass_seconds",
        &[],
        "How long passes took: looking, planning, beginning and reporting.",
        |s, out| out.histogram(&[], &s.events.passes),
    ),
    counter(
        "rookery_hatchery_stage_failures_total",
        &["stage"],
        "Stages of worker starts that failed.",
        |s, out| {
            out.words(s.events.stage_failures.iter());
        },
    ),
    histogram(
        "rookery_hatchery_stage_seconds",
        &["stage"],
        "How long the stages of worker starts took that succeeded: taking the job, claiming or cloning a VM, turning \
         a claimed one on, waiting for its guest, launching the worker.",
        |s, out| s.events.stages.iter().for_each(|(stage, times)| out.histogram(&[stage], times)),
    ),
    counter(
        "rookery_hatchery_starts_total",
        &["path"],
        "Workers that were launched, by how they got their VM: the share that is not fresh is the hit ratio of the warm pool.",
        |s, out| out.words(s.events.starts.iter()),
    ),
    gauge(
        "rookery_hatchery_templates_resting",
        &[],
        "Templates that failed of late and are left alone for a while.",
        |s, out| out.value(s.report.resting),
    ),
    gauge("rookery_hatchery_work_in_flight", &["work"], "Work under way.", |s, out| {
        out.words(numbers_of(&words::WORKS, s.report.running.iter().map(|one| words::work(one.action))));
    }),
    counter(
        "rookery_log_lines_lost_total",
        &[],
        "Log lines that could not be written to standard error in time, or at all.",
        |s, out| out.value(s.live.lost_log_lines),
    ),
    counter(
        "rookery_panics_total",
        &[],
        "Tasks that ended with a panic, which is a bug in the hatchery.",
        |s, out| out.value(s.live.panics),
    ),
    gauge(
        "rookery_vcenter_operations",
        &["state"],
        "Heavy operations that vCenter is carrying out, and those that wait for their turn.",
        |s, out| {
            out.labelled(&["running"], s.live.operations_running);
            out.labelled(&["waiting"], s.live.operations_waiting);
        },
    ),
    counter(
        "rookery_vcenter_requests_total",
        &["method", "outcome"],
        "Requests to vCenter, by method and what came of them.",
        |s, out| {
            for ((what, how), count) in &s.live.vcenter {
                out.labelled(&[what, how], *count);
            }
        },
    ),
];
