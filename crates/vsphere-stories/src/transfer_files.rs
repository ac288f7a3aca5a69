//! Sends a large file to a datastore of a vcsim and fetches it again, and says how much memory that took. It is a
//! process of its own, so that the figure is about nothing else: `transfer-files ADDRESS BYTES PATH`.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "a measuring tool prints, and fails by panicking"
)]

use std::time::{Duration, Instant};

use rookery_kit::{Pattern, PatternCheck, connect};
use rookery_vim_client::{
    DatastoreFiles, DatastorePlace, Existing, FilePath, Kind, Places, Reuse, Upload, Uploaded,
};
use tokio::sync::watch;

const WARM_UP: u64 = 1 << 20;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, bytes, path] = arguments.as_slice() else { panic!("transfer-files ADDRESS BYTES PATH") };
    let size = bytes.parse().expect("a number of bytes");
    let target = FilePath::parse(path).expect("a path");

    let ours = connect(address).await;
    let places = Places::load(&ours.client).await.expect("the places load");
    let datastore = places.find(Kind::Datastore, None, &ours.client.content().root_folder);
    let place = DatastorePlace::of(&places, &datastore.expect("one datastore").id).expect("in a datacenter");
    let files = DatastoreFiles::new(ours.machines.clone(), place);

    // What every transfer needs, whatever its size, is not part of the growth.
    transfer(&files, &target, WARM_UP).await;
    let before = peak_memory();
    let (sent, fetched) = transfer(&files, &target, size).await;
    let growth = peak_memory().saturating_sub(before);
    println!(
        r#"{{"bytes":{size},"sent_ms":{},"fetched_ms":{},"peak_kib":{before},"growth_kib":{growth}}}"#,
        sent.as_millis(),
        fetched.as_millis()
    );
    ours.close().await;
}

async fn transfer(files: &DatastoreFiles, target: &FilePath, size: u64) -> (Duration, Duration) {
    let (progress, _) = watch::channel(0);
    let upload = Upload { target: target.clone(), size, reuse: Reuse::Never, existing: Existing::Replace };
    let start = Instant::now();
    let outcome = files.upload(&upload, async || Ok(Pattern::new(size)), &progress).await;
    assert_eq!(outcome.expect("it is sent"), Uploaded::Sent);
    let sent = start.elapsed();
    let mut check = PatternCheck::new(size);
    let fetched = files.download(target, &mut check, &progress).await.expect("it is fetched");
    assert!(fetched == size && check.is_complete());
    (sent, start.elapsed().saturating_sub(sent))
}

/// The most memory that this process ever had, in KiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux says how a process is");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("its peak memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
