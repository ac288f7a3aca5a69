//! Work without a pause: what is over goes as fast as it comes.

use std::time::Duration;

use jiff::SignedDuration;
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::Wire;
use rookery_vim_sim::{Change, Control, Durations, GuestTimes, Settings, Span};
use tokio::time::sleep;

const JOBS_A_MINUTE: usize = 20;
/// Were half of them left over, too many would be dead after a quarter of an hour.
const MINUTES: u32 = 40;
/// `finishedWorkerGracePeriod` and `killAwolServersInterval`, as they are without settings, and those that are being
/// deleted.
const MOST_DEAD: usize = (3 + 1) * JOBS_A_MINUTE + 10;

// Ten machines went in a minute, and twenty came: their addresses were gone in half an hour.
#[tokio::test(start_paused = true)]
async fn forty_minutes_of_twenty_jobs_a_minute_leave_no_more_dead_machines_than_the_grace_period_explains() {
    let options = LabOptions::default();
    // Each look at the vCenter takes its whole history along.
    let vcenter = Settings { events: 500, ..options.vcenter.clone() };
    let stage = Stage::set(LabOptions { vcenter, ..options });
    // Workers come and go fast enough for ten at once, as many as there are without settings.
    let change = Change {
        durations: Some(Durations {
            destroy: Span::Constant(SignedDuration::from_secs(10)),
            ..Durations::default()
        }),
        guests: Some(GuestTimes::default()),
        ..Change::default()
    };
    stage.lab.world.ask(Control::Set(Box::new(change))).await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let mut most = 0;
    for _ in 0..MINUTES {
        for _ in 0..JOBS_A_MINUTE {
            stage.lab.v2_job(Lab::DEBIAN, "true").await;
            sleep(Duration::from_secs(60 / JOBS_A_MINUTE as u64)).await;
        }
        let dead = stage.machines_of(Lab::NAME).await.iter().filter(|vm| !vm.on).count();
        most = most.max(dead);
        assert!(dead <= MOST_DEAD, "{dead} machines are dead");
    }
    println!("{most} machines were dead at most");
    stage.all_jobs_end().await;
    stage.until("all are gone", async || stage.machines_of(Lab::NAME).await.is_empty()).await;
    assert_eq!(stage.findings(), []);
    scene.stop().await;
    stage.lab.close().await;
}
