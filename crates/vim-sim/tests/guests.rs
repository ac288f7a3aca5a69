//! Guests of the simulated vCenter, as VMware's own client sees them.

mod guests {
    mod exec;
    mod govc;
    mod kit;
}
