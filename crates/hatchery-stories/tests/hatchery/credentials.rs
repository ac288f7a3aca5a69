//! Who the hatchery is to its servers, and which servers it takes for what they say they are.

use rookery_cds_sim::{BuiltinConsumer, Config, Control as Cds, HatcheryConsumer, NewJob, Status};
use rookery_daemon::Supervisor;
use rookery_hatchery_stories::{Lab, LabOptions};
use rookery_kit::{Govc, Outcome, Running, Vcsim, VcsimOptions, eventually};
use rookery_vim_sim::server::Identity;
use rookery_vim_sim::{Action, Control, Rule, Settings};
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use super::home::Home;
use super::models::model;
use super::witness::{administrators, control, rule};

const OTHER_USER: &str = "second";
const OTHER_PASSWORD: &str = "second-secret";

/// With two users that may do anything, and a model of V1.
fn two_users() -> LabOptions {
    let options = LabOptions::default();
    let access = administrators(&[(Vcsim::USER, Vcsim::PASSWORD), (OTHER_USER, OTHER_PASSWORD)]);
    LabOptions {
        vcenter: Settings { login: None, access, ..options.vcenter },
        cds: Config { models: vec![model("deb")], ..options.cds },
        ..options
    }
}

/// The key and the user of each session that a hatchery has, as `govc` lists them.
async fn sessions(govc: &Govc) -> Vec<(String, String)> {
    let listing = govc.run(&["session.ls"]).await;
    let ours = listing.lines().filter(|line| line.contains("rookery-hatchery"));
    let words = ours.map(|line| line.split_whitespace());
    let word = |word: Option<&str>| word.expect("a column").to_owned();
    words.map(|mut words| (word(words.next()), word(words.next()))).collect()
}

async fn is_served_as(govc: &Govc, user: &str) {
    eventually("one session, of the right user", async || {
        let sessions = sessions(govc).await;
        sessions.iter().map(|(_, user)| user.as_str()).eq([user])
    })
    .await;
}

async fn end_session(govc: &Govc) {
    let [(key, _)] = sessions(govc).await.try_into().expect("one session");
    govc.run(&["session.rm", &key]).await;
}

async fn remarks(daemon: &mut Running, told: &str, times: usize) -> Vec<String> {
    let mut found = Vec::new();
    while found.len() < times {
        found.extend(Some(daemon.remark().await).filter(|line| line.contains(told)));
    }
    found
}

/// A job of each protocol.
async fn jobs_succeed(lab: &Lab) {
    let jobs = [
        NewJob { model: Some("shared.infra/deb".to_owned()), ..NewJob::v1("true") },
        NewJob::v2("true", Lab::DEBIAN, "default"),
    ];
    for job in jobs {
        let id = lab.enqueue(job).await;
        assert_eq!(lab.ended(&id).await.status, Status::Success);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hangup_brings_other_credentials_for_both_servers_and_those_that_are_refused_change_nothing() {
    let lab = Lab::start(two_users()).await;
    let govc = lab.govc();
    let old = lab.settings_text();
    let home = Home::with(&old);
    let mut daemon = home.started().await;
    is_served_as(&govc, Vcsim::USER).await;

    let tokens = |text: &str, word: &str| {
        text.replace("v1-token", &format!("v1-{word}")).replace("v2-token", &format!("v2-{word}"))
    };
    let login = |user: &str, password: &str| format!("user = \"{user}\"\npassword = \"{password}\"\n");
    let ours = login(Vcsim::USER, Vcsim::PASSWORD);
    assert!(old.starts_with(&ours), "{old}");
    home.write(&tokens(&old, "wrong").replace(&ours, &login(Vcsim::USER, "wrong")));
    daemon.signal("HUP");
    remarks(&mut daemon, "new credentials are refused; the old ones stay", 3).await;
    remarks(&mut daemon, "everything stays as it was", 1).await;
    jobs_succeed(&lab).await;

    let cds = async |control: Cds| lab.cds.control(control).await.expect("the CDS runs");
    let v1 =
        BuiltinConsumer { name: "hatchery".to_owned(), token: "v1-new".into(), ..BuiltinConsumer::default() };
    cds(Cds::PutBuiltin(Box::new(v1))).await;
    let name = Lab::NAME.to_owned();
    let region = Some("default".to_owned());
    cds(Cds::PutHatchery(HatcheryConsumer {
        name,
        region,
        token: "v2-new".into(),
        ..HatcheryConsumer::default()
    }))
    .await;
    let new = tokens(&old, "new").replace(&ours, &login(OTHER_USER, OTHER_PASSWORD));
    home.write(&new);
    // Its session before is still listed when it looks who leads.
    let lost = Rule::new(Action::Status { code: 503 });
    rule(&lab, Rule { method: "Logout".to_owned(), count: Some(1), ..lost }).await;
    daemon.signal("HUP");
    let told = remarks(&mut daemon, "settings read again", 1).await.concat();
    for key in ["user", "password", "commonConfiguration.api.token,", "commonConfiguration.api.tokenV2"] {
        assert!(told.contains(key) && !told.contains("after a restart"), "{key}: {told}");
    }
    is_served_as(&govc, OTHER_USER).await;
    // The old tokens would not sign in any more.
    cds(Cds::ExpireSessions).await;
    jobs_succeed(&lab).await;

    rule(&lab, Rule { method: "Login".to_owned(), ..Rule::new(Action::Status { code: 503 }) }).await;
    home.write(&tokens(&old, "new"));
    daemon.signal("HUP");
    remarks(&mut daemon, "new credentials could not be tried; the next login shows them", 1).await;
    control(&lab, Control::ClearRules).await;
    is_served_as(&govc, OTHER_USER).await;
    end_session(&govc).await;
    is_served_as(&govc, Vcsim::USER).await;
    jobs_succeed(&lab).await;

    daemon.signal("TERM");
    let outcome = daemon.end().await;
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for secret in ["v1-new", "v2-new", "v1-wrong", OTHER_PASSWORD] {
        assert!(!outcome.stderr.contains(secret) && !told.contains(secret), "{}", outcome.stderr);
    }
    assert_eq!(sessions(&govc).await, []);
    lab.close().await;
}

/// Somebody who speaks TLS in front of the lab's CDS, and the file of the certificate.
async fn tls_before(lab: &Lab, folder: &TempDir, tasks: &Supervisor) -> (String, String) {
    let identity = Identity::self_signed(&["127.0.0.1"]).expect("a certificate");
    let file = folder.path().join("cds.pem");
    std::fs::write(&file, identity.pem()).expect("a file");
    let acceptor = identity.acceptor().expect("an acceptor");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("https://{}", listener.local_addr().expect("it is bound"));
    let behind = lab.cds_url.trim_start_matches("http://").to_owned();
    let connections = tasks.clone();
    tasks.spawn("TLS before the CDS", async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, behind) = (acceptor.clone(), behind.clone());
            connections.spawn("a connection", async move {
                let Ok(mut outer) = acceptor.accept(stream).await else { return };
                let mut inner = TcpStream::connect(behind).await.expect("the CDS serves");
                copy_bidirectional(&mut outer, &mut inner).await.ok();
            });
        }
    });
    (url, file.to_str().expect("text").to_owned())
}

/// Starts the daemon, which serves; then ends it.
async fn serves(text: &str) -> Outcome {
    let home = Home::with(text);
    let mut daemon = home.run().start();
    let line = daemon.line().await;
    assert!(line.contains(" serves https://127.0.0.1:"), "{line}");
    daemon.signal("TERM");
    let outcome = daemon.end().await;
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    outcome
}

async fn refused(text: &str) -> Outcome {
    let outcome = Home::with(text).run().run().await;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(5), ""), "{}", outcome.stderr);
    outcome
}

#[tokio::test(flavor = "multi_thread")]
async fn vcenter_and_cds_are_trusted_by_what_the_settings_say_and_by_nothing_else() {
    let (tasks, folder) = (Supervisor::new(), TempDir::new().expect("a folder"));
    let vcsim = Vcsim::start(VcsimOptions::issued(1, "valid")).await;
    let govc = Govc::new(&vcsim);
    let pin = govc.run(&["about.cert", "-k", "-thumbprint"]).await;
    let pin = pin.split_whitespace().last().expect("a thumbprint").to_owned();
    let settings = "networkString = \"VM Network\"\n".to_owned();
    let lab = Lab::start(LabOptions { settings, ..LabOptions::default() }).await;
    let lab = lab.with_vcenter_at(vcsim.address());
    let (cds, cds_ca) = tls_before(&lab, &folder, &tasks).await;
    let plain = format!("url = \"{}\"\n", lab.cds_url);
    let text = |vcenter: &str, trusted: &str| {
        let text = lab.settings_text();
        assert!(text.contains(&plain), "{text}");
        text.replace(&plain, &format!("url = \"{cds}\"\n{trusted}\n")).replacen(
            "datacenterString",
            &format!("{vcenter}\ndatacenterString"),
            1,
        )
    };
    let ca = format!("caFile = {:?}", vcsim.ca_file());
    let cds_ca = format!("caFile = {cds_ca:?}");
    for vcenter in [&ca, &format!("thumbprint = \"{pin}\""), "insecure = true"] {
        let told = serves(&text(vcenter, &cds_ca)).await.stderr;
        // The certificate is valid for a few days.
        assert!(told.contains("a token or certificate expires soon what=\"vcenter_certificate\""), "{told}");
    }
    serves(&text(&ca, "insecure = true")).await;

    let unknown = refused(&text("", &cds_ca)).await;
    let told = "was issued by an authority that is not trusted";
    assert!(unknown.stderr.contains(told) && unknown.stderr.contains(vcsim.socket()), "{}", unknown.stderr);
    let other = refused(&text(&format!("thumbprint = \"{}\"", "ab".repeat(32)), &cds_ca)).await;
    assert!(other.stderr.to_lowercase().contains(&pin.to_lowercase()), "{}", other.stderr);
    let wrong = refused(&text(&cds_ca, &cds_ca)).await;
    assert!(wrong.stderr.contains(told), "{}", wrong.stderr);
    assert_eq!(govc.sessions().await, Vec::<String>::new());
    tasks.shutdown(std::time::Duration::from_secs(5)).await.ok();
    lab.close().await;
}
