//! Guest operations.

use rookery_vim::MoRef;
use rookery_vim::guest::{GuestAuthentication, GuestProcessInfo, GuestProgram};
use rookery_vim::methods as vim;
use rookery_vim::objects::PowerState;

use super::{Methods, existing};
use crate::guests;
use crate::id::Id;
use crate::machine::vm_of;
use crate::refusal::Refusal;
use crate::world::World;

pub(super) fn add(all: &mut Methods) {
    all.answer(|world, _, m: vim::ValidateCredentialsInGuest| enter(world, &m.vm, &m.auth).map(drop));
    all.answer(|world, _, m: vim::StartProgramInGuest| {
        let (vm, user) = enter(world, &m.vm, &m.auth)?;
        let GuestProgram::GuestProgramSpec(program) = m.spec else {
            return Err(Refusal::invalid_argument("spec"));
        };
        guests::start(world, vm, &user, &program)
    });
    all.answer(|world, _, m: vim::ListProcessesInGuest| {
        let (vm, _) = enter(world, &m.vm, &m.auth)?;
        let wanted = |pid: i64| m.pids.is_empty() || m.pids.contains(&pid);
        let processes = guests::list(world, vm).iter().filter(|process| wanted(process.pid));
        let told = processes.map(|process| GuestProcessInfo {
            name: process.name.clone(),
            pid: process.pid,
            owner: process.owner.clone(),
            cmd_line: process.command.clone(),
            start_time: process.started,
            end_time: process.ended.map(|(at, _)| at),
            exit_code: process.ended.map(|(_, code)| code),
        });
        Ok(told.collect())
    });
    all.answer(|world, _, m: vim::TerminateProcessInGuest| {
        let (vm, _) = enter(world, &m.vm, &m.auth)?;
        guests::terminate(world, vm, m.pid)
    });
    all.answer(|world, _, m: vim::ReadEnvironmentVariableInGuest| {
        let (_, user) = enter(world, &m.vm, &m.auth)?;
        let wanted = |entry: &String| {
            let name = entry.split_once('=').map_or("", |(name, _)| name);
            m.names.is_empty() || m.names.iter().any(|wanted| wanted == name)
        };
        Ok(guests::environment(&user).into_iter().filter(wanted).collect())
    });
}

/// The guest of a VM, if it can be entered with these credentials, and as whom.
pub(crate) fn enter(world: &World, vm: &MoRef, auth: &GuestAuthentication) -> Result<(Id, String), Refusal> {
    let id = existing(world, vm)?;
    let found = vm_of(world, id)?;
    if found.power != PowerState::On {
        return Err(Refusal::power_state(&PowerState::On, &found.power));
    }
    if !found.guest.operations_ready {
        return Err(Refusal::new(
            "GuestOperationsUnavailable",
            "The guest operations agent could not be contacted.",
        ));
    }
    let refused = || {
        Refusal::new(
            "InvalidGuestLogin",
            "Failed to authenticate with the guest operating system using the supplied credentials.",
        )
    };
    let GuestAuthentication::NamePasswordAuthentication(auth) = auth else { return Err(refused()) };
    let known = guests::login(world, id);
    // No guest lets anybody in without a password.
    let right = known.map_or(!auth.username.is_empty() && !auth.password.0.is_empty(), |known| {
        known.user == auth.username && known.password == auth.password.0
    });
    if right && !auth.username.is_empty() { Ok((id, auth.username.clone())) } else { Err(refused()) }
}
