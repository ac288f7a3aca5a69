//! What is needed to start a worker in a guest: its configuration, its script, and who may run it there. Pure.
//!
//! ```text
//! config.rs ──► CDS_CONFIG ─┬─► script.rs (template.rs) ──► Launch        credentials.rs ──► the guest's user
//! injectEnvVars ────────────┘
//! ```

pub mod config;
pub mod credentials;
pub mod script;
pub mod template;

pub use config::WorkerConfig;
pub use credentials::Credentials;
pub use script::{plain_program, worker_program, worker_script};
