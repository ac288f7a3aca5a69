//! From a job in the queue to its program in a guest.

use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_hatchery_stories::Scene;
use rookery_kit::eventually;
use tokio::time::Instant;

use super::at_most;
use super::theatre::Theatre;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machines {
    Warm,
    Fresh,
}

/// One job after the other, each once everything is quiet again.
pub(crate) async fn one_at_a_time(machines: Machines, jobs: u32) {
    let players = Supervisor::new();
    let warm = if machines == Machines::Warm { 4 } else { 0 };
    let mut theatre = Theatre::open(100, warm, &players).await;
    let scene = theatre.lab.hatch().await;
    let mut took = Vec::new();
    for _ in 0..jobs {
        quiet(&scene, warm).await;
        let pushed = Instant::now();
        let job = theatre.job().await;
        took.push(theatre.started.recv().await.expect("it starts") - pushed);
        theatre.lab.ended(&job).await;
    }
    took.sort_unstable();
    let of =
        |percent: usize| milliseconds(*took.get((took.len() * percent).div_ceil(100) - 1).expect("jobs"));
    println!("{machines:?}, {jobs} jobs one at a time: p50 {:.1} ms", of(50));
    at_most("  p99", of(99), "ms", if warm > 0 { 20.0 } else { 50.0 });
    close(scene, theatre, players).await;
}

/// All jobs at once.
pub(crate) async fn all_at_once(machines: Machines, jobs: u32) {
    let players = Supervisor::new();
    let warm = if machines == Machines::Warm { jobs } else { 0 };
    let mut theatre = Theatre::open(100, warm, &players).await;
    let scene = theatre.lab.hatch().await;
    quiet(&scene, warm).await;
    let begun = Instant::now();
    for _ in 0..jobs {
        theatre.job().await;
    }
    let mut last = begun;
    for _ in 0..jobs {
        last = theatre.started.recv().await.expect("it starts");
    }
    let rate = f64::from(jobs) / (last - begun).as_secs_f64();
    super::judge(&format!("{machines:?}, {jobs} jobs at once"), rate, "starts/s", 100.0, rate >= 100.0);
    close(scene, theatre, players).await;
}

/// All warm machines are there, and nothing is under way.
async fn quiet(scene: &Scene, warm: u32) {
    eventually("it is quiet", async || {
        let report = scene.hatchery.published.report.borrow();
        report.complete && report.counts.warm >= warm as usize && report.running.is_empty()
    })
    .await;
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

async fn close(scene: Scene, theatre: Theatre, players: Supervisor) {
    players.shutdown(Duration::ZERO).await.ok();
    scene.stop().await;
    theatre.lab.close().await;
}
