//! The life of VMs: cloned, on, off, destroyed, by many clients at once.

use std::time::{Duration, Instant};

use rookery_kit::{Raw, connect};
use rookery_vim::methods::{
    CloneVmTask, DestroyTask, FindByInventoryPath, Method, PowerOffVmTask, PowerOnVmTask,
    RetrievePropertiesEx,
};
use rookery_vim::objects::{ObjectSpec, PropertyFilterSpec, PropertySpec, RetrieveOptions};
use rookery_vim::specs::{VirtualMachineCloneSpec, VirtualMachineRelocateSpec};
use rookery_vim::{MoRef, Wire as _};
use tokio::time::timeout;

use crate::server::Server;

/// A server that does not answer for so long has stopped.
const STALLED: Duration = Duration::from_secs(20);

/// Operations a second; none if the server stopped answering.
pub(crate) async fn rate(server: &Server, clients: usize, watched: bool, seconds: usize) -> Option<f64> {
    let listener = if watched { Some(connect(&server.address).await) } else { None };
    if let Some(listener) = &listener {
        listener.inventory.complete().await.expect("it loads");
    }
    let end = Instant::now() + Duration::from_secs(seconds as u64);
    let began = Instant::now();
    let stall = STALLED + Duration::from_secs(seconds as u64);
    let loops = (0..clients).map(|nth| one_client(server, nth, end));
    let done = timeout(stall, futures_util::future::join_all(loops)).await;
    let rate = done.ok().map(|done| {
        f64::from(u32::try_from(done.iter().sum::<usize>()).unwrap_or(u32::MAX))
            / began.elapsed().as_secs_f64()
    });
    if let Some(watcher) = listener {
        // Of a server that has stopped nothing more can be expected.
        watcher.supervisor.shutdown(Duration::from_secs(10)).await.ok();
        watcher.client.close().await.ok();
    }
    rate
}

async fn one_client(server: &Server, nth: usize, end: Instant) -> usize {
    let raw = Raw::login(&server.address).await;
    let find = |path: &str| FindByInventoryPath {
        this: raw.content.search_index.clone().expect("a search index"),
        inventory_path: path.to_owned(),
    };
    let source = raw.call(&find("DC0/vm/DC0_H0_VM0")).await.expect("the source is there");
    let folder = raw.call(&find("DC0/vm")).await.expect("the folder is there");
    let mut done = 0;
    let mut count = 0;
    while Instant::now() < end {
        let location = VirtualMachineRelocateSpec::default();
        let spec = VirtualMachineCloneSpec {
            location,
            template: false,
            config: None,
            customization: None,
            power_on: false,
            snapshot: None,
        };
        let name = format!("bench-{nth}-{count}-{}", std::process::id());
        count += 1;
        let clone = CloneVmTask { this: source.clone(), folder: folder.clone(), name: name.clone(), spec };
        finish(&raw, &clone).await;
        let this = raw.call(&find(&format!("DC0/vm/{name}"))).await.expect("the clone is there");
        finish(&raw, &PowerOnVmTask { this: this.clone(), host: None }).await;
        finish(&raw, &PowerOffVmTask { this: this.clone() }).await;
        finish(&raw, &DestroyTask { this }).await;
        done += 4;
    }
    done
}

/// Orders a task and asks for its state until it has ended well.
async fn finish<M: Method<Output = MoRef>>(raw: &Raw, method: &M) {
    let task = raw.call(method).await;
    let spec = PropertyFilterSpec {
        prop_set: vec![PropertySpec {
            kind: "Task".to_owned(),
            all: None,
            path_set: vec!["info.state".to_owned()],
        }],
        object_set: vec![ObjectSpec { obj: task, skip: None, select_set: Vec::new() }],
        report_missing_objects: None,
    };
    let read = RetrievePropertiesEx {
        this: raw.content.property_collector.clone(),
        spec_set: vec![spec],
        options: RetrieveOptions { max_objects: None },
    };
    loop {
        let found = raw.call(&read).await.expect("the task is there");
        let value = found.objects.into_iter().flat_map(|o| o.prop_set).next().expect("it has a state").val;
        match String::from_node(value).expect("a text").as_str() {
            "success" => return,
            "error" => panic!("{} failed", M::NAME),
            _ => tokio::time::sleep(Duration::from_millis(2)).await,
        }
    }
}
