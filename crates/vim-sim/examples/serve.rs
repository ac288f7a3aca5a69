#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, reason = "an example")]
use rookery_daemon::Supervisor;
use rookery_vim_sim::{
    Clock, Counts, Model, Settings,
    server::{Blobs, Running},
};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let vms = std::env::args().nth(1).map_or(2, |n| n.parse().expect("a number"));
    let started = std::time::Instant::now();
    let settings = Settings { login: Some(("user".into(), "pass".into())), ..Settings::default() };
    let clock = rookery_daemon::Clock::system();
    let model = Model::uniform(Counts { vms, clusters: 0, ..Counts::default() });
    let world = model.build(settings, clock.now()).expect("a world");
    let supervisor = Supervisor::new();
    let blobs = Blobs::in_folder(&std::env::temp_dir().join(format!("serve-{}", std::process::id())))
        .expect("a folder");
    let running = Running::start(world, Clock::real(clock), blobs, &supervisor);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:18989").await.expect("a port");
    println!("serving http://{} after {:?}", listener.local_addr().expect("an address"), started.elapsed());
    running.serve(listener, None).await;
}
