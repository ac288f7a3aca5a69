use proptest::prelude::*;

use super::*;

fn who(username: &str, password: &str) -> Credentials {
    Credentials { username: username.to_owned(), password: password.into() }
}

/// An entry of `models[]` or `guestCredentials[]`: template, path of a V1 model, and who.
type Entry<'a> = (&'a str, &'a str, Credentials);

fn entry<'a>(template: &'a str, model_path: &'a str, username: &str, password: &str) -> Entry<'a> {
    (template, model_path, who(username, password))
}

/// Both lists as the settings put them together.
fn configured(models: &[Entry<'_>], guests: &[Entry<'_>]) -> Configured {
    let mut all = Configured::new();
    for (source, entries) in [(Source::GuestCredentials, guests), (Source::Models, models)] {
        for (template, path, credentials) in entries {
            let keys = [
                (*template, ModelRef::V2((*template).to_owned())),
                (*path, ModelRef::V1((*path).to_owned())),
            ];
            let named = keys.into_iter().filter(|(name, _)| !name.is_empty());
            all.extend(named.map(|(_, model)| (model, (source, credentials.clone()))));
        }
    }
    all
}

fn resolve(
    model: &Model<'_>,
    models: &[Entry<'_>],
    guests: &[Entry<'_>],
) -> Result<Credentials, CredentialsError> {
    super::resolve(model, &configured(models, guests))
}

fn v2(own: &Credentials) -> Model<'_> {
    Model { kind: ModelKind::V2, name: "builder", template: "debian12", own }
}

fn v1(own: &Credentials) -> Model<'_> {
    Model { kind: ModelKind::V1, name: "team/builder", template: "builder", own }
}

fn pair(found: &Credentials) -> (&str, &str) {
    (&found.username, found.password.expose_secret())
}

#[test]
fn the_settings_come_before_the_model_and_models_before_guest_credentials() {
    let own = who("own", "own-pw");
    let models = [entry("other", "", "m0", "pw"), entry("debian12", "", "m", "m-pw")];
    let guests = [entry("", "team/builder", "g1", "pw"), entry("debian12", "", "g", "g-pw")];
    for (models, guests, expected) in [
        (&models[..], &guests[..], ("m", "m-pw")),
        (&[], &guests[..], ("g", "g-pw")),
        (&[], &[], ("own", "own-pw")),
        (&models[..1], &guests[..1], ("own", "own-pw")),
    ] {
        assert_eq!(pair(&resolve(&v2(&own), models, guests).unwrap()), expected);
    }
}

#[test]
fn guest_credentials_of_a_v1_model_are_found_by_its_path_alone() {
    let own = who("own", "own-pw");
    let guests = [entry("builder", "", "template", "pw"), entry("", "team/builder", "path", "pw")];
    assert_eq!(resolve(&v1(&own), &[], &guests).unwrap().username, "path");
    assert_eq!(resolve(&v1(&own), &[], &guests[..1]).unwrap().username, "own");
    let models = [entry("builder", "", "models", "pw")];
    assert_eq!(resolve(&v1(&own), &models, &guests).unwrap().username, "models");
}

// CDS was asked for the secrets of a model whose credentials stood in the settings, and a CDS that refused kept it unusable.
#[test]
fn what_the_settings_say_makes_what_the_model_says_irrelevant() {
    let own = who("own", "{{.secrets.password}}");
    let models = [entry("builder", "", "m", "pw")];
    let guests = [entry("", "team/builder", "g", "pw")];
    let empty = [entry("builder", "team/builder", "", "")];
    for (models, guests, expected) in [
        (&models[..], &[][..], true),
        (&[], &guests[..], true),
        (&[], &[], false),
        (&empty[..], &empty[..], false),
    ] {
        assert_eq!(
            are_in_settings(&v1(&own), &configured(models, guests)),
            expected,
            "{models:?} {guests:?}"
        );
        assert_eq!(resolve(&v1(&own), models, guests).is_ok(), expected);
    }
}

#[test]
fn entries_without_a_name_or_without_credentials_are_passed_over() {
    let own = who("own", "own-pw");
    // A generated file has one that is empty; one of `models[]` may only bring a script.
    let models = [entry("debian12", "", "", "")];
    let guests = [entry("", "", "nobody", "pw"), entry("debian12", "", "", "")];
    assert_eq!(resolve(&v2(&own), &models, &guests).unwrap().username, "own");
    let nameless = Model { kind: ModelKind::V2, name: "builder", template: "", own: &own };
    assert_eq!(resolve(&nameless, &[], &guests).unwrap().username, "own");
}

#[test]
fn without_any_credentials_the_model_is_named() {
    let own = who("", "");
    let error = resolve(&v2(&own), &[], &[]).unwrap_err();
    assert_eq!(error, CredentialsError::Missing { model: "builder".to_owned() });
    assert_eq!(
        resolve(&v1(&own), &[], &[]).unwrap_err(),
        CredentialsError::Missing { model: "team/builder".to_owned() }
    );
}

#[test]
fn a_placeholder_is_refused_by_the_name_of_its_model_and_place_and_never_shown() {
    let clear = who("own", "own-pw");
    for (value, what) in [
        (who("${{ secrets.HUNTER2 }}", "pw"), "username"),
        (who("user", "${{ secrets.HUNTER2 }}"), "password"),
        (who("user", "{{.secrets.HUNTER2}}"), "password"),
        (who("user", "pw{{HUNTER2"), "password"),
    ] {
        let entries = [("debian12", "", value.clone())];
        for (model, models, guests, source_of) in [
            (v2(&clear), &entries[..], &[][..], Source::Models),
            (v2(&clear), &[][..], &entries[..], Source::GuestCredentials),
            (v2(&value), &[][..], &[][..], Source::Model),
        ] {
            let error = resolve(&model, models, guests).unwrap_err();
            let expected = CredentialsError::Unresolved { model: "builder".to_owned(), what, source_of };
            assert_eq!(error, expected);
            let shown = format!("{error} {error:?}");
            assert!(shown.contains("builder") && !shown.contains("HUNTER2"), "{shown}");
        }
    }
    let error = resolve(&v2(&who("u", "${{ x }}")), &[], &[]).unwrap_err().to_string();
    assert_eq!(
        error,
        "the password for guests of model builder, from the model itself, still contains a placeholder ({{): write it \
         under models[] or guestCredentials[]"
    );
}

#[test]
fn half_a_pair_is_not_replaced_by_somebody_else_s() {
    let own = who("own", "own-pw");
    let guests = [entry("debian12", "", "user", "")];
    assert_eq!(
        resolve(&v2(&own), &[], &guests).unwrap_err(),
        CredentialsError::Incomplete {
            model: "builder".to_owned(),
            what: "password",
            source_of: Source::GuestCredentials
        }
    );
}

fn secrets() -> Vec<Secret> {
    let secret = |name: &str, value: &str| Secret { name: name.to_owned(), value: value.into() };
    vec![secret("secrets.vsphere_password", "s3{{.secrets.other}}$"), secret("secrets.other", "o")]
}

#[test]
fn secrets_are_put_into_the_password_once() {
    for (password, expected) in [
        ("{{.secrets.vsphere_password}}", "s3{{.secrets.other}}$"),
        ("{{ .secrets.other }}", "o"),
        ("a{{.secrets.other}}b{{.secrets.other}}", "aobo"),
        ("{{.secrets.unknown}}", "{{.secrets.unknown}}"),
        ("{{ {{.secrets.other}}", "{{ o"),
        ("clear", "clear"),
        ("{{.secrets.other", "{{.secrets.other"),
        ("", ""),
    ] {
        let clear = with_secrets("team/builder", &password.into(), &secrets());
        assert_eq!(clear.expose_secret(), expected, "{password}");
    }
}

#[test]
fn a_model_from_a_repository_has_no_secrets_to_put_in() {
    let password = "{{.secrets.other}}".into();
    let put_in = |path| with_secrets(path, &password, &secrets()).expose_secret().to_owned();
    assert_eq!(put_in("PRJ/github/org/app/builder"), "{{.secrets.other}}");
    assert_eq!(put_in("a/b/c/d"), "o");
}

#[test]
fn the_clear_password_stays_out_of_the_model() {
    let password: SecretString = "{{.secrets.other}}".into();
    let clear = with_secrets("team/builder", &password, &secrets());
    assert_eq!((password.expose_secret(), clear.expose_secret()), ("{{.secrets.other}}", "o"));
    assert!(!format!("{:?} {:?}", secrets(), who("u", "hunter2")).contains("hunter2"));
}

proptest! {
    #[test]
    fn no_password_makes_it_panic(password in "[{}. a-zé]*") {
        let clear = with_secrets("a/b", &password.clone().into(), &[]);
        prop_assert_eq!(clear.expose_secret(), password);
    }
}
