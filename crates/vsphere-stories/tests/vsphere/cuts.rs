use std::sync::Arc;
use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_kit::{CutAfter, PipeDial, Recording, Vcsim, VcsimOptions, options, split_answers};
use rookery_vim::MoRef;
use rookery_vim::envelope::service_instance;
use rookery_vim::methods::RetrievePropertiesEx;
use rookery_vim::objects::{ObjectContent, ObjectSpec, PropertyFilterSpec, PropertySpec, RetrieveOptions};
use rookery_vim_client::{CallError, Client, Dial, TcpDial, Trust, retrieve};

/// A read whose answer is small and holds some of everything: text, flags, references, lists.
fn spec(client: &Client) -> PropertyFilterSpec {
    let properties = |kind: &str, paths: &[&str]| PropertySpec {
        kind: kind.into(),
        all: None,
        path_set: paths.iter().map(|p| (*p).to_owned()).collect(),
    };
    let object = |obj: MoRef| ObjectSpec { obj, skip: None, select_set: Vec::new() };
    PropertyFilterSpec {
        prop_set: vec![
            properties("Folder", &["name", "childEntity", "permission", "childType"]),
            properties("ServiceInstance", &["content", "capability"]),
        ],
        object_set: vec![object(client.content().root_folder.clone()), object(service_instance())],
        report_missing_objects: None,
    }
}

async fn read_once(client: &Client) -> Result<Vec<ObjectContent>, CallError> {
    let read = RetrievePropertiesEx {
        this: client.content().property_collector.clone(),
        spec_set: vec![spec(client)],
        options: RetrieveOptions { max_objects: None },
    };
    let result = client.call_once(&read, Duration::from_secs(15)).await?;
    Ok(result.map(|r| r.objects).unwrap_or_default())
}

/// What vcsim answers to each request of a connection and one read, byte for byte.
async fn recorded(vcsim: &Vcsim) -> (Vec<Vec<u8>>, Vec<ObjectContent>) {
    let options = options(vcsim.address());
    let tcp = TcpDial::new(options.endpoint.clone(), &Trust::Insecure).expect("no TLS");
    let recording = Arc::new(Recording::new(Arc::new(tcp)));
    let client = Client::connect(options, Arc::clone(&recording) as Arc<dyn Dial>).await.expect("connected");
    let objects = read_once(&client).await.expect("an answer");
    let heard = recording.heard();
    assert_eq!(heard.len(), 1, "all went over one connection");
    client.close().await.expect("logged out");
    (split_answers(&heard[0]), objects)
}

#[test]
fn an_answer_cut_at_any_byte_is_an_error_or_whole() {
    let real = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (answers, uncut) = real.block_on(async {
        let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
        recorded(&vcsim).await
    });
    assert_eq!(answers.len(), 4, "versions, content, login and the read");
    assert!(uncut.len() == 2);
    let paused = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    paused.expect("a runtime").block_on(async {
        let mut cuts = 0;
        for (which, answer) in answers.iter().enumerate() {
            for keep in 0..=answer.len() {
                let mut given = answers.clone();
                given[which].truncate(keep);
                let supervisor = Supervisor::new();
                let dial = Arc::new(PipeDial::new(given, supervisor.clone()));
                let outcome = match Client::connect(options("http://pipe"), dial).await {
                    Ok(client) => read_once(&client).await,
                    Err(error) => Err(error),
                };
                match outcome {
                    Ok(objects) => assert_eq!(objects, uncut, "answer {which} cut at {keep}"),
                    Err(_) => assert!(keep < answer.len(), "answer {which} was whole"),
                }
                cuts += 1;
            }
        }
        println!("{cuts} cuts of {} answers", answers.len());
    });
}

#[tokio::test]
async fn a_tls_connection_cut_anywhere_is_an_error_or_whole() {
    let vcsim = Vcsim::start(VcsimOptions::tls(20)).await;
    let supervisor = Supervisor::new();
    let attempt = async |limit: usize| {
        let relay = CutAfter::start(vcsim.socket(), limit, &supervisor).await;
        let options = options(&format!("https://{}", relay.socket));
        let dial = TcpDial::new(options.endpoint.clone(), &Trust::Insecure).expect("TLS can be set up");
        let outcome = match Client::connect(options, Arc::new(dial)).await {
            Ok(client) => retrieve(&client, spec(&client)).await,
            Err(error) => Err(error),
        };
        (outcome, relay.passed())
    };
    let (uncut, total) = attempt(usize::MAX).await;
    let uncut = uncut.expect("nothing was cut");
    let (mut whole, mut failed) = (0, 0);
    for step in 0..64 {
        match attempt(total * step / 64).await.0 {
            Ok(objects) => {
                assert_eq!(objects, uncut, "cut after {} of {total} bytes", total * step / 64);
                whole += 1;
            }
            Err(_) => failed += 1,
        }
    }
    println!("64 cuts in {total} bytes: {failed} errors, {whole} whole answers");
    assert!(failed > 0);
}
