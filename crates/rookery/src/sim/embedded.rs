//! A simulated vCenter inside this process.

use std::net::SocketAddr;

use anyhow::Context as _;
use rookery_daemon::Supervisor;
use rookery_vim_sim::server::{Blobs, Identity, Running};
use rookery_vim_sim::{Clock, Model, Settings};

use super::listen;

/// A simulated vCenter that can be reached over the network, until its supervisor ends.
#[derive(Debug)]
pub(crate) struct Embedded {
    /// Such as `https://127.0.0.1:8989`.
    pub(crate) address: String,
    #[cfg_attr(not(feature = "hatchery"), expect(dead_code, reason = "only `up` looks into it"))]
    pub(crate) running: Running,
}

impl Embedded {
    /// Serves a model on that address; over TLS if there is an identity to show.
    pub(crate) async fn start(
        model: &Model,
        mut settings: Settings,
        at: SocketAddr,
        identity: Option<Identity>,
        clock: Clock,
        supervisor: &Supervisor,
    ) -> anyhow::Result<Self> {
        settings.host_certificate = identity.as_ref().map(Identity::pem);
        let world = model.build(settings, clock.now()).context("no vCenter can be built from the model")?;
        let (listener, address) = listen(at).await?;
        let blobs = Blobs::temporary().context("no temporary folder can be made")?;
        let running = Running::start(world, clock, blobs, supervisor);
        let scheme = if identity.is_some() { "https" } else { "http" };
        let tls = identity.map(Identity::acceptor).transpose()?;
        let (serving, over) = (running.clone(), supervisor.token());
        supervisor.spawn("listener of the simulated vCenter", async move {
            tokio::select! {
                biased;
                () = over.cancelled() => {}
                () = serving.serve(listener, tls) => {}
            }
        });
        Ok(Self { address: format!("{scheme}://{address}"), running })
    }
}
