//! Asks what the user may do with each object that was found; for what was not named, with what it would be in.

use std::collections::BTreeMap;

use rookery_vim::methods::HasPrivilegeOnEntities;
use rookery_vim::{Hidden, MoRef};
use rookery_vim_client::Client;

use crate::doctor::observed::{Answer, Datacenter, Inventory, ObjectPrivileges, Sought, Template};
use crate::doctor::privileges::{On, needs_on};

/// An object, or the name that did not lead to one.
type Object = (String, Option<MoRef>);

pub(super) async fn ask(client: &Client, found: &Inventory, within: &MoRef) -> Vec<ObjectPrivileges> {
    let mut roles: Vec<(Object, Vec<On>)> = Vec::new();
    for on in On::ALL {
        for object in objects(found, on, within, &client.content().root_folder) {
            match roles.iter_mut().find(|(known, _)| *known == object) {
                Some((_, roles)) => roles.push(on),
                None => roles.push((object, vec![on])),
            }
        }
    }
    let mut asked = Vec::with_capacity(roles.len());
    for ((object, id), on) in roles {
        let answer = match id {
            Some(id) => ask_one(client, &on, &id).await,
            None => Answer::NoObject,
        };
        asked.push(ObjectPrivileges { on, object, answer });
    }
    asked
}

fn objects(found: &Inventory, on: On, within: &MoRef, root: &MoRef) -> Vec<Object> {
    let whole = match &found.datacenter {
        Datacenter::One(path) => (path.clone(), Some(within.clone())),
        Datacenter::All(_) => ("/".to_owned(), Some(within.clone())),
        Datacenter::Missing(_) => ("the datacenter".to_owned(), None),
    };
    let named: Vec<Object> = match on {
        On::Root => return vec![("/".to_owned(), Some(root.clone()))],
        On::Datacenter => Vec::new(),
        On::Folder => listed(&found.folder, |it| (it.path.clone(), it.id.clone())),
        On::Pool => listed(&found.pool, |it| (it.path.clone(), it.id.clone())),
        On::Datastore => listed(&found.datastore, |it| (it.path.clone(), it.id.clone())),
        On::Network => listed(&found.networks, |it| (it.path.clone(), it.id.clone())),
        On::Template | On::Machine => return sources(found, on, whole),
    };
    if named.is_empty() { vec![whole] } else { named }
}

fn listed<'a, T: 'a>(
    sought: impl IntoIterator<Item = &'a Sought<T>>,
    place: impl Fn(&T) -> (String, MoRef),
) -> Vec<Object> {
    let object = |sought: &Sought<T>| match &sought.found {
        Ok(found) => {
            let (path, id) = place(found);
            (path, Some(id))
        }
        Err(_) => (sought.name.clone(), None),
    };
    sought.into_iter().map(object).collect()
}

/// A template and a VM are cloned by different privileges; of what is not known to be either, both are asked.
fn sources(found: &Inventory, on: On, whole: Object) -> Vec<Object> {
    if found.templates.is_empty() {
        return vec![whole];
    }
    let fits = |marked: Option<bool>| marked.is_none_or(|is| is == (on == On::Template));
    let object = |sought: &Sought<Template>| match &sought.found {
        Ok(Template { marked, path, id, .. }) => fits(*marked).then(|| (path.clone(), Some(id.clone()))),
        // Once is enough.
        Err(_) => (on == On::Template).then(|| (sought.name.clone(), None)),
    };
    found.templates.iter().filter_map(object).collect()
}

async fn ask_one(client: &Client, on: &[On], id: &MoRef) -> Answer {
    let (Some(manager), Some(key)) = (client.content().authorization_manager.clone(), client.session_key())
    else {
        return Answer::Unsupported;
    };
    let question = HasPrivilegeOnEntities {
        this: manager,
        entity: vec![id.clone()],
        session_id: Hidden(key),
        priv_id: needs_on(on).iter().map(|need| need.privilege.to_owned()).collect(),
    };
    match client.call(&question).await {
        Ok(answers) => {
            let ours = answers.into_iter().filter(|answer| answer.entity == *id);
            let granted = ours.flat_map(|answer| answer.priv_availability);
            Answer::Told(granted.map(|one| (one.priv_id, one.is_granted)).collect::<BTreeMap<_, _>>())
        }
        Err(error) => Answer::Failed(error),
    }
}
