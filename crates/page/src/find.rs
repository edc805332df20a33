//! Node search by role, accessible name and text.

use crate::ax::{Role, Tree};
use crate::text::{self, Needle};

/// A query; unset conditions match every node.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Role of the node.
    pub role: Option<Role>,
    /// Text contained in its name.
    pub name: Option<String>,
    /// Text contained in its name, its value or its direct text.
    pub text: Option<String>,
    /// Match the whole name or text instead of a part.
    pub exact: bool,
}

/// Finds the nodes that match a query, in document order. Ignores case and the amount of white space. A text
/// match returns the element that contains it.
pub fn find(tree: &Tree, query: &Query) -> Vec<usize> {
    let mut name = query.name.as_deref().map(Needle::new);
    let mut text = query.text.as_deref().map(Needle::new);
    let says = |needle: &mut Needle, words: &str| {
        !words.is_empty()
            && if query.exact { needle.equals(words) } else { needle.is_contained_in(words) }
    };
    let parents = tree.parents();
    let mut found = Vec::new();
    for (index, node) in tree.nodes.iter().enumerate() {
        let is_text = node.role == Role::Text;
        let at = if is_text { parents[index] as usize } else { index };
        let has_role = |role: Role| query.role.is_none_or(|wanted| wanted == role);
        // With the role `text` the text nodes themselves are returned.
        let at = if query.role == Some(Role::Text) { index } else { at };
        if !has_role(tree.nodes[at].role) {
            continue;
        }
        if let Some(needle) = &mut name {
            let named = &tree.nodes[at];
            if !says(needle, tree.name(named)) && !is_nameless_with(tree, at, index, needle, &says)
            {
                continue;
            }
        }
        if let Some(needle) = &mut text
            && !says(needle, tree.name(node))
            && !says(needle, tree.value(node))
        {
            continue;
        }
        if is_text && at != index && name.is_none() && text.is_none() {
            continue;
        }
        found.push(at);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// True for a nameless node with a direct text that a reader would take for its name.
fn is_nameless_with(
    tree: &Tree,
    at: usize,
    index: usize,
    needle: &mut Needle,
    says: &impl Fn(&mut Needle, &str) -> bool,
) -> bool {
    at != index
        && text::is_blank(tree.name(&tree.nodes[at]))
        && says(needle, tree.name(&tree.nodes[index]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ax::testing::tree;

    fn check(query: &Query, expected: &[u32]) {
        let tree = tree(
            "webarea 1 \"Shop\"\n button 2 \"Sign in\"\n  text \"Sign  in\"\n link 3\n  text \"Sign in here\"\n \
             paragraph 4\n  text \"Please SIGN IN\"\n textbox 5 \"Email\" v=\"sign in\"\n button 6 \"Sign up\"",
        );
        let found: Vec<_> =
            find(&tree, query).iter().map(|index| tree.nodes[*index].element).collect();
        assert_eq!(found, expected, "{query:?}");
    }

    #[test]
    fn nodes_are_found_by_role_name_and_text() {
        let text = |text: &str| Some(text.to_owned());
        check(&Query { role: Some(Role::Button), ..Query::default() }, &[2, 6]);
        check(&Query { name: text("sign"), ..Query::default() }, &[2, 3, 4, 6]);
        check(&Query { text: text("sign in"), ..Query::default() }, &[2, 3, 4, 5]);
        let exact = Query { text: text("sign in"), exact: true, ..Query::default() };
        check(&exact, &[2, 5]);
        let link = Query { role: Some(Role::Link), name: text("here"), ..Query::default() };
        check(&link, &[3]);
        check(&Query { name: text("nothing"), ..Query::default() }, &[]);
        assert!(find(&Tree::default(), &Query::default()).is_empty());
    }
}
