//! `rookery sim cds`.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use rookery_cds_sim::{Clock, Config, Running, SigningKey, Token, World};
use rookery_daemon::Supervisor;
use rookery_daemon::settings::read_secret;
use secrecy::ExposeSecret as _;

use super::{LINGER, listen, read_model, stdin_closes};
use crate::Ending;
use crate::output::Out;
use crate::session::signals;

/// The arguments of `sim cds`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8990")]
    listen: SocketAddr,
    /// Who may sign in, which models there are, and how long things last: TOML or JSON
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// File with the token that opens /control/, through which jobs are made and inspected, and faults injected
    #[arg(long, value_name = "FILE")]
    control_token_file: Option<PathBuf>,
    /// End when standard input closes
    #[arg(long)]
    until_stdin_closes: bool,
}

impl Args {
    fn config(&self) -> anyhow::Result<Config> {
        let mut config = match &self.model {
            Some(file) => read_model(file, "CDS")?,
            None => Config::default(),
        };
        if let Some(file) = &self.control_token_file {
            let token = read_secret(file)
                .map_err(anyhow::Error::msg)
                .with_context(|| format!("{} cannot be read", file.display()))?;
            config.control_token = Some(Token(token.expose_secret().to_owned()));
        }
        Ok(config)
    }
}

pub(super) async fn run(args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    if !args.listen.ip().is_loopback() {
        bail!(
            "--listen {} must be a loopback address: the simulator lets in whoever can reach it",
            args.listen
        );
    }
    let config = args.config()?;
    let key = SigningKey::generate().context("no key for signing sessions could be made")?;
    let (listener, _) = listen(args.listen).await?;
    let clock = Clock::wall(rookery_daemon::Clock::system());
    let supervisor = Supervisor::new();
    let running = Running::start(World::new(config, key, clock.now()), clock, &supervisor);
    running.serve(listener);
    out.line(&format!("serving {}", running.url())).await?;
    signals::heeding(async |stop| {
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = stdin_closes(), if args.until_stdin_closes => {}
        }
        supervisor.shutdown(LINGER).await.ok();
    })
    .await;
    Ok(Ending::Done)
}
