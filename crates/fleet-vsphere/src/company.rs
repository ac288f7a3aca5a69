//! Whether another daemon of the same name works on this vCenter.
//!
//! Two of them would undo each other's work, and nothing on a VM tells which of the two made it. But each has a session,
//! and vCenter lists sessions with the user agent of their client, which names the hatchery and its instance.

use jiff::Timestamp;
use rookery_vim::objects::UserSession;
use rookery_vim::{DecodeError, MoRef, Node};
use rookery_vim_client::{CallError, Client, properties_of};

/// How the user agent of a hatchery begins.
const PRODUCT: &str = "rookery-hatchery/";

/// Another daemon of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// Which one it is.
    pub instance: String,
    /// As whom it is logged in.
    pub user: String,
    /// Where it comes from.
    pub address: Option<String>,
    /// Since when it is logged in, by vCenter's clock.
    pub since: Option<Timestamp>,
    /// When it was last heard of, by vCenter's clock. One that was killed is listed until its session has idled out.
    pub last_active: Option<Timestamp>,
}

/// Why nobody can tell.
#[derive(Debug, thiserror::Error)]
pub enum CompanyError {
    /// vCenter could not be asked.
    #[error("vCenter's sessions could not be read")]
    Call(#[from] CallError),
    /// The user may not see the sessions.
    #[error(
        "whether another hatchery of the same name works on this vCenter cannot be told: its user may not see \
         the sessions of others, which takes the privilege Sessions.TerminateSession on the root folder"
    )]
    Hidden,
    /// The list was not understood.
    #[error("vCenter's list of sessions was not understood")]
    NotUnderstood(#[from] DecodeError),
}

/// What a hatchery tells vCenter of itself. What a header cannot hold is written as `%xx`.
pub fn user_agent(version: &str, hatchery: &str, instance: &str) -> String {
    format!("{PRODUCT}{version} ({}; {})", plain(hatchery), plain(instance))
}

/// The other daemons of that name, whose instance is not this one.
pub async fn others(client: &Client, hatchery: &str, instance: &str) -> Result<Vec<Other>, CompanyError> {
    let manager = client.content().session_manager.clone();
    let manager = manager.unwrap_or_else(|| MoRef::new("SessionManager", "SessionManager"));
    let found = properties_of(client, &manager, &["sessionList"]).await?;
    let listed = found.into_iter().find(|(name, _)| name == "sessionList");
    let listed = listed.map(|(_, list)| Node::items(list)).transpose()?;
    let sessions: Vec<UserSession> = listed.unwrap_or_default();
    // A list without our own session is none of all sessions.
    let own = client.session_key();
    if !sessions.iter().any(|session| Some(&session.key.0) == own.as_ref()) {
        return Err(CompanyError::Hidden);
    }
    Ok(sessions.into_iter().filter_map(|session| other(session, hatchery, instance)).collect())
}

fn other(session: UserSession, hatchery: &str, instance: &str) -> Option<Other> {
    let (of, theirs) = named(session.user_agent.as_deref()?)?;
    let differs = of == plain(hatchery) && theirs != plain(instance);
    differs.then(|| Other {
        instance: theirs.to_owned(),
        user: session.user_name,
        address: session.ip_address.filter(|address| !address.is_empty()),
        since: session.login_time,
        last_active: session.last_active_time,
    })
}

/// Hatchery and instance in a user agent.
fn named(user_agent: &str) -> Option<(&str, &str)> {
    let (_, inside) = user_agent.strip_prefix(PRODUCT)?.split_once(" (")?;
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
    use super::*;

    #[test]
    fn a_daemon_of_the_same_name_is_told_from_all_other_sessions() {
        let check = |agent: &str, expected: Option<&str>| {
            let session = UserSession { user_agent: Some(agent.to_owned()), ..session() };
            let found = other(session, "h;1 (größe)", "a").map(|other| other.instance);
            assert_eq!(found.as_deref(), expected, "{agent}");
        };
        check(&user_agent("1.0", "h;1 (größe)", "b"), Some("b"));
        check(&user_agent("0.9 (beta", "h;1 (größe)", "b"), None);
        check(&user_agent("1.0", "h;1 (größe)", "a"), None);
        check(&user_agent("1.0", "h", "b"), None);
        check(&format!("{} extra", user_agent("1.0", "h;1 (größe)", "b")), Some("b"));
        for foreign in ["govc/0.56", "rookery/1.0 (h; b)", "rookery-hatchery/1.0", "rookery-hatchery/1.0 (h)"]
        {
            check(foreign, None);
        }
        assert!(user_agent("1.0", "größe\n", "b").is_ascii());
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
