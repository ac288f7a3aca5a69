//! The way to one server: its address, whom we believe to be it, a byte stream, and HTTP over that stream.
//!
//! It must never know a protocol above HTTP: a path, a header or a body means nothing here. Whoever holds a [`Dial`]
//! does not know whether the server is real.
//!
//! Start with [`Dial`], the seam between a real server and a simulated one, then [`Http`].

mod address;
mod certificate;
mod dial;
mod encoding;
mod http;
mod proxy;
mod tls;

pub use address::{Address, Endpoint, InvalidAddress, UserInfo};
pub use certificate::Certificate;
pub use dial::{Dial, DialError, Dialing, Stream, TcpDial, presented_certificate};
pub use encoding::encodings;
pub use http::{Body, Http, HttpError, read_whole, whole};
pub use proxy::{InvalidProxy, Proxies};
pub use tls::{InvalidThumbprint, Thumbprint, Trust, TrustError};
