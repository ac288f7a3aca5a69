//! Files that go into guests and come out of them over HTTP: by a token that serves once.

use rand::RngExt as _;
use rookery_sim::{Request, RequestId};

use super::PendingReply;
use super::files::{Attributes, Content, FileAnswer, FileOp, perform};
use crate::id::Id;
use crate::io::{Body, Reply, Upload};
use crate::refusal::Refusal;
use crate::world::World;

/// How many tokens are good at a time. Beyond that the oldest goes.
const MOST: usize = 10_000;

/// What a token is good for.
#[derive(Debug, Clone)]
pub(crate) struct Transfer {
    pub(crate) vm: Id,
    pub(crate) what: What,
}

#[derive(Debug, Clone)]
pub(crate) enum What {
    To { path: String, overwrite: bool, attributes: Attributes, size: u64 },
    From { path: String },
}

/// The address of a transfer.
pub(crate) fn offer(world: &mut World, transfer: Transfer) -> String {
    let token: u128 = world.random.random();
    let guests = &mut world.guests;
    guests.last_transfer += 1;
    let id = guests.last_transfer;
    guests.transfers.insert(id, (format!("{token:032x}"), transfer));
    while guests.transfers.len() > MOST {
        guests.transfers.pop_first();
    }
    // Whoever asked knows which host that is.
    let host = if world.settings.https { "https://*:443" } else { "http://*" };
    format!("{host}/guestFile?id={id}&token={token:032x}")
}

/// Answers a request for a file of a guest, unless the shell has to read it first.
pub(crate) fn serve(
    world: &mut World,
    id: RequestId,
    request: &Request,
    upload: Option<Upload>,
) -> Option<Reply> {
    let reply = match (request.method.as_str(), take(world, request)) {
        (_, None) => Reply::plain(404, "this transfer is not known, or it was used before"),
        (_, Some(transfer))
            if !world.store.vms.get(&transfer.vm).is_some_and(|vm| vm.guest.operations_ready) =>
        {
            Reply::plain(503, "the guest is not there")
        }
        ("PUT" | "POST", Some(Transfer { vm, what: What::To { path, overwrite, attributes, size } })) => {
            let content = match upload {
                Some(upload) => Content::Blob(upload.content),
                None => Content::Inline(request.body.to_vec()),
            };
            let sent = match &content {
                Content::Inline(bytes) => bytes.len() as u64,
                Content::Blob(stored) => stored.size,
            };
            if sent == size {
                let op = FileOp::Write { path, overwrite, attributes, content };
                return run(world, id, vm, op);
            }
            Reply::plain(400, &format!("{size} bytes were announced, {sent} came"))
        }
        ("GET", Some(Transfer { vm, what: What::From { path } })) => {
            return run(world, id, vm, FileOp::Read { path });
        }
        (_, Some(_)) => Reply::plain(405, "this transfer goes the other way"),
    };
    Some(reply)
}

fn run(world: &mut World, id: RequestId, vm: Id, op: FileOp) -> Option<Reply> {
    let uploaded =
        if let FileOp::Write { content: Content::Blob(stored), .. } = &op { Some(stored.blob) } else { None };
    let done = perform(world, id, vm, op);
    if done.is_none() {
        world.guests.pending.insert(id, PendingReply::Transfer(uploaded));
    }
    done.map(reply)
}

pub(super) fn reply(result: Result<FileAnswer, Refusal>) -> Reply {
    match result {
        Ok(FileAnswer::Content(content)) => {
            let body = match content {
                Content::Inline(bytes) => Body::Bytes(bytes),
                Content::Blob(stored) => Body::Blob(stored),
            };
            Reply::new(200, "application/octet-stream", body)
        }
        Ok(FileAnswer::Done | FileAnswer::Path(_) | FileAnswer::Listing(_)) => Reply::plain(200, ""),
        Err(refusal) => {
            let status = match &*refusal.class {
                "FileNotFound" => 404,
                "NoDiskSpace" => 507,
                _ => 500,
            };
            Reply::plain(status, &refusal.message)
        }
    }
}

/// What a request may do, if its token is right; wrong or right, it is used up only if it is right.
fn take(world: &mut World, request: &Request) -> Option<Transfer> {
    let id: u64 = request.parameter("id")?.parse().ok()?;
    let token = request.parameter("token")?;
    world.guests.transfers.get(&id).filter(|(known, _)| *known == token)?;
    world.guests.transfers.remove(&id).map(|(_, transfer)| transfer)
}
