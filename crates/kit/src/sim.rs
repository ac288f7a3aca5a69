use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::Vcsim;
use crate::program::binary;
use crate::scratch::{Scratch, kill};

/// The product's own simulator as a process: `rookery sim vcenter`. It ends with this value, or with the
/// test that dies.
#[derive(Debug)]
pub struct Sim {
    // Its standard input closes with it, and that ends it.
    child: Child,
    address: String,
    _scratch: Scratch,
}

impl Sim {
    /// Starts it on a free port over plain HTTP, with these flags beside the usual ones, and waits until it serves. Its
    /// only user is that of [`Vcsim`].
    pub async fn start(flags: &[&str]) -> Self {
        Self::launch(&[&["--no-tls"], flags].concat()).await
    }

    /// The same over TLS, with a certificate that nobody trusts.
    pub async fn start_with_tls(flags: &[&str]) -> Self {
        Self::launch(flags).await
    }

    async fn launch(flags: &[&str]) -> Self {
        let scratch = Scratch::new();
        let mut child = Command::new(binary())
            .args(["sim", "vcenter", "--listen", "127.0.0.1:0", "--until-stdin-closes"])
            .args(["--user", Vcsim::USER, "--password", Vcsim::PASSWORD])
            .args(flags)
            .env("TMPDIR", scratch.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the simulator starts");
        let output = child.stdout.take().expect("its output is piped");
        let line = BufReader::new(output).lines().next_line().await.expect("its output is text");
        let line = line.unwrap_or_else(|| panic!("the simulator with {flags:?} ended before it served"));
        let address = line.strip_prefix("serving ").unwrap_or_else(|| panic!("it said {line:?}"));
        Self { address: address.to_owned(), child, _scratch: scratch }
    }

    /// `http://127.0.0.1:port`, as it announced itself.
    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn pid(&self) -> u32 {
        self.child.id().expect("the simulator runs")
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        kill(&mut self.child);
    }
}
