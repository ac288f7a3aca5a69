//! Which flavor a worker gets.

use rookery_fleet::flavor::{Flavor, Flavors};

pub fn choose(flavors: &Flavors, asked: &FlavorSources<'_>, default: Option<&str>) -> Choice {
    let in_order = [asked.runs_on, asked.v1_model, asked.spec, asked.requirement, default];
    let Some(name) = in_order.into_iter().flatten().find(|name| !name.is_empty()) else {
        return Choice::None;
    };
    match flavors.get(name) {
        Some(flavor) => Choice::Flavor(flavor.clone()),
        None if flavors.is_empty() => Choice::Ignored(name.to_owned()),
        None => Choice::Unknown(name.to_owned()),
    }
}

/// Who asks for which flavor. A job fills in what it has: `runs_on` exists for V2 jobs only, and a worker has either a
/// V1 model or the spec of a V2 model. What is empty asks for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlavorSources<'a> {
    /// `runs-on` of a V2 job.
    pub runs_on: Option<&'a str>,
    /// The spec of a V2 model, also when a V1 job runs on it.
    pub spec: Option<&'a str>,
    pub v1_model: Option<&'a str>,
    pub requirement: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Nobody asked: the template's size.
    None,
    Flavor(Flavor),
    /// Somebody asked, but flavors are not configured here: the template's size.
    Ignored(String),
    /// Somebody asked for a flavor that is not among the configured ones: no worker.
    Unknown(String),
}

#[cfg(test)]
mod tests;
