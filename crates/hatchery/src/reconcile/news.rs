//! Which users of jobs are told why their jobs wait: once for each reason, and at once if waiting alone will not help.
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use rookery_cds::JobId;

use crate::plan::{WaitReason, Waiting};

/// How long a job waits for a reason that may pass before its users are told.
const PATIENCE: SignedDuration = SignedDuration::from_mins(5);
/// How long it is remembered what was told of a job that does not wait now: it may be tried, and wait again.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(1);

/// Since when jobs wait, and what their users know.
#[derive(Debug, Default)]
pub(super) struct News(BTreeMap<JobId, Known>);

#[derive(Debug)]
struct Known {
    /// For which reason it waits, and since when; none: it does not wait.
    waits: Option<(&'static str, Timestamp)>,
    told: BTreeSet<&'static str>,
    heard: Timestamp,
}

impl News {
    /// Those whose users are to be told now. Each counts as told. `named` are the jobs that name a model of ours: any
    /// other one may be waiting for somebody else, and nothing is written on it.
    pub(super) fn due<'w>(
        &mut self,
        waiting: &'w [Waiting],
        named: &BTreeSet<&JobId>,
        now: Timestamp,
    ) -> Vec<&'w Waiting> {
        let mut due = Vec::new();
        // The pool is asked every few seconds while somebody waits for room: meanwhile a job waits for what it waited for.
        let asking = waiting.iter().filter(|one| matches!(one.why, WaitReason::RoomIsAsked));
        let mut seen: BTreeSet<&JobId> = asking.map(|one| &one.job).collect();
        let ours = |job: &JobId| named.contains(job);
        for one in waiting.iter().filter(|one| ours(&one.job) && concerns(&one.why)) {
            let word = one.why.as_str();
            let known = self.0.entry(one.job.clone()).or_insert(Known {
                waits: None,
                told: BTreeSet::new(),
                heard: now,
            });
            let since = known.waits.filter(|(known, _)| *known == word).map_or(now, |(_, since)| since);
            (known.waits, known.heard) = (Some((word, since)), now);
            let patient = now.duration_since(since) < PATIENCE && !one.why.is_permanent();
            if !patient && known.told.insert(word) {
                due.push(one);
            }
            seen.insert(&one.job);
        }
        self.0.retain(|_, known| now.duration_since(known.heard) <= REMEMBERED);
        for (_, known) in self.0.iter_mut().filter(|(job, _)| !seen.contains(job)) {
            known.waits = None;
        }
        due
    }
}

/// What is somebody else's business, or passes in a moment, is no news.
fn concerns(why: &WaitReason) -> bool {
    let of_others = matches!(why, WaitReason::Refused(refusal) if refusal.is_of_others());
    !of_others
        && !matches!(why, WaitReason::Served { .. } | WaitReason::RoomIsAsked | WaitReason::TakenMeanwhile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intake::demand::Refusal;

    fn job(number: u32) -> JobId {
        number.to_string().parse().expect("a job")
    }

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + 60 * minute).expect("a time")
    }

    fn unknown_flavor() -> WaitReason {
        WaitReason::Refused(Refusal::UnknownFlavor { flavor: "gigantic".to_owned(), known: vec![] })
    }

    fn no_address() -> WaitReason {
        WaitReason::NoAddress { total: 3 }
    }

    /// What is told at each of these minutes.
    fn told(story: impl IntoIterator<Item = (i64, Option<WaitReason>)>) -> Vec<(i64, &'static str)> {
        let mut news = News::default();
        let mut told = Vec::new();
        for (minute, why) in story {
            let waiting: Vec<_> = why.into_iter().map(|why| Waiting { job: job(1), why }).collect();
            told.extend(
                news.due(&waiting, &BTreeSet::from([&job(1)]), at(minute))
                    .into_iter()
                    .map(|one| (minute, one.why.as_str())),
            );
        }
        told
    }

    #[test]
    fn what_waiting_does_not_help_is_told_at_once_and_once() {
        assert_eq!(told((0..20).map(|minute| (minute, Some(unknown_flavor())))), [(0, "unknown_flavor")]);
    }

    #[test]
    fn what_may_pass_is_told_after_five_minutes_and_once() {
        assert_eq!(told((0..20).map(|minute| (minute, Some(no_address())))), [(5, "address")]);
        let interrupted = [(0, Some(no_address())), (4, Some(WaitReason::Draining)), (5, Some(no_address()))];
        assert_eq!(told(interrupted), [], "it waits for this reason since a moment");
        let served = [(0, Some(no_address())), (3, None), (5, Some(no_address())), (9, Some(no_address()))];
        assert_eq!(told(served), []);
    }

    // The users of a job that waited for room in the pool were never told: each question to the pool began its wait anew.
    #[test]
    fn a_question_to_the_pool_does_not_begin_the_wait_anew() {
        let asking = |minute| if minute % 2 == 0 { no_address() } else { WaitReason::RoomIsAsked };
        assert_eq!(told((0..20).map(|minute| (minute, Some(asking(minute))))), [(6, "address")]);
    }

    // A job that waited by turns for two reasons got an info at each turn.
    #[test]
    fn a_reason_that_comes_again_is_not_told_again() {
        let turns = [
            (0, Some(unknown_flavor())),
            (1, Some(no_address())),
            (6, Some(no_address())),
            (7, Some(unknown_flavor())),
            (8, None),
            (9, Some(unknown_flavor())),
            (10, Some(no_address())),
            (15, Some(no_address())),
        ];
        assert_eq!(told(turns), [(0, "unknown_flavor"), (6, "address")]);
        let forgotten = [(0, Some(unknown_flavor())), (61, None), (62, Some(unknown_flavor()))];
        assert_eq!(told(forgotten), [(0, "unknown_flavor"), (62, "unknown_flavor")]);
    }

    #[test]
    fn each_job_has_its_own_news_and_what_concerns_others_is_none() {
        let waiting = [
            Waiting { job: job(1), why: unknown_flavor() },
            Waiting { job: job(2), why: unknown_flavor() },
            Waiting { job: job(3), why: WaitReason::Refused(Refusal::NoRegion) },
            Waiting { job: job(4), why: WaitReason::Served { machine: "w".to_owned() } },
            Waiting { job: job(5), why: WaitReason::RoomIsAsked },
            Waiting { job: job(6), why: unknown_flavor() },
        ];
        let jobs_of_ours: Vec<_> = (1..=5).map(job).collect();
        let named = jobs_of_ours.iter().collect();
        let mut news = News::default();
        let jobs = |due: Vec<&Waiting>| due.into_iter().map(|one| one.job.clone()).collect::<Vec<_>>();
        assert_eq!(jobs(news.due(&waiting, &named, at(0))), [job(1), job(2)]);
        assert_eq!(jobs(news.due(&waiting, &named, at(30))), []);
    }
}
