use proptest::prelude::*;
use rustls::pki_types::pem::PemObject as _;

use super::*;

/// Made with `openssl req -x509`: valid beyond 2049, which is another kind of date, and with alternative names.
const MODERN: &str = "-----BEGIN CERTIFICATE-----
MIIBxzCCAW2gAwIBAgIUeReCO1rNLCOaRX13l9CX0PRjmAYwCgYIKoZIzj0EAwIw
HDENMAsGA1UECgwEQWNtZTELMAkGA1UEAwwCdmMwIBcNMjYxMTE1MTE1NzM1WhgP
MjA1MTA3MDcxMTU3MzVaMBwxDTALBgNVBAoMBEFjbWUxCzAJBgNVBAMMAnZjMFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZtrjl4Rx9Rh8Jl/wJxTALd9IXihZo5hk
kAE3dHOZujeiyY1OMhFad4t+bgVQyjU3kTdNEWEsqwTUvmzfx8aZS6OBijCBhzAd
BgNVHQ4EFgQUzL+3WPJ82PHvFQjLYOis2JY9Jq0wHwYDVR0jBBgwFoAUzL+3WPJ8
2PHvFQjLYOis2JY9Jq0wDwYDVR0TAQH/BAUwAwEB/zA0BgNVHREBAf8EKjAogg52
Yy5leGFtcGxlLmNvbYcEwAACB4cQIAENuAAAAAAAAAAAAAAAATAKBggqhkjOPQQD
AgNIADBFAiA7zOyfAviwKD0WkpyUh1YIuq7EuyoeOAG8NWF5xV+tIgIhAMraNjm6
ZT8BvGjzQkqH95UeNHtVAt7OSRrZI0uL0ED7
-----END CERTIFICATE-----";
const OLD: &str = "-----BEGIN CERTIFICATE-----
MIIBpjCCAU2gAwIBAgIUJdpxVbpbbz8jbFU4PnGHE96uoocwCgYIKoZIzj0EAwIw
KTENMAsGA1UECgwEQWNtZTEYMBYGA1UEAwwPb2xkLmV4YW1wbGUuY29tMB4XDTI2
MTExNTExNTczNVoXDTI3MDkxMTExNTczNVowKTENMAsGA1UECgwEQWNtZTEYMBYG
A1UEAwwPb2xkLmV4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
6QnAchL2ZEcWDpYrDP3nPKJmQk6uKWzX2qcWANAD2hCffIchQWFaUhE1jxoojGJV
TUZdCHJfDdSVGkBDZsTEhqNTMFEwHQYDVR0OBBYEFC1wBbdzhrfFb34IV4xE/M0A
ctOSMB8GA1UdIwQYMBaAFC1wBbdzhrfFb34IV4xE/M0ActOSMA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgbRHbBrHRKl/Ln8LNebDTpEt8+iPCkiGU
e3PTUyBAuwYCIGUDYCZh3Avy8Ds1v/sTSYcHw9rivCjicGfjekXebpmw
-----END CERTIFICATE-----";

fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

fn at(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

#[test]
fn names_dates_and_thumbprint_are_those_that_openssl_shows() {
    let modern = Certificate::read(&der(MODERN));
    assert_eq!(modern.names, ["vc.example.com", "192.0.2.7", "2001:db8::1"]);
    assert_eq!(
        (modern.not_before, modern.not_after),
        (at("2026-11-15T11:57:35Z"), at("2051-07-07T11:57:35Z"))
    );
    assert_eq!(
        modern.thumbprint.to_string(),
        "9E:22:F0:A7:2B:F5:2D:29:14:A3:F1:0C:C4:59:D8:73:B3:38:CA:91:C5:7F:90:C0:39:F4:2A:09:BB:B9:FB:5F"
    );
    let old = Certificate::read(&der(OLD));
    assert_eq!(old.names, ["old.example.com"]);
    assert_eq!((old.not_before, old.not_after), (at("2026-11-15T11:57:35Z"), at("2027-09-11T11:57:35Z")));
}

#[test]
fn two_digits_of_a_year_begin_with_1950() {
    let check = |text: &str, expected: &str| assert_eq!(time(UTC_TIME, text.as_bytes()), at(expected));
    check("500102030405Z", "1950-01-02T03:04:05Z");
    check("991231235959Z", "1999-12-31T23:59:59Z");
    check("491231235959Z", "2049-12-31T23:59:59Z");
    assert_eq!(time(UTC_TIME, b"4912312359"), None);
    assert_eq!(time(0x13, b"491231235959Z"), None);
}

#[test]
fn nothing_is_believed_of_a_certificate_that_is_cut_short() {
    let whole = der(MODERN);
    for length in 0..whole.len() {
        let cut = Certificate::read(&CertificateDer::from(whole[..length].to_vec()));
        assert_eq!((cut.names.len(), cut.not_after), (0, None), "{length}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in any::<Vec<u8>>()) {
        Certificate::read(&CertificateDer::from(bytes));
    }

    #[test]
    fn no_damage_panics(at in 0usize..400, byte in any::<u8>()) {
        let mut bytes = der(MODERN).to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        Certificate::read(&CertificateDer::from(bytes));
    }
}
