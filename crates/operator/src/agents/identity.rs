//! What tells one VM from another: its BIOS UUID and the addresses of its cards.

use std::collections::BTreeSet;
use std::fmt;

/// The BIOS UUID in the byte order of vCenter's `config.uuid`.
///
/// A guest shows it twice: in its serial number, in this order, and as the product UUID, whose first three groups many
/// firmwares turn around. An Agent is named by the latter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BiosUuid([u8; 16]);

impl BiosUuid {
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Reads `config.uuid` and everything that looks like it; blanks, hyphens and case mean nothing.
    pub fn parse(text: &str) -> Option<Self> {
        let mut digits = text.chars().filter(|c| !matches!(c, ' ' | '-')).map(|c| c.to_digit(16));
        let mut bytes = [0; 16];
        for byte in &mut bytes {
            let (high, low) = (digits.next()??, digits.next()??);
            *byte = u8::try_from(high * 16 + low).ok()?;
        }
        digits.next().is_none().then_some(Self(bytes))
    }

    /// Reads the serial number of a VMware guest, such as `VMware-42 32 97 c6 d7 2e 28 bb-b2 79 12 09 c2 9a b7 2b`.
    pub fn of_serial(serial: &str) -> Option<Self> {
        const PREFIX: &str = "vmware-";
        let (prefix, digits) = serial.trim().split_at_checked(PREFIX.len())?;
        prefix.eq_ignore_ascii_case(PREFIX).then(|| Self::parse(digits))?
    }

    /// With the first three groups turned around.
    #[must_use]
    pub fn swapped(self) -> Self {
        const PLACES: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
        Self(PLACES.map(|place| self.0.get(place).copied().unwrap_or_default()))
    }
}

impl fmt::Display for BiosUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, byte) in self.0.iter().enumerate() {
            let hyphen = if matches!(place, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{hyphen}{byte:02x}")?;
        }
        Ok(())
    }
}

/// The address of a network card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac([u8; 6]);

impl Mac {
    pub const fn from_bytes(bytes: [u8; 6]) -> Self {
        Self(bytes)
    }

    /// Reads six octets between colons or hyphens.
    pub fn parse(text: &str) -> Option<Self> {
        let mut octets = text.trim().split([':', '-']);
        let mut bytes = [0; 6];
        for byte in &mut bytes {
            let octet = octets.next().filter(|octet| octet.len() == 2)?;
            *byte = u8::from_str_radix(octet, 16).ok()?;
        }
        octets.next().is_none().then_some(Self(bytes))
    }
}

/// As the status shows it.
impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, octet) in self.0.iter().enumerate() {
            let hyphen = if place == 0 { "" } else { "-" };
            write!(f, "{hyphen}{octet:02x}")?;
        }
        Ok(())
    }
}

/// What is known of a VM.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    pub uuid: Option<BiosUuid>,
    pub macs: BTreeSet<Mac>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn uuid(text: &str) -> BiosUuid {
        BiosUuid::parse(text).expect(text)
    }

    #[test]
    fn a_serial_number_has_the_order_of_vcenter() {
        let serial = "VMware-42 32 97 c6 d7 2e 28 bb-b2 79 12 09 c2 9a b7 2b";
        let read = BiosUuid::of_serial(serial).expect("a serial number");
        assert_eq!(read.to_string(), "423297c6-d72e-28bb-b279-1209c29ab72b");
        for wrong in ["", "None", "VMware-42", "423297c6-d72e-28bb-b279-1209c29ab72b", "VMwäre-"] {
            assert_eq!(BiosUuid::of_serial(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_guest_may_turn_three_groups_around() {
        let seen = uuid("5c241f42-a87f-fa60-6af6-a46351ced0eb");
        assert_eq!(seen.swapped(), uuid("421F245C-7FA8-60FA-6AF6-A46351CED0EB"));
    }

    #[test]
    fn what_is_no_uuid_and_no_address_is_none() {
        for wrong in
            ["", "423297c6-d72e-28bb-b279-1209c29ab72", "423297c6-d72e-28bb-b279-1209c29ab72b0", "localhost"]
        {
            assert_eq!(BiosUuid::parse(wrong), None, "{wrong}");
        }
        for wrong in ["", "00:50:56:80:00", "00:50:56:80:00:01:02", "0:50:56:80:00:01", "00:50:56:80:00:gg"] {
            assert_eq!(Mac::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn addresses_are_compared_however_they_are_written() {
        let address = Mac::parse("00-50-56-80-00-0A").expect("an address");
        assert_eq!(Mac::parse("00:50:56:80:00:0a"), Some(address));
        assert_eq!(address.to_string(), "00-50-56-80-00-0a");
    }

    proptest! {
        #[test]
        fn both_are_read_as_they_are_shown_and_a_second_swap_undoes_the_first(bytes: [u8; 16], octets: [u8; 6]) {
            let (one, card) = (BiosUuid::from_bytes(bytes), Mac::from_bytes(octets));
            prop_assert_eq!(BiosUuid::parse(&one.to_string()), Some(one));
            prop_assert_eq!(one.swapped().swapped(), one);
            prop_assert_eq!(Mac::parse(&card.to_string()), Some(card));
        }
    }
}
