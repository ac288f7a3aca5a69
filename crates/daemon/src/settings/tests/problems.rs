//! What is reported, and that nothing makes the loader panic.

use proptest::prelude::*;

use super::*;

#[test]
fn all_problems_are_reported_at_once() {
    let place = Place::holding(
        r#"
        pool = 7
        colour = "red"
        [vcenter]
        endpiont = "https://x"
        insecure = "yes"
        timeout = 15
        password = 12345
        nonsense = 1
        "quoted\u001B key" = 1
        [vcentre]
        endpoint = "https://x"
        "#,
    );
    let broken = place.write("broken.toml", "[vcenter]\npassword = \"hunter2");
    let env = vars([
        ("GOVC_INSECURE", "perhaps"),
        ("ROOKERY_POOL__WARM", "-1"),
        ("ROOKERY_POOL__DISK", "4"),
        ("ROOKERY_POOL__WRAM", "1"),
        ("ROOKERY_POOL__SIZE_OF_IT", "1"),
        ("ROOKERY_POLL__LIMIT", "1"),
    ]);
    let layers = place.layers().file(&broken).file(&place.path("missing.toml")).env(env);
    let layers =
        layers.flag("pool.script", Some(String::new())).flag("pool.unheard-of", Some("x".to_owned()));
    let text = place.scrub(&layers.resolve().unwrap_err().to_string());
    let expected = r#"19 problems in the settings:
  colour (file /place/rookery.toml): unknown key
  pool (file /place/rookery.toml): expected a table, found a number
  vcenter.endpiont (file /place/rookery.toml): unknown key; did you mean vcenter.endpoint?
  vcenter.insecure (file /place/rookery.toml): expected true or false, found text in quotes; leave the quotes out
  vcenter.nonsense (file /place/rookery.toml): unknown key
  vcenter.password (file /place/rookery.toml): expected text, found a number; put it in quotes
  vcenter.quoted\u{1b} key (file /place/rookery.toml): unknown key
  vcenter.timeout (file /place/rookery.toml): expected a duration with its unit, such as "90s", "5m", "2h" or "250ms", found "15"
  vcentre (file /place/rookery.toml): unknown key; did you mean vcenter?
  file /place/broken.toml: is not valid TOML at line 2, column 20: invalid basic string, expected `"`
  file /place/missing.toml: cannot be read: No such file or directory (os error 2)
  vcenter.insecure (environment GOVC_INSECURE): expected true or false, found "perhaps"
  poll.limit (environment ROOKERY_POLL__LIMIT): unknown variable; the keys of pool begin with ROOKERY_POOL__
  pool.disk (environment ROOKERY_POOL__DISK): expected a size with its unit, such as "512MiB", "4GiB" or "2TiB" (the units are KiB, MiB, GiB and TiB), found "4"
  pool.size-of-it (environment ROOKERY_POOL__SIZE_OF_IT): unknown variable; the keys of pool begin with ROOKERY_POOL__
  pool.warm (environment ROOKERY_POOL__WARM): expected a whole number, found "-1"
  pool.wram (environment ROOKERY_POOL__WRAM): unknown variable; did you mean ROOKERY_POOL__WARM?
  pool.script (flag --script): expected a path, found ""
  pool.unheard-of (flag --unheard-of): the program sets a key that its schema lacks"#;
    assert_eq!(text, expected);
}

#[test]
fn a_hidden_mistake_is_still_reported() {
    let place = Place::holding("[pool]\nwarm = \"many\"");
    let problems = place.layers().flag("pool.warm", Some("3".to_owned())).resolve().unwrap_err();
    assert_eq!(problems.as_slice().len(), 1);
}

#[test]
fn a_number_that_toml_cannot_hold_is_a_problem_of_the_file() {
    let place = Place::holding("[pool]\nwarm = 99999999999999999999");
    let text = place.layers().resolve().unwrap_err().to_string();
    assert!(text.contains("is not valid TOML"), "{text}");
}

#[test]
fn the_callers_own_findings_get_their_origin() {
    let place = Place::holding("[pool]\nwarm = 9");
    let settings = place.layers().resolve().unwrap();
    let mut problems = Problems::new();
    problems.push("pool.warm", "exceeds the ceiling 5");
    problems.push("pool.disk", "is required");
    let text = place.scrub(&settings.locate(problems).to_string());
    assert_eq!(
        text,
        "2 problems in the settings:\n  pool.warm (file /place/rookery.toml): exceeds the ceiling 5\n  \
         pool.disk: is required"
    );
}

fn toml_like() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("vcenter".to_owned()),
        Just("pool.warm".to_owned()),
        Just("password".to_owned()),
        "[a-z.-]{0,12}",
        ".{0,8}".prop_map(|text| format!("{text:?}")),
    ];
    let value = prop_oneof![
        "[0-9._e-]{0,12}",
        Just("true".to_owned()),
        ".{0,12}",
        "\"[^\"]{0,9}\"?",
        "[\\[\\]{}=,]{0,9}"
    ];
    let line = (name, value, 0..3).prop_map(|(name, value, shape)| match shape {
        0 => format!("[{name}]"),
        1 => format!("[[{name}]]"),
        _ => format!("{name} = {value}"),
    });
    prop::collection::vec(line, 0..8).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn no_file_and_no_variable_makes_it_panic(
        toml in prop_oneof![any::<String>(), toml_like()],
        flag in any::<String>(),
        env in prop::collection::vec(("(ROOKERY_(VCENTER__|POOL__)?)?[A-Z_]{0,9}", any::<String>()), 0..5),
    ) {
        let place = Place::holding(&toml);
        let layers = place.layers().env(env).flag("pool.disk", Some(flag));
        match layers.resolve() {
            Ok(settings) => prop_assert!(!settings.explain().is_empty()),
            Err(problems) => prop_assert!(!problems.is_empty() && !problems.to_string().is_empty()),
        }
    }
}
