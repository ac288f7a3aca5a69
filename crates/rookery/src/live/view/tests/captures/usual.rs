use super::*;

#[test]
fn the_overview() {
    insta::assert_snapshot!(tab('1', USUAL), @r"
    Rookery VERSION: a hatchery at work between a simulated vCenter and a simulated C…
    [1 Overview] 2 Queue(4)  3 Machines(4)  4 Starts  5 Events  6 About
    jobs         41 of 50 fed, 35 succeeded, 1    start times
                 failed                             ≤ 1 s ██▋ 1
    queue        3 wait, 1 are taken, 2 run         ≤ 2 s ██▋ 1
    start time   p50 2.5 s, p99 12.1 s              ≤ 3 s ████████████████████████ 9
    the latest   ▂▂▂▇▂▂▂▂▁█▂▂▃▂▂ up to 12.1 s       ≤ 5 s █████▎ 2
    machines     3 warm, 2 warming, 1 starting,    ≤ 10 s 0
                 2 running, 0 finished, 1 kept     ≤ 20 s █████▎ 2
    workers      ████████▋░░░░░░░░░░░░░░ 6 of 16
    CPUs         ████▏░░░░░░░░░░░░░░░░░ 18 of 96
    memory       36864 MB, without limit
    addresses    ██████████████████████ 61 of 61
    guests       run real programs of this
                 machine, which cannot change it
    kept         keen-noether (off) until 16:00:00 UTC: the disk was full
    waiting      2 jobs: none of the 61 configured addresses is free
                 1 job: no template debian-13 is in the inventory: correct the
                 model, or make the template
                 shared.infra/builder: 1 warm machine is missing: no address is free
    try it       6 shows commands for another terminal

    09:30:39 job 4703 (V1, builder)  waits
    q quit  ? help  Tab next                                           1-21 of 24  ↓
    ");
}

#[test]
fn the_queue() {
    insta::assert_snapshot!(tab('2', USUAL), @r"
    Rookery VERSION: a hatchery at work between a simulated vCenter and a simulated C…
     1 Overview [2 Queue(4)] 3 Machines(4)  4 Starts  5 Events  6 About
    queue        3 wait, 1 are taken, 2 run
    waiting      2 jobs: none of the 61 configured addresses is free
                 1 job: no template debian-13 is in the inventory: correct the
                 model, or make the template
                 shared.infra/builder: 1 warm machine is missing: no address is free

    job 5f2c7a10-0d5e-4b3a-9d1c-6a0b8f1e2d3c  waits, model debian-12, since 09:31:00
      none of the 61 configured addresses is free
    job 4711  waits, model builder
      none of the 61 configured addresses is free
    job 4712  waits
      no template debian-13 is in the inventory: correct the model, or make the
      template; waiting alone will not help
    model shared.infra/builder  waits
      1 warm machine is missing: no address is free
    job 4709  served, model builder, on brave-curie, since 09:30:41





    q quit  ? help  Tab next
    ");
}

#[test]
fn the_machines() {
    insta::assert_snapshot!(tab('3', USUAL), @r"
    Rookery VERSION: a hatchery at work between a simulated vCenter and a simulated C…
     1 Overview  2 Queue(4) [3 Machines(4)] 4 Starts  5 Events  6 About
    warm         ████████████████████████████████████████ 3
    warming      ██████████████████████████▋ 2
    starting     █████████████▎ 1
    running      ██████████████████████████▋ 2
    finished     0
    kept         █████████████▎ 1

    NAME                     STATE    POWER  IP          CPU  MEMORY   MODEL
    brave-curie              running  on     192.0.2.17  2    4096 MB  builder
      job 4709
    calm-bell                running  on     192.0.2.18  2    4096 MB  debian-12
      job 5e0b7d21-55aa-4c11
    keen-noether             kept     off    192.0.2.19  2    4096 MB  debian-12
      job 4701
    provision-v2-192-0-2-20  warm     off    192.0.2.20  1    2048 MB  debian-12






    q quit  ? help  Tab next
    ");
}

#[test]
fn the_start_times() {
    insta::assert_snapshot!(tab('4', USUAL), @r"
    Rookery VERSION: a hatchery at work between a simulated vCenter and a simulated C…
     1 Overview  2 Queue(4)  3 Machines(4) [4 Starts] 5 Events  6 About
    start time   of 15 jobs, from the queue to the worker
                 p50 2.5 s, p90 11.8 s, p99 12.1 s, longest 12.1 s
    the latest   ▂▂▂▇▂▂▂▂▁█▂▂▃▂▂ up to 12.1 s

      ≤ 1 s ████▍ 1
      ≤ 2 s ████▍ 1
      ≤ 3 s ████████████████████████████████████████ 9
      ≤ 5 s ████████▉ 2
     ≤ 10 s 0
     ≤ 20 s ████████▉ 2











    q quit  ? help  Tab next
    ");
}

#[test]
fn the_events() {
    insta::assert_snapshot!(tab('5', USUAL), @r"
    Rookery VERSION: a hatchery at work between a simulated vCenter and a simulated C…
     1 Overview  2 Queue(4)  3 Machines(4)  4 Starts [5 Events] 6 About
    09:30:39 job 4703 (V1, builder)  waits
    09:30:38 job 4702 (V1, builder)  succeeded after 4.9 s
    09:30:37 job 4702 (V1, builder)  runs after 2.4 s
    09:30:36 job 4702 (V1, builder)  waits
    09:30:35 job 4701 (V1, builder)  succeeded after 4.9 s
    09:30:34 job 4701 (V1, builder)  runs after 2.4 s
    09:30:33 job 4701 (V1, builder)  waits
    09:30:32 job 4700 (V1, builder)  succeeded after 4.9 s
    09:30:31 job 4700 (V1, builder)  runs after 2.4 s
    09:30:30 job 4700 (V1, builder)  waits
    09:30:29 job 4699 (V1, builder)  succeeded after 4.9 s
    09:30:28 job 4699 (V1, builder)  runs after 2.4 s
    09:30:27 job 4699 (V1, builder)  waits
    09:30:26 job 4698 (V1, builder)  succeeded after 4.9 s
    09:30:25 job 4698 (V1, builder)  runs after 2.4 s
    09:30:24 job 4698 (V1, builder)  waits
    09:30:23 job 4697 (V1, builder)  succeeded after 4.9 s
    09:30:22 job 4697 (V1, builder)  runs after 2.4 s
    09:30:21 job 4697 (V1, builder)  waits
    09:30:20 job 4696 (V1, builder)  succeeded after 4.9 s
    09:30:19 job 4696 (V1, builder)  runs after 2.4 s
    q quit  ? help  Tab next                                           1-21 of 40  ↓
    ");
}

#[test]
fn what_else_there_is_to_know() {
    insta::assert_snapshot!(tab('6', USUAL), @r"
    Rookery VERSION: a hatchery at work between a simulated vCenter and a simulated C…
     1 Overview  2 Queue(4)  3 Machines(4)  4 Starts  5 Events [6 About]
    Rookery VERSION: a hatchery at work between a simulated vCenter and a simulated
    CDS

    guests       run real programs of this machine, which cannot change it
    kept         keen-noether (off) until 16:00:00 UTC: the disk was full

    try it       in another terminal; both simulators go when this ends:
                   export GOVC_URL=http://me:simulated@127.0.0.1:45123/sdk
                   rookery vm ls; rookery vm watch; rookery vm power off web-1;
                     rookery doctor











    q quit  ? help  Tab next
    ");
}

#[test]
fn the_help() {
    insta::assert_snapshot!(capture(&hatchery(), &[Key::Char('?')], USUAL), @r"
    Rookery VERSION: a hatchery at work between a simulated vCenter and a simulated C…
    [1 Overview] 2 Queue(4)  3 Machines(4)  4 Starts  5 Events  6 About
    jobs         41 of 50 fed, 35 succeeded, 1    start times
                 failed                             ≤ 1 s ██▋ 1
    queue  ┌ Help ──────────────────────────────────────────────────────────┐
    start t│1 … 6             open a tab                                    │█████ 9
    the lat│Tab, → and ←      the next tab, the one before                  │
    machine│↑ ↓, k j          scroll by a line                              │
           │PgUp PgDn, Space  scroll by a page                              │
    workers│Home End, g G     to the first line, to the last one            │
    CPUs   │?, F1             open and close this help                      │
    memory │q, Ctrl-C         end; Ctrl-C once more ends at once            │
    address│Ctrl-Z            suspend; `fg` goes on                         │
    guests │Ctrl-L            draw everything again                         │
           │                                                                │
    kept   │What is too long for a line goes on in the next one. While you  │
    waiting│scroll the events new ones wait above: Home shows them.         │
           │                                                                │e
           │In a pipe there are plain lines instead: how it stands, then a  │
           │line for each change.                                           │is free
    try it └────────────────────────────────────────────────────────────────┘

    09:30:39 job 4703 (V1, builder)  waits
    Esc closes
    ");
}

#[test]
fn a_fleet() {
    insta::assert_snapshot!(capture(&fleet(), &[], USUAL), @r"
    Rookery VERSION: the live fleet of https://vc.example.com:443
    [1 Overview] 2 Machines(3)  3 Events  4 About
    vCenter      VMware vCenter Server 8.0.3 build-1, API 7.0.0.0
    inventory    complete, confirmed 3 s ago
    VMs          3: 2 on, 1 off, 0 suspended
    templates    0
    questions    1 wait for an answer: größe/日本 100%

    NAME             POWER     IP          CPU  MEMORY  HOST       POOL
    DC0_H0_VM0       on        10.128.0.1  1    32 MiB  DC0_H0     Resources
    web-1            off       -           2    4 GiB   DC0_C0_H0  ci
    größe/日本 100%  on, asks  fe80::1     2    4 GiB   DC0_C0_H1  ci

    09:31:02 changed  web-1  power on → off









    q quit  ? help  Tab next
    ");
}

#[test]
fn while_it_stops() {
    insta::assert_snapshot!(capture(&Content { stopping: Some(String::new()), ..fleet() }, &[], USUAL), @r"
    Rookery VERSION: the live fleet of https://vc.example.com:443
    [1 Overview] 2 Machines(3)  3 Events  4 About
    stopping… logging out of https://vc.example.com:443; Ctrl-C ends it at once
    vCenter      VMware vCenter Server 8.0.3 build-1, API 7.0.0.0
    inventory    complete, confirmed 3 s ago
    VMs          3: 2 on, 1 off, 0 suspended
    templates    0
    questions    1 wait for an answer: größe/日本 100%

    NAME             POWER     IP          CPU  MEMORY  HOST       POOL
    DC0_H0_VM0       on        10.128.0.1  1    32 MiB  DC0_H0     Resources
    web-1            off       -           2    4 GiB   DC0_C0_H0  ci
    größe/日本 100%  on, asks  fe80::1     2    4 GiB   DC0_C0_H1  ci

    09:31:02 changed  web-1  power on → off








    q quit  ? help  Tab next
    ");
}

#[test]
fn without_unicode() {
    insta::assert_snapshot!(shown(&hatchery(), &Ui::default(), Look { paint: Paint::Plain, glyphs: Glyphs::Ascii }, USUAL), @r"
    Rookery VERSION: a hatchery at work between a simulated vCenter and a simulated C.
    [1 Overview] 2 Queue(4)  3 Machines(4)  4 Starts  5 Events  6 About
    jobs         41 of 50 fed, 35 succeeded, 1    start times
                 failed                             < 1 s ### 1
    queue        3 wait, 1 are taken, 2 run         < 2 s ### 1
    start time   p50 2.5 s, p99 12.1 s              < 3 s ######################## 9
    the latest   ...*...._#..-.. up to 12.1 s       < 5 s ###### 2
    machines     3 warm, 2 warming, 1 starting,    < 10 s 0
                 2 running, 0 finished, 1 kept     < 20 s ###### 2
    workers      #########.............. 6 of 16
    CPUs         #####................. 18 of 96
    memory       36864 MB, without limit
    addresses    ###################### 61 of 61
    guests       run real programs of this
                 machine, which cannot change it
    kept         keen-noether (off) until 16:00:00 UTC: the disk was full
    waiting      2 jobs: none of the 61 configured addresses is free
                 1 job: no template debian-13 is in the inventory: correct the
                 model, or make the template
                 shared.infra/builder: 1 warm machine is missing: no address is free
    try it       6 shows commands for another terminal

    09:30:39 job 4703 (V1, builder)  waits
    q quit  ? help  Tab next                                           1-21 of 24  v
    ");
}
