use super::*;
use crate::launch::template::Fault;

mod guest;

const CONFIG: &str = "eyJuYW1lIjoiYnJhdmUifQ+/==";

fn values(api: &str) -> Values {
    Values { api: api.to_owned(), config: CONFIG.into() }
}

fn script(source: Source<'_>) -> String {
    let script = worker_script("builder", source, &values("https://cds.example.org/api")).unwrap();
    script.expose_secret().to_owned()
}

fn commands(pre_cmd: &str, cmd: &str, post_cmd: &str) -> VirtualMachine {
    VirtualMachine {
        pre_cmd: pre_cmd.to_owned(),
        cmd: cmd.to_owned(),
        post_cmd: post_cmd.to_owned(),
        ..VirtualMachine::default()
    }
}

#[test]
fn a_v2_model_s_script_downloads_runs_and_turns_off() {
    assert_eq!(
        script(Source::V2Model { os_arch: "linux/amd64" }),
        "#!/bin/sh
if command -v curl >/dev/null 2>&1; then
  curl -f -L --retry 10 --retry-max-time 120 -o /usr/local/bin/worker \
         'https://cds.example.org/api'/download/worker/'linux/amd64' >>/tmp/cds-worker-setup.log 2>&1 \
         && chmod +x /usr/local/bin/worker
elif command -v wget >/dev/null 2>&1; then
  wget -t 10 -T 12 -O /usr/local/bin/worker 'https://cds.example.org/api'/download/worker/'linux/amd64' \
         >>/tmp/cds-worker-setup.log 2>&1 && chmod +x /usr/local/bin/worker
else
  echo 'the worker cannot be downloaded: there is neither curl nor wget' >>/tmp/cds-worker-setup.log
  exit 1
fi
PATH=$PATH worker 1>/tmp/worker.log 2>&1;
sudo shutdown -h now"
    );
}

#[test]
fn on_a_v2_model_a_v1_job_s_worker_is_of_the_guest_s_own_architecture() {
    let v2 = script(Source::V2Model { os_arch: "linux/amd64" });
    assert_eq!(script(Source::V1JobOnV2Model), v2.replace("'linux/amd64'", OF_GUEST));
}

#[test]
fn a_model_for_no_system_has_no_script() {
    for os_arch in ["", "linux", "linux/", "/amd64", "linux/amd64/v2"] {
        let error = worker_script("builder", Source::V2Model { os_arch }, &values("x")).unwrap_err();
        assert_eq!(error, ScriptError::OsArch { model: "builder".to_owned(), os_arch: os_arch.to_owned() });
    }
}

#[test]
fn a_v1_model_s_commands_are_joined_and_rendered() {
    let commands = commands(
        "#!/bin/bash\nexport A={{.Config}}\n{{if .FromWorkerImage}}echo image\n{{else}}echo bare\n{{end}}",
        "./worker --api {{.API}}",
        "sudo shutdown -h now",
    );
    assert_eq!(
        script(Source::V1Model(&commands, Purpose::Job)),
        format!(
            "#!/bin/bash\nexport A={CONFIG}\necho image\n\n./worker --api https://cds.example.org/api \
             1>/tmp/worker.log 2>&1;\nsudo shutdown -h now"
        )
    );
    assert!(
        script(Source::V1Model(&commands, Purpose::Registration)).ends_with(
            "\n./worker --api https://cds.example.org/api register 1>/tmp/worker.register.log 2>&1\nsudo shutdown -h now"
        )
    );
}

#[test]
fn every_field_of_former_versions_is_there_and_empty() {
    for (field, expected) in [
        ("API", "https://cds.example.org/api"),
        ("Config", CONFIG),
        ("FromWorkerImage", "true"),
        ("HTTPInsecure", "false"),
        ("WorkflowJobID", "0"),
        ("TTL", "0"),
        ("GraylogPort", "0"),
        ("InjectEnvVars", "map[]"),
        ("Token", ""),
        ("Name", ""),
        ("BaseDir", ""),
        ("Model", ""),
        ("HatcheryName", ""),
        ("GraylogHost", ""),
        ("GraylogExtraKey", ""),
        ("GraylogExtraValue", ""),
        ("WorkerBinary", ""),
    ] {
        let commands = commands(&format!("export X={{{{.{field}}}}}"), "worker", "");
        let script = script(Source::V1Model(&commands, Purpose::Job));
        assert_eq!(script.lines().next(), Some(format!("export X={expected}").as_str()));
    }
}

#[test]
fn a_branch_may_begin_in_one_command_and_end_in_another() {
    let commands = commands("{{if .Token}}", "worker{{else}}other", "{{end}}off");
    assert_eq!(script(Source::V1Model(&commands, Purpose::Job)), "other 1>/tmp/worker.log 2>&1;\noff");
}

#[test]
fn an_error_names_the_model_the_command_and_the_line_in_it() {
    let wrong = "{{range .X}}";
    for (commands, part, line) in [
        (commands(wrong, "worker", ""), "pre_cmd", 1),
        (commands(&format!("a\nb\n{wrong}"), "worker", ""), "pre_cmd", 3),
        (commands("a\nb\n", wrong, ""), "cmd", 1),
        (commands("", &format!("a\n{wrong}"), "x"), "cmd", 2),
        (commands("a\nb", "c\nd", wrong), "post_cmd", 1),
        (commands("", "c", &format!("\n\n{wrong}")), "post_cmd", 3),
    ] {
        let error = worker_script("team/builder", Source::V1Model(&commands, Purpose::Job), &values("x"))
            .unwrap_err();
        let ScriptError::Template { model, part: seen, source } = &error else { panic!("{error:?}") };
        assert_eq!((model.as_str(), *seen, source.line), ("team/builder", part, line));
        assert_eq!(error.to_string(), format!("the {part} of model team/builder cannot be used"));
    }
}

#[test]
fn a_model_without_a_command_has_no_script() {
    let commands = commands("echo", " \n", "sudo shutdown -h now");
    for purpose in [Purpose::Job, Purpose::Registration] {
        let error = worker_script("builder", Source::V1Model(&commands, purpose), &values("x")).unwrap_err();
        assert_eq!(error, ScriptError::NoCommand { model: "builder".to_owned() });
    }
}

#[test]
fn a_template_is_made_with_the_last_command_alone() {
    let model = commands("pre", "cmd", "{{if .API}}sudo shutdown -h now{{end}}");
    let script = template_script("builder", &model, "https://api").unwrap();
    assert_eq!(script.expose_secret(), "sudo shutdown -h now");
    let launch = plain_program(script.expose_secret());
    assert_eq!((launch.arguments.as_str(), launch.environment.len()), ("-n ;sudo shutdown -h now", 0));
    let error = template_script("builder", &commands("", "", "\n{{.X}}"), "x").unwrap_err();
    let source = TemplateError { line: 2, fault: Fault::UnknownField { field: "X".to_owned() } };
    assert_eq!(error, ScriptError::Template { model: "builder".to_owned(), part: "post_cmd", source });
}

#[test]
fn a_script_is_handed_over_byte_for_byte_with_its_variables_and_no_others() {
    let text = "#!/bin/sh\n\techo \"$A\" 'b' \\ <x >y & {{ }} é\r\n ;";
    let injected = BTreeMap::from([("HTTP_PROXY".to_owned(), "http://p:3128/?a=b&c".into())]);
    let program = worker_program(&text.into(), &CONFIG.into(), &injected);
    assert_eq!(program.path, "/bin/echo");
    assert_eq!(program.arguments, format!("-n ;{text}"));
    let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        program.environment,
        [variable("CDS_CONFIG", CONFIG), variable("HTTP_PROXY", "http://p:3128/?a=b&c")]
    );
    assert_eq!(program.directory, None);
}

#[test]
fn a_launch_shows_neither_its_script_nor_its_values() {
    let injected = BTreeMap::from([("A".to_owned(), "hunter2".into())]);
    let launch = worker_program(&"hunter2".into(), &"hunter2".into(), &injected);
    assert_eq!(format!("{launch:?}"), r#"Program { path: "/bin/echo", .. }"#);
}
