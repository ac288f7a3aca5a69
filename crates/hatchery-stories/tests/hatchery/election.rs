//! Several hatcheries of one name: one acts, the others stand by, whatever becomes of the first.

mod apart;
mod rights;

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rookery_cds_sim::Status;
use rookery_daemon::{Clock, Lease, Supervisor};
use rookery_fleet_vsphere::sessions;
use rookery_hatchery::run::PRODUCT;
use rookery_hatchery::run::{Ended, LeadershipLost, Policy};
use rookery_hatchery_stories::{Lab, LabOptions, Scene, Stage, Standby};
use rookery_kit::{Cable, Proxy, connect_over, eventually, options};
use rookery_vim::MoRef;
use rookery_vim::methods::ShutdownGuest;
use rookery_vim_client::{CallError, Client, Dial, Options, TcpDial, Trust};
use rookery_vim_sim::{Action, Body, Control, FaultSpec, Rule};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use super::home::Home;

const TAKEOVER: Duration = Duration::from_mins(4);

/// A hatchery on a machine of its own.
struct Hatchery {
    vcenter: Cable,
    cds: Cable,
    start: Standby,
}

impl Hatchery {
    fn start(stage: &Stage, machine: u64, policy: Policy) -> Self {
        let (vcenter, cds) = (Cable::default(), Cable::default());
        let start = stage.hatch_on(machine, policy, &vcenter, &cds);
        Self { vcenter, cds, start }
    }

    async fn leads(self) -> Leader {
        let acting = self.acts().await;
        // Whoever comes next logs in later.
        sleep(Duration::from_secs(1)).await;
        acting
    }

    async fn acts(self) -> Leader {
        let scene = timeout(TAKEOVER, self.start.acts()).await.expect("it takes over in time");
        Leader { vcenter: self.vcenter, cds: self.cds, scene: scene.expect("it starts") }
    }
}

struct Leader {
    vcenter: Cable,
    cds: Cable,
    scene: Scene,
}

impl Leader {
    /// What it has changed since a moment, or tried to.
    fn acts_since(&self, moment: Instant) -> Vec<String> {
        acts_since(&self.vcenter, &self.cds, moment)
    }
}

fn acts_since(vcenter: &Cable, cds: &Cable, moment: Instant) -> Vec<String> {
    let mut acts: Vec<_> = vcenter.sent_since(moment).into_iter().filter(|words| changes_vm(words)).collect();
    acts.extend(cds.sent_since(moment).into_iter().filter(|words| changes_job(words)));
    acts
}

fn changes_vm(words: &str) -> bool {
    words.ends_with("_Task") || words.starts_with("MarkAs") || words.starts_with("StartProgram")
}

fn changes_job(words: &str) -> bool {
    let about_us = ["signin", "signout", "heartbeat"].iter().any(|end| words.ends_with(end));
    ["POST ", "PUT ", "DELETE "].iter().any(|verb| words.starts_with(verb)) && !about_us
}

fn stage() -> Stage {
    Stage::set(LabOptions::default())
}

/// The user agents of all sessions.
async fn sessions(lab: &Lab) -> Vec<String> {
    let reply = lab.world.vcenter.control(Control::Inspect).await.expect("the vCenter runs");
    let Body::Text(text) = reply.body else { panic!("an inspection is text") };
    let seen: Value = serde_json::from_str(&text).expect("JSON");
    let agents = seen["sessions"].as_array().expect("a list").iter();
    agents.map(|session| session["user-agent"].as_str().expect("a text").to_owned()).collect()
}

async fn sessions_of(lab: &Lab, machine: u64) -> usize {
    let named = format!("; machine-{machine})");
    sessions(lab).await.iter().filter(|agent| agent.ends_with(&named)).count()
}

/// Somebody else who is logged in to the vCenter.
async fn somebody(stage: &Stage, user_agent: &str, lease: Lease) -> Client {
    let vcenter = stage.lab.world.vcenter.clone();
    let dial = Cable::default().to(move || vcenter.pipe());
    let options = Options { user_agent: user_agent.to_owned(), lease, ..options("http://vcenter.sim") };
    Client::connect(options, dial).await.expect("a session")
}

/// Ends all sessions of the hatcheries of a machine, as an administrator does.
async fn end_sessions(stage: &Stage, machine: u64) {
    let admin = somebody(stage, "an administrator", Lease::unlimited()).await;
    let listing = sessions::list(&admin, &PRODUCT, Lab::NAME).await.expect("a list");
    for session in listing.candidates {
        if session.instance == format!("machine-{machine}") {
            sessions::end(&admin, &session.key).await.expect("it ends");
        }
    }
    admin.close().await.expect("it logs out");
}

async fn runs_a_job(stage: &Stage) {
    let job = stage.lab.v2_job(Lab::DEBIAN, "true").await;
    stage.all_jobs_end().await;
    assert_eq!(stage.lab.job(&job).await.status, Status::Success, "{:#?}", stage.lab.job(&job).await);
}

/// Each job ran once, and nobody saw two workers in one machine.
async fn all_is_well(stage: Stage) {
    for job in stage.lab.cds.jobs().await.expect("CDS runs") {
        assert_eq!((job.status, job.workers.len()), (Status::Success, 1), "{job:#?}");
    }
    assert_eq!(stage.findings(), []);
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_killed_is_followed_within_four_minutes() {
    for offset in [0, 10, 29, 47] {
        let (stage, begun) = (stage(), Instant::now());
        let first = Hatchery::start(&stage, 1, Policy::Refuse).leads().await;
        let mut second = Hatchery::start(&stage, 2, Policy::Standby);
        runs_a_job(&stage).await;
        sleep(Duration::from_secs(600 + offset)).await;
        assert!(second.start.waits(), "there is a leader");
        assert_eq!(second.cds.sent_since(begun), [""; 0], "who waits asks CDS");
        let job = stage.lab.v2_job(Lab::DEBIAN, "true").await;
        sleep(Duration::from_secs(2)).await;
        first.scene.crash().await;
        let killed = Instant::now();
        let second = second.leads().await;
        assert!(killed.elapsed() > Duration::from_mins(3), "{:?}", killed.elapsed());
        assert_eq!((sessions_of(&stage.lab, 1).await, sessions_of(&stage.lab, 2).await), (0, 1));
        stage.all_jobs_end().await;
        assert_eq!(stage.lab.job(&job).await.status, Status::Success);
        runs_a_job(&stage).await;
        assert!(!second.acts_since(killed).is_empty());
        second.scene.stop().await;
        all_is_well(stage).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_without_a_way_to_vcenter_stops_acting_before_another_one_acts() {
    let stage = stage();
    let first = Hatchery::start(&stage, 1, Policy::Refuse).leads().await;
    let second = Hatchery::start(&stage, 2, Policy::Standby);
    runs_a_job(&stage).await;
    sleep(Duration::from_mins(5)).await;

    first.vcenter.cut();
    let cut = Instant::now();
    let watched = async {
        first.scene.hatchery.over.cancelled().await;
        cut.elapsed()
    };
    // CDS can be reached all the time, and offers jobs.
    let offered = async {
        for _ in 0..20 {
            sleep(Duration::from_secs(10)).await;
            stage.lab.v2_job(Lab::DEBIAN, "true").await;
        }
    };
    let led = async {
        let second = second.leads().await;
        (second, cut.elapsed())
    };
    let all = async { tokio::join!(watched, led, offered) };
    let over = timeout(Duration::from_mins(10), all).await;
    let (gave_up, (second, took_over), ()) = over.expect("one has given up, and the other one leads");
    assert!(gave_up <= Duration::from_secs(165), "{gave_up:?}");
    assert!(gave_up < took_over && took_over <= TAKEOVER, "{gave_up:?} {took_over:?}");
    let ended = first.scene.hatchery.ended().await;
    assert!(matches!(ended, Ended::Leadership(LeadershipLost::Unlisted { .. })), "{ended:?}");
    let lapsed = cut + Duration::from_secs(30);
    assert_eq!(first.acts_since(lapsed), [""; 0], "it acts without a list");
    assert_eq!(second.acts_since(cut).len(), second.acts_since(cut + gave_up).len(), "both have acted");

    // What it still had to say is not said when there is a way again, and its session is over.
    first.vcenter.mend();
    stage.all_jobs_end().await;
    assert_eq!(first.acts_since(lapsed), [""; 0]);
    let (vcenter, cds) = (first.vcenter.clone(), first.cds.clone());
    first.scene.stop().await;
    assert_eq!(acts_since(&vcenter, &cds, lapsed), [""; 0]);
    assert_eq!((sessions_of(&stage.lab, 1).await, sessions_of(&stage.lab, 2).await), (0, 1));
    second.scene.stop().await;
    all_is_well(stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_leader_goes_on_after_a_short_silence() {
    let stage = stage();
    let first = Hatchery::start(&stage, 1, Policy::Refuse).leads().await;
    let mut second = Hatchery::start(&stage, 2, Policy::Standby);
    sleep(Duration::from_mins(5)).await;
    first.vcenter.cut();
    sleep(Duration::from_secs(90)).await;
    first.vcenter.mend();
    sleep(Duration::from_secs(30)).await;
    runs_a_job(&stage).await;
    sleep(Duration::from_mins(10)).await;
    assert!(!first.scene.hatchery.over.is_cancelled() && second.start.waits());
    // Who ends in good order is followed at once.
    first.scene.stop().await;
    let ended = Instant::now();
    let second = second.leads().await;
    assert!(ended.elapsed() <= Duration::from_secs(45), "{:?}", ended.elapsed());
    runs_a_job(&stage).await;
    second.scene.stop().await;
    all_is_well(stage).await;
}

#[tokio::test(start_paused = true)]
async fn of_two_that_stand_by_one_takes_over_and_the_other_goes_on_waiting() {
    let stage = stage();
    let first = Hatchery::start(&stage, 1, Policy::Refuse).leads().await;
    let second = Hatchery::start(&stage, 2, Policy::Standby);
    let third = Hatchery::start(&stage, 3, Policy::Standby);
    sleep(Duration::from_mins(5)).await;
    first.scene.crash().await;
    let leader = second.leads().await;
    let mut last = third;
    runs_a_job(&stage).await;
    sleep(Duration::from_mins(10)).await;
    assert!(last.start.waits(), "two lead");
    leader.scene.crash().await;
    let killed = Instant::now();
    let last = last.leads().await;
    assert!(killed.elapsed() <= TAKEOVER);
    runs_a_job(&stage).await;
    last.scene.stop().await;
    all_is_well(stage).await;
}

/// vCenter's clock cannot tell them apart, so their keys decide: the one that acts already may be the one to go.
#[tokio::test(start_paused = true)]
async fn of_two_that_start_in_the_same_moment_one_goes_before_the_other_acts() {
    let (stage, begun) = (stage(), Instant::now());
    let both = [1, 2].map(|machine| Hatchery::start(&stage, machine, Policy::Standby));
    let [one, two] = both.map(|hatchery| (hatchery.vcenter.clone(), hatchery.cds.clone(), hatchery.acts()));
    let (mut one_acts, mut two_acts) = (Box::pin(one.2), Box::pin(two.2));
    let (leader, follower, waiting) = tokio::select! {
        biased;
        leader = &mut one_acts => (leader, (two.0, two.1), two_acts),
        leader = &mut two_acts => (leader, (one.0, one.1), one_acts),
    };
    let first = stage.lab.v2_job(Lab::DEBIAN, "true").await;
    sleep(Duration::from_secs(59)).await;
    // The one that waits has done nothing while the other one might.
    assert_eq!(acts_since(&follower.0, &follower.1, begun), [""; 0]);
    let lost = leader.scene.hatchery.over.is_cancelled();
    let acting = if lost {
        let (vcenter, cds) = (leader.vcenter.clone(), leader.cds.clone());
        leader.scene.stop().await;
        let next = waiting.await;
        assert_eq!(acts_since(&vcenter, &cds, begun + Duration::from_secs(59)), [""; 0]);
        next
    } else {
        leader
    };
    runs_a_job(&stage).await;
    assert_eq!(stage.lab.job(&first).await.workers.len(), 1);
    acting.scene.stop().await;
    all_is_well(stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_session_was_ended_makes_way_for_whoever_stands_by() {
    let stage = stage();
    let first = Hatchery::start(&stage, 1, Policy::Refuse).leads().await;
    sleep(Duration::from_mins(5)).await;
    // Alone it goes on.
    end_sessions(&stage, 1).await;
    runs_a_job(&stage).await;
    assert!(!first.scene.hatchery.over.is_cancelled());

    let second = Hatchery::start(&stage, 2, Policy::Standby);
    sleep(Duration::from_mins(5)).await;
    end_sessions(&stage, 1).await;
    let ended = Instant::now();
    let job = stage.lab.v2_job(Lab::DEBIAN, "true").await;
    let over = timeout(Duration::from_secs(30), first.scene.hatchery.over.cancelled()).await;
    assert!(over.is_ok(), "it goes on, behind another one");
    let why = first.scene.hatchery.ended().await;
    assert!(
        matches!(&why, Ended::Leadership(LeadershipLost::Follows { leader }) if leader.instance == "machine-2"),
        "{why:?}"
    );
    let (vcenter, cds) = (first.vcenter.clone(), first.cds.clone());
    first.scene.stop().await;
    let second = second.leads().await;
    assert_eq!(acts_since(&vcenter, &cds, ended), [""; 0], "it acts in its new session");
    stage.all_jobs_end().await;
    assert_eq!(stage.lab.job(&job).await.status, Status::Success);
    second.scene.stop().await;
    all_is_well(stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_hatchery_that_crashed_ends_its_old_session_when_it_starts_again() {
    let stage = stage();
    let first = Hatchery::start(&stage, 1, Policy::Refuse).leads().await;
    runs_a_job(&stage).await;
    first.scene.crash().await;
    assert_eq!(sessions_of(&stage.lab, 1).await, 1);
    let crashed = Instant::now();
    let again = Hatchery::start(&stage, 1, Policy::Refuse).leads().await;
    let back = crashed.elapsed();
    assert!(back >= Duration::from_secs(30) && back <= Duration::from_secs(45), "{back:?}");
    assert_eq!(sessions_of(&stage.lab, 1).await, 1, "the old one is over");
    runs_a_job(&stage).await;
    again.scene.stop().await;
    all_is_well(stage).await;
}

// Its looks were more than half of what an idle hatchery asked of vCenter.
#[tokio::test(start_paused = true)]
async fn a_leader_that_has_nothing_to_do_looks_rarely_and_acts_at_once_when_it_has() {
    let stage = stage();
    let leader = Hatchery::start(&stage, 1, Policy::Refuse).leads().await;
    runs_a_job(&stage).await;
    sleep(Duration::from_mins(15)).await;
    let idle = Instant::now();
    sleep(Duration::from_mins(10)).await;
    let asked = leader.vcenter.sent_since(idle);
    // 60 would be looks alone, if it were at work.
    assert!(asked.len() <= 80, "{} requests in ten minutes: {asked:?}", asked.len());
    for offset in [5, 15, 25, 35] {
        sleep(Duration::from_secs(300 + offset)).await;
        let offered = Instant::now();
        let job = stage.lab.v2_job(Lab::DEBIAN, "true").await;
        sleep(Duration::from_secs(2)).await;
        assert!(!leader.acts_since(offered).is_empty(), "{job} waits for a look");
        stage.all_jobs_end().await;
    }
    leader.scene.stop().await;
    all_is_well(stage).await;
}

/// A call that changes something is not repeated in a new session before a list has shown who leads.
#[tokio::test(start_paused = true)]
async fn a_call_is_not_repeated_after_a_new_login_without_a_new_lease() {
    let stage = stage();
    let clock = Clock::simulated(Timestamp::UNIX_EPOCH);
    let lease = Lease::new(clock.clone());
    let agent = sessions::user_agent(&PRODUCT, "0", Lab::NAME, "machine-1");
    let client = somebody(&stage, &agent, lease.clone()).await;
    let vms = stage.vms().await;
    let jumphost = vms.iter().find(|(_, vm)| vm.name == "jumphost").expect("it is there").0;
    let order = ShutdownGuest { this: MoRef::new("VirtualMachine", jumphost) };
    let asked = async || {
        let reply = stage.lab.world.vcenter.control(Control::Inspect).await.expect("the vCenter runs");
        let Body::Text(text) = reply.body else { panic!("an inspection is text") };
        let seen: Value = serde_json::from_str(&text).expect("JSON");
        let of = |how: &str| seen["requests"]["ShutdownGuest"][how].as_u64().unwrap_or_default();
        of("answered") + of("refused")
    };
    let refused = client.call(&order).await;
    assert!(matches!(refused, Err(CallError::NoLease { .. })), "{refused:?}");
    assert_eq!(asked().await, 0, "it was sent without a lease");

    let (login, _) = client.login().expect("a session");
    lease.grant(login, clock.since_boot() + Duration::from_secs(60));
    end_sessions(&stage, 1).await;
    let refused = client.call(&order).await;
    assert!(matches!(refused, Err(CallError::NoLease { .. })), "{refused:?}");
    assert_eq!(asked().await, 1, "it was sent again in the new session");

    // Whoever is granted one for the new session while it waits sends it.
    let (renewed, _) = client.login().expect("a session");
    assert_ne!(renewed, login);
    let granted = async {
        sleep(Duration::from_secs(5)).await;
        lease.grant(renewed, clock.since_boot() + Duration::from_secs(60));
    };
    let (done, ()) = tokio::join!(client.call(&order), granted);
    assert!(!matches!(done, Err(CallError::NoLease { .. })), "{done:?}");
    assert_eq!(asked().await, 2);
    client.close().await.expect("it logs out");
    stage.lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_go_program_of_our_user_is_warned_about() {
    let lab = Lab::start(LabOptions::default()).await;
    let home = Home::with(&lab.settings_text());
    let checked = home.program(&["hatchery", "check"]).run().await;
    assert!(checked.stdout.contains("no Go program has used vCenter as our user"), "{}", checked.stdout);
    let options = Options { user_agent: "Go-http-client/1.1".to_owned(), ..options(&lab.world.url) };
    let dial: Arc<dyn Dial> =
        Arc::new(TcpDial::new(options.endpoint.clone(), &Trust::Insecure).expect("no TLS"));
    let go = connect_over(options, dial).await.expect("a session");
    let checked = home.program(&["hatchery", "check"]).run().await;
    assert!(checked.stdout.contains("a Go program uses vCenter as our user"), "{}", checked.stdout);
    let mut daemon = home.run().start();
    while !daemon.remark().await.contains("a Go program uses vCenter as our user") {}
    daemon.signal("TERM");
    assert_eq!(daemon.end().await.code, Some(0));
    go.close().await;
    lab.close().await;
}

/// The real program, stopped in the middle of a start and woken up when another one leads.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_was_paused_wakes_up_without_any_right_to_act() {
    let lab = Lab::start(LabOptions::default()).await;
    let supervisor = Supervisor::new();
    let behind = async |url: &str| {
        let upstream = url.strip_prefix("http://").expect("an address").to_owned();
        Proxy::start(&upstream, &supervisor).await
    };
    let (vcenter, cds) = (behind(&lab.world.url).await, behind(&lab.cds_url).await);
    let text = lab.settings_text();
    let first = text.replace(&lab.world.url, vcenter.address()).replace(&lab.cds_url, cds.address());
    let first = Home::with(&first).started().await;
    let second = Home::with(&text);
    let mut second = second.run().and(&["--standby", "--instance", "elsewhere"]).start();
    while !second.remark().await.contains("standing by") {}

    // It learns that it has to try its guest again when it wakes up: that is the next thing it would do.
    let refused = FaultSpec {
        class: "InvalidGuestLogin".to_owned(),
        message: "Failed to authenticate with the guest operating system.".to_owned(),
        members: Vec::new(),
    };
    let rule = Rule { method: "StartProgramInGuest".to_owned(), ..Rule::new(Action::Fault(refused)) };
    lab.world.ask(Control::AddRule(rule)).await;
    vcenter.hold_answers("StartProgramInGuest");
    lab.v2_job(Lab::DEBIAN, "true").await;
    let is_at_work = async || {
        let exchanges = vcenter.exchanges();
        exchanges.iter().any(|exchange| exchange.method == "StartProgramInGuest" && exchange.answer.is_some())
    };
    eventually("the leader is at work in a guest", is_at_work).await;
    first.signal("STOP");
    vcenter.release_answers("StartProgramInGuest");
    lab.world.ask(Control::ClearRules).await;
    let silence = Control::Advance(SignedDuration::from_secs(185));
    lab.world.ask(silence).await;
    while !second.remark().await.contains("signed in to CDS") {}
    assert!(second.line().await.contains("serves"));
    let job = lab.v2_job(Lab::DEBIAN, "true").await;
    assert_eq!(lab.ended(&job).await.status, Status::Success);
    assert_eq!(lab.job(&job).await.workers.len(), 1);

    let before = (acts(&vcenter).len(), acts(&cds).len());
    first.signal("CONT");
    let outcome = first.end().await;
    assert_ne!(outcome.code, Some(0));
    assert!(outcome.stderr.contains("may lead") || outcome.stderr.contains("leads"), "{}", outcome.stderr);
    let (in_vcenter, in_cds) = (acts(&vcenter), acts(&cds));
    assert_eq!((in_vcenter.len(), in_cds.len()), before, "{in_vcenter:?} {in_cds:?}");
    second.signal("TERM");
    assert_eq!(second.end().await.code, Some(0));
    lab.close().await;
}

/// What was changed through a proxy, or tried to.
fn acts(proxy: &Proxy) -> Vec<String> {
    let methods = proxy.exchanges().into_iter().map(|exchange| exchange.method);
    methods.filter(|method| changes_vm(method) || changes_job(method)).collect()
}
