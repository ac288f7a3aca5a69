//! What TAB offers of hatcheries that run here.

use rookery_hatchery_stories::{Lab, LabOptions};
use rookery_kit::eventually;

use super::home::Home;

#[tokio::test(flavor = "multi_thread")]
async fn hatcheries_and_the_jobs_that_wait_are_offered() {
    let tables = "[commonConfiguration.provision]\nmaxWorker = 1\n".to_owned();
    let lab = Lab::start(LabOptions { tables, ..LabOptions::default() }).await;
    let home = Home::of(&lab);
    // Whoever names the file may ask for names as well: the last word is the unfinished one.
    let offered = async |words: &[&str], last: &[&str]| {
        let words = [&["__complete", "fish", "--"], words].concat();
        let outcome = home.program(&words).and(last).run().await;
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{words:?}");
        outcome.stdout
    };
    assert_eq!(offered(&["hatchery", "drain"], &["--name", ""]).await, "words\n", "none runs");
    assert_eq!(offered(&["explain"], &[""]).await, "words\n");

    let daemon = home.started().await;
    assert_eq!(offered(&["hatchery", "drain"], &["--name", "h"]).await, "words\nhatchery-lab\thatchery\n");
    let one = lab.v2_job(Lab::DEBIAN, "sleep 1000").await;
    let other = lab.v2_job(Lab::DEBIAN, "sleep 1000").await;
    eventually("the job that waits is offered", async || {
        let jobs = offered(&["explain"], &[""]).await;
        jobs.lines().count() == 2 && (jobs.contains(&one) != jobs.contains(&other))
    })
    .await;
    daemon.signal("TERM");
    assert_eq!(daemon.end().await.code, Some(0));
    lab.close().await;
}
