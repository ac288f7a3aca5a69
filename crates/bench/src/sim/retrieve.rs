//! Telling of everything.

use std::time::Instant;

use rookery_kit::{Raw, enveloped};

use crate::server::Server;

/// Seconds until all VMs were told with the properties that a hatchery in Go lists.
pub(crate) async fn full_retrieve(server: &Server, vms: usize) -> f64 {
    let raw = Raw::login(&server.address).await;
    let view = raw.view().await;
    let collector = raw.content.property_collector.clone();
    let first = format!(
        "<RetrievePropertiesEx xmlns=\"urn:vim25\"><_this type=\"PropertyCollector\">{}</_this><specSet><propSet>\
         <type>VirtualMachine</type><pathSet>name</pathSet><pathSet>summary</pathSet><pathSet>guest</pathSet>\
         <pathSet>config</pathSet></propSet><objectSet><obj type=\"ContainerView\">{}</obj><skip>true</skip>\
         <selectSet xsi:type=\"TraversalSpec\">\
         <name>v</name><type>ContainerView</type><path>view</path><skip>false</skip></selectSet></objectSet></specSet>\
         <options></options></RetrievePropertiesEx>",
        collector.id(),
        view.id()
    );
    let began = Instant::now();
    let (mut seen, mut body) = (0, first);
    loop {
        let answer = raw.text(enveloped(&body)).await;
        let text = String::from_utf8_lossy(&answer);
        seen += text.matches("<objects>").count();
        let Some(token) = text.split_once("<token>").and_then(|(_, rest)| rest.split_once('<')) else {
            break;
        };
        body = format!(
            "<ContinueRetrievePropertiesEx xmlns=\"urn:vim25\"><_this type=\"PropertyCollector\">{}</_this>\
             <token>{}</token></ContinueRetrievePropertiesEx>",
            collector.id(),
            token.0
        );
    }
    assert!(seen >= vms, "{seen} of {vms} VMs were told");
    began.elapsed().as_secs_f64()
}
