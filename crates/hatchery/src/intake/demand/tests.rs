use proptest::prelude::*;

use super::*;

const AS_CODE: &str = "PRJ/github/org/app/builder";

fn requirement(kind: &str, value: &str) -> Requirement {
    Requirement { kind: kind.into(), value: value.to_owned() }
}

fn job(requirements: &[(&str, &str)]) -> V1Job {
    V1Job {
        status: "Waiting".to_owned(),
        booked_by: 0,
        exec_groups: vec![3, 7],
        requirements: requirements.iter().map(|(kind, value)| requirement(kind, value)).collect(),
    }
}

fn model(name: &str) -> V1Model {
    V1Model {
        name: name.to_owned(),
        group: "team".to_owned(),
        group_id: 7,
        model_type: "vsphere".to_owned(),
        needs_registration: false,
        spawn_errors: 0,
        deprecated: false,
        os: Some("linux".to_owned()),
        arch: Some("amd64".to_owned()),
        capabilities: vec![Capability { name: "git-scm".to_owned(), value: "git".to_owned() }],
        cmd: "./worker".to_owned(),
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
    match decide_v1(job, std::slice::from_ref(model), &rules()).unwrap() {
        V1Choice::Model(0) => None,
        V1Choice::None(mut reasons) => {
            assert_eq!((reasons.len(), reasons[0].0.clone()), (1, model.path()));
            Some(reasons.remove(0).1)
        }
        other @ (V1Choice::Model(_) | V1Choice::AsCode(_)) => panic!("{other:?}"),
    }
}

fn as_code(choice: Result<V1Choice, Refusal>) -> AsCodeRef {
    match choice {
        Ok(V1Choice::AsCode(model)) => model,
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_a_job_that_waits_and_is_not_booked_is_taken() {
    for status in ["Building", "Success", "Stopped", "", "waiting"] {
        let job = V1Job { status: status.to_owned(), ..job(&[]) };
        let refusal = Refusal::NotWaiting { status: status.to_owned() };
        assert_eq!(decide_v1(&job, &[model("a")], &rules()), Err(refusal));
    }
    let booked = V1Job { booked_by: 12, ..job(&[]) };
    assert_eq!(decide_v1(&booked, &[model("a")], &rules()), Err(Refusal::Booked));
    assert_eq!(decide_v1(&job(&[]), &[model("a")], &rules()), Ok(V1Choice::Model(0)));
}

// Every hatchery is shown V1 jobs without a model, and wrote on them that it could not run them.
#[test]
fn a_job_is_named_for_us_by_a_model_of_ours_alone() {
    let docker = V1Model { model_type: "docker".to_owned(), ..model("container") };
    let models = [model("debian"), docker];
    let ours = AsCodeRef::parse(AS_CODE).unwrap();
    let check = |requirements: &[(&str, &str)]| {
        v1_names_our_model(&job(requirements), &models, &|reference| *reference == ours)
    };
    for named in ["debian", "team/debian", "team/debian --port=1", AS_CODE] {
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
        let model =
            V2Model { name: "m".to_owned(), model_type: model_type.to_owned(), os_arch: os_arch.to_owned() };
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
        for named in [None, Some(AS_CODE)] {
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
        let refusal = Refusal::Requirement { kind: kind.into() };
        for requirements in
            [&[(kind, "x")][..], &[(kind, "x"), ("model", AS_CODE)], &[(kind, "x"), ("model", "a")]]
        {
            let decided = decide_v1(&job(requirements), &[model("a")], &rules());
            assert_eq!(decided.as_ref().err(), (!accepted).then_some(&refusal), "{requirements:?}");
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
    let no_os = V1Model { os: None, ..model("a") };
    let empty_arch = V1Model { arch: Some(String::new()), ..model("a") };
    let deprecated = V1Model { deprecated: true, ..model("a") };
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
            V1Model { model_type: "docker".to_owned(), ..model("a") },
            Some(Refusal::ModelType { model: path(), model_type: "docker".to_owned() }),
        ),
        (
            plain(),
            V1Model { needs_registration: true, ..model("a") },
            Some(Refusal::NeedsRegistration { model: path() }),
        ),
        (plain(), V1Model { spawn_errors: 5, ..model("a") }, None),
        (
            plain(),
            V1Model { spawn_errors: 6, ..model("a") },
            Some(Refusal::SpawnErrors { model: path(), errors: 6 }),
        ),
        (plain(), V1Model { group_id: 8, ..model("a") }, Some(Refusal::Group { model: path() })),
        (V1Job { exec_groups: vec![], ..plain() }, V1Model { group_id: 8, ..model("a") }, None),
        (plain(), deprecated.clone(), Some(Refusal::Deprecated { model: path() })),
        (job(&[("model", "team/a")]), deprecated, None),
        // Whatever the job requires, or if it requires nothing.
        (plain(), V1Model { cmd: " ".to_owned(), ..model("a") }, Some(Refusal::NoCommand { model: path() })),
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
    let shared = V1Model { group: "shared.infra".to_owned(), ..model("a") };
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
    let broken = V1Model { spawn_errors: 9, ..model("a") };
    let docker = V1Model { model_type: "docker".to_owned(), ..model("b") };
    let models = [broken, docker, model("c"), model("d")];
    assert_eq!(decide_v1(&job(&[]), &models, &rules()), Ok(V1Choice::Model(2)));
    let Ok(V1Choice::None(reasons)) = decide_v1(&job(&[("binary", "make")]), &models, &rules()) else {
        panic!("make is nowhere")
    };
    let shown: Vec<_> = reasons.iter().map(|(model, why)| (model.as_str(), why.as_str())).collect();
    assert_eq!(
        shown,
        [("team/a", "spawn_errors"), ("team/b", "model_type"), ("team/c", "binary"), ("team/d", "binary")]
    );
    assert_eq!(decide_v1(&job(&[]), &[], &rules()), Ok(V1Choice::None(vec![])));
}

fn reference(repository: &str, name: &str, branch: &str) -> AsCodeRef {
    AsCodeRef {
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
        (AS_CODE, reference("org/app", "builder", "master")),
        ("PRJ/github/org/app/builder --port=1:2", reference("org/app", "builder", "master")),
        ("PRJ/github/org/sub/app/builder@dev", reference("org/sub/app", "builder", "dev")),
        ("PRJ/github/org/app/builder@refs/heads/feat/x", reference("org/app", "builder", "feat/x")),
        ("PRJ/github/org/app/builder@refs/tags/v1", reference("org/app", "builder", "refs/tags/v1")),
    ] {
        // Even where a model of the list would do as well.
        let decided = decide_v1(&job(&[("model", value)]), &[model("builder")], &rules());
        assert_eq!(as_code(decided), expected, "{value}");
    }
    // Four parts do not, nor do slashes of a branch.
    for value in ["PRJ/github/app/builder", "a@x/y/z/1/2"] {
        let decided = decide_v1(&job(&[("model", value)]), &[model("a")], &rules()).unwrap();
        assert!(matches!(decided, V1Choice::None(_)), "{value}: {decided:?}");
    }
    for value in ["PRJ/github//app/builder", "PRJ/github/org/app/", "PRJ/github/org/app/builder@"] {
        let refusal = Refusal::ModelReference { given: value.to_owned() };
        assert_eq!(decide_v1(&job(&[("model", value)]), &[], &rules()), Err(refusal));
    }
}

#[test]
fn without_a_v2_session_no_model_is_read_from_a_repository() {
    let deaf = Rules { reads_v2_models: false, ..with_defaults(&[(AS_CODE, &[])]) };
    let refusal = Refusal::NoV2Session { given: AS_CODE.to_owned() };
    assert_eq!(decide_v1(&job(&[("model", AS_CODE)]), &[model("a")], &deaf), Err(refusal));
    assert_eq!(decide_v1(&job(&[]), &[model("a")], &deaf), Ok(V1Choice::Model(0)));
}

#[test]
fn a_job_that_names_no_model_gets_the_first_default_that_has_one_of_its_programs() {
    let rules = with_defaults(&[
        ("PRJ/github/org/app/first", &["git"]),
        ("PRJ/github/org/app/second@dev", &["make", "go"]),
        ("PRJ/github/app/third", &["go", "rustc"]),
    ]);
    let name =
        |requirements: &[(&str, &str)]| as_code(decide_v1(&job(requirements), &[model("a")], &rules)).name;
    assert_eq!(name(&[]), "first");
    assert_eq!(name(&[("os-architecture", "linux/amd64")]), "first");
    assert_eq!(name(&[("binary", "go")]), "second");
    assert_eq!(name(&[("binary", "unknown"), ("binary", "make")]), "second");
    // A default may have a repository without organisation.
    assert_eq!(name(&[("binary", "rustc")]), "third");
    // No default has it: the list of models is next.
    assert_eq!(decide_v1(&job(&[("binary", "git-scm")]), &[model("a")], &rules), Ok(V1Choice::Model(0)));
    assert_eq!(decide_v1(&job(&[("model", "a")]), &[model("a")], &rules), Ok(V1Choice::Model(0)));
}

#[test]
fn a_default_that_cannot_be_read_leaves_the_list_of_models() {
    let rules = with_defaults(&[("builder", &[])]);
    assert_eq!(decide_v1(&job(&[]), &[model("a")], &rules), Ok(V1Choice::Model(0)));
    let refusal = Refusal::ModelReference { given: "builder".to_owned() };
    assert_eq!(decide_v1(&job(&[]), &[], &rules), Ok(V1Choice::None(vec![("builder".to_owned(), refusal)])));
}

fn v2_model() -> V2Model {
    V2Model {
        name: "debian12".to_owned(),
        model_type: "vsphere".to_owned(),
        os_arch: "linux/amd64".to_owned(),
    }
}

#[test]
fn a_model_that_was_read_must_be_ours_and_of_the_system_that_the_job_wants() {
    let wants = |os_arch| job(&[("os-architecture", os_arch)]);
    let docker = V2Model { model_type: "docker".to_owned(), ..v2_model() };
    assert_eq!(fetched_model_fits(&wants("linux/amd64"), &v2_model()), Ok(()));
    assert_eq!(fetched_model_fits(&wants("linux/arm64"), &v2_model()).unwrap_err().as_str(), "os_arch");
    assert_eq!(fetched_model_fits(&job(&[]), &docker).unwrap_err().as_str(), "model_type");
}

#[test]
fn a_v2_job_is_taken_unless_a_row_says_no() {
    let waiting = || V2Job {
        status: "Waiting".to_owned(),
        model: "PRJ/github/org/app/debian12".to_owned(),
        memory: String::new(),
        services: vec![],
    };
    let arm = || V2Model { os_arch: "linux/arm64".to_owned(), ..v2_model() };
    let openstack = || V2Model { model_type: "openstack".to_owned(), ..v2_model() };
    let both = || Rules { os_arch: vec!["linux/amd64".to_owned(), "linux/arm64".to_owned()], ..rules() };
    for (job, model, rules, expected) in [
        (waiting(), v2_model(), rules(), None),
        (V2Job { status: "Scheduling".to_owned(), ..waiting() }, v2_model(), rules(), Some("not_waiting")),
        (V2Job { model: String::new(), ..waiting() }, v2_model(), rules(), Some("no_model")),
        (waiting(), openstack(), rules(), Some("model_type")),
        (waiting(), arm(), rules(), Some("os_arch")),
        (waiting(), arm(), both(), None),
        (V2Job { services: vec!["pg".to_owned()], ..waiting() }, v2_model(), rules(), Some("services")),
        (V2Job { memory: "4096".to_owned(), ..waiting() }, v2_model(), rules(), Some("memory")),
    ] {
        let decided = decide_v2(&job, &model, &rules);
        assert_eq!(decided.as_ref().err().map(Refusal::as_str), expected, "{job:?} {model:?}");
    }
    let services = V2Job { services: vec!["pg".to_owned(), "redis".to_owned()], ..waiting() };
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
        (Refusal::TemplateMissing { model: "a".to_owned(), template: "b".to_owned() }, false),
    ] {
        assert_eq!(refusal.is_permanent(), permanent, "{refusal}");
    }
}

#[test]
fn every_type_of_requirement_is_written_as_it_is_read() {
    for kind in [
        "binary",
        "model",
        "hostname",
        "plugin",
        "service",
        "memory",
        "os-architecture",
        "region",
        "secret",
        "flavor",
        "network",
    ] {
        assert_eq!(RequirementKind::from(kind).as_str(), kind);
        assert_eq!(matches!(RequirementKind::from(kind), RequirementKind::Other(_)), kind == "network");
    }
}

proptest! {
    #[test]
    fn no_path_makes_it_panic_and_its_pieces_are_in_it(given in "[a-z/@ é]*") {
        if let Ok(model) = AsCodeRef::parse(&given) {
            let path = format!("{}/{}/{}/{}", model.project, model.vcs, model.repository, model.name);
            prop_assert!(given.starts_with(&path));
        }
        drop(decide_v1(&job(&[("model", &given)]), &[model("a")], &rules()));
    }
}
