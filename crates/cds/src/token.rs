//! What a worker registers with: a token signed by its hatchery, valid long enough to boot and no longer.

use jiff::Timestamp;
use jsonwebtoken::{Algorithm, Header, encode};
use rand::{Rng, RngExt as _};
use secrecy::SecretString;
use serde::Serialize;
use serde_json::{Value, json};

use crate::job::{V1JobId, V2JobId};
use crate::key::HatcheryKey;

/// It must cover boot and registration.
const LIFETIME_SECONDS: i64 = 3600;

/// Who a worker is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerClaims {
    /// The hatchery that starts it.
    pub hatchery: String,
    /// Its name.
    pub worker: String,
    /// What it is started for.
    pub assignment: Assignment,
}

/// What a worker is started for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assignment {
    /// A V1 job, on a V1 model; without a model: on a V2 model.
    V1Job { job: V1JobId, model: Option<ModelRef> },
    /// To find out what a V1 model can do.
    V1Registration { model: ModelRef },
    /// A V2 job, on the model of this name.
    V2Job { job: V2JobId, model: String },
}

/// A V1 worker model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelRef {
    pub id: i64,
    /// Its name, without its group.
    pub name: String,
}

/// Why no token could be made.
#[derive(Debug, thiserror::Error)]
#[error("the token of a worker could not be signed")]
pub struct TokenError(#[from] jsonwebtoken::errors::Error);

/// Signs the token of one worker.
pub fn worker_token(
    key: &HatcheryKey,
    claims: &WorkerClaims,
    now: Timestamp,
    random: &mut impl Rng,
) -> Result<SecretString, TokenError> {
    let iat = now.as_second();
    let claims = json!({
        "iss": claims.hatchery, "sub": claims.worker, "jti": uuid(random), "iat": iat,
        "exp": iat.saturating_add(LIFETIME_SECONDS), "Worker": worker_claim(claims),
    });
    Ok(encode(&Header::new(Algorithm::RS512), &claims, key.private())?.into())
}

/// The key of the worker's name is called `worker_model`.
fn worker_claim(WorkerClaims { hatchery, worker, assignment }: &WorkerClaims) -> Value {
    match assignment {
        Assignment::V1Job { job, model } => json!({
            "worker_model": worker, "hatchery_name": hatchery, "register_only": false, "job_id": job,
            "model": model.as_ref().map_or(json!({}), |model| json!(model)),
        }),
        Assignment::V1Registration { model } => json!({
            "worker_model": worker, "hatchery_name": hatchery, "register_only": true, "model": model,
        }),
        Assignment::V2Job { job, model } => json!({
            "worker_model": worker, "hatchery_name": hatchery, "model_name": model, "run_job_id": job,
        }),
    }
}

/// A random UUID (version 4).
fn uuid(random: &mut impl Rng) -> String {
    let bits: u128 = random.random();
    let bits = bits & !(0xf << 76) & !(0b11 << 62) | (0x4 << 76) | (0b10 << 62);
    let hex = format!("{bits:032x}");
    [0..8, 8..12, 12..16, 16..20, 20..32].map(|group| hex.get(group).unwrap_or_default()).join("-")
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use jsonwebtoken::{DecodingKey, Validation, decode, decode_header};
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;
    use secrecy::ExposeSecret as _;

    use super::*;
    use crate::job::JobId;
    use crate::key::tests::PKCS1;

    const UUID: &str = "6ec08f8c-2b9f-4e0a-81ab-5e980012400a";

    /// Verifies a token with the public half that CDS was shown.
    fn claims(assignment: Assignment) -> Value {
        let key = HatcheryKey::from_pem(&PKCS1.into()).unwrap();
        let claims =
            WorkerClaims { hatchery: "rig-vsphere".into(), worker: "brave-curie".into(), assignment };
        let now = "2026-11-15T07:52:55.9Z".parse().unwrap();
        let token = worker_token(&key, &claims, now, &mut StdRng::seed_from_u64(1)).unwrap();
        let public = include_str!("../tests/keys/public.pem");
        let digits: String = public.lines().filter(|line| !line.starts_with('-')).collect();
        let der = STANDARD.decode(digits).unwrap();
        let mut validation = Validation::new(Algorithm::RS512);
        validation.validate_exp = false;
        let header = decode_header(token.expose_secret()).unwrap();
        assert_eq!((header.alg, header.typ.as_deref()), (Algorithm::RS512, Some("JWT")));
        decode::<Value>(token.expose_secret(), &DecodingKey::from_rsa_der(&der), &validation).unwrap().claims
    }

    fn expected(worker: &Value, jti: &Value) -> Value {
        let iat = 1_794_729_175;
        json!({"iss": "rig-vsphere", "sub": "brave-curie", "jti": jti, "iat": iat, "exp": iat + 3600, "Worker": worker})
    }

    fn check(assignment: Assignment, worker: &Value) {
        let found = claims(assignment);
        let jti = &found["jti"];
        assert!(matches!(jti.as_str().unwrap().parse(), Ok(JobId::V2(_))), "{jti} is a UUID");
        assert_eq!(found, expected(worker, jti));
    }

    #[test]
    fn the_worker_of_a_v1_job_is_named_under_the_key_of_its_model() {
        let job = V1JobId::try_from(1234).unwrap();
        let model = ModelRef { id: 12, name: "debian12".into() };
        check(
            Assignment::V1Job { job, model: Some(model) },
            &json!({"worker_model": "brave-curie", "model": {"id": 12, "name": "debian12"}, "job_id": 1234,
                   "register_only": false, "hatchery_name": "rig-vsphere"}),
        );
        check(
            Assignment::V1Job { job, model: None },
            &json!({"worker_model": "brave-curie", "model": {}, "job_id": 1234, "register_only": false,
                   "hatchery_name": "rig-vsphere"}),
        );
    }

    #[test]
    fn a_registration_has_no_job() {
        check(
            Assignment::V1Registration { model: ModelRef { id: 12, name: "debian12".into() } },
            &json!({"worker_model": "brave-curie", "model": {"id": 12, "name": "debian12"}, "register_only": true,
                   "hatchery_name": "rig-vsphere"}),
        );
    }

    #[test]
    fn the_worker_of_a_v2_job_names_its_model() {
        check(
            Assignment::V2Job { job: UUID.to_owned().try_into().unwrap(), model: "debian12".into() },
            &json!({"worker_model": "brave-curie", "model_name": "debian12", "run_job_id": UUID,
                   "hatchery_name": "rig-vsphere"}),
        );
    }
}
