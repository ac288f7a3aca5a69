//! A simulated vCenter inside this process.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use rookery_daemon::Supervisor;
use rookery_vim_sim::server::{Blobs, Identity, Running};
use rookery_vim_sim::{Clock, Model, Settings};
use tokio::net::TcpListener;

/// How long connections get to end.
const LINGER: Duration = Duration::from_secs(1);

/// A simulated vCenter that can be reached over the network.
#[derive(Debug)]
pub(crate) struct Embedded {
    /// Such as `https://127.0.0.1:8989`.
    pub(crate) address: String,
    supervisor: Supervisor,
}

impl Embedded {
    /// Serves a model on that address; over TLS if there is an identity to show.
    pub(crate) async fn start(
        model: &Model,
        mut settings: Settings,
        listen: SocketAddr,
        identity: Option<Identity>,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        settings.host_certificate = identity.as_ref().map(Identity::pem);
        let world = model.build(settings, clock.now()).context("no vCenter can be built from the model")?;
        let listener =
            TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
        let address = listener.local_addr().context("the listener has no address")?;
        let blobs = Blobs::temporary().context("no temporary folder can be made")?;
        let supervisor = Supervisor::new();
        let running = Running::start(world, clock, blobs, &supervisor);
        let scheme = if identity.is_some() { "https" } else { "http" };
        let tls = identity.map(Identity::acceptor).transpose()?;
        let over = supervisor.token();
        supervisor.spawn("listener of the simulated vCenter", async move {
            tokio::select! {
                () = running.serve(listener, tls) => {}
                () = over.cancelled() => {}
            }
        });
        Ok(Self { address: format!("{scheme}://{address}"), supervisor })
    }

    /// Ends it. Who is still connected is cut off.
    pub(crate) async fn stop(self) {
        self.supervisor.shutdown(LINGER).await.ok();
    }
}
