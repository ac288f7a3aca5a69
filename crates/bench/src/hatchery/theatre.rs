//! Both simulators without delays, and workers that are played.

use rookery_cds_sim::worker;
use rookery_daemon::Supervisor;
use rookery_hatchery_stories::{Lab, LabOptions};
use rookery_vim_sim::{Control, GuestPower, Notice, ProgramRule};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How many jobs may be on their way at once.
const LIMITS: &str = "[commonConfiguration.provision]\nmaxWorker = 0\nmaxConcurrentProvisioning = 1000\n";

/// A lab whose workers are played from the moment that they start.
pub(crate) struct Theatre {
    pub(crate) lab: Lab,
    /// When each program of a worker started.
    pub(crate) started: mpsc::UnboundedReceiver<Instant>,
}

impl Theatre {
    /// With so many VMs of other people, and so many warm ones wanted.
    pub(crate) async fn open(vms: u32, warm: u32, players: &Supervisor) -> Self {
        let mut options = LabOptions { tables: LIMITS.to_owned(), ..LabOptions::default() };
        let others = "[[datacenter.vm]]\nname = \"other-#\"\ndisks = []\nannotation = \"somebody else's\"";
        options.model = format!("{}\n{others}\ncount = {vms}\n", options.model);
        options.vcenter.allow_local_exec = false;
        options.vcenter.programs =
            vec![ProgramRule { arguments: "*worker*".to_owned(), announced: true, ..ProgramRule::default() }];
        options.settings = format!(
            "iprange = \"10.9.0.0/21\"\ngateway = \"10.9.15.254\"\nsubnetMask = \"255.255.240.0\"\n\
             workerProvisioningPoolSize = 16\nfinishedWorkerGracePeriod = 1\n\
             workerProvisioning = [{{ modelVMWare = \"debian12\", number = {warm} }}]\n"
        );
        let lab = Lab::start(options).await;
        let started = play(&lab, players);
        Self { lab, started }
    }

    /// Puts a job into the queue.
    pub(crate) async fn job(&self) -> String {
        self.lab.v2_job(Lab::DEBIAN, "true").await
    }
}

fn play(lab: &Lab, players: &Supervisor) -> mpsc::UnboundedReceiver<Instant> {
    let (told, started) = mpsc::unbounded_channel();
    let (vcenter, crowd) = (lab.world.vcenter.clone(), players.clone());
    let mut notices = vcenter.notices();
    players.spawn("workers in guests", async move {
        loop {
            let Ok(notice) = notices.recv().await else { return };
            let Notice::Program(program) = notice else { continue };
            told.send(Instant::now()).ok();
            let vcenter = vcenter.clone();
            crowd.spawn("worker in a guest", async move {
                let config = program.environment.iter().find_map(|value| value.strip_prefix("CDS_CONFIG="));
                worker::play(config.expect("a worker is told its task"), false).await.expect("it works");
                let (vm, pid) = (program.vm, program.pid);
                let ending = Control::EndProgram { vm, pid, code: 0, then: Some(GuestPower::Off) };
                vcenter.control(ending).await;
            });
        }
    });
    started
}
