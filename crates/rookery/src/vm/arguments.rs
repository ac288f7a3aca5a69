//! What is wrong with the arguments of a command, all of it at once, and the arguments that several commands share.

use std::fmt;
use std::net::Ipv4Addr;

use rookery_daemon::settings::{Problems, Size};
use rookery_vim::unwritable;
use rookery_vim_client::FixedAddress;

/// Arguments that cannot be meant. Nothing was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrongArguments(Problems);

impl WrongArguments {
    /// The value, if nothing is wrong.
    pub(crate) fn unless<T>(problems: Problems, value: Option<T>) -> Result<T, Self> {
        value.filter(|_| problems.is_empty()).ok_or(Self(problems))
    }
}

impl std::error::Error for WrongArguments {}

impl fmt::Display for WrongArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problems = self.0.as_slice();
        let noun = if problems.len() == 1 { "problem" } else { "problems" };
        write!(f, "{} {noun} in the arguments:", problems.len())?;
        problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

/// Memory such as `8GiB`, in MiB.
pub(super) fn memory_mb(text: &str) -> Result<i64, String> {
    whole(text, 1 << 20, "MiB")
}

/// The size of a disk such as `40GiB`, in KiB.
pub(super) fn disk_kb(text: &str) -> Result<i64, String> {
    whole(text, 1 << 10, "KiB")
}

fn whole(text: &str, unit: u64, name: &str) -> Result<i64, String> {
    let bytes = text.parse::<Size>().map_err(|error| error.to_string())?.bytes();
    if bytes == 0 || bytes % unit != 0 {
        return Err(format!("expected a whole number of {name} above zero, found {text:?}"));
    }
    i64::try_from(bytes / unit).map_err(|error| error.to_string())
}

/// A number of CPUs.
pub(super) fn cpus(text: &str) -> Result<i32, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| format!("expected a number of CPUs of at least 1, found {text:?}"))
}

/// The name of something in vCenter: one line, in which something can be seen.
pub(crate) fn name(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err(format!("{text:?} is blank")) } else { line(text) }
}

/// Text of one line, such as a DNS domain.
pub(super) fn line(text: &str) -> Result<String, String> {
    without_control(text, |_| false)
}

/// Text that may have several lines, such as notes.
pub(super) fn lines(text: &str) -> Result<String, String> {
    without_control(text, |c| matches!(c, '\t' | '\n' | '\r'))
}

/// Text that a guest gets as it is, such as a path: all that XML can carry.
pub(super) fn for_guest(text: &str) -> Result<String, String> {
    without(unwritable(text), text)
}

/// Without what XML cannot carry, and what nobody would find again who looks for a name.
fn without_control(text: &str, legal: impl Fn(char) -> bool) -> Result<String, String> {
    let refused =
        |c: &char| (c.is_control() || unwritable(c.encode_utf8(&mut [0; 4])).is_some()) && !legal(*c);
    without(text.chars().find(refused), text)
}

fn without(refused: Option<char>, text: &str) -> Result<String, String> {
    match refused {
        Some(c) => {
            Err(format!("{text:?} contains the control character U+{:04X}; leave it out", u32::from(c)))
        }
        None => Ok(text.to_owned()),
    }
}

/// Settings such as `guestinfo.nest=twigs`.
pub(super) fn settings(texts: &[String], problems: &mut Problems) -> Vec<(String, String)> {
    let parsed = texts.iter().filter_map(|text| {
        let expected = || format!("expected KEY=VALUE, found {text:?}");
        let pair = pair(text).ok_or_else(expected);
        problems.keep("--set", pair.and_then(|(key, value)| Ok((name(&key)?, lines(&value)?))))
    });
    parsed.collect()
}

/// `KEY=VALUE`.
pub(super) fn pair(text: &str) -> Option<(String, String)> {
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty())?;
    Some((key.to_owned(), value.to_owned()))
}

/// An address with its prefix length, such as `192.0.2.17/24`, and the way out.
pub(super) fn address(cidr: &str, gateway: Option<&str>, problems: &mut Problems) -> Option<FixedAddress> {
    let parsed = cidr.split_once('/').and_then(|(ip, prefix)| {
        let prefix = prefix.parse::<u32>().ok().filter(|prefix| (1..=32).contains(prefix))?;
        Some((ip.parse::<Ipv4Addr>().ok()?, Ipv4Addr::from_bits(u32::MAX << (32 - prefix))))
    });
    if parsed.is_none() {
        problems.push(
            "--ip",
            format!("expected an IPv4 address with its prefix length, such as 192.0.2.17/24, found {cidr:?}"),
        );
    }
    let gateway = gateway.map(|text| {
        let expected = format!("expected an IPv4 address, found {text:?}");
        problems.keep("--gateway", text.parse::<Ipv4Addr>().map_err(|_| expected))
    });
    let ((ip, mask), gateway) = (parsed?, gateway.map_or(Some(None), |parsed| parsed.map(Some))?);
    let network = |address: Ipv4Addr| address.to_bits() & mask.to_bits();
    if let Some(outside) = gateway.filter(|gateway| network(*gateway) != network(ip)) {
        problems
            .push("--gateway", format!("{outside} is not in the network of {cidr}, and cannot be reached"));
        return None;
    }
    let gateway = gateway.map(|gateway| gateway.to_string());
    Some(FixedAddress { ip: ip.to_string(), mask: mask.to_string(), gateway })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_are_whole_numbers_of_what_vcenter_counts_in() {
        assert_eq!(memory_mb("8GiB"), Ok(8192));
        assert_eq!(memory_mb("512MiB"), Ok(512));
        assert_eq!(disk_kb("40GiB"), Ok(40 << 20));
        for wrong in ["0MiB", "1025KiB", "8", "8GB", "-1GiB"] {
            assert!(memory_mb(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
        assert!(disk_kb("0GiB").is_err());
        assert_eq!(cpus("4"), Ok(4));
        for wrong in ["0", "-1", "two", "99999999999"] {
            assert!(cpus(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_name_is_one_line_and_notes_may_have_several() {
        let (several, carried) = ("tab\tone\r\ntwo", "größe 雛 🐣 \"'<&>");
        assert_eq!(lines(several), Ok(several.to_owned()));
        assert_eq!((name(carried), lines(carried)), (Ok(carried.to_owned()), Ok(carried.to_owned())));
        assert_eq!(
            name("a\tb").unwrap_err(),
            "\"a\\tb\" contains the control character U+0009; leave it out"
        );
        for refused in ["\0", "a\u{1}b", "\x1b[31m", "\x7f", "\u{85}", "\u{fffe}", "\u{ffff}"] {
            assert!(name(refused).is_err() && lines(refused).is_err(), "{refused:?}");
        }
        for blank in ["", " ", "\u{a0}\u{3000}"] {
            assert_eq!(name(blank), Err(format!("{blank:?} is blank")));
            assert!(line(blank).is_ok() && lines(blank).is_ok());
        }
        let mut problems = Problems::new();
        let given = ["a\tb=c", "a=b\u{1}", "a=b\nc"].map(str::to_owned);
        assert_eq!(settings(&given, &mut problems), [("a".to_owned(), "b\nc".to_owned())]);
        assert_eq!(problems.as_slice().len(), 2);
    }

    #[test]
    fn a_guest_gets_whatever_can_be_sent() {
        for carried in ["/tmp/a\tb\n", "\u{7f}\u{85}", "größe", ""] {
            assert_eq!(for_guest(carried), Ok(carried.to_owned()));
        }
        for refused in ["\0", "/tmp/a\u{1}", "\x1b[31m", "\u{fffe}"] {
            assert!(for_guest(refused).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn a_setting_has_a_key_and_may_have_any_value() {
        let expected = |key: &str, value: &str| Some((key.to_owned(), value.to_owned()));
        assert_eq!(pair("a=b=c"), expected("a", "b=c"));
        assert_eq!(pair("a="), expected("a", ""));
        assert_eq!((pair("a"), pair("=b")), (None, None));
    }

    fn check_address(cidr: &str, gateway: Option<&str>, expected: Result<&str, &str>) {
        let mut problems = Problems::new();
        let address = address(cidr, gateway, &mut problems);
        let shown = address.map(|a| format!("{} {} {}", a.ip, a.mask, a.gateway.unwrap_or_default()));
        let told = WrongArguments::unless(problems, shown).map_err(|wrong| wrong.to_string());
        assert_eq!(told.as_deref().map_err(String::as_str), expected, "{cidr} {gateway:?}");
    }

    #[test]
    fn an_address_has_a_prefix_length_and_a_gateway_within_reach() {
        check_address("192.0.2.17/24", None, Ok("192.0.2.17 255.255.255.0 "));
        check_address("10.1.2.3/9", Some("10.0.0.1"), Ok("10.1.2.3 255.128.0.0 10.0.0.1"));
        check_address(
            "192.0.2.17/24",
            Some("198.51.100.1"),
            Err(
                "1 problem in the arguments:\n  --gateway: 198.51.100.1 is not in the network of 192.0.2.17/24, and cannot be reached",
            ),
        );
        for wrong in ["192.0.2.17", "192.0.2.17/0", "192.0.2.17/33", "2001:db8::1/64", "/24"] {
            check_address(
                wrong,
                Some("x"),
                Err(&format!(
                    "2 problems in the arguments:\n  --ip: expected an IPv4 address with its prefix length, such as \
                     192.0.2.17/24, found {wrong:?}\n  --gateway: expected an IPv4 address, found \"x\""
                )),
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in any::<String>(), other in any::<String>(), prefix: u8) {
            memory_mb(&text).ok();
            disk_kb(&text).ok();
            cpus(&text).ok();
            settings(std::slice::from_ref(&text), &mut Problems::new());
            address(&text, Some(&other), &mut Problems::new());
            address(&format!("192.0.2.1/{prefix}"), None, &mut Problems::new());
        }
    }
}
