//! What pyvmomi does is in the scripts; each says so at its end if all went well.

use rookery_vim_sim::Counts;

use super::server::Server;

async fn run(script: &str) {
    let server = Server::start(Counts { pools: 1, pods: 1, datastores: 2, ..Counts::default() }).await;
    server.python(script).await;
    server.stop().await;
}

#[tokio::test]
async fn pyvmomi_reads_every_property_of_every_object() {
    run("reading.py").await;
}

#[tokio::test]
async fn pyvmomi_watches_with_the_collector() {
    run("watching.py").await;
}

#[tokio::test]
async fn pyvmomi_clones_with_a_customization_and_reads_the_events() {
    run("cloning.py").await;
}

#[tokio::test]
async fn pyvmomi_reads_the_history_of_tasks() {
    run("history.py").await;
}
