//! What `up` says when nobody told it where a vCenter is.

use std::path::Path;

use super::summary::ROAD;

/// The explanation; `default_file` is the settings file that is read when none is asked for.
pub(super) fn text(default_file: Option<&Path>) -> String {
    let file =
        default_file.map_or_else(|| "a file given with --config".to_owned(), |p| p.display().to_string());
    let [works, later] = ROAD;
    format!(
        r#"No vCenter is configured, so there is no fleet to show. Name one in any of three ways:

  flags      rookery up --endpoint vc.example.com --user me@vsphere.local --password-file FILE
  variables  ROOKERY_VCENTER__ENDPOINT, …__USER, …__PASSWORD, or govc's GOVC_URL, GOVC_USERNAME, GOVC_PASSWORD
  a file     {file}
               [vcenter]
               endpoint = "vc.example.com"
               user = "me@vsphere.local"
               password-file = "/path/to/a/file"   # or password = "…"
               ca-file = "/path/to/ca.pem"         # or thumbprint = "AB:CD:…"; system roots if neither

No vCenter at hand? Start VMware's simulator in one terminal, and look at it from another:

  cargo xtask vcsim
  GOVC_URL=https://user:pass@127.0.0.1:8989/sdk GOVC_INSECURE=1 cargo run --release -- up

{works}
{later}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_can_be_copied_as_it_stands() {
        let text = text(Some(Path::new("/home/me/.config/rookery/rookery.toml")));
        insta::assert_snapshot!(text, @r#"
        No vCenter is configured, so there is no fleet to show. Name one in any of three ways:

          flags      rookery up --endpoint vc.example.com --user me@vsphere.local --password-file FILE
          variables  ROOKERY_VCENTER__ENDPOINT, …__USER, …__PASSWORD, or govc's GOVC_URL, GOVC_USERNAME, GOVC_PASSWORD
          a file     /home/me/.config/rookery/rookery.toml
                       [vcenter]
                       endpoint = "vc.example.com"
                       user = "me@vsphere.local"
                       password-file = "/path/to/a/file"   # or password = "…"
                       ca-file = "/path/to/ca.pem"         # or thumbprint = "AB:CD:…"; system roots if neither

        No vCenter at hand? Start VMware's simulator in one terminal, and look at it from another:

          cargo xtask vcsim
          GOVC_URL=https://user:pass@127.0.0.1:8989/sdk GOVC_INSECURE=1 cargo run --release -- up

        Works now    this live view, `rookery vm` (look, make, change, run inside), `rookery doctor`, `rookery settings`
        Comes later  the CDS hatchery, simulators, HyperShift agents, cluster pools, the tenant API
        "#);
    }
}
