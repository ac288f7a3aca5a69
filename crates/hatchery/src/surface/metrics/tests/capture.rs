//! The Go hatchery's own answer (values were taken out of it): names, kinds and labels are the same.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

const CAPTURE: &str = include_str!("capture.txt");

/// Kind of each metric, and the names of the labels of each of its samples, in their order.
type Shape = BTreeMap<String, (String, BTreeSet<Vec<String>>)>;

fn shape(text: &str) -> Shape {
    let mut shape = Shape::new();
    let mut metric = String::new();
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("# TYPE ") {
            let (name, kind) = head.split_once(' ').unwrap();
            metric = name.to_owned();
            shape.insert(metric.clone(), (kind.to_owned(), BTreeSet::new()));
        } else if !line.starts_with('#') {
            let (name, rest) = line.split_once('{').unwrap_or((line, ""));
            assert!(name.starts_with(&metric), "{line} is below {metric}");
            let labels = rest.split(',').filter_map(|label| Some(label.split_once("=\"")?.0.to_owned()));
            let mut labels: Vec<String> = labels.collect();
            // Which samples of a histogram there are is part of its kind.
            labels.retain(|label| label != "le");
            shape.get_mut(&metric).unwrap().1.insert(labels);
        }
    }
    shape
}

#[test]
fn names_kinds_and_labels_are_those_of_the_go_hatchery() {
    let (theirs, ours) = (shape(CAPTURE), shape(&text_of(&report())));
    assert!(theirs.len() > 45, "{theirs:#?}");
    for (name, (kind, labels)) in theirs {
        let (our_kind, our_labels) = ours.get(&name).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(*our_kind, kind, "{name}");
        let our_labels: BTreeSet<Vec<String>> = our_labels
            .iter()
            // This label was dropped by mistake once; it is kept.
            .map(|labels| labels.iter().filter(|label| *label != "flavor").cloned().collect())
            .collect();
        assert_eq!(our_labels, labels, "{name}");
    }
}

#[test]
fn the_order_is_that_of_the_go_hatchery_too() {
    let names = |text: &str| -> Vec<String> {
        let heads = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        heads.map(|head| head.split(' ').next().unwrap().to_owned()).collect()
    };
    let theirs = names(CAPTURE);
    let ours: Vec<_> = names(&text_of(&report())).into_iter().filter(|name| theirs.contains(name)).collect();
    assert_eq!(ours, theirs);
}

#[test]
fn the_bounds_of_histograms_are_written_as_go_writes_them() {
    let bounds = |text: &str, metric: &str| -> BTreeSet<String> {
        let buckets = text.lines().filter(|line| line.starts_with(&format!("{metric}_bucket")));
        buckets.filter_map(|line| Some(line.split_once("le=\"")?.1.split_once('"')?.0.to_owned())).collect()
    };
    let ours = text_of(&report());
    for metric in ["latency_by_handler", "request_bytes_by_handler", "response_bytes_by_handler"] {
        let metric = format!("cds_http_server_{metric}");
        let expected = bounds(CAPTURE, &metric);
        assert!(expected.len() > 8, "{metric}");
        assert_eq!(bounds(&ours, &metric), expected);
    }
}

/// Those that the capture lacks since nothing of the kind had happened, and those of the amendment.
#[test]
fn documented_names_that_the_capture_lacks_are_there() {
    let ours = shape(&text_of(&report()));
    let counters = [
        "jobs_websocket_count",
        "spawning_worker_errors_count",
        "chan_v1_job_add_count",
        "job_received_in_queue_polling_ws_v1_count",
    ];
    for name in counters {
        assert_eq!(ours[&format!("cds_hatchery_{name}")].0, "counter", "{name}");
    }
    for name in ["hatchery_vsphere_max_vcpus", "hatchery_vsphere_max_memory_mb", "mem_alloc", "mem_gc"] {
        assert_eq!(ours[&format!("cds_{name}")].0, "gauge", "{name}");
    }
    let machine = ["flavor", "service_name", "service_type", "worker_model", "worker_name"];
    let labels = &ours["cds_hatchery_vsphere_worker_vcpus"].1;
    assert_eq!(*labels, BTreeSet::from([machine.map(str::to_owned).to_vec()]));
}
