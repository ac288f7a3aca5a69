//! Who starts programs in a guest.
//!
//! ```text
//! models[] by template ──► guestCredentials[] by template (V2) or by path (V1) ──► the model's own ──► none: an error
//! ```
//!
//! A value that still holds a placeholder is refused: as a password it would only lock the guest's user out.

use std::collections::BTreeMap;
use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};

use crate::names::ModelKind;
use crate::plan::ModelRef;

/// A user of the guest itself.
#[derive(Debug, Clone)]
pub struct Credentials {
    pub username: String,
    pub password: SecretString,
}

/// What the settings give, and in which of their lists.
pub type Configured = BTreeMap<ModelRef, (Source, Credentials)>;

/// The model whose guest is to be entered.
#[derive(Debug, Clone)]
pub struct Model<'a> {
    pub kind: ModelKind,
    /// Of a V1 model its path: `group/name`.
    pub name: &'a str,
    /// The VM that it is cloned from.
    pub template: &'a str,
    /// What a V1 model says, with its secrets put in by [`with_secrets`].
    pub own: &'a Credentials,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `models[]` of the settings.
    Models,
    /// `guestCredentials[]` of the settings.
    GuestCredentials,
    Model,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Models => "models[] of the settings",
            Self::GuestCredentials => "guestCredentials[] of the settings",
            Self::Model => "the model itself",
        })
    }
}

/// Why nobody can start programs in a guest. Values are never shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    #[error(
        "the {what} for guests of model {model}, from {source_of}, still contains a placeholder ({{{{): \
         write it under models[] or guestCredentials[]"
    )]
    Unresolved {
        model: String,
        /// `username` or `password`.
        what: &'static str,
        source_of: Source,
    },
    #[error(
        "the {what} for guests of model {model}, from {source_of}, is empty: set both username and password"
    )]
    Incomplete { model: String, what: &'static str, source_of: Source },
    #[error(
        "there are no credentials for guests of model {model}: write them under models[] or guestCredentials[], or \
         into the model"
    )]
    Missing { model: String },
}

/// Finds the credentials for guests of a model.
pub fn resolve(model: &Model<'_>, configured: &Configured) -> Result<Credentials, CredentialsError> {
    let Model { name, own, .. } = *model;
    let (source, found) = match in_settings(model, configured) {
        Some(written) => written,
        None if !own.is_empty() => (Source::Model, own),
        None => return Err(CredentialsError::Missing { model: name.to_owned() }),
    };
    found.check(name, source)?;
    Ok(found.clone())
}

/// Whether the settings say who enters guests of a model: then what the model itself says does not matter.
pub fn are_in_settings(model: &Model<'_>, configured: &Configured) -> bool {
    in_settings(model, configured).is_some()
}

fn in_settings<'e>(model: &Model<'_>, configured: &'e Configured) -> Option<(Source, &'e Credentials)> {
    let of = |model| configured.get(&model).filter(|(_, credentials)| !credentials.is_empty());
    let by_template = of(ModelRef::V2(model.template.to_owned()));
    let found = match model.kind {
        ModelKind::V2 => by_template,
        // A V1 model is named by its path in `guestCredentials[]`, and by its template in `models[]`.
        ModelKind::V1 => by_template
            .filter(|(source, _)| *source == Source::Models)
            .or_else(|| of(ModelRef::V1(model.name.to_owned()))),
    };
    found.map(|(source, credentials)| (*source, credentials))
}

impl Credentials {
    fn is_empty(&self) -> bool {
        self.username.is_empty() && self.password.expose_secret().is_empty()
    }

    fn check(&self, model: &str, source_of: Source) -> Result<(), CredentialsError> {
        for (what, value) in
            [("username", self.username.as_str()), ("password", self.password.expose_secret())]
        {
            if value.is_empty() {
                return Err(CredentialsError::Incomplete { model: model.to_owned(), what, source_of });
            }
            if value.contains("{{") {
                return Err(CredentialsError::Unresolved { model: model.to_owned(), what, source_of });
            }
        }
        Ok(())
    }
}

#[derive(Debug, Clone)]
pub struct Secret {
    /// Such as `secrets.vsphere_password`.
    pub name: String,
    pub value: SecretString,
}

/// So many parts has the path of a model that lies in a repository; such a model has no list of secrets.
const AS_CODE_PARTS: usize = 5;

/// The password of a V1 model with its secrets put in: `{{.secrets.vsphere_password}}` becomes that secret. What is put
/// in is not looked at again, and what is not known stays. The model is left as it is: the list of models is shared.
pub fn with_secrets(path: &str, password: &SecretString, secrets: &[Secret]) -> SecretString {
    if path.split('/').count() >= AS_CODE_PARTS {
        return password.clone();
    }
    let mut clear = String::new();
    let mut rest = password.expose_secret();
    while let Some((before, opened)) = rest.split_once("{{") {
        clear.push_str(before);
        let known = opened.split_once("}}").and_then(|(name, after)| {
            let name = name.trim().strip_prefix('.')?;
            Some((secrets.iter().find(|secret| secret.name == name)?, after))
        });
        if let Some((secret, after)) = known {
            clear.push_str(secret.value.expose_secret());
            rest = after;
        } else {
            clear.push_str("{{");
            rest = opened;
        }
    }
    clear.push_str(rest);
    clear.into()
}

#[cfg(test)]
mod tests;
