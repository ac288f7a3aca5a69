//! Events.

use rookery_vim::{Wire as _, Writer};

use super::item;
use crate::event::Event;
use crate::id::Id;

/// One event as an element of that name.
pub(crate) fn write_event(out: &mut Writer, element: &str, event: &Event) {
    item(out, element, Some(event.class), |m| {
        m.int("key", event.key);
        m.int("chainId", event.key);
        m.time("createdTime", event.time);
        m.text("userName", &event.user);
        let mut argument =
            |name: &'static str, class: &str, reference: &'static str, of: &Option<(String, Id)>| {
                if let Some((text, id)) = of {
                    m.object(name, class, |m| {
                        m.text("name", text);
                        m.reference(reference, *id);
                    });
                }
            };
        argument("datacenter", "DatacenterEventArgument", "datacenter", &event.datacenter);
        argument("computeResource", "ComputeResourceEventArgument", "computeResource", &event.compute);
        argument("host", "HostEventArgument", "host", &event.host);
        argument("vm", "VmEventArgument", "vm", &event.vm);
        m.text("fullFormattedMessage", &event.message);
        m.flag("template", event.template);
        for node in &event.extra {
            node.write(m.out, &node.name, false);
        }
    });
}
