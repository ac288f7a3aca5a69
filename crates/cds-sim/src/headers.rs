//! The headers of a reply, and gzip for clients that accept it: both as captured from a real server.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::{SignedDuration, Timestamp};
use rookery_sim::{Request, http_date};
use serde_json::json;

use crate::io::{Body, Reply};

/// The headers that every route adds to its answer. An empty answer is announced as compressed, too.
pub(crate) fn add(
    reply: Reply,
    request: &Request,
    now: Timestamp,
    request_id: &str,
    took: SignedDuration,
) -> Reply {
    let mut reply = reply
        .with("date", http_date(now))
        .with("etag", now.as_second().to_string())
        .with("request-id", request_id.to_owned())
        .with("vary", "Accept-Encoding".to_owned())
        .with("x-api-nanoseconds-time", now.as_nanosecond().to_string())
        .with("x-api-process-time", took.as_nanos().to_string())
        .with("x-api-time", now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    if offers_gzip(request) && matches!(reply.body, Body::Empty | Body::Content(_)) {
        reply = reply.with("content-encoding", "gzip".to_owned());
        if let Body::Content(content) = &mut reply.body
            && let Ok(packed) = gzip(content)
        {
            *content = packed.into();
        }
    }
    reply
}

/// What is answered where nothing is: no route, none of its headers, no compression.
pub(crate) fn without_route(request: &Request, now: Timestamp) -> Reply {
    let from = format!("{} not found", request.path);
    let body = json!({ "id": 38, "message": "resource not found", "from": from });
    Reply::json(404, &body).with("date", http_date(now))
}

fn offers_gzip(request: &Request) -> bool {
    let offered = request.header("accept-encoding").unwrap_or_default();
    offered.split(',').any(|encoding| {
        let (name, weight) = encoding.split_once(';').unwrap_or((encoding, ""));
        let refused = weight.trim().strip_prefix("q=").and_then(|q| q.parse().ok()) == Some(0.0_f32);
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

fn gzip(plain: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_offered_by_name_and_not_with_a_weight_of_zero() {
        for (offered, expected) in [
            ("gzip", true),
            ("GZIP", true),
            ("deflate, gzip;q=0.5", true),
            ("gzip; q=0", false),
            ("deflate", false),
            ("identity", false),
            ("", false),
        ] {
            let headers = vec![("accept-encoding".to_owned(), offered.to_owned())];
            assert_eq!(offers_gzip(&Request { headers, ..Request::default() }), expected, "{offered}");
        }
        assert!(!offers_gzip(&Request::default()));
    }
}
