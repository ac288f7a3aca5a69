//! What a server's certificate says of itself. It is only shown to people: nothing is trusted because of it.

use std::net::{Ipv4Addr, Ipv6Addr};

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;

use crate::tls::Thumbprint;

/// Tags of DER elements.
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;
/// Object identifiers, as they are encoded.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];

/// A certificate, as far as a person wants to know it. What cannot be read is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    pub thumbprint: Thumbprint,
    /// The host names and addresses that it was issued for.
    pub names: Vec<String>,
    /// From when on it is valid.
    pub not_before: Option<Timestamp>,
    /// Until when it is valid.
    pub not_after: Option<Timestamp>,
}

impl Certificate {
    pub(crate) fn read(der: &CertificateDer<'_>) -> Self {
        let fields = fields(der).unwrap_or_default();
        let content = |index: usize| fields.get(index).map(|(_, content)| *content).unwrap_or_default();
        // Serial number, algorithm and issuer come first.
        let times: Vec<_> = elements(content(3)).map(|(tag, content)| time(tag, content)).collect();
        let mut names = alternative_names(&fields);
        if names.is_empty() {
            names.extend(common_name(content(4)));
        }
        Self {
            thumbprint: Thumbprint::of(der),
            names,
            not_before: times.first().copied().flatten(),
            not_after: times.get(1).copied().flatten(),
        }
    }
}

type Tagged<'a> = (u8, &'a [u8]);

/// What stands at the beginning of some bytes, and what follows it.
fn element(bytes: &[u8]) -> Option<(Tagged<'_>, &[u8])> {
    let (&[tag, first], rest) = bytes.split_first_chunk()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        let within_bounds = (1..=4).contains(&digits.len());
        let length = digits.iter().fold(0, |sum, digit| (sum << 8) | usize::from(*digit));
        (Some(length).filter(|_| within_bounds)?, rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some(((tag, content), rest))
}

/// All elements, up to the end or the first that is damaged.
fn elements(mut bytes: &[u8]) -> impl Iterator<Item = Tagged<'_>> {
    std::iter::from_fn(move || {
        let (found, rest) = element(bytes)?;
        bytes = rest;
        Some(found)
    })
}

/// The fields of the certificate, without the version that may precede them.
fn fields(der: &[u8]) -> Option<Vec<Tagged<'_>>> {
    let ((_, certificate), _) = element(der)?;
    let ((_, signed), _) = element(certificate)?;
    Some(elements(signed).filter(|(tag, _)| *tag != VERSION).collect())
}

fn time(tag: u8, content: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(content).ok().filter(|text| text.is_ascii())?;
    let (century, rest) = match tag {
        // Two digits for the year: the standard lets them begin with 1950.
        UTC_TIME if text >= "50" => ("19", text),
        UTC_TIME => ("20", text),
        GENERALIZED_TIME => text.split_at_checked(2)?,
        _ => return None,
    };
    let part = |from: usize| rest.get(from..from + 2);
    let (year, month, day) = (part(0)?, part(2)?, part(4)?);
    let (hour, minute, second) = (part(6)?, part(8)?, part(10)?);
    format!("{century}{year}-{month}-{day}T{hour}:{minute}:{second}Z").parse().ok()
}

fn alternative_names(fields: &[Tagged<'_>]) -> Vec<String> {
    let Some((_, wrapped)) = fields.iter().find(|(tag, _)| *tag == EXTENSIONS) else { return Vec::new() };
    let extensions = elements(wrapped).flat_map(|(_, list)| elements(list));
    let names = extensions.filter_map(|(_, extension)| {
        let parts: Vec<_> = elements(extension).map(|(_, content)| content).collect();
        // Whether it is critical may stand in between.
        (parts.first() == Some(&ALTERNATIVE_NAMES)).then(|| parts.last().copied())?
    });
    let list = names.flat_map(elements).flat_map(|(_, list)| elements(list));
    list.filter_map(|(tag, name)| match tag {
        DNS_NAME => String::from_utf8(name.to_vec()).ok(),
        IP_ADDRESS => address(name),
        _ => None,
    })
    .collect()
}

fn address(bytes: &[u8]) -> Option<String> {
    let four = <[u8; 4]>::try_from(bytes).map(|bytes| Ipv4Addr::from(bytes).to_string());
    four.or_else(|_| <[u8; 16]>::try_from(bytes).map(|bytes| Ipv6Addr::from(bytes).to_string())).ok()
}

fn common_name(subject: &[u8]) -> Option<String> {
    let attributes = elements(subject).flat_map(|(_, set)| elements(set));
    let mut names = attributes.filter_map(|(_, attribute)| {
        let parts: Vec<_> = elements(attribute).map(|(_, content)| content).collect();
        (parts.first() == Some(&COMMON_NAME)).then(|| parts.get(1).copied())?
    });
    names.next().and_then(|name| String::from_utf8(name.to_vec()).ok())
}

#[cfg(test)]
mod tests;
