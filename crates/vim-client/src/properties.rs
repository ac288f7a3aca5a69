//! Reading properties once, all pages of them.

use rookery_vim::methods::{ContinueRetrievePropertiesEx, RetrievePropertiesEx};
use rookery_vim::objects::{ObjectContent, PropertyFilterSpec, RetrieveOptions};

use crate::client::Client;
use crate::error::CallError;

/// Small enough that a page is parsed while the next one is made, large enough that pages are few.
const PAGE: i32 = 500;

/// All objects that a filter finds, with their properties.
pub async fn retrieve(client: &Client, spec: PropertyFilterSpec) -> Result<Vec<ObjectContent>, CallError> {
    let this = client.content().property_collector.clone();
    let page = client.deadlines().page;
    let first = RetrievePropertiesEx {
        this: this.clone(),
        spec_set: vec![spec],
        options: RetrieveOptions { max_objects: Some(PAGE) },
    };
    let Some(mut result) = client.call_within(&first, page).await? else { return Ok(Vec::new()) };
    let mut objects = result.objects;
    while let Some(token) = result.token.take().filter(|t| !t.is_empty()) {
        result =
            client.call_within(&ContinueRetrievePropertiesEx { this: this.clone(), token }, page).await?;
        objects.append(&mut result.objects);
    }
    Ok(objects)
}
