//! Which job somebody means. Lists and pages show the beginning of a V2 job's id; any that fits one job alone will do.

use rookery_cds::JobId;

use crate::plan::Denied;

/// How much of a UUID is shown where there is little room.
const SHOWN: usize = 8;

/// The job of that id, or the only one whose id begins so. `known` are the jobs that this hatchery knows; others have to be
/// named whole. The number of a V1 job is always whole: a shorter one is another job, and so are a few digits that some UUID
/// begins with. As many digits as lists show may be both, and are not clear then.
pub(super) fn job_named<'k>(given: &str, known: impl IntoIterator<Item = &'k str>) -> Result<JobId, Denied> {
    let given = given.trim().to_ascii_lowercase();
    let known: Vec<&str> = known.into_iter().collect();
    if known.contains(&given.as_str()) {
        return parsed(&given);
    }
    let may_be_cut = given.len() >= SHOWN || given.contains(|c: char| !c.is_ascii_digit());
    let begins_so = |job: &&&str| may_be_cut && job.contains('-') && job.starts_with(&given);
    let mut fitting: Vec<&str> = known.iter().filter(begins_so).copied().collect();
    fitting.sort_unstable();
    fitting.dedup();
    match fitting.as_slice() {
        [only] if given.parse::<i64>().is_ok() => Err(Denied::Unclear(format!(
            "{given:?} is the number of a V1 job, or begins the id of job {only}; write one more of its signs if that is \
             meant"
        ))),
        [only] => parsed(only),
        [] => parsed(&given),
        several => Err(Denied::Unclear(format!(
            "{given:?} begins the ids of {} jobs: {}; write more of the one that is meant",
            several.len(),
            several.join(", ")
        ))),
    }
}

fn parsed(id: &str) -> Result<JobId, Denied> {
    id.parse().map_err(|_| {
        Denied::Unclear(format!(
            "this hatchery knows no job {id:?}: a V1 job is named by its number, a V2 job by its UUID or the beginning of \
             it; `rookery hatchery jobs` lists them"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = [
        "6ec08f8c-2b9f-4e0a-81ab-5e980012400a",
        "6ec08f8c-aaaa-4e0a-81ab-5e980012400a",
        "12345678-2b9f-4e0a-81ab-5e980012400a",
        "4711",
    ];

    fn check(given: &str, expected: Result<&str, &str>) {
        let named = job_named(given, KNOWN).map(|job| job.to_string());
        match (named, expected) {
            (Ok(job), Ok(expected)) => assert_eq!(job, expected, "{given}"),
            (Err(why), Err(expected)) => assert!(why.to_string().contains(expected), "{given}: {why}"),
            (odd, _) => panic!("{given}: {odd:?}"),
        }
    }

    #[test]
    fn the_beginning_of_an_id_is_enough_if_one_job_alone_begins_so() {
        check("6ec08f8c-2b", Ok(KNOWN[0]));
        check("6EC08F8C-A", Ok(KNOWN[1]));
        check(KNOWN[1], Ok(KNOWN[1]));
        check("1234567", Ok("1234567"));
        check("12345678-", Ok(KNOWN[2]));
        let both =
            "\"6ec08f8c\" begins the ids of 2 jobs: 6ec08f8c-2b9f-4e0a-81ab-5e980012400a, 6ec08f8c-aaaa-";
        check("6ec08f8c", Err(both));
    }

    // It was taken for the V2 job alone, and that one's VMs were held or released.
    #[test]
    fn digits_that_may_be_a_v1_job_or_begin_the_id_of_a_v2_job_are_not_clear() {
        check("12345678", Err("is the number of a V1 job, or begins the id of job 12345678-2b9f-"));
        check("123456789", Ok("123456789"));
        let both = [KNOWN[2], "12345678"];
        assert_eq!(job_named("12345678", both).map(|job| job.to_string()), Ok("12345678".to_owned()));
    }

    #[test]
    fn a_number_is_that_of_a_v1_job_unless_a_uuid_begins_so_and_what_is_not_known_must_be_whole() {
        check("4711", Ok("4711"));
        check("47", Ok("47"));
        check("00000000-2b9f-4e0a-81ab-5e980012400a", Ok("00000000-2b9f-4e0a-81ab-5e980012400a"));
        for odd in ["", "no-job", "7f", "../x"] {
            check(odd, Err("this hatchery knows no job"));
        }
    }
}
