//! Scripts really run, by the shells of this machine, in namespaces whose `/usr/local` and `/tmp` are folders of the
//! test. Programs that a script calls stand in `/usr/local/bin`.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::*;

/// Nasty in a shell, in XML and in HTML.
const API: &str = "https://cds.example.org/a p i/$HOME/`id`/\"x\"/it's/a+b&c<d>e;f/*";
/// Notes its last argument, and writes a worker to where the argument after `OPTION` says.
const DOWNLOAD: &str = r#"#!/bin/sh
while [ $# -gt 1 ]; do
  if [ "$1" = OPTION ]; then target=$2; fi
  shift
done
printf '%s' "$1" >/tmp/url
printf '#!/bin/sh\nprintf "%%s" "$CDS_CONFIG|$A|$*" >/tmp/worker-ran\necho said\necho wrong >&2\n' >"$target"
echo downloaded
"#;

struct Guest(TempDir);

impl Guest {
    fn new(tools: &[(&str, &str)]) -> Self {
        let guest = Self(TempDir::new().unwrap());
        for folder in ["local/bin", "tmp"] {
            fs::create_dir_all(guest.at(folder)).unwrap();
        }
        for tool in ["chmod", "uname"].iter().filter(|tool| tools.iter().all(|(name, _)| name != *tool)) {
            symlink(Path::new("/bin").join(tool), guest.at("local/bin").join(tool)).unwrap();
        }
        for (name, text) in tools.iter().chain(&[("sudo", "#!/bin/sh\necho \"$*\" >/tmp/sudo\n")]) {
            let tool = guest.at("local/bin").join(name);
            fs::write(&tool, text).unwrap();
            fs::set_permissions(tool, fs::Permissions::from_mode(0o755)).unwrap();
        }
        guest
    }

    fn at(&self, place: &str) -> std::path::PathBuf {
        self.0.path().join(place)
    }

    /// What a script left behind, if anything.
    fn file(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.at("tmp").join(name)).ok()
    }

    /// Runs it where only the programs of the test are found.
    fn run(&self, shell: &str, program: &Program) -> Option<Output> {
        self.run_with(&["PATH=/usr/local/bin"], shell, program)
    }

    /// Runs it as VMware Tools do: path and arguments are one line for a shell. Nothing if there are no namespaces.
    fn run_with(&self, more: &[&str], shell: &str, program: &Program) -> Option<Output> {
        let line = format!("\"{}\" {}", program.path, program.arguments);
        // Nothing of the host listens in an empty `/run`, should a real `shutdown` be found.
        let mounts = "mount -t tmpfs tmpfs /run && mount --bind \"$1/local\" /usr/local \
            && mount --bind \"$1/tmp\" /tmp && shift && exec \"$@\"";
        let enter = |words: &[&str]| {
            let mut command = Command::new("unshare");
            command
                .args(["--user", "--map-root-user", "--mount", "sh", "-c", mounts, "sh"])
                .arg(self.0.path());
            command.args(words).output().unwrap()
        };
        if !enter(&["true"]).status.success() {
            eprintln!("no script was run: this machine lets nobody make namespaces");
            return None;
        }
        let variables: Vec<_> =
            program.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut words = vec!["env", "-i"];
        words.extend(more);
        words.extend(variables.iter().map(String::as_str));
        words.extend([shell, "-c", &line]);
        Some(enter(&words))
    }
}

fn launch(source: Source<'_>, api: &str) -> Program {
    let script = worker_script("builder", source, &values(api)).unwrap();
    let injected = BTreeMap::from([("A".to_owned(), "a $b 'c'".into())]);
    worker_program(&script, &CONFIG.into(), &injected)
}

/// The shells that `/bin/sh` is on the systems of guests.
fn shells() -> impl Iterator<Item = &'static str> {
    ["/bin/sh", "/bin/dash", "/bin/bash"].into_iter().filter(|shell| Path::new(shell).exists())
}

/// With the option that tells where to write to.
fn download(option: &str) -> String {
    DOWNLOAD.replace("OPTION", option)
}

// CDS refuses to hand out a worker for `linux/aarch64`.
#[test]
fn a_guest_says_what_it_is_in_the_words_of_cds() {
    for (machine, segment) in [("x86_64", "x86_64"), ("aarch64", "arm64"), ("i686", "i686")] {
        for shell in shells() {
            let uname = format!("#!/bin/sh\necho {machine}\n");
            let guest = Guest::new(&[("curl", &download("-o")), ("uname", &uname)]);
            let Some(output) = guest.run(shell, &launch(Source::V1JobOnV2Model, API)) else { return };
            assert!(output.status.success(), "{shell}: {output:?}");
            assert_eq!(guest.file("url"), Some(format!("{API}/download/worker/linux/{segment}")), "{shell}");
        }
    }
}

#[test]
fn with_curl_or_only_wget_the_worker_is_downloaded_run_and_its_vm_turned_off() {
    let machine = String::from_utf8(Command::new("uname").arg("-m").output().unwrap().stdout).unwrap();
    let own = format!("linux/{}", machine.trim().replace("aarch64", "arm64"));
    for shell in shells() {
        for (tool, option) in [("curl", "-o"), ("wget", "-O")] {
            for (source, segment) in
                [(Source::V2Model { os_arch: "linux/arm64" }, "linux/arm64"), (Source::V1JobOnV2Model, &own)]
            {
                let guest = Guest::new(&[(tool, &download(option))]);
                let Some(output) = guest.run(shell, &launch(source, API)) else { return };
                assert!(output.status.success(), "{shell} {tool}: {output:?}");
                assert_eq!(guest.file("url"), Some(format!("{API}/download/worker/{segment}")));
                assert_eq!(guest.file("worker-ran"), Some(format!("{CONFIG}|a $b 'c'|")));
                assert_eq!(guest.file("worker.log").as_deref(), Some("said\nwrong\n"));
                assert_eq!(guest.file("cds-worker-setup.log").as_deref(), Some("downloaded\n"));
                assert_eq!(guest.file("sudo").as_deref(), Some("shutdown -h now\n"));
                assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
            }
        }
    }
}

#[test]
fn with_no_variables_but_its_own_a_worker_still_has_a_path() {
    let writes_env = "printf '#!/bin/sh\\nexec /usr/bin/env >/tmp/environment\\n' >/usr/local/bin/worker";
    for shell in shells() {
        let guest = Guest::new(&[("curl", &format!("#!/bin/sh\n{writes_env}\n"))]);
        let Some(output) = guest.run_with(&[], shell, &launch(Source::V1JobOnV2Model, API)) else { return };
        assert!(output.status.success(), "{shell}: {output:?}");
        let environment = guest.file("environment").unwrap();
        let path = environment.lines().find_map(|line| line.strip_prefix("PATH="));
        assert!(path.unwrap().split(':').any(|folder| folder == "/usr/local/bin"), "{shell}: {environment}");
        assert!(environment.contains(&format!("CDS_CONFIG={CONFIG}\n")), "{shell}: {environment}");
    }
}

#[test]
fn of_curl_and_wget_curl_is_taken() {
    let guest = Guest::new(&[("curl", &download("-o")), ("wget", "#!/bin/sh\necho wget >/tmp/wget\n")]);
    let Some(_) = guest.run("/bin/sh", &launch(Source::V1JobOnV2Model, API)) else { return };
    assert!(guest.file("wget").is_none() && guest.file("worker-ran").is_some());
}

#[test]
fn without_curl_and_wget_the_script_says_so_and_fails() {
    let guest = Guest::new(&[]);
    let Some(output) = guest.run("/bin/sh", &launch(Source::V1JobOnV2Model, API)) else { return };
    assert_eq!(output.status.code(), Some(1));
    assert!(guest.file("cds-worker-setup.log").unwrap().contains("neither curl nor wget"));
    assert!(guest.file("worker.log").is_none());
}

#[test]
fn a_download_that_fails_runs_nothing_and_still_turns_the_vm_off() {
    let failing = "#!/bin/sh\necho refused >&2\nexit 22\n";
    let guest = Guest::new(&[("curl", failing)]);
    let Some(_) = guest.run("/bin/sh", &launch(Source::V1JobOnV2Model, API)) else { return };
    assert_eq!(guest.file("cds-worker-setup.log").as_deref(), Some("refused\n"));
    assert!(guest.file("worker-ran").is_none());
    assert_eq!(guest.file("sudo").as_deref(), Some("shutdown -h now\n"));
}

#[test]
fn the_commands_of_a_v1_model_run_with_what_the_template_put_in() {
    let commands = commands(
        "#!/bin/bash\n{{if .FromWorkerImage -}}\nprintf '%s' '{{.Config}}' >/tmp/inline\n{{- end}}\n\
         printf '#!/bin/sh\\nprintf \"%%s\" \"$CDS_CONFIG|$*\" >/tmp/worker-ran\\n' >/usr/local/bin/worker\n\
         chmod +x /usr/local/bin/worker",
        "worker --api \"{{.API}}\"",
        "sudo shutdown -h now",
    );
    let api = "https://cds.example.org/api?a=1&b=2+3<4>";
    for (purpose, ran, log) in [
        (Purpose::Job, format!("{CONFIG}|--api {api}"), "worker.log"),
        (Purpose::Registration, format!("{CONFIG}|--api {api} register"), "worker.register.log"),
    ] {
        let guest = Guest::new(&[]);
        let Some(output) = guest.run("/bin/sh", &launch(Source::V1Model(&commands, purpose), api)) else {
            return;
        };
        assert!(output.status.success(), "{output:?}");
        assert_eq!(guest.file("worker-ran"), Some(ran));
        assert_eq!(guest.file("inline").as_deref(), Some(CONFIG));
        assert_eq!(guest.file(log).as_deref(), Some(""));
        assert_eq!(guest.file("sudo").as_deref(), Some("shutdown -h now\n"));
    }
}
