//! Measures the vSphere client beside govmomi on the same vcsim. Run it with `cargo xtask bench vim`.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark prints, and fails by panicking"
)]

mod idle;
mod load;
mod table;

const USAGE: &str = "bench-vim [--vms 1000,10000] [--rounds 5] [--idle-minutes 5] [--only load|idle]";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, address, rows] = arguments.as_slice()
        && mode == "load"
    {
        return load::ours(address, rows).await;
    }
    let mut plan = Plan { sizes: vec![1_000, 10_000], rounds: 5, idle_minutes: 5, only: None };
    for pair in arguments.chunks(2) {
        let [name, value] = pair else { panic!("{USAGE}") };
        match name.as_str() {
            "--vms" => plan.sizes = value.split(',').map(number).collect(),
            "--rounds" => plan.rounds = number(value),
            "--idle-minutes" => plan.idle_minutes = number(value),
            "--only" => plan.only = Some(value.clone()),
            _ => panic!("{USAGE}"),
        }
    }
    if plan.only.as_deref() != Some("idle") {
        for vms in &plan.sizes {
            load::compare(*vms, plan.rounds).await;
        }
    }
    if plan.only.as_deref() != Some("load") {
        idle::count(plan.idle_minutes).await;
    }
}

struct Plan {
    sizes: Vec<usize>,
    rounds: usize,
    idle_minutes: usize,
    only: Option<String>,
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is not a number; {USAGE}"))
}
