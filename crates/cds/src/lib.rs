//! A hatchery's conversation with a CDS server: sign-in, queues, workers and models, in both of its protocols.
//!
//! It must never decide which job is served or by which machine, and it must never turn an answer that failed into an
//! empty list.
