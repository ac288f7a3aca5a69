//! Limits, measured from what the vCenter has written down.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rookery_cds_sim::{Job, Status};
use rookery_kit::Govc;
use serde_json::{Deserializer, Value};

use super::setup::VcsimSetup;

/// When something was written down of each VM, by its name, which stands between two texts of the message.
async fn times(govc: &Govc, before: &str, after: &str) -> BTreeMap<String, Timestamp> {
    let listing = govc.run(&["events", "-json", "-n", "1000"]).await;
    let events = Deserializer::from_str(&listing).into_iter().map(|event| event.expect("JSON"));
    let named = events.filter_map(|event: Value| {
        let (_, rest) = event["message"].as_str()?.split_once(before)?;
        let (name, _) = rest.split_once(after)?;
        Some((name.to_owned(), event["createdTime"].as_str()?.parse().expect("a time")))
    });
    named.collect()
}

/// How many went on at once at most.
fn peak(spans: &[(Timestamp, Timestamp)]) -> usize {
    let at = |moment: Timestamp| spans.iter().filter(|(from, to)| *from <= moment && moment < *to).count();
    spans.iter().map(|(from, _)| at(*from)).max().unwrap_or_default()
}

fn end(job: &Job) -> Timestamp {
    job.history.iter().find(|(_, status)| *status == Status::Success).expect("it went well").0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_jobs_passes_no_limit() {
    let limits = "[commonConfiguration.provision]\nmaxWorker = 2\nmaxConcurrentProvisioning = 1\n";
    let setup = VcsimSetup::start("", limits).await;
    let scene = setup.lab.hatch().await;
    let mut jobs = Vec::new();
    for number in 0..12 {
        jobs.push(setup.v2_job(&format!("sleep 1; echo burst-{number}"), None).await);
    }
    let mut ends = BTreeMap::new();
    for (number, job) in jobs.iter().enumerate() {
        let ended = setup.lab.ended(job).await;
        assert_eq!((ended.status, ended.workers.len()), (Status::Success, 1), "{ended:#?}");
        assert_eq!(ended.logs.trim_end(), format!("burst-{number}"));
        ends.insert(ended.worker_name.clone(), end(&ended));
    }
    setup.swept(0).await;
    let cloned = times(&setup.govc, " in DC0 to ", " on host").await;
    let running = times(&setup.govc, "", " on DC0_H0 in DC0 is powered on").await;
    assert_eq!(
        cloned.keys().collect::<Vec<_>>(),
        ends.keys().collect::<Vec<_>>(),
        "one machine for each job"
    );
    let until = |ends: &BTreeMap<String, Timestamp>| -> Vec<_> {
        cloned.iter().map(|(name, from)| (*from, ends[name])).collect()
    };
    // A worker that has ended counts no more, though its machine still has to go.
    let (making, working) = (peak(&until(&running)), peak(&until(&ends)));
    println!("at most {making} in the making and {working} at work at once");
    assert_eq!((making, working), (1, 2), "{cloned:#?} {running:#?} {ends:#?}");
    scene.stop().await;
    setup.close().await;
}
