//! The Kubernetes fronts: each watches resources of a cluster and makes VMs of them.
//!
//! One folder for each front, and in it one file for each step: what is observed, what is planned, what is done, what is
//! told. A planner never talks to anybody: it maps values to values.
//!
//! Start reading at [`agents`].

pub mod agents;
