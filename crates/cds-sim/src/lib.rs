//! A CDS API inside a process: it answers as a real server does, and checks what a real server checks.
//!
//! It must never use our own client's types: both ends would share one mistake and no test could see it.
