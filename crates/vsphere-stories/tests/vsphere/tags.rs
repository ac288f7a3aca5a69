use std::collections::BTreeSet;

use rookery_daemon::Supervisor;
use rookery_kit::{Connected, Govc, Proxy, Vcsim, VcsimOptions, connect, eventually, on_our_simulator};
use rookery_vim::MoRef;
use rookery_vim_client::{CallError, Cardinality, NewCategory, TagError, Tags};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

const SESSION: &str = "/rest/com/vmware/cis/session";
const TAGGING: &str = "/rest/com/vmware/cis/tagging";

fn nests() -> NewCategory {
    NewCategory {
        name: "nest: \"a/b\" & <c>".to_owned(),
        description: "who broods here".to_owned(),
        cardinality: Cardinality::Single,
        associable_types: vec!["VirtualMachine".to_owned()],
    }
}

async fn vms(ours: &Connected) -> Vec<MoRef> {
    ours.inventory.complete().await.expect("it loads").vms().map(|vm| vm.id.clone()).collect()
}

/// The status of a request that shows this session to the REST service.
async fn status(vcsim: &Vcsim, verb: &str, path: &str, session: &str) -> u16 {
    let mut stream = TcpStream::connect(vcsim.socket()).await.expect("the simulator listens");
    let request = format!(
        "{verb} {path} HTTP/1.1\r\nHost: vcsim\r\nvmware-api-session-id: {session}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
}

/// The sessions that the REST service has given.
fn rest_sessions(proxy: &Proxy) -> Vec<String> {
    let exchanges = proxy.exchanges().into_iter();
    let logins = exchanges.filter(|exchange| exchange.method == format!("POST {SESSION}"));
    let id = |answer: &[u8]| {
        let answer: Value = serde_json::from_slice(answer).expect("JSON");
        answer["value"].as_str().expect("a session").to_owned()
    };
    logins.map(|exchange| id(&exchange.answer.expect("an answer"))).collect()
}

fn count(proxy: &Proxy, method: &str) -> usize {
    proxy.exchanges().iter().filter(|exchange| exchange.method == method).count()
}

#[tokio::test]
async fn tags_are_made_found_attached_and_taken_off_as_govc_sees_it() {
    let vcsim = Vcsim::start(VcsimOptions::plain(4)).await;
    let govc = Govc::new(&vcsim);
    govc.run(&["tags.category.create", "-m", "zone"]).await;
    govc.run(&["tags.create", "-c", "zone", "east"]).await;
    let ours = connect(vcsim.address()).await;
    let vms = vms(&ours).await;
    let tags = Tags::new(ours.client.clone());

    let zone = tags.category("zone").await.expect("an answer").expect("govc made it");
    assert_eq!((zone.cardinality, zone.associable_types.len()), (Cardinality::Multiple, 0));
    let east = tags.tag(&zone.id, "east").await.expect("an answer").expect("govc made it");
    assert_eq!(tags.tag(&zone.id, "west").await.expect("an answer"), None);
    assert_eq!(tags.category(&nests().name).await.expect("an answer"), None);
    let nest = tags.ensure_category(&nests()).await.expect("made");
    assert_eq!(tags.ensure_category(&nests()).await.expect("it is there"), nest);
    let theirs = govc.json(&["tags.category.info", &nests().name]).await;
    assert_eq!(theirs[0]["id"], nest.id.to_string());
    assert_eq!(theirs[0]["description"], "who broods here");
    assert_eq!(theirs[0]["cardinality"], "SINGLE");
    assert_eq!(theirs[0]["associable_types"], serde_json::json!(["VirtualMachine"]));

    let owl = tags.ensure_tag(&nest.id, "owl", "at night").await.expect("made");
    assert_eq!(tags.ensure_tag(&nest.id, "owl", "at noon").await.expect("it is there"), owl);
    assert_eq!(tags.tag_by_id(&owl.id).await.expect("an answer"), Some(owl.clone()));
    let theirs = govc.json(&["tags.info", &owl.id.to_string()]).await;
    assert_eq!((&theirs[0]["name"], &theirs[0]["description"]), (&"owl".into(), &"at night".into()));

    for _ in 0..2 {
        tags.attach(&owl.id, &vms[..3]).await.expect("attached, the second time as well");
    }
    govc.run(&["tags.attach", &east.id.to_string(), "/DC0/vm/DC0_H0_VM0"]).await;
    let attached = async |tag: &str| {
        let listing = govc.run(&["tags.attached.ls", tag]).await;
        listing.lines().map(str::to_owned).collect::<BTreeSet<String>>()
    };
    let named = |vms: &[MoRef]| vms.iter().map(ToString::to_string).collect::<BTreeSet<String>>();
    assert_eq!(attached(&owl.id.to_string()).await, named(&vms[..3]));
    let seen = tags.attached(&vms).await.expect("an answer");
    let first = govc.run(&["find", "-i", "/", "-type", "m", "-name", "DC0_H0_VM0"]).await;
    for (vm, found) in &seen {
        let mut expected = BTreeSet::new();
        expected.extend(vms[..3].contains(vm).then(|| owl.id.clone()));
        expected.extend((vm.to_string() == first.trim_end()).then(|| east.id.clone()));
        assert_eq!(*found, expected, "{vm}");
    }
    assert_eq!(seen.len(), 4);

    for _ in 0..2 {
        tags.detach(&owl.id, &vms[..2]).await.expect("taken off, the second time as well");
    }
    assert_eq!(attached(&owl.id.to_string()).await, named(&vms[2..3]));

    govc.run(&["tags.rm", "-f", &owl.id.to_string()]).await;
    tags.detach(&owl.id, &vms).await.expect("a tag that is gone is on nothing");
    let error = tags.attach(&owl.id, &vms).await.expect_err("there is no such tag");
    assert!(error.is_not_found(), "{error:?}");
    assert_eq!(tags.tag_by_id(&owl.id).await.expect("an answer"), None);
    ours.close().await;
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn what_was_made_although_the_answer_was_lost_is_found_and_not_made_twice() {
    let vcsim = Vcsim::start(VcsimOptions::plain(2)).await;
    let govc = Govc::new(&vcsim);
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let ours = connect(proxy.address()).await;
    let vms = vms(&ours).await;
    let tags = Tags::new(ours.client.clone());

    let make_category = format!("POST {TAGGING}/category");
    proxy.lose(&make_category);
    let nest = tags.ensure_category(&nests()).await.expect("made and found");
    assert_eq!(count(&proxy, &make_category), 1);
    assert_eq!(govc.json(&["tags.category.ls"]).await.as_array().map(Vec::len), Some(1));

    let make_tag = format!("POST {TAGGING}/tag");
    proxy.lose(&make_tag);
    let owl = tags.ensure_tag(&nest.id, "owl", "").await.expect("made and found");
    assert_eq!(count(&proxy, &make_tag), 1);
    assert_eq!(govc.json(&["tags.ls"]).await.as_array().map(Vec::len), Some(1));

    let of_owl = format!("POST {TAGGING}/tag-association/id:{}?~action=", owl.id);
    let attach = format!("{of_owl}attach-tag-to-multiple-objects");
    proxy.lose(&attach);
    tags.attach(&owl.id, &vms).await.expect("attached, at last");
    assert_eq!(count(&proxy, &attach), 2, "it may be repeated");
    let list = format!("POST {TAGGING}/tag-association?~action=list-attached-tags-on-objects");
    proxy.lose(&list);
    let seen = tags.attached(&vms).await.expect("an answer, at last");
    assert!(seen.len() == 2 && seen.values().all(|tags| tags.contains(&owl.id)), "{seen:?}");
    let detach = format!("{of_owl}detach");
    proxy.lose(&detach);
    tags.detach(&owl.id, &vms).await.expect("taken off, at last");
    let left = govc.run(&["tags.attached.ls", &owl.id.to_string()]).await;
    assert_eq!(left.lines().count(), 0, "{left}");

    // Two at once want the same: one makes it, and the other finds it.
    let (a, b) = tokio::join!(tags.ensure_tag(&nest.id, "jay", ""), tags.ensure_tag(&nest.id, "jay", ""));
    assert_eq!(a.expect("a tag").id, b.expect("the same tag").id);
    ours.close().await;
}

#[tokio::test]
async fn many_objects_are_tagged_in_few_requests() {
    // vcsim is slow to make so many, and does not ask whether they exist.
    let they_exist = on_our_simulator();
    let vcsim = Vcsim::start(VcsimOptions::plain(if they_exist { 1100 } else { 0 })).await;
    let govc = Govc::new(&vcsim);
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let ours = connect(proxy.address()).await;
    let tags = Tags::new(ours.client.clone());
    let nest = tags.ensure_category(&nests()).await.expect("made");
    let owl = tags.ensure_tag(&nest.id, "owl", "").await.expect("made");
    let ghosts = (0..1100).map(|n| MoRef::new("VirtualMachine", &format!("vm-{n}")));
    let many: Vec<_> = if they_exist { vms(&ours).await } else { ghosts.collect() };
    tags.attach(&owl.id, &many).await.expect("attached");
    let listing = govc.run(&["tags.attached.ls", &owl.id.to_string()]).await;
    assert_eq!(listing.lines().count(), 1100);
    let seen = tags.attached(&many).await.expect("an answer");
    assert!(seen.len() == 1100 && seen.values().all(|tags| tags.contains(&owl.id)));
    let requests = proxy.exchanges().into_iter().filter(|e| e.method.contains("tag-association"));
    assert_eq!(requests.count(), 6, "three to attach, three to list");
    ours.close().await;
}

#[tokio::test]
async fn one_rest_session_is_shared_renewed_and_ended() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let ours = connect(proxy.address()).await;
    assert_eq!(rest_sessions(&proxy), [""; 0], "none until somebody needs it");
    let tags = Tags::new(ours.client.clone());
    let together = async || {
        let mut asking = JoinSet::new();
        for _ in 0..20 {
            let tags = tags.clone();
            asking.spawn(async move { tags.category("zone").await });
        }
        while let Some(answer) = asking.join_next().await {
            assert_eq!(answer.expect("no panic").expect("an answer"), None);
        }
    };
    together().await;
    let sessions = rest_sessions(&proxy);
    let [first] = sessions.as_slice() else { panic!("one login for all: {}", sessions.len()) };
    let list = format!("{TAGGING}/category");
    assert_eq!(status(&vcsim, "GET", &list, first).await, 200);
    // Somebody else ends it: the next ones log in again, once for all of them.
    assert_eq!(status(&vcsim, "DELETE", SESSION, first).await, 200);
    assert_eq!(status(&vcsim, "GET", &list, first).await, 401);
    together().await;
    let sessions = rest_sessions(&proxy);
    let [_, second] = sessions.as_slice() else { panic!("one renewal for all: {}", sessions.len()) };
    assert_eq!(status(&vcsim, "GET", &list, second).await, 200);

    let shown = format!("{tags:?} {:?}", ours.client);
    let secrets =
        [second.clone(), format!("{:?}", Vcsim::PASSWORD), ours.client.session_key().expect("logged in")];
    assert!(!secrets.iter().any(|secret| shown.contains(secret)), "{shown}");
    ours.close().await;
    assert_eq!(status(&vcsim, "GET", &list, second).await, 401, "closing ends it");
    let late = tags.category("zone").await;
    assert!(matches!(late, Err(TagError::Call(CallError::Closed { .. }))), "{late:?}");
    assert_eq!(Govc::new(&vcsim).sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_rest_login_that_nobody_waits_for_any_more_is_ended_all_the_same() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let ours = connect(proxy.address()).await;
    let tags = Tags::new(ours.client.clone());
    let mut impatient = Box::pin(tags.category("zone"));
    assert!(futures_util::poll!(impatient.as_mut()).is_pending());
    drop(impatient);
    let login = format!("POST {SESSION}");
    eventually("the login is on its way", || async { count(&proxy, &login) == 1 }).await;
    ours.close().await;
    let sessions = rest_sessions(&proxy);
    let [session] = sessions.as_slice() else { panic!("one login: {}", sessions.len()) };
    assert_eq!(status(&vcsim, "GET", &format!("{TAGGING}/category"), session).await, 401);
}

#[tokio::test]
async fn a_client_that_never_asked_for_tags_has_no_rest_session_to_end() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    connect(proxy.address()).await.close().await;
    assert!(!proxy.exchanges().iter().any(|exchange| exchange.method.contains("/rest/")));
}
