//! Stories on a real vSphere simulator (vcsim), witnessed by `govc`.

mod vsphere {
    mod cuts;
    mod faults;
    mod inventory;
    mod machines;
    mod trust;
}
