use proptest::prelude::*;

use super::*;

fn v1(number: i64) -> JobId {
    number.to_string().parse().expect("a job")
}

fn v2(number: u8) -> JobId {
    format!("6ec08f8c-2b9f-4e0a-81ab-5e98001240{number:02x}").parse().expect("a job")
}

fn known(queue: &Queue<&'static str>) -> Vec<String> {
    queue.known().map(|(job, what)| format!("{job} {what}")).collect()
}

#[test]
fn a_pushed_job_is_read_once_and_then_known() {
    let mut queue = Queue::default();
    queue.pushed(v1(1));
    queue.pushed(v1(1));
    assert_eq!(queue.to_read(9), [v1(1)]);
    assert_eq!(queue.to_read(9), []);
    queue.read(&v1(1), "build");
    assert_eq!(known(&queue), ["1 build"]);
}

/// Upstream forgets to forget: a single failed read there makes the hatchery ignore the job until it restarts.
#[test]
fn a_job_that_could_not_be_read_is_read_again() {
    let mut queue: Queue<&str> = Queue::default();
    queue.pushed(v1(1));
    queue.to_read(9);
    queue.gone(&v1(1));
    let begun = queue.moment();
    queue.listed(Protocol::V1, begun, vec![(v1(1), None)]);
    assert_eq!(queue.to_read(9), [v1(1)]);
}

#[test]
fn a_job_that_a_later_list_lacks_is_gone_and_one_that_came_meanwhile_stays() {
    let mut queue: Queue<&str> = Queue::default();
    queue.pushed(v1(1));
    queue.pushed(v2(1));
    let begun = queue.moment();
    queue.pushed(v1(2));
    queue.listed(Protocol::V1, begun, vec![(v1(3), Some("listed"))]);
    assert_eq!(queue.to_read(9), [v1(2), v2(1)]);
    assert_eq!(known(&queue), ["3 listed"]);
}

#[test]
fn an_answer_that_comes_after_the_job_went_is_of_no_use() {
    let mut queue = Queue::default();
    queue.pushed(v1(1));
    queue.to_read(9);
    queue.gone(&v1(1));
    queue.read(&v1(1), "build");
    assert!(queue.is_empty());
}

proptest! {
    /// Whatever happened before: a list that shows a job makes it readable or known.
    #[test]
    fn a_job_that_is_listed_is_never_ignored(steps in proptest::collection::vec(0..5_u8, 0..20)) {
        let mut queue: Queue<&str> = Queue::default();
        for step in steps {
            match step {
                0 => queue.pushed(v1(1)),
                1 => drop(queue.to_read(1)),
                2 | 3 => queue.gone(&v1(1)),
                _ => { let begun = queue.moment(); queue.listed(Protocol::V1, begun, vec![]); }
            }
        }
        queue.gone(&v1(1)); // Whoever was reading it has ended by now, one way or the other.
        let begun = queue.moment();
        queue.listed(Protocol::V1, begun, vec![(v1(1), None)]);
        prop_assert_eq!(queue.to_read(1), vec![v1(1)]);
    }
}
