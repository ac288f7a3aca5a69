use std::sync::Arc;

use rookery_daemon::telemetry::chain;
use rookery_kit::{Govc, Vcsim, VcsimOptions, options};
use rookery_vim_client::{CallError, Client, DialError, TcpDial, Thumbprint, Trust, TrustError};

async fn try_with(vcsim: &Vcsim, trust: &Trust) -> Result<(), CallError> {
    let options = options(vcsim.address());
    let dial = TcpDial::new(options.endpoint.clone(), trust).expect("TLS can be set up");
    Client::connect(options, Arc::new(dial)).await?.close().await
}

fn refusal(result: Result<(), CallError>) -> DialError {
    let error = result.expect_err("not trusted");
    assert!(!error.is_transient(), "a certificate does not get better by trying again");
    let CallError::Unreachable { source, .. } = error else { panic!("{}", chain(&error)) };
    source
}

/// The thumbprint as govc sees it.
async fn thumbprint(vcsim: &Vcsim) -> Thumbprint {
    let text = Govc::new(vcsim).run(&["about.cert", "-k", "-thumbprint"]).await;
    text.split_whitespace().last().expect("a thumbprint").parse().expect("SHA-256")
}

#[tokio::test]
async fn a_certificate_from_the_given_authority_is_trusted() {
    let vcsim = Vcsim::start(VcsimOptions::issued(1, "valid")).await;
    try_with(&vcsim, &Trust::CaFile(vcsim.ca_file())).await.expect("trusted");
    try_with(&vcsim, &Trust::Thumbprint(thumbprint(&vcsim).await)).await.expect("pinned");
    try_with(&vcsim, &Trust::Insecure).await.expect("anybody");
    assert_eq!(Govc::new(&vcsim).sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_foreign_certificate_is_refused_and_its_thumbprint_shown() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1)).await;
    let expected = thumbprint(&vcsim).await;
    let refused = refusal(try_with(&vcsim, &Trust::SystemRoots).await);
    let DialError::Certificate { shown, problem, .. } = refused else { panic!("{refused:?}") };
    assert_eq!(shown, expected);
    assert!(problem.contains("authority") || problem.contains("acceptable"), "{problem}");
    let other = Vcsim::start(VcsimOptions::issued(1, "valid")).await;
    assert!(matches!(
        refusal(try_with(&other, &Trust::SystemRoots).await),
        DialError::Certificate { problem: "was issued by an authority that is not trusted", .. }
    ));
}

#[tokio::test]
async fn a_certificate_that_is_expired_or_for_another_name_is_refused() {
    for (kind, expected) in [("expired", "has expired"), ("other-name", "was issued for another name")] {
        let vcsim = Vcsim::start(VcsimOptions::issued(1, kind)).await;
        let refused = refusal(try_with(&vcsim, &Trust::CaFile(vcsim.ca_file())).await);
        assert!(
            matches!(refused, DialError::Certificate { problem, .. } if problem == expected),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn a_wrong_thumbprint_is_refused_before_anything_is_sent() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1)).await;
    let wrong: Thumbprint = "ab".repeat(32).parse().expect("digits");
    let refused = refusal(try_with(&vcsim, &Trust::Thumbprint(wrong)).await);
    let expected = thumbprint(&vcsim).await;
    assert!(matches!(refused, DialError::WrongThumbprint { shown, .. } if shown == expected), "{refused:?}");
}

#[test]
fn an_unusable_ca_file_is_named() {
    let (endpoint, _) = rookery_vim_client::Endpoint::parse("https://vc").expect("an address");
    let missing =
        TcpDial::new(endpoint.clone(), &Trust::CaFile("/nonexistent/ca.pem".into())).expect_err("missing");
    assert!(matches!(missing, TrustError::CaFile { .. }));
    let empty = TcpDial::new(endpoint, &Trust::CaFile("/dev/null".into())).expect_err("empty");
    assert!(matches!(empty, TrustError::NoCertificate { .. }));
}
