//! Guest operations.

use rookery_vim::guest::{GuestAuthentication, GuestProcessInfo, GuestProgram};
use rookery_vim::methods::{
    ListProcessesInGuest, Method as _, ReadEnvironmentVariableInGuest, StartProgramInGuest,
    TerminateProcessInGuest, ValidateCredentialsInGuest,
};
use rookery_vim::objects::PowerState;
use rookery_vim::{MoRef, Node};

use super::{Dispatch, existing};
use crate::guests;
use crate::id::Id;
use crate::machine::vm_of;
use crate::refusal::Refusal;
use crate::soap::{Call, answer};
use crate::world::World;

pub(super) fn handle(world: &mut World, call: &Call, node: Node) -> Dispatch {
    Dispatch::Handled(match call.method.as_str() {
        ValidateCredentialsInGuest::NAME => {
            answer::<ValidateCredentialsInGuest>(node, |m| enter(world, &m.vm, &m.auth).map(drop))
        }
        StartProgramInGuest::NAME => answer::<StartProgramInGuest>(node, |m| {
            let (vm, user) = enter(world, &m.vm, &m.auth)?;
            let GuestProgram::GuestProgramSpec(program) = m.spec else {
                return Err(Refusal::invalid_argument("spec"));
            };
            guests::start(world, vm, &user, &program)
        }),
        ListProcessesInGuest::NAME => answer::<ListProcessesInGuest>(node, |m| {
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
        }),
        TerminateProcessInGuest::NAME => answer::<TerminateProcessInGuest>(node, |m| {
            let (vm, _) = enter(world, &m.vm, &m.auth)?;
            guests::terminate(world, vm, m.pid)
        }),
        ReadEnvironmentVariableInGuest::NAME => answer::<ReadEnvironmentVariableInGuest>(node, |m| {
            let (_, user) = enter(world, &m.vm, &m.auth)?;
            let wanted = |entry: &String| {
                let name = entry.split_once('=').map_or("", |(name, _)| name);
                m.names.is_empty() || m.names.iter().any(|wanted| wanted == name)
            };
            Ok(guests::environment(&user).into_iter().filter(wanted).collect())
        }),
        _ => return Dispatch::Unknown(node),
    })
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
