//! Measures the simulator beside vcsim. Run it with `cargo xtask bench sim`.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark prints, and fails by panicking"
)]

mod cycle;
mod fanout;
mod retrieve;
mod server;

use server::{Kind, Server};

const USAGE: &str = "bench-sim [--vms 100,10000] [--rounds 5] [--seconds 3] [--alone 100000]";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut plan = Plan { sizes: vec![100, 10_000], rounds: 5, seconds: 3, alone: 100_000 };
    for pair in arguments.chunks(2) {
        let [name, value] = pair else { panic!("{USAGE}") };
        match name.as_str() {
            "--vms" => plan.sizes = value.split(',').map(number).collect(),
            "--rounds" => plan.rounds = number(value),
            "--seconds" => plan.seconds = number(value),
            "--alone" => plan.alone = number(value),
            _ => panic!("{USAGE}"),
        }
    }
    for vms in &plan.sizes {
        compare(*vms, &plan).await;
    }
    if plan.alone > 0 {
        alone(plan.alone, &plan).await;
    }
}

struct Plan {
    sizes: Vec<usize>,
    rounds: usize,
    seconds: usize,
    alone: usize,
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is not a number; {USAGE}"))
}

/// Both servers at once, measured in turn: ours, theirs, ours, theirs, …
async fn compare(vms: usize, plan: &Plan) {
    println!("\n{vms} VMs; vcsim takes its time to start …");
    let mut servers = [Server::start(Kind::Ours, vms).await, Server::start(Kind::Vcsim, vms).await];
    line("start", "s", [servers[0].started, servers[1].started], Better::Less, None);
    line(
        "memory after the start",
        "MiB",
        [servers[0].memory(), servers[1].memory()],
        Better::Less,
        Some(3.0),
    );
    let mut retrieves = [Vec::new(), Vec::new()];
    for _ in 0..plan.rounds {
        for (server, seen) in servers.iter().zip(&mut retrieves) {
            seen.push(retrieve::full_retrieve(server, vms).await);
        }
    }
    line("full retrieve (name, summary, guest, config)", "s", retrieves.map(median), Better::Less, Some(3.0));
    for watched in [false, true] {
        for clients in [1, 8, 64] {
            let mut rates = [Vec::new(), Vec::new()];
            for _ in 0..plan.rounds {
                for (server, seen) in servers.iter_mut().zip(&mut rates) {
                    if !server.stopped {
                        let rate = cycle::rate(server, clients, watched, plan.seconds).await;
                        server.stopped = rate.is_none();
                        seen.extend(rate);
                    }
                }
            }
            let goal = match (vms, watched) {
                (10_000.., true) => Some(10.0),
                (..=100, false) => Some(3.0),
                _ => None,
            };
            let watcher = if watched { "one watcher" } else { "no watcher" };
            let what = format!("clone, on, off, destroy; {clients} clients, {watcher}");
            line(&what, "operations/s", rates.map(median), Better::More, goal);
        }
    }
    let mut fans = [Vec::new(), Vec::new()];
    for _ in 0..plan.rounds {
        for (server, seen) in servers.iter().zip(&mut fans) {
            if !server.stopped {
                seen.push(fanout::delay(server, 50).await);
            }
        }
    }
    line("a change reaches 50 watchers", "ms", fans.map(median), Better::Less, None);
    line("memory at the end", "MiB", [servers[0].memory(), servers[1].memory()], Better::Less, Some(3.0));
}

async fn alone(vms: usize, plan: &Plan) {
    println!("\n{vms} VMs, ours alone");
    let server = Server::start(Kind::Ours, vms).await;
    println!("start: {:.2} s, memory {:.0} MiB", server.started, server.memory());
    println!("full retrieve: {:.2} s", retrieve::full_retrieve(&server, vms).await);
    for clients in [1, 64] {
        let rate = cycle::rate(&server, clients, true, plan.seconds).await.unwrap_or_default();
        println!("clone, on, off, destroy; {clients} clients, one watcher: {rate:.0} operations/s");
    }
    println!("memory at the end: {:.0} MiB", server.memory());
}

#[derive(Clone, Copy)]
enum Better {
    Less,
    More,
}

fn line(what: &str, unit: &str, [ours, theirs]: [f64; 2], better: Better, goal: Option<f64>) {
    if theirs.is_nan() {
        return println!("{what}: rookery {ours:.2} {unit}, vcsim stopped answering");
    }
    let ratio = match better {
        Better::Less => theirs / ours,
        Better::More => ours / theirs,
    };
    let goal = goal.map_or_else(String::new, |goal| {
        let verdict = if ratio >= goal { "reached" } else { "NOT reached" };
        format!(" (goal {goal:.0}: {verdict})")
    });
    println!("{what}: rookery {ours:.2} {unit}, vcsim {theirs:.2} {unit}: {ratio:.1} times better{goal}");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
