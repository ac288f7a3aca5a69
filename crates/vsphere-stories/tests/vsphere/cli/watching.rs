//! `rookery vm watch`.

use rookery_kit::{Govc, Program, Running, Vcsim, VcsimOptions, only_on_vcsim, start_rookery};
use serde_json::{Value, json};

use super::{id_of, printed};

/// Starts a watch and waits until it watches: what changes from then on is told.
async fn watch(vcsim: &Vcsim, arguments: &[&str]) -> Running {
    let mut running = Program::against(vcsim, &["vm", "watch"]).and(arguments).start();
    let said = running.remark().await;
    assert!(said.starts_with("watching ") && said.ends_with("; Ctrl-C ends"), "{said}");
    running
}

/// Reads events until one fits.
async fn event(running: &mut Running, fits: impl Fn(&Value) -> bool) -> Value {
    loop {
        let line = running.line().await;
        let event: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if fits(&event) {
            return event;
        }
    }
}

/// Reads events until one tells this change of this VM.
async fn change(running: &mut Running, id: &str, field: &str) -> Value {
    let event = event(running, |event| event["id"] == id && event["changes"][field].is_object()).await;
    assert_eq!(event["event"], "changed");
    event
}

#[tokio::test]
async fn every_change_is_a_line_with_old_and_new_values() {
    if only_on_vcsim() {
        return;
    }
    let vcsim = Vcsim::start(VcsimOptions::tls(3)).await;
    let govc = Govc::new(&vcsim);
    let (first, second) = (id_of(&govc, "DC0_H0_VM0").await, id_of(&govc, "DC0_H0_VM1").await);
    let mut running = watch(&vcsim, &["-o", "json"]).await;

    govc.run(&["vm.power", "-off", "DC0_H0_VM0"]).await;
    let told = change(&mut running, &first, "power").await;
    assert_eq!(told["changes"]["power"], json!({"old": "on", "new": "off"}));
    assert_eq!(told["name"], "DC0_H0_VM0");
    assert!(told["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{told}");

    govc.run(&["object.rename", "/DC0/vm/DC0_H0_VM0", "a%2fb \"雛\""]).await;
    let told = change(&mut running, &first, "name").await;
    assert_eq!(told["changes"]["name"], json!({"old": "DC0_H0_VM0", "new": "a/b \"雛\""}));
    assert_eq!(told["name"], "a/b \"雛\"");

    govc.run(&["vm.change", "-vm", "DC0_H0_VM1", "-e", "SET.guest.ipAddress=192.0.2.7"]).await;
    let told = change(&mut running, &second, "ip").await;
    assert_eq!(told["changes"]["ip"], json!({"old": null, "new": "192.0.2.7"}));

    govc.run(&["vm.clone", "-vm", "DC0_H0_VM2", "-on=false", "newcomer"]).await;
    let id = id_of(&govc, "newcomer").await;
    let told = event(&mut running, |event| event["event"] == "appeared").await;
    assert_eq!((&told["id"], &told["vm"]["id"]), (&json!(id), &json!(id)));
    govc.run(&["vm.destroy", "newcomer"]).await;
    let told = event(&mut running, |event| event["event"] == "gone").await;
    assert_eq!((&told["id"], &told["name"]), (&json!(id), &json!("newcomer")));

    running.signal("TERM");
    assert_eq!(printed(running.end().await), "");
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_pattern_fits_the_name_before_or_after_the_change() {
    if only_on_vcsim() {
        return;
    }
    let vcsim = Vcsim::start(VcsimOptions::plain(2)).await;
    let govc = Govc::new(&vcsim);
    govc.run(&["object.rename", "/DC0/vm/DC0_H0_VM0", "web-0"]).await;
    let mut running = watch(&vcsim, &["web-*"]).await;
    let mut next = async || {
        let line = running.line().await;
        let (time, told) = line.split_once(' ').expect("a time");
        assert_eq!(time.split(':').count(), 3, "{line}");
        told.to_owned()
    };

    // What does not fit comes first each time, so that the next line shows that it was left out.
    govc.run(&["vm.power", "-off", "DC0_H0_VM1"]).await;
    govc.run(&["vm.power", "-off", "web-0"]).await;
    assert_eq!(next().await, "changed  web-0  power on → off");
    govc.run(&["vm.power", "-on", "DC0_H0_VM1"]).await;
    govc.run(&["object.rename", "/DC0/vm/DC0_H0_VM1", "web-1"]).await;
    assert_eq!(next().await, "changed  web-1  name DC0_H0_VM1 → web-1");
    govc.run(&["object.rename", "/DC0/vm/web-0", "db-0"]).await;
    assert_eq!(next().await, "changed  db-0  name web-0 → db-0");
    govc.run(&["vm.power", "-on", "db-0"]).await;
    govc.run(&["vm.power", "-off", "web-1"]).await;
    assert_eq!(next().await, "changed  web-1  power on → off");
}

#[tokio::test]
async fn both_signals_end_a_watch_well() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1)).await;
    let govc = Govc::new(&vcsim);
    for signal in ["INT", "TERM"] {
        let running = watch(&vcsim, &["-o", "yaml"]).await;
        assert_eq!(govc.sessions().await.len(), 1, "the watch has one session");
        running.signal(signal);
        assert_eq!(printed(running.end().await), "", "after {signal}");
        assert_eq!(govc.sessions().await, Vec::<String>::new(), "after {signal}");
    }
}

#[tokio::test]
async fn a_watch_ends_well_when_its_reader_leaves() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let govc = Govc::new(&vcsim);
    let mut running = watch(&vcsim, &["-o", "json"]).await;
    running.hang_up();
    govc.run(&["vm.power", "-off", "DC0_H0_VM0"]).await;
    printed(running.end().await);
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_vcenter_that_falls_silent_is_told_once_and_nothing_is_called_gone() {
    let mut vcsim = Vcsim::start(VcsimOptions::plain(2)).await;
    let mut running = watch(&vcsim, &["-o", "json"]).await;
    vcsim.kill().await;
    let said = running.remark().await;
    assert!(said.contains("vCenter does not answer, what is shown may be old: "), "{said}");
    vcsim.start_again().await;
    let said = running.remark().await;
    assert!(said.contains("vCenter answers again after "), "{said}");

    let govc = Govc::new(&vcsim);
    let id = id_of(&govc, "DC0_H0_VM1").await;
    govc.run(&["vm.power", "-off", "DC0_H0_VM1"]).await;
    // A restarted simulator has made its VMs anew: that is told as a change of the same VMs.
    let told = event(&mut running, |event| {
        assert_eq!(event["event"], "changed", "{event}");
        event["changes"]["power"].is_object()
    });
    assert_eq!(told.await["id"], id.as_str());
    running.signal("INT");
    printed(running.end().await);
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn many_changes_at_once_are_all_told() {
    let vcsim = Vcsim::start(VcsimOptions::plain(50)).await;
    let govc = Govc::new(&vcsim);
    let mut running = start_rookery(&vcsim, &["vm", "watch", "-o", "json"]);
    assert!(running.remark().await.starts_with("watching 50 VMs"));
    let names: Vec<_> = (0..50).map(|number| format!("DC0_H0_VM{number}")).collect();
    let mut command = vec!["vm.power", "-off"];
    command.extend(names.iter().map(String::as_str));
    govc.run(&command).await;
    let mut told = Vec::new();
    while told.len() < names.len() {
        let event = event(&mut running, |event| event["changes"]["power"].is_object()).await;
        assert_eq!(event["changes"]["power"], json!({"old": "on", "new": "off"}));
        told.push(event["name"].as_str().expect("a name").to_owned());
    }
    let mut expected = names;
    told.sort();
    expected.sort();
    assert_eq!(told, expected, "each once");
}
