//! What a page is, as data: accessibility trees, snapshots, refs.
//!
//! Nothing here awaits, reads a file or opens a socket, and the same input gives the same bytes.

pub mod ax;
