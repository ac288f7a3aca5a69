//! What the user of vCenter may not do, and lists that say nothing.

use std::time::Duration;

use rookery_hatchery::run::{Policy, StartError};
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::{Vcsim, read_page};
use rookery_vim_sim::{Access, Action, Control, FaultSpec, Permission, Role, Rule, Settings, User};
use tokio::time::{Instant, sleep};

use super::{Hatchery, all_is_well, runs_a_job, sessions_of, stage};
use crate::hatchery::home::Home;
use crate::hatchery::witness::{control, rule};

/// What a hatchery needs, but for the sessions.
const PRIVILEGES: [&str; 33] = [
    "System.View",
    "System.Read",
    "VirtualMachine.Inventory.CreateFromExisting",
    "VirtualMachine.Inventory.Delete",
    "VirtualMachine.Config.AddNewDisk",
    "VirtualMachine.Config.EditDevice",
    "VirtualMachine.Config.CPUCount",
    "VirtualMachine.Config.Memory",
    "VirtualMachine.Config.Annotation",
    "VirtualMachine.Config.AdvancedConfig",
    "VirtualMachine.Config.Settings",
    "VirtualMachine.Config.Rename",
    "VirtualMachine.Interact.PowerOn",
    "VirtualMachine.Interact.PowerOff",
    "VirtualMachine.Interact.Reset",
    "VirtualMachine.Interact.Suspend",
    "VirtualMachine.GuestOperations.Query",
    "VirtualMachine.GuestOperations.Modify",
    "VirtualMachine.GuestOperations.Execute",
    "VirtualMachine.Inventory.Create",
    "VirtualMachine.Config.AddRemoveDevice",
    "VirtualMachine.Interact.SetCDMedia",
    "VirtualMachine.Interact.DeviceConnection",
    "Resource.AssignVMToPool",
    "Datastore.AllocateSpace",
    "Datastore.Browse",
    "Datastore.FileManagement",
    "Network.Assign",
    "VirtualMachine.Provisioning.DeployTemplate",
    "VirtualMachine.Provisioning.Customize",
    "VirtualMachine.Provisioning.Clone",
    "VirtualMachine.State.CreateSnapshot",
    "VirtualMachine.Provisioning.MarkAsTemplate",
];

/// A vCenter whose user may do everything but see the sessions of others.
fn without_sessions() -> LabOptions {
    let access = Access {
        users: vec![User { name: Vcsim::USER.to_owned(), password: Vcsim::PASSWORD.to_owned() }],
        roles: vec![Role {
            name: "hatchery".to_owned(),
            privileges: PRIVILEGES.iter().map(|privilege| (*privilege).to_owned()).collect(),
        }],
        permissions: vec![Permission {
            principal: Vcsim::USER.to_owned(),
            role: "hatchery".to_owned(),
            entity: "/".to_owned(),
            propagate: true,
        }],
    };
    let options = LabOptions::default();
    LabOptions { vcenter: Settings { login: None, access, ..options.vcenter }, ..options }
}

#[tokio::test(start_paused = true)]
async fn without_the_list_a_hatchery_runs_and_none_stands_by() {
    let stage = Stage::set(without_sessions());
    let first = Hatchery::start(&stage, 1, Policy::Refuse).leads().await;
    runs_a_job(&stage).await;
    let refused = Hatchery::start(&stage, 2, Policy::Standby).start.acts().await.expect_err("it cannot");
    let StartError::Instance(refused) = refused else { panic!("{refused:?}") };
    let told = rookery_daemon::telemetry::chain(&refused);
    assert!(told.contains("cannot stand by") && told.contains("Sessions.TerminateSession"), "{told}");
    first.scene.stop().await;
    all_is_well(stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_privilege_is_shown_by_the_metrics_and_by_the_checks() {
    for (options, elected) in [(LabOptions::default(), 1), (without_sessions(), 0)] {
        let lab = Lab::start(options).await;
        let home = Home::with(&lab.settings_text());
        let checked = home.program(&["hatchery", "check"]).run().await;
        let missing = "Sessions.TerminateSession on /: missing; only needed for one hatchery of a name";
        assert_eq!(checked.stdout.contains(missing), elected == 0, "{}", checked.stdout);
        let scene = lab.hatch().await;
        let (_, _, page) = read_page(&format!("{}/mon/metrics", scene.url)).await.expect("a page");
        let told = page.lines().find(|line| line.starts_with("rookery_hatchery_elected"));
        assert!(told.is_some_and(|told| told.ends_with(&format!(" {elected}"))), "{told:?}");
        scene.stop().await;
        lab.close().await;
    }
}

/// Refuses a method for want of a privilege.
fn refusing(method: &str, target: &str) -> Rule {
    let (class, message) = ("NoPermission".to_owned(), "Permission to perform this operation was denied.");
    let fault = FaultSpec { class, message: message.to_owned(), members: Vec::new() };
    Rule { method: method.to_owned(), target: target.to_owned(), ..Rule::new(Action::Fault(fault)) }
}

// The first list that was odd, as of a vCenter that is starting, turned the election off for good.
#[tokio::test(start_paused = true)]
async fn a_list_that_is_refused_once_is_asked_for_again() {
    let stage = stage();
    let once = Rule { count: Some(1), ..refusing("RetrievePropertiesEx", "SessionManager") };
    rule(&stage.lab, once).await;
    let first = Hatchery::start(&stage, 1, Policy::Standby).leads().await;
    let metrics = first.scene.hatchery.published.metrics_text();
    assert!(metrics.lines().any(|line| line == "rookery_hatchery_elected 1"), "{metrics}");
    runs_a_job(&stage).await;
    first.scene.stop().await;
    all_is_well(stage).await;
}

// Whoever could not end the session of a silent leader said that the sessions could not be listed, and ended.
#[tokio::test(start_paused = true)]
async fn who_may_not_end_the_session_of_a_silent_leader_goes_on_standing_by() {
    let stage = stage();
    let first = Hatchery::start(&stage, 1, Policy::Refuse).leads().await;
    let mut second = Hatchery::start(&stage, 2, Policy::Standby);
    sleep(Duration::from_mins(5)).await;
    rule(&stage.lab, refusing("TerminateSession", "*")).await;
    first.scene.crash().await;
    sleep(Duration::from_mins(10)).await;
    assert!(second.start.waits(), "it leads, or has ended");
    assert_eq!(sessions_of(&stage.lab, 1).await, 1);
    control(&stage.lab, Control::ClearRules).await;
    let may = Instant::now();
    let second = second.leads().await;
    assert!(may.elapsed() <= Duration::from_secs(45), "{:?}", may.elapsed());
    assert_eq!(sessions_of(&stage.lab, 1).await, 0);
    runs_a_job(&stage).await;
    second.scene.stop().await;
    all_is_well(stage).await;
}
