//! What goes wrong, told once and clearly.

use rookery_daemon::Supervisor;
use rookery_kit::{Govc, Program, Proxy, Vcsim, VcsimOptions, connect, rookery};
use tokio::net::TcpListener;

use super::{printed, refused};

/// A program that fails, and a second client that counts its sessions: none is left, and a foreign one stays.
async fn check(vcsim: &Vcsim, program: Program, code: i32, words: &[&str]) {
    let govc = Govc::new(vcsim);
    let before = govc.sessions().await;
    let told = refused(program.run().await, code, words);
    assert!(told.lines().count() <= 2, "an error and perhaps a hint: {told}");
    assert_eq!(govc.sessions().await, before);
}

fn listing(vcsim: &Vcsim) -> Program {
    Program::against(vcsim, &["vm", "ls"])
}

/// Without trust in just any certificate.
fn careful(vcsim: &Vcsim, flags: &[&str]) -> Program {
    listing(vcsim).without("GOVC_INSECURE").and(flags)
}

/// The thumbprint as govc sees it.
async fn thumbprint(vcsim: &Vcsim) -> String {
    let text = Govc::new(vcsim).run(&["about.cert", "-k", "-thumbprint"]).await;
    text.split_whitespace().last().expect("a thumbprint").to_owned()
}

#[tokio::test]
async fn a_wrong_password_is_told_without_a_second_attempt() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let held = connect(vcsim.address()).await;
    let words = ["refused the user name or password of user", "hint: `rookery settings` shows where"];
    let program = listing(&vcsim).with("GOVC_URL", proxy.address()).with("GOVC_PASSWORD", "wrong");
    check(&vcsim, program, 3, &words).await;
    let logins = proxy.exchanges().iter().filter(|exchange| exchange.method == "Login").count();
    assert_eq!(logins, 1, "vCenter locks accounts");
    assert_eq!(Govc::new(&vcsim).sessions().await.len(), 1, "that of the other client");
    held.close().await;
}

#[tokio::test]
async fn a_host_that_cannot_be_reached_is_told() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1)).await;
    // A port that was free a moment ago.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let socket = listener.local_addr().expect("bound").to_string();
    drop(listener);
    let words =
        [&format!("{socket} does not accept connections"), "hint: `rookery settings` shows the address"];
    check(&vcsim, listing(&vcsim).with("GOVC_URL", &socket), 5, &words).await;
    let words = ["the name vc.invalid cannot be resolved"];
    check(&vcsim, listing(&vcsim).with("GOVC_URL", "vc.invalid"), 5, &words).await;
}

/// It once said that an answer was lost, or that TLS failed.
#[tokio::test]
async fn a_server_that_is_spoken_to_in_the_wrong_way_is_told_with_the_right_one() {
    let (tls, plain) = tokio::join!(Vcsim::start(VcsimOptions::tls(1)), Vcsim::start(VcsimOptions::plain(1)));
    let socket = tls.socket();
    let words = [&format!("{socket} answers in TLS: write https://{socket}")];
    check(&tls, listing(&tls).with("GOVC_URL", format!("http://{socket}")), 5, &words.map(String::as_str))
        .await;
    let socket = plain.socket();
    let words = [&format!("{socket} answers without TLS: correct the port, or write http://{socket}")];
    check(
        &plain,
        listing(&plain).with("GOVC_URL", format!("https://{socket}")),
        5,
        &words.map(String::as_str),
    )
    .await;
}

#[tokio::test]
async fn a_foreign_certificate_is_refused_with_the_thumbprint_that_would_pin_it() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1)).await;
    let thumbprint = thumbprint(&vcsim).await;
    let words = [
        " is not trusted: the certificate of",
        "pin its thumbprint",
        &thumbprint,
        "--ca-file FILE or --thumbprint HEX",
    ];
    check(&vcsim, careful(&vcsim, &[]), 5, &words).await;

    let wrong = "ab".repeat(32);
    let words = ["is not the server that was pinned", &thumbprint, "compare the thumbprint at the server"];
    check(&vcsim, careful(&vcsim, &["--thumbprint", &wrong]), 5, &words).await;

    printed(careful(&vcsim, &["--thumbprint", &thumbprint]).run().await);
    assert_eq!(Govc::new(&vcsim).sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_certificate_is_believed_only_from_the_given_authority_and_for_this_host_and_time() {
    let vcsim = Vcsim::start(VcsimOptions::issued(1, "valid")).await;
    let ca_file = |vcsim: &Vcsim| vcsim.ca_file().to_str().expect("a plain path").to_owned();
    let authority = ca_file(&vcsim);
    let listed = printed(careful(&vcsim, &["--ca-file", &authority]).run().await);
    assert!(listed.contains("DC0_H0_VM0"), "{listed}");
    check(&vcsim, careful(&vcsim, &[]), 5, &["was issued by an authority that is not trusted"]).await;
    // Of the same name, as the authorities of all vCenters are.
    let other = Vcsim::start(VcsimOptions::issued(1, "valid")).await;
    let namesake = careful(&vcsim, &["--ca-file", &ca_file(&other)]);
    check(&vcsim, namesake, 5, &["the certificate of ", "pin its thumbprint"]).await;

    for (kind, problem) in [("expired", "has expired"), ("other-name", "was issued for another name")] {
        let other = Vcsim::start(VcsimOptions::issued(1, kind)).await;
        check(&other, careful(&other, &["--ca-file", &ca_file(&other)]), 5, &[problem]).await;
    }
    let key = "vcenter.ca-file (flag --ca-file): ";
    let missing = careful(&vcsim, &["--ca-file", "/nonexistent/ca.pem"]);
    check(&vcsim, missing, 2, &[key, "/nonexistent/ca.pem cannot be read"]).await;
    check(&vcsim, careful(&vcsim, &["--ca-file", "/dev/null"]), 1, &["/dev/null"]).await;
    let both = careful(&vcsim, &["--ca-file", &authority, "--insecure"]);
    check(&vcsim, both, 2, &[key, "contradicts vcenter.insecure (flag --insecure)"]).await;
}

#[tokio::test]
async fn an_unknown_datacenter_is_answered_with_those_that_exist() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1).with("-dc=2")).await;
    let words = ["there is no datacenter \"DC7\"; there are: /DC0, /DC1"];
    check(&vcsim, listing(&vcsim).and(&["--datacenter", "DC7"]), 7, &words).await;
    let listed = printed(rookery(&vcsim, &["vm", "ls", "--datacenter", "DC1"]).await);
    assert!(listed.contains("DC1_H0_VM0") && !listed.contains("DC0_H0_VM0"), "{listed}");
}

#[tokio::test]
async fn a_vcenter_that_is_too_slow_is_told_with_the_setting_that_gives_it_more_time() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1).with("-method-delay=CreateContainerView:3000")).await;
    let hurried = listing(&vcsim).with("ROOKERY_VCENTER__LOAD_TIMEOUT", "1s");
    check(&vcsim, hurried, 1, &["vcenter.load-timeout", "the VMs were not loaded within 1 s"]).await;
    // Given the time, it works.
    let outcome = listing(&vcsim).run().await;
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stdout.contains("DC0_H0_VM0"), "{outcome:?}");
}
