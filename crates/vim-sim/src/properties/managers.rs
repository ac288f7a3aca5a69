//! The objects that there is one of, and those that belong to a session.

use std::collections::BTreeSet;

use rookery_vim::authorization::{
    AuthorizationPrivilege, AuthorizationRole, Description, ElementDescription,
};
use rookery_vim::objects::UserSession;
use rookery_vim::{Hidden, Wire as _, Writer};

use super::{Members, item};
use crate::event::{self, Event};
use crate::id::{Id, Kind};
use crate::privileges::{self, seen};
use crate::session::Session;
use crate::world::World;

pub(super) fn view(world: &World, id: Id, m: &mut Members<'_, '_>) {
    let Some(view) = world.views.get(&id) else { return };
    m.references("view", view.members(world));
    if let crate::view::What::Container { container, classes, recursive } = &view.what {
        m.reference("container", *container);
        m.texts("type", classes.iter().map(String::as_str));
        m.flag("recursive", *recursive);
    }
}

pub(super) fn history(world: &World, id: Id, m: &mut Members<'_, '_>) {
    let Some(history) = world.events.collectors.get(&id) else { return };
    let latest = world.events.newest_first().filter(|event| event::matches(world, &history.filter, event));
    m.value("filter", &history.filter);
    m.objects("latestPage", "Event", latest.take(history.reader.page), write_event);
}

pub(super) fn service(world: &World, m: &mut Members<'_, '_>) {
    m.time("serverClock", world.now);
    m.object("content", "ServiceContent", |m| m.members(&crate::methods::content(world)));
    m.unset("capability");
}

pub(super) fn tasks(world: &World, m: &mut Members<'_, '_>) {
    m.references("recentTask", seen(world, world.tasks.recent()));
    m.int("maxCollector", 32);
    m.unset("description");
}

pub(super) fn guest_operations(m: &mut Members<'_, '_>) {
    m.reference("authManager", Id::single(Kind::GuestAuthManager));
    m.reference("fileManager", Id::single(Kind::GuestFileManager));
    m.reference("processManager", Id::single(Kind::GuestProcessManager));
    m.without(&["guestWindowsRegistryManager", "aliasManager"]);
}

pub(super) fn customizations(m: &mut Members<'_, '_>) {
    m.without(&["info", "encryptionKey"]);
}

pub(super) fn sessions(world: &World, m: &mut Members<'_, '_>) {
    m.objects("sessionList", "UserSession", world.sessions.all(), |out, element, session| {
        user_session(session).write(out, element, false);
    });
    let current = world.caller.and_then(|id| world.sessions.get(id)).map(user_session);
    m.maybe("currentSession", current, |m, name, session| m.value(name, &session));
    m.text("defaultLocale", "en");
    m.without(&["message", "messageLocaleList", "supportedLocaleList"]);
}

pub(super) fn authorization(world: &World, m: &mut Members<'_, '_>) {
    m.values("privilegeList", privileges::PRIVILEGES.iter().map(|&id| privilege(id)));
    let roles = world.authority.roles.iter().map(|(&role_id, role)| AuthorizationRole {
        role_id,
        system: role_id < 0,
        name: role.name.clone(),
        info: Description { label: role.name.clone(), summary: role.name.clone() },
        privilege: role.privileges.iter().cloned().collect(),
    });
    m.values("roleList", roles);
    m.object("description", "AuthorizationDescription", |m| {
        let groups: BTreeSet<String> =
            privileges::PRIVILEGES.iter().map(|&id| privilege(id).priv_group_name).collect();
        let described = |key: &str| {
            let key = key.to_owned();
            ElementDescription { label: key.clone(), summary: key.clone(), key }
        };
        m.values("privilege", privileges::PRIVILEGES.iter().map(|&id| described(id)));
        m.values("privilegeGroup", groups.iter().map(|group| described(group)));
    });
}

/// `VirtualMachine.Config.Rename` is `Rename` of the group `VirtualMachine.Config`.
fn privilege(id: &str) -> AuthorizationPrivilege {
    let (group, name) = id.rsplit_once('.').unwrap_or(("", id));
    AuthorizationPrivilege {
        priv_id: id.to_owned(),
        on_parent: false,
        name: name.to_owned(),
        priv_group_name: group.to_owned(),
    }
}

/// A session as the schema has it.
pub(crate) fn user_session(session: &Session) -> UserSession {
    UserSession {
        key: Hidden(session.key.clone()),
        user_name: session.user.clone(),
        full_name: Some(session.user.clone()),
        login_time: Some(session.login_time),
        last_active_time: Some(session.last_active),
        locale: Some("en".to_owned()),
        message_locale: Some("en".to_owned()),
        extension_session: Some(false),
        ip_address: Some(session.peer.clone()),
        user_agent: Some(session.user_agent.clone()),
        call_count: Some(session.calls),
    }
}

/// What each class of events is about, for those who list them.
pub(super) fn events(world: &World, m: &mut Members<'_, '_>) {
    m.object("description", "EventDescription", |m| {
        m.items("category", "ElementDescription", ["info", "warning", "error"], |m, key| {
            m.text("label", key);
            m.text("summary", key);
            m.text("key", key);
        });
        m.items("eventInfo", "EventDescriptionEventDetail", event::CLASSES, |m, (class, category)| {
            m.text("key", class);
            m.text("description", class);
            m.text("category", category);
            m.text("formatOnDatacenter", "");
            m.text("formatOnComputeResource", "");
            m.text("formatOnHost", "");
            m.text("formatOnVm", "");
            m.text("fullFormat", "");
        });
    });
    match world.events.newest_first().next() {
        Some(latest) => m.variant("latestEvent", latest.class, |_| {}),
        None => m.unset("latestEvent"),
    }
    m.int("maxCollector", 32);
}

/// One event as an element of that name.
pub(crate) fn write_event(out: &mut Writer, element: &str, event: &Event) {
    item(out, element, Some(event.class), |m| {
        m.int("key", event.key);
        m.int("chainId", event.key);
        m.time("createdTime", event.time);
        m.text("userName", &event.user);
        let mut argument =
            |name: &'static str, class: &str, reference: &'static str, of: &Option<(String, Id)>| {
                if let Some((text, id)) = of {
                    m.object(name, class, |m| {
                        m.text("name", text);
                        m.reference(reference, *id);
                    });
                }
            };
        argument("datacenter", "DatacenterEventArgument", "datacenter", &event.datacenter);
        argument("computeResource", "ComputeResourceEventArgument", "computeResource", &event.compute);
        argument("host", "HostEventArgument", "host", &event.host);
        argument("vm", "VmEventArgument", "vm", &event.vm);
        m.text("fullFormattedMessage", &event.message);
        m.flag("template", event.template);
        for node in &event.extra {
            node.write(m.out, &node.name, false);
        }
    });
}
