use jiff::Timestamp;
use rookery_sim::RequestId;

use super::*;
use crate::id::Kind;
use crate::io::{Body, Input};
use crate::model::{Counts, Model};
use crate::settings::Settings;

const REST: &str = "/rest/com/vmware/cis";

/// A client of one world.
struct Client {
    world: World,
    session: Option<String>,
}

impl Client {
    fn new() -> Self {
        let settings = Settings { login: Some(("user".into(), "pass".into())), ..Settings::default() };
        let model = Model::uniform(Counts::default());
        let world = model.build(settings, Timestamp::UNIX_EPOCH).expect("a model");
        Self { world, session: None }
    }

    fn logged_in() -> Self {
        let mut client = Self::new();
        let (status, answer) = client.log_in("/rest/com/vmware/cis/session");
        assert_eq!(status, 200);
        client.session = answer["value"].as_str().map(str::to_owned);
        client
    }

    fn log_in(&mut self, path: &str) -> (u16, Value) {
        self.send("POST", path, &Value::Null, Some(("authorization", "Basic dXNlcjpwYXNz")))
    }

    fn ask(&mut self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let session = self.session.clone();
        self.send(method, path, body, session.as_deref().map(|id| ("vmware-api-session-id", id)))
    }

    /// The answer to what must succeed, without its wrapper.
    fn get(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let (status, mut answer) = self.ask(method, &format!("{REST}{path}"), body);
        assert_eq!(status, 200, "{path}: {answer}");
        answer["value"].take()
    }

    fn send(&mut self, method: &str, path: &str, body: &Value, header: Option<(&str, &str)>) -> (u16, Value) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let request = Request {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers: header.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            body: if body.is_null() { Vec::new() } else { body.to_string().into_bytes() }.into(),
            ..Request::default()
        };
        let now = self.world.now;
        let mut output = self.world.step(now, Input::Request(RequestId(1), request));
        let (_, reply) = output.replies.pop().expect("an answer");
        let Body::Text(text) = reply.body else { panic!("no text") };
        (reply.status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    fn vms(&self) -> Vec<Value> {
        let vms = self.world.store.entities_of(Kind::VirtualMachine);
        vms.map(|id| json!({ "type": "VirtualMachine", "id": id.text() })).collect()
    }

    fn category(&mut self, name: &str, cardinality: &str) -> String {
        let spec = json!({
            "name": name, "description": "", "cardinality": cardinality, "associable_types": [],
        });
        let id = self.get("POST", "/tagging/category", &json!({ "create_spec": spec }));
        id.as_str().expect("an identifier").to_owned()
    }

    fn tag(&mut self, category: &str, name: &str) -> String {
        let spec = json!({ "name": name, "description": "", "category_id": category });
        let id = self.get("POST", "/tagging/tag", &json!({ "create_spec": spec }));
        id.as_str().expect("an identifier").to_owned()
    }
}

#[test]
fn a_session_is_told_of_until_it_ends() {
    let mut client = Client::new();
    let path = &format!("{REST}/session");
    assert_eq!(client.ask("GET", path, &Value::Null).0, 401);
    assert_eq!(client.send("POST", path, &Value::Null, None).0, 401);
    let wrong = Some(("authorization", "Basic dXNlcjp3cm9uZw=="));
    let (status, answer) = client.send("POST", path, &Value::Null, wrong);
    assert_eq!((status, &answer["type"]), (401, &"com.vmware.vapi.std.errors.unauthenticated".into()));
    client = Client::logged_in();
    assert_eq!(client.get("GET", "/session", &Value::Null)["user"], "user");
    assert_eq!(client.get("POST", "/session?~action=get", &Value::Null)["user"], "user");
    let cookie = format!("a=b; vmware-api-session-id={}", client.session.clone().expect("a session"));
    assert_eq!(client.send("GET", path, &Value::Null, Some(("cookie", &cookie))).0, 200);
    // The other interface does not know of it.
    assert_eq!(client.world.sessions.all().count(), 0);
    assert_eq!(client.ask("DELETE", path, &Value::Null).0, 200);
    assert_eq!(client.ask("GET", path, &Value::Null).0, 401);
}

#[test]
fn a_model_has_categories_and_tags() {
    let model = |on: &str| -> Model {
        let category =
            json!({ "name": "size", "types": ["VirtualMachine"], "tag": [{ "name": "small", "on": [on] }] });
        let model = json!({ "datacenter": [{ "name": "DC0", "folders": ["ci"] }], "category": [category] });
        serde_json::from_value(model).expect("a model")
    };
    let build =
        |model: Model| model.build(Settings::default(), Timestamp::UNIX_EPOCH).map_err(|e| e.to_string());
    let nothing = build(model("DC0/vm/web")).map(drop);
    assert_eq!(nothing, Err("tag \"small\" cannot be made: there is nothing at DC0/vm/web".to_owned()));
    let unfit = build(model("DC0/vm/ci")).map(drop).expect_err("a folder has no size");
    assert!(unfit.contains("The category size is not for a Folder."), "{unfit}");

    let mut uniform = Model::uniform(Counts::default());
    uniform.categories = model("DC0/vm/DC0_H0_VM0").categories;
    let mut client = Client::logged_in();
    client.world.tags = build(uniform).expect("a world").tags;
    let tags = client.get("GET", "/tagging/tag", &Value::Null);
    let tag = tags[0].as_str().expect("a tag");
    assert_eq!(client.get("GET", &format!("/tagging/tag/id:{tag}"), &Value::Null)["name"], "small");
    let on = client.get(
        "POST",
        &format!("/tagging/tag-association/id:{tag}?~action=list-attached-objects"),
        &Value::Null,
    );
    assert_eq!(on, json!([client.vms()[0]]));
}

#[test]
fn the_newer_spelling_does_the_same() {
    let mut client = Client::new();
    let (status, id) = client.log_in("/api/session");
    assert_eq!(status, 201);
    client.session = id.as_str().map(str::to_owned);
    assert_eq!(client.ask("GET", "/api/session", &Value::Null).1["user"], "user");
    let spec = json!({ "name": "c", "description": "", "cardinality": "SINGLE", "associable_types": [] });
    let (status, category) = client.ask("POST", "/api/cis/tagging/category", &spec);
    assert_eq!(status, 201);
    let spec = json!({ "name": "t", "description": "", "category_id": category });
    let (status, tag) = client.ask("POST", "/api/cis/tagging/tag", &spec);
    assert_eq!(status, 201);
    let listing = "/api/cis/tagging/tag?action=list-tags-for-category";
    assert_eq!(client.ask("POST", listing, &json!({ "category_id": category })), (200, json!([tag])));
    let vm = client.vms().remove(0);
    let on = format!("/api/cis/tagging/tag-association/{}", tag.as_str().expect("an identifier"));
    let body = json!({ "object_id": vm });
    assert_eq!(client.ask("POST", &format!("{on}?action=attach"), &body), (204, Value::Null));
    let listing = "/api/cis/tagging/tag-association?action=list-attached-tags";
    assert_eq!(client.ask("POST", listing, &body), (200, json!([tag])));
    let (status, no) = client.ask("GET", "/api/cis/tagging/tag/urn:x", &Value::Null);
    assert_eq!((status, &no["error_type"]), (404, &"NOT_FOUND".into()));
    assert_eq!(client.ask("DELETE", "/api/session", &Value::Null).0, 204);
}

#[test]
fn many_objects_get_and_lose_a_tag_at_once_each_for_itself() {
    let mut client = Client::logged_in();
    let category = client.category("c", "SINGLE");
    let (one, two) = (client.tag(&category, "one"), client.tag(&category, "two"));
    let vms = client.vms();
    let action = |tag: &str, action: &str| format!("/tagging/tag-association/id:{tag}?~action={action}");
    let gone = json!({ "type": "VirtualMachine", "id": "vm-99999" });
    let body = json!({ "object_ids": [vms[0], gone, vms[1]] });
    let outcome = client.get("POST", &action(&one, "attach-tag-to-multiple-objects"), &body);
    assert_eq!(
        (&outcome["success"], outcome["error_messages"].as_array().map(Vec::len)),
        (&json!(false), Some(1))
    );
    let has = |client: &mut Client, tag: &str| {
        client.get("POST", &action(tag, "list-attached-objects"), &Value::Null)
    };
    assert_eq!(has(&mut client, &one), json!([vms[0], vms[1]]));

    // One of them is enough.
    let body = json!({ "object_ids": [vms[1], vms[2]] });
    let outcome = client.get("POST", &action(&two, "attach-tag-to-multiple-objects"), &body);
    assert_eq!(outcome["success"], false);
    let on_tags = "/tagging/tag-association?~action=list-attached-objects-on-tags";
    let expected = json!([
        { "tag_id": one, "object_ids": [vms[0], vms[1]] },
        { "tag_id": two, "object_ids": [vms[2]] },
    ]);
    assert_eq!(client.get("POST", on_tags, &json!({ "tag_ids": [one, two] })), expected);

    let body = json!({ "object_ids": [vms[0], vms[2]] });
    let outcome = client.get("POST", &action(&one, "detach-tag-from-multiple-objects"), &body);
    assert_eq!(outcome, json!({ "success": true, "error_messages": [] }));
    assert_eq!(has(&mut client, &one), json!([vms[1]]));
    let (status, no) =
        client.ask("POST", &format!("{REST}{}", action("urn:x", "attach")), &json!({ "object_id": vms[0] }));
    assert_eq!((status, &no["type"]), (404, &"com.vmware.vapi.std.errors.not_found".into()));
    // What is not there cannot be told from what may not be seen.
    let (status, _) =
        client.ask("POST", &format!("{REST}{}", action(&one, "attach")), &json!({ "object_id": gone }));
    assert_eq!(status, 403);
}

#[test]
fn an_object_gets_and_loses_many_tags_at_once() {
    let mut client = Client::logged_in();
    let category = client.category("c", "MULTIPLE");
    let mut tags = [client.tag(&category, "one"), client.tag(&category, "two")];
    tags.sort();
    let vms = client.vms();
    let action = |action: &str| format!("/tagging/tag-association?~action={action}");
    let with_unknown = json!({ "object_id": vms[0], "tag_ids": [tags[0], "urn:x"] });
    let path = format!("{REST}{}", action("attach-multiple-tags-to-object"));
    assert_eq!(client.ask("POST", &path, &with_unknown).0, 404);
    let on_objects = action("list-attached-tags-on-objects");
    let both = json!({ "object_ids": [vms[0], vms[1]] });
    let listed = |first: Value| json!([{ "object_id": vms[0], "tag_ids": first }, { "object_id": vms[1], "tag_ids": [] }]);
    assert_eq!(client.get("POST", &on_objects, &both), listed(json!([])));
    let body = json!({ "object_id": vms[0], "tag_ids": tags });
    let done = json!({ "success": true, "error_messages": [] });
    assert_eq!(client.get("POST", &action("attach-multiple-tags-to-object"), &body), done);
    assert_eq!(client.get("POST", &on_objects, &both), listed(json!(tags)));
    let body = json!({ "object_id": vms[0], "tag_ids": [tags[0]] });
    assert_eq!(client.get("POST", &action("detach-multiple-tags-from-object"), &body), done);
    assert_eq!(client.get("POST", &on_objects, &both), listed(json!([tags[1]])));
    let gone = json!({ "type": "VirtualMachine", "id": "vm-99999" });
    let one = json!([{ "object_id": vms[0], "tag_ids": [tags[1]] }]);
    assert_eq!(client.get("POST", &on_objects, &json!({ "object_ids": [gone, vms[0]] })), one);
    let attachable = client.get("POST", &action("list-attachable-tags"), &json!({ "object_id": vms[0] }));
    assert_eq!(attachable, json!(tags));
}

#[test]
fn what_makes_no_sense_is_refused_with_its_reason() {
    let mut client = Client::logged_in();
    let category = client.category("c", "MULTIPLE");
    let mut check = |method: &str, path: &str, body: Value, status: u16, class: &str| {
        let (found, no) = client.ask(method, &format!("{REST}/tagging/{path}"), &body);
        let class = format!("com.vmware.vapi.std.errors.{class}");
        assert_eq!((found, no["type"].as_str()), (status, Some(&*class)), "{method} {path} {body}");
        assert!(no["value"]["messages"][0]["default_message"].is_string(), "{no}");
    };
    let spec = |spec: Value| json!({ "create_spec": spec });
    check("POST", "category", Value::Null, 400, "invalid_argument");
    check("POST", "category", spec(json!({ "name": "d" })), 400, "invalid_argument");
    let strange = json!({ "name": "d", "description": "", "cardinality": "SOME", "associable_types": [] });
    check("POST", "category", spec(strange), 400, "invalid_argument");
    let twice = json!({ "name": "C", "description": "", "cardinality": "SINGLE", "associable_types": [] });
    check("POST", "category", spec(twice), 400, "already_exists");
    let lost = json!({ "name": "t", "description": "", "category_id": "urn:x" });
    check("POST", "tag", spec(lost), 404, "not_found");
    let nameless = json!({ "name": "", "description": "", "category_id": category });
    check("POST", "tag", spec(nameless), 400, "invalid_argument");
    check("DELETE", "tag/id:urn:x", Value::Null, 404, "not_found");
    check("PUT", "tag", Value::Null, 404, "operation_not_found");
    check("POST", "tag-association?~action=dance", json!({}), 404, "operation_not_found");
    check("POST", "tag-association?~action=list-attached-tags", json!({}), 400, "invalid_argument");
    let narrower = json!({ "update_spec": { "cardinality": "SINGLE" } });
    check("PATCH", &format!("category/id:{category}"), narrower, 400, "invalid_argument");
}

#[test]
fn both_spellings_of_a_path_lead_to_the_same_thing() {
    let check = |path: &str, expected: Option<(Style, Collection, Option<&str>)>| {
        let expected = expected.map(|(style, collection, id)| (style, collection, id.map(str::to_owned)));
        assert_eq!(route(path), expected, "{path}");
    };
    let rest = "/rest/com/vmware/cis";
    check(&format!("{rest}/session"), Some((Style::Rest, Collection::Session, None)));
    check("/api/session", Some((Style::Api, Collection::Session, None)));
    check(&format!("{rest}/tagging/tag"), Some((Style::Rest, Collection::Tag, None)));
    let tagged = Some((Style::Rest, Collection::Tag, Some("urn:a b")));
    check(&format!("{rest}/tagging/tag/id:urn:a%20b"), tagged);
    check("/api/cis/tagging/tag/urn:a%20b", Some((Style::Api, Collection::Tag, Some("urn:a b"))));
    check("/api/cis/tagging/tag-association", Some((Style::Api, Collection::Association, None)));
    check("/api/cis/tagging/tag/a+b", Some((Style::Api, Collection::Tag, Some("a+b"))));
    for nothing in ["/rest/com/vmware/cis/tagging/tag/urn:a", "/api/vcenter/vm", "/rest/x", "/api/"] {
        check(nothing, None);
    }
}

#[test]
fn an_action_is_found_in_both_spellings() {
    let action = |query: &str| action(&Request { query: query.to_owned(), ..Request::default() });
    assert_eq!(action("~action=attach"), Some("attach".to_owned()));
    assert_eq!(action("x=1&action=list%2Dit"), Some("list-it".to_owned()));
    assert_eq!(action("x=1"), None);
}

#[test]
fn each_spelling_has_its_own_shape_of_answers() {
    let check = |style, made, answer: Answer, status: u16, text: &str| {
        let reply = write(style, made, answer);
        assert_eq!((reply.status, reply.body), (status, Body::Text(text.to_owned())));
    };
    check(Style::Rest, true, Ok(json!("a")), 200, r#"{"value":"a"}"#);
    check(Style::Api, true, Ok(json!("a")), 201, r#""a""#);
    check(Style::Api, false, Ok(json!(["a"])), 200, r#"["a"]"#);
    check(Style::Rest, false, Ok(Value::Null), 200, "");
    check(Style::Api, false, Ok(Value::Null), 204, "");
    let words = r#"{"args":[],"default_message":"The tag with identifier x was not found.","id":"com.vmware.vapi.std.errors.not_found"}"#;
    let rest =
        format!(r#"{{"type":"com.vmware.vapi.std.errors.not_found","value":{{"messages":[{words}]}}}}"#);
    check(Style::Rest, false, Err(RestError::not_found("tag", "x")), 404, &rest);
    let api = format!(r#"{{"error_type":"NOT_FOUND","messages":[{words}]}}"#);
    check(Style::Api, false, Err(RestError::not_found("tag", "x")), 404, &api);
}
