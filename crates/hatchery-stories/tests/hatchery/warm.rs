//! Machines that are made before anybody asks for them.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use rookery_cds_sim::Status;
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::{Vm, Wire, eventually};
use rookery_vim_sim::{Action, Control, FaultSpec, Remains, Rule, Settings, Span};
use serde_json::Value;

use super::witness::{
    Seen, clones_run, control, machines, nonce, pool, pooled, probe, ran, reload, reported, rule, slow_down,
    taking, warm,
};

/// A lab with these pools, whose vCenter takes so long for a clone.
fn lab_with(pools: &str, size: u32, clone: &str) -> Lab {
    let options = LabOptions::default();
    let vcenter = Settings { durations: taking(clone), ..options.vcenter.clone() };
    let settings = format!("workerProvisioningPoolSize = {size}\n");
    Lab::paused(LabOptions { vcenter, settings, tables: pools.to_owned(), ..options })
}

fn of(machines: &[Seen]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for machine in machines {
        let model = machine.mark("vmware_model_path").as_str().unwrap_or_default().to_owned();
        *counts.entry(model).or_default() += 1;
    }
    counts
}

#[tokio::test(start_paused = true)]
async fn deficits_are_filled_in_turns_and_no_more_at_once_than_the_pool_size() {
    let lab = lab_with(&(pool("debian12", 3) + &pool("rocky9", 3)), 2, "150ms");
    let scene = lab.hatch().await;
    let mut made = warm(&lab, &scene, 6).await;
    // References count up in the order of the clones.
    made.sort_by_key(|machine| machine.id.trim_start_matches("vm-").parse::<u32>().expect("a number"));
    for first in 1..=made.len() {
        let counts = of(&made[..first]);
        let [debian, rocky] = ["debian12", "rocky9"].map(|model| counts.get(model).copied().unwrap_or(0));
        assert!(debian.abs_diff(rocky) <= 1, "{counts:?} of the first {first}");
    }
    // One that was taken for half-made while the inventory lagged behind was once deleted and made again.
    let seen = control(&lab, Control::Inspect).await;
    assert_eq!(seen["most-tasks-at-once"]["CloneVM_Task"], 2, "{seen}");
    assert_eq!(seen["requests"]["CloneVM_Task"]["answered"], 6, "{seen}");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_is_taken_is_replaced_while_its_job_runs() {
    let lab = lab_with(&pool("debian12", 1), 1, "0s");
    let scene = lab.hatch().await;
    let before = warm(&lab, &scene, 1).await;
    let nonce = nonce();
    let job = lab.v2_job(Lab::DEBIAN, &format!("{}\nsleep 4", probe(&nonce))).await;
    eventually("another one is warm", async || {
        let now = pooled(&lab).await;
        now.len() == 1 && now[0].id != before[0].id
    })
    .await;
    assert!(!lab.job(&job).await.status.is_final());
    let (_, machine) = ran(&lab, &job, &nonce).await;
    assert_eq!(machine.id, before[0].id);
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_other_settings_do_not_want_any_more_goes() {
    let pools = pool("debian12", 3) + &pool("rocky9", 1);
    let lab = lab_with(&pools, 4, "0s");
    let scene = lab.hatch().await;
    let before = machines(&lab).await;
    let foreign: Vec<String> =
        before.into_iter().filter(|m| m.mark("hatchery_name").is_null()).map(|m| m.id).collect();
    assert_eq!(
        of(&warm(&lab, &scene, 4).await),
        BTreeMap::from([("debian12".into(), 3), ("rocky9".into(), 1)])
    );
    reload(&lab, &scene, &pools, &pool("debian12", 1)).await;
    eventually("one is left", async || of(&pooled(&lab).await) == BTreeMap::from([("debian12".into(), 1)]))
        .await;
    reload(&lab, &scene, &pools, &pool("debian12", 0)).await;
    eventually("none is left", async || pooled(&lab).await.is_empty()).await;
    let left: Vec<String> = machines(&lab).await.into_iter().map(|machine| machine.id).collect();
    assert_eq!(left, foreign, "nothing else was touched");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_template_that_was_replaced_replaces_its_machines_one_by_one() {
    let lab = lab_with(&pool("debian12", 3), 3, "300ms");
    let scene = lab.hatch().await;
    let old: Vec<String> = warm(&lab, &scene, 3).await.into_iter().map(|machine| machine.id).collect();
    let govc = lab.govc();
    govc.run(&["vm.clone", "-vm", "debian12", "-on=false", "-template", "-ds", "fast", "next"]).await;
    govc.run(&["object.rename", "/DC0/vm/debian12", "former"]).await;
    govc.run(&["object.rename", "/DC0/vm/next", "debian12"]).await;
    let fewest = Cell::new(old.len());
    eventually("all are of the new template", async || {
        let now = pooled(&lab).await;
        fewest.set(fewest.get().min(now.iter().filter(|machine| !machine.is_on).count()));
        now.len() == 3 && now.iter().all(|machine| !old.contains(&machine.id))
    })
    .await;
    assert!(fewest.get() >= 2, "{} of 3: one is replaced at a time", fewest.get());
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_was_half_made_in_a_crash_is_finished() {
    let lab = lab_with(&pool("debian12", 1), 1, "0s");
    slow_down(&lab, "0s", "30s").await;
    let scene = lab.hatch().await;
    eventually("one boots", async || pooled(&lab).await.iter().any(|machine| machine.is_on)).await;
    let half = pooled(&lab).await;
    scene.crash().await;
    control(&lab, Control::Advance(jiff::SignedDuration::from_secs(30))).await;
    let scene = lab.hatch().await;
    let made = warm(&lab, &scene, 1).await;
    assert_eq!(
        made.iter().map(|m| &m.id).collect::<Vec<_>>(),
        half.iter().map(|m| &m.id).collect::<Vec<_>>()
    );
    assert!(!made[0].is_on, "{made:?}");
    let nonce = nonce();
    let job = lab.v2_job(Lab::DEBIAN, &probe(&nonce)).await;
    assert_eq!(ran(&lab, &job, &nonce).await.1.id, half[0].id);
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_clone_that_runs_on_after_a_crash_is_counted_in_the_end() {
    let tables = pool("debian12", 1);
    let stage = Stage::set(LabOptions { tables, ..LabOptions::default() });
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    eventually("a clone runs", async || clones_run(&stage.lab).await == 1).await;
    scene.crash().await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    stage.until("it has ended", async || clones_run(&stage.lab).await == 0).await;
    reported(&scene, "one is warm", |report| report.counts.warm == 1 && report.running.is_empty()).await;
    tokio::time::sleep(Duration::from_mins(10)).await;
    let made = stage.machines_of(Lab::NAME).await;
    assert!(matches!(&*made, [one] if one.name.starts_with("provision-") && !one.on), "{made:?}");
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_template_that_fails_rests_while_others_go_on() {
    // One, so that a second clone of it can only be a second attempt.
    let lab = lab_with(&(pool("debian12", 1) + &pool("rocky9", 2)), 2, "0s");
    let fault = FaultSpec::new("SystemError", "the template is broken");
    let action = Action::TaskError { fault, after: Span::ZERO, remains: Remains::Nothing };
    let broken =
        Rule { method: "CloneVM_Task".to_owned(), target: "debian12".to_owned(), ..Rule::new(action) };
    rule(&lab, broken).await;
    let scene = lab.hatch().await;
    let made = warm(&lab, &scene, 2).await;
    assert_eq!(of(&made), BTreeMap::from([("rocky9".into(), 2)]));
    reported(&scene, "it is told that debian12 rests", |report| {
        report
            .not_made
            .iter()
            .any(|(model, why)| model == "debian12" && why.to_string().contains("1 warm machine"))
    })
    .await;
    let rules: Value = control(&lab, Control::Rules).await;
    assert_eq!(rules[0]["hits"], 1, "it is not tried again and again: {rules}");
    let nonce = nonce();
    let job = lab.v2_job(Lab::ROCKY, &probe(&nonce)).await;
    ran(&lab, &job, &nonce).await;
    assert_eq!(lab.job(&job).await.status, Status::Success);
    scene.stop().await;
    lab.close().await;
}

// Ages were counted from the making of the machine: one that had waited for long was deleted under its worker.
#[tokio::test(start_paused = true)]
async fn a_machine_that_has_waited_for_long_is_not_too_old_for_its_job() {
    let tables = pool("debian12", 1);
    let stage = Stage::set(LabOptions { tables, ..LabOptions::default() });
    let often = [("killAwolServersInterval = 60", "killAwolServersInterval = 1\nworkerTTL = 20")];
    let scene = stage.hatch_with(&Wire::default(), &often).await;
    let ready = async || {
        let own = stage.machines_of(Lab::NAME).await;
        own.first().filter(|vm| own.len() == 1 && !vm.on && vm.mark()["provisioning"] == true).cloned()
    };
    stage.until("a machine is warm", async || ready().await.is_some()).await;
    let before = ready().await.expect("a warm one");
    tokio::time::sleep(Duration::from_mins(25)).await;
    let job = stage.lab.v2_job(Lab::DEBIAN, "true").await;
    stage.all_jobs_end().await;
    let ended = stage.lab.job(&job).await;
    assert_eq!((ended.status, ended.workers.len()), (Status::Success, 1), "{ended:#?}");
    let claimed = stage.vms().await.into_values().find(|vm| vm.mark()["job_id"] == job.as_str());
    let claimed = claimed.expect("its machine is there until its worker has ended");
    assert_eq!(claimed.mark()["created"], before.mark()["created"], "it is the one that has waited");
    assert_eq!(stage.findings(), []);
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_fails_falls_back_to_a_clone_and_the_machine_stays_warm() {
    let tables = pool("debian12", 1);
    let stage = Stage::set(LabOptions { tables, ..LabOptions::default() });
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let is_warm = |vm: &Vm| !vm.on && vm.mark()["provisioning"] == true && vm.mark().get("job_id").is_none();
    let warm = async || stage.machines_of(Lab::NAME).await.into_iter().filter(is_warm).collect::<Vec<_>>();
    stage.until("a machine is warm", async || warm().await.len() == 1).await;
    let before = warm().await;
    let refused = Action::Fault(FaultSpec::new("SystemError", "a rule of the story"));
    let (method, target) = ("Rename_Task".to_owned(), "provision-*".to_owned());
    let rule = Rule { method, target, ..Rule::new(refused) };
    stage.lab.world.ask(Control::AddRule(rule)).await;
    let job = stage.lab.v2_job(Lab::DEBIAN, "true").await;
    stage.all_jobs_end().await;
    let ended = stage.lab.job(&job).await;
    assert_eq!((ended.status, ended.attempts.len(), ended.releases), (Status::Success, 1, 0), "{ended:#?}");
    stage
        .until("only the warm machine is left", async || stage.machines_of(Lab::NAME).await.len() == 1)
        .await;
    stage.until("it is warm again", async || warm().await.len() == 1).await;
    let after = warm().await;
    assert_eq!((&after[0].name, &after[0].notes), (&before[0].name, &before[0].notes));
    scene.stop().await;
    stage.lab.close().await;
}
