//! What is told of a file that does not fit into a guest.

use std::fs::File;

use rookery_kit::{Program, Sim, Vcsim};

const VM: &str = "DC0_H0_VM0";

#[tokio::test]
async fn an_upload_that_does_not_fit_is_told_in_the_servers_own_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let (control, large, small) = (text("control.json"), text("large"), text("small"));
    // Without content: its size alone is more than a guest of the simulator takes.
    File::create(&large).and_then(|file| file.set_len(2 << 30)).expect("made");
    std::fs::write(&small, "eggs").expect("written");
    let sim = Sim::start(&["--clusters", "0", "--vms", "1", "--control-file", &control]).await;
    let refused = async |file: &str| {
        let outcome = Program::new(&["vm", "upload", VM, file, "/tmp/eggs"])
            .with("GOVC_URL", sim.address())
            .with("GOVC_USERNAME", Vcsim::USER)
            .with("GOVC_PASSWORD", Vcsim::PASSWORD)
            .with("GOVC_GUEST_LOGIN", "worker:nest")
            .run()
            .await;
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(outcome.stderr.starts_with("error: DC0_H0_VM0: cannot write /tmp/eggs "), "{outcome:?}");
        outcome.stderr
    };
    let told = refused(&large).await;
    assert!(told.contains("does not fit on the guest's disk"), "{told}");

    // A host that finds out only when the content comes has nothing but a status and a page.
    let rule = r#"{"method": "PUT /guestFile*", "action": {"status": {"code": 507}}}"#;
    let ruled =
        Program::new(&["sim", "vcenter", "ctl", "--control-file", &control, "add-rule", rule]).run().await;
    assert_eq!(ruled.code, Some(0), "{ruled:?}");
    let told = refused(&small).await;
    assert!(
        told.contains("HTTP status 507 Insufficient Storage: a rule of the simulator says so; make room"),
        "{told}"
    );
}
