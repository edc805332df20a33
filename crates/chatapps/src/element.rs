//! The page description: a tree of elements, some of them hooks of the page's script; its HTML and its CSS paths.

/// An element of the page description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) tag: String,
    /// Attributes in the order they are written.
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) children: Vec<Node>,
    pub(crate) hook: Option<Hook>,
}

/// Child of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Element(Element),
    Text(String),
}

/// Meaning of an element to the page's script and to the labels. It is not part of the HTML.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Hook {
    /// Region that appears late in late hydration; holds the composer.
    Form,
    Composer,
    Send,
    Stop,
    /// Opens the menu of models.
    ModelPicker,
    /// Shows the name of the selected model.
    ModelName,
    Upload,
    FileInput,
    /// Holds the chips of attached files.
    Chips,
    /// Holds the turns.
    Feed,
    /// Shown before the first turn.
    Greeting,
    Tools,
    /// Holds the chips of active tools.
    ToolChips,
    Profile,
    Modal,
    ModalClose,
    /// Looks like a target and is none.
    Decoy,
    /// A turn of the assistant.
    Turn,
    /// Holds the text of a turn.
    Content,
    /// Holds the files of a user turn.
    TurnFiles,
    /// Holds what is shown while an answer is under way.
    StatusSlot,
    /// Holds the actions of a finished turn.
    ActionsSlot,
    /// Marked when the turn is finished.
    Footer,
    Actions,
    Copy,
    /// Says that an answer is under way.
    Status,
    /// Button of a chip or message: removes, retries.
    ChipButton,
    ChipName,
    /// Item of a menu, and its mark when it is checked.
    Item,
    ItemCheck,
    /// Bar above the thread, bar inside the composer's card, column beside the thread: where things may move to.
    TopBar,
    ComposerBar,
    Sidebar,
    CodeLanguage,
    CodeText,
}

/// Path to an element: at each level, which of the child elements.
pub(crate) type Path = Vec<usize>;

/// Begins the description of an element.
pub(crate) fn el(tag: &str) -> Element {
    Element { tag: tag.to_owned(), attributes: Vec::new(), children: Vec::new(), hook: None }
}

/// Begins a `div` with classes.
pub(crate) fn div(class: &str) -> Element {
    el("div").class(class)
}

/// Describes a decorative icon, drawn by one path on a field of 24 by 24.
pub(crate) fn icon(path: &str) -> Element {
    let svg = el("svg").class("icon").attr("viewBox", "0 0 24 24").attr("aria-hidden", "true");
    svg.child(el("path").attr("d", path))
}

impl Element {
    /// Adds an attribute.
    pub(crate) fn attr(mut self, name: &str, value: &str) -> Self {
        self.set(name, value);
        self
    }

    pub(crate) fn class(self, classes: &str) -> Self {
        self.attr("class", classes)
    }

    pub(crate) fn label(self, label: &str) -> Self {
        self.attr("aria-label", label)
    }

    pub(crate) fn hook(mut self, hook: Hook) -> Self {
        self.hook = Some(hook);
        self
    }

    pub(crate) fn child(mut self, child: Self) -> Self {
        self.children.push(Node::Element(child));
        self
    }

    pub(crate) fn all(mut self, children: impl IntoIterator<Item = Self>) -> Self {
        self.children.extend(children.into_iter().map(Node::Element));
        self
    }

    pub(crate) fn text(mut self, text: &str) -> Self {
        self.children.push(Node::Text(text.to_owned()));
        self
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        match self.attributes.iter_mut().find(|(it, _)| it == name) {
            Some((_, old)) => value.clone_into(old),
            None => self.attributes.push((name.to_owned(), value.to_owned())),
        }
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<String> {
        let at = self.attributes.iter().position(|(it, _)| it == name)?;
        Some(self.attributes.remove(at).1)
    }

    /// Child elements.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &Self> {
        self.children.iter().filter_map(|child| match child {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// Child elements, to be changed.
    pub(crate) fn elements_mut(&mut self) -> impl Iterator<Item = &mut Self> {
        self.children.iter_mut().filter_map(|child| match child {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// Calls a function on this element and all below it, parents first.
    pub(crate) fn visit_mut(&mut self, visit: &mut impl FnMut(&mut Self)) {
        visit(self);
        for element in self.elements_mut() {
            element.visit_mut(visit);
        }
    }

    /// Paths to all elements with a hook, in document order.
    pub(crate) fn paths(&self, hook: Hook) -> Vec<Path> {
        self.hooks().into_iter().filter(|(it, _)| *it == hook).map(|(_, path)| path).collect()
    }

    /// All hooks at and below this element with their paths, in document order.
    pub(crate) fn hooks(&self) -> Vec<(Hook, Path)> {
        fn walk(element: &Element, path: &mut Path, out: &mut Vec<(Hook, Path)>) {
            out.extend(element.hook.map(|hook| (hook, path.clone())));
            for (at, child) in element.elements().enumerate() {
                path.push(at);
                walk(child, path, out);
                path.pop();
            }
        }
        let mut out = Vec::new();
        walk(self, &mut Vec::new(), &mut out);
        out
    }

    /// Element at a path.
    pub(crate) fn at(&self, path: &[usize]) -> Option<&Self> {
        path.iter().try_fold(self, |element, &at| element.elements().nth(at))
    }

    /// First element with a hook, to be changed.
    pub(crate) fn find_mut(&mut self, hook: Hook) -> Option<&mut Self> {
        if self.hook == Some(hook) {
            return Some(self);
        }
        self.elements_mut().find_map(|child| child.find_mut(hook))
    }

    /// Takes the first element with a hook out of the tree.
    pub(crate) fn take(&mut self, hook: Hook) -> Option<Self> {
        let is_it = |child: &Node| matches!(child, Node::Element(it) if it.hook == Some(hook));
        if let Some(at) = self.children.iter().position(is_it) {
            let Node::Element(taken) = self.children.remove(at) else { return None };
            return Some(taken);
        }
        self.elements_mut().find_map(|child| child.take(hook))
    }

    /// CSS path to the element at a path, if this is the `html` element of a document: it matches that element only.
    pub(crate) fn css_path(&self, path: &[usize]) -> Option<String> {
        let mut out = self.tag.clone();
        let mut element = self;
        for &at in path {
            element = element.elements().nth(at)?;
            out.push_str(" > ");
            out.push_str(&element.tag);
            if !matches!(element.tag.as_str(), "head" | "body") {
                out.push_str(&format!(":nth-child({})", at + 1));
            }
        }
        Some(out)
    }

    /// HTML of the element.
    pub(crate) fn html(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        out.push('<');
        out.push_str(&self.tag);
        for (name, value) in &self.attributes {
            out.push(' ');
            out.push_str(name);
            if !value.is_empty() {
                out.push_str("=\"");
                escape(value, out);
                out.push('"');
            }
        }
        out.push('>');
        if is_void(&self.tag) {
            return;
        }
        for child in &self.children {
            match child {
                Node::Element(element) => element.write(out),
                Node::Text(text) => escape(text, out),
            }
        }
        out.push_str("</");
        out.push_str(&self.tag);
        out.push('>');
    }
}

fn is_void(tag: &str) -> bool {
    matches!(tag, "br" | "input" | "img" | "link" | "meta" | "hr")
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(c),
        }
    }
}

/// A parser of the HTML that [`Element::html`] writes, to check it from outside.
#[cfg(test)]
pub(crate) fn parse(html: &str) -> Element {
    let mut stack = vec![el("#document")];
    let mut rest = html.strip_prefix("<!doctype html>").unwrap_or(html);
    let decode = |text: &str| {
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
        text.replace("&amp;", "&")
    };
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("</") {
            let end = after.find('>').unwrap();
            let element = stack.pop().unwrap();
            assert_eq!(element.tag, after[..end], "unbalanced");
            stack.last_mut().unwrap().children.push(Node::Element(element));
            rest = &after[end + 1..];
        } else if let Some(after) = rest.strip_prefix('<') {
            let tag_end = after.find([' ', '>']).unwrap();
            let mut element = el(&after[..tag_end]);
            rest = &after[tag_end..];
            while let Some(after) = rest.strip_prefix(' ') {
                let name_end = after.find([' ', '=', '>']).unwrap();
                let name = &after[..name_end];
                rest = &after[name_end..];
                let mut value = String::new();
                if let Some(after) = rest.strip_prefix("=\"") {
                    let end = after.find('"').unwrap();
                    value = decode(&after[..end]);
                    rest = &after[end + 1..];
                }
                assert!(element.get(name).is_none(), "{name} twice");
                element = element.attr(name, &value);
            }
            rest = rest.strip_prefix('>').unwrap();
            if is_void(&element.tag) {
                stack.last_mut().unwrap().children.push(Node::Element(element));
            } else {
                stack.push(element);
            }
        } else {
            let end = rest.find('<').unwrap_or(rest.len());
            stack.last_mut().unwrap().children.push(Node::Text(decode(&rest[..end])));
            rest = &rest[end..];
        }
    }
    assert_eq!(stack.len(), 1, "unclosed element");
    let document = stack.pop().unwrap();
    document.elements().next().unwrap().clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Element {
        let send = el("button").label("a \"b\" <c>").attr("disabled", "").hook(Hook::Send);
        let body = el("body").text("x & y").child(el("br")).child(div("a").child(send));
        el("html").child(el("head")).child(body)
    }

    #[test]
    fn html_parses_to_the_same_tree() {
        let mut expected = tree();
        expected.visit_mut(&mut |element| element.hook = None);
        assert_eq!(parse(&tree().html()), expected);
    }

    #[test]
    fn css_path_counts_elements_only() {
        let paths = tree().paths(Hook::Send);
        assert_eq!(paths, [vec![1, 1, 0]]);
        let css = tree().css_path(&paths[0]).unwrap();
        assert_eq!(css, "html > body > div:nth-child(2) > button:nth-child(1)");
        assert_eq!(tree().at(&paths[0]).unwrap().tag, "button");
    }

    #[test]
    fn taken_element_is_gone() {
        let mut tree = tree();
        assert_eq!(tree.take(Hook::Send).unwrap().tag, "button");
        assert!(tree.take(Hook::Send).is_none() && tree.find_mut(Hook::Send).is_none());
    }
}
