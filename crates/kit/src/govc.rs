use std::cell::Cell;
use std::collections::BTreeMap;
use std::process::Output;

use serde_json::{Deserializer, Value};
use tokio::process::Command;

use crate::{Vcsim, tool};

thread_local! {
    /// How many on this thread need real time now.
    static IN_REAL_TIME: Cell<u32> = const { Cell::new(0) };
}

/// Paused time goes on until the last of these is gone.
struct RealTime;

impl RealTime {
    fn begin() -> Self {
        if IN_REAL_TIME.replace(IN_REAL_TIME.get() + 1) == 0 {
            tokio::time::resume();
        }
        Self
    }
}

impl Drop for RealTime {
    fn drop(&mut self) {
        if IN_REAL_TIME.replace(IN_REAL_TIME.get() - 1) == 1 {
            tokio::time::pause();
        }
    }
}

/// VMware's own command line: the witness that asserts what the product did.
#[derive(Debug, Clone)]
pub struct Govc {
    url: String,
    /// Who logs in, if the address does not say.
    login: Option<(&'static str, &'static str)>,
    /// Whether time is paused. It is real while the witness looks, who is a process of its own.
    is_paused: bool,
}

impl Govc {
    /// A witness of one simulator.
    pub fn new(vcsim: &Vcsim) -> Self {
        let login = Some((Vcsim::USER, Vcsim::PASSWORD));
        Self { url: format!("{}/sdk", vcsim.address()), login, is_paused: false }
    }

    /// A witness of a server whose address names a user and a password.
    pub fn at(url: &str) -> Self {
        Self { url: url.to_owned(), login: None, is_paused: false }
    }

    /// The same for a story on paused time.
    #[must_use]
    pub fn on_paused_time(mut self) -> Self {
        self.is_paused = true;
        self
    }

    /// Runs a command that must succeed; its output.
    pub async fn run(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).await;
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "govc {arguments:?}: {error}");
        String::from_utf8(output.stdout).expect("govc prints text")
    }

    async fn command(&self, arguments: &[&str]) -> Output {
        let real = self.is_paused.then(RealTime::begin);
        let output = Command::new(tool("govc"))
            .args(arguments)
            .env_clear()
            .env("HOME", "/nonexistent")
            .env("GOVC_URL", &self.url)
            .envs(self.login.map(|(user, _)| ("GOVC_USERNAME", user)))
            .envs(self.login.map(|(_, password)| ("GOVC_PASSWORD", password)))
            .env("GOVC_INSECURE", "true")
            .env("GOVC_PERSIST_SESSION", "false")
            .kill_on_drop(true)
            .output()
            .await
            .expect("govc starts");
        drop(real);
        output
    }

    /// The same as JSON.
    pub async fn json(&self, arguments: &[&str]) -> Value {
        let mut with_json = vec![arguments[0], "-json"];
        with_json.extend(&arguments[1..]);
        let text = self.run(&with_json).await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("govc {arguments:?}: {error}: {text}"))
    }

    /// One property of one object, as text.
    pub async fn property(&self, object: &str, path: &str) -> String {
        self.run(&["object.collect", "-s", object, path]).await.trim_end_matches('\n').to_owned()
    }

    /// Some properties of every VM, by its id.
    pub async fn vms(&self, paths: &[&str]) -> BTreeMap<String, BTreeMap<String, Value>> {
        let mut arguments = vec!["object.collect", "-json", "-type", "m", "/"];
        arguments.extend(paths);
        let text = self.run(&arguments).await;
        let objects = Deserializer::from_str(&text).into_iter().map(|object| object.expect("JSON"));
        let properties = |object: &Value| {
            let changes = object["changeSet"].as_array().expect("a list").iter();
            changes.map(|p| (p["name"].as_str().expect("a path").to_owned(), p["val"].clone())).collect()
        };
        let id = |object: &Value| object["obj"]["value"].as_str().expect("an id").to_owned();
        objects.map(|object: Value| (id(&object), properties(&object))).collect()
    }

    /// Starts a VM anew with a guest in it. Its simulator needs [`crate::VcsimOptions::with_guests`]. The VM's notes are
    /// lost.
    pub async fn give_guest(&self, vm: &str) {
        self.run(&["vm.power", "-off", vm]).await;
        self.run(&["vm.change", "-vm", vm, "-e", "RUN.container=guest"]).await;
        self.run(&["vm.power", "-on", vm]).await;
    }

    /// What a file in a guest has, as text; none if there is no such file.
    pub async fn guest_file(&self, vm: &str, login: &str, path: &str) -> Option<String> {
        let output = self.command(&["guest.download", "-vm", vm, "-l", login, path, "-"]).await;
        output.status.success().then(|| String::from_utf8(output.stdout).expect("text"))
    }

    /// What is in a folder of a guest.
    pub async fn guest_folder(&self, vm: &str, login: &str, path: &str) -> Vec<String> {
        let listing = self.run(&["guest.ls", "-vm", vm, "-l", login, path]).await;
        let entries = listing.lines().filter_map(|line| line.split_whitespace().last());
        // vcsim lists the folder itself, too.
        entries.filter(|entry| *entry != path).map(str::to_owned).collect()
    }

    /// The keys of all sessions but its own.
    pub async fn sessions(&self) -> Vec<String> {
        let listing = self.run(&["session.ls"]).await;
        let foreign = listing.lines().skip(1).filter(|line| !line.contains("govc"));
        foreign.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
    }
}
