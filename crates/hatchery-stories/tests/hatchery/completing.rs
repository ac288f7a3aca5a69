//! What TAB offers of hatcheries that run here: what the scripts of the shells are answered.

use std::time::Duration;

use rookery_hatchery_stories::{Lab, LabOptions};
use rookery_kit::eventually;

use super::home::Home;

#[tokio::test(flavor = "multi_thread")]
async fn hatcheries_and_their_jobs_are_offered() {
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
    // Those that are served can be explained as well, and were not offered.
    eventually("both are offered", async || {
        let jobs = offered(&["explain"], &[""]).await;
        jobs.lines().count() == 3
            && jobs.contains(&one)
            && jobs.contains(&other)
            && jobs.contains("\tserved: ")
    })
    .await;
    // Whoever presses TAB waited for whoever opens the other end.
    let pipe = home.folder().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let words = ["__complete", "fish", "--", "explain", "-c", &pipe.to_string_lossy(), ""];
    let mut stuck = home.nameless(&words).start();
    assert!(stuck.ends_within(Duration::from_secs(30)).await, "it waits for a pipe");
    daemon.signal("TERM");
    assert_eq!(daemon.end().await.code, Some(0));
    lab.close().await;
}
