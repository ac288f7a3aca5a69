//! What is applied to a cluster, so that it knows our kinds.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kube::CustomResourceExt as _;

use crate::agents::{VsphereAgent, VsphereAgentPool};

/// The definitions of all our kinds, by name.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    [VsphereAgent::crd(), VsphereAgentPool::crd()].map(finished).into()
}

/// An absent field says the same as `null`, and only the former can be written: with `nullable`, a `null` would be stored
/// instead of being replaced by the default.
fn finished(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    let versions = definition.spec.versions.iter_mut();
    let schemas = versions.filter_map(|version| version.schema.as_mut()?.open_api_v3_schema.as_mut());
    schemas.for_each(without_nullable);
    definition
}

fn without_nullable(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    schema.enum_.iter_mut().for_each(|values| values.retain(|value| !value.0.is_null()));
    schema.properties.iter_mut().flatten().for_each(|(_, inner)| without_nullable(inner));
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        without_nullable(items);
    }
}

#[cfg(test)]
mod tests;
