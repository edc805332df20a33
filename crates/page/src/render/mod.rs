//! A view as text. [`phase7`] is what the command line prints and the hashes are taken of, [`viewpoint`] what
//! the MCP server prints. Every text that comes from the page is quoted by the rules of JSON, so a page
//! can forge neither a line nor a ref.

mod phase7;
mod viewpoint;

pub use phase7::{Printed, phase7, printed};
pub(crate) use phase7::{push_attributes, push_line, shown_name};
pub use viewpoint::{Viewpoint, viewpoint};

/// What is printed of a node besides what always is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Print {
    /// Where links lead.
    pub urls: bool,
    /// Where nodes are drawn.
    pub boxes: bool,
    /// Names, values and texts are replaced by hashes of them.
    pub redact: bool,
    /// Names and values are not cut.
    pub unlimited_names: bool,
    /// A flat list: each line begins with its ref.
    pub flat: bool,
}

/// What is printed when there is nothing to print.
fn nothing(view: &crate::view::View, print: &Print) -> &'static str {
    match (view.matches, print.flat) {
        (Some(_), _) => "nothing found",
        (None, true) => "nothing to act on",
        (None, false) => "- document",
    }
}
