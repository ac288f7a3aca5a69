//! What `docs/simulator.md` shows is run as it stands there.

use std::path::Path;
use std::process::Stdio;

use rookery_kit::{Program, Sim, binary, tool, workspace};
use tokio::process::Command;

const SERVE: &str = "rookery sim vcenter";

#[tokio::test]
async fn the_commands_of_the_guide_run() {
    let blocks = blocks("sh");
    assert_eq!(blocks.len(), 3, "{blocks:#?}");
    for block in blocks {
        let (first, rest) = block.split_once('\n').expect("a command and more");
        let flags =
            first.strip_prefix(SERVE).and_then(|rest| rest.strip_suffix('&')).expect("a server first");
        let mut flags: Vec<&str> = flags.split_whitespace().collect();
        let model = workspace().join("docs/examples/model.toml");
        for flag in &mut flags {
            if *flag == "docs/examples/model.toml" {
                *flag = model.to_str().expect("a path");
            }
        }
        let sim = Sim::start_with_tls(&flags).await;
        let script =
            rest.replace("https://user:pass@127.0.0.1:8989", &sim.address().replace("://", "://user:pass@"));
        assert_ne!(script, rest, "it names no vCenter");
        run(Command::new("sh").args(["-e", "-c", &script])).await;
    }
}

#[tokio::test]
async fn the_program_of_the_guide_runs() {
    let [program] = blocks("python").try_into().expect("one program");
    run(Command::new(tool("pyvmomi").join("bin/python3")).args(["-c", &program])).await;
}

#[tokio::test]
async fn the_fifth_worker_of_the_example_is_refused() {
    let model = workspace().join("docs/examples/model.toml");
    let sim = Sim::start(&["--model", model.to_str().expect("a path")]).await;
    let script = "govc vm.clone -vm debian-12 -pool blade/Resources/ci -ds fast -on=false worker-3 >&2; \
        govc vm.clone -vm debian-12 -pool blade/Resources/ci -ds fast -on=false worker-4 >&2; \
        govc vm.power -on worker-3 >&2; \
        govc vm.power -on worker-4 2>&1 | grep -q 'Memory resources in the parent resource pool are insufficient'";
    run(Command::new("sh")
        .args(["-e", "-c", script])
        .env("GOVC_URL", format!("{}/sdk", sim.address()))
        .env("GOVC_USERNAME", "user")
        .env("GOVC_PASSWORD", "pass"))
    .await;
}

#[tokio::test]
async fn the_guide_names_all_flags() {
    let help = Program::new(&["sim", "vcenter", "--help"]).run().await.stdout;
    let (own, _) = help.split_once("\nGeneral:").expect("flags of all commands come last");
    let flags =
        own.lines().filter_map(|line| line.trim_start().split(' ').find(|word| word.starts_with("--")));
    let guide = guide();
    let unnamed: Vec<&str> =
        flags.filter(|flag| *flag != "--help" && !guide.contains(&format!("`{flag}"))).collect();
    assert!(help.contains("--clone-time") && unnamed.is_empty(), "the guide lacks {unnamed:?}");
}

/// The fenced blocks of a language.
fn blocks(language: &str) -> Vec<String> {
    let guide = guide();
    let fenced = guide.split("\n```").skip(1).step_by(2);
    let of_it = fenced.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'));
    of_it.map(str::to_owned).collect()
}

fn guide() -> String {
    std::fs::read_to_string(workspace().join("docs/simulator.md")).expect("the guide")
}

/// Runs a command that finds our program and VMware's on its path, and must succeed.
async fn run(command: &mut Command) {
    let govc = tool("govc");
    let folders = [&govc, binary()].map(|program| program.parent().unwrap_or(Path::new(".")).to_owned());
    let system = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&system)));
    let output = command
        .env("PATH", path.expect("folders"))
        .env("HOME", "/nonexistent")
        .env("GOVC_PERSIST_SESSION", "false")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .expect("it starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}: {error}", output.status);
}
