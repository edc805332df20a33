//! Rendering of views as text. [`render_cli`] is the output of the command line and the input of the hashes,
//! [`render_mcp`] the output of the MCP server. All page text is quoted by the rules of JSON, so a page can
//! forge neither a line nor a ref.

mod cli;
mod mcp;

use cli::push_line;
pub use cli::{RenderedText, render_cli, render_with_refs};
pub(crate) use cli::{printed_name, push_attributes};
pub use mcp::{McpRender, render_mcp};

use crate::ax::Tree;
use crate::tokens::calibrated;
use crate::view::{View, ViewLine};

/// Optional attributes and the form of a rendered text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenderOptions {
    /// Print link addresses.
    pub urls: bool,
    /// Print bounding boxes.
    pub boxes: bool,
    /// Replace names, values and texts by their hashes.
    pub redact: bool,
    /// Print names and values in full length.
    pub unlimited_names: bool,
    /// Flat list: each line begins with its ref.
    pub flat: bool,
    /// Render the viewpoint text of the MCP server.
    pub viewpoint: bool,
}

/// Estimated tokens of a line. Every ref counts with the usual number of digits, so that a budget does not
/// depend on earlier numbers.
pub(crate) fn cost(tree: &Tree, line: &ViewLine, print: &RenderOptions, text: &mut String) -> u32 {
    text.clear();
    if print.viewpoint {
        mcp::push_line(text, tree, line, &McpRender { spell: &|_| "e1000".into(), print: *print });
    } else {
        let mut line = *line;
        line.number = line.number.map(|_| 100);
        push_line(text, tree, &line, print);
    }
    text.push('\n');
    calibrated(text)
}

/// Estimated tokens of a view besides its lines: the header, and the note where some nodes have no ref.
pub(crate) fn fixed_cost(view: &View, print: &RenderOptions) -> u32 {
    match (print.viewpoint, view.compacted) {
        (false, _) => 0,
        (true, false) => 15,
        (true, true) => 75,
    }
}

/// Text of a view without lines.
fn empty_text(view: &View, print: &RenderOptions) -> &'static str {
    match (view.matches, print.flat) {
        (Some(_), _) => "nothing found",
        (None, true) => "nothing to act on",
        (None, false) => "- document",
    }
}
