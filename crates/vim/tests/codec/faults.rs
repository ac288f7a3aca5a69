//! Refusals, in each of the places where servers put them.

use rookery_vim::envelope::AnswerError;
use rookery_vim::fault::Class;
use rookery_vim::methods::{CurrentTime, RetrievePropertiesEx, WaitForUpdatesEx};
use rookery_vim::objects::LocalizedMethodFault;
use rookery_vim::{Fault, FaultKind, Node, Wire};

use crate::{answer, answered, document, result};

#[test]
fn a_fault_is_told_by_its_type_and_shown_with_its_members_and_words() {
    let check = |name: &str, kind: FaultKind, class: Class, text: &str| {
        let fault = fault(name);
        assert_eq!((fault.kind(), fault.kind().class()), (kind, class), "{name}");
        assert_eq!(fault.to_string(), text, "{name}");
        assert!(fault.has_detail());
    };
    check(
        "captures/fault_invalid_login",
        FaultKind::InvalidLogin,
        Class::Credentials,
        "InvalidLogin: Login failure",
    );
    check(
        "captures/fault_not_authenticated",
        FaultKind::NotAuthenticated,
        Class::Session,
        "NotAuthenticated (object ServiceInstance, privilegeId System.View)",
    );
    check(
        "captures/fault_object_not_found",
        FaultKind::ManagedObjectNotFound,
        Class::NotFound,
        "ManagedObjectNotFound (obj vm-9999): The object has already been deleted or has not been completely created",
    );
    check("captures/fault_request_canceled", FaultKind::RequestCanceled, Class::Cancelled, "RequestCanceled");
    check(
        "captures/fault_invalid_request",
        FaultKind::InvalidRequest,
        Class::Final,
        "InvalidRequest: no vmomi type defined for 'NoSuchMethod'",
    );
    check("captures/fault_bad_token", FaultKind::Other, Class::Final, "InvalidPropertyFault (name token)");
    check(
        "made/fault_default_namespace",
        FaultKind::NoPermission,
        Class::Permission,
        "NoPermission (object vm-7, privilegeId VirtualMachine.Interact.PowerOn): \
         Permission to perform this operation was denied.",
    );
}

#[test]
fn the_collector_of_a_lost_session_is_not_found() {
    let fault = fault("captures/fault_collector_gone");
    assert!(fault.is_not_found());
    assert!(fault.field("obj").is_some_and(|id| id.starts_with("session[")));
}

/// The general message says little; what is wrong stands in the messages and the cause inside.
#[test]
fn a_localized_fault_shows_its_inner_messages_and_its_cause() {
    let fault = fault("made/fault_localized");
    assert!(fault.is_transient());
    assert_eq!(
        fault.to_string(),
        "SystemError: Ein allgemeiner Systemfehler ist aufgetreten: Zeitüberschreitung: Datei ist gesperrt.: \
         Später erneut versuchen.: Zeitüberschreitung; caused by HostCommunication: \
         Verbindung zum Host nicht möglich.: Keine Verbindung zum Host esx-03.example.org."
    );
}

#[test]
fn a_fault_without_detail_says_so() {
    let fault = fault("made/fault_without_detail");
    assert!(!fault.has_detail());
    assert_eq!(
        (fault.kind(), fault.to_string().as_str()),
        (FaultKind::Other, "UnknownFault: Service unavailable")
    );
}

#[test]
fn a_failed_task_holds_the_same_fault_in_its_info_and_in_the_path_of_its_error() {
    let check = |error| {
        let fault = LocalizedMethodFault::from_node(error).expect("it is a fault").into_fault();
        assert_eq!(fault.kind(), FaultKind::InvalidPowerState);
        assert_eq!(fault.field("existingState"), Some("poweredOn"));
        // vcsim writes the name of a Go type as message.
        assert_eq!(
            fault.to_string(),
            "InvalidPowerState (requestedState poweredOn, existingState poweredOn)"
        );
    };
    let property = |name| {
        let page = result::<RetrievePropertiesEx>(name).expect("there is a task");
        page.objects
            .into_iter()
            .flat_map(|o| o.prop_set)
            .find(|p| p.val.xsi_type.as_deref() != Some("TaskInfoState"))
    };
    let mut info = property("captures/failed_task").expect("info").val;
    assert_eq!(info.child_text("state"), Some("error"));
    check(info.take("error").expect("the task failed"));
    check(property("captures/failed_task_paths").expect("info.error").val);
}

/// A property collector answers with HTTP status 200 and calls each property unreadable. That is no result.
#[test]
fn a_session_that_is_gone_is_a_fault_even_inside_a_result() {
    let check = |answered: Option<AnswerError>| match answered {
        Some(AnswerError::Fault(fault)) => {
            assert_eq!(
                (fault.kind(), fault.field("privilegeId")),
                (FaultKind::NotAuthenticated, Some("System.Read"))
            );
        }
        other => panic!("{other:?}"),
    };
    let missing = "<missingSet><path>name</path><fault><fault xsi:type='NotAuthenticated'>\
         <privilegeId>System.Read</privilegeId></fault></fault></missingSet>";
    let updates = format!(
        "<returnval><version>1</version><filterSet><filter type='PropertyFilter'>f</filter><objectSet>\
         <kind>enter</kind><obj type='Folder'>group-d1</obj>{missing}</objectSet></filterSet></returnval>"
    );
    check(answer::<RetrievePropertiesEx>(&document("captures/retrieve_not_authenticated")).err());
    check(answered::<WaitForUpdatesEx>(&updates).err());
}

#[test]
fn a_fault_of_no_stated_type_is_told_by_its_element_or_its_place() {
    let fault = |inside: &str| {
        let text = format!(
            "<e:Envelope xmlns:e='http://schemas.xmlsoap.org/soap/envelope/'><e:Body><e:Fault>\
             <faultstring>no</faultstring><detail>{inside}</detail></e:Fault></e:Body></e:Envelope>"
        );
        match answer::<CurrentTime>(text.as_bytes()) {
            Err(AnswerError::Fault(fault)) => fault.type_name().to_owned(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(fault("<InvalidLoginFault xmlns='urn:vim25'/>"), "InvalidLogin");
    assert_eq!(fault("<InsufficientResourcesFaultFault xmlns='urn:vim25'/>"), "InsufficientResourcesFault");
    assert_eq!(fault("<x:InvalidLoginFault xmlns:x='urn:other'/>"), "InvalidLogin");
    assert_eq!(fault("text"), "UnknownFault");
    let local = LocalizedMethodFault { fault: Some(Node::new("fault")), localized_message: None };
    assert_eq!(local.into_fault().type_name(), "MethodFault");
}

#[test]
fn the_name_of_a_fault_tells_what_to_conclude() {
    let check = |name: &str, class: Class| {
        let detail = Node { xsi_type: Some(name.into()), ..Node::new("fault") };
        assert_eq!(Fault::new(Some(detail), String::new()).kind().class(), class, "{name}");
    };
    check("TaskInProgress", Class::Concurrency);
    check("ConcurrentAccess", Class::Concurrency);
    check("CustomizationPending", Class::Concurrency);
    check("NicSettingMismatch", Class::Final);
    check("HostNotConnected", Class::Transient);
    check("SystemError", Class::Transient);
    check("RuntimeFault", Class::Transient);
    check("InsufficientMemoryResourcesFault", Class::Capacity);
    check("InsufficientResourcesQuota", Class::Capacity);
    check("NoDiskSpace", Class::Capacity);
    check("DuplicateName", Class::Exists);
    check("RestrictedByAdministrator", Class::Permission);
    check("InvalidCollectorVersion", Class::Final);
    check("FaultOfTomorrow", Class::Final);
}

fn fault(name: &str) -> Fault {
    match answer::<CurrentTime>(&document(name)) {
        Err(AnswerError::Fault(fault)) => fault,
        other => panic!("{name}: {other:?}"),
    }
}
