//! Who may come in, and for how long.

use anyhow::{Context as _, bail, ensure};
use rookery_kit::Raw;
use rookery_vim::MoRef;

use super::raw_client::{RawClient, is, named};
use super::subject::Subject;

pub(super) async fn a_wrong_password_is_refused(subject: Subject) -> anyhow::Result<()> {
    let Err(refused) = Raw::login_as(&subject.address, "user", "guessed").await else {
        bail!("anybody may come in");
    };
    is(&refused, "InvalidLogin")
}

pub(super) async fn nobody_logs_in_twice(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let given = "<userName>user</userName><password>pass</password>";
    is(&client.refusal("Login", &manager(&client)?, given).await?, "InvalidLogin")
}

pub(super) async fn nothing_is_done_without_a_login(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find("DC0/vm/DC0_H0_VM0").await?;
    client.ask("Logout", &manager(&client)?, "").await?;
    is(&client.refusal("PowerOffVM_Task", &vm, "").await?, "NotAuthenticated")
}

pub(super) async fn sessions_are_listed(subject: Subject) -> anyhow::Result<()> {
    let (one, other) = (RawClient::at(&subject).await?, RawClient::at(&subject).await?);
    let manager = manager(&one)?;
    let list = one.value(&manager, "sessionList").await?.context("a list of sessions")?;
    let keys: Vec<_> = named(&list, "UserSession").filter_map(|session| session.child_text("key")).collect();
    for client in [&one, &other] {
        let own = client.value(&manager, "currentSession").await?.context("a session of one's own")?;
        let key = own.child_text("key").context("a key")?;
        ensure!(keys.contains(&key), "{key} is not among {keys:?}");
    }
    Ok(())
}

pub(super) async fn a_terminated_session_is_over(subject: Subject) -> anyhow::Result<()> {
    let (one, other) = (RawClient::at(&subject).await?, RawClient::at(&subject).await?);
    let own = other.value(&manager(&other)?, "currentSession").await?.context("a session")?;
    let key = own.child_text("key").context("a key")?;
    one.ask("TerminateSession", &manager(&one)?, &format!("<sessionId>{key}</sessionId>")).await?;
    let clock = MoRef::new("ServiceInstance", "ServiceInstance");
    is(&other.refusal("CurrentTime", &clock, "").await?, "NotAuthenticated")?;
    one.ask("CurrentTime", &clock, "").await?;
    Ok(())
}

pub(super) async fn versions_are_told_to_anybody(subject: Subject) -> anyhow::Result<()> {
    let (status, text) = subject.raw().await?.http("GET", "/sdk/vimServiceVersions.xml", false, b"").await?;
    let versions = rookery_vim::envelope::versions(&text)?;
    ensure!(status == 200 && versions.iter().any(|version| version == "6.5"), "{status}: {versions:?}");
    Ok(())
}

fn manager(client: &RawClient) -> anyhow::Result<MoRef> {
    client.content.session_manager.clone().context("a session manager")
}
