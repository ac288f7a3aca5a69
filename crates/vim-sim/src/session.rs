//! Sessions: who is logged in.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;

use crate::id::Id;

#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: BTreeMap<u32, Session>,
    cookies: HashMap<String, u32>,
    last: u32,
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) key: String,
    cookie: String,
    pub(crate) user: String,
    pub(crate) login_time: Timestamp,
    pub(crate) last_active: Timestamp,
    pub(crate) peer: String,
    pub(crate) user_agent: String,
    pub(crate) calls: i64,
    pub(crate) default_collector: Option<Id>,
}

pub(crate) const COOKIE: &str = "vmware_soap_session";

impl Sessions {
    /// Starts a session; its cookie's value.
    pub(crate) fn start(
        &mut self,
        (key, cookie): (String, String),
        user: &str,
        peer: &str,
        agent: &str,
        now: Timestamp,
    ) -> (u32, String) {
        self.last += 1;
        self.cookies.insert(cookie.clone(), self.last);
        self.open.insert(
            self.last,
            Session {
                key,
                cookie: cookie.clone(),
                user: user.to_owned(),
                login_time: now,
                last_active: now,
                peer: peer.to_owned(),
                user_agent: agent.to_owned(),
                calls: 0,
                default_collector: None,
            },
        );
        (self.last, cookie)
    }

    /// The session of a request, which thereby shows that it is alive.
    pub(crate) fn of_cookie(&mut self, header: &str, now: Timestamp) -> Option<u32> {
        let cookie = header.split(';').find_map(|part| part.trim().strip_prefix(COOKIE)?.strip_prefix('='));
        let id = *self.cookies.get(cookie?.trim_matches('"'))?;
        let session = self.open.get_mut(&id)?;
        session.last_active = now;
        session.calls += 1;
        Some(id)
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Session> {
        self.open.get_mut(&id)
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Session> {
        self.open.get(&id)
    }

    pub(crate) fn user(&self, id: u32) -> Option<String> {
        self.open.get(&id).map(|session| session.user.clone())
    }

    pub(crate) fn by_key(&self, key: &str) -> Option<u32> {
        self.open.iter().find(|(_, session)| session.key == key).map(|(id, _)| *id)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Session> {
        self.open.values()
    }

    pub(crate) fn ids(&self) -> Vec<u32> {
        self.open.keys().copied().collect()
    }

    pub(crate) fn end(&mut self, id: u32) -> bool {
        let ended = self.open.remove(&id);
        if let Some(session) = &ended {
            self.cookies.remove(&session.cookie);
        }
        ended.is_some()
    }
}
