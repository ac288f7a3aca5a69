//! What pyvmomi does is in the scripts; each says so at its end if all went well.

use rookery_vim_sim::Counts;

use super::server::{Server, python};

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

#[tokio::test]
async fn the_table_of_what_calls_may_hold_is_pyvmomis() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let vocabulary = here.join("../vim/src");
    let made = python("schema.py", vocabulary.to_str().expect("text")).await;
    let file = here.join("src/soap/schema.txt");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&file, &made).expect("the file can be written");
    }
    let table = std::fs::read_to_string(&file).expect("the table is there");
    assert!(table == made, "schema.txt has something else; UPDATE_SCHEMA=1 writes what pyvmomi has");
}
