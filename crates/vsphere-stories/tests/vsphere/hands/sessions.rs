use std::sync::Arc;

use rookery_fleet_vsphere::SessionsError;
use rookery_fleet_vsphere::sessions::{end, list, others, user_agent};
use rookery_hatchery::run::PRODUCT;
use rookery_kit::{Connected, Proxy, Vcsim, VcsimOptions, connect_over, options};
use rookery_vim_client::{Client, Options, TcpDial, Trust};

async fn daemon(address: &str, hatchery: &str, instance: &str) -> Connected {
    let options = Options { user_agent: user_agent(&PRODUCT, "1.0", hatchery, instance), ..options(address) };
    let dial = TcpDial::new(options.endpoint.clone(), &Trust::Insecure).expect("no TLS");
    connect_over(options, Arc::new(dial)).await.expect("connected")
}

#[tokio::test]
async fn a_second_daemon_of_the_same_name_is_seen_until_it_goes() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let proxy = Proxy::start(vcsim.socket(), &rookery_daemon::Supervisor::new()).await;
    let first = daemon(proxy.address(), "größe (1); x", "a").await;
    let cousin = daemon(vcsim.address(), "größe", "c").await;
    let instances = async || {
        let found = others(&first.client, &PRODUCT, "größe (1); x", "a").await.expect("a list");
        found.into_iter().map(|other| (other.instance, other.user)).collect::<Vec<_>>()
    };
    assert_eq!(instances().await, []);
    let second = daemon(vcsim.address(), "größe (1); x", "b").await;
    assert_eq!(instances().await, [("b".to_owned(), Vcsim::USER.to_owned())]);
    second.close().await;
    assert_eq!(instances().await, []);

    // Whoever may not see the list is shown none, or one without anybody in it.
    proxy.rewrite("RetrievePropertiesEx", "sessionList", "sessionLost");
    let hidden = others(&first.client, &PRODUCT, "größe (1); x", "a").await;
    assert!(matches!(hidden, Err(SessionsError::Hidden)), "{hidden:?}");
    cousin.close().await;
    first.close().await;
}

#[tokio::test]
async fn the_session_of_a_silent_daemon_is_ended() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let first = daemon(vcsim.address(), "h", "a").await;
    let options = Options { user_agent: user_agent(&PRODUCT, "1.0", "h", "b"), ..options(vcsim.address()) };
    let dial = TcpDial::new(options.endpoint.clone(), &Trust::Insecure).expect("no TLS");
    // It has nothing that asks by itself, and so does not log in again.
    let silent = Client::connect(options, Arc::new(dial)).await.expect("a session");
    let listing = list(&first.client, &PRODUCT, "h").await.expect("a list");
    assert_eq!(first.client.login(), Some((listing.login, listing.key.0.clone())));
    let instances: Vec<_> = listing.candidates.iter().map(|one| one.instance.as_str()).collect();
    assert_eq!(instances.len(), 2, "{instances:?}");
    let other = listing.candidates.iter().find(|one| one.instance == "b").expect("it is listed");
    assert_eq!(Some(&other.key.0), silent.session_key().as_ref());
    assert!(other.login.is_some() && other.last_active >= other.login, "{other:?}");
    for _ in 0..2 {
        end(&first.client, &other.key).await.expect("it ends, or has ended");
    }
    assert_eq!(others(&first.client, &PRODUCT, "h", "a").await.expect("a list"), []);
    silent.close().await.expect("there is nothing to end");
    first.close().await;
}
