//! Rules on calls.

use jiff::SignedDuration;
use rookery_vim_sim::{
    Action, Body, Control, FaultMember, FaultSpec, Input, Remains, Request, RequestId, Rule, Span,
};

use super::kit::{Sim, read, slow, text};
use rookery_vim_sim::Settings;

fn fault(class: &str) -> FaultSpec {
    FaultSpec::new(class, "by a rule")
}

fn ok(answer: Result<rookery_vim::Node, String>) -> Result<(), String> {
    answer.map(drop)
}

#[test]
fn a_rule_hits_whom_it_names_as_often_as_it_says() {
    let hit = Err("SystemError".to_owned());
    let action = || Action::Fault(fault("SystemError"));
    for (name, rule, expected) in [
        ("everybody", Rule::new(action()), [&hit, &hit, &hit]),
        ("a method", Rule { method: "Power*VM_Task".into(), ..Rule::new(action()) }, [&hit, &hit, &hit]),
        ("another", Rule { method: "Clone*".into(), ..Rule::new(action()) }, [&Ok(()), &Ok(()), &Ok(())]),
        ("a name", Rule { target: "*_VM0".into(), ..Rule::new(action()) }, [&hit, &hit, &hit]),
        ("other name", Rule { target: "*_VM1".into(), ..Rule::new(action()) }, [&Ok(()), &Ok(()), &Ok(())]),
        ("later", Rule { after: 1, ..Rule::new(action()) }, [&Ok(()), &hit, &hit]),
        ("once", Rule { count: Some(1), ..Rule::new(action()) }, [&hit, &Ok(()), &Ok(())]),
        ("second", Rule { after: 1, count: Some(1), ..Rule::new(action()) }, [&Ok(()), &hit, &Ok(())]),
        ("never", Rule { probability: Some(0.0), ..Rule::new(action()) }, [&Ok(()), &Ok(()), &Ok(())]),
        ("always", Rule { probability: Some(1.0), ..Rule::new(action()) }, [&hit, &hit, &hit]),
    ] {
        let mut sim = Sim::new(slow());
        let vm = sim.vm(0);
        sim.rule(rule);
        let got = [0; 3].map(|_| ok(sim.call("PowerOnVM_Task", &vm, "")));
        assert_eq!(got.each_ref(), expected, "{name}");
    }
}

#[test]
fn a_rule_finds_a_vm_by_reference_and_a_clone_by_its_name_to_be() {
    let mut sim = Sim::new(Settings::default());
    let (first, second) = (sim.vm(0), sim.vm(1));
    sim.rule(Rule { target: first.1.clone(), ..Rule::new(Action::Fault(fault("SystemError"))) });
    sim.rule(Rule { target: "ci-*".into(), ..Rule::new(Action::Fault(fault("Timedout"))) });
    assert_eq!(ok(sim.call("PowerOnVM_Task", &first, "")), Err("SystemError".to_owned()));
    let folder = sim.find("DC0/vm").1;
    let spec = |name: &str| {
        format!(
            "<folder type=\"Folder\">{folder}</folder><name>{name}</name><spec><location></location>\
             <template>false</template><powerOn>false</powerOn></spec>"
        )
    };
    assert_eq!(ok(sim.call("CloneVM_Task", &second, &spec("ci-1"))), Err("Timedout".to_owned()));
    assert_eq!(ok(sim.call("CloneVM_Task", &second, &spec("web-1"))), Ok(()));
}

#[test]
fn a_fault_has_its_members_in_order() {
    let mut sim = Sim::new(Settings::default());
    let vm = sim.vm(0);
    let member = |name: &str, value: &str, class: Option<&str>| FaultMember {
        name: name.into(),
        value: value.into(),
        reference: class.map(Into::into),
        ..FaultMember::default()
    };
    let members = vec![member("object", &vm.1, Some(&vm.0)), member("privilegeId", "A.B", None)];
    sim.on("PowerOnVM_Task", Action::Fault(FaultSpec { members, ..fault("NoPermission") }));
    let id = sim.ask("PowerOnVM_Task", &vm, "");
    let answer = text(&sim.reply(id).unwrap());
    let expected = format!("<object type=\"VirtualMachine\">{}</object><privilegeId>A.B</privilegeId>", vm.1);
    assert!(answer.contains(&expected), "{answer}");
    assert!(answer.contains("<faultstring>by a rule</faultstring>"), "{answer}");
}

#[test]
fn a_lost_reply_is_done_but_not_told_and_a_dropped_connection_is_neither() {
    for (action, power) in [(Action::LoseReply, "poweredOn"), (Action::Drop, "poweredOff")] {
        let mut sim = Sim::new(Settings::default());
        let vm = sim.vm(0);
        sim.on("PowerOnVM_Task", action.clone());
        assert_eq!(ok(sim.call("PowerOnVM_Task", &vm, "")), Err("cut".to_owned()));
        assert_eq!(sim.get(&vm, "runtime.powerState"), power, "{action:?}");
        assert_eq!(sim.count("PowerOnVM_Task", "cut"), 1);
    }
}

#[test]
fn an_answer_can_be_a_status_come_slowly_or_late() {
    let mut sim = Sim::new(Settings::default());
    let vm = sim.vm(0);
    let rule = sim.on("PowerOnVM_Task", Action::Status { code: 502 });
    assert_eq!(ok(sim.call("PowerOnVM_Task", &vm, "")), Err("502".to_owned()));
    sim.control(Control::RemoveRule(rule)).unwrap();

    let rule = sim.on("PowerOnVM_Task", Action::SlowBody { bytes_per_second: 10 });
    let id = sim.ask("PowerOnVM_Task", &vm, "");
    assert!(matches!(sim.reply(id).unwrap().body, Body::Slow(_, 10)));
    sim.control(Control::RemoveRule(rule)).unwrap();

    sim.on("PowerOffVM_Task", Action::Delay { by: "5s".parse().unwrap() });
    let id = sim.ask("PowerOffVM_Task", &vm, "");
    assert_eq!(sim.reply(id), None);
    assert_eq!(sim.get(&vm, "runtime.powerState"), "poweredOff", "it is done meanwhile");
    assert_eq!(sim.wake_at, sim.now.saturating_add(SignedDuration::from_secs(5)).ok());
    sim.pass(4);
    assert_eq!(sim.reply(id), None);
    sim.pass(1);
    assert_eq!(ok(read(&sim.reply(id).unwrap())), Ok(()));
}

#[test]
fn who_has_gone_gets_no_late_answer() {
    let mut sim = Sim::new(Settings::default());
    let vm = sim.vm(0);
    sim.on("PowerOnVM_Task", Action::Delay { by: "5s".parse().unwrap() });
    let id = sim.ask("PowerOnVM_Task", &vm, "");
    sim.step(Input::Gone(RequestId(id)));
    sim.pass(10);
    assert_eq!(sim.reply(id), None);
    assert_eq!(sim.count("PowerOnVM_Task", "gone"), 1);
}

#[test]
fn files_over_http_meet_rules_by_verb_and_path() {
    let mut sim = Sim::new(Settings::default());
    sim.on("GET /folder/*.iso", Action::Drop);
    let get = |path: &str| Request { method: "GET".into(), path: path.into(), ..Request::default() };
    let id = sim.send(get("/folder/a.iso"));
    assert_eq!(sim.reply(id).unwrap().body, Body::Cut);
    let id = sim.send(get("/folder/a.txt"));
    assert_eq!(sim.reply(id).unwrap().status, 401);
}

#[test]
fn a_task_fails_after_its_time_and_leaves_what_the_rule_says() {
    for (remains, left) in [(Remains::Nothing, false), (Remains::Everything, true)] {
        let mut sim = Sim::new(Settings::default());
        let source = sim.vm(0);
        let store = sim.find("DC0/datastore/LocalDS_0");
        let free = sim.get(&store, "summary.freeSpace");
        let after = "30s".parse().unwrap();
        sim.on("CloneVM_Task", Action::TaskError { fault: fault("NoDiskSpace"), after, remains });
        let task = sim.clone(&source, "half", false);
        sim.pass(29);
        assert_eq!(sim.state(&task), "running");
        assert!(sim.look_for("DC0/vm/half").is_some(), "it is being made");
        sim.pass(1);
        assert_eq!(sim.task(&task), ("error".to_owned(), Some("NoDiskSpace".to_owned())));
        assert_eq!(sim.look_for("DC0/vm/half").is_some(), left);
        assert_eq!(sim.get(&store, "summary.freeSpace") == free, !left);
    }
}

#[test]
fn powering_on_that_fails_gives_its_room_back() {
    let mut sim = Sim::new(slow());
    let vm = sim.vm(0);
    let host = ("HostSystem".to_owned(), sim.get(&vm, "runtime.host"));
    let used = |sim: &mut Sim| sim.get(&host, "summary.quickStats.overallMemoryUsage");
    let before = used(&mut sim);
    let after = "1s".parse().unwrap();
    let error = Action::TaskError { fault: fault("SystemError"), after, remains: Remains::Nothing };
    let rule = sim.on("PowerOnVM_Task", error);
    let task = sim.power_on(&vm);
    assert_ne!(used(&mut sim), before);
    sim.pass(1);
    assert_eq!(sim.state(&task), "error");
    assert_eq!(used(&mut sim), before);
    assert_eq!(sim.get(&vm, "runtime.powerState"), "poweredOff");
    sim.control(Control::RemoveRule(rule)).unwrap();
    let task = sim.power_on(&vm);
    sim.call("CancelTask", &task, "").unwrap();
    assert_eq!((sim.state(&task).as_str(), used(&mut sim)), ("error", before));
}

#[test]
fn a_clone_whose_power_on_fails_stays() {
    let mut sim = Sim::new(Settings::default());
    let source = sim.vm(0);
    sim.rule(Rule {
        method: "PowerOnVM_Task".into(),
        target: "ci-*".into(),
        ..Rule::new(Action::Fault(fault("InsufficientMemoryResourcesFault")))
    });
    let task = sim.clone(&source, "ci-1", true);
    assert_eq!(sim.task(&task).1.as_deref(), Some("InsufficientMemoryResourcesFault"));
    let left = sim.find("DC0/vm/ci-1");
    assert_eq!(sim.get(&left, "runtime.powerState"), "poweredOff");
}

#[test]
fn a_session_that_a_rule_ends_is_ended_for_this_call_and_the_next() {
    let mut sim = Sim::new(Settings::default());
    let vm = sim.vm(0);
    let mine = std::mem::take(&mut sim.cookie);
    sim.log_in().unwrap();
    let other = std::mem::replace(&mut sim.cookie, mine);
    sim.rule(Rule { method: "PowerOnVM_Task".into(), count: Some(1), ..Rule::new(Action::ExpireCaller) });
    for _ in 0..2 {
        assert_eq!(ok(sim.call("PowerOnVM_Task", &vm, "")), Err("NotAuthenticated".to_owned()));
    }
    sim.cookie = other;
    assert_eq!(sim.get(&vm, "runtime.powerState"), "poweredOff");
    assert_eq!(ok(sim.call("PowerOnVM_Task", &vm, "")), Ok(()));
}

#[test]
fn a_frozen_stream_says_nothing_until_it_thaws() {
    let mut sim = Sim::new(Settings::default());
    let vm = sim.vm(0);
    let collector = sim.watch(&vm, "runtime.powerState");
    let other = sim.watch(&vm, "runtime.powerState");
    let rule = sim.rule(Rule { target: collector.1.clone(), ..Rule::new(Action::Freeze) });
    let waits = [sim.wait(&collector, "", 60), sim.wait(&other, "", 60)];
    assert_eq!(sim.reply(waits[0]), None, "not even what is there already");
    assert!(sim.reply(waits[1]).is_some(), "another stream goes on");
    sim.power_on(&vm);
    sim.pass(600);
    assert_eq!(sim.reply(waits[0]), None, "not even when it has waited long enough");
    // A deadline that nobody keeps must not wake the shell over and over.
    assert!(sim.wake_at.is_none_or(|at| at > sim.now));
    sim.control(Control::RemoveRule(rule)).unwrap();
    let answer = text(&sim.reply(waits[0]).unwrap());
    assert!(answer.contains("poweredOn"), "{answer}");
}

#[test]
fn a_change_is_told_late_and_read_at_once() {
    let mut sim = Sim::new(Settings::default());
    let vm = sim.vm(0);
    let [power, boot] = ["runtime.powerState", "runtime.bootTime"].map(|path| sim.watch(&vm, path));
    let by = Span::Constant(SignedDuration::from_secs(5));
    sim.rule(Rule::new(Action::Late { property: "runtime.power*".to_owned(), by }));
    for collector in [&power, &boot] {
        let first = sim.wait(collector, "", 60);
        assert!(sim.reply(first).is_some());
    }
    let [late, at_once] = [sim.wait(&power, "1", 60), sim.wait(&boot, "1", 60)];
    sim.power_on(&vm);
    assert_eq!(sim.get(&vm, "runtime.powerState"), "poweredOn");
    assert!(sim.reply(at_once).is_some(), "another property is told at once");
    sim.pass(4);
    assert_eq!(sim.reply(late), None);
    sim.pass(1);
    let answer = text(&sim.reply(late).unwrap());
    assert!(answer.contains("poweredOn"), "{answer}");
}

#[test]
fn rules_that_make_no_sense_are_refused() {
    let mut sim = Sim::new(Settings::default());
    for (rule, why) in [
        (Rule { probability: Some(1.5), ..Rule::new(Action::Drop) }, "probability"),
        (Rule { probability: Some(f64::NAN), ..Rule::new(Action::Drop) }, "probability"),
        (Rule::new(Action::Fault(fault("a b"))), "not the name"),
        (Rule::new(Action::Fault(fault(""))), "not the name"),
        (Rule::new(Action::Status { code: 200 }), "status"),
        (Rule::new(Action::SlowBody { bytes_per_second: 0 }), "byte"),
        (Rule { count: Some(1), ..Rule::new(Action::Freeze) }, "freeze"),
    ] {
        let refused = sim.control(Control::AddRule(rule.clone())).unwrap_err();
        assert!(refused.contains(why), "{rule:?}: {refused}");
    }
    assert_eq!(sim.control(Control::RemoveRule(9)).unwrap_err(), "there is no such rule");
}

/// All that a world says to a fixed log of inputs.
fn chronicle(seed: u64) -> String {
    let mut settings = slow();
    settings.seed = seed;
    settings.durations.power = "1s..9s".parse().unwrap();
    settings.durations.clone = "exp 5s".parse().unwrap();
    settings.guests.tools = "~10s".parse().unwrap();
    let mut sim = Sim::new(settings);
    let vms = [sim.vm(0), sim.vm(1)];
    for action in
        [Action::Fault(fault("SystemError")), Action::LoseReply, Action::Delay { by: "~3s".parse().unwrap() }]
    {
        sim.rule(Rule { probability: Some(0.3), method: "*_Task".into(), ..Rule::new(action) });
    }
    let mut said = Vec::new();
    let mut asked = Vec::new();
    for round in 0..30 {
        let vm = &vms[round % 2];
        asked.push(match round % 3 {
            0 => sim.ask("PowerOnVM_Task", vm, ""),
            1 => sim.ask("PowerOffVM_Task", vm, ""),
            _ => sim.ask("Fetch", vm, "<prop>summary</prop>"),
        });
        sim.pass(2);
    }
    for id in asked {
        said.push(format!("{:?}", sim.reply(id)));
    }
    let inside = sim.control(Control::Inspect).unwrap();
    said.push(format!("{:?} {inside}", sim.wake_at));
    said.join("\n")
}

#[test]
fn the_same_log_of_inputs_gives_the_same_bytes_whatever_is_left_to_chance() {
    assert_eq!(chronicle(1), chronicle(1));
    assert_ne!(chronicle(1), chronicle(2));
}
