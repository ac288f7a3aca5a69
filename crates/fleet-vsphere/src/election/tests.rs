use proptest::prelude::*;

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_900_000_000 + seconds).unwrap()
}

/// A session, with the second of its login and of its last call.
fn session(instance: &str, key: &str, login: i64, last_active: i64) -> Candidate {
    Candidate {
        instance: instance.to_owned(),
        key: Hidden(key.to_owned()),
        user: "user".to_owned(),
        address: None,
        login: Some(at(login)),
        last_active: Some(at(last_active)),
    }
}

const NOW: i64 = 1000;

/// `leads`, `leads alone`, `waits for K`, `follows K`, or `hidden`; after it what is ended.
fn told(elected: Option<Elected>) -> String {
    let Some(Elected { verdict, left_behind, silent }) = elected else { return "hidden".to_owned() };
    let verdict = match verdict {
        Verdict::Follows { leader } => format!("follows {}", leader.key.0),
        Verdict::Waits { ahead } => format!("waits for {}", ahead.key.0),
        Verdict::Leads { contested: true } => "leads".to_owned(),
        Verdict::Leads { contested: false } => "leads alone".to_owned(),
    };
    let cleared = left_behind.iter().map(|session| format!(", clears {}", session.key.0));
    let ended = silent.iter().map(|session| format!(", ends {}", session.key.0));
    cleared.chain(ended).fold(verdict, |told, more| told + &more)
}

/// All of these sessions are quiet by our own clock.
fn all(listed: &[Candidate]) -> BTreeSet<Hidden> {
    listed.iter().map(|session| session.key.clone()).collect()
}

#[test]
fn the_first_of_the_live_sessions_leads_then_the_one_with_the_smaller_key() {
    // Of instance `a`, with session `m` since 500.
    let check = |others: &[Candidate], expected: &str| {
        let mut listed = vec![session("a", "m", 500, NOW)];
        listed.extend_from_slice(others);
        let me = OwnSession { instance: "a", key: "m", first_login: Some(at(500)), held: &[] };
        let quiet = all(&listed);
        assert_eq!(told(elect(&listed, me, at(NOW), &quiet)), expected, "{others:#?}");
        listed.reverse();
        assert_eq!(
            told(elect(&listed, me, at(NOW), &quiet)),
            expected,
            "the order of the list is irrelevant"
        );
    };
    check(&[], "leads alone");
    check(&[session("b", "k", 499, NOW)], "follows k");
    check(&[session("b", "k", 501, NOW)], "leads");
    check(&[session("b", "k", 500, NOW)], "follows k");
    check(&[session("b", "z", 500, NOW)], "leads");
    check(&[session("b", "k", 499, NOW), session("c", "l", 498, NOW)], "follows l");
    // Three minutes are not silence, a second more is.
    check(&[session("b", "k", 499, NOW - 180)], "follows k");
    check(&[session("b", "k", 499, NOW - 181)], "leads, ends k");
    check(&[session("b", "k", 498, NOW - 181), session("c", "l", 499, NOW)], "follows l");
    // Who is silent and behind us cannot lead before us: it is left alone.
    check(&[session("b", "k", 501, NOW - 181)], "leads");
    // What vCenter does not tell speaks against us.
    check(&[Candidate { last_active: None, ..session("b", "k", 499, 0) }], "follows k");
    check(&[Candidate { login: None, ..session("b", "k", 0, NOW) }], "follows k");
}

#[test]
fn who_is_silent_by_vcenter_s_clock_alone_is_waited_for() {
    let listed = [session("a", "m", 500, NOW), session("b", "k", 498, 600), session("c", "l", 499, 600)];
    let check = |quiet: &[&str], expected: &str| {
        let me = OwnSession { instance: "a", key: "m", first_login: Some(at(500)), held: &[] };
        let quiet = quiet.iter().map(|key| Hidden((*key).to_owned())).collect();
        assert_eq!(told(elect(&listed, me, at(NOW), &quiet)), expected, "{quiet:?}");
    };
    check(&[], "waits for k");
    check(&["k"], "waits for l");
    check(&["k", "l"], "leads, ends k, ends l");
}

#[test]
fn sessions_of_the_own_instance_are_ended_unless_another_process_has_the_same_name() {
    // Of instance `a`, whose process logged in at 500 for the first time and has had session `m` since 700.
    let elected = |others: &[Candidate], quiet: &BTreeSet<Hidden>| {
        let listed = [others, &[session("a", "m", 700, NOW)]].concat();
        let me = OwnSession { instance: "a", key: "m", first_login: Some(at(500)), held: &[] };
        told(elect(&listed, me, at(NOW), quiet))
    };
    let check = |others: &[Candidate], expected: &str| {
        assert_eq!(elected(others, &all(others)), expected, "{others:#?}");
    };
    // A process that was killed a moment ago; its sessions are over, whoever leads.
    check(&[session("a", "k", 499, NOW)], "leads, clears k");
    check(&[session("a", "k", 499, NOW), session("b", "l", 600, NOW)], "follows l, clears k");
    // Another process that was given the same instance after we had started.
    check(&[session("a", "k", 600, NOW)], "follows k");
    check(&[session("a", "k", 800, NOW)], "leads");
    check(&[session("a", "k", 600, NOW - 181)], "leads, ends k");
    // A login whose answer was lost. That answer may be on its way.
    let unused = [session("a", "k", 690, 690)];
    check(&unused, "leads alone, clears k");
    assert_eq!(elected(&unused, &BTreeSet::new()), "leads alone");
}

// A process that logs in with other credentials is listed twice until its logout has come through. Its own earlier session
// was taken for another leader: it gave way to itself.
#[test]
fn nobody_follows_a_session_of_its_own() {
    let held = ["k".to_owned(), "m".to_owned()];
    let check = |others: &[Candidate], expected: &str| {
        let listed = [others, &[session("a", "m", 700, NOW)]].concat();
        let me = OwnSession { instance: "a", key: "m", first_login: Some(at(500)), held: &held };
        assert_eq!(told(elect(&listed, me, at(NOW), &BTreeSet::new())), expected, "{listed:#?}");
    };
    check(&[session("a", "k", 500, NOW)], "leads alone, clears k");
    check(&[session("a", "k", 500, NOW), session("b", "l", 600, NOW)], "follows l, clears k");
    check(&[session("a", "k", 500, NOW), session("b", "l", 800, NOW)], "leads, clears k");
}

#[test]
fn a_list_without_the_own_session_elects_nobody() {
    let me = OwnSession { instance: "a", key: "m", first_login: None, held: &[] };
    assert_eq!(told(elect(&[session("b", "k", 1, 1)], me, at(NOW), &BTreeSet::new())), "hidden");
    assert_eq!(told(elect(&[], me, at(NOW), &BTreeSet::new())), "hidden");
}

#[test]
fn who_was_not_alone_leads_after_two_looks_half_a_minute_apart() {
    use Standing::{Follows, Leads, Waits};
    let of = |verdict| Elected { verdict, left_behind: Vec::new(), silent: Vec::new() };
    let somebody = || Box::new(session("b", "k", 1, 1));
    let alone = of(Verdict::Leads { contested: false });
    let contested = of(Verdict::Leads { contested: true });
    let ends = Elected { silent: vec![session("b", "k", 1, 1)], ..contested.clone() };
    let doubts = of(Verdict::Waits { ahead: somebody() });
    let follows = of(Verdict::Follows { leader: somebody() });
    // The login, when the list was asked for and when the look was done, and what it said.
    let check = |looks: &[(u64, u64, u64, &Elected)], expected: &[Standing]| {
        let mut candidacy = Candidacy::default();
        let look = |(login, asked, done, elected): &(u64, u64, u64, &Elected)| {
            let (asked, done) = (Duration::from_secs(*asked), Duration::from_secs(*done));
            candidacy.look(Look { login: *login, asked, done }, elected)
        };
        assert_eq!(looks.iter().map(look).collect::<Vec<_>>(), expected, "{looks:?}");
    };
    check(&[(1, 0, 0, &alone), (1, 30, 30, &contested)], &[Leads, Leads]);
    check(
        &[(1, 0, 0, &contested), (1, 10, 10, &alone), (1, 29, 29, &alone), (1, 30, 30, &alone)],
        &[Waits, Waits, Waits, Leads],
    );
    // A leader may have got its list just before we were answered.
    check(
        &[(1, 0, 14, &contested), (1, 30, 30, &contested), (1, 43, 43, &contested), (1, 44, 44, &contested)],
        &[Waits, Waits, Waits, Leads],
    );
    // Whoever was behind in between begins anew, and so does whoever had to wait or had a session to end.
    for between in [&follows, &doubts, &ends] {
        let standing = if between == &follows { Follows } else { Waits };
        check(
            &[(1, 0, 0, &contested), (1, 20, 20, between), (1, 30, 30, &contested), (1, 60, 60, &contested)],
            &[Waits, standing, Waits, Leads],
        );
    }
    // Who cannot end a session finds it again and again.
    check(&[(1, 0, 0, &ends), (1, 30, 30, &ends), (1, 60, 60, &ends)], &[Waits, Waits, Waits]);
    // And so does whoever has another session.
    check(
        &[(1, 0, 0, &alone), (2, 30, 30, &contested), (2, 59, 59, &contested), (2, 60, 60, &contested)],
        &[Leads, Waits, Waits, Leads],
    );
    check(&[(1, 0, 0, &contested), (2, 30, 30, &contested)], &[Waits, Waits]);
    check(&[(1, 0, 0, &alone), (1, 30, 30, &follows)], &[Leads, Follows]);
    // Who lost its session with all others may find itself alone first, while the leader before acts.
    check(&[(1, 0, 0, &follows), (2, 5, 5, &alone), (2, 35, 35, &alone)], &[Follows, Waits, Leads]);
    check(&[(1, 0, 0, &alone), (2, 5, 5, &alone)], &[Leads, Leads]);
}

proptest! {
    /// However vCenter's list looks, at most one of the live ones leads, and somebody does.
    #[test]
    fn of_all_who_look_at_one_list_exactly_one_leads(
        sessions in prop::collection::btree_map("[a-e]", (0i64..4, 700i64..=NOW), 1..6),
    ) {
        let listed: Vec<_> = sessions
            .iter()
            .map(|(name, (login, active))| session(name, &format!("key-{name}"), *login, *active))
            .collect();
        let live = listed.iter().filter(|one| is_live(one, at(NOW)));
        let leads = |one: &&Candidate| {
            let me = OwnSession { instance: &one.instance, key: &one.key.0, first_login: one.login, held: &[] };
            let elected = elect(&listed, me, at(NOW), &all(&listed)).map(|elected| elected.verdict);
            matches!(elected, Some(Verdict::Leads { .. }))
        };
        let live: Vec<_> = live.collect();
        let leaders = live.iter().filter(|one| leads(one)).count();
        prop_assert_eq!(leaders, usize::from(!live.is_empty()));
    }

    // Who took over after 30 s met a leader that acted on its list for 45 s and more: vCenter refused that one, others did not.
    // Times are in tenths of a second.
    #[test]
    fn nobody_acts_while_the_leader_before_may_still_send(
        asked in 100u64..1000,
        answer in 0u64..20,
        gone in 0u64..20,
        looks in prop::collection::vec((0u64..50, 0u64..50, 0u64..50), 1..20),
    ) {
        let tenths = |tenths: u64| Duration::from_millis(100 * tenths);
        // The list that it acts on was made when its session was still there.
        let sends_until = lease_end(tenths(asked)) + SENDING;
        let gone = asked + answer + gone;
        // The other one finds itself first in lists that were made afterwards, however slowly they come.
        let elected =
            Elected { verdict: Verdict::Leads { contested: true }, left_behind: Vec::new(), silent: Vec::new() };
        let (mut candidacy, mut now) = (Candidacy::default(), gone);
        for (pause, made, told) in looks {
            // The first one may have been asked for long before it was made.
            let (asked, done) = if now == gone { (gone.saturating_sub(made), gone + told) } else {
                (now + pause, now + pause + made + told)
            };
            let look = Look { login: 1, asked: tenths(asked), done: tenths(done) };
            if candidacy.look(look, &elected) == Standing::Leads {
                prop_assert!(tenths(done) >= sends_until, "{look:?} {sends_until:?}");
            }
            now = done.max(gone + 1);
        }
    }
}
