//! What looks like the end of a leader and is none, and several ends in a row.

use std::time::Duration;

use jiff::SignedDuration;
use rookery_hatchery::run::Policy;
use rookery_vim_sim::Control;
use tokio::time::{Instant, sleep};

use super::{Hatchery, TAKEOVER, all_is_well, runs_a_job, sessions_of, stage};

/// Everybody looks silent then.
#[tokio::test(start_paused = true)]
async fn a_leader_is_left_alone_when_vcenter_s_clock_is_set_ahead() {
    let stage = stage();
    let first = Hatchery::start(&stage, 1, Policy::Refuse).leads().await;
    let mut second = Hatchery::start(&stage, 2, Policy::Standby);
    sleep(Duration::from_mins(5)).await;
    // Nobody hears of the leader while the other one looks.
    first.vcenter.cut();
    let ahead = Control::Advance(SignedDuration::from_mins(10));
    stage.lab.world.ask(ahead).await;
    sleep(Duration::from_secs(15)).await;
    first.vcenter.mend();
    sleep(Duration::from_mins(5)).await;
    assert!(!first.scene.hatchery.over.is_cancelled() && second.start.waits());
    assert_eq!((sessions_of(&stage.lab, 1).await, sessions_of(&stage.lab, 2).await), (1, 1));
    runs_a_job(&stage).await;
    first.scene.stop().await;
    second.leads().await.scene.stop().await;
    all_is_well(stage).await;
}

/// Whoever is first in line waits from the last kill on, not for each of them.
#[tokio::test(start_paused = true)]
async fn after_several_kills_in_a_row_the_last_one_takes_over_within_four_minutes() {
    let stage = stage();
    let first = Hatchery::start(&stage, 1, Policy::Refuse).leads().await;
    let [second, third] = [2, 3].map(|machine| Hatchery::start(&stage, machine, Policy::Standby));
    sleep(Duration::from_secs(1)).await;
    let last = Hatchery::start(&stage, 4, Policy::Standby);
    sleep(Duration::from_mins(5)).await;
    first.scene.crash().await;
    for next in [&second, &third] {
        sleep(Duration::from_secs(100)).await;
        // Nobody hears of it any more.
        next.vcenter.cut();
    }
    let killed = Instant::now();
    let last = last.leads().await;
    assert!(killed.elapsed() <= TAKEOVER, "{:?}", killed.elapsed());
    runs_a_job(&stage).await;
    last.scene.stop().await;
    all_is_well(stage).await;
}

// One that stood by had to wait until the session of the killed one was silent, though its successor knew that it was over.
#[tokio::test(start_paused = true)]
async fn a_killed_one_that_starts_again_lets_whoever_stands_by_take_over_at_once() {
    for policy in [Policy::Standby, Policy::Refuse] {
        let stage = stage();
        let first = Hatchery::start(&stage, 1, Policy::Refuse).leads().await;
        let second = Hatchery::start(&stage, 2, Policy::Standby);
        sleep(Duration::from_mins(5)).await;
        first.scene.crash().await;
        let killed = Instant::now();
        let mut again = Hatchery::start(&stage, 1, policy);
        let second = second.leads().await;
        assert!(killed.elapsed() <= Duration::from_mins(1), "{:?}", killed.elapsed());
        assert_eq!(again.start.waits(), policy == Policy::Standby);
        runs_a_job(&stage).await;
        second.scene.stop().await;
        if policy == Policy::Standby {
            again.leads().await.scene.stop().await;
        }
        all_is_well(stage).await;
    }
}
