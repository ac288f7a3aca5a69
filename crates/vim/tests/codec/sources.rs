//! A value is the same whether it is read out of a document or out of a tree, and whatever the order of its members.

use rookery_vim::envelope::AnswerError;
use rookery_vim::methods::{CurrentTime, Login, Method, RetrievePropertiesEx, WaitForUpdatesEx};
use rookery_vim::objects::{RetrieveResult, UpdateSet, UserSession};
use rookery_vim::{Limits, Wire, envelope, node};

use crate::{answer, answered, documents};

#[test]
fn a_document_and_its_tree_hold_the_same_values() {
    let mut compared = 0;
    for (name, bytes) in documents::all() {
        let mut check = |same: Option<bool>| {
            compared += u32::from(same.is_some());
            assert_ne!(same, Some(false), "{name}");
        };
        check(same::<WaitForUpdatesEx, UpdateSet>(&bytes, |set| set));
        check(same::<RetrievePropertiesEx, RetrieveResult>(&bytes, |page| page));
        check(same::<Login, UserSession>(&bytes, Some));
    }
    assert!(compared > 15, "{compared}");
}

/// Whether the answer is the value of the tree; none if the document holds no such answer.
fn same<M: Method, T: Wire + PartialEq>(bytes: &[u8], value: fn(M::Output) -> Option<T>) -> Option<bool> {
    let read = value(answer::<M>(bytes).ok()?)?;
    let root = node::parse(bytes, &Limits::default()).ok()?;
    let tree = envelope::body(root)?.take("returnval")?;
    Some(T::from_node(tree) == Ok(read))
}

#[test]
fn members_come_in_any_order_and_the_first_of_a_single_member_counts() {
    let set = answered::<WaitForUpdatesEx>(
        "<returnval><truncated/><unknown><version>0</version></unknown><o:version xmlns:o='urn:other'>9</o:version>\
         <version>1</version><truncated>true</truncated><version>2</version></returnval>\
         <returnval><version>3</version></returnval>",
    );
    let expected = UpdateSet { version: "1".into(), filter_set: vec![], truncated: None };
    assert_eq!(set, Ok(Some(expected)));
}

/// A caller may repeat what was damaged on its way, but not what the server meant so.
#[test]
fn a_damaged_document_is_called_damaged_even_where_its_shape_is_wrong_too() {
    let wrong = "<e:Envelope xmlns:e='http://schemas.xmlsoap.org/soap/envelope/'><e:Body><CurrentTimeResponse \
        xmlns='urn:vim25'><returnval>now</returnval></CurrentTimeResponse></e:Body></e:Envelope>";
    let whole = answer::<CurrentTime>(wrong.as_bytes());
    assert!(matches!(whole, Err(AnswerError::Unexpected { .. })), "{whole:?}");
    for cut in 0..wrong.len() {
        let damaged = answer::<CurrentTime>(&wrong.as_bytes()[..cut]);
        assert!(matches!(damaged, Err(AnswerError::Unreadable { .. })), "{cut}: {damaged:?}");
    }
    let padded = answer::<CurrentTime>([wrong, "<a/>"].concat().as_bytes());
    assert!(matches!(padded, Err(AnswerError::Unreadable { .. })), "{padded:?}");
}
