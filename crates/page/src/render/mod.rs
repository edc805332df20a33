//! A view as text. [`render_cli`] is what the command line prints and the hashes are taken of, [`render_mcp`] what
//! the MCP server prints. Every text that comes from the page is quoted by the rules of JSON, so a page
//! can forge neither a line nor a ref.

mod cli;
mod mcp;

use cli::push_line;
pub use cli::{RenderedText, printed, render_cli};
pub(crate) use cli::{push_attributes, shown_name};
pub use mcp::{McpRender, render_mcp};

use crate::ax::Tree;
use crate::tokens::calibrated;
use crate::view::{View, ViewLine};

/// What is printed of a node besides what always is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenderOptions {
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
    /// It is written as MCP clients know it.
    pub viewpoint: bool,
}

/// About how many tokens a line is. Refs count as if they had as many digits as most: a budget must not depend on which
/// numbers were given before.
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

/// About how many tokens a view has besides its lines: a header, and what is said where not everything has a ref.
pub(crate) fn fixed_cost(view: &View, print: &RenderOptions) -> u32 {
    match (print.viewpoint, view.compacted) {
        (false, _) => 0,
        (true, false) => 15,
        (true, true) => 75,
    }
}

/// What is printed when there is nothing to print.
fn nothing(view: &View, print: &RenderOptions) -> &'static str {
    match (view.matches, print.flat) {
        (Some(_), _) => "nothing found",
        (None, true) => "nothing to act on",
        (None, false) => "- document",
    }
}
