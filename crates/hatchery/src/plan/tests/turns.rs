//! Who comes first when not all can.

use super::spawn::in_turn;
use super::*;

fn of(job: JobId, project: &str, queued: &str) -> Demand {
    Demand { queued: Some(at(queued)), project: project.to_owned(), ..wants(job, runs("debian")) }
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

#[test]
fn one_protocol_without_jobs_is_no_end() {
    assert_eq!(turns(&[]), []);
    assert_eq!(turns(&[demand(2), demand(1)]), [v2_job(1), v2_job(2)]);
}
