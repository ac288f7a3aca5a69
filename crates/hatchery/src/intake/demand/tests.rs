use proptest::prelude::*;
use rookery_cds::{
    Group, InvalidModelPath, ModelPath, Requirement, RequirementKind, RunJob, V1Job, V1Model, V2Model,
    VirtualMachine,
};
use serde_json::json;

use super::v1::can_spawn;
use super::*;

const IN_REPOSITORY: &str = "PRJ/github/org/app/builder";

fn kind(text: &str) -> RequirementKind {
    serde_json::from_value(json!(text)).expect("a kind")
}

fn requirement(of: &str, value: &str) -> Requirement {
    Requirement { kind: kind(of), value: value.to_owned(), ..Requirement::default() }
}

/// A job that waits, for the groups 3 and 7.
fn job(requirements: &[(&str, &str)]) -> V1Job {
    let requirements: Vec<_> =
        requirements.iter().map(|(kind, value)| json!({"type": kind, "value": value})).collect();
    let job = json!({
        "id": 1,
        "status": "Waiting",
        "exec_groups": [{"id": 3}, {"id": 7}],
        "job": {"action": {"requirements": requirements}},
    });
    serde_json::from_value(job).expect("a job")
}

fn of_group(id: i64, model: V1Model) -> V1Model {
    V1Model { group: Group { id, ..model.group }, ..model }
}

fn model(name: &str) -> V1Model {
    V1Model {
        name: name.to_owned(),
        group: Group { id: 7, name: "team".to_owned() },
        kind: "vsphere".to_owned(),
        registered_os: Some("linux".to_owned()),
        registered_arch: Some("amd64".to_owned()),
        registered_capabilities: [Requirement { name: "git-scm".to_owned(), ..requirement("binary", "git") }]
            .into(),
        model_virtual_machine: VirtualMachine { cmd: "./worker".to_owned(), ..VirtualMachine::default() },
        ..V1Model::default()
    }
}

/// The path of the model that was chosen, or nothing.
fn chosen(job: &V1Job, models: &[V1Model], rules: &Rules) -> Result<String, Refusal> {
    Ok(match decide_v1(job, models, rules)? {
        V1Choice::Model(model) => model.path(),
        V1Choice::InRepository(path) => path.to_string(),
        V1Choice::None(_) => String::new(),
    })
}

/// Why none of the models was chosen.
fn reasons(job: &V1Job, models: &[V1Model], rules: &Rules) -> Vec<(String, Refusal)> {
    match decide_v1(job, models, rules) {
        Ok(V1Choice::None(reasons)) => reasons,
        other => panic!("{other:?}"),
    }
}

fn rules() -> Rules {
    Rules {
        region: "rbx".to_owned(),
        os_arch: vec!["linux/amd64".to_owned()],
        reads_v2_models: true,
        ..Rules::default()
    }
}

fn with_defaults(defaults: &[(&str, &[&str])]) -> Rules {
    let default_models = defaults
        .iter()
        .map(|(model, binaries)| DefaultModel {
            model: (*model).to_owned(),
            binaries: binaries.iter().map(|binary| (*binary).to_owned()).collect(),
        })
        .collect();
    Rules { default_models, ..rules() }
}

/// The answer for a job and one model.
fn refused(job: &V1Job, model: &V1Model) -> Option<Refusal> {
    let models = std::slice::from_ref(model);
    if chosen(job, models, &rules()) == Ok(model.path()) {
        return None;
    }
    let mut reasons = reasons(job, models, &rules());
    assert_eq!((reasons.len(), reasons[0].0.clone()), (1, model.path()));
    Some(reasons.remove(0).1)
}

fn in_repository(choice: Result<V1Choice<'_>, Refusal>) -> ModelPath {
    match choice {
        Ok(V1Choice::InRepository(model)) => model,
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_a_job_that_waits_and_is_not_booked_is_taken() {
    for status in ["Building", "Success", "Stopped", "", "waiting"] {
        let mut job = job(&[]);
        job.status = serde_json::from_value(json!(status)).expect("a status");
        let refusal = chosen(&job, &[model("a")], &rules()).unwrap_err();
        assert_eq!(refusal, Refusal::NotWaiting { status: job.status });
        assert_eq!(refusal.to_string(), format!("the job does not wait for a worker: it is {status}"));
    }
    let mut booked = job(&[]);
    booked.booked_by.id = 12;
    assert_eq!(chosen(&booked, &[model("a")], &rules()), Err(Refusal::Booked));
    assert_eq!(chosen(&job(&[]), &[model("a")], &rules()), Ok("team/a".to_owned()));
}

// Every hatchery is shown V1 jobs without a model, and wrote on them that it could not run them.
#[test]
fn a_job_is_named_for_us_by_a_model_of_ours_alone() {
    let docker = V1Model { kind: "docker".to_owned(), ..model("container") };
    let models = [model("debian"), docker];
    let ours = IN_REPOSITORY.parse::<ModelPath>().unwrap();
    let check = |requirements: &[(&str, &str)]| {
        v1_names_our_model(&job(requirements), &models, &|reference| *reference == ours)
    };
    for named in ["debian", "team/debian", "team/debian --port=1", IN_REPOSITORY] {
        assert!(check(&[("model", named)]), "{named}");
        assert!(check(&[("binary", "git"), ("model", named)]), "{named}");
    }
    assert!(!check(&[]), "a job without a model");
    assert!(!check(&[("binary", "git"), ("flavor", "large")]));
    for other in ["rocky", "other/debian", "container", "PRJ/github/org/app/other", "PRJ//org/app/x"] {
        assert!(!check(&[("model", other)]), "{other}");
    }
}

#[test]
fn a_v2_job_is_named_for_us_by_type_and_system() {
    for (model_type, os_arch, expected) in [
        ("vsphere", "linux/amd64", true),
        ("docker", "linux/amd64", false),
        ("vsphere", "windows/amd64", false),
    ] {
        let model = V2Model { kind: model_type.to_owned(), osarch: os_arch.to_owned(), ..V2Model::default() };
        assert_eq!(v2_names_our_model(&model, &rules()), expected, "{model_type} {os_arch}");
    }
}

#[test]
fn a_job_s_region_must_be_ours_whatever_its_model() {
    let wrong = |own: &str| Refusal::WrongRegion { wanted: "gra".to_owned(), own: own.to_owned() };
    let strict = || Rules { ignore_job_with_no_region: true, ..rules() };
    let nowhere = || Rules { region: String::new(), ..rules() };
    for (regions, rules, expected) in [
        (&[][..], rules(), Ok(())),
        (&["rbx"], rules(), Ok(())),
        (&["gra"], rules(), Err(wrong("rbx"))),
        (&["rbx", "gra"], rules(), Err(wrong("rbx"))),
        (&["gra"], nowhere(), Err(wrong(""))),
        (&[], strict(), Err(Refusal::NoRegion)),
        (&["rbx"], strict(), Ok(())),
    ] {
        for named in [None, Some(IN_REPOSITORY)] {
            let mut requirements: Vec<_> = regions.iter().map(|region| ("region", *region)).collect();
            requirements.extend(named.map(|model| ("model", model)));
            let decided = decide_v1(&job(&requirements), &[model("a")], &rules).map(|_| ());
            assert_eq!(decided, expected, "{regions:?} {named:?}");
        }
    }
}

#[test]
fn what_a_vm_cannot_give_is_refused_on_every_model_and_the_rest_is_not() {
    for (kind, accepted) in [
        ("service", false),
        ("memory", false),
        ("hostname", false),
        ("network", false),
        ("flavor", true),
        ("plugin", true),
        ("secret", true),
    ] {
        let refusal = Refusal::Requirement { kind: self::kind(kind) };
        for requirements in
            [&[(kind, "x")][..], &[(kind, "x"), ("model", IN_REPOSITORY)], &[(kind, "x"), ("model", "a")]]
        {
            let decided = chosen(&job(requirements), &[model("a")], &rules());
            assert_eq!(decided.err().as_ref(), (!accepted).then_some(&refusal), "{requirements:?}");
        }
        let fetched = fetched_model_fits(&job(&[(kind, "x")]), &v2_model());
        assert_eq!(fetched.err(), (!accepted).then_some(refusal.clone()), "{kind}");
        let spawned = can_spawn(&model("a"), &[requirement(kind, "x")]);
        assert_eq!(spawned.err(), (!accepted).then_some(refusal), "{kind}");
    }
    assert_eq!(
        Refusal::Requirement { kind: RequirementKind::Service }.to_string(),
        "workers in VMs cannot honour a requirement of type service"
    );
}

#[test]
fn a_model_fits_unless_a_row_of_the_table_says_no() {
    let path = || "team/a".to_owned();
    let plain = || job(&[]);
    let mut for_any_group = plain();
    for_any_group.exec_groups.clear();
    let no_os = V1Model { registered_os: None, ..model("a") };
    let empty_arch = V1Model { registered_arch: Some(String::new()), ..model("a") };
    let deprecated = V1Model { is_deprecated: true, ..model("a") };
    let no_command = VirtualMachine { cmd: " ".to_owned(), ..VirtualMachine::default() };
    let os_arch = |wanted: &str| Refusal::OsArch {
        model: path(),
        os_arch: "linux/amd64".to_owned(),
        wanted: wanted.to_owned(),
    };
    let binary = |binary: &str| Refusal::Binary { model: path(), binary: binary.to_owned() };
    for (number, (job, model, expected)) in [
        (plain(), model("a"), None),
        (
            plain(),
            V1Model { kind: "docker".to_owned(), ..model("a") },
            Some(Refusal::ModelType { model: path(), model_type: "docker".to_owned() }),
        ),
        (
            plain(),
            V1Model { need_registration: true, ..model("a") },
            Some(Refusal::NeedsRegistration { model: path() }),
        ),
        (plain(), V1Model { nb_spawn_err: 5, ..model("a") }, None),
        (
            plain(),
            V1Model { nb_spawn_err: 6, ..model("a") },
            Some(Refusal::SpawnErrors { model: path(), errors: 6 }),
        ),
        (plain(), of_group(8, model("a")), Some(Refusal::Group { model: path() })),
        (for_any_group, of_group(8, model("a")), None),
        (plain(), deprecated.clone(), Some(Refusal::Deprecated { model: path() })),
        (job(&[("model", "team/a")]), deprecated, None),
        // Whatever the job requires, or if it requires nothing.
        (
            plain(),
            V1Model { model_virtual_machine: no_command, ..model("a") },
            Some(Refusal::NoCommand { model: path() }),
        ),
        (job(&[("os-architecture", "linux/amd64")]), model("a"), None),
        (job(&[("os-architecture", "linux/arm64")]), model("a"), Some(os_arch("linux/arm64"))),
        (job(&[("os-architecture", "linux/arm64")]), no_os, None),
        (job(&[("os-architecture", "linux/arm64")]), empty_arch, None),
        (job(&[("binary", "git")]), model("a"), None),
        (job(&[("binary", "git-scm")]), model("a"), None),
        (job(&[("binary", "git"), ("binary", "make")]), model("a"), Some(binary("make"))),
        (job(&[("binary", "make"), ("model", "a")]), model("a"), None),
        (job(&[("region", "rbx")]), model("a"), None),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(refused(&job, &model), expected, "row {number}: {job:?}");
    }
}

#[test]
fn a_model_is_named_by_the_first_word_with_or_without_its_group() {
    let shared = V1Model { group: Group { id: 7, name: "shared.infra".to_owned() }, ..model("a") };
    for (value, model, fits) in [
        ("team/a", model("a"), true),
        ("team/a --port=8888:9999", model("a"), true),
        ("a", model("a"), true),
        ("a --privileged", shared.clone(), true),
        ("shared.infra/a", shared.clone(), true),
        ("team/a", shared, false),
        ("other/a", model("a"), false),
        ("b", model("a"), false),
        ("", model("a"), false),
    ] {
        let wanted = value.split(' ').next().unwrap_or_default().to_owned();
        let expected = (!fits).then_some(Refusal::OtherModel { wanted });
        assert_eq!(refused(&job(&[("model", value)]), &model), expected, "{value}");
    }
}

#[test]
fn the_first_model_that_fits_is_taken_and_otherwise_each_has_its_reason() {
    let broken = V1Model { nb_spawn_err: 9, ..model("a") };
    let docker = V1Model { kind: "docker".to_owned(), ..model("b") };
    let models = [broken, docker, model("c"), model("d")];
    assert_eq!(chosen(&job(&[]), &models, &rules()), Ok("team/c".to_owned()));
    let reasons = reasons(&job(&[("binary", "make")]), &models, &rules());
    let shown: Vec<_> = reasons.iter().map(|(model, why)| (model.as_str(), why.as_str())).collect();
    assert_eq!(
        shown,
        [("team/a", "spawn_errors"), ("team/b", "model_type"), ("team/c", "binary"), ("team/d", "binary")]
    );
    assert_eq!(self::reasons(&job(&[]), &[], &rules()), []);
}

fn path(repository: &str, name: &str, branch: &str) -> ModelPath {
    ModelPath {
        project: "PRJ".to_owned(),
        vcs: "github".to_owned(),
        repository: repository.to_owned(),
        name: name.to_owned(),
        branch: branch.to_owned(),
    }
}

#[test]
fn a_required_model_of_five_parts_lies_in_a_repository() {
    for (value, expected) in [
        (IN_REPOSITORY, path("org/app", "builder", "master")),
        ("PRJ/github/org/app/builder --port=1:2", path("org/app", "builder", "master")),
        ("PRJ/github/org/sub/app/builder@dev", path("org/sub/app", "builder", "dev")),
        ("PRJ/github/org/app/builder@refs/heads/feat/x", path("org/app", "builder", "feat/x")),
        ("PRJ/github/org/app/builder@refs/tags/v1", path("org/app", "builder", "refs/tags/v1")),
    ] {
        // Even where a model of the list would do as well.
        let (job, models) = (job(&[("model", value)]), [model("builder")]);
        assert_eq!(in_repository(decide_v1(&job, &models, &rules())), expected, "{value}");
    }
    // Four parts do not, nor do slashes of a branch.
    for value in ["PRJ/github/app/builder", "a@x/y/z/1/2"] {
        assert_eq!(reasons(&job(&[("model", value)]), &[model("a")], &rules()).len(), 1, "{value}");
    }
    for value in ["PRJ/github//app/builder", "PRJ/github/org/app/", "PRJ/github/org/app/builder@"] {
        let refusal = Refusal::ModelReference(InvalidModelPath { given: value.to_owned() });
        assert_eq!(chosen(&job(&[("model", value)]), &[], &rules()), Err(refusal));
    }
}

#[test]
fn without_a_v2_session_no_model_is_read_from_a_repository() {
    let deaf = Rules { reads_v2_models: false, ..with_defaults(&[(IN_REPOSITORY, &[])]) };
    let refusal = Refusal::NoV2Session { given: IN_REPOSITORY.to_owned() };
    assert_eq!(chosen(&job(&[("model", IN_REPOSITORY)]), &[model("a")], &deaf), Err(refusal));
    assert_eq!(chosen(&job(&[]), &[model("a")], &deaf), Ok("team/a".to_owned()));
}

#[test]
fn a_job_that_names_no_model_gets_the_first_default_that_has_one_of_its_programs() {
    let rules = with_defaults(&[
        ("PRJ/github/org/app/first", &["git"]),
        ("PRJ/github/org/app/second@dev", &["make", "go"]),
        ("PRJ/github/app/third", &["go", "rustc"]),
    ]);
    let name = |requirements: &[(&str, &str)]| {
        in_repository(decide_v1(&job(requirements), &[model("a")], &rules)).name
    };
    assert_eq!(name(&[]), "first");
    assert_eq!(name(&[("os-architecture", "linux/amd64")]), "first");
    assert_eq!(name(&[("binary", "go")]), "second");
    assert_eq!(name(&[("binary", "unknown"), ("binary", "make")]), "second");
    // A default may have a repository without organisation.
    assert_eq!(name(&[("binary", "rustc")]), "third");
    // No default has it: the list of models is next.
    assert_eq!(chosen(&job(&[("binary", "git-scm")]), &[model("a")], &rules), Ok("team/a".to_owned()));
    assert_eq!(chosen(&job(&[("model", "a")]), &[model("a")], &rules), Ok("team/a".to_owned()));
}

#[test]
fn a_default_that_cannot_be_read_leaves_the_list_of_models() {
    let rules = with_defaults(&[("builder", &[])]);
    assert_eq!(chosen(&job(&[]), &[model("a")], &rules), Ok("team/a".to_owned()));
    let refusal = Refusal::ModelReference(InvalidModelPath { given: "builder".to_owned() });
    assert_eq!(reasons(&job(&[]), &[], &rules), [("builder".to_owned(), refusal)]);
}

fn v2_model() -> V2Model {
    V2Model {
        name: "debian12".to_owned(),
        kind: "vsphere".to_owned(),
        osarch: "linux/amd64".to_owned(),
        ..V2Model::default()
    }
}

#[test]
fn a_model_that_was_read_must_be_ours_and_of_the_system_that_the_job_wants() {
    let wants = |os_arch| job(&[("os-architecture", os_arch)]);
    let docker = V2Model { kind: "docker".to_owned(), ..v2_model() };
    assert_eq!(fetched_model_fits(&wants("linux/amd64"), &v2_model()), Ok(()));
    assert_eq!(fetched_model_fits(&wants("linux/arm64"), &v2_model()).unwrap_err().as_str(), "os_arch");
    assert_eq!(fetched_model_fits(&job(&[]), &docker).unwrap_err().as_str(), "model_type");
}

#[test]
fn a_v2_job_is_taken_unless_a_row_says_no() {
    let job = |status: &str, model: &str, memory: &str, services: &[&str]| -> RunJob {
        let services: serde_json::Map<_, _> =
            services.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        let runs_on = json!({"model": model, "memory": memory});
        let id = "6ec08f8c-2b9f-4e0a-81ab-5e980012400a";
        let job = json!({"id": id, "status": status, "job": {"runs-on": runs_on, "services": services}});
        serde_json::from_value(job).expect("a job")
    };
    let path = "PRJ/github/org/app/debian12";
    let waiting = || job("Waiting", path, "", &[]);
    let arm = || V2Model { osarch: "linux/arm64".to_owned(), ..v2_model() };
    let openstack = || V2Model { kind: "openstack".to_owned(), ..v2_model() };
    let both = || Rules { os_arch: vec!["linux/amd64".to_owned(), "linux/arm64".to_owned()], ..rules() };
    for (job, model, rules, expected) in [
        (waiting(), v2_model(), rules(), None),
        (job("Scheduling", path, "", &[]), v2_model(), rules(), Some("not_waiting")),
        (job("Waiting", "", "", &[]), v2_model(), rules(), Some("no_model")),
        (waiting(), openstack(), rules(), Some("model_type")),
        (waiting(), arm(), rules(), Some("os_arch")),
        (waiting(), arm(), both(), None),
        (job("Waiting", path, "", &["pg"]), v2_model(), rules(), Some("services")),
        (job("Waiting", path, "4096", &[]), v2_model(), rules(), Some("memory")),
    ] {
        let decided = decide_v2(&job, &model, &rules);
        assert_eq!(decided.as_ref().err().map(Refusal::as_str), expected, "{job:?} {model:?}");
    }
    let services = job("Waiting", path, "", &["pg", "redis"]);
    assert_eq!(
        decide_v2(&services, &v2_model(), &rules()).unwrap_err().to_string(),
        "workers in VMs cannot start the job's services (pg, redis)"
    );
}

#[test]
fn a_refusal_is_permanent_where_only_job_and_settings_count() {
    for (refusal, permanent) in [
        (Refusal::NoRegion, true),
        (Refusal::Requirement { kind: RequirementKind::Service }, true),
        (Refusal::Services { services: vec![] }, true),
        (Refusal::UnknownFlavor { flavor: "x".to_owned(), known: vec![] }, true),
        (Refusal::Booked, false),
        (Refusal::NoModelFits, false),
        (Refusal::NoCommand { model: "a".to_owned() }, false),
    ] {
        assert_eq!(refusal.is_permanent(), permanent, "{refusal}");
    }
}

proptest! {
    #[test]
    fn no_path_makes_it_panic_and_its_pieces_are_in_it(given in "[a-z/@ é]*") {
        if let Ok(model) = given.parse::<ModelPath>() {
            let path = format!("{}/{}/{}/{}", model.project, model.vcs, model.repository, model.name);
            prop_assert!(given.starts_with(&path));
        }
        drop(decide_v1(&job(&[("model", &given)]), &[model("a")], &rules()));
    }
}
