//! The pages of a hatchery that stands by, by the real program.

use rookery_hatchery_stories::{Lab, LabOptions};
use rookery_kit::{Running, eventually, read_page};

use super::home::Home;

/// The next remark with that text.
async fn remark(running: &mut Running, text: &str) -> String {
    loop {
        let line = running.remark().await;
        if line.contains(text) {
            return line;
        }
    }
}

async fn page(url: &str, path: &str) -> (u16, String) {
    let (status, _, text) = read_page(&format!("{url}{path}")).await.expect("it serves");
    (status, text)
}

// One that waited for the lock of its machine served nothing: a probe of it was refused, and it was killed.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_stands_by_is_alive_and_says_why_it_is_not_ready() {
    let lab = Lab::start(LabOptions::default()).await;
    let home = Home::of(&lab);
    let mut leader = home.started().await;
    let pages = leader.line().await;
    let taken = pages.strip_prefix("pages    http://").and_then(|rest| rest.strip_suffix("/mon/status"));

    let mut waiting = home.run().and(&["--standby"]).start();
    let served = remark(&mut waiting, "pages are served; until this hatchery leads").await;
    let address = served.split("address=").nth(1).and_then(|rest| rest.split_whitespace().next());
    let url = format!("http://{}", address.unwrap_or_else(|| panic!("{served}")));
    assert_eq!(page(&url, "/healthz").await.0, 200);
    for path in ["/readyz", "/mon/status", "/metrics"] {
        let (status, text) = page(&url, path).await;
        assert_eq!(status, 503, "{path}: {text}");
        let why = "stands by: another hatchery of this name runs on this machine";
        assert!(text.contains(why), "{path}: {text}");
    }

    // The leader has that address.
    let taken = taken.unwrap_or_else(|| panic!("{pages}"));
    let mut third = home.program(&["hatchery", "run", "--standby", "--listen", taken]).start();
    remark(&mut third, "no pages are served until this hatchery leads").await;
    third.signal("TERM");
    assert_eq!(third.end().await.code, Some(0));

    leader.signal("TERM");
    assert_eq!(leader.end().await.code, Some(0));
    assert!(waiting.line().await.contains("serves"));
    eventually("it is ready", async || page(&url, "/readyz").await.0 == 200).await;
    waiting.signal("TERM");
    assert_eq!(waiting.end().await.code, Some(0));
    lab.close().await;
}

// The pages of one on another machine said for ever that the first one led, whatever had become of it.
#[tokio::test(flavor = "multi_thread")]
async fn the_reason_to_stand_by_is_that_of_the_last_look() {
    let lab = Lab::start(LabOptions::default()).await;
    let (home, other_machine) = (Home::of(&lab), Home::of(&lab));
    let leader = home.started().await;
    let mut waiting = other_machine.run().and(&["--standby"]).start();
    let served = remark(&mut waiting, "pages are served; until this hatchery leads").await;
    let address = served.split("address=").nth(1).and_then(|rest| rest.split_whitespace().next());
    let url = format!("http://{}", address.unwrap_or_else(|| panic!("{served}")));
    let says = async |why: &str| page(&url, "/readyz").await.1.contains(why);
    eventually("it stands by", async || says("stands by: instance ").await).await;
    leader.signal("TERM");
    assert_eq!(leader.end().await.code, Some(0));
    eventually("nobody leads", async || says("is first in line").await).await;
    eventually("it leads", async || page(&url, "/readyz").await.0 == 200).await;
    waiting.signal("TERM");
    assert_eq!(waiting.end().await.code, Some(0));
    lab.close().await;
}
