use super::*;

#[test]
fn the_overview() {
    insta::assert_snapshot!(tab('1', SMALL), @r"
    [1 Overview] 2  3  4  5  6
    jobs       41 of 50 fed, 35 succeeded, 1
               failed
    queue      3 wait, 1 are taken, 2 run
    start time p50 2.5 s, p99 12.1 s
    the latest ▂▂▂▇▂▂▂▂▁█▂▂▃▂▂ up to 12.1 s
    machines   3 warm, 2 warming, 1
               starting, 2 running, 0
               finished, 1 kept
    q quit  ? help  Tab next    1-8 of 34  ↓
    ");
}

#[test]
fn the_queue() {
    insta::assert_snapshot!(tab('2', SMALL), @r"
     1 [2 Queue(4)] 3  4  5  6
    queue      3 wait, 1 are taken, 2 run
    waiting    2 jobs: none of the 61
               configured addresses is free
               1 job: no template debian-13
               is in the inventory: correct
               the model, or make the
               template
               shared.infra/builder: 1 warm
    q quit  ? help  Tab next    1-8 of 29  ↓
    ");
}

#[test]
fn the_machines() {
    insta::assert_snapshot!(tab('3', SMALL), @r"
     1  2 [3 Machines(4)] 4  5  6
    machines   3 warm, 2 warming, 1
               starting, 2 running, 0
               finished, 1 kept

    NAME                     STATE    POWER
    brave-curie              running  on
      ip 192.0.2.17, cpu 2, memory 4096 MB,
      model builder, job 4709
    q quit  ? help  Tab next    1-8 of 18  ↓
    ");
}

#[test]
fn the_start_times() {
    insta::assert_snapshot!(tab('4', SMALL), @r"
     1  2  3 [4 Starts] 5  6
    start time of 15 jobs, from the queue to
               the worker
               p50 2.5 s, p90 11.8 s, p99
               12.1 s, longest 12.1 s
    the latest ▂▂▂▇▂▂▂▂▁█▂▂▃▂▂ up to 12.1 s

      ≤ 1 s ███▎ 1
      ≤ 2 s ███▎ 1
    q quit  ? help  Tab next    1-8 of 12  ↓
    ");
}

#[test]
fn the_events() {
    insta::assert_snapshot!(tab('5', SMALL), @r"
     1  2  3  4 [5 Events] 6
    09:30:39 job 4703 (V1, builder)  waits
    09:30:38 job 4702 (V1, builder)
             succeeded after 4.9 s
    09:30:37 job 4702 (V1, builder)  runs
             after 2.4 s
    09:30:36 job 4702 (V1, builder)  waits
    09:30:35 job 4701 (V1, builder)
             succeeded after 4.9 s
    q quit  ? help  Tab next    1-8 of 66  ↓
    ");
}

#[test]
fn what_else_there_is_to_know() {
    insta::assert_snapshot!(tab('6', SMALL), @r"
     1  2  3  4  5 [6 About]
    Rookery VERSION: a hatchery at work
    between a simulated vCenter and a
    simulated CDS

    guests     run real programs of this
               machine, which cannot change
               it
    kept       keen-noether (off) until
    q quit  ? help  Tab next    1-8 of 19  ↓
    ");
}

#[test]
fn the_help() {
    insta::assert_snapshot!(capture(&hatchery(), &[Key::Char('?')], SMALL), @r"
    [1 Overview] 2  3  4  5  6
    ┌ Help ────────────────────────────────┐
    │1 … 6             open a tab          │
    │Tab, → and ←      the next tab, the   │
    │                  one before          │
    │↑ ↓, k j          scroll by a line    │
    │PgUp PgDn, Space  scroll by a page    │
    │Home End, g G     to the first line,  │
    └──────────────────────────────────────┘
    Esc closes                  1-6 of 24  ↓
    ");
}

#[test]
fn a_fleet() {
    insta::assert_snapshot!(capture(&fleet(), &[], SMALL), @r"
    [1 Overview] 2  3  4
    vCenter    VMware vCenter Server 8.0.3
               build-1, API 7.0.0.0
    inventory  complete, confirmed 3 s ago
    VMs        3: 2 on, 1 off, 0 suspended
    templates  0
    questions  1 wait for an answer:
               größe/日本 100%

    q quit  ? help  Tab next     1-8 of 9  ↓
    ");
}

#[test]
fn further_down_in_the_queue() {
    insta::assert_snapshot!(capture(&hatchery(), &[Key::Char('2'), Key::PageDown], SMALL), @r"
     1 [2 Queue(4)] 3  4  5  6
               shared.infra/builder: 1 warm
               machine is missing: no
               address is free

    job 5f2c7a10-0d5e-4b3a-9d1c-6a0b8f1e2d3c
       waits, model debian-12, since
      09:31:00
      none of the 61 configured addresses is
    q quit  ? help  Tab next   8-15 of 29 ↑↓
    ");
}

#[test]
fn while_it_stops() {
    insta::assert_snapshot!(capture(&Content { stopping: Some("the hatchery is stopped, then 2 more".to_owned()), ..hatchery() }, &[], SMALL), @r"
    [1 Overview] 2  3  4  5  6
    stopping… the hatchery is stopped, then
    2 more; Ctrl-C ends it at once
    jobs       41 of 50 fed, 35 succeeded, 1
               failed
    queue      3 wait, 1 are taken, 2 run
    start time p50 2.5 s, p99 12.1 s
    the latest ▂▂▂▇▂▂▂▂▁█▂▂▃▂▂ up to 12.1 s
    machines   3 warm, 2 warming, 1
    q quit  ? help  Tab next    1-6 of 34  ↓
    ");
}
