//! The names of a vCenter's VMs, from memory, and at most once a minute from vCenter itself.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rookery_daemon::Clock;
use rookery_vim_client::CallError;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, stdin};
use tokio::process::Command;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::Asked;
use super::cache::{Cache, Machine, Of, Seen};
use super::engine::Candidate;
use crate::session::with_session;
use crate::settings::{Loaded, Sources, load};
use crate::vcenter::Vcenter;

/// After a failure nobody tries for this long.
const AFTER_FAILURE: Duration = Duration::from_secs(60);
/// After a password that was refused: vCenter locks an account after a few of them, within minutes.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// How long a load may take that nobody waits for any more.
const LOAD: Duration = Duration::from_secs(60);

/// No word holds it.
const BETWEEN: &str = "\0";
/// How long whoever presses TAB waits for a load: less than for all of the answer, which what is remembered belongs to.
const LOADING: Duration = Duration::from_millis(1300);

/// What to offer: what was seen in the last minute, or what a load brings within our patience, or else what is there.
pub(super) async fn find(
    sources: Sources,
    asked: &Asked,
    words: &[String],
    templates_alone: bool,
) -> Vec<Candidate> {
    let remembered = spawn_blocking(move || {
        let (_, cache) = target(&load(&sources))?;
        Some((cache.read(), cache))
    });
    let Ok(Some((mut seen, cache))) = remembered.await else { return vec![] };
    if seen.is_due(Clock::system().now()) {
        timeout(LOADING, refreshed(asked, words)).await.ok();
        seen = cache.read();
    }
    let wanted = seen.machines.into_iter().filter(|machine| machine.template || !templates_alone);
    let about = |machine: &Machine| if machine.template { "template" } else { "VM" }.to_owned();
    wanted.map(|machine| Candidate { about: about(&machine), word: machine.name }).collect()
}

fn target(loaded: &Loaded) -> Option<(Vcenter, Cache)> {
    let vcenter = loaded.vcenter().ok()?;
    Some((vcenter.clone(), Cache::new(Of::new(vcenter), |name| std::env::var_os(name).map(PathBuf::from))?))
}

/// Waits until a process has loaded it, which goes on if nobody waits any more: then the next TAB finds what it brought,
/// and the session has been logged out of all the same.
async fn refreshed(asked: &Asked, words: &[String]) {
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = std::process::Command::new(program);
    command.args(["__complete", asked.shell.name(), "--refresh"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C is for whoever types.
    command.process_group(0);
    let Ok(mut loading) = Command::from(command).spawn() else { return };
    if let Some(mut stdin) = loading.stdin.take() {
        stdin.write_all(words.join(BETWEEN).as_bytes()).await.ok();
    }
    loading.wait().await.ok();
}

/// The words that whoever started this process hands over to it.
pub(super) async fn handed_over() -> anyhow::Result<Vec<String>> {
    let mut text = String::new();
    stdin().read_to_string(&mut text).await?;
    Ok(text.split(BETWEEN).filter(|_| !text.is_empty()).map(str::to_owned).collect())
}

fn is_refusal(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref(), Some(CallError::Credentials { .. })))
}

/// Loads the names and remembers them, unless somebody has or is about to.
pub(super) async fn refresh(loaded: &Loaded) -> anyhow::Result<()> {
    let Some((vcenter, cache)) = target(loaded) else { return Ok(()) };
    let Some(_lock) = cache.lock()? else { return Ok(()) };
    let (seen, clock) = (cache.read(), Clock::system());
    if !seen.is_due(clock.now()) {
        return Ok(());
    }
    // If we are killed, this stands: not each TAB is a login.
    cache.write(&Seen { not_before: Some(clock.now() + AFTER_FAILURE), ..seen.clone() })?;
    let patient = Vcenter { load_timeout: LOAD, ..vcenter };
    let names = with_session(&patient, "completion", async |session| {
        let machine = |vm: &std::sync::Arc<rookery_vim_client::Vm>| Machine {
            name: vm.name.clone(),
            template: vm.is_template(),
        };
        Ok(session.first.vms().map(machine).collect())
    });
    match names.await {
        Ok(Some(machines)) => {
            cache.write(&Seen { loaded: Some(clock.now()), not_before: None, machines, ..seen })?;
        }
        Err(error) if is_refusal(&error) => {
            cache.write(&Seen { not_before: Some(clock.now() + LONGEST_WAIT), ..seen })?;
        }
        Ok(None) | Err(_) => {}
    }
    Ok(())
}
