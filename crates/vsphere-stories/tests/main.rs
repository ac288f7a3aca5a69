//! Stories of everything that talks to vSphere: the client, the acts on machines and the command line. They run on VMware's
//! vcsim, witnessed by `govc`, and once more on our own simulator (`ROOKERY_PEER=sim`).
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a story fails by panicking, in its helper functions, too"
)]

mod left_out;

/// What the simulator can do, beside what vcsim can: one script run against both, and the table in `docs/simulator.md`
/// that says so.
mod matrix {
    mod capacity;
    mod clients;
    mod clones;
    mod collector;
    mod documented;
    mod events;
    mod features;
    mod files;
    mod guests;
    mod life;
    mod places;
    mod power;
    mod raw_client;
    mod sessions;
    mod subject;
    mod table;
    mod tasks;
    mod updates;
}

/// What vcsim cannot do.
mod own {
    mod full_guest;
    mod idle;
    mod limits;
    mod privileges;
}

mod vsphere {
    mod capacity;
    mod cli;
    mod clones;
    mod creates;
    mod cuts;
    mod extra_config;
    mod faults;
    mod files;
    mod governor;
    mod guests;
    mod hands;
    mod history;
    mod inventory;
    mod machines;
    mod placement;
    mod places;
    mod readiness;
    mod support;
    mod tags;
    mod transport;
    mod trust;
    mod two_fronts;
    mod vcenter;
}
