use std::sync::Arc;
use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_daemon::telemetry::chain;
use rookery_kit::{Govc, Proxy, Relay, Vcsim, VcsimOptions, connect, connect_over, eventually, options};
use rookery_vim::envelope::service_instance;
use rookery_vim::methods::CurrentTime;
use rookery_vim::objects::PowerState;
use rookery_vim_client::{CallError, Client, Completeness, PowerChange, TaskError, TcpDial, Trust, Vm};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const PATIENCE: Duration = Duration::from_secs(60);

fn off(vm: &Vm) -> Option<()> {
    (vm.power == Some(PowerState::Off)).then_some(())
}

#[tokio::test]
async fn a_session_ended_by_another_client_during_the_long_poll_is_renewed_and_nothing_is_missed() {
    let vcsim = Vcsim::start(VcsimOptions::tls(3)).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let snapshot = ours.inventory.complete().await.expect("it loads");
    let vm = snapshot.named("DC0_H0_VM1").next().expect("it is there").id.clone();
    for round in 0..3 {
        let key = ours.client.session_key().expect("logged in");
        let (login, _) = ours.client.login().expect("logged in");
        govc.run(&["session.rm", &key]).await;
        let change = if round % 2 == 0 { "-off" } else { "-on" };
        govc.run(&["vm.power", change, "DC0_H0_VM1"]).await;
        // A call finds out that the session is gone; the long poll finds out by itself.
        ours.client.call(&CurrentTime { this: service_instance() }).await.expect("renewed");
        let seen = |vm: &Vm| {
            (vm.power == Some(if round % 2 == 0 { PowerState::Off } else { PowerState::On })).then_some(())
        };
        ours.inventory.wait_for(&vm, PATIENCE, seen).await.expect("the change arrives");
        ours.client.logs_in_again(login).await;
        assert_ne!(ours.client.session_key(), Some(key));
    }
    assert_eq!(govc.sessions().await.len(), 1, "one login at a time");
    ours.close().await;
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

/// A server that cannot replay an answer (vcsim cannot) must be asked for everything again. With more than a page of
/// VMs vcsim's versions look as if they advanced; trusting that lost an update for good.
#[tokio::test]
async fn an_update_lost_with_its_connection_is_made_up_for() {
    let vcsim = Vcsim::start(VcsimOptions::plain(130).with("-autostart=false")).await;
    let govc = Govc::new(&vcsim);
    let supervisor = Supervisor::new();
    let relay = Relay::start(vcsim.socket(), &supervisor).await;
    let ours = connect(&format!("http://{}", relay.socket)).await;
    let snapshot = ours.inventory.complete().await.expect("it loads");
    for (round, name) in ["DC0_H0_VM1", "DC0_H0_VM77", "DC0_H0_VM129"].into_iter().enumerate() {
        let vm = snapshot.named(name).next().expect("it is there").id.clone();
        relay.mute();
        govc.run(&["vm.power", "-on", name]).await;
        eventually("an answer was lost", || async { relay.has_swallowed() }).await;
        relay.hang_up();
        let on = |vm: &Vm| (vm.power == Some(PowerState::On)).then_some(());
        ours.inventory
            .wait_for(&vm, PATIENCE, on)
            .await
            .unwrap_or_else(|e| panic!("round {round}: {}", chain(&e)));
    }
    ours.close().await;
}

#[tokio::test]
async fn concurrent_calls_share_one_new_login() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let govc = Govc::new(&vcsim);
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let options = options(proxy.address());
    let dial = TcpDial::new(options.endpoint.clone(), &Trust::Insecure).expect("no TLS");
    let client = Client::connect(options, Arc::new(dial)).await.expect("connected");
    govc.run(&["session.rm", &client.session_key().expect("logged in")]).await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let client = client.clone();
        calls.spawn(async move { client.call(&CurrentTime { this: service_instance() }).await });
    }
    while let Some(answer) = calls.join_next().await {
        answer.expect("no panic").expect("each call succeeds");
    }
    let logins = proxy.exchanges().iter().filter(|e| e.method == "Login").count();
    assert_eq!(logins, 2, "the first one and one renewal");
    client.close().await.expect("logged out");
    let late = client.call(&CurrentTime { this: service_instance() }).await;
    assert!(matches!(late, Err(CallError::Closed { .. })), "a closed client does not log in again: {late:?}");
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn another_login_takes_over_and_one_that_is_refused_changes_nothing() {
    let vcsim = Vcsim::start(VcsimOptions::tls(2)).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let snapshot = ours.inventory.complete().await.expect("it loads");
    let vm = snapshot.named("DC0_H0_VM1").next().expect("it is there").id.clone();
    let first = ours.client.session_key().expect("logged in");
    let wrong = ours.client.change_login(Vcsim::USER.to_owned(), "wrong".into()).await;
    assert!(matches!(wrong, Err(CallError::Credentials { .. })), "{wrong:?}");
    assert_eq!(govc.sessions().await, std::slice::from_ref(&first));
    govc.run(&["session.rm", &first]).await;
    ours.client.call(&CurrentTime { this: service_instance() }).await.expect("the old credentials log in");
    let first = ours.client.session_key().expect("logged in");

    let right = ours.client.change_login(Vcsim::USER.to_owned(), Vcsim::PASSWORD.into()).await;
    right.expect("a refusal is no reason to wait with other credentials");
    let second = ours.client.session_key().expect("logged in");
    assert_ne!(second, first);
    assert_eq!(govc.sessions().await, [second], "the session before has ended");
    govc.run(&["vm.power", "-off", "DC0_H0_VM1"]).await;
    ours.inventory.wait_for(&vm, PATIENCE, off).await.expect("changes arrive in the new session");
    let client = ours.client.clone();
    ours.close().await;
    let late = client.change_login(Vcsim::USER.to_owned(), Vcsim::PASSWORD.into()).await;
    assert!(matches!(late, Err(CallError::Closed { .. })), "{late:?}");
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn after_a_restart_of_vcenter_the_inventory_is_built_again_and_nothing_was_called_gone() {
    let mut vcsim = Vcsim::start(VcsimOptions::tls(3)).await;
    let ours = connect(vcsim.address()).await;
    ours.inventory.complete().await.expect("it loads");
    let inventory = ours.inventory.clone();
    let watching = Supervisor::new();
    let (report, mut fewest) = tokio::sync::watch::channel(usize::MAX);
    watching.spawn("witness", async move {
        let mut seen = inventory.snapshot();
        while let Ok(next) = inventory.newer_than(&seen).await {
            report.send_modify(|fewest| *fewest = next.vms().len().min(*fewest));
            seen = next;
        }
    });
    vcsim.kill().await;
    let stale = |s: &rookery_vim_client::Snapshot| matches!(s.completeness(), Completeness::Stale(_));
    let last = ours.inventory.until(stale).await.expect("it notices");
    assert_eq!(last.vms().len(), 3, "what was known stays known");
    let age = last.age();
    let waited =
        ours.inventory
            .wait_for(&last.vms().next().expect("a VM").id, Duration::from_millis(300), |_| None::<()>);
    assert!(matches!(waited.await, Err(rookery_vim_client::WaitError::TimedOut { .. })));
    assert!(ours.inventory.snapshot().age() > age, "a stale snapshot grows older");

    vcsim.start_again().await;
    let again = ours.inventory.complete().await.expect("it is there again");
    assert_eq!(again.vms().len(), 3);
    let vm = again.named("DC0_H0_VM2").next().expect("it is there").id.clone();
    Govc::new(&vcsim).run(&["vm.power", "-off", "DC0_H0_VM2"]).await;
    ours.inventory.wait_for(&vm, PATIENCE, off).await.expect("changes arrive again");
    assert_eq!(*fewest.borrow_and_update(), 3, "no snapshot lacked a VM");
    ours.close().await;
    assert_eq!(Govc::new(&vcsim).sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_task_lost_in_a_restart_is_unknown_not_failed() {
    let mut vcsim = Vcsim::start(VcsimOptions::plain(1).with("-task-delay=PowerOff:60000")).await;
    let ours = connect(vcsim.address()).await;
    let vm = ours.inventory.complete().await.expect("it loads").vms().next().expect("one VM").id.clone();
    let machines = ours.machines.clone();
    let supervisor = Supervisor::new();
    let (report, outcome) = tokio::sync::oneshot::channel();
    supervisor.spawn("power off", async move {
        report.send(machines.power(&vm, PowerChange::Off, PATIENCE).await).ok();
    });
    let govc = Govc::new(&vcsim);
    eventually("the task runs", || async { govc.run(&["tasks"]).await.to_lowercase().contains("poweroff") })
        .await;
    vcsim.kill().await;
    vcsim.start_again().await;
    let error = outcome.await.expect("it ends").expect_err("nobody knows");
    assert!(
        matches!(error, rookery_vim_client::OperationError::Task(TaskError::Unknown { .. })),
        "{}",
        chain(&error)
    );
    ours.close().await;
}

#[tokio::test]
async fn slow_answers_are_waited_for_and_too_slow_ones_are_an_error() {
    let vcsim =
        Vcsim::start(VcsimOptions::plain(1).with("-method-delay=CurrentTime:400,Rename_Task:2500")).await;
    let mut options = options(vcsim.address());
    options.deadlines.call = Duration::from_millis(1500);
    let dial = TcpDial::new(options.endpoint.clone(), &Trust::Insecure).expect("no TLS");
    let ours = connect_over(options, Arc::new(dial)).await.expect("connected");
    ours.client.call(&CurrentTime { this: service_instance() }).await.expect("slow, but in time");
    let vm = ours.inventory.complete().await.expect("it loads").vms().next().expect("one VM").id.clone();
    let error = ours.machines.rename(&vm, "late", PATIENCE).await.expect_err("too slow");
    let rookery_vim_client::OperationError::Call(call) = &error else { panic!("{error:?}") };
    assert!(call.may_have_happened() && call.is_transient(), "{}", chain(&error));
    // It did happen, and it happened once: a changing call is never repeated on our own.
    ours.inventory.wait_for(&vm, PATIENCE, |vm| (vm.name == "late").then_some(())).await.expect("renamed");
    ours.close().await;
}

#[tokio::test]
async fn a_wrong_password_is_one_clear_error_and_one_attempt() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let mut options = options(proxy.address());
    options.password = "wrong".into();
    let dial = TcpDial::new(options.endpoint.clone(), &Trust::Insecure).expect("no TLS");
    let error = Client::connect(options, Arc::new(dial)).await.expect_err("refused");
    assert!(matches!(error, CallError::Credentials { .. }) && error.is_permission() && !error.is_transient());
    assert!(chain(&error).contains("refused the user name or password of user"), "{}", chain(&error));
    let logins = proxy.exchanges().iter().filter(|e| e.method == "Login").count();
    assert_eq!(logins, 1, "vCenter locks accounts");
    assert_eq!(Govc::new(&vcsim).sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn an_unreachable_host_is_one_clear_error() {
    // A port that was free a moment ago.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let socket = listener.local_addr().expect("bound");
    drop(listener);
    let options = options(&format!("https://{socket}"));
    let dial = TcpDial::new(options.endpoint.clone(), &Trust::Insecure).expect("TLS can be set up");
    let error = Client::connect(options, Arc::new(dial)).await.expect_err("nobody listens");
    assert!(
        matches!(error, CallError::Unreachable { .. }) && error.is_transient() && !error.may_have_happened()
    );
    let text = chain(&error);
    assert!(text.contains("cannot be reached") && text.contains("does not accept connections"), "{text}");

    let options = rookery_kit::options("https://no-such-host.invalid");
    let dial = TcpDial::new(options.endpoint.clone(), &Trust::Insecure).expect("TLS can be set up");
    let error = Client::connect(options, Arc::new(dial)).await.expect_err("no such name");
    assert!(chain(&error).contains("cannot be resolved"), "{}", chain(&error));
}

#[tokio::test]
async fn garbage_instead_of_an_answer_is_an_error() {
    let answers: [&[u8]; 8] = [
        b"",
        b"\x00\xff\x13garbage\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 28\r\n\r\n<html><body>hi</body></html>",
        b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 7\r\n\r\nno vpxd",
        b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nzzzz",
    ];
    for answer in answers {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let socket = listener.local_addr().expect("bound");
        let supervisor = Supervisor::new();
        supervisor.spawn("garbage", async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 4096];
                // Whatever was asked, and however much of it has come: the answer is the same.
                let _asked = stream.read(&mut request).await;
                stream.write_all(answer).await.ok();
            }
        });
        let options = options(&format!("http://{socket}"));
        let dial = TcpDial::new(options.endpoint.clone(), &Trust::Insecure).expect("no TLS");
        let error = Client::connect(options, Arc::new(dial)).await.expect_err("garbage");
        println!("{:?}: {}", String::from_utf8_lossy(answer), chain(&error));
        assert!(!matches!(error, CallError::Credentials { .. } | CallError::Fault { .. }), "{error:?}");
        supervisor.shutdown(Duration::ZERO).await.ok();
    }
}
