//! Documents that are made to exhaust memory, each with what reading it may cost at most. They are as large as a
//! document may be, so they are made one after the other.

use rookery_vim::Limits;

const MIB: usize = 1 << 20;

const ENVELOPE: &str = "<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\"><e:Body>";

/// Documents that must be refused.
pub(crate) fn each_beyond_limits(mut check: impl FnMut(&str, &[u8], usize)) {
    let length = Limits::default().bytes;
    let chain = ["<b>".repeat(60), "</b>".repeat(60)].concat();
    let entities = filled("<!DOCTYPE a [", "<!ENTITY b \"&c;&c;&c;\">", "]><a/>", length);
    check("entities of entities", &entities, MIB);
    drop(entities);
    check("one byte too many", &filled("<a>", " ", "", length + 1), 1 << 10);
    check("nothing but depth", &filled("", "<a>", "", length), MIB);
    check("nothing but attributes", &numbered(" a", "=''", length), MIB);
    check("nothing but namespaces", &numbered(" xmlns:a", "='b'", length), MIB);
    check("one long entity", &filled("<a>&", "b", ";</a>", length), MIB);
    check("one long name", &filled("<a", "b", "/>", length), 2 * length);
    check("one long name that ends nothing", &filled("<a></a", "b", ">", length), 4 * length + MIB);
    check("too many elements", &filled("<a>", "<b/>", "</a>", length), 256 * MIB);
    check("too many, with one child each", &filled("<a>", "<b><c/></b>", "</a>", length), 256 * MIB);
    check("too many, with two children each", &filled("<a>", "<b><c/><c/></b>", "</a>", length), 256 * MIB);
    check("too many, in chains", &filled("<a>", &chain, "</a>", length), 256 * MIB);
}

/// Documents that are odd, but within the limits.
pub(crate) fn each_at_limits(mut check: impl FnMut(&str, &[u8], usize)) {
    let Limits { bytes: length, elements, .. } = Limits::default();
    check("one long comment", &filled("<a><!--", " ", "--></a>", length), MIB);
    check("one long attribute", &filled("<a type=\"", "b", "\"/>", length), 2 * length);
    check("one long text", &filled("<a>", "b", "</a>", length), 2 * length);
    check("one long section", &filled("<a><![CDATA[", "]", "]]></a>", length), 2 * length);
    check("nothing but references", &filled("<a>", "&lt;", "</a>", length), length);
    check("nothing but line ends", &filled("<a>", "\r\n", "</a>", length), 2 * length);
    check("nothing but sections", &filled("<a>", "<![CDATA[b]]>", "</a>", length), length);
    check("elements, just after their list grew", &list("<a/>", elements / 2 + 24_290), 256 * MIB);
    check("as many elements as may be", &list("<a/>", elements - 3), 256 * MIB);
    check("as many results as may be", &list("<returnval type=\"A\">b</returnval>", elements - 3), 384 * MIB);
    check("a fault caused by faults", &causes(elements - 100), 256 * MIB);
}

/// The start, then the same again and again until the length is almost reached, then the end.
fn filled(start: &str, again: &str, end: &str, length: usize) -> Vec<u8> {
    let times = (length - start.len() - end.len()) / again.len();
    let filled = [start, &again.repeat(times), end].concat();
    let padding = " ".repeat(length - filled.len());
    [filled, padding].concat().into_bytes()
}

/// An element with numbered attributes until the length is almost reached.
fn numbered(before: &str, after: &str, length: usize) -> Vec<u8> {
    let mut text = String::with_capacity(length);
    text.push_str("<a");
    for number in 0_u64.. {
        text.extend([before, &number.to_string(), after]);
        if text.len() + 64 > length {
            break;
        }
    }
    text.push_str("/>");
    text.into_bytes()
}

/// An answer with as many items.
fn list(item: &str, times: usize) -> Vec<u8> {
    let close = "</ModifyListViewResponse></e:Body></e:Envelope>";
    [ENVELOPE, "<ModifyListViewResponse>", &item.repeat(times), close].concat().into_bytes()
}

/// A fault whose innermost cause has as many members.
fn causes(members: usize) -> Vec<u8> {
    let (down, up) = ("<faultCause><fault>".repeat(28), "</fault></faultCause>".repeat(28));
    let close = "</a></detail></e:Fault></e:Body></e:Envelope>";
    let members = "<b/>".repeat(members);
    [ENVELOPE, "<e:Fault><detail><a>", &down, &members, &up, close].concat().into_bytes()
}
