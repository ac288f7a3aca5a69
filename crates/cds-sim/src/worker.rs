//! Workers of the simulator: a real program, and one that is played inside a process.

mod played;
mod script;

pub use played::{PlayError, Step, Task, play};

/// A POSIX shell script that does what a worker does, small enough to run hundreds of times. It needs curl or wget.
pub const SCRIPT: &str = include_str!("worker.sh");
