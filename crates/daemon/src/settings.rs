//! Layered settings. A process declares its keys as data ([`Key`]), stacks layers on them ([`Layers`]) and
//! gets either the effective values with their origin ([`Settings`]) or every problem at once ([`Problems`]).
//!
//! From weakest to strongest, in whatever order they are added:
//!
//! ```text
//! default < file (TOML) < computed < foreign environment (GOVC_URL) < ROOKERY_… < flag
//! ```
//!
//! - Files nest: `vcenter.endpoint` is `endpoint` in `[vcenter]`. The variable of `vcenter.password-file` is
//!   `ROOKERY_VCENTER__PASSWORD_FILE`. An empty variable counts as not set.
//! - An unknown key in one of our tables is a problem. A table that no key lives in belongs to another part
//!   of the program and is passed over, unless its name looks like a slip of one of ours.
//! - Everything that is set is checked, also where a stronger layer hides it.
//! - Every secret `x` has a companion `x-file` that names a file to read it from. The stronger layer wins
//!   whichever of the two it sets; both in one layer contradict each other.
//! - The text of a secret is in no `Debug`, `Display`, problem or explanation.
//!
//! Checks that need domain types or several keys are the caller's: it collects them in [`Problems`] too and
//! adds where each value came from with [`Settings::locate`].

mod environment;
mod file;
mod layers;
mod origin;
mod problems;
mod resolved;
mod schema;
mod secret;
mod suggest;
mod units;
mod value;

pub use environment::environment;
pub use file::syntax;
pub use layers::Layers;
pub use origin::Origin;
pub use problems::{Problem, Problems};
pub use resolved::{Explained, Settings};
pub use schema::{Key, Kind};
pub use secret::{SecretFileError, exposure, read_secret};
pub use suggest::closest;
pub use units::{Size, UnitError, duration};
pub use value::describe;

#[cfg(test)]
mod tests;
