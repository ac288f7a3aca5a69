use std::time::Duration;

use proptest::prelude::*;
use rookery_vim::MoRef;
use tokio::task::JoinSet;

use super::*;

fn host(number: usize) -> MoRef {
    MoRef::new("HostSystem", &format!("host-{number}"))
}

fn order(what: &str, priority: Priority, on_host: Option<usize>) -> Order {
    let site = Site { host: on_host.map(host), datastore: None };
    Order { what: what.to_owned(), priority, site, measured: true }
}

fn named(waiting: &[Waiting]) -> Vec<&str> {
    waiting.iter().map(|w| w.order.what.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn demand_goes_before_stock_and_stock_before_housekeeping() {
    let governor = Governor::new(Ceilings { total: 1, ..Ceilings::default() });
    let first = governor.admit(order("first", Priority::Housekeeping, None)).await;
    let mut ended = JoinSet::new();
    for (what, priority) in [
        ("sweep", Priority::Housekeeping),
        ("warm", Priority::Stock),
        ("job 1", Priority::Demand),
        ("job 2", Priority::Demand),
    ] {
        let governor = governor.clone();
        ended.spawn(async move {
            let permit = governor.admit(order(what, priority, None)).await;
            drop(permit);
            what
        });
    }
    tokio::task::yield_now().await;
    assert_eq!(named(&governor.waiting()), ["job 1", "job 2", "warm", "sweep"]);
    assert!(governor.waiting().iter().all(|w| w.blocked == Blocked::Total));
    drop(first);
    let mut turns = Vec::new();
    while let Some(what) = ended.join_next().await {
        turns.push(what.expect("no panic"));
    }
    assert_eq!(turns, ["job 1", "job 2", "warm", "sweep"]);
    assert_eq!(governor.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_busy_host_does_not_hold_up_work_for_another() {
    let governor = Governor::new(Ceilings { total: 10, per_host: 1, per_datastore: 10 });
    let busy = governor.admit(order("a", Priority::Stock, Some(1))).await;
    let blocked = governor.admit(order("b", Priority::Demand, Some(1)));
    tokio::pin!(blocked);
    assert!(futures_util::poll!(blocked.as_mut()).is_pending());
    assert_eq!(governor.waiting()[0].blocked, Blocked::Host(host(1)));
    drop(governor.admit(order("c", Priority::Housekeeping, Some(2))).await);
    drop(busy);
    drop(blocked.await);
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_waiting_leaves_no_trace() {
    let governor = Governor::new(Ceilings { total: 1, ..Ceilings::default() });
    let running = governor.admit(order("running", Priority::Demand, None)).await;
    {
        let impatient = governor.admit(order("impatient", Priority::Demand, None));
        tokio::pin!(impatient);
        assert!(futures_util::poll!(impatient.as_mut()).is_pending());
        assert_eq!(named(&governor.waiting()), ["impatient"]);
    }
    assert_eq!(named(&governor.waiting()), [""; 0]);
    // Also in the moment between being let in and noticing it.
    let lucky = governor.admit(order("lucky", Priority::Demand, None));
    let mut lucky = Box::pin(lucky);
    assert!(futures_util::poll!(lucky.as_mut()).is_pending());
    drop(running);
    assert_eq!(governor.running(), 1);
    drop(lucky);
    assert_eq!(governor.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn housekeeping_is_not_put_off_for_ever() {
    let governor = Governor::new(Ceilings { total: 1, ..Ceilings::default() });
    let running = governor.admit(order("running", Priority::Demand, None)).await;
    let old = governor.admit(order("old warm-up", Priority::Stock, None));
    tokio::pin!(old);
    assert!(futures_util::poll!(old.as_mut()).is_pending());
    tokio::time::sleep(Duration::from_secs(61)).await;
    let young = governor.admit(order("young job", Priority::Demand, None));
    tokio::pin!(young);
    assert!(futures_util::poll!(young.as_mut()).is_pending());
    assert_eq!(named(&governor.waiting()), ["old warm-up", "young job"]);
    drop(running);
    drop(old.await);
    drop(young.await);
}

// Deletions waited behind a backlog of jobs until they had grown old, one by one.
#[test]
fn every_fourth_permit_goes_to_the_housekeeping_that_waits_longest() {
    let now = Instant::now();
    let mut queue = Queue::new(Ceilings { total: 1, ..Ceilings::default() });
    let names = ["tidy 1", "job 1", "job 2", "tidy 2", "job 3", "job 4", "stock", "job 5", "job 6", "tidy 3"];
    let mut tickets = BTreeMap::new();
    for name in names {
        let priority = match &name[..3] {
            "job" => Priority::Demand,
            "sto" => Priority::Stock,
            _ => Priority::Housekeeping,
        };
        tickets.insert(queue.join(order(name, priority, None), now), name);
    }
    let mut turns = Vec::new();
    while let Some(ticket) = queue.admit(now).first().copied() {
        turns.push(tickets[&ticket]);
        queue.leave(ticket);
    }
    let expected =
        ["job 1", "job 2", "job 3", "tidy 1", "job 4", "job 5", "job 6", "tidy 2", "stock", "tidy 3"];
    assert_eq!(turns, expected);
}

#[test]
fn housekeeping_for_a_busy_host_lets_others_pass() {
    let now = Instant::now();
    let mut queue = Queue::new(Ceilings { total: 2, per_host: 1, per_datastore: 1 });
    queue.join(order("busy", Priority::Housekeeping, Some(1)), now);
    assert_eq!(queue.admit(now).len(), 1);
    let tidy = queue.join(order("tidy", Priority::Housekeeping, Some(1)), now);
    for _ in 0..5 {
        let job = queue.join(order("job", Priority::Demand, None), now);
        assert_eq!(queue.admit(now), [job]);
        queue.leave(job);
    }
    assert_eq!(queue.waiting(now).len(), 1, "{tidy:?}");
}

#[test]
fn the_load_before_an_order_is_counted_by_each_ceiling_that_it_has_to_keep_to() {
    let now = Instant::now();
    let mut queue = Queue::new(Ceilings { total: 3, per_host: 9, per_datastore: 2 });
    let on = |datastore: Option<&str>| Site {
        host: None,
        datastore: datastore.map(|datastore| MoRef::new("Datastore", datastore)),
    };
    let clone = |priority, datastore| Order {
        what: "clone".to_owned(),
        priority,
        site: on(datastore),
        measured: true,
    };
    for (priority, datastore) in [
        (Priority::Demand, Some("a")),
        (Priority::Housekeeping, Some("a")),
        (Priority::Demand, Some("b")),
        (Priority::Demand, Some("a")),
        (Priority::Housekeeping, None),
    ] {
        queue.join(clone(priority, datastore), now);
    }
    // Jobs first: two of them, and then one that tidies, since the third job's datastore would be full.
    assert_eq!(queue.admit(now).len(), 3);
    let gate = |ceiling, demand, others| Gate { ceiling, demand, others };
    assert_eq!(queue.load(&on(None)).gates, [gate(3, 3, 0)]);
    assert_eq!(queue.load(&on(Some("a"))).gates, [gate(3, 3, 0), gate(2, 2, 0)]);
    assert_eq!(queue.load(&on(Some("c"))).gates, [gate(3, 3, 0), gate(2, 0, 0)]);
}

#[test]
fn the_median_is_that_of_the_last_twenty_that_are_measured_and_succeeded() {
    let begun = Instant::now();
    let mut queue = Queue::new(Ceilings::default());
    let mut ran = |seconds: u64, measured: bool, succeeded: bool| {
        let order = Order { measured, ..order("clone", Priority::Demand, None) };
        let ticket = queue.join(order, begun);
        queue.admit(begun);
        if succeeded {
            queue.measure(ticket, begun + Duration::from_secs(seconds));
        }
        queue.leave(ticket);
        queue.load(&Site::default()).median
    };
    // Ten clones that were refused at once made the queue look short.
    assert_eq!(ran(1, true, false), None);
    let mut ran = |seconds, measured| ran(seconds, measured, true);
    assert_eq!(ran(5, false), None);
    assert_eq!(ran(60, true), Some(Duration::from_secs(60)));
    assert_eq!(ran(5, false), Some(Duration::from_secs(60)));
    ran(20, true);
    assert_eq!(ran(30, true), Some(Duration::from_secs(30)));
    for _ in 0..20 {
        ran(300, true);
    }
    assert_eq!(ran(1, true), Some(Duration::from_mins(5)));
}

#[tokio::test(start_paused = true)]
async fn what_never_ran_is_not_measured() {
    let governor = Governor::new(Ceilings { total: 1, ..Ceilings::default() });
    let running = governor.admit(order("running", Priority::Demand, None)).await;
    {
        let impatient = governor.admit(order("impatient", Priority::Demand, None));
        tokio::pin!(impatient);
        assert!(futures_util::poll!(impatient.as_mut()).is_pending());
        tokio::time::sleep(Duration::from_secs(7)).await;
    }
    assert_eq!(governor.load(&Site::default()).median, None);
    running.succeeded();
    drop(running);
    assert_eq!(governor.load(&Site::default()).median, Some(Duration::from_secs(7)));
}

proptest! {
    /// Whatever comes and goes in whatever order: no limit is passed, nobody is forgotten, and the queue runs dry.
    #[test]
    fn limits_hold_and_everybody_gets_a_turn(
        orders in prop::collection::vec((0..3u8, 0..4usize, 0..3usize), 1..60),
        leavings in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
        (total, per_host, per_datastore) in (1..8usize, 1..4usize, 1..4usize),
    ) {
        let now = Instant::now();
        let ceilings = Ceilings { total, per_host, per_datastore };
        let mut queue = Queue::new(ceilings);
        let mut sites = BTreeMap::new();
        let mut running: Vec<Ticket> = Vec::new();
        let mut served = 0;
        let count = orders.len();
        for (priority, on_host, on_datastore) in orders {
            let priority = [Priority::Demand, Priority::Stock, Priority::Housekeeping][usize::from(priority)];
            // Number 0 stands for "not known beforehand".
            let site = Site {
                host: (on_host > 0).then(|| host(on_host)),
                datastore: (on_datastore > 0).then(|| MoRef::new("Datastore", &on_datastore.to_string())),
            };
            sites.insert(queue.join(Order { what: String::new(), priority, site: site.clone(), measured: true }, now), site);
        }
        let mut leavings = leavings.into_iter();
        loop {
            let admitted = queue.admit(now);
            served += admitted.len();
            running.extend(&admitted);
            prop_assert!(running.len() <= total);
            for site in running.iter().map(|ticket| &sites[ticket]) {
                let same = |here: fn(&Site) -> &Option<MoRef>| {
                    running.iter().filter(|t| here(&sites[*t]).is_some() && here(&sites[*t]) == here(site)).count()
                };
                prop_assert!(same(|p| &p.host) <= per_host && same(|p| &p.datastore) <= per_datastore);
            }
            if running.is_empty() {
                break;
            }
            let at = leavings.next().map_or(0, |index| index.index(running.len()));
            queue.leave(running.swap_remove(at));
        }
        prop_assert_eq!(served, count);
        prop_assert!(queue.waiting(now).is_empty());
    }
}
