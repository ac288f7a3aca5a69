//! Who comes first when not all can.

use super::spawn::in_turn;
use super::*;

fn of(job: JobId, project: &str, queued: &str) -> Demand {
    Demand { queued: Some(at(queued)), project: project.to_owned(), ..wants(job, v2_model("debian")) }
}

fn turns(demands: &[Demand]) -> Vec<JobId> {
    in_turn(demands).into_iter().map(|demand| demand.job.clone()).collect()
}

#[test]
fn projects_with_few_v1_jobs_go_first_then_the_oldest() {
    let demands = [
        of(v1_job(1), "many", "10:00:00"),
        of(v1_job(2), "many", "09:00:00"),
        of(v1_job(3), "few", "11:00:00"),
    ];
    assert_eq!(turns(&demands), [v1_job(3), v1_job(2), v1_job(1)]);
}

#[test]
fn v2_jobs_go_by_age_alone() {
    let demands = [
        of(v2_job(1), "many", "10:00:00"),
        of(v2_job(2), "many", "09:00:00"),
        of(v2_job(3), "few", "11:00:00"),
    ];
    assert_eq!(turns(&demands), [v2_job(2), v2_job(1), v2_job(3)]);
}

#[test]
fn neither_protocol_keeps_the_other_waiting() {
    let demands: Vec<_> = (1..=3)
        .map(|number| of(v1_job(number.into()), "p", "10:00:00"))
        .chain([of(v2_job(1), "p", "11:00:00")])
        .collect();
    assert_eq!(turns(&demands), [v2_job(1), v1_job(1), v1_job(2), v1_job(3)]);
}

/// Slots that come free one by one, with ten jobs and ten models waiting all the time: `m` is a model.
fn taken(mut world: World, slots: usize) -> String {
    let mut taken = String::new();
    for _ in 0..slots {
        let plan = world.plan();
        assert_eq!(plan.spawns().len() + plan.registrations().len(), 1);
        taken.push(if plan.registrations().is_empty() { 'j' } else { 'm' });
        assert!(plan.models_wait, "the others are looked at again with the next slot");
        world.carried.turns = plan.carried.turns;
    }
    taken
}

fn backlog(models: usize) -> World {
    world([]).with(|world| {
        world.demands = (1..=10).map(demand).collect();
        let needed = |number| V1Model { need_registration: true, ..model(&format!("model-{number}")) };
        world.models = Some((0..models).map(needed).collect());
        (world.limits.workers, world.limits.starting) = (Some(1), 1);
    })
}

// A backlog of jobs took every slot, and a model that was changed was never registered again.
#[test]
fn every_fourth_slot_goes_to_a_model_while_jobs_and_models_wait() {
    assert_eq!(taken(backlog(10), 12), "jjjmjjjmjjjm");
}

#[test]
fn in_one_pass_they_take_turns_too() {
    let world = backlog(10).with(|world| {
        (world.limits.workers, world.limits.starting) = (Some(8), 8);
        world.registering = Some(5);
    });
    let plan = world.plan();
    assert_eq!((plan.spawns().len(), plan.registrations().len(), plan.carried.turns), (6, 2, 0));
}

#[test]
fn without_a_model_that_can_be_registered_jobs_take_every_slot() {
    let serves = |world: World| world.plan().spawns().len();
    assert_eq!(serves(backlog(0).with(|world| world.carried.turns = 3)), 1);
    assert_eq!(serves(backlog(10).with(|world| (world.carried.turns, world.registering) = (3, None))), 1);
    assert_eq!(serves(backlog(10).with(|world| (world.carried.turns, world.registering) = (3, Some(0)))), 1);
    assert_eq!(serves(backlog(10).with(|world| (world.carried.turns, world.due) = (3, false))), 1);
}

#[test]
fn one_protocol_without_jobs_is_no_end() {
    assert_eq!(turns(&[]), []);
    assert_eq!(turns(&[demand(2), demand(1)]), [v2_job(1), v2_job(2)]);
}
