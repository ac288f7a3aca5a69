//! What simulated servers share: the clock, connections, HTTP messages and access to the control API.
//!
//! A simulated server is a pure `World`, whose `step` takes one input at a time and yields an [`Output`], and a shell
//! around it that owns sockets and one timer. The world, its inputs and its effects are the server's own; this crate
//! must know no server and no protocol above HTTP.
//!
//! Start reading at [`Output`], then [`Connections`] and [`Clock`].

mod clock;
mod connections;
pub mod control;
pub mod glob;
mod message;
mod url;

pub use clock::Clock;
pub use connections::{Connections, Cut, accept, pipe};
pub use message::{Output, Reply, Request, RequestId};
pub use url::{http_date, percent_decode};
