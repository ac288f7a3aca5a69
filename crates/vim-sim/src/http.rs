//! Routes.

use rookery_sim::{Request, RequestId};

use crate::io::{self, Reply, Upload};
use crate::soap;
use crate::world::World;

/// Answers a request, unless its answer comes later.
pub(crate) fn serve(
    world: &mut World,
    id: RequestId,
    request: &Request,
    upload: Option<Upload>,
) -> Option<Reply> {
    if !request.path.starts_with("/sdk")
        && let Some(reply) = crate::rules::apply_to_http(world, id, request)
    {
        return Some(reply);
    }
    match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/sdk" | "/sdk/") => soap::serve(world, id, request),
        ("GET", "/sdk/vimServiceVersions.xml") => Some(io::xml(200, versions())),
        (_, "/sdk" | "/sdk/") => Some(Reply::plain(405, "POST a SOAP envelope here")),
        (_, path) if path.starts_with("/folder") => crate::files::serve(world, id, request, upload),
        (_, path) if path.starts_with("/guestFile") => crate::guests::serve_file(world, id, request, upload),
        (_, path) if path.starts_with("/rest/") || path.starts_with("/api/") => {
            Some(crate::rest::serve(world, request))
        }
        _ => Some(Reply::plain(404, "there is nothing here")),
    }
}

/// What a request is counted as, as long as it is not known to be a call: its verb and the first part of its path.
pub(crate) fn name(request: &Request) -> String {
    let first = request.path.split('/').nth(1).unwrap_or_default();
    format!("{} /{first}", request.method)
}

/// What this server can speak, newest first.
fn versions() -> String {
    let prior = [
        "7.0.2.0", "7.0.1.0", "7.0.0.0", "6.9.1", "6.8.7", "6.7.3", "6.7.2", "6.7.1", "6.7", "6.5", "6.0",
        "5.5",
    ];
    let prior = prior.map(|version| format!("<version>{version}</version>")).concat();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<namespaces version=\"1.0\"><namespace><name>urn:vim25</name>\
         <version>7.0.3.0</version><priorVersions>{prior}</priorVersions></namespace></namespaces>\n"
    )
}
