use jiff::Timestamp;
use rookery_vim::Node;
use rookery_vim::storage::ClusterRecommendation;

use super::*;

fn datastore(id: &str) -> MoRef {
    MoRef::new("Datastore", id)
}

fn usable(id: &str, free: i64) -> Member {
    Member {
        id: datastore(id),
        name: id.to_owned(),
        accessible: Some(true),
        maintenance: Some("normal".to_owned()),
        free: Some(free),
    }
}

#[test]
fn the_usable_member_with_the_most_free_space_is_taken() {
    let check = |members: &[Member], expected: Option<&str>| {
        let mut backwards = members.to_vec();
        backwards.reverse();
        for members in [members, &backwards] {
            assert_eq!(roomiest(members), expected.map(datastore), "{members:?}");
        }
    };
    check(&[], None);
    check(&[usable("a", 1), usable("b", 3), usable("c", 2)], Some("b"));
    check(&[usable("a", 3), usable("b", 3)], Some("a"));
    check(&[usable("a", 1), Member { accessible: Some(false), ..usable("b", 3) }], Some("a"));
    check(&[usable("a", 1), Member { accessible: None, ..usable("b", 3) }], Some("a"));
    let maintained = |mode: &str| Member { maintenance: Some(mode.to_owned()), ..usable("b", 3) };
    check(&[usable("a", 1), maintained("inMaintenance")], Some("a"));
    check(&[usable("a", 1), maintained("enteringMaintenance")], Some("a"));
    check(&[usable("a", 1), Member { maintenance: None, ..usable("b", 3) }], Some("b"));
    check(&[Member { free: None, ..usable("a", 0) }, usable("b", 0)], Some("b"));
    check(&[Member { free: None, ..usable("a", 0) }], Some("a"));
    check(&[maintained("inMaintenance")], None);
}

#[test]
fn a_recommendation_counts_by_its_first_destination_that_is_a_datastore() {
    let action = |destination: Option<(&str, &str)>| {
        let mut action = Node { xsi_type: Some("StoragePlacementAction".into()), ..Node::new("action") };
        action.children.extend(destination.map(|(kind, id)| Node {
            ref_type: Some(kind.into()),
            text: id.to_owned(),
            ..Node::new("destination")
        }));
        action
    };
    let check = |actions: &[Vec<Node>], expected: Option<&str>| {
        let recommendation = |action: &Vec<Node>| ClusterRecommendation {
            key: "1".to_owned(),
            kind: "V1".to_owned(),
            time: Timestamp::UNIX_EPOCH,
            rating: 1,
            reason: "storagePlacement".to_owned(),
            reason_text: String::new(),
            action: action.clone(),
        };
        let advice = StoragePlacementResult {
            recommendations: actions.iter().map(recommendation).collect(),
            drs_fault: None,
        };
        assert_eq!(recommended(&advice), expected.map(datastore));
    };
    check(&[], None);
    check(&[vec![]], None);
    check(&[vec![action(None)], vec![action(Some(("Datastore", "b")))]], Some("b"));
    check(&[vec![action(Some(("HostSystem", "h"))), action(Some(("Datastore", "a")))]], Some("a"));
}

#[test]
fn a_cluster_without_room_says_what_each_member_is_like() {
    let members = vec![
        Member { accessible: Some(false), ..usable("slow", 1) },
        Member { accessible: None, ..usable("shy", 1) },
        Member { maintenance: Some("inMaintenance".to_owned()), ..usable("old", 1) },
    ];
    let error = |members| PlacementError::NoneUsable { pod: MoRef::new("StoragePod", "group-p1"), members };
    assert_eq!(
        error(members).to_string(),
        "the datastore cluster StoragePod:group-p1 has no datastore in use: slow is not accessible, shy does not say \
         whether it is accessible, old is inMaintenance"
    );
    assert!(error(Vec::new()).to_string().ends_with("it is empty"));
}
