//! Programs in guests.

use jiff::{SignedDuration, Timestamp};
use rookery_vim::guest::GuestProgramSpec;

use super::files::{self, Attributes, Content, FileOp, FileTrouble, clean};
use super::shell::{Guest, Outcome};
use super::{GuestPower, home, rules};
use crate::id::Id;
use crate::io::{Announced, Effect, Notice};
use crate::refusal::Refusal;
use crate::world::{Timer, World};

/// How long programs that have ended are shown.
const SHOWN: SignedDuration = SignedDuration::from_secs(300);

/// A program that the shell is to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The number that the world gave it.
    pub process: u64,
    pub vm: Id,
    pub host_name: String,
    pub path: String,
    /// Its arguments, as one text.
    pub arguments: String,
    pub directory: String,
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
    /// How it ends by itself, if the world decides that beforehand.
    outcome: Option<Outcome>,
    /// Whether a player in this process decides when it ends.
    announced: bool,
}

/// Starts a program: for real, or by what is known of its behaviour.
pub(crate) fn start(
    world: &mut World,
    vm: Id,
    user: &str,
    program: &GuestProgramSpec,
) -> Result<i64, Refusal> {
    let path = &program.program_path;
    if !path.starts_with('/') || path.contains(['\0', '"']) {
        return Err(FileTrouble::NotFound(path.clone()).into());
    }
    let given = &program.env_variables;
    if given.iter().any(|entry| entry.find('=').is_none_or(|at| at == 0) || entry.contains('\0')) {
        return Err(Refusal::invalid_argument("spec.envVariables"));
    }
    if program.arguments.contains('\0') {
        return Err(Refusal::invalid_argument("spec.arguments"));
    }
    // What is given replaces the guest's own environment.
    let environment = if given.is_empty() { environment(user) } else { given.clone() };
    let wanted = program.working_directory.as_deref().filter(|directory| !directory.is_empty());
    let directory = wanted.map_or_else(|| Ok(home(user)), clean)?;
    forget_old(world, vm);
    world.guests.last_pid += 1;
    let pid = 1000 + world.guests.last_pid;
    let name = world.store.name(vm).to_owned();
    let announced = !world.settings.allow_local_exec
        && rules::is_announced(&world.settings.programs, &name, path, &program.arguments);
    let outcome = if world.settings.allow_local_exec {
        let start = Start {
            process: pid.unsigned_abs(),
            vm,
            host_name: host_name(world, vm),
            path: path.clone(),
            arguments: program.arguments.clone(),
            directory,
            environment,
        };
        world.effect(Effect::Start(Box::new(start)));
        None
    } else {
        let decided = decide(world, vm, user, program, &directory, &environment)?;
        if announced {
            let (path, arguments) = (path.clone(), program.arguments.clone());
            let program = Announced { vm, name, pid, path, arguments, environment };
            world.effect(Effect::Notice(Notice::Program(Box::new(program))));
        }
        Some(decided).filter(|_| !announced)
    };
    let lasts = outcome.as_ref().map(|outcome| outcome.lasts);
    let process = Process {
        pid,
        name: path.rsplit('/').next().unwrap_or(path).to_owned(),
        owner: user.to_owned(),
        command: format!("\"{path}\" {}", program.arguments),
        started: world.now,
        ended: None,
        outcome,
        announced,
    };
    world.guests.processes.entry(vm).or_default().push(process);
    if let (Some(lasts), Some(run)) = (lasts, world.store.vms.get(&vm).map(|vm| vm.run)) {
        world.after(lasts, Timer::Program(vm, run, pid));
    }
    Ok(pid)
}

fn decide(
    world: &mut World,
    vm: Id,
    user: &str,
    program: &GuestProgramSpec,
    directory: &str,
    environment: &[String],
) -> Result<Outcome, Refusal> {
    let host_name = host_name(world, vm);
    let name = world.store.name(vm).to_owned();
    // Whoever can log in has a home.
    let home = home(user);
    if !files::tree(world, vm).has_directory(&home) {
        files::here(world, vm, &FileOp::MakeDirectory { path: home, parents: true })?;
    }
    let tree = files::tree(world, vm);
    if program.working_directory.is_some() && !tree.has_directory(directory) {
        return Err(FileTrouble::NotFound(directory.to_owned()).into());
    }
    let tree = &world.guests.trees;
    let read = |path: &str| Some(tree.get(&vm)?.known(path)?.to_vec());
    let guest = Guest { environment, directory, host_name: &host_name, user, read: &read };
    let rules = &world.settings.programs;
    Ok(rules::decide(rules, &name, &program.program_path, &program.arguments, &guest))
}

fn host_name(world: &World, vm: Id) -> String {
    let told = world.store.vms.get(&vm).and_then(|vm| vm.guest.host_name.clone());
    told.unwrap_or_else(|| world.store.name(vm).to_owned())
}

/// What a user's programs find in their environment, if nothing is given.
pub(crate) fn environment(user: &str) -> Vec<String> {
    vec![
        format!("HOME={}", home(user)),
        "LANG=C.UTF-8".to_owned(),
        format!("LOGNAME={user}"),
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
        "SHELL=/bin/sh".to_owned(),
        format!("USER={user}"),
    ]
}

/// A program whose behaviour is known has come to its end, if it still is the same run of the guest.
pub(crate) fn finish(world: &mut World, vm: Id, run: u64, pid: i64) {
    if world.store.vms.get(&vm).is_none_or(|vm| vm.run != run) {
        return;
    }
    let now = world.now;
    let Some(process) = find(world, vm, pid) else { return };
    let Some(outcome) = process.outcome.take() else { return };
    process.ended = Some((now, outcome.code));
    for (path, printed) in outcome.files {
        let before = files::tree(world, vm).known(&path).filter(|_| printed.append);
        let bytes = [before.unwrap_or_default(), &printed.bytes].concat();
        let op = FileOp::Write {
            path,
            overwrite: true,
            attributes: Attributes::default(),
            content: Content::Inline(bytes),
        };
        // Where it cannot be written the program fails, as it would for real.
        if files::here(world, vm, &op).is_err()
            && let Some(process) = find(world, vm, pid)
        {
            process.ended = Some((now, 1));
        }
    }
    if let Some(power) = outcome.power {
        super::power(world, vm, power);
    }
}

fn find(world: &mut World, vm: Id, pid: i64) -> Option<&mut Process> {
    world.guests.processes.get_mut(&vm)?.iter_mut().find(|process| process.pid == pid)
}

/// What runs, and what ended not long ago.
pub(crate) fn list(world: &mut World, vm: Id) -> &[Process] {
    forget_old(world, vm);
    world.guests.processes.get(&vm).map(Vec::as_slice).unwrap_or_default()
}

fn forget_old(world: &mut World, vm: Id) {
    let now = world.now;
    if let Some(processes) = world.guests.processes.get_mut(&vm) {
        processes.retain(|process| process.ended.is_none_or(|(at, _)| now.duration_since(at) < SHOWN));
    }
}

pub(crate) fn terminate(world: &mut World, vm: Id, pid: i64) -> Result<(), Refusal> {
    let now = world.now;
    let running = find(world, vm, pid).filter(|process| process.ended.is_none()).ok_or_else(|| {
        Refusal::new("GuestProcessNotFound", "The process does not exist in the guest.")
            .with("pid", pid.to_string())
    })?;
    let announced = running.announced;
    if running.outcome.take().is_some() || announced {
        // Ended by a signal, as a shell tells it.
        running.ended = Some((now, 143));
        if announced {
            world.effect(Effect::Notice(Notice::Ended { vm, pid }));
        }
    } else {
        world.effect(Effect::Stop { vm, process: pid.unsigned_abs() });
    }
    Ok(())
}

/// Ends a played program; false if it does not run any more.
pub(crate) fn end(world: &mut World, vm: Id, pid: i64, code: i32, then: Option<GuestPower>) -> bool {
    let now = world.now;
    let played = |process: &&mut Process| process.announced && process.ended.is_none();
    let Some(process) = find(world, vm, pid).filter(played) else { return false };
    process.ended = Some((now, code));
    if let Some(power) = then {
        super::power(world, vm, power);
    }
    true
}

/// Ends all programs of a guest, with notices for those that are played.
pub(crate) fn end_all(world: &mut World, vm: Id) {
    for process in world.guests.processes.remove(&vm).unwrap_or_default() {
        if process.announced && process.ended.is_none() {
            world.effect(Effect::Notice(Notice::Ended { vm, pid: process.pid }));
        }
    }
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

/// A guest has asked for its machine to go down.
pub(crate) fn asked_for_power(world: &mut World, vm: Id, what: GuestPower) {
    if world.store.vms.get(&vm).is_some_and(crate::store::Vm::is_on) {
        super::power(world, vm, what);
    }
}
