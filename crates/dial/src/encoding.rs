//! Content encodings: what the body of an answer says once it is unpacked. Pure.

use std::io::Read as _;

use bytes::Bytes;
use flate2::{Decompress, FlushDecompress, Status};
use hyper::StatusCode;
use hyper::header::{CONTENT_ENCODING, HeaderMap};

use crate::http::HttpError;

/// How much room is made at a time for what comes out of a deflate stream.
const STEP: usize = 16 << 10;
/// Nobody packs more often; without a bound a header could ask for any amount of work.
const MOST_LAYERS: usize = 4;

/// The encodings of a body in the order in which they were applied, in lower case. `identity` is none.
pub fn encodings(headers: &HeaderMap) -> Vec<String> {
    let values =
        headers.get_all(CONTENT_ENCODING).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let names = values
        .flat_map(|value| value.split(',').map(|name| name.trim().to_ascii_lowercase()).collect::<Vec<_>>());
    names.filter(|name| !name.is_empty() && name != "identity").collect()
}

/// Whether an answer with this status has no body, whatever its headers say.
fn is_bodyless(status: StatusCode) -> bool {
    status.is_informational() || status == StatusCode::NO_CONTENT || status == StatusCode::NOT_MODIFIED
}

/// What a body says. Go's compressing handlers announce gzip for empty bodies too, so an empty one is empty.
///
/// The status of an error matters more than its text: if the text cannot be unpacked, there is none.
pub(crate) fn unpack(
    status: StatusCode,
    headers: &HeaderMap,
    body: Bytes,
    limit: usize,
) -> Result<Bytes, HttpError> {
    if body.is_empty() || is_bodyless(status) {
        return Ok(Bytes::new());
    }
    match decode(&encodings(headers), body, limit) {
        Err(_) if !status.is_success() => Ok(Bytes::new()),
        outcome => outcome,
    }
}

fn decode(encodings: &[String], body: Bytes, limit: usize) -> Result<Bytes, HttpError> {
    if encodings.len() > MOST_LAYERS {
        return Err(HttpError::UnknownEncoding(encodings.join(", ")));
    }
    encodings.iter().rev().try_fold(body, |body, encoding| match encoding.as_str() {
        "gzip" | "x-gzip" => gunzip(&body, limit),
        // Meant is the zlib format, but some servers send the bare stream; hardly anything is readable as both.
        "deflate" => match inflate(&body, true, limit) {
            Err(HttpError::Damaged(_)) => inflate(&body, false, limit),
            inflated => inflated,
        },
        unknown => Err(HttpError::UnknownEncoding(unknown.to_owned())),
    })
}

/// A few bytes can claim to be gigabytes: the limit holds for what comes out, too.
fn gunzip(packed: &[u8], limit: usize) -> Result<Bytes, HttpError> {
    let mut plain = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(packed).take(limit as u64 + 1);
    decoder.read_to_end(&mut plain).map_err(|error| HttpError::Damaged(error.to_string()))?;
    bounded(plain, limit)
}

/// The readers of flate2 take a stream that was cut off for its end, so the stream is driven here.
fn inflate(packed: &[u8], zlib: bool, limit: usize) -> Result<Bytes, HttpError> {
    let damaged = |why: &str| HttpError::Damaged(why.to_owned());
    let mut stream = Decompress::new(zlib);
    let mut plain = Vec::new();
    let mut rest = packed;
    while plain.len() <= limit {
        plain.reserve(STEP);
        let before = (stream.total_in(), plain.len());
        let status = stream
            .decompress_vec(rest, &mut plain, FlushDecompress::None)
            .map_err(|error| HttpError::Damaged(error.to_string()))?;
        let read = usize::try_from(stream.total_in() - before.0).unwrap_or(usize::MAX);
        rest = rest.get(read..).unwrap_or_default();
        match status {
            Status::StreamEnd => break,
            Status::Ok | Status::BufError if (stream.total_in(), plain.len()) == before => {
                return Err(damaged("the deflate stream ends early"));
            }
            Status::Ok | Status::BufError => {}
        }
    }
    bounded(plain, limit)
}

fn bounded(plain: Vec<u8>, limit: usize) -> Result<Bytes, HttpError> {
    if plain.len() > limit { Err(HttpError::TooLarge { limit }) } else { Ok(plain.into()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use hyper::header::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 1 << 20;
    const TEXT: &[u8] = br#"[{"name":"w-1"},{"name":"w-2"}]"#;

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(plain: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    fn raw(plain: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    fn headers(encodings: &[&'static str]) -> HeaderMap {
        let values = encodings.iter().map(|value| (CONTENT_ENCODING, HeaderValue::from_static(value)));
        values.collect()
    }

    fn unpacked(status: u16, encodings: &[&'static str], body: &[u8]) -> Result<Bytes, HttpError> {
        let status = StatusCode::from_u16(status).unwrap();
        unpack(status, &headers(encodings), Bytes::copy_from_slice(body), LIMIT)
    }

    #[test]
    fn every_encoding_that_servers_use_is_read() {
        let table: [(&[&str], Vec<u8>); 12] = [
            (&[], TEXT.to_vec()),
            (&["identity"], TEXT.to_vec()),
            (&[""], TEXT.to_vec()),
            (&["gzip"], gzip(TEXT)),
            (&["GZip"], gzip(TEXT)),
            (&["x-gzip"], gzip(TEXT)),
            (&["gzip"], [gzip(&TEXT[..9]), gzip(&TEXT[9..])].concat()),
            (&["deflate"], zlib(TEXT)),
            (&["deflate"], raw(TEXT)),
            (&["deflate, gzip"], gzip(&zlib(TEXT))),
            (&["deflate", "identity , x-gzip"], gzip(&raw(TEXT))),
            (&["gzip, gzip, gzip, gzip"], gzip(&gzip(&gzip(&gzip(TEXT))))),
        ];
        for (encodings, body) in table {
            assert_eq!(unpacked(200, encodings, &body).unwrap(), TEXT, "{encodings:?}");
        }
    }

    #[test]
    fn an_answer_without_a_body_is_empty_whatever_its_headers_say() {
        for encoding in ["gzip", "deflate", "br", "identity"] {
            for status in [200, 201, 202, 205, 401, 404, 500] {
                assert_eq!(unpacked(status, &[encoding], b"").unwrap(), "", "{status} {encoding}");
            }
            for status in [100, 101, 103, 204, 304] {
                assert_eq!(unpacked(status, &[encoding], b"rubbish").unwrap(), "", "{status} {encoding}");
            }
        }
    }

    #[test]
    fn an_error_whose_body_cannot_be_unpacked_has_no_text_and_stays_an_error() {
        for encodings in [&["gzip"][..], &["deflate"], &["br"], &["gzip", "zstd"]] {
            for status in [301, 400, 401, 403, 404, 409, 500, 502, 503] {
                assert_eq!(unpacked(status, encodings, b"<html>").unwrap(), "", "{status} {encodings:?}");
            }
        }
        assert_eq!(unpacked(404, &["gzip"], &gzip(TEXT)).unwrap(), TEXT);
    }

    #[test]
    fn another_encoding_is_an_error_that_names_it() {
        for (encodings, named) in [
            (&["br"][..], "br"),
            (&["gzip, zstd"], "zstd"),
            (&["compress", "gzip"], "compress"),
            (&["gzip, gzip, gzip, gzip, gzip"], "gzip, gzip, gzip, gzip, gzip"),
        ] {
            let error = unpacked(200, encodings, &gzip(TEXT)).unwrap_err();
            assert!(matches!(&error, HttpError::UnknownEncoding(name) if name == named), "{error:?}");
            assert!(error.to_string().contains(named), "{error}");
        }
    }

    #[test]
    fn a_body_that_was_cut_off_or_changed_is_damaged() {
        for (encoding, body) in [("gzip", gzip(TEXT)), ("deflate", zlib(TEXT)), ("deflate", raw(TEXT))] {
            for length in 1..body.len() {
                let error = unpacked(200, &[encoding], &body[..length]).unwrap_err();
                assert!(matches!(error, HttpError::Damaged(_)), "{encoding} {length}: {error:?}");
            }
        }
        assert!(matches!(unpacked(200, &["gzip"], TEXT), Err(HttpError::Damaged(_))));
        assert!(matches!(unpacked(200, &["deflate"], b"<html>"), Err(HttpError::Damaged(_))));
    }

    #[test]
    fn the_limit_holds_for_what_comes_out() {
        let large = vec![b' '; LIMIT + 1];
        for (encoding, body) in [("gzip", gzip(&large)), ("deflate", zlib(&large)), ("deflate", raw(&large))]
        {
            assert!(body.len() < 8 << 10);
            let error = unpacked(200, &[encoding], &body).unwrap_err();
            assert!(matches!(error, HttpError::TooLarge { limit: LIMIT }), "{error:?}");
            let full = &large[1..];
            let body = if encoding == "gzip" { gzip(full) } else { zlib(full) };
            assert_eq!(unpacked(200, &[encoding], &body).unwrap().len(), LIMIT);
        }
    }

    proptest! {
        #[test]
        fn whatever_is_packed_is_unpacked(plain in proptest::collection::vec(any::<u8>(), 1..5000)) {
            for (encoding, body) in [("gzip", gzip(&plain)), ("deflate", zlib(&plain)), ("deflate", raw(&plain))] {
                prop_assert_eq!(&unpacked(200, &[encoding], &body).unwrap()[..], &plain[..]);
            }
        }

        #[test]
        fn whatever_comes_is_a_value_or_an_error(body in proptest::collection::vec(any::<u8>(), 0..300)) {
            for encoding in ["gzip", "deflate"] {
                drop(unpacked(200, &[encoding], &body));
                prop_assert!(unpacked(500, &[encoding], &body).is_ok());
            }
        }
    }
}
