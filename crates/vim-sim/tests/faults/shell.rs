//! The same through the shell, over connections.

use jiff::SignedDuration;
use rookery_daemon::Supervisor;
use rookery_vim_sim::server::{Blobs, Running};
use rookery_vim_sim::{Action, Clock, Control, Incident, Rule};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use super::kit::{model, slow, start};

struct Shell {
    running: Running,
    supervisor: Supervisor,
}

impl Shell {
    fn new(clock: Clock, name: &str) -> Self {
        let world = model().build(slow(), start()).unwrap();
        let supervisor = Supervisor::new();
        let folder = std::env::temp_dir().join(format!("vim-sim-{name}-{}", std::process::id()));
        let running = Running::start(world, clock, Blobs::in_folder(&folder).unwrap(), &supervisor);
        Self { running, supervisor }
    }

    async fn control(&self, control: Control) {
        assert_eq!(self.running.control(control).await.unwrap().status, 200);
    }

    async fn stop(self) {
        drop(self.running);
        self.supervisor.shutdown(std::time::Duration::from_secs(1)).await.ok();
    }
}

/// Sends a call and reads its answer; none if the connection ends instead.
async fn call(pipe: &mut DuplexStream, cookie: &str, content: &str) -> Option<String> {
    let body = format!(
        "<soapenv:Envelope xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\"><soapenv:Body>\
         {content}</soapenv:Body></soapenv:Envelope>"
    );
    let request = format!(
        "POST /sdk HTTP/1.1\r\nhost: vcenter\r\ncookie: {cookie}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    pipe.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    while !String::from_utf8_lossy(&answer).contains("</soapenv:Envelope>") {
        if pipe.read_buf(&mut answer).await.ok()? == 0 {
            return None;
        }
    }
    Some(String::from_utf8(answer).unwrap())
}

async fn log_in(pipe: &mut DuplexStream) -> String {
    let login = "<Login xmlns=\"urn:vim25\"><_this type=\"SessionManager\">SessionManager</_this>\
        <userName>u</userName><password>p</password></Login>";
    let answer = call(pipe, "", login).await.unwrap();
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

/// The text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    text.split_once(before).unwrap().1.split_once(after).unwrap().0
}

async fn first_vm(pipe: &mut DuplexStream, cookie: &str) -> String {
    let find = "<FindByInventoryPath xmlns=\"urn:vim25\"><_this type=\"SearchIndex\">SearchIndex</_this>\
        <inventoryPath>DC0/vm/DC0_C0_RP0_VM0</inventoryPath></FindByInventoryPath>";
    let answer = call(pipe, cookie, find).await.unwrap();
    between(&answer, "<returnval type=\"VirtualMachine\">", "<").to_owned()
}

fn power_on(vm: &str) -> String {
    format!(
        "<PowerOnVM_Task xmlns=\"urn:vim25\"><_this type=\"VirtualMachine\">{vm}</_this></PowerOnVM_Task>"
    )
}

fn state_of(task: &str) -> String {
    format!("<Fetch xmlns=\"urn:vim25\"><_this type=\"Task\">{task}</_this><prop>info.state</prop></Fetch>")
}

#[tokio::test]
async fn time_stands_still_until_somebody_lets_it_pass() {
    let shell = Shell::new(Clock::manual(start()), "still");
    let mut pipe = shell.running.pipe();
    let cookie = log_in(&mut pipe).await;
    let vm = first_vm(&mut pipe, &cookie).await;
    let answer = call(&mut pipe, &cookie, &power_on(&vm)).await.unwrap();
    let task = between(&answer, "<returnval type=\"Task\">", "<").to_owned();
    for (seconds, state) in [(7, ">running<"), (1, ">success<")] {
        shell.control(Control::Advance(SignedDuration::from_secs(seconds))).await;
        let answer = call(&mut pipe, &cookie, &state_of(&task)).await.unwrap();
        assert!(answer.contains(state), "{answer}");
    }
    drop(pipe);
    shell.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_delayed_answer_comes_by_itself_in_scaled_time() {
    let wall = rookery_daemon::Clock::simulated(start());
    let shell = Shell::new(Clock::scaled(wall, 60.0), "scaled");
    let mut pipe = shell.running.pipe();
    let cookie = log_in(&mut pipe).await;
    let vm = first_vm(&mut pipe, &cookie).await;
    shell.control(Control::AddRule(Rule::new(Action::Delay { by: "2m".parse().unwrap() }))).await;
    let began = tokio::time::Instant::now();
    call(&mut pipe, &cookie, &power_on(&vm)).await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 2);
    drop(pipe);
    shell.stop().await;
}

#[tokio::test]
async fn connections_end_where_a_reply_is_lost_and_where_the_vcenter_restarts() {
    let shell = Shell::new(Clock::manual(start()), "cut");
    let mut pipe = shell.running.pipe();
    let cookie = log_in(&mut pipe).await;
    let vm = first_vm(&mut pipe, &cookie).await;
    let rule = Rule { method: "PowerOnVM_Task".into(), ..Rule::new(Action::LoseReply) };
    shell.control(Control::AddRule(rule)).await;
    assert_eq!(call(&mut pipe, &cookie, &power_on(&vm)).await, None);

    let mut idle = shell.running.pipe();
    log_in(&mut idle).await;
    shell.control(Control::Do(Incident::Restart { down: "10s".parse().unwrap() })).await;
    let mut rest = Vec::new();
    assert_eq!(idle.read_to_end(&mut rest).await.unwrap(), 0, "it ends");
    drop((pipe, idle));
    shell.stop().await;
}
