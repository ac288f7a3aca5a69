use std::sync::Arc;

use proptest::prelude::*;
use tokio::io::{AsyncBufReadExt as _, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::*;
use crate::dial::{Dial as _, DialError, TcpDial};
use crate::tls::Trust;

fn proxies(variables: &[(&str, &str)]) -> Proxies {
    Proxies::of_variables(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

fn endpoint(address: &str) -> Endpoint {
    Address::parse(address).expect("an address").endpoint
}

fn before(variables: &[(&str, &str)], server: &str) -> Option<String> {
    let tunnel = proxies(variables).before(&endpoint(server)).expect("a proxy that can be used");
    tunnel.map(|tunnel| tunnel.proxy.authority())
}

#[test]
fn each_scheme_has_its_variable_in_capitals_or_small_letters() {
    let both = [("HTTPS_PROXY", "http://secure:3128"), ("http_proxy", "plain:8080")];
    assert_eq!(before(&both, "https://vc.example.com"), Some("secure:3128".to_owned()));
    assert_eq!(before(&both, "http://vc.example.com"), Some("plain:8080".to_owned()));
    let twice = [("https_proxy", "small"), ("HTTPS_PROXY", "capitals")];
    assert_eq!(before(&twice, "https://vc.example.com"), Some("capitals:80".to_owned()));
    assert_eq!(before(&[("HTTPS_PROXY", " "), ("https_proxy", "small")], "vc"), Some("small:80".to_owned()));
    assert_eq!(before(&[("HTTP_PROXY", "plain")], "https://vc"), None);
    assert_eq!(before(&[], "https://vc"), None);
}

#[test]
fn this_machine_needs_no_proxy() {
    for server in ["localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.1.2.3:8989", "[::1]:443"] {
        assert_eq!(before(&[("HTTPS_PROXY", "p")], server), None, "{server}");
    }
}

#[test]
fn exceptions_are_domains_suffixes_addresses_networks_and_all() {
    let check = |list: &str, server: &str, direct: bool| {
        let found = before(&[("HTTPS_PROXY", "p"), ("no_proxy", list)], server);
        assert_eq!(found.is_none(), direct, "{list} {server}");
    };
    check("other, example.com", "vc.example.com", true);
    check("example.com", "EXAMPLE.com", true);
    check("example.com", "badexample.com", false);
    check(".example.com", "example.com", false);
    check(".Example.com.", "vc.example.com", true);
    check("*.example.com", "vc.example.com", true);
    check("vc:8443", "vc:8443", true);
    check("vc:8443", "vc", false);
    check("192.0.2.7", "192.0.2.7", true);
    check("192.0.2.7", "192.0.2.77", false);
    check("192.0.2.0/24 2001:db8::/32", "192.0.2.7", true);
    check("192.0.2.0/24,2001:db8::/32", "https://[2001:db8::9]:443", true);
    check("2001:db8::9", "https://[2001:db8::9]:443", true);
    check("[2001:db8::9]:443", "https://[2001:db8::9]:443", true);
    check("[2001:db8::9]:444", "https://[2001:db8::9]:443", false);
    check("192.0.2.0/24", "vc.example.com", false);
    check("*", "vc.example.com", true);
    check(",, ,", "vc.example.com", false);
}

#[test]
fn a_variable_that_names_no_proxy_is_told_where_it_would_be_used() {
    for bad in ["socks5://p:1080", "https://p", "http://", "p:port"] {
        let given = proxies(&[("HTTPS_PROXY", bad)]);
        let error = given.before(&endpoint("vc")).expect_err(bad);
        assert!(error.to_string().starts_with("HTTPS_PROXY names no proxy: "), "{error}");
        assert_eq!(given.before(&endpoint("http://vc")), Ok(None));
        assert_eq!(given.before(&endpoint("localhost")), Ok(None));
    }
}

#[test]
fn a_password_is_not_printed() {
    let given = proxies(&[("HTTPS_PROXY", "http://me:hunter2@p")]);
    assert!(!format!("{given:?}").contains("hunter2"));
    assert!(!format!("{given:?}").contains(&BASE64_STANDARD.encode("me:hunter2")));
}

proptest! {
    #[test]
    fn no_text_panics(proxy in any::<String>(), list in any::<String>()) {
        let given = proxies(&[("HTTPS_PROXY", &proxy), ("NO_PROXY", &list)]);
        drop(given.before(&endpoint("vc.example.com")));
    }
}

/// A proxy for one connection: answers with that line, and connects to the given server whatever it is asked for. Gives
/// the head of the request.
async fn proxy(answer: &'static str, server: Option<std::net::SocketAddr>) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound").to_string();
    let serving = async move {
        let (stream, _) = listener.accept().await.expect("a client");
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            stream.read_line(&mut head).await.expect("a line");
        }
        stream.write_all(answer.as_bytes()).await.expect("it is heard");
        if let Some(server) = server {
            let mut onward = TcpStream::connect(server).await.expect("the server is there");
            copy_bidirectional(&mut stream, &mut onward).await.ok();
        }
        head
    };
    (address, spawn(serving))
}

#[expect(clippy::disallowed_methods, reason = "a test's own server")]
fn spawn(serving: impl Future<Output = String> + Send + 'static) -> JoinHandle<String> {
    tokio::spawn(serving)
}

fn dialer(server: &str, proxy: &str) -> Arc<TcpDial> {
    let given = proxies(&[("HTTP_PROXY", proxy), ("HTTPS_PROXY", proxy)]);
    Arc::new(TcpDial::new(endpoint(server), &Trust::Insecure).expect("no TLS").through(given))
}

#[tokio::test]
async fn a_server_behind_a_proxy_is_spoken_to_through_it() {
    let server = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = server.local_addr().expect("it is bound");
    let echoing = spawn(async move {
        let (stream, _) = server.accept().await.expect("a client");
        let (mut from, mut to) = stream.into_split();
        tokio::io::copy(&mut from, &mut to).await.ok();
        String::new()
    });
    let (proxy, seen) = proxy("HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n", Some(address)).await;
    let mut stream = dialer("http://vc.example.com:8080", &format!("http://me:p%40ss@{proxy}"))
        .dial()
        .await
        .expect("it connects");
    stream.write_all(b"hello").await.expect("it is sent");
    let mut echo = [0; 5];
    stream.read_exact(&mut echo).await.expect("it comes back");
    assert_eq!(&echo, b"hello");
    drop(stream);
    let head = seen.await.expect("the proxy ends");
    let credentials = BASE64_STANDARD.encode("me:p@ss");
    assert_eq!(
        head,
        format!(
            "CONNECT vc.example.com:8080 HTTP/1.1\r\nHost: vc.example.com:8080\r\n\
             Proxy-Authorization: Basic {credentials}\r\n\r\n"
        )
    );
    echoing.await.expect("the server ends");
}

#[tokio::test]
async fn tls_begins_behind_the_proxy() {
    let (proxy, seen) = proxy("HTTP/1.0 200 ok\r\n\r\n", None).await;
    let error = dialer("https://vc.example.com", &proxy).dial().await.map(drop).expect_err("nobody is there");
    assert!(matches!(error, DialError::Tls { .. }), "{error:?}");
    let head = seen.await.expect("the proxy ends");
    assert_eq!(head, "CONNECT vc.example.com:443 HTTP/1.1\r\nHost: vc.example.com:443\r\n\r\n");
}

#[tokio::test]
async fn a_proxy_that_refuses_is_told_from_a_server_that_does() {
    for (answer, transient) in [
        ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", false),
        ("HTTP/1.1 403 Forbidden\r\n\r\n", false),
        ("HTTP/1.1 503 Service Unavailable\r\n\r\n", true),
        ("HTTP/1.1 200 OK", true),
        ("SSH-2.0-OpenSSH_9.6\r\n\r\n", true),
    ] {
        let (proxy, seen) = proxy(answer, None).await;
        let error = dialer("https://vc.example.com", &proxy).dial().await.map(drop).expect_err(answer);
        assert!(matches!(error, DialError::Proxy { .. }), "{error:?}");
        assert_eq!(error.is_transient(), transient, "{error}");
        assert!(
            error.to_string().contains(&proxy) && error.to_string().contains("vc.example.com:443"),
            "{error}"
        );
        seen.await.expect("the proxy ends");
    }
    let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("it is bound");
    let error = dialer("https://vc", &nobody.to_string()).dial().await.map(drop).expect_err("nobody");
    assert!(matches!(error, DialError::Proxy { .. }) && error.is_transient(), "{error:?}");
}
