//! What people ask of a hatchery that runs, by the real program: its jobs, and what becomes of each.

use rookery_cds_sim::{HatcheryConsumer, Status};
use rookery_hatchery_stories::{Lab, LabOptions};
use rookery_kit::{Outcome, eventually};
use serde_json::Value;

use super::home::Home;

fn told(outcome: Outcome) -> String {
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    outcome.stdout
}

fn json(outcome: Outcome) -> Value {
    let text = told(outcome);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

// Lists cut the ids of V2 jobs, no command took what was left, and a job that had ended was said to be served.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_followed_from_the_queue_to_its_end_by_the_beginning_of_its_id() {
    let lab = Lab::start(LabOptions::default()).await;
    let home = Home::of(&lab);
    let daemon = home.started().await;
    told(home.program(&["hatchery", "drain"]).run().await);
    let job = lab.v2_job(Lab::DEBIAN, "sleep 2").await;
    let line = async || {
        let jobs = json(home.program(&["hatchery", "jobs", "-o", "json"]).run().await);
        let found = jobs.as_array().expect("a list").iter().find(|line| line["job"] == *job).cloned();
        found.unwrap_or_default()
    };
    eventually("it waits", async || line().await["state"] == "waiting").await;
    let waiting = line().await;
    assert_eq!(
        (&waiting["reason"], &waiting["model"]),
        (&"draining".into(), &"debian12".into()),
        "{waiting:#}"
    );
    assert!(waiting["queued"].is_string(), "{waiting:#}");

    told(home.program(&["hatchery", "resume"]).run().await);
    assert_eq!(lab.ended(&job).await.status, Status::Success);
    eventually("its end is seen", async || line().await["state"] == "ended").await;
    let ended = line().await;
    let worker = lab.job(&job).await.worker_name;
    assert_eq!(
        (&ended["status"], &ended["machine"]),
        (&"Success".into(), &worker.as_str().into()),
        "{ended:#}"
    );
    for key in ["queued", "begun", "launched", "ended"] {
        assert!(ended[key].is_string(), "{key}: {ended:#}");
    }
    let table = told(home.program(&["hatchery", "jobs"]).run().await);
    assert!(table.starts_with("JOB ") && table.contains("Success"), "{table}");

    // Eight signs may be digits alone, and then the number of a V1 job as well.
    let start = job.get(..9).expect("a UUID");
    let explained = told(home.program(&["explain", start]).run().await);
    assert!(explained.starts_with(&format!("job {job}: it has ended as Success at ")), "{explained}");
    assert!(explained.contains(&format!("; its worker was {worker}")), "{explained}");

    for unknown in ["no-job", "00000000-2b9f-4e0a-81ab-5e980012400a", "4711"] {
        let outcome = home.program(&["explain", unknown]).run().await;
        assert_eq!(outcome.code, Some(7), "{unknown}: {} {}", outcome.stdout, outcome.stderr);
        assert!(outcome.stderr.contains("`rookery hatchery jobs` lists"), "{}", outcome.stderr);
    }
    let hold = ["vm", "hold", "--job", start, "--for", "1h", "--reason", "x"];
    let promised = told(home.program(&hold).run().await);
    assert!(promised.contains(&format!("next worker of job {job} that fails before ")), "{promised}");
    let released = told(home.program(&["vm", "release", "--job", start]).run().await);
    assert!(released.contains(&format!("job {job}: 1 request withdrawn, 0 VMs released")), "{released}");
    daemon.signal("TERM");
    assert_eq!(daemon.end().await.code, Some(0));
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_are_tried_dry_answered_as_json_and_go_to_the_only_hatchery_that_runs() {
    let mut options = LabOptions::default();
    options.cds.hatcheries.push(HatcheryConsumer {
        name: "another".to_owned(),
        token: "another-token".into(),
        region: Some("default".to_owned()),
        ..HatcheryConsumer::default()
    });
    let lab = Lab::start(options).await;
    let home = Home::of(&lab);
    let nobody = home.nameless(&["hatchery", "status"]).run().await;
    assert_eq!(nobody.code, Some(7), "{}", nobody.stdout);
    assert!(nobody.stderr.contains("no hatchery runs on this machine"), "{}", nobody.stderr);

    let daemon = home.started().await;
    let dry = json(home.nameless(&["hatchery", "drain", "--dry-run", "-o", "json"]).run().await);
    assert_eq!((&dry["hatchery"], &dry["dry_run"]), (&"hatchery-lab".into(), &true.into()), "{dry:#}");
    assert_eq!((&dry["action"], &dry["outcome"]), (&"drain".into(), &"planned".into()), "{dry:#}");
    let draining =
        async || json(home.nameless(&["hatchery", "status", "-o", "json"]).run().await)["draining"].clone();
    assert_eq!(draining().await, false, "nothing was changed");
    let done = json(home.nameless(&["hatchery", "drain", "-o", "json"]).run().await);
    assert_eq!((&done["dry_run"], draining().await), (&false.into(), true.into()), "{done:#}");
    let hold = ["vm", "hold", "--model", "debian12", "--for", "1h", "--reason", "x", "--dry-run"];
    let told_dry = told(home.nameless(&hold).run().await);
    assert!(told_dry.starts_with("dry run, nothing is changed: the VM of the next worker"), "{told_dry}");
    let holds = told(home.nameless(&["vm", "holds"]).run().await);
    assert_eq!(holds, "nothing is kept, and no request to keep anything is open\n");
    let missing = home.nameless(&["vm", "release", "nobody", "--dry-run"]).run().await;
    assert_eq!(missing.code, Some(7), "{}", missing.stderr);

    // Before the command the file was silently ignored if a name was given as well.
    let both =
        home.nameless(&["--config", &home.path(), "hatchery", "status", "--name", "nobody"]).run().await;
    assert_eq!(both.code, Some(2), "{}", both.stdout);
    assert!(both.stderr.contains("--name: the hatchery is either named"), "{}", both.stderr);
    // The file of a hatchery may be named before the command as well.
    let before = home.nameless(&["--config", &home.path(), "hatchery", "status"]).run().await;
    assert!(told(before).contains("hatchery-lab"));
    // A program that confirmed something was told nothing of it.
    let none = json(home.nameless(&["hatchery", "confirm", "-o", "json"]).run().await);
    assert_eq!((&none["action"], &none["outcome"]), (&"confirm".into(), &"unchanged".into()), "{none:#}");
    assert_eq!(
        (&none["message"], &none["waiting"]),
        (&"nothing waits to be confirmed".into(), &Value::Array(vec![]))
    );
    let status = told(home.nameless(&["hatchery", "status"]).run().await);
    assert!(
        status.contains("0 of 10: 0 starting, 0 running, 0 finished, 0 kept; 0 count towards the limit"),
        "{status}"
    );

    let text = lab.settings_text().replace("token = \"v1-token\"\n", "");
    let text = text.replace("\"hatchery-lab\"", "\"another\"").replace("v2-token", "another-token");
    let other = home.keep("another.toml", &text);
    let mut second = home.nameless(&["hatchery", "run", "--listen", "127.0.0.1:0", "-c", &other]).start();
    assert!(second.line().await.starts_with("hatchery \"another\" serves "));
    let several = home.nameless(&["hatchery", "status"]).run().await;
    assert_eq!(several.code, Some(7), "{}", several.stdout);
    assert!(
        several.stderr.contains("several hatcheries run on this machine: another, hatchery-lab"),
        "{}",
        several.stderr
    );
    assert!(
        told(home.nameless(&["hatchery", "look", "--name", "another"]).run().await)
            .contains("reads the queues now")
    );
    for running in [second, daemon] {
        running.signal("TERM");
        assert_eq!(running.end().await.code, Some(0));
    }
    lab.close().await;
}
