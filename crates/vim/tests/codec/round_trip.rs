//! Whatever we can say, the other side can read; and whatever the other side says, nothing panics.

use jiff::Timestamp;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use rookery_vim::envelope::{self, AnswerError};
use rookery_vim::methods::{
    CreateContainerView, CreateFilter, CurrentTime, Login, Method, ModifyListView, PowerOnVmTask, RenameTask,
    RetrievePropertiesEx, TerminateSession, WaitForUpdatesEx,
};
use rookery_vim::objects::{
    DynamicProperty, LocalizedMethodFault, MissingProperty, ObjectContent, ObjectSpec, ObjectUpdate,
    ObjectUpdateKind, PropertyChange, PropertyChangeOp, PropertyFilterSpec, PropertyFilterUpdate,
    PropertySpec, RetrieveOptions, RetrieveResult, Selection, SelectionSpec, TraversalSpec, UpdateSet,
    UserSession, WaitOptions,
};
use rookery_vim::{Fault, Hidden, Limits, MoRef, Node, Wire, Writer, node, unwritable};

use crate::writing::said;
use crate::{answer, content};

proptest! {
    #[test]
    fn any_text_comes_back(text in text()) {
        call_comes_back(&RenameTask { this: MoRef::new("A", "a"), new_name: text })?;
    }

    #[test]
    fn what_xml_cannot_carry_is_refused_and_nothing_is_left_out(text in any::<String>()) {
        let sent = RenameTask { this: MoRef::new("A", "a"), new_name: text.clone() };
        match envelope::call(&sent, None) {
            Ok(call) => {
                let read = RenameTask::read(content(call.as_bytes())).expect("a call");
                prop_assert_eq!(read.new_name, text);
            }
            Err(_) => prop_assert!(unwritable(&text).is_some()),
        }
    }

    #[test]
    fn any_value_comes_back(value in value("val")) {
        prop_assert_eq!(Node::any(&value), Ok(value));
    }

    #[test]
    fn any_operation_comes_back(operation in text()) {
        let call = said(&CurrentTime { this: envelope::service_instance() }, Some(&operation));
        let root = node::parse(call.as_bytes(), &Limits::default()).expect("a call");
        prop_assert_eq!(root.children[0].child_text("operationID"), Some(&*operation));
    }

    #[test]
    fn calls_come_back(
        this in reference(),
        other in reference(),
        references in vec(reference(), 0..4),
        texts in vec(text(), 0..4),
        text in text(),
        maybe in option::of(text()),
        number in option::of(any::<i32>()),
        on in any::<bool>(),
    ) {
        let password = Hidden(text.clone());
        call_comes_back(&Login { this: this.clone(), user_name: text, password, locale: maybe.clone() })?;
        call_comes_back(&TerminateSession { this: this.clone(), session_id: texts.clone() })?;
        let container = other.clone();
        call_comes_back(&CreateContainerView { this: this.clone(), container, kinds: texts, recursive: on })?;
        call_comes_back(&ModifyListView { this: this.clone(), add: references, remove: vec![other.clone()] })?;
        call_comes_back(&PowerOnVmTask { this: this.clone(), host: on.then_some(other) })?;
        let options = WaitOptions { max_wait_seconds: number, max_object_updates: None };
        call_comes_back(&WaitForUpdatesEx { this, version: maybe, options: on.then_some(options) })?;
    }

    #[test]
    fn filters_come_back(
        this in reference(),
        specs in vec(filter(), 0..3),
        partial_updates in any::<bool>(),
        max_objects in option::of(any::<i32>()),
    ) {
        for spec in specs.clone() {
            call_comes_back(&CreateFilter { this: this.clone(), spec, partial_updates })?;
        }
        call_comes_back(&RetrievePropertiesEx { this, spec_set: specs, options: RetrieveOptions { max_objects } })?;
    }

    #[test]
    fn results_come_back(
        objects in vec(object(), 0..4),
        token in option::of(text()),
        list in vec(reference(), 0..4),
        time in time(),
    ) {
        result_comes_back::<RetrievePropertiesEx>(Some(RetrieveResult { token, objects }))?;
        result_comes_back::<ModifyListView>(list)?;
        result_comes_back::<CurrentTime>(time)?;
    }

    #[test]
    fn sessions_come_back(key in text(), user_name in text(), time in option::of(time()), agent in option::of(text())) {
        result_comes_back::<Login>(UserSession {
            key: Hidden(key),
            full_name: Some(user_name.clone()),
            user_name,
            login_time: time,
            last_active_time: None,
            locale: None,
            message_locale: None,
            extension_session: Some(false),
            ip_address: None,
            user_agent: agent,
            call_count: Some(7),
        })?;
    }

    #[test]
    fn updates_come_back(set in option::of(updates())) {
        result_comes_back::<WaitForUpdatesEx>(set)?;
    }

    #[test]
    fn faults_come_back(detail in option::of(value("AnyFault")), message in text()) {
        let mut out = Writer::new();
        out.raw("<e:Envelope xmlns:e='http://schemas.xmlsoap.org/soap/envelope/'");
        out.raw(" xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'><e:Body><e:Fault>");
        out.leaf("faultstring", None, &message);
        out.open("detail", None);
        if let Some(detail) = &detail {
            detail.write(&mut out, "AnyFault", true);
        }
        out.raw("</detail></e:Fault></e:Body></e:Envelope>");
        let fault = Fault::new(detail, message);
        prop_assert!(!fault.to_string().is_empty());
        prop_assert_eq!(answer::<CurrentTime>(out.into_string().as_bytes()), Err(AnswerError::Fault(fault)));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        read_or_refused(&bytes);
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        read_or_refused(text.as_bytes());
    }

    #[test]
    fn any_markup_is_read_or_refused(parts in vec(proptest::sample::select(MARKUP), 0..60)) {
        let text = parts.concat();
        read_or_refused(text.as_bytes());
        read_or_refused(format!("<a>{text}</a>").as_bytes());
        read_or_refused(format!("<a {text}/>").as_bytes());
    }
}

#[rustfmt::skip]
const MARKUP: &[&str] = &[
    "<", ">", "</", "/>", "a", "b", ":", " ", "=", "\"", "'", "&", ";", "#", "x", "1", "<!", "[CDATA[", "]]>", "--", "?",
    "xmlns", "type", "\n", "é",
];

pub(crate) fn call_comes_back<M: Method + PartialEq + std::fmt::Debug>(
    method: &M,
) -> Result<(), TestCaseError> {
    let node = content(said(method, Some("op")).as_bytes());
    prop_assert_eq!(&*node.name, M::NAME);
    let read = M::read(node);
    prop_assert_eq!(read.as_ref(), Ok(method));
    Ok(())
}

pub(crate) fn result_comes_back<M: Method>(output: M::Output) -> Result<(), TestCaseError>
where
    M::Output: PartialEq + std::fmt::Debug,
{
    prop_assert_eq!(answer::<M>(envelope::result::<M>(&output).as_bytes()), Ok(output));
    Ok(())
}

fn read_or_refused(bytes: &[u8]) {
    drop(node::parse(bytes, &Limits::default()));
    drop(answer::<WaitForUpdatesEx>(bytes));
    drop(envelope::versions(bytes));
}

fn legal(text: &str) -> String {
    let legal =
        |c: &char| matches!(c, '\t' | '\n' | '\r') || (*c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}'));
    text.chars().filter(legal).collect()
}

/// Characters of every kind, those with a meaning in XML often.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let special =
        proptest::sample::select(vec!['&', '<', '>', '"', '\'', '\r', '\n', '\t', ' ', ']', ';', '#']);
    vec(prop_oneof![any::<char>(), special], 0..12)
        .prop_map(|chars| legal(&chars.into_iter().collect::<String>()))
}

fn name() -> impl Strategy<Value = String> {
    "[A-Za-z_][A-Za-z0-9_.-]{0,8}"
}

pub(crate) fn reference() -> impl Strategy<Value = MoRef> {
    let id = text().prop_map(|id| format!("vm-{}", id.trim()).trim_end().to_owned());
    (text(), id).prop_map(|(kind, id)| MoRef::new(&kind, &id))
}

pub(crate) fn time() -> impl Strategy<Value = Timestamp> {
    (-62_135_596_800..253_402_207_200_i64, 0..1_000_000_000_i32).prop_map(|(second, nanosecond)| {
        Timestamp::new(second, nanosecond).expect("it is between the years 1 and 9999")
    })
}

/// A value of an open type: text, a reference, or members.
pub(crate) fn value(name: &'static str) -> impl Strategy<Value = Node> {
    let known = proptest::sample::select(vec!["string".to_owned(), "int".into(), "dateTime".into()]);
    let class = option::of(prop_oneof![self::name(), known]).boxed();
    let classed = move |node: Node| {
        (class.clone(), option::of(text()), self::name()).prop_map(move |(xsi_type, ref_type, name)| Node {
            name: name.into(),
            xsi_type: xsi_type.map(Into::into),
            ref_type: ref_type.map(Into::into),
            ..node.clone()
        })
    };
    let leaf = text().prop_map(|text| Node { text, ..Node::new("") }).prop_flat_map(classed.clone());
    let tree = leaf.prop_recursive(4, 24, 5, move |inner| {
        vec(inner, 1..5)
            .prop_map(|children| Node { children, ..Node::new("") })
            .prop_flat_map(classed.clone())
    });
    tree.prop_map(move |node| Node { name: name.into(), ..node })
}

fn filter() -> impl Strategy<Value = PropertyFilterSpec> {
    let skip = || option::of(any::<bool>());
    let leaf = option::of(text()).prop_map(|name| Selection::SelectionSpec(SelectionSpec { name }));
    let selection = leaf.prop_recursive(6, 12, 3, move |inner| {
        (option::of(text()), text(), text(), skip(), vec(inner, 0..3)).prop_map(
            |(name, kind, path, skip, select_set)| {
                Selection::TraversalSpec(TraversalSpec { name, kind, path, skip, select_set })
            },
        )
    });
    let properties = (text(), skip(), vec(text(), 0..4)).prop_map(|(kind, all, path_set)| PropertySpec {
        kind,
        all,
        path_set,
    });
    let object = (reference(), skip(), vec(selection, 0..3)).prop_map(|(obj, skip, select_set)| ObjectSpec {
        obj,
        skip,
        select_set,
    });
    (vec(properties, 0..3), vec(object, 0..3), skip()).prop_map(
        |(prop_set, object_set, report_missing_objects)| PropertyFilterSpec {
            prop_set,
            object_set,
            report_missing_objects,
        },
    )
}

fn missing() -> impl Strategy<Value = MissingProperty> {
    (text(), option::of(value("fault")), option::of(text())).prop_map(|(path, fault, localized_message)| {
        MissingProperty { path, fault: LocalizedMethodFault { fault, localized_message } }
    })
}

fn object() -> impl Strategy<Value = ObjectContent> {
    let property = (text(), value("val")).prop_map(|(name, val)| DynamicProperty { name, val });
    (reference(), vec(property, 0..4), vec(missing(), 0..2))
        .prop_map(|(obj, prop_set, missing_set)| ObjectContent { obj, prop_set, missing_set })
}

fn updates() -> impl Strategy<Value = UpdateSet> {
    let op = prop_oneof![Just("assign".to_owned()), Just("indirectRemove".to_owned()), text()];
    let kind = prop_oneof![Just("enter".to_owned()), Just("leave".to_owned()), text()];
    let change = (text(), op, option::of(value("val"))).prop_map(|(name, op, val)| PropertyChange {
        name,
        op: PropertyChangeOp::from(op),
        val,
    });
    let object = (kind, reference(), vec(change, 0..4), vec(missing(), 0..2)).prop_map(
        |(kind, obj, change_set, missing_set)| ObjectUpdate {
            kind: ObjectUpdateKind::from(kind),
            obj,
            change_set,
            missing_set,
        },
    );
    let filter = (reference(), vec(object, 0..3), vec(value("missingSet"), 0..2)).prop_map(
        |(filter, object_set, missing_set)| PropertyFilterUpdate { filter, object_set, missing_set },
    );
    (text(), vec(filter, 0..3), option::of(any::<bool>()))
        .prop_map(|(version, filter_set, truncated)| UpdateSet { version, filter_set, truncated })
}
