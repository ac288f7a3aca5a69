//! The lines of a heartbeat, in the words and the order that CDS's own monitoring knows.

use std::time::Duration;

use jiff::Timestamp;
use rookery_cds::{Line, LineStatus, MonitoringStatus};
use rookery_daemon::trouble::Trouble;

use super::Report;
use crate::plan::sweep::stop_text;

/// What does not change while the hatchery runs.
#[derive(Debug, Clone)]
pub struct Host {
    pub service: String,
    pub hostname: String,
    pub version: String,
    pub started: Timestamp,
}

/// The lines of a heartbeat. One that is an alarm makes the page of the status fail.
pub fn monitoring(
    host: &Host,
    report: &Report,
    routines: &[(&'static str, bool)],
    troubles: &[Trouble],
    now: Timestamp,
    uptime: Duration,
) -> MonitoringStatus {
    let line = |status: LineStatus, component: &str, value: String| Line {
        status,
        component: component.to_owned(),
        value,
        kind: "hatchery".to_owned(),
        service: host.service.clone(),
        hostname: host.hostname.clone(),
    };
    let ok = |component: &str, value: String| line(LineStatus::Ok, component, value);
    let mut lines = vec![
        ok("Version", host.version.clone()),
        ok("Uptime", go_duration(uptime)),
        ok("Time", now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
    ];
    lines.extend(routines.iter().map(|(routine, runs)| {
        let component = format!("goroutine/{routine}");
        if *runs {
            ok(&component, "Running".to_owned())
        } else {
            line(LineStatus::Alarm, &component, "NOT running".to_owned())
        }
    }));
    let started = report.started.len() as u64;
    lines.push(ok("Workers", of_limit(started, report.limits.workers.map(u64::from))));
    lines.push(ok("CPUs", of_limit(report.ledger.size.cpus, report.limits.size.cpus)));
    lines.push(ok("MemoryMB", of_limit(report.ledger.size.memory_mb, report.limits.size.memory_mb)));
    lines.push(if report.complete {
        ok("VirtualMachines", report.machines.to_string())
    } else {
        line(LineStatus::Alarm, "VirtualMachines", "Error listing".to_owned())
    });
    if !report.held.is_empty() {
        lines.push(ok("HeldVirtualMachines", report.held.len().to_string()));
    }
    if !report.out_of_reach.is_empty() {
        let value = format!("not reached by vCenter for an hour: {}", report.out_of_reach.join(", "));
        lines.push(line(LineStatus::Warn, "UnreachableVirtualMachines", value));
    }
    if report.room_unknown {
        let value = "could not be read: its limits are not enforced until it can".to_owned();
        lines.push(line(LineStatus::Warn, "ResourcePool", value));
    }
    if let Some(allowed) = report.launches.reduced {
        lines.push(line(
            LineStatus::Warn,
            "CDS",
            format!("answers slowly: the hatchery starts only {allowed} at once"),
        ));
    }
    if !report.braked.is_empty() {
        let value =
            format!("{} wait for a person: `rookery hatchery confirm` shows them", report.braked.len());
        lines.push(line(LineStatus::Warn, "Brake", value));
    }
    if !report.apart.is_empty() {
        let value = format!("VMs left alone: {}; `rookery hatchery status` tells why", report.apart.len());
        lines.push(line(LineStatus::Warn, "SetApart", value));
    }
    if let Some(stop) = &report.stopped {
        lines.push(line(LineStatus::Warn, "Cleaning", stop_text(stop)));
    }
    if let Some(first) = troubles.first() {
        let sources: Vec<_> = troubles.iter().map(|trouble| trouble.source.as_str()).collect();
        let value = format!("no answer lately: {}; {}", sources.join(", "), first.error);
        lines.push(line(LineStatus::Warn, "Sources", value));
    }
    MonitoringStatus { now, lines }
}

/// What is in use of what may be, as the lines of the status say it.
pub fn of_limit(used: u64, most: Option<u64>) -> String {
    most.map_or_else(|| format!("{used}/unlimited"), |most| format!("{used}/{most}"))
}

/// As Go writes durations: `1h2m3.5s`, `350ms`.
fn go_duration(duration: Duration) -> String {
    if duration < Duration::from_secs(1) {
        return format!("{}ms", duration.as_millis());
    }
    let (hours, minutes) = (duration.as_secs() / 3600, duration.as_secs() / 60 % 60);
    let rest = format!("{}.{:03}", duration.as_secs() % 60, duration.subsec_millis());
    let rest = rest.trim_end_matches('0').trim_end_matches('.');
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, minutes) => format!("{minutes}m{rest}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{rest}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::capacity::Limits;

    fn lines(report: &Report, routines: &[(&'static str, bool)]) -> Vec<(String, String, LineStatus)> {
        lines_in_trouble(report, routines, &[])
    }

    fn lines_in_trouble(
        report: &Report,
        routines: &[(&'static str, bool)],
        troubles: &[Trouble],
    ) -> Vec<(String, String, LineStatus)> {
        let host = Host {
            service: "h1".to_owned(),
            hostname: "vm".to_owned(),
            version: "1.0".to_owned(),
            started: Timestamp::UNIX_EPOCH,
        };
        let now = Timestamp::from_second(3_723).expect("a time");
        let uptime = Duration::from_secs(3_723);
        let status = monitoring(&host, report, routines, troubles, now, uptime);
        status.lines.into_iter().map(|line| (line.component, line.value, line.status)).collect()
    }

    #[test]
    fn the_lines_are_those_that_monitoring_knows() {
        let report = Report {
            complete: true,
            machines: 7,
            started: vec!["a".to_owned(), "b".to_owned()],
            limits: Limits { workers: Some(20), ..Limits::default() },
            ..Report::default()
        };
        let expected = [
            ("Version", "1.0", LineStatus::Ok),
            ("Uptime", "1h2m3s", LineStatus::Ok),
            ("Time", "1970-01-01T01:02:03Z", LineStatus::Ok),
            ("goroutine/mainRoutine", "Running", LineStatus::Ok),
            ("goroutine/queuePolling", "NOT running", LineStatus::Alarm),
            ("Workers", "2/20", LineStatus::Ok),
            ("CPUs", "0/unlimited", LineStatus::Ok),
            ("MemoryMB", "0/unlimited", LineStatus::Ok),
            ("VirtualMachines", "7", LineStatus::Ok),
        ];
        let expected =
            expected.map(|(component, value, status)| (component.to_owned(), value.to_owned(), status));
        assert_eq!(lines(&report, &[("mainRoutine", true), ("queuePolling", false)]), expected);
    }

    #[test]
    fn machines_that_somebody_keeps_are_told_if_there_are_any() {
        let until = Timestamp::UNIX_EPOCH;
        let text = || "w".to_owned();
        let held = super::super::Held {
            machine: text(),
            power: text(),
            model: text(),
            job: text(),
            until,
            reason: text(),
            wish: text(),
        };
        let report = Report { held: vec![held], ..Report::default() };
        let told = ("HeldVirtualMachines".to_owned(), "1".to_owned(), LineStatus::Ok);
        assert!(lines(&report, &[]).contains(&told));
    }

    #[test]
    fn machines_that_are_out_of_reach_for_long_are_a_warning() {
        let report = Report { out_of_reach: vec!["a".to_owned(), "b".to_owned()], ..Report::default() };
        let value = "not reached by vCenter for an hour: a, b".to_owned();
        let told = ("UnreachableVirtualMachines".to_owned(), value, LineStatus::Warn);
        assert!(lines(&report, &[]).contains(&told));
    }

    #[test]
    fn what_waits_for_a_person_is_a_warning() {
        let (subject, text) = (crate::plan::braked::Subject::Worker("w".to_owned()), || "w".to_owned());
        let waiting = crate::plan::braked::Waiting { subject, name: text(), why: text() };
        let lines = lines(&Report { braked: vec![waiting], ..Report::default() }, &[]);
        let value = "1 wait for a person: `rookery hatchery confirm` shows them".to_owned();
        assert!(lines.contains(&("Brake".to_owned(), value, LineStatus::Warn)), "{lines:?}");
    }

    #[test]
    fn without_a_limit_it_is_unlimited_and_without_an_inventory_an_alarm() {
        let report = Report { complete: false, ..Report::default() };
        let lines = lines(&report, &[]);
        assert!(lines.contains(&("Workers".to_owned(), "0/unlimited".to_owned(), LineStatus::Ok)));
        let alarm = ("VirtualMachines".to_owned(), "Error listing".to_owned(), LineStatus::Alarm);
        assert!(lines.contains(&alarm), "{lines:?}");
    }

    #[test]
    fn a_slow_cds_is_a_warning() {
        let launches = super::super::Launches { reduced: Some(4), ..super::super::Launches::default() };
        let lines = lines(&Report { launches, ..Report::default() }, &[]);
        let value = "answers slowly: the hatchery starts only 4 at once".to_owned();
        assert!(lines.contains(&("CDS".to_owned(), value, LineStatus::Warn)), "{lines:?}");
    }

    // While CDS was down the page said that all was well.
    #[test]
    fn sources_that_do_not_answer_are_a_warning() {
        let trouble = |source: &str| Trouble {
            source: source.to_owned(),
            since: Timestamp::UNIX_EPOCH,
            error: "CDS cannot be reached".to_owned(),
        };
        let lines = lines_in_trouble(&Report::default(), &[], &[trouble("V1 queue"), trouble("workers")]);
        let value = "no answer lately: V1 queue, workers; CDS cannot be reached";
        assert!(lines.contains(&("Sources".to_owned(), value.to_owned(), LineStatus::Warn)), "{lines:?}");
    }

    #[test]
    fn durations_are_written_as_go_does() {
        for (millis, expected) in
            [(350, "350ms"), (1_000, "1s"), (3_500, "3.5s"), (62_250, "1m2.25s"), (3_600_000, "1h0m0s")]
        {
            assert_eq!(go_duration(Duration::from_millis(millis)), expected);
        }
    }
}
