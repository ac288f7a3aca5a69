//! Pieces of schemas that several types share, or whose types come from elsewhere.

use schemars::{Schema, SchemaGenerator, json_schema};

/// An RFC 1123 subdomain, as objects are named.
pub(crate) const SUBDOMAIN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// An RFC 1123 label, as namespaces are named.
pub(crate) const DNS_LABEL: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// The same, or nothing.
pub(crate) const MAYBE_DNS_LABEL: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$";
/// The value of a label.
pub(crate) const LABEL_VALUE: &str = r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";
/// A word of vSphere's API.
pub(crate) const VSPHERE_WORD: &str = r"^[A-Za-z0-9_.-]+$";
/// A path without a slash in front and without blanks, or nothing.
pub(crate) const RELATIVE_PATH: &str = r"^([^/\s]\S*)?$";

pub(crate) fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date-time" })
}

/// With all that its type has, since what a schema does not know is dropped when it is stored.
pub(crate) fn object_reference(_: &mut SchemaGenerator) -> Schema {
    let text = json_schema!({ "type": "string" });
    json_schema!({
        "type": "object",
        "properties": {
            "apiVersion": text,
            "fieldPath": text,
            "kind": text,
            "name": text,
            "namespace": text,
            "resourceVersion": text,
            "uid": text,
        },
        "x-kubernetes-map-type": "atomic",
    })
}

/// Conditions as all controllers write them, one of each type.
pub(crate) fn conditions(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "lastTransitionTime": time(generator),
                "message": { "type": "string", "maxLength": 32768 },
                "observedGeneration": { "type": "integer", "format": "int64", "minimum": 0 },
                "reason": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "status": { "type": "string", "enum": ["True", "False", "Unknown"] },
                "type": {
                    "type": "string",
                    "maxLength": 316,
                    "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                },
            },
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
        },
        "x-kubernetes-list-map-keys": ["type"],
        "x-kubernetes-list-type": "map",
    })
}
