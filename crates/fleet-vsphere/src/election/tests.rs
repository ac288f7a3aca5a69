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

/// `leads`, `leads alone`, `follows K`, or `hidden`; after it what is ended.
fn told(verdict: Option<Verdict>) -> String {
    match verdict {
        None => "hidden".to_owned(),
        Some(Verdict::Follows { leader }) => format!("follows {}", leader.key.0),
        Some(Verdict::Leads { end, contested, rivals }) => {
            let ended: Vec<_> = end.iter().map(|key| format!(", ends {}", key.0)).collect();
            let over = if rivals { " over rivals" } else { "" };
            format!("leads{}{over}{}", if contested { "" } else { " alone" }, ended.concat())
        }
    }
}

#[test]
fn the_first_of_the_live_sessions_leads_then_the_one_with_the_smaller_key() {
    // Of instance `a`, with session `m` since 500.
    let check = |others: &[Candidate], expected: &str| {
        let mut listed = vec![session("a", "m", 500, NOW)];
        listed.extend_from_slice(others);
        let me = Me { instance: "a", key: "m", first_login: Some(at(500)), held: &[] };
        assert_eq!(told(elect(&listed, me, at(NOW))), expected, "{others:#?}");
        listed.reverse();
        assert_eq!(told(elect(&listed, me, at(NOW))), expected, "the order of the list is irrelevant");
    };
    check(&[], "leads alone");
    check(&[session("b", "k", 499, NOW)], "follows k");
    check(&[session("b", "k", 501, NOW)], "leads over rivals");
    check(&[session("b", "k", 500, NOW)], "follows k");
    check(&[session("b", "z", 500, NOW)], "leads over rivals");
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
fn sessions_of_the_own_instance_are_ended_unless_another_process_has_the_same_name() {
    // Of instance `a`, whose process logged in at 500 for the first time and has had session `m` since 700.
    let check = |other: Candidate, expected: &str| {
        let listed = [other, session("a", "m", 700, NOW)];
        let me = Me { instance: "a", key: "m", first_login: Some(at(500)), held: &[] };
        assert_eq!(told(elect(&listed, me, at(NOW))), expected, "{listed:#?}");
    };
    // A process that was killed a moment ago.
    check(session("a", "k", 499, NOW), "leads, ends k");
    // A login whose answer was lost.
    check(session("a", "k", 690, 690), "leads, ends k");
    // Another process that was given the same instance after we had started.
    check(session("a", "k", 600, NOW), "follows k");
    check(session("a", "k", 800, NOW), "leads over rivals");
    check(session("a", "k", 600, NOW - 181), "leads, ends k");
}

// A process that logs in with other credentials is listed twice until its logout has come through. Its own earlier session
// was taken for another leader: it gave way to itself.
#[test]
fn nobody_follows_a_session_of_its_own() {
    let held = ["k".to_owned(), "m".to_owned()];
    let check = |others: &[Candidate], expected: &str| {
        let listed = [others, &[session("a", "m", 700, NOW)]].concat();
        let me = Me { instance: "a", key: "m", first_login: Some(at(500)), held: &held };
        assert_eq!(told(elect(&listed, me, at(NOW))), expected, "{listed:#?}");
    };
    check(&[session("a", "k", 500, NOW)], "leads alone, ends k");
    check(&[session("a", "k", 500, NOW), session("b", "l", 600, NOW)], "follows l");
    check(&[session("a", "k", 500, NOW), session("b", "l", 800, NOW)], "leads over rivals, ends k");
}

#[test]
fn a_list_without_the_own_session_elects_nobody() {
    let me = Me { instance: "a", key: "m", first_login: None, held: &[] };
    assert_eq!(told(elect(&[session("b", "k", 1, 1)], me, at(NOW))), "hidden");
    assert_eq!(told(elect(&[], me, at(NOW))), "hidden");
}

#[test]
fn who_was_not_alone_leads_after_two_looks_half_a_minute_apart() {
    use Standing::{Follows, Leads, Waits};
    let alone = Verdict::Leads { end: Vec::new(), contested: false, rivals: false };
    let contested = Verdict::Leads { end: vec![Hidden("k".to_owned())], contested: true, rivals: false };
    let rivals = Verdict::Leads { end: Vec::new(), contested: true, rivals: true };
    let follows = Verdict::Follows { leader: Box::new(session("b", "k", 1, 1)) };
    let check = |looks: &[(u64, u64, &Verdict)], expected: &[Standing]| {
        let mut candidacy = Candidacy::default();
        let look = |(login, second, verdict): &(u64, u64, &Verdict)| {
            candidacy.look(*login, Duration::from_secs(*second), verdict)
        };
        assert_eq!(looks.iter().map(look).collect::<Vec<_>>(), expected, "{looks:?}");
    };
    check(&[(1, 0, &alone), (1, 30, &contested)], &[Leads, Leads]);
    check(
        &[(1, 0, &contested), (1, 10, &alone), (1, 29, &alone), (1, 30, &alone)],
        &[Waits, Waits, Waits, Leads],
    );
    // Whoever was behind in between begins anew.
    check(
        &[(1, 0, &contested), (1, 20, &follows), (1, 30, &contested), (1, 60, &contested)],
        &[Waits, Follows, Waits, Leads],
    );
    // And so does whoever has another session.
    check(
        &[(1, 0, &alone), (2, 30, &contested), (2, 59, &contested), (2, 60, &contested)],
        &[Leads, Waits, Waits, Leads],
    );
    check(&[(1, 0, &contested), (2, 30, &contested)], &[Waits, Waits]);
    check(&[(1, 0, &alone), (1, 30, &follows)], &[Leads, Follows]);
    // Who is live and was there before us may believe for a minute that it leads; who came later knows better.
    check(
        &[(1, 0, &rivals), (1, 30, &rivals), (1, 59, &rivals), (1, 60, &rivals)],
        &[Waits, Waits, Waits, Leads],
    );
    check(&[(1, 0, &follows), (1, 10, &rivals), (1, 40, &rivals)], &[Follows, Waits, Leads]);
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
            let me = Me { instance: &one.instance, key: &one.key.0, first_login: one.login, held: &[] };
            matches!(elect(&listed, me, at(NOW)), Some(Verdict::Leads { .. }))
        };
        let live: Vec<_> = live.collect();
        let leaders = live.iter().filter(|one| leads(one)).count();
        prop_assert_eq!(leaders, usize::from(!live.is_empty()));
    }
}
