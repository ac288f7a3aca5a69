//! Where disks should go.

use rookery_vim::Node;
use rookery_vim::methods::RecommendDatastores;
use rookery_vim::storage::{ClusterRecommendation, StoragePlacementResult, StoragePlacementSpec};

use super::{Methods, existing};
use crate::id::{Id, Kind};
use crate::refusal::{Refusal, reference, text};
use crate::store::Datastore;
use crate::world::World;

pub(super) fn add(all: &mut Methods) {
    all.answer(|world, _, m: RecommendDatastores| recommend(world, &m.storage_spec));
}

/// All members of a datastore cluster that can take something, freest first.
fn recommend(world: &World, spec: &StoragePlacementSpec) -> Result<StoragePlacementResult, Refusal> {
    let asked = spec.pod_selection_spec.storage_pod.as_ref();
    let pod =
        asked.or_else(|| spec.pod_selection_spec.initial_vm_config.first().map(|config| &config.storage_pod));
    let pod = pod.ok_or_else(|| Refusal::invalid_argument("storageSpec.podSelectionSpec.storagePod"))?;
    let id = existing(world, pod)?;
    let found = world.store.pods.get(&id).ok_or_else(|| Refusal::gone(pod))?;
    if !found.automated {
        return Ok(StoragePlacementResult::default());
    }
    let mut members: Vec<Id> =
        found.children.iter().copied().filter(|id| id.kind == Kind::Datastore).collect();
    members.retain(|id| world.store.datastores.get(id).is_some_and(|d| d.accessible && !d.in_maintenance));
    members.sort_by_key(|id| std::cmp::Reverse(world.store.datastores.get(id).map_or(0, Datastore::free)));
    let recommendations = members.into_iter().enumerate().map(|(nth, id)| ClusterRecommendation {
        key: (nth + 1).to_string(),
        kind: "V1".to_owned(),
        time: world.now,
        rating: 5,
        reason: "storagePlacement".to_owned(),
        reason_text: "Satisfy storage initial placement requests".to_owned(),
        action: vec![action(id)],
    });
    Ok(StoragePlacementResult { recommendations: recommendations.collect(), drs_fault: None })
}

fn action(destination: Id) -> Node {
    let destination = destination.reference();
    Node {
        xsi_type: Some("StoragePlacementAction".into()),
        children: vec![
            text("type", "StoragePlacementV1"),
            Node { children: vec![reference("datastore", &destination)], ..Node::new("relocateSpec") },
            reference("destination", &destination),
        ],
        ..Node::new("action")
    }
}
