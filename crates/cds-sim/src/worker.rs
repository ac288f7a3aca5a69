//! The worker that the simulator hands out: a real program, small enough to run hundreds of times.

/// A POSIX shell script that does what a worker does. It needs curl or wget.
pub const SCRIPT: &str = include_str!("worker.sh");
