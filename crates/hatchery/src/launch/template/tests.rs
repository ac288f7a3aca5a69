use proptest::prelude::*;

use super::*;

const CONFIG: &str = "eyJhIjoiPCYrL34ifQ+/==";

fn field(name: &str) -> Option<Value<'static>> {
    match name {
        "API" => Some(Value::Text("https://cds.example.org/api?a=1&b=<c>+\"d'$e")),
        "Config" => Some(Value::Text(CONFIG)),
        "FromWorkerImage" => Some(Value::Flag(true)),
        "HTTPInsecure" => Some(Value::Flag(false)),
        "Token" => Some(Value::Text("")),
        "TTL" => Some(Value::Number(0)),
        "Port" => Some(Value::Number(12)),
        "InjectEnvVars" => Some(Value::EmptyMap),
        _ => None,
    }
}

fn rendered(template: &str) -> String {
    render(template, field).unwrap_or_else(|error| panic!("{template:?}: {error}"))
}

#[test]
fn fields_are_put_in_as_they_are() {
    assert_eq!(rendered("a {{.Config}} b"), format!("a {CONFIG} b"));
    assert_eq!(rendered("{{ .API }}"), "https://cds.example.org/api?a=1&b=<c>+\"d'$e");
    assert_eq!(rendered("{{\n.Config\t}}"), CONFIG);
    assert_eq!(rendered("<{{.Token}}>"), "<>");
    assert_eq!(rendered("{{.FromWorkerImage}} {{.HTTPInsecure}}"), "true false");
    assert_eq!(rendered("{{.TTL}} {{.Port}} {{.InjectEnvVars}}"), "0 12 map[]");
}

#[test]
fn text_without_actions_stays_as_it_is() {
    for text in ["", "a", "${HOME} { } }} ${x}", "#!/bin/sh\r\necho $(date)\n\n", "awk '{print $1}'", "é{ {ü"]
    {
        assert_eq!(rendered(text), text);
    }
}

#[test]
fn a_condition_holds_unless_its_value_is_go_s_zero() {
    for (name, holds) in [
        ("API", true),
        ("Token", false),
        ("FromWorkerImage", true),
        ("HTTPInsecure", false),
        ("TTL", false),
        ("Port", true),
        ("InjectEnvVars", false),
    ] {
        let template = format!("{{{{if .{name}}}}}yes{{{{else}}}}no{{{{end}}}}");
        assert_eq!(rendered(&template), if holds { "yes" } else { "no" }, "{name}");
    }
}

#[test]
fn the_first_branch_that_holds_is_shown_and_no_other() {
    for (template, expected) in [
        ("{{if .Token}}a{{end}}", ""),
        ("{{if .Token}}a{{else if .API}}b{{else}}c{{end}}", "b"),
        ("{{if .API}}a{{else if .Config}}b{{else}}c{{end}}", "a"),
        ("{{if .Token}}a{{else if .TTL}}b{{else if .Token}}c{{else}}d{{end}}", "d"),
        ("{{if .Token}}a{{else if .API}}b{{else if .API}}c{{end}}", "b"),
        ("{{if .API}}{{if .Token}}a{{else}}b{{end}}{{else}}c{{end}}", "b"),
        // Inside a branch that is not shown nothing is, whatever its conditions say.
        ("{{if .Token}}{{if .API}}a{{else if .API}}b{{else}}c{{end}}{{end}}d", "d"),
    ] {
        assert_eq!(rendered(template), expected, "{template}");
    }
}

#[test]
fn trim_markers_take_the_space_next_to_them() {
    for (template, expected) in [
        ("a \n\t{{- .TTL -}} \r\n b", "a0b"),
        ("a {{- .TTL}} b", "a0 b"),
        ("a {{.TTL -}} b", "a 0b"),
        ("a {{- /* x */ -}} b", "ab"),
        ("a\n{{- if .API}}\nb\n{{- end}}\nc", "a\nb\nc"),
        ("a {{- .TTL -}} {{- .TTL -}} b", "a00b"),
        // Only spaces, tabs and line ends.
        ("a\u{a0}{{- .TTL}}", "a\u{a0}0"),
    ] {
        assert_eq!(rendered(template), expected, "{template:?}");
    }
}

#[test]
fn comments_are_left_out_with_all_that_is_in_them() {
    assert_eq!(rendered("a{{/* }} {{if .X}} \n */}}b"), "ab");
    assert_eq!(render("a{{/* x", field), Err(Fault::Unclosed.at(1)));
    assert_eq!(render("a{{/* x */ }}", field), Err(Fault::Unclosed.at(1)));
}

#[test]
fn a_field_that_is_not_there_is_named_where_it_is_reached() {
    let error = render("a\nb {{.API}}\n{{.Hatchery}}", field).unwrap_err();
    assert_eq!(error, Fault::UnknownField { field: "Hatchery".to_owned() }.at(3));
    assert_eq!(error.to_string(), "line 3: there is no field .Hatchery");
    // Go evaluates only what is shown.
    assert_eq!(rendered("{{if .Token}}{{.Hatchery}}{{else}}b{{end}}"), "b");
    assert_eq!(rendered("{{if .API}}a{{else if .Hatchery}}b{{end}}"), "a");
}

#[test]
fn what_is_not_understood_is_an_error_that_names_its_line() {
    for action in [
        "range .InjectEnvVars",
        "with .API",
        ".API | printf",
        ".API|html",
        "$x := .API",
        "$.API",
        "eq .API .Config",
        "if eq .API .Config",
        "if not .API",
        "else with .API",
        "printf \"%s\" .API",
        "template \"x\"",
        "block \"x\" .",
        "define \"x\"",
        "break",
        "\"{{\"",
        "`x`",
        "12",
        "-3",
        ".",
        ".API.Host",
        ".9",
        "if",
        "if .",
        "if(.API)",
        "end .API",
        "ELSE",
        "",
        "-",
        "- -",
        " /* x */",
    ] {
        // The engine does not look into strings, so that one with braces ends early; it is refused all the same.
        let error = render(&format!("first\n\n{{{{{action}}}}} rest"), field).unwrap_err();
        assert!(
            matches!(error, TemplateError { line: 3, fault: Fault::Unsupported { .. } }),
            "{action}: {error:?}"
        );
    }
    let error = render("{{range .InjectEnvVars}}", field).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1: {{range .InjectEnvVars}} is not understood; fields, if, else, end, comments and trim markers are"
    );
}

#[test]
fn branches_that_do_not_fit_together_are_errors() {
    let stray = |line, word| Err(Fault::Stray { word }.at(line));
    for (template, expected) in [
        ("a\n{{end}}", stray(2, "end")),
        ("{{else}}", stray(1, "else")),
        ("{{else if .API}}", stray(1, "else")),
        ("{{if .API}}{{else}}\n{{else}}{{end}}", stray(2, "else")),
        ("{{if .API}}{{else}}{{else if .API}}{{end}}", stray(1, "else")),
        ("{{if .API}}{{end}}{{end}}", stray(1, "end")),
        ("\n{{if .API}}\n{{if .API}}{{end}}", Err(Fault::NoEnd.at(2))),
        ("a\n{{.API", Err(Fault::Unclosed.at(2))),
        ("{{-\n.API}}{{end}}", stray(2, "end")),
        ("{{/*\n*/}}{{", Err(Fault::Unclosed.at(2))),
    ] {
        assert_eq!(render(template, field), expected, "{template:?}");
    }
}

#[test]
fn very_many_open_branches_are_only_an_error() {
    let error = render(&"{{if .API}}".repeat(200_000), field).unwrap_err();
    assert_eq!(error, Fault::NoEnd.at(1));
}

#[test]
fn a_pattern_of_a_virtual_machine_renders_as_under_go() {
    let pattern = "#!/bin/bash\nset +e\n{{/* set by the hatchery */ -}}\n\
        export CDS_FROM_WORKER_IMAGE={{.FromWorkerImage}}\nexport CDS_TOKEN={{.Token}}\n\
        export CDS_TTL={{.TTL}}\nexport CDS_INSECURE={{.HTTPInsecure}}\n\
        if [[ \"x{{.FromWorkerImage}}\" = \"xtrue\" ]]; then echo image; fi\n\
        {{ if .FromWorkerImage -}}\necho ready\n{{- else }}\napt-get install -y docker\n{{- end }}\n\
        curl -L \"{{.API}}/download/worker/linux/$(uname -m)\" -o worker --retry 10\nchmod +x worker\n";
    assert_eq!(
        rendered(pattern),
        "#!/bin/bash\nset +e\nexport CDS_FROM_WORKER_IMAGE=true\nexport CDS_TOKEN=\nexport CDS_TTL=0\n\
         export CDS_INSECURE=false\nif [[ \"xtrue\" = \"xtrue\" ]]; then echo image; fi\necho ready\n\
         curl -L \"https://cds.example.org/api?a=1&b=<c>+\"d'$e/download/worker/linux/$(uname -m)\" -o worker \
         --retry 10\nchmod +x worker\n"
    );
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".*") {
        drop(render(&text, field));
    }

    #[test]
    fn no_arrangement_of_pieces_makes_it_panic_and_errors_lie_in_the_text(
        pieces in proptest::collection::vec(proptest::sample::select(vec![
            "{{", "}}", "- ", " -", "/*", "*/", "if ", "else ", "end", ".API", ".X", " ", "\n", "é", "a", "{", "}", "|",
        ]), 0..40)
    ) {
        let text = pieces.concat();
        if let Err(error) = render(&text, field) {
            prop_assert!((1..=text.matches('\n').count() + 1).contains(&error.line));
        }
    }

    #[test]
    fn text_without_opening_braces_is_kept(text in "[^{]*") {
        prop_assert_eq!(render(&text, field), Ok(text));
    }
}
