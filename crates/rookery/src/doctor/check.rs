//! One thing that was looked at, and what is to be said about it.

use serde::Serialize;

use crate::output::{Column, Columns};

/// What a check belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// A settings file.
    Settings,
    /// The way to vCenter, and vCenter itself.
    Connection,
    /// Where VMs would be put.
    Places,
    /// What VMs would be cloned from.
    Templates,
    /// What the user may do.
    Privileges,
    /// What a CDS server says.
    Cds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Ok,
    /// It works, or may work, but somebody should look at it.
    Warning,
    /// Something will not work.
    Problem,
    /// It could not be looked at, or nobody asked for it.
    Skipped,
}

/// What was found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub state: State,
    /// What was seen; for what was skipped, why.
    pub seen: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl Finding {
    pub(crate) fn ok(seen: impl Into<String>) -> Self {
        Self { state: State::Ok, seen: seen.into(), advice: None }
    }

    pub(crate) fn warning(seen: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { state: State::Warning, seen: seen.into(), advice: Some(advice.into()) }
    }

    pub(crate) fn problem(seen: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { state: State::Problem, seen: seen.into(), advice: Some(advice.into()) }
    }

    pub(crate) fn skipped(because: impl Into<String>) -> Self {
        Self { state: State::Skipped, seen: because.into(), advice: None }
    }
}

/// One thing that was looked at. The names of its fields are those of the JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What it belongs to.
    pub group: Group,
    /// What was looked at; for a privilege its identifier.
    pub check: &'static str,
    /// Which one of several: the name of a datastore, a template or an object.
    pub about: Option<String>,
    pub state: State,
    /// What was seen; for what was skipped, why.
    pub seen: String,
    /// What to do about it.
    pub advice: Option<String>,
}

/// What is shown of checks if columns are chosen.
pub const CHECKS: Columns<Check> = Columns {
    name: "check",
    all: &[
        Column::usual("group"),
        Column::usual("check"),
        Column::usual("about"),
        Column::usual("state").state(),
        Column::usual("seen"),
        Column::usual("advice"),
    ],
};

impl Check {
    pub(crate) fn new(group: Group, check: &'static str, about: Option<&str>, finding: Finding) -> Self {
        let Finding { state, seen, advice } = finding;
        Self { group, check, about: about.map(str::to_owned), state, seen, advice }
    }

    pub fn title(&self) -> String {
        match (&self.about, self.group) {
            (None, _) => self.check.to_owned(),
            (Some(name), Group::Settings) => name.clone(),
            (Some(name), Group::Connection | Group::Places | Group::Cds) => format!("{} {name}", self.check),
            (Some(name), Group::Templates) if self.check == "template" => format!("template {name}"),
            (Some(name), Group::Templates) => format!("template {name}, {}", self.check),
            (Some(name), Group::Privileges) => format!("{} on {name}", self.check),
        }
    }
}
