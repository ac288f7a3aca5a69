use std::sync::Arc;

use rookery_fleet_vsphere::CompanyError;
use rookery_fleet_vsphere::company::{others, user_agent};
use rookery_stories::{Connected, Proxy, Vcsim, VcsimOptions, connect_over, options};
use rookery_vim_client::{Options, TcpDial, Trust};

async fn daemon(address: &str, hatchery: &str, instance: &str) -> Connected {
    let options = Options { user_agent: user_agent("1.0", hatchery, instance), ..options(address) };
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
        let found = others(&first.client, "größe (1); x", "a").await.expect("a list");
        found.into_iter().map(|other| (other.instance, other.user)).collect::<Vec<_>>()
    };
    assert_eq!(instances().await, []);
    let second = daemon(vcsim.address(), "größe (1); x", "b").await;
    assert_eq!(instances().await, [("b".to_owned(), Vcsim::USER.to_owned())]);
    second.close().await;
    assert_eq!(instances().await, []);

    // Whoever may not see the list is shown none, or one without anybody in it.
    proxy.rewrite("RetrievePropertiesEx", "sessionList", "sessionLost");
    let hidden = others(&first.client, "größe (1); x", "a").await;
    assert!(matches!(hidden, Err(CompanyError::Hidden)), "{hidden:?}");
    cousin.close().await;
    first.close().await;
}
