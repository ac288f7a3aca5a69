use proptest::prelude::*;

use super::*;

fn check(text: &str, nanoseconds: i64, printed: &str) {
    let duration: GoDuration = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(duration.nanoseconds(), nanoseconds, "{text}");
    assert_eq!(duration.to_string(), printed, "{text}");
}

/// Texts that Go's time.ParseDuration takes, with what it makes of them and how it prints that.
#[test]
fn what_go_takes_is_taken_and_printed_as_go_prints_it() {
    const MINUTE: i64 = 60_000_000_000;
    check("0", 0, "0s");
    check("-0", 0, "0s");
    check("+0", 0, "0s");
    check("0s", 0, "0s");
    check("10m", 10 * MINUTE, "10m0s");
    check("1h30m", 90 * MINUTE, "1h30m0s");
    check("+5s", 5_000_000_000, "5s");
    check("-1.5h", -90 * MINUTE, "-1h30m0s");
    check("1.s", 1_000_000_000, "1s");
    check(".5s", 500_000_000, "500ms");
    check("1.004s", 1_004_000_000, "1.004s");
    check("100.00100s", 100_001_000_000, "1m40.001s");
    check("11us", 11_000, "11\u{b5}s");
    check("12\u{b5}s", 12_000, "12\u{b5}s");
    check("12\u{3bc}s1500ns", 13_500, "13.5\u{b5}s");
    check("1ns", 1, "1ns");
    check("14s10.5s", 24_500_000_000, "24.5s");
    check("3h", 180 * MINUTE, "3h0m0s");
    check("0.100000000000000000000h", 6 * MINUTE, "6m0s");
    check("0.830103483285477580700h", 2_988_372_539_827, "49m48.372539827s");
    check("9007199254.740993ms", 9_007_199_254_740_993, "2501h59m59.254740993s");
    check("9223372036854775807ns", i64::MAX, "2562047h47m16.854775807s");
    check("-9223372036854775808ns", i64::MIN, "-2562047h47m16.854775808s");
}

#[test]
fn what_go_refuses_is_refused_with_the_reason() {
    let refused = |text: &str| text.parse::<GoDuration>().expect_err(text).to_string();
    for text in ["", "-", "+", "s", ".", "-.", ".s", "+.s", " 1s", "x"] {
        assert!(refused(text).ends_with("is not a duration such as 10m or 1h30m"), "{text}");
    }
    for text in ["3", "1h30", "0.", "00"] {
        assert!(refused(text).ends_with("lacks a unit: write 10m or 30s"), "{text}");
    }
    assert_eq!(refused("1d"), "\"1d\" has the unit \"d\"; there are ns, us, ms, s, m and h");
    assert_eq!(refused("1s "), "\"1s \" has the unit \"s \"; there are ns, us, ms, s, m and h");
    for text in ["9223372036854775808ns", "3000000h", "99999999999999999999h", "9223372036s1000ms"] {
        assert!(refused(text).ends_with("is longer than the 292 years that fit"), "{text}");
    }
}

#[test]
fn only_a_positive_duration_is_waited_for() {
    assert_eq!(GoDuration::from_minutes(10).positive(), Some(Duration::from_mins(10)));
    assert_eq!(GoDuration::from_minutes(0).positive(), None);
    assert_eq!(GoDuration::from_minutes(-1).positive(), None);
}

proptest! {
    #[test]
    fn what_is_printed_is_read_again(nanoseconds in any::<i64>(), shift in 0..63u32) {
        let duration = GoDuration::from_nanoseconds(nanoseconds >> shift);
        prop_assert_eq!(duration.to_string().parse(), Ok(duration));
    }

    #[test]
    fn terms_add_up(terms in proptest::collection::vec((0..9_000u32, 0..UNITS.len()), 1..5), negative: bool) {
        let text = terms.iter().map(|(number, unit)| format!("{number}{}", UNITS[*unit].0)).collect::<Vec<_>>().concat();
        let sum: i64 = terms.iter().map(|(number, unit)| i64::from(*number) * UNITS[*unit].1.cast_signed()).sum();
        let (text, sum) = if negative { (format!("-{text}"), -sum) } else { (text, sum) };
        prop_assert_eq!(text.parse(), Ok(GoDuration::from_nanoseconds(sum)));
    }

    #[test]
    fn no_text_makes_it_fail_otherwise_than_by_saying_so(text in "[-+]?[0-9.hmsnuµ ]{0,24}") {
        if let Ok(duration) = text.parse::<GoDuration>() {
            prop_assert_eq!(duration.to_string().parse(), Ok(duration));
        }
    }
}
