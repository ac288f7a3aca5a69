#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, reason = "an example")]
use rookery_daemon::Supervisor;
use rookery_vim_sim::{Model, Settings, server::Running};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let vms = std::env::args().nth(1).map_or(2, |n| n.parse().expect("a number"));
    let started = std::time::Instant::now();
    let settings = Settings { login: Some(("user".into(), "pass".into())), ..Settings::default() };
    let model = Model { vms, clusters: 0, ..Model::default() };
    let world = model.build(settings, jiff::Timestamp::now());
    let supervisor = Supervisor::new();
    let running = Running::start(world, jiff::Timestamp::now, &supervisor);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:18989").await.expect("a port");
    println!("serving http://{} after {:?}", listener.local_addr().expect("an address"), started.elapsed());
    running.serve(listener, supervisor).await;
}
