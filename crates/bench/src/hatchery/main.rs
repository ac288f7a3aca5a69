//! Measures the hatchery between the two simulators: how long a job waits for its guest's program, how much memory it
//! takes, how long a pass takes, and what it asks of vCenter when nothing happens. Run it with `cargo xtask bench hatchery`.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark prints, and fails by panicking"
)]

mod latency;
mod process;
mod theatre;

const USAGE: &str = "bench-hatchery [--only latency|memory|idle] [--jobs 200] [--idle-minutes 5]";

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (mut only, mut jobs, mut minutes) = (None, 200, 5);
    for pair in arguments.chunks(2) {
        let [name, value] = pair else { panic!("{USAGE}") };
        match name.as_str() {
            "--only" => only = Some(value.as_str()),
            "--jobs" => jobs = number(value),
            "--idle-minutes" => minutes = number(value),
            _ => panic!("{USAGE}"),
        }
    }
    let wanted = |name| only.is_none_or(|only| only == name);
    if wanted("latency") {
        latency::one_at_a_time(latency::Machines::Warm, jobs).await;
        latency::one_at_a_time(latency::Machines::Fresh, jobs).await;
        latency::all_at_once(latency::Machines::Warm, jobs).await;
        latency::all_at_once(latency::Machines::Fresh, jobs).await;
    }
    if wanted("memory") {
        process::memory_and_passes(1_000, jobs).await;
        let many = process::memory_and_passes(10_000, jobs).await;
        let most = process::memory_and_passes(100_000, jobs.min(10)).await;
        at_most("a pass at 100,000 VMs beside one at 10,000", most / many, "times", 12.0);
    }
    if wanted("idle") {
        process::idle(10_000, minutes).await;
    }
}

fn number(text: &str) -> u32 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is not a number; {USAGE}"))
}

/// A figure beside its goal.
fn judge(what: &str, value: f64, unit: &str, goal: f64, reached: bool) {
    let verdict = if reached { "reached" } else { "NOT reached" };
    println!("{what}: {value:.1} {unit} (goal {goal}: {verdict})");
}

fn at_most(what: &str, value: f64, unit: &str, goal: f64) {
    judge(what, value, unit, goal, value <= goal);
}
