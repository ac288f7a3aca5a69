use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rookery_daemon::{Lease, Supervisor};
use rookery_vim::Limits;
use rookery_vim_client::{
    CallError, Ceilings, Client, Deadlines, Dial, Endpoint, Governor, Inventory, Machines, Options, Tasks,
    TcpDial, Trust,
};

use crate::Vcsim;

/// A client with everything that hangs on it, and how to end it.
#[derive(Debug, Clone)]
pub struct Connected {
    pub client: Client,
    pub inventory: Inventory,
    pub machines: Machines,
    pub governor: Governor,
    pub supervisor: Supervisor,
}

impl Connected {
    /// Stops the tasks and logs out.
    pub async fn close(self) {
        self.supervisor.shutdown(Duration::from_secs(10)).await.expect("all tasks end");
        self.client.close().await.expect("the logout succeeds");
        assert_eq!(self.supervisor.panics(), 0, "a task of the client panicked");
    }
}

/// Options for the simulator's user.
pub fn options(address: &str) -> Options {
    let (endpoint, _) = Endpoint::parse(address).expect("an address");
    Options {
        endpoint,
        user: Vcsim::USER.into(),
        password: Vcsim::PASSWORD.into(),
        user_agent: "rookery-kit".into(),
        deadlines: Deadlines::default(),
        limits: Limits::default(),
        calls_per_second: None,
        lease: Lease::unlimited(),
        random: StdRng::seed_from_u64(1),
    }
}

/// Connects to an address (a simulator, or a proxy before it) without checking certificates.
pub async fn connect(address: &str) -> Connected {
    let options = options(address);
    let dial = TcpDial::new(options.endpoint.clone(), &Trust::Insecure).expect("TLS can be set up");
    connect_over(options, Arc::new(dial)).await.expect("the simulator accepts us")
}

/// Connects over a dialer.
pub async fn connect_over(options: Options, dial: Arc<dyn Dial>) -> Result<Connected, CallError> {
    let client = Client::connect(options, dial).await?;
    let supervisor = Supervisor::new();
    let tasks = Tasks::start(client.clone(), &supervisor);
    let governor = Governor::new(Ceilings::default());
    let inventory = Inventory::start(client.clone(), client.content().root_folder.clone(), &supervisor);
    let machines = Machines::new(client.clone(), tasks, governor.clone());
    Ok(Connected { client, inventory, machines, governor, supervisor })
}

/// Looks again and again until a condition on the world outside holds. The limit only ends a test that has failed.
pub async fn eventually<F: Future<Output = bool>>(what: &str, mut look: impl FnMut() -> F) {
    // On paused time each look costs more than the time in between.
    let (soon, later) = (Duration::from_millis(50), Duration::from_secs(1));
    for pause in std::iter::repeat_n(soon, 600).chain(std::iter::repeat_n(later, 270)) {
        if look().await {
            return;
        }
        tokio::time::sleep(pause).await;
    }
    panic!("it never came true that {what}");
}
