//! Taking up other settings without a restart.

use std::sync::Arc;

use rookery_cds::CdsError;
use rookery_daemon::telemetry::chain;
use secrecy::{ExposeSecret as _, SecretString};
use tracing::{error, info, warn};

use super::Running;
use crate::reconcile::Message;
use crate::run::expiry;
use crate::settings::{Settings, reload};

/// What comes of credentials that a server was shown.
enum Shown {
    Taken,
    /// It does not: those before stay.
    Refused,
    /// It could not be asked: they are shown again with the next login.
    NotYet,
}

impl Running {
    /// Takes other settings up as far as that is possible without a restart, and gives those that act from now on.
    pub async fn reload(&self, old: &Settings, new: &Settings) -> Settings {
        let mut acting = reload(old, new);
        if !self.log_in(old, &acting).await {
            acting.vcenter = old.vcenter.clone();
        }
        if !self.sign_in_v1(old, &acting).await {
            acting.api.token.clone_from(&old.api.token);
        }
        if !self.sign_in_v2(old, &acting).await {
            acting.api.token_v2.clone_from(&old.api.token_v2);
        }
        expiry::set_tokens(&self.published.beside.expiries, &acting);
        self.reconciler.send(Message::Settings(Arc::new(acting.clone()))).await.ok();
        acting
    }

    async fn log_in(&self, old: &Settings, new: &Settings) -> bool {
        let (old, new) = (&old.vcenter, &new.vcenter);
        if old.user == new.user && is_same(&old.password, &new.password) {
            return true;
        }
        let changed = self.vcenter.change_login(new.user.clone(), new.password.clone()).await;
        let shown = match &changed {
            Ok(()) => Shown::Taken,
            Err(error) if error.is_transient() => Shown::NotYet,
            Err(_) => Shown::Refused,
        };
        tell("user and password for vCenter", &shown, changed)
    }

    async fn sign_in_v1(&self, old: &Settings, new: &Settings) -> bool {
        match (self.cds.v1(), changed(old.api.token.as_ref(), new.api.token.as_ref())) {
            (Some(v1), Some(token)) => tell_of_cds("token for V1 jobs", v1.change_token(token).await),
            _ => true,
        }
    }

    async fn sign_in_v2(&self, old: &Settings, new: &Settings) -> bool {
        match (self.cds.v2(), changed(old.api.token_v2.as_ref(), new.api.token_v2.as_ref())) {
            (Some(v2), Some(token)) => tell_of_cds("token for V2 jobs", v2.change_token(token).await),
            _ => true,
        }
    }
}

fn changed(old: Option<&SecretString>, new: Option<&SecretString>) -> Option<SecretString> {
    new.filter(|new| !old.is_some_and(|old| is_same(old, new))).cloned()
}

fn is_same(old: &SecretString, new: &SecretString) -> bool {
    old.expose_secret() == new.expose_secret()
}

fn tell_of_cds(what: &'static str, outcome: Result<(), CdsError>) -> bool {
    let shown = match &outcome {
        Ok(()) => Shown::Taken,
        Err(CdsError::SignIn { .. }) => Shown::Refused,
        Err(_) => Shown::NotYet,
    };
    tell(what, &shown, outcome)
}

/// Tells a person, and whether the new ones act.
fn tell<E: std::error::Error>(what: &'static str, shown: &Shown, outcome: Result<(), E>) -> bool {
    let error = outcome.err().map(|error| chain(&error)).unwrap_or_default();
    match shown {
        Shown::Taken => info!(what, "new credentials act"),
        Shown::NotYet => warn!(what, error, "new credentials could not be tried; the next login shows them"),
        Shown::Refused => error!(what, error, "new credentials are refused; the old ones stay"),
    }
    !matches!(shown, Shown::Refused)
}
