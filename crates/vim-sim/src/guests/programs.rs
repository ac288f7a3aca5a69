//! Programs in guests.

use jiff::Timestamp;

use crate::id::Id;
use crate::refusal::Refusal;
use crate::world::World;

/// A program that the shell is to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// How the world calls it.
    pub process: u64,
    /// The VM that it runs in.
    pub vm: Id,
    /// The program.
    pub path: String,
    /// Its arguments, as one text.
    pub arguments: String,
    /// Where it starts.
    pub directory: Option<String>,
    /// Its whole environment.
    pub environment: Vec<String>,
}

/// A program that runs, or has run.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) pid: i64,
    pub(crate) name: String,
    pub(crate) owner: String,
    pub(crate) command: String,
    pub(crate) started: Timestamp,
    pub(crate) ended: Option<(Timestamp, i32)>,
}

/// Starts a program. A guest without a behaviour of its own runs everything in no time, with success.
pub(crate) fn start(
    world: &mut World,
    vm: Id,
    owner: &str,
    path: &str,
    arguments: &str,
) -> Result<i64, Refusal> {
    world.guests.last_pid += 1;
    let pid = 1000 + world.guests.last_pid;
    let name = path.rsplit('/').next().unwrap_or(path).to_owned();
    let process = Process {
        pid,
        name,
        owner: owner.to_owned(),
        command: format!("\"{path}\" {arguments}"),
        started: world.now,
        ended: Some((world.now, 0)),
    };
    world.guests.processes.entry(vm).or_default().push(process);
    Ok(pid)
}

pub(crate) fn list(world: &World, vm: Id) -> &[Process] {
    world.guests.processes.get(&vm).map(Vec::as_slice).unwrap_or_default()
}

pub(crate) fn terminate(world: &mut World, vm: Id, pid: i64) -> Result<(), Refusal> {
    let now = world.now;
    let processes = world.guests.processes.entry(vm).or_default();
    let process = processes.iter_mut().find(|p| p.pid == pid).ok_or_else(|| {
        Refusal::new("GuestProcessNotFound", "The process does not exist in the guest.")
            .with("pid", pid.to_string())
    })?;
    process.ended.get_or_insert((now, 143));
    Ok(())
}

/// A program that the shell started has ended.
pub(crate) fn exited(world: &mut World, process: u64, code: i32) {
    let now = world.now;
    let pid = i64::try_from(process).unwrap_or_default();
    let found = world.guests.processes.values_mut().flatten().find(|p| p.pid == pid);
    if let Some(process) = found {
        process.ended.get_or_insert((now, code));
    }
}
