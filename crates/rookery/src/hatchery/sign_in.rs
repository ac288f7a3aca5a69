//! Signing in to CDS, and what it means to people if that fails.

use anyhow::Context as _;
use rookery_cds::{CdsError, HatcheryKey, Service, V1, V2};
use rookery_hatchery::settings::Settings;

use super::check::client;

/// Where tokens are named, for whoever has to correct one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokensOf {
    File,
    /// There is no file yet.
    Flags,
}

/// CDS could not be signed in to. It names the token that was refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SignInError {
    #[error("CDS at {url} does not take the token for {jobs} jobs ({token})")]
    Refused { url: String, jobs: &'static str, token: &'static str, source: CdsError },
    #[error("CDS at {url} cannot be signed in to for {jobs} jobs")]
    Failed { url: String, jobs: &'static str, source: CdsError },
}

impl SignInError {
    fn new(settings: &Settings, jobs: &'static str, token: &'static str, source: CdsError) -> Self {
        let url = settings.api.url.to_string();
        if matches!(source, CdsError::SignIn { .. }) || source.is_unauthorized() || source.is_forbidden() {
            Self::Refused { url, jobs, token, source }
        } else {
            Self::Failed { url, jobs, source }
        }
    }
}

/// The region that CDS gives to V2 jobs of this hatchery.
pub(super) async fn v2_region(v2: &V2, settings: &Settings, tokens: TokensOf) -> Result<String, SignInError> {
    let token = match tokens {
        TokensOf::File => "commonConfiguration.api.tokenV2",
        TokensOf::Flags => "--token-v2-file",
    };
    v2.region().await.map_err(|error| SignInError::new(settings, "V2", token, error))
}

/// The service that CDS knows this hatchery as.
pub(super) async fn v1_service(
    v1: &V1,
    settings: &Settings,
    tokens: TokensOf,
) -> Result<Service, SignInError> {
    let token = match tokens {
        TokensOf::File => "commonConfiguration.api.token",
        TokensOf::Flags => "--token-file",
    };
    v1.service().await.map_err(|error| SignInError::new(settings, "V1", token, error))
}

/// Signs in by all protocols that there are tokens for, once, and out again.
pub(crate) async fn sign_in(settings: &Settings) -> anyhow::Result<()> {
    let key = HatcheryKey::from_pem(&settings.identity.private_key)
        .context("commonConfiguration.rsaPrivateKey cannot be used")?;
    let cds = client(settings, &key)?;
    if let Some(v2) = cds.v2() {
        v2_region(v2, settings, TokensOf::File).await?;
    }
    if let Some(v1) = cds.v1() {
        v1_service(v1, settings, TokensOf::File).await?;
        v1.sign_out().await.ok();
    }
    Ok(())
}
