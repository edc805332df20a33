//! Page data: accessibility trees, snapshots, deltas, refs.
//!
//! Nothing here awaits, reads a file or opens a socket, and the same input gives the same bytes.
//!
//! A [`Tree`](ax::Tree) is an observed page. A [`view`](view::view) selects its shown nodes and their refs;
//! [`render`] prints a view, [`snapshot`] serializes it as JSON, [`delta`] compares two of them, and [`refs`]
//! stores the fingerprints of issued refs and resolves them.

pub mod ax;
pub mod capability;
pub mod delta;
pub mod find;
pub mod hash;
pub mod mask;
pub mod outline;
pub mod refs;
pub mod render;
pub mod sanitize;
pub mod snapshot;
pub mod text;
pub mod tokens;
pub mod view;
