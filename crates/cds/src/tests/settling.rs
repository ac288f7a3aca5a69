//! Booking, taking, releasing and failing jobs while answers get lost. The world below carries requests out as CDS
//! does; what is asserted is what has become of the job.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::kit::{Kit, ReceivedRequest, Reply, answer, empty, refusal};
use crate::{CdsError, JobStatus, V1JobId, V2JobId};

const UUID: &str = "6ec08f8c-2b9f-4e0a-81ab-5e980012400a";
const US: &str = "rig-vsphere";
const OTHER: &str = "other-hatchery";

/// What happens to a request that changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Fine,
    /// Carried out, and the answer is lost.
    AnswerLost,
    /// Never arrives.
    RequestLost,
    /// Carried out, and a proxy stands in the way of the answer.
    AnswerReplaced,
    /// Arrives only after the next look at the job.
    Late,
    /// Never arrives, and another hatchery is faster.
    Overtaken,
}

#[derive(Debug)]
struct World {
    fates: VecDeque<Fate>,
    late: Option<ReceivedRequest>,
    /// Answers reads with a page of a proxy.
    blind: bool,
    holder: Option<&'static str>,
    status: &'static str,
    /// How often our requests gave us the job, took it from us, took it from another.
    gained: usize,
    released: usize,
    stolen: usize,
}

impl World {
    fn new(fates: &[Fate]) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            fates: fates.iter().copied().collect(),
            late: None,
            blind: false,
            holder: None,
            status: "Waiting",
            gained: 0,
            released: 0,
            stolen: 0,
        }))
    }

    fn answer(&mut self, asked: &ReceivedRequest) -> Option<Reply> {
        if asked.uri.contains("signin") {
            return None;
        }
        if asked.method == "GET" {
            let seen = if self.blind { Reply::Answer(504, "<html>".into()) } else { self.show(asked) };
            if let Some(late) = self.late.take() {
                self.carry_out(&late);
            }
            return Some(seen);
        }
        Some(match self.fates.pop_front().unwrap_or(Fate::Fine) {
            Fate::Fine => self.carry_out(asked),
            Fate::AnswerLost => {
                self.carry_out(asked);
                Reply::Lost
            }
            Fate::RequestLost => Reply::Lost,
            Fate::AnswerReplaced => {
                self.carry_out(asked);
                Reply::Answer(502, "<html>".into())
            }
            Fate::Late => {
                self.late = Some(asked.clone());
                Reply::Lost
            }
            Fate::Overtaken => {
                self.holder = self.holder.or(Some(OTHER));
                if asked.uri.contains("/v2/") && self.status == "Waiting" {
                    self.status = "Scheduling";
                }
                Reply::Lost
            }
        })
    }

    fn show(&self, asked: &ReceivedRequest) -> Reply {
        let holder = self.holder.unwrap_or_default();
        if asked.uri.contains("/v2/") {
            return answer(200, &json!({"runjob": self.run_job(), "model": {"name": "", "spec": null}}));
        }
        if self.status != "Waiting" {
            return refusal(403, 11);
        }
        let booked_by = match holder {
            "" => json!({}),
            US => json!({"id": 7, "name": US}),
            other => json!({"id": 9, "name": other}),
        };
        answer(200, &json!({"id": 4, "status": self.status, "bookedby": booked_by}))
    }

    fn run_job(&self) -> Value {
        json!({"id": UUID, "status": self.status, "hatchery_name": self.holder.unwrap_or_default()})
    }

    fn carry_out(&mut self, asked: &ReceivedRequest) -> Reply {
        let v2 = asked.uri.contains("/v2/");
        let route = asked.uri.rsplit('/').next().unwrap_or_default();
        match (asked.method.as_str(), route) {
            ("POST", "book") if self.holder.is_some() => refusal(403, 89),
            ("PUT", "book") if self.holder.is_some() => refusal(403, 115),
            ("PUT", "book") => {
                self.holder = Some(US);
                self.gained += 1;
                empty()
            }
            ("POST", "take") if self.status != "Waiting" => refusal(404, 38),
            ("POST", "book" | "take") => {
                self.holder = Some(US);
                self.gained += 1;
                if v2 {
                    self.status = "Scheduling";
                }
                answer(200, &self.run_job())
            }
            ("DELETE", "book") if self.holder.is_none() => refusal(400, 135),
            ("DELETE", "take") if self.holder != Some(US) => refusal(400, 149),
            ("DELETE", _) => {
                self.stolen += usize::from(self.holder == Some(OTHER));
                self.released += usize::from(self.holder == Some(US));
                self.status = "Waiting";
                // A V2 job keeps the name of its last hatchery.
                self.holder = self.holder.filter(|_| v2);
                answer(200, &json!(null))
            }
            ("POST", "result") if self.status == "Fail" => {
                refusal(if v2 { 400 } else { 403 }, if v2 { 74 } else { 11 })
            }
            ("POST", "result") => {
                self.status = "Fail";
                empty()
            }
            other => panic!("{other:?}"),
        }
    }
}

fn kit(world: &Arc<Mutex<World>>) -> Kit {
    let world = Arc::clone(world);
    Kit::new(move |asked| world.lock().unwrap().answer(asked))
}

fn seen<T>(world: &Mutex<World>, look: impl Fn(&World) -> T) -> T {
    look(&world.lock().unwrap())
}

/// The job is a V2 job that we have.
fn taken(world: &Mutex<World>) {
    let mut world = world.lock().unwrap();
    world.holder = Some(US);
    world.status = "Scheduling";
}

fn v1_job() -> V1JobId {
    V1JobId::try_from(4).unwrap()
}

fn v2_job() -> V2JobId {
    UUID.to_owned().try_into().unwrap()
}

async fn book(fates: &[Fate]) -> (Result<(), CdsError>, Arc<Mutex<World>>, Vec<String>) {
    let world = World::new(fates);
    let kit = kit(&world);
    let outcome = kit.v1().book(v1_job(), Duration::from_secs(600)).await;
    let lines = kit.server.lines().into_iter().skip(1).collect();
    (outcome, world, lines)
}

async fn take(fates: &[Fate]) -> (Result<(), CdsError>, Arc<Mutex<World>>) {
    let world = World::new(fates);
    let outcome = kit(&world).v2().take(&v2_job()).await;
    let outcome =
        outcome.map(|job| assert_eq!((job.status, job.hatchery_name.as_str()), (JobStatus::Scheduling, US)));
    (outcome, world)
}

#[tokio::test(start_paused = true)]
async fn a_booking_or_take_whose_answer_is_lost_is_found_by_reading() {
    for fate in [Fate::AnswerLost, Fate::AnswerReplaced] {
        let (outcome, world, lines) = book(&[fate]).await;
        outcome.unwrap();
        assert_eq!(world.lock().unwrap().gained, 1);
        assert_eq!(lines, ["POST /api/queue/workflows/4/book", "GET /api/queue/workflows/4/infos"]);
        let (outcome, world) = take(&[fate]).await;
        outcome.unwrap();
        assert_eq!(world.lock().unwrap().gained, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_never_arrived_is_sent_again() {
    let (outcome, world, _) = book(&[Fate::RequestLost, Fate::RequestLost]).await;
    outcome.unwrap();
    assert_eq!(world.lock().unwrap().gained, 1);
    let (outcome, world) = take(&[Fate::RequestLost, Fate::RequestLost]).await;
    outcome.unwrap();
    assert_eq!(world.lock().unwrap().gained, 1);
    let (outcome, _, _) = book(&[Fate::RequestLost; 3]).await;
    assert!(outcome.unwrap_err().may_have_happened(), "it may still be under way");
}

/// CDS frees it after six minutes only, in which its jobs would wait.
#[tokio::test(start_paused = true)]
async fn a_model_whose_booking_may_be_ours_is_taken_for_ours() {
    use Fate::{AnswerLost, AnswerReplaced, Late, RequestLost};

    for fates in [&[AnswerLost][..], &[AnswerReplaced], &[RequestLost], &[Late], &[AnswerLost, RequestLost]] {
        let world = World::new(fates);
        kit(&world).v1().book_model("shared.infra", "debian").await.unwrap();
        assert_eq!(seen(&world, |world| (world.holder, world.gained)), (Some(US), 1), "{fates:?}");
    }
    let world = World::new(&[]);
    world.lock().unwrap().holder = Some(OTHER);
    let refused = kit(&world).v1().book_model("shared.infra", "debian").await.unwrap_err();
    assert!(refused.is_lost_race(), "{refused:?}");
}

/// The second request is refused because the first one has arrived meanwhile: that is no lost race.
#[tokio::test(start_paused = true)]
async fn a_request_that_arrives_late_is_recognised_as_ours() {
    let (outcome, world, _) = book(&[Fate::Late]).await;
    outcome.unwrap();
    assert_eq!(seen(&world, |world| (world.holder, world.gained)), (Some(US), 1));
    let (outcome, world) = take(&[Fate::Late]).await;
    outcome.unwrap();
    assert_eq!(seen(&world, |world| (world.holder, world.gained)), (Some(US), 1));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_another_hatchery_has_is_a_lost_race() {
    let (outcome, world, _) = book(&[Fate::Overtaken]).await;
    let error = outcome.unwrap_err();
    assert!(error.is_lost_race() && !error.may_have_happened(), "{error:?}");
    assert_eq!(error.to_string(), "job 4 went to other-hatchery");
    assert_eq!(world.lock().unwrap().gained, 0);
    let (outcome, _) = take(&[Fate::Overtaken]).await;
    assert!(outcome.unwrap_err().is_lost_race());
}

#[tokio::test(start_paused = true)]
async fn a_race_lost_at_once_costs_one_request() {
    let world = World::new(&[]);
    world.lock().unwrap().holder = Some(OTHER);
    let kit = kit(&world);
    assert!(kit.v1().book(v1_job(), Duration::ZERO).await.unwrap_err().is_lost_race());
    assert_eq!(kit.server.lines().len(), 2);
    world.lock().unwrap().status = "Scheduling";
    assert!(kit.v2().take(&v2_job()).await.unwrap_err().is_lost_race());
    assert_eq!(kit.server.lines().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn when_the_job_cannot_be_read_nobody_knows() {
    let world = World::new(&[Fate::AnswerLost, Fate::AnswerLost]);
    world.lock().unwrap().blind = true;
    let kit = kit(&world);
    let error = kit.v1().book(v1_job(), Duration::ZERO).await.unwrap_err();
    assert!(error.may_have_happened() && !error.is_lost_race(), "{error:?}");
    let error = kit.v2().take(&v2_job()).await.unwrap_err();
    assert!(error.may_have_happened() && !error.is_lost_race(), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_session_does_not_lose_the_job() {
    let world = World::new(&[]);
    let kit = kit(&world);
    kit.v1().service().await.unwrap();
    kit.v2().region().await.unwrap();
    kit.server.forget_sessions();
    kit.v1().book(v1_job(), Duration::ZERO).await.unwrap();
    world.lock().unwrap().holder = None;
    kit.v2().take(&v2_job()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_forbidden_is_gone() {
    let kit = Kit::new(|asked| (!asked.uri.contains("signin")).then(|| refusal(403, 11)));
    for error in [
        kit.v1().job(v1_job()).await.map(drop).unwrap_err(),
        kit.v1().book(v1_job(), Duration::ZERO).await.unwrap_err(),
    ] {
        assert!(error.is_gone() && !error.is_forbidden() && !error.is_lost_race(), "{error:?}");
    }
    assert!(
        kit.v2().job(&v2_job()).await.unwrap_err().is_forbidden(),
        "V2 has words of its own for a job that is gone"
    );
}

#[tokio::test(start_paused = true)]
async fn a_release_whose_answer_is_lost_never_takes_the_job_from_another() {
    let world = World::new(&[Fate::AnswerLost]);
    world.lock().unwrap().holder = Some(US);
    let overtaking = Arc::clone(&world);
    let kit = Kit::new(move |asked| {
        let mut world = overtaking.lock().unwrap();
        let reply = world.answer(asked);
        if asked.method == "DELETE" {
            world.holder = Some(OTHER);
        }
        reply
    });
    kit.v1().release(v1_job()).await.unwrap();
    let world = world.lock().unwrap();
    assert_eq!((world.released, world.stolen), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_release_counts_once_however_its_answer_is_lost() {
    for fates in
        [vec![Fate::AnswerLost], vec![Fate::AnswerReplaced], vec![Fate::RequestLost, Fate::AnswerLost]]
    {
        let world = World::new(&fates);
        taken(&world);
        kit(&world).v2().release(&v2_job()).await.unwrap();
        assert_eq!(seen(&world, |world| (world.released, world.status)), (1, "Waiting"), "{fates:?}");
        let world = World::new(&fates);
        world.lock().unwrap().holder = Some(US);
        kit(&world).v1().release(v1_job()).await.unwrap();
        assert_eq!(seen(&world, |world| (world.released, world.holder)), (1, None), "{fates:?}");
    }
}

/// The supervisor takes only what can move between threads.
#[tokio::test(start_paused = true)]
async fn a_supervised_task_may_do_all_of_it() {
    let world = World::new(&[Fate::AnswerLost]);
    let kit = kit(&world);
    let cds = kit.cds.clone();
    kit.supervisor.spawn("job", async move {
        let (v1, v2) = (cds.v1().unwrap(), cds.v2().unwrap());
        v1.book(v1_job(), Duration::ZERO).await.unwrap();
        v1.release(v1_job()).await.unwrap();
        v2.take(&v2_job()).await.unwrap();
        v2.release(&v2_job()).await.unwrap();
        v2.take(&v2_job()).await.unwrap();
        v2.fail(&v2_job(), "x").await.unwrap();
    });
    while seen(&world, |world| world.status != "Fail") {
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(kit.supervisor.panics(), 0);
    }
    assert_eq!(seen(&world, |world| (world.gained, world.released)), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_booked_is_released() {
    kit(&World::new(&[])).v1().release(v1_job()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_job_is_failed_however_the_answer_is_lost() {
    for fate in [Fate::Fine, Fate::AnswerLost, Fate::RequestLost, Fate::AnswerReplaced, Fate::Late] {
        let world = World::new(&[fate]);
        let kit = kit(&world);
        kit.v1().fail(v1_job(), "no address").await.unwrap();
        assert_eq!(world.lock().unwrap().status, "Fail", "{fate:?}");
        assert!(kit.v1().fail(v1_job(), "again").await.unwrap_err().is_gone(), "{fate:?}");
        let world = World::new(&[fate]);
        taken(&world);
        self::kit(&world).v2().fail(&v2_job(), "no address").await.unwrap();
        assert_eq!(world.lock().unwrap().status, "Fail", "{fate:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_told_in_the_words_of_each_protocol() {
    let world = World::new(&[]);
    let kit = kit(&world);
    kit.v1().fail(v1_job(), "no address").await.unwrap();
    world.lock().unwrap().status = "Scheduling";
    kit.v2().fail(&v2_job(), "no address").await.unwrap();
    let bodies: Vec<Value> = kit.server.asked().into_iter().map(|asked| asked.body).collect();
    let now = super::kit::NOW;
    assert_eq!(
        bodies[1],
        json!({"id": 4, "buildID": 4, "status": "Fail", "reason": "no address", "remoteTime": now})
    );
    assert_eq!(bodies[3], json!({"status": "Fail", "error": "no address", "time": now}));
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        Just(Fate::Fine),
        Just(Fate::AnswerLost),
        Just(Fate::RequestLost),
        Just(Fate::AnswerReplaced),
        Just(Fate::Late),
        Just(Fate::Overtaken),
    ];
    prop::collection::vec(fate, 0..5)
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_we_are_told_of_a_job_is_true(fates in fates()) {
        for (outcome, world) in [
            run(async { let (outcome, world, _) = book(&fates).await; (outcome, world) }),
            run(take(&fates)),
        ] {
            let world = world.lock().unwrap();
            prop_assert!(world.gained <= 1);
            match outcome {
                Ok(()) => prop_assert_eq!(world.holder, Some(US)),
                Err(error) if error.is_lost_race() => prop_assert_eq!(world.holder, Some(OTHER)),
                Err(error) => prop_assert!(error.may_have_happened(), "{:?}", error),
            }
        }
    }
}
