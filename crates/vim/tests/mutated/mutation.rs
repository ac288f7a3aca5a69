//! Damage: from single bits to whole elements in the wrong place.

use std::ops::Range;

/// Longest document that mutation makes.
const LONGEST: usize = 128 << 10;

/// A damaged document: always the same one for the same documents and seed.
pub(crate) fn mutate(documents: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut document = random.pick(documents).clone();
    for _ in 0..=random.below(3) {
        let other = random.pick(documents);
        damage(&mut document, other, &mut random);
        document.truncate(LONGEST);
    }
    document
}

fn damage(document: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let slice = random.slice(document.len(), 40);
    let element = element(document, random.below(document.len() + 1));
    match random.below(13) {
        0 => flip(document, random),
        1 => drop(document.drain(slice)),
        2 => insert(document, slice.start, &random.bytes()),
        3 => {
            let copy = document[slice].to_vec();
            insert(document, random.below(document.len() + 1), &copy);
        }
        4 => document.truncate(random.below(document.len() + 1)),
        5 => {
            document.truncate(random.below(document.len() + 1));
            document.extend_from_slice(&other[random.below(other.len())..]);
        }
        6 => {
            let copies = document[element.clone()].repeat(1 + random.below(30));
            insert(document, element.end, &copies);
        }
        7 => drop(document.drain(element)),
        8 => {
            let deep = random.below(100);
            insert(document, element.end, &b"</a>".repeat(deep));
            insert(document, element.start, &b"<a>".repeat(deep));
        }
        9 => {
            let trick = random.pick(TRICKS);
            insert(document, slice.start, trick.as_bytes());
        }
        10 => {
            let text = leaf(document, slice.start);
            let value = random.pick(VALUES);
            document.splice(text, value.bytes());
        }
        11 => {
            // Behind the element's name.
            let from = document[element.clone()].iter().position(|b| b" />".contains(b)).unwrap_or(0);
            let attribute = random.pick(ATTRIBUTES);
            insert(document, element.start + from, attribute.as_bytes());
        }
        _ => {
            let moved: Vec<u8> = document.drain(element).collect();
            let before = self::element(document, random.below(document.len() + 1)).start;
            insert(document, before, &moved);
        }
    }
}

#[rustfmt::skip]
const TRICKS: &[&str] = &[
    "&", "&;", "&amp;", "&lol;", "&#0;", "&#x110000;", "&#99999999999;", "&#xD800;", "&#-1;", "&#x;", "&#13;",
    "<!DOCTYPE a [<!ENTITY b \"&c;&c;\">]>", "<!DOCTYPE a>", "<!", "<![CDATA[", "]]>", "<![CDATA[]]>", "<!--", "-->",
    "<!-- -- -->", "<?", "?>", "<?xml version=\"1.1\" encoding=\"UTF-16\"?>", "\u{feff}", "\u{0}", "\u{ffff}", "\r",
    "<>", "</>", "<a", "<a/>", "<:/>", "<a:/>", "<a b=c/>", "<a b/>", "<a b=\"1\" b=\"2\"/>", "<a xmlns:xml=\"b\"/>",
    "<a xmlns:xmlns=\"b\"/>", "<a type=\"&b;\"/>", "<a type=\"\n\t\"/>", "< a/>", "</ a>", "<a xmlns:b=\"\"><b:c/></a>",
];

#[rustfmt::skip]
const VALUES: &[&str] = &[
    "", " ", "-1", "+1", "1", "99999999999999999999", "1e400", "NaN", "true", "TRUE", "0x1", "enter", "leave", "assign",
    "2026-02-30T00:00:00Z", "2026-11-15T07:13:27.9986828129999Z", "2026-11-15T07:13:60Z", "-9999-01-01T00:00:00Z",
    "9999-12-31T23:59:59+25:00", "24:00", "é\u{1F600}", "session[]", ":", "urn:vim25", "<a/>text<b/>", "text<a/>",
];

#[rustfmt::skip]
const ATTRIBUTES: &[&str] = &[
    " type=\"\"", " type=\"Task\"", " xsi:type=\"\"", " xsi:type=\":\"", " xsi:type=\"xsd:int\"", " xsi:nil=\"true\"",
    " xsi:type=\"TraversalSpec\"", " xsi:type=\"NotAuthenticated\"", " xmlns=\"\"", " xmlns=\"urn:other\"",
    " xmlns:soapenv=\"urn:other\"", " xmlns:xsi=\"urn:other\"", " x:type=\"a\"", " a=\"&lt;&#0;\"", " a=\"<\"", " a",
];

fn flip(document: &mut [u8], random: &mut Random) {
    let at = random.below(document.len().max(1));
    if let Some(byte) = document.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

fn insert(document: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    document.splice(at..at, bytes.iter().copied());
}

/// The first whole element from a position on, or nothing at that position.
fn element(document: &[u8], from: usize) -> Range<usize> {
    let opens =
        |at: &usize| document[*at] == b'<' && document.get(at + 1).is_some_and(u8::is_ascii_alphabetic);
    let Some(start) = (from..document.len()).find(opens) else { return from..from };
    let mut depth = 0_i32;
    let mut at = start;
    while let Some(end) = document[at..].iter().position(|b| *b == b'>').map(|length| at + length + 1) {
        depth += match &document[at..end] {
            [b'<', b'/', ..] => -1,
            [b'<', b'?' | b'!', ..] | [.., b'/', b'>'] => 0,
            _ => 1,
        };
        if depth <= 0 {
            return start..end;
        }
        let Some(next) = document[end..].iter().position(|b| *b == b'<') else { break };
        at = end + next;
    }
    from..from
}

/// The text of the first element from a position on that has only text, or nothing at that position.
fn leaf(document: &[u8], from: usize) -> Range<usize> {
    let mut start = from;
    while let Some(open) = document[start..].iter().position(|b| *b == b'>').map(|length| start + length + 1)
    {
        let Some(length) = document[open..].iter().position(|b| *b == b'<') else { break };
        if document[open + length..].starts_with(b"</") && document[open - 2] != b'/' {
            return open..open + length;
        }
        start = open;
    }
    from..from
}

/// xorshift64*: the same numbers everywhere, for ever.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self((seed ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from((self.next() >> 16) % end as u64).unwrap_or(0)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    fn slice(&mut self, length: usize, longest: usize) -> Range<usize> {
        let start = self.below(length + 1);
        start..(start + self.below(longest)).min(length)
    }

    fn bytes(&mut self) -> Vec<u8> {
        (0..=self.below(8)).map(|_| self.next().to_le_bytes()[5]).collect()
    }
}
