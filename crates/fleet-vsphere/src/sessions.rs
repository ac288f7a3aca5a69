//! Whether another daemon of the same name works on this vCenter.
//!
//! Two of them would undo each other's work, and nothing on a VM tells which of the two made it. But each has a session,
//! and vCenter lists sessions with the user agent of their client, which names it and its instance.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rookery_vim::envelope::service_instance;
use rookery_vim::methods::{CurrentTime, TerminateSession};
use rookery_vim::objects::{ObjectContent, PropertyFilterSpec, UserSession};
use rookery_vim::{DecodeError, Fault, FaultKind, Hidden, MoRef, Node};
use rookery_vim_client::{CallError, Client, itself, properties, retrieve};
use tokio::time::Instant;

use crate::election::{Candidate, SILENCE};

/// The property of the session manager that lists all sessions.
const SESSION_LIST: &str = "sessionList";
/// How often the list is asked for, if the session is renewed in between.
const TRIES: usize = 3;

/// A kind of daemon, as lists of sessions show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    /// How its user agents begin, such as `rookery-x/`: the version follows, then name and instance.
    pub agent: &'static str,
    /// How the user agents of programs begin that do the same work and do not tell their names.
    pub nameless: &'static [&'static str],
}

/// What vCenter's list of sessions says of one product.
#[derive(Debug, Clone)]
pub struct Listing {
    /// The number of the login that asked.
    pub login: u64,
    /// The key of its session.
    pub key: Hidden,
    /// All sessions of the product under that name, our own as well.
    pub candidates: Vec<Candidate>,
    /// Sessions of our user that may do the same work without a name, and were used lately.
    pub nameless: Vec<UnnamedSession>,
    /// vCenter's time when it was asked, or a little before.
    pub now: Timestamp,
}

/// A session of a program that does not tell its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnnamedSession {
    pub user_agent: String,
    pub address: Option<String>,
    last_active: Option<Timestamp>,
}

#[derive(Debug, thiserror::Error)]
pub enum SessionsError {
    /// vCenter could not be asked.
    #[error("vCenter's sessions could not be read")]
    Call(#[from] CallError),
    /// The user may not see the sessions.
    #[error(
        "whether another process of the same name works on this vCenter cannot be told: its user may not see \
         the sessions of others, which takes the privilege Sessions.TerminateSession on the root folder"
    )]
    Hidden,
    /// The list is not one of all sessions, or there is none, and nobody says why.
    #[error("vCenter's list of sessions does not show our own, or not with our user agent")]
    Incomplete,
    /// A session that must be over cannot be ended.
    #[error(
        "the session of an earlier process of this name cannot be ended, which takes the privilege \
         Sessions.TerminateSession on the root folder"
    )]
    MayNotEnd(#[source] CallError),
    /// The session was renewed each time that the list was asked for.
    #[error("vCenter's list of sessions is not current: our own session was renewed again and again")]
    Unsettled,
    #[error("vCenter did not list its sessions within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// vCenter took too long to end a session.
    #[error("vCenter did not end a session within {} s", .0.as_secs())]
    EndTimedOut(Duration),
    /// Nobody looked for so long that others may have acted.
    #[error("vCenter's sessions were not listed for too long")]
    Overdue,
    /// The list was not understood.
    #[error("vCenter's list of sessions was not understood")]
    NotUnderstood(#[from] DecodeError),
}

/// What a daemon tells vCenter of itself. What a header cannot hold is written as `%xx`.
pub fn user_agent(product: &Product, version: &str, name: &str, instance: &str) -> String {
    format!("{}{version} ({}; {})", product.agent, plain(name), plain(instance))
}

/// The other daemons of that name, whose instance is not this one.
pub async fn others(
    client: &Client,
    product: &Product,
    name: &str,
    instance: &str,
) -> Result<Vec<Candidate>, SessionsError> {
    let instance = plain(instance);
    let mut listing = list(client, product, name).await?;
    listing.candidates.retain(|other| other.instance != instance);
    Ok(listing.candidates)
}

/// The sessions that matter to a daemon of that name.
pub async fn list(client: &Client, product: &Product, name: &str) -> Result<Listing, SessionsError> {
    for _ in 0..TRIES {
        let before = client.login();
        let asked = Instant::now();
        let sessions = sessions(client).await?;
        let Some((login, key)) = client.login() else { return Err(SessionsError::Unsettled) };
        if before.is_none_or(|(before, _)| before != login) {
            // A list from before our login says nothing about us.
            continue;
        }
        let own = sessions.iter().find(|session| session.key.0 == key);
        let own = own.ok_or(SessionsError::Incomplete)?;
        let is_nameless = |session: &UserSession| nameless(session, product, &own.user_name);
        let mut nameless: Vec<_> = sessions.iter().filter_map(is_nameless).collect();
        let of_name = |session: &UserSession| candidate(session, product, name);
        let candidates: Vec<_> = sessions.iter().filter_map(of_name).collect();
        // Nobody's silence is judged in a list of nobody else.
        let alone = nameless.is_empty() && candidates.iter().all(|candidate| candidate.key.0 == key);
        let now = if alone { Timestamp::MIN } else { time_of_list(client, asked).await? };
        nameless.retain(|session| session.last_active.is_none_or(|last| now.duration_since(last) <= SILENCE));
        return Ok(Listing { login, key: Hidden(key), candidates, nameless, now });
    }
    Err(SessionsError::Unsettled)
}

/// Ends somebody's session. One that is over is fine.
pub async fn end(client: &Client, session: &Hidden) -> Result<(), SessionsError> {
    let end = TerminateSession { this: manager(client), session_id: vec![session.0.clone()] };
    match client.call(&end).await {
        Ok(()) => Ok(()),
        Err(error) if error.is(FaultKind::NotFound) => Ok(()),
        Err(error) if error.is(FaultKind::NoPermission) => Err(SessionsError::MayNotEnd(error)),
        Err(error) => Err(error.into()),
    }
}

/// What an instance is called in lists of sessions.
pub fn listed_instance(instance: &str) -> String {
    plain(instance)
}

pub(crate) fn manager(client: &Client) -> MoRef {
    let manager = client.content().session_manager.clone();
    manager.unwrap_or_else(|| MoRef::new("SessionManager", "SessionManager"))
}

async fn sessions(client: &Client) -> Result<Vec<UserSession>, SessionsError> {
    let this = manager(client);
    let spec = PropertyFilterSpec {
        prop_set: vec![properties(this.kind(), &[SESSION_LIST])],
        object_set: vec![itself(this)],
        report_missing_objects: None,
    };
    read(retrieve(client, spec).await)
}

/// The sessions in an answer. Only a refusal, or an answer about the manager without its list, says that our user may not see
/// them: all else may be better the next time.
fn read(answer: Result<Vec<ObjectContent>, CallError>) -> Result<Vec<UserSession>, SessionsError> {
    let found = match answer {
        Err(error) if error.is(FaultKind::NoPermission) => return Err(SessionsError::Hidden),
        found => found?,
    };
    let manager = found.into_iter().next().ok_or(SessionsError::Incomplete)?;
    let listed = manager.prop_set.into_iter().find(|property| property.name == SESSION_LIST);
    if let Some(list) = listed {
        return Ok(Node::items(list.val)?);
    }
    let reasons = manager.missing_set.into_iter().filter(|missing| missing.path == SESSION_LIST);
    let mut kinds = reasons.map(|missing| Fault::new(missing.fault.fault, String::new()).kind());
    let is_hidden = kinds.all(|kind| kind == FaultKind::NoPermission);
    Err(if is_hidden { SessionsError::Hidden } else { SessionsError::Incomplete })
}

/// vCenter's time when the list was asked for, or a little before: nobody is silent for as long as its answer took.
async fn time_of_list(client: &Client, asked: Instant) -> Result<Timestamp, SessionsError> {
    let now = client.call(&CurrentTime { this: service_instance() }).await?;
    let since = SignedDuration::try_from(asked.elapsed()).unwrap_or_default();
    Ok(now.checked_sub(since).unwrap_or(now))
}

fn candidate(session: &UserSession, product: &Product, name: &str) -> Option<Candidate> {
    let (of, instance) = named(product, session.user_agent.as_deref()?)?;
    (of == plain(name)).then(|| Candidate {
        instance: instance.to_owned(),
        key: session.key.clone(),
        user: session.user_name.clone(),
        address: address(session),
        login: session.login_time,
        last_active: session.last_active_time,
    })
}

fn nameless(session: &UserSession, product: &Product, user: &str) -> Option<UnnamedSession> {
    let agent = session.user_agent.as_deref()?;
    let is_one = product.nameless.iter().any(|begin| agent.starts_with(begin));
    (is_one && session.user_name.eq_ignore_ascii_case(user)).then(|| UnnamedSession {
        user_agent: agent.to_owned(),
        address: address(session),
        last_active: session.last_active_time,
    })
}

fn address(session: &UserSession) -> Option<String> {
    session.ip_address.clone().filter(|address| !address.is_empty())
}

/// Name and instance in a user agent.
fn named<'a>(product: &Product, user_agent: &'a str) -> Option<(&'a str, &'a str)> {
    let (_, inside) = user_agent.strip_prefix(product.agent)?.split_once(" (")?;
    inside.split_once(')')?.0.split_once("; ")
}

fn plain(text: &str) -> String {
    let shown = |byte: u8| match byte {
        b' '..=b'~' if !b"%();".contains(&byte) => char::from(byte).to_string(),
        _ => format!("%{byte:02x}"),
    };
    text.bytes().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use rookery_vim::objects::{DynamicProperty, LocalizedMethodFault, MissingProperty};

    use super::*;

    const PRODUCT: Product = Product { agent: "rookery-tests/", nameless: &["Go-http-client/", "govmomi"] };

    fn user_agent(version: &str, name: &str, instance: &str) -> String {
        super::user_agent(&PRODUCT, version, name, instance)
    }

    #[test]
    fn a_daemon_of_the_same_name_is_told_from_all_other_sessions() {
        let check = |agent: &str, expected: Option<&str>| {
            let session = UserSession { user_agent: Some(agent.to_owned()), ..session() };
            let found = candidate(&session, &PRODUCT, "h;1 (größe)").map(|candidate| candidate.instance);
            assert_eq!(found.as_deref(), expected, "{agent}");
        };
        check(&user_agent("1.0", "h;1 (größe)", "b"), Some("b"));
        check(&user_agent("0.9 (beta", "h;1 (größe)", "b"), None);
        check(&user_agent("1.0", "h;1 (größe)", "a;b"), Some(&listed_instance("a;b")));
        check(&user_agent("1.0", "h", "b"), None);
        check(&format!("{} extra", user_agent("1.0", "h;1 (größe)", "b")), Some("b"));
        for foreign in ["govc/0.56", "rookery/1.0 (h; b)", "rookery-tests/1.0", "rookery-tests/1.0 (h)"] {
            check(foreign, None);
        }
        assert!(user_agent("1.0", "größe\n", "b").is_ascii());
    }

    // The first list that was odd was taken for a refusal, and nobody was elected any more.
    #[test]
    fn only_a_refusal_says_that_the_sessions_are_hidden() {
        let check = |answer: Result<Vec<ObjectContent>, CallError>, expected: &str| {
            let read = read(answer).map(|sessions| sessions.len());
            assert_eq!(format!("{read:?}"), expected);
        };
        let manager = |prop_set, missing_set| {
            Ok(vec![ObjectContent { obj: MoRef::new("SessionManager", "it"), prop_set, missing_set }])
        };
        let fault = |class: &str| Node::leaf("fault", class, "");
        let missing = |class: &str| MissingProperty {
            path: SESSION_LIST.to_owned(),
            fault: LocalizedMethodFault { fault: Some(fault(class)), localized_message: None },
        };
        let refused = |class: &str| CallError::Fault {
            method: "RetrievePropertiesEx",
            source: Fault::new(Some(fault(class)), String::new()),
        };
        check(Err(refused("NoPermission")), "Err(Hidden)");
        check(manager(Vec::new(), vec![missing("NoPermission")]), "Err(Hidden)");
        check(manager(Vec::new(), Vec::new()), "Err(Hidden)");
        check(manager(Vec::new(), vec![missing("SystemError")]), "Err(Incomplete)");
        check(Ok(Vec::new()), "Err(Incomplete)");
        let none = DynamicProperty { name: SESSION_LIST.to_owned(), val: Node::new("val") };
        check(manager(vec![none], Vec::new()), "Ok(0)");
        assert!(matches!(read(Err(refused("SystemError"))), Err(SessionsError::Call(_))));
    }

    #[test]
    fn a_session_of_our_user_that_may_do_the_same_without_a_name_is_noticed() {
        let check = |agent: &str, user: &str, expected: bool| {
            let session = UserSession { user_agent: Some(agent.to_owned()), ..session() };
            assert_eq!(nameless(&session, &PRODUCT, user).is_some(), expected, "{agent} of {user}");
        };
        check("Go-http-client/1.1", "user", true);
        check("Go-http-client/2.0", "USER", true);
        check("govmomi/0.50", "user", true);
        check("Go-http-client/1.1", "somebody else", false);
        check("govc/0.56", "user", false);
        check(&user_agent("1.0", "h", "a"), "user", false);
    }

    fn session() -> UserSession {
        UserSession {
            key: rookery_vim::Hidden("key".to_owned()),
            user_name: "user".to_owned(),
            full_name: None,
            login_time: None,
            last_active_time: None,
            locale: None,
            message_locale: None,
            extension_session: None,
            ip_address: Some(String::new()),
            user_agent: None,
            call_count: None,
        }
    }
}
