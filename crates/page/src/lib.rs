//! What a page is, as data: accessibility trees, snapshots, refs.
//!
//! Nothing here awaits, reads a file or opens a socket, and the same input gives the same bytes.
//!
//! A [`Tree`](ax::Tree) is what was observed. A [`view`](view::view) chooses what is shown of it and who
//! gets a ref; [`render`] prints a view, [`snapshot`] makes JSON of it, [`delta`] compares two of them, and
//! [`refs`] remembers what the refs meant.

pub mod ax;
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
