//! Which clones vCenter works on, whatever they are made from: one read of its list of tasks.

use jiff::Timestamp;
use rookery_fleet::MachineId;
use rookery_vim::objects::{ObjectContent, PropertyFilterSpec, TaskState, UserSession};
use rookery_vim::{MoRef, Node, Wire as _};
use rookery_vim_client::{CallError, itself, properties, retrieve, through};

use super::Hands;
use crate::sessions;

/// The clones that vCenter lists. All that have not ended are among them, of any user and any source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloneTasks {
    /// Since when our session lasts, by vCenter's clock. It ends with vCenter's service, and so does the list.
    pub session_since: Option<Timestamp>,
    pub clones: Vec<CloneTask>,
}

/// A task that clones, or that may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneTask {
    pub task: String,
    /// Whether our user ordered it. One of which nobody tells who did may be ours.
    pub ours: bool,
    /// When it was ordered, by vCenter's clock.
    pub queued: Option<Timestamp>,
    /// Whether it has ended; one in a state that nobody knows has not.
    pub ended: bool,
    /// When it ended, by vCenter's clock.
    pub completed: Option<Timestamp>,
    /// What it made, once it has.
    pub made: Option<MachineId>,
}

impl<M: Clone + PartialEq + 'static> Hands<M> {
    /// The clones that vCenter lists: all that have not ended, and those that ended in the last minutes.
    pub async fn clone_tasks(&self) -> Result<CloneTasks, CallError> {
        let tasks = self.client.content().task_manager.clone();
        let tasks = tasks.unwrap_or_else(|| MoRef::new("TaskManager", "TaskManager"));
        Ok(read(retrieve(&self.client, spec(tasks, sessions::manager(&self.client))).await?))
    }
}

fn spec(tasks: MoRef, sessions: MoRef) -> PropertyFilterSpec {
    PropertyFilterSpec {
        prop_set: vec![properties("Task", &["info"]), properties("SessionManager", &["currentSession"])],
        object_set: vec![through(tasks, "recentTask"), itself(sessions)],
        report_missing_objects: Some(true),
    }
}

fn read(found: Vec<ObjectContent>) -> CloneTasks {
    let (tasks, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|object| object.obj.kind() == "Task");
    let session = others.into_iter().find_map(|object| property(object, "currentSession"));
    let session = session.and_then(|node| UserSession::from_node(node).ok());
    let user = session.as_ref().map(|session| session.user_name.as_str());
    let clones = tasks.into_iter().filter_map(|task| clone_task(task, user)).collect();
    CloneTasks { session_since: session.as_ref().and_then(|session| session.login_time), clones }
}

fn property(object: ObjectContent, path: &str) -> Option<Node> {
    object.prop_set.into_iter().find(|property| property.name == path).map(|property| property.val)
}

fn clone_task(object: ObjectContent, user: Option<&str>) -> Option<CloneTask> {
    let task = object.obj.id().to_owned();
    let Some(info) = property(object, "info") else {
        // It may be anything.
        let (queued, completed, made) = (None, None, None);
        return Some(CloneTask { task, ours: true, queued, ended: false, completed, made });
    };
    let by = info.child("reason").and_then(|reason| reason.child_text("userName"));
    let others = by.zip(user).is_some_and(|(by, user)| account(by) != account(user));
    let time = |name: &str| info.child(name).and_then(|time| Timestamp::from_node(time.clone()).ok());
    let result = info.child("result").and_then(|result| MoRef::from_node(result.clone()).ok());
    is_clone(&info).then(|| CloneTask {
        task,
        ours: !others,
        queued: time("queueTime"),
        ended: has_ended(&info),
        completed: time("completeTime"),
        made: result.map(|vm| MachineId::new(vm.id())),
    })
}

/// `DOMAIN\user` and `user@domain` may be the same user, in any case: better one too many is taken for us.
fn account(user: &str) -> String {
    let user = user.rsplit_once('\\').map_or(user, |(_, user)| user);
    user.split_once('@').map_or(user, |(user, _)| user).to_lowercase()
}

pub(super) fn is_clone(info: &Node) -> bool {
    let described = info.child_text("descriptionId").is_some_and(|id| id.starts_with("VirtualMachine.clone"));
    described || info.child_text("name") == Some("CloneVM_Task")
}

pub(super) fn has_ended(info: &Node) -> bool {
    let state = info.child("state").and_then(|state| TaskState::from_node(state.clone()).ok());
    matches!(state, Some(TaskState::Success | TaskState::Error))
}

#[cfg(test)]
mod tests {
    use rookery_vim::objects::DynamicProperty;

    use super::*;

    fn text(name: &str, text: &str) -> Node {
        Node { text: text.to_owned(), ..Node::new(name) }
    }

    fn of(kind: &str, id: &str, path: &str, val: Option<Node>) -> ObjectContent {
        let prop_set = val.map(|val| DynamicProperty { name: path.to_owned(), val }).into_iter().collect();
        ObjectContent { obj: MoRef::new(kind, id), prop_set, missing_set: Vec::new() }
    }

    fn session(user: &str) -> ObjectContent {
        let mut session = Node::new("val");
        session.children =
            vec![text("key", "k"), text("userName", user), text("loginTime", "2031-02-03T04:05:06Z")];
        of("SessionManager", "SessionManager", "currentSession", Some(session))
    }

    fn task(id: &str, description: &str, state: &str, user: Option<&str>) -> ObjectContent {
        let mut reason = Node::new("reason");
        reason.children = user.map(|user| text("userName", user)).into_iter().collect();
        let mut info = Node::new("val");
        info.children = vec![text("descriptionId", description), text("state", state), reason];
        of("Task", id, "info", Some(info))
    }

    #[test]
    fn clones_are_told_from_other_tasks_and_those_of_our_user_from_others() {
        const CLONE: &str = "VirtualMachine.clone";
        let listed = read(vec![
            session("VSPHERE.LOCAL\\ci"),
            task("queued", CLONE, "queued", Some("vsphere.local\\CI")),
            task("running", CLONE, "running", Some("VSPHERE.LOCAL\\ci")),
            task("done", CLONE, "success", Some("VSPHERE.LOCAL\\ci")),
            task("failed", CLONE, "error", Some("VSPHERE.LOCAL\\ci")),
            task("odd", CLONE, "paused", Some("VSPHERE.LOCAL\\ci")),
            task("written otherwise", CLONE, "running", Some("ci@vsphere.local")),
            task("nobody's", CLONE, "running", None),
            task("another's", CLONE, "running", Some("VSPHERE.LOCAL\\jane")),
            task("start", "VirtualMachine.powerOn", "running", Some("VSPHERE.LOCAL\\ci")),
            of("Task", "untold", "info", None),
        ]);
        assert_eq!(listed.session_since, "2031-02-03T04:05:06Z".parse().ok());
        let found: Vec<_> =
            listed.clones.iter().map(|clone| (clone.task.as_str(), clone.ours, clone.ended)).collect();
        let expected = [
            ("queued", true, false),
            ("running", true, false),
            ("done", true, true),
            ("failed", true, true),
            ("odd", true, false),
            ("written otherwise", true, false),
            ("nobody's", true, false),
            ("another's", false, false),
            ("untold", true, false),
        ];
        assert_eq!(found, expected);
        let mut done = task("done", CLONE, "success", None);
        done.prop_set[0].val.children.push(text("completeTime", "2031-02-03T04:06:07Z"));
        let completed = read(vec![done]).clones.first().and_then(|clone| clone.completed);
        assert_eq!(completed, "2031-02-03T04:06:07Z".parse().ok());
        // Without our own name nobody can be told from us.
        let listed = read(vec![task("another's", CLONE, "running", Some("VSPHERE.LOCAL\\jane"))]);
        assert!(listed.clones.iter().all(|clone| clone.ours), "{listed:?}");
    }
}
