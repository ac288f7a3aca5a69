//! What is refused before it costs anything, and what is refused because it is not XML as vSphere speaks it.

use rookery_vim::{Limits, Node, ParseError, node};

const SMALL: Limits = Limits { bytes: 100, elements: 4, depth: 3 };

fn parse(text: &str) -> Result<Node, ParseError> {
    node::parse(text.as_bytes(), &SMALL)
}

#[test]
fn a_document_at_a_limit_is_read_and_one_beyond_is_refused() {
    let check = |at_limit: &str, beyond: &str, error: ParseError| {
        assert!(parse(at_limit).is_ok(), "{at_limit}");
        assert_eq!(parse(beyond), Err(error), "{beyond}");
    };
    let sized = |length: usize| format!("<a>{}</a>", "b".repeat(length - 7));
    check(&sized(100), &sized(101), ParseError::TooLarge { limit: 100 });
    check("<a><b/><b/><b/></a>", "<a><b/><b/><b/><b/></a>", ParseError::TooManyElements { limit: 4 });
    check("<a><b><c/></b></a>", "<a><b><c><d/></c></b></a>", ParseError::TooDeep { limit: 3 });
}

#[test]
fn attributes_namespaces_and_names_have_limits_of_their_own() {
    let limits = Limits::default();
    let check = |accepted: String, refused: String| {
        assert!(node::parse(accepted.as_bytes(), &limits).is_ok(), "{accepted}");
        assert!(
            matches!(node::parse(refused.as_bytes(), &limits), Err(ParseError::Malformed { .. })),
            "{refused}"
        );
    };
    let attributes = |count: usize| {
        let each: Vec<_> = (0..count).map(|n| format!("a{n}='b'")).collect();
        format!("<a {}/>", each.join(" "))
    };
    check(attributes(64), attributes(65));
    let namespaces = |per_element: usize| {
        let each: Vec<_> = (0..per_element).map(|n| format!("xmlns:a{n}='b'")).collect();
        let each = each.join(" ");
        format!("<a {each}><b {each}><c {each}/></b></a>")
    };
    check(namespaces(42), namespaces(43));
    let name = |length: usize| format!("<{}/>", "a".repeat(length));
    check(name(256), name(257));
}

#[test]
fn errors_stay_short_whatever_they_quote() {
    let limits = Limits::default();
    let long = "b".repeat(100_000);
    for text in
        [format!("<a>&{long};</a>"), format!("<a></{long}>"), format!("<a {long}=1/>"), format!("<{long}/>")]
    {
        let error = node::parse(text.as_bytes(), &limits).expect_err("it is not well-formed");
        assert!(error.to_string().len() < 200, "{error}");
    }
}

#[test]
fn what_is_not_one_well_formed_document_is_refused() {
    let check = |text: &str, error: &str| {
        let found = parse(text).expect_err(text).to_string();
        assert!(found.contains(error), "{text}: {found}");
    };
    check("", "no root");
    check("  \n", "no root");
    check("<?xml version='1.0'?>", "no root");
    check("<!-- a -->", "no root");
    check("text", "no root");
    check("&amp;", "no root");
    check("<a>", "ends inside");
    check("<a><b></b>", "ends inside");
    check("<a></b>", "malformed");
    check("</a>", "malformed");
    check("<a/></a>", "malformed");
    check("<a/><b/>", "goes on");
    check("<a/>text", "goes on");
    check("<a/>\0", "goes on");
    check("<a b='1' b='2'/>", "malformed");
    check("<a b=1/>", "malformed");
    check("<a b/>", "malformed");
    check("<a>&lol;</a>", "unknown entity &lol;");
    check("<a>&#0;</a>", "unknown entity &#0;");
    check("<a>&#xD800;</a>", "unknown entity");
    check("<a>&amp</a>", "malformed");
    check("<a>&</a>", "malformed");
    check("<a type='&lol;'/>", "malformed");
    check("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "document type");
    check("<a xmlns:xml='b'/>", "malformed");
    assert_eq!(node::parse(b"<a>\xff</a>", &SMALL), Err(ParseError::NotText));
}

#[test]
fn a_byte_order_mark_a_declaration_comments_and_white_space_around_the_root_are_fine() {
    let plain = parse("<a>b</a>");
    for text in
        ["\u{feff}<a>b</a>", "<?xml version='1.0'?>\r\n<a>b</a>\r\n", "<!--c--><a>b</a><!--d--> <?e?>"]
    {
        assert_eq!(parse(text), plain);
    }
}
