//! What the browser tells of a document, read into our tree.
//!
//! It knows what only the browser can know (closed shadow roots, parts of native controls) and does not know
//! what our observer finds out: what a person cannot see, who listens to clicks. Which fields besides passwords hold
//! secrets is asked of our world.

use crate::observe::oracle::NodeFacts;
use cdp::LossyString;
use cdp::protocol::accessibility::{AxName, AxNode, AxText};
use page::ax::{Role, Tree, Tristate};
use page::mask::MASK;
use page::text::{collapse, is_blank};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;

/// What the browser shows instead of the letters of a secret: disc, circle, square.
const MARKS: [char; 3] = ['•', '◦', '■'];

/// What secret fields hold is not told: neither as their value nor where it is part of a name or a text.
pub(super) fn hide(nodes: &mut [AxNode], secrets: &[LossyString]) {
    /// Shorter ones would be found in everything.
    const SHORTEST: usize = 4;
    let secrets: Vec<Cow<'_, str>> = secrets.iter().map(|text| collapse(text)).collect();
    let without = |text: &mut LossyString| {
        for secret in secrets.iter().filter(|secret| secret.chars().count() >= SHORTEST) {
            if collapse(text).contains(&**secret) {
                text.0 = collapse(text).replace(&**secret, MASK);
            }
        }
    };
    for node in nodes {
        let value = node.value.as_mut().and_then(|value| value.value.as_mut());
        if let Some(value) = value
            && secrets.contains(&collapse(&plain(value)))
        {
            // As the browser tells the value of a password.
            *value = RawValue::from_string("\"•\"".into()).unwrap_or_default();
        }
        let name = node.name.as_mut().and_then(|name| name.value.as_mut());
        let description = node.description.as_mut().and_then(|text| text.value.as_mut());
        name.into_iter().chain(description).for_each(without);
        for property in node.properties.iter_mut().flatten() {
            let value = property.value.as_mut().and_then(|value| value.value.as_mut());
            if let Some(value) = value
                && property.name.as_deref() == Some("valuetext")
                && secrets.contains(&collapse(&plain(value)))
            {
                *value = RawValue::from_string("\"•\"".into()).unwrap_or_default();
            }
        }
    }
}

/// Where a document stands in the whole page.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreePosition {
    /// How deep.
    pub(super) depth: u32,
    /// Which one it is.
    pub(super) frame: u16,
}

/// A node that is still to be told, and what it is inside of.
#[derive(Clone, Copy)]
struct PendingNode {
    node: usize,
    at: TreePosition,
    /// The content around it can be edited.
    is_edited: bool,
    /// The plain field that it is a part of, in our tree.
    field: Option<usize>,
}

/// A document that is being read.
pub(super) struct AxReader<'a> {
    nodes: &'a [AxNode],
    /// Where each is, by what others call it.
    places: HashMap<&'a str, usize>,
    is_told: Vec<bool>,
    open: Vec<PendingNode>,
}

/// Begins to read a document. The first node is the root; the others come in no order to rely on.
pub(super) fn begin(nodes: &[AxNode], at: TreePosition) -> AxReader<'_> {
    let places = nodes
        .iter()
        .enumerate()
        .filter_map(|(index, node)| Some((node.node_id.as_deref()?, index)))
        .collect();
    let root = PendingNode { node: 0, at, is_edited: false, field: None };
    let open = if nodes.is_empty() { Vec::new() } else { vec![root] };
    AxReader { nodes, places, is_told: vec![false; nodes.len()], open }
}

impl AxReader<'_> {
    /// Goes on until an element is told: the browser's number of it, and how deep what is in it stands. Until asked for
    /// more, it is the last node of the tree.
    pub(super) fn next(&mut self, tree: &mut Tree) -> Option<(i64, u32)> {
        // Not by calling itself: a page can be deeper than a stack.
        while let Some(visit) = self.open.pop() {
            if std::mem::replace(&mut self.is_told[visit.node], true) {
                continue;
            }
            let node = &self.nodes[visit.node];
            let before = tree.nodes.len();
            let Some(below) = tell(tree, node, visit) else { continue };
            let children = node.child_ids.as_deref().unwrap_or_default().iter().rev();
            self.open.extend(
                children
                    .filter_map(|id| self.places.get(id.as_str()))
                    .map(|child| PendingNode { node: *child, ..below }),
            );
            if tree.nodes.len() > before
                && let Some(id) = node.backend_dom_node_id
            {
                return Some((id, below.at.depth));
            }
        }
        None
    }
}

/// The browser's number of a node that is told as an element.
pub(super) fn element(node: &AxNode) -> Option<i64> {
    let is_told = matches!(meaning(node), Disposition::Role(role) if role != Role::Text);
    node.backend_dom_node_id.filter(|_| is_told)
}

/// Adds a node, if it is one to be told. Returns what its children are inside of; nothing if they are not told.
fn tell(tree: &mut Tree, node: &AxNode, visit: PendingNode) -> Option<PendingNode> {
    let is_root = visit.node == 0;
    let role = match meaning(node) {
        _ if is_root => Role::WebArea,
        Disposition::Nothing => return None,
        Disposition::Wrapper => return Some(visit),
        Disposition::Role(role) => role,
    };
    match (visit.field, role) {
        // The parts of a field only show its value. For one that styles turn into a password's, though, the
        // browser has the value in clear and only the part masked.
        (Some(field), Role::Text) => {
            if is_marks(&name(node)) {
                mask(tree, field);
            }
            return None;
        }
        (Some(_), Role::Generic) => return Some(visit),
        _ => {}
    }
    if role == Role::Text {
        tell_text(tree, node, visit.at);
        return None;
    }
    let element = node.backend_dom_node_id.and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
    let index = tree.push(role, visit.at.depth, element, visit.at.frame);
    let editable = tell_states(tree, node, index, is_root);
    let is_field = editable == Editable::Plain && is_text_field(role);
    let is_edited = editable != Editable::No;
    let is_host = is_edited && !visit.is_edited && !is_field;
    tell_texts(tree, node, index, is_host, is_root);
    let states = tree.nodes[index].states;
    tree.nodes[index].states = states.with_editable(is_host);
    let field = is_field.then_some(index);
    let at = TreePosition { depth: visit.at.depth + 1, ..visit.at };
    Some(PendingNode { at, is_edited, field, ..visit })
}

/// Adds a text, if there is anything in it.
fn tell_text(tree: &mut Tree, node: &AxNode, at: TreePosition) {
    let text = name(node);
    // Where a list is used as a menu or the like, its marks come as text that no node of the page holds.
    let is_mark = node.backend_dom_node_id.is_none() && matches!(&*text, "•" | "◦" | "▪");
    if text.is_empty() || is_mark {
        return;
    }
    // Anywhere else these may be signs that are meant to be read.
    let is_secret = is_marks(&text) && properties(node).any(|(name, _)| name == "editable");
    let index = tree.push(Role::Text, at.depth, 0, at.frame);
    tree.nodes[index].name = tree.intern_masked(if is_secret { MASK } else { &text });
    tree.nodes[index].states = tree.nodes[index].states.with_masked(is_secret);
}

/// How the content of a node can be edited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Editable {
    No,
    Plain,
    Rich,
}

/// What is true of a node: everything that is not a text.
fn tell_states(tree: &mut Tree, node: &AxNode, index: usize, is_root: bool) -> Editable {
    let told = &mut tree.nodes[index];
    let mut editable = Editable::No;
    let mut states = told.states;
    for (name, value) in properties(node) {
        states = match name {
            "disabled" => states.with_disabled(is_true(value)),
            "selected" => states.with_selected(is_true(value)),
            "focusable" => {
                states.with_focusable(is_true(value) && !is_native_option(node, told.role))
            }
            // The root says so unless something in it has the focus.
            "focused" => states.with_focused(is_true(value) && !is_root),
            "modal" => states.with_modal(is_true(value)),
            "required" => states.with_required(is_true(value)),
            "readonly" => states.with_readonly(is_true(value)),
            "multiline" => states.with_multiline(is_true(value)),
            "multiselectable" => states.with_multiselectable(is_true(value)),
            "busy" => states.with_busy(is_true(value)),
            _ => states,
        };
        match name {
            "checked" => told.checked = toggle(value),
            "pressed" => told.pressed = toggle(value),
            "expanded" => told.expanded = Some(is_true(value)),
            "level" => told.level = value.get().parse().unwrap_or(0),
            "editable" => {
                editable = match &*plain(value) {
                    "plaintext" => Editable::Plain,
                    "richtext" => Editable::Rich,
                    _ => Editable::No,
                }
            }
            _ => {}
        }
    }
    told.states = states;
    editable
}

/// The texts of a node: name, value and what only few have.
fn tell_texts(tree: &mut Tree, node: &AxNode, index: usize, is_host: bool, is_root: bool) {
    let role = tree.nodes[index].role;
    // A cell that only places things is named by what is in it, which is told anyway.
    if !is_layout(node) {
        tree.nodes[index].name = tree.intern_masked(&name(node));
        let is_given = node.name.as_ref().is_some_and(is_given) && !is_root;
        tree.nodes[index].states = tree.nodes[index].states.with_author_name(is_given);
    }
    let value = node.value.as_ref().and_then(|value| value.value.as_deref()).map(plain);
    let value = value.as_deref().map(collapse).unwrap_or_default();
    if is_marks(&value) {
        mask(tree, index);
    } else if !(is_host && role == Role::Generic) {
        // What is in a plain box that can be edited is told as its content.
        tree.nodes[index].value = tree.intern_masked(&value);
    }
    let description = node.description.as_ref().map(text).unwrap_or_default();
    if !description.is_empty() {
        tree.extra_mut(index).description = tree.intern_masked(&description);
    }
    if role_name(node) == "SvgRoot" {
        tree.extra_mut(index).kind = tree.intern_masked("svg");
    }
    // A range without ends is told as one from 0 to 0.
    let end =
        |wanted| properties(node).find(|(name, _)| *name == wanted).map(|(_, value)| value.get());
    let is_endless = end("valuemin") == Some("0") && end("valuemax") == Some("0");
    for (name, value) in properties(node) {
        let is_wanted = match name {
            "hasPopup" | "invalid" | "roledescription" | "keyshortcuts" | "orientation"
            | "autocomplete" | "valuetext" => true,
            "valuemin" | "valuemax" => !is_endless,
            // Pictures have addresses too, and some are the whole picture.
            "url" => role == Role::Link,
            _ => false,
        };
        if !is_wanted {
            continue;
        }
        let plain = plain(value);
        let text = collapse(&plain);
        let is_said = match name {
            "hasPopup" | "invalid" => text != "false",
            "autocomplete" => text != "none",
            "valuetext" => text != tree.value(&tree.nodes[index]),
            _ => true,
        };
        if text.is_empty() || !is_said {
            continue;
        }
        let span = tree.intern_masked(&text);
        let extra = tree.extra_mut(index);
        match name {
            "hasPopup" => extra.popup = span,
            "invalid" => extra.invalid = span,
            "roledescription" => extra.role_description = span,
            "keyshortcuts" => extra.shortcuts = span,
            "orientation" => extra.orientation = span,
            "autocomplete" => extra.autocomplete = span,
            "valuemin" => extra.min = span,
            "valuemax" => extra.max = span,
            "valuetext" => extra.value_text = span,
            _ => extra.url = span,
        }
    }
}

/// Says that a node holds a secret, and not which.
fn mask(tree: &mut Tree, index: usize) {
    tree.nodes[index].value = tree.intern_masked(MASK);
    tree.nodes[index].states = tree.nodes[index].states.with_masked(true);
}

/// What a node of the browser's is to us.
enum Disposition {
    /// Neither it nor anything in it is told.
    Nothing,
    /// What is in it is told in its place.
    Wrapper,
    /// It is told.
    Role(Role),
}

fn meaning(node: &AxNode) -> Disposition {
    if node.ignored == Some(true) {
        return Disposition::Wrapper;
    }
    match role_name(node) {
        // Each line of a text once more; a mark that the list implies; a gap.
        "InlineTextBox" | "ListMarker" | "LineBreak" => Disposition::Nothing,
        // The options of a closed list are told right below it, as when it is looked at from inside the page.
        "none" | "presentation" | "MenuListPopup" => Disposition::Wrapper,
        name => Disposition::Role(role(name)),
    }
}

/// What the browser's tree says about an element, by the browser's number of it; nothing when it leaves it out.
pub(crate) fn said(node: &AxNode) -> Option<(i64, NodeFacts)> {
    let Disposition::Role(role) = meaning(node) else { return None };
    if role == Role::Text {
        return None;
    }
    let is_focusable = properties(node).any(|(name, value)| name == "focusable" && is_true(value));
    let said = NodeFacts {
        role: role.name().to_owned(),
        name: name(node).into_owned(),
        is_focusable,
        is_layout: is_layout(node),
        passed_over: passed_over(node),
    };
    Some((node.backend_dom_node_id?, said))
}

/// The names that the browser did not take because of one that counts more.
fn passed_over(node: &AxNode) -> Vec<String> {
    let sources = node.name.iter().flat_map(|name| name.sources.iter().flatten());
    let passed = sources.filter(|source| source.superseded == Some(true));
    let values = passed.filter_map(|source| source.value.as_ref()?.value.as_ref());
    values.filter_map(|value| serde_json::from_str(value.get()).ok()).collect()
}

/// The role with a name of the browser's: that of an ARIA role where there is one, else one of its own.
fn role(name: &str) -> Role {
    match name {
        "generic" => Role::Generic,
        "StaticText" => Role::Text,
        "image" | "Image" | "ImageMap" | "SvgRoot" => Role::Image,
        "RootWebArea" | "PdfRoot" => Role::WebArea,
        "LabelText" => Role::Label,
        "IframePresentational" => Role::Iframe,
        "Details" => Role::Group,
        "DisclosureTriangleGrouped" => Role::DisclosureTriangle,
        "ListBoxOption" | "MenuListOption" => Role::Option,
        "TextField" => Role::TextBox,
        "ComboBoxSelect"
        | "ComboBoxMenuButton"
        | "ComboBoxGrouping"
        | "PopUpButton"
        | "TextFieldWithComboBox" => Role::ComboBox,
        "ToggleButton" => Role::Button,
        "RadioButton" => Role::Radio,
        "ProgressIndicator" => Role::ProgressBar,
        "Splitter" => Role::Separator,
        "ContentInsertion" => Role::Insertion,
        "ContentDeletion" => Role::Deletion,
        "DescriptionListTerm" => Role::Term,
        "DescriptionListDetail" => Role::Definition,
        "Header" => Role::Banner,
        "HeaderAsNonLandmark" => Role::SectionHeader,
        "Footer" => Role::ContentInfo,
        "FooterAsNonLandmark" => Role::SectionFooter,
        "MathMLMath" => Role::Math,
        "GenericContainer"
        | "Pre"
        | "Section"
        | "Column"
        | "TableHeaderContainer"
        | "Keyboard"
        | "ScrollView"
        | "ImeCandidate" => Role::Generic,
        name if name.starts_with("LayoutTable") || name.starts_with("MathML") => Role::Generic,
        // Most internal names differ from ours in capitals only: `ColorWell`, `InputTime`, `Figcaption`.
        name => Role::named(name).unwrap_or(Role::Unknown),
    }
}

fn role_name(node: &AxNode) -> &str {
    node.role.as_ref().and_then(|role| role.value.as_deref()).unwrap_or_default()
}

/// Whether a node is part of a table that only places things side by side.
fn is_layout(node: &AxNode) -> bool {
    role_name(node).starts_with("LayoutTable")
}

/// Fields whose text is their value.
fn is_text_field(role: Role) -> bool {
    matches!(role, Role::TextBox | Role::SearchBox | Role::ComboBox | Role::SpinButton)
}

/// Whether a node is an option that is drawn by the browser. It says that it takes the focus, which in truth
/// its list does; one made of elements has its text below it.
fn is_native_option(node: &AxNode, role: Role) -> bool {
    role == Role::Option && node.child_ids.as_ref().is_none_or(Vec::is_empty)
}

/// Whether the author named the node, rather than what is in it. The first source that counts decides.
fn is_given(name: &AxName) -> bool {
    let mut sources = name.sources.iter().flatten();
    sources
        .find(|source| source.value.is_some() && source.superseded != Some(true))
        .is_some_and(|source| source.r#type.as_deref() != Some("contents"))
        && name.value.as_deref().is_some_and(|name| !is_blank(name))
}

/// The properties of a node that have a plain value.
fn properties(node: &AxNode) -> impl Iterator<Item = (&str, &RawValue)> {
    node.properties.iter().flatten().filter_map(|property| {
        Some((property.name.as_deref()?, property.value.as_ref()?.value.as_deref()?))
    })
}

/// What a node is called, on one line.
fn name(node: &AxNode) -> Cow<'_, str> {
    collapse(node.name.as_ref().and_then(|name| name.value.as_deref()).unwrap_or_default())
}

fn text(text: &AxText) -> Cow<'_, str> {
    collapse(text.value.as_deref().unwrap_or_default())
}

/// Whether a text is nothing but marks in place of letters.
fn is_marks(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| MARKS.contains(&c))
}

/// `busy` comes as a number.
fn is_true(value: &RawValue) -> bool {
    matches!(value.get(), "true" | "1" | "\"true\"")
}

fn toggle(value: &RawValue) -> Option<Tristate> {
    match &*plain(value) {
        "true" => Some(Tristate::On),
        "false" => Some(Tristate::Off),
        "mixed" => Some(Tristate::Mixed),
        _ => None,
    }
}

/// A value as one would write it.
fn plain(value: &RawValue) -> Cow<'_, str> {
    let json = value.get();
    if json.starts_with('"') {
        return serde_json::from_str(json)
            .map_or_else(|_| "".into(), |text: LossyString| text.into_string().into());
    }
    if !json.contains('.') {
        return json.into();
    }
    // A number that went through the browser's single precision: `0.30000001192092896` was `0.3`.
    match json.parse::<f64>() {
        Ok(number) if f64::from(number as f32) == number => (number as f32).to_string().into(),
        _ => json.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(nodes: &[AxNode]) -> Tree {
        let mut tree = Tree::default();
        let mut reading = begin(nodes, TreePosition { depth: 0, frame: 0 });
        while reading.next(&mut tree).is_some() {}
        tree.finish();
        tree
    }

    fn nodes(nodes: &Value) -> Vec<AxNode> {
        serde_json::from_str(&nodes.to_string()).unwrap()
    }

    /// A node as the browser sends it: number and children, role, name, and the rest by keys. What the
    /// protocol calls value, description, ignored and name sources stands among the properties here.
    fn node(id: u32, children: &[u32], role: &str, name: &str, rest: &Value) -> Value {
        let children: Vec<_> = children.iter().map(ToString::to_string).collect();
        let mut node = json!({
            "nodeId": id.to_string(), "ignored": false, "childIds": children, "backendDOMNodeId": id,
            "role": { "type": "internalRole", "value": role },
            "name": { "type": "computedString", "value": name },
            "properties": [{ "name": "labelledby", "value": { "type": "nodeList", "relatedNodes": [] } }],
        });
        for (key, value) in rest.as_object().into_iter().flatten() {
            match key.as_str() {
                "ignored" => node["ignored"] = value.clone(),
                "value" | "description" => node[key] = json!({ "type": "string", "value": value }),
                "sources" => node["name"]["sources"] = value.clone(),
                _ => node["properties"]
                    .as_array_mut()
                    .unwrap()
                    .push(json!({ "name": key, "value": { "type": "token", "value": value } })),
            }
        }
        node
    }

    fn none() -> Value {
        json!({})
    }

    /// Each node on a line: role, number, name and value, indented by depth.
    fn outline(tree: &Tree) -> String {
        let mut out = String::new();
        for node in &tree.nodes {
            out.push_str(&" ".repeat(node.depth as usize));
            out.push_str(&format!("{} {}", node.role.name(), node.element));
            for text in [tree.name(node), tree.value(node)].iter().filter(|text| !text.is_empty()) {
                out.push_str(&format!(" {text:?}"));
            }
            out.push('\n');
        }
        out
    }

    fn check(sent: &[Value], expected: &[&str]) {
        let tree = read(&nodes(&json!(sent)));
        assert_eq!(outline(&tree).lines().collect::<Vec<_>>(), expected);
    }

    /// The second node of a tree of two.
    fn one(role: &str, name: &str, rest: &Value) -> Tree {
        let sent = [node(1, &[2], "RootWebArea", "T", &none()), node(2, &[], role, name, rest)];
        read(&nodes(&json!(sent)))
    }

    #[test]
    fn a_tree_as_the_browser_sends_it_is_read() {
        // As sent by Chromium 156, breadth first.
        let sent = r#"[
            {"nodeId":"1","ignored":false,"role":{"type":"internalRole","value":"RootWebArea"},
             "chromeRole":{"type":"internalRole","value":144},
             "name":{"type":"computedString","value":"Two","sources":[
                {"type":"relatedElement","attribute":"aria-labelledby"},
                {"type":"relatedElement","value":{"type":"computedString","value":"Two"},"nativeSource":"title"}]},
             "properties":[{"name":"focusable","value":{"type":"booleanOrUndefined","value":true}},
                {"name":"focused","value":{"type":"booleanOrUndefined","value":true}},
                {"name":"url","value":{"type":"string","value":"about:blank"}}],
             "childIds":["15"],"backendDOMNodeId":1,"frameId":"F"},
            {"nodeId":"15","ignored":true,"ignoredReasons":[{"name":"uninteresting","value":{"type":"boolean","value":true}}],
             "role":{"type":"role","value":"none"},"chromeRole":{"type":"internalRole","value":0},
             "parentId":"1","childIds":["32","36"],"backendDOMNodeId":15},
            {"nodeId":"32","ignored":false,"role":{"type":"role","value":"button"},
             "name":{"type":"computedString","value":"Save now","sources":[
                {"type":"attribute","attribute":"aria-label"},
                {"type":"contents","value":{"type":"computedString","value":"Save now"}},
                {"type":"attribute","attribute":"title","superseded":true}]},
             "properties":[{"name":"invalid","value":{"type":"token","value":"false"}},
                {"name":"focusable","value":{"type":"booleanOrUndefined","value":true}}],
             "parentId":"15","childIds":["150"],"backendDOMNodeId":32},
            {"nodeId":"36","ignored":false,"role":{"type":"role","value":"link"},
             "name":{"type":"computedString","value":"go"},
             "properties":[{"name":"url","value":{"type":"string","value":"https://a.test/x?q=1"}}],
             "parentId":"15","childIds":[],"backendDOMNodeId":36},
            {"nodeId":"150","ignored":false,"role":{"type":"internalRole","value":"StaticText"},
             "name":{"type":"computedString","value":"Save now"},"properties":[],
             "parentId":"32","childIds":["-100"],"backendDOMNodeId":150},
            {"nodeId":"-100","ignored":false,"role":{"type":"internalRole","value":"InlineTextBox"},
             "name":{"type":"computedString","value":"Save now"},"properties":[],"parentId":"150","childIds":[]}
        ]"#;
        let tree = read(&serde_json::from_str::<Vec<AxNode>>(sent).unwrap());
        let expected =
            "webarea 1 \"Two\"\n button 32 \"Save now\"\n  text 0 \"Save now\"\n link 36 \"go\"\n";
        assert_eq!(outline(&tree), expected);
        assert_eq!(tree.children(0).collect::<Vec<_>>(), [1, 3]);
        assert!(tree.nodes[0].states.is_focusable() && !tree.nodes[0].states.is_focused());
        assert!(tree.nodes[1].states.is_focusable() && tree.extra(&tree.nodes[1]).is_none());
        assert_eq!(tree.str(tree.extra(&tree.nodes[3]).unwrap().url), "https://a.test/x?q=1");
    }

    #[test]
    fn wrappers_give_way_to_what_is_in_them() {
        check(
            &[
                node(1, &[2, 9], "RootWebArea", "T", &none()),
                node(2, &[3, 4, 77], "none", "", &json!({ "ignored": true })),
                node(3, &[5], "none", "", &none()),
                node(9, &[], "StaticText", "last", &none()),
                node(4, &[10, 11, 12], "listitem", "", &none()),
                node(5, &[6], "combobox", "c", &json!({ "value": "a" })),
                node(6, &[7], "MenuListPopup", "", &none()),
                node(7, &[], "option", "a", &none()),
                node(10, &[13], "ListMarker", "• ", &none()),
                node(11, &[], "StaticText", " one\n\ttwo\u{a0}", &none()),
                node(12, &[14], "LineBreak", "\n", &none()),
                node(13, &[], "StaticText", "•", &none()),
                node(14, &[], "InlineTextBox", "\n", &none()),
            ],
            &[
                "webarea 1 \"T\"",
                " combobox 5 \"c\" \"a\"",
                "  option 7 \"a\"",
                " listitem 4",
                "  text 0 \"one two\"",
                " text 0 \"last\"",
            ],
        );
        // White space alone is no text, and a root that is left out is still the root.
        check(
            &[
                node(1, &[2], "none", "", &json!({ "ignored": true })),
                node(2, &[], "StaticText", " \n", &none()),
            ],
            &["webarea 1"],
        );
        check(&[], &[]);
        let mark = json!({
            "nodeId": "3", "role": { "value": "StaticText" }, "name": { "value": "• " }, "childIds": [],
        });
        check(
            &[
                node(1, &[2], "RootWebArea", "", &none()),
                node(2, &[3, 4], "tab", "one", &none()),
                mark,
                node(4, &[], "StaticText", "one", &none()),
            ],
            &["webarea 1", " tab 2 \"one\"", "  text 0 \"one\""],
        );
    }

    #[test]
    fn names_of_roles_are_ours() {
        for (name, expected) in [
            ("generic", Role::Generic),
            ("image", Role::Image),
            ("SvgRoot", Role::Image),
            ("LabelText", Role::Label),
            ("Legend", Role::Legend),
            ("DescriptionList", Role::DescriptionList),
            ("Details", Role::Group),
            ("DisclosureTriangle", Role::DisclosureTriangle),
            ("DisclosureTriangleGrouped", Role::DisclosureTriangle),
            ("Iframe", Role::Iframe),
            ("IframePresentational", Role::Iframe),
            ("Figcaption", Role::FigureCaption),
            ("ColorWell", Role::ColorWell),
            ("Date", Role::Date),
            ("DateTime", Role::DateTime),
            ("InputTime", Role::InputTime),
            ("Canvas", Role::Canvas),
            ("Video", Role::Video),
            ("Audio", Role::Audio),
            ("Abbr", Role::Abbr),
            ("Ruby", Role::Ruby),
            ("RubyAnnotation", Role::RubyAnnotation),
            ("EmbeddedObject", Role::EmbeddedObject),
            ("PluginObject", Role::PluginObject),
            ("LayoutTable", Role::Generic),
            ("LayoutTableCell", Role::Generic),
            ("MathMLMath", Role::Math),
            ("MathMLFraction", Role::Generic),
            ("ListBoxOption", Role::Option),
            ("MenuListOption", Role::Option),
            ("ComboBoxSelect", Role::ComboBox),
            ("ComboBoxMenuButton", Role::ComboBox),
            ("PopUpButton", Role::ComboBox),
            ("TextField", Role::TextBox),
            ("sectionheader", Role::SectionHeader),
            ("doc-toc", Role::DocToc),
            ("graphics-symbol", Role::GraphicsSymbol),
            ("Hologram", Role::Unknown),
        ] {
            assert_eq!(one(name, "", &none()).nodes[1].role, expected, "{name}");
        }
        let svg = one("SvgRoot", "", &none());
        assert_eq!(svg.str(svg.extra(&svg.nodes[1]).unwrap().kind), "svg");
        let cell = one("LayoutTableCell", "from inside", &none());
        assert_eq!(cell.name(&cell.nodes[1]), "");
    }

    #[test]
    fn states_are_taken_from_properties() {
        let rest = json!({
            "focusable": true, "focused": true, "disabled": true, "selected": true, "modal": true,
            "required": true, "readonly": true, "multiline": true, "multiselectable": true, "busy": 1,
            "checked": "mixed", "pressed": "false", "expanded": false, "level": 3,
        });
        let tree = one("treeitem", "x", &rest);
        let node = &tree.nodes[1];
        let states = node.states;
        assert!(states.is_focusable() && states.is_focused() && states.is_disabled());
        assert!(states.is_selected() && states.is_modal() && states.is_required());
        assert!(states.is_readonly() && states.is_multiline() && states.is_multiselectable());
        assert!(
            states.is_busy() && !states.is_editable() && !states.is_masked() && !states.is_silent()
        );
        assert_eq!((node.checked, node.pressed), (Some(Tristate::Mixed), Some(Tristate::Off)));
        assert_eq!((node.expanded, node.level), (Some(false), 3));
        let plain = one("treeitem", "x", &json!({ "focusable": false, "modal": false, "busy": 0 }));
        assert_eq!(plain.nodes[1].states, page::ax::States::default());
        assert_eq!((plain.nodes[1].checked, plain.nodes[1].expanded), (None, None));
    }

    #[test]
    fn what_few_have_is_kept_aside() {
        let rest = json!({
            "hasPopup": "menu", "invalid": "spelling", "roledescription": "big  button",
            "keyshortcuts": "Alt+X", "orientation": "vertical", "autocomplete": "list", "valuemin": 1,
            "valuemax": 2.5, "valuetext": "four\tof ten", "url": "https://a.test/", "description": "more\nof it",
        });
        let tree = one("link", "x", &rest);
        let extra = tree.extra(&tree.nodes[1]).unwrap();
        for (span, expected) in [
            (extra.popup, "menu"),
            (extra.invalid, "spelling"),
            (extra.role_description, "big button"),
            (extra.shortcuts, "Alt+X"),
            (extra.orientation, "vertical"),
            (extra.autocomplete, "list"),
            (extra.min, "1"),
            (extra.max, "2.5"),
            (extra.value_text, "four of ten"),
            (extra.url, "https://a.test/"),
            (extra.description, "more of it"),
        ] {
            assert_eq!(tree.str(span), expected);
        }
        let nothing = json!({
            "hasPopup": "false", "invalid": "false", "autocomplete": "none", "valuemin": 0, "valuemax": 0,
            "valuetext": "5", "value": 5, "url": "data:image/png;base64,AAAA",
        });
        let tree = one("image", "x", &nothing);
        assert!(tree.extra(&tree.nodes[1]).is_none());
        assert_eq!(tree.value(&tree.nodes[1]), "5");
    }

    #[test]
    fn values_are_written_plainly() {
        for (value, expected) in [
            (json!("  v  1\n"), "v 1"),
            (json!(""), ""),
            (json!(3), "3"),
            (json!(-16_777_217), "-16777217"),
            (json!(0.300_000_011_920_928_96), "0.3"),
            (json!(1.299_999_952_316_284_2), "1.3"),
            (json!(0.3), "0.3"),
            (json!("4 of 10"), "4 of 10"),
        ] {
            let tree = one("slider", "x", &json!({ "value": value }));
            assert_eq!(tree.value(&tree.nodes[1]), expected, "{value}");
        }
    }

    #[test]
    fn secrets_have_no_length() {
        let secret =
            one("textbox", "Password", &json!({ "value": "•••", "editable": "plaintext" }));
        assert_eq!(secret.value(&secret.nodes[1]), MASK);
        assert!(secret.nodes[1].states.is_masked());
        // Styles make this one a password's; only its part is masked.
        let styled = [
            node(1, &[2], "RootWebArea", "", &none()),
            node(2, &[3], "textbox", "", &json!({ "value": "hunter2", "editable": "plaintext" })),
            node(3, &[4], "generic", "", &json!({ "editable": "plaintext" })),
            node(4, &[], "StaticText", "■■■■■■■", &json!({ "editable": "plaintext" })),
        ];
        check(&styled, &["webarea 1", " textbox 2 \"••••••\""]);
        let rich = [
            node(1, &[2, 4], "RootWebArea", "", &none()),
            node(2, &[3], "textbox", "", &json!({ "value": "•••", "editable": "richtext" })),
            node(3, &[], "StaticText", "•••", &json!({ "editable": "richtext" })),
            node(4, &[], "StaticText", "•", &none()),
        ];
        let expected =
            ["webarea 1", " textbox 2 \"••••••\"", "  text 0 \"••••••\"", " text 0 \"•\""];
        check(&rich, &expected);
    }

    #[test]
    fn the_parts_of_a_field_are_not_told() {
        check(
            &[
                node(1, &[2, 5], "RootWebArea", "", &none()),
                node(
                    2,
                    &[3, 7],
                    "searchbox",
                    "s",
                    &json!({ "value": "q", "editable": "plaintext" }),
                ),
                node(3, &[4], "none", "", &json!({ "ignored": true })),
                node(4, &[6], "generic", "", &json!({ "editable": "plaintext" })),
                node(6, &[], "StaticText", "q", &json!({ "editable": "plaintext" })),
                node(7, &[8], "button", "clear", &none()),
                node(8, &[], "StaticText", "clear", &none()),
                node(5, &[], "StaticText", "after", &none()),
            ],
            &[
                "webarea 1",
                " searchbox 2 \"s\" \"q\"",
                "  button 7 \"clear\"",
                "   text 0 \"clear\"",
                " text 0 \"after\"",
            ],
        );
    }

    #[test]
    fn only_the_element_that_begins_it_is_editable() {
        let sent = [
            node(1, &[2, 7], "RootWebArea", "", &none()),
            node(2, &[3, 5], "generic", "rich", &json!({ "editable": "richtext", "value": "a b" })),
            node(3, &[4], "none", "", &json!({ "ignored": true })),
            node(4, &[], "paragraph", "", &json!({ "editable": "richtext" })),
            node(5, &[6], "generic", "", &none()),
            node(6, &[], "textbox", "", &json!({ "editable": "richtext", "value": "b" })),
            node(7, &[], "textbox", "", &json!({ "editable": "plaintext", "value": "c" })),
        ];
        let tree = read(&nodes(&json!(sent)));
        let editable: Vec<_> = tree
            .nodes
            .iter()
            .filter(|node| node.states.is_editable())
            .map(|node| (node.element, tree.value(node)))
            .collect();
        assert_eq!(editable, [(2, ""), (6, "b")]);
    }

    #[test]
    fn the_source_of_a_name_tells_whether_it_was_given() {
        let named = |sources: Value| {
            one("row", "r", &json!({ "sources": sources })).nodes[1].states.has_author_name()
        };
        let value = json!({ "type": "computedString", "value": "r" });
        assert!(named(json!([
            { "type": "relatedElement" },
            { "type": "attribute", "value": value },
            { "type": "contents", "value": value, "superseded": true },
        ])));
        assert!(!named(json!([{ "type": "attribute" }, { "type": "contents", "value": value }])));
        assert!(!named(json!([])));
    }

    #[test]
    fn options_that_the_browser_draws_do_not_take_the_focus() {
        let sent = [
            node(1, &[2, 3], "RootWebArea", "", &none()),
            node(2, &[], "option", "native", &json!({ "focusable": true })),
            node(3, &[4], "option", "made", &json!({ "focusable": true })),
            node(4, &[], "StaticText", "made", &none()),
        ];
        let tree = read(&nodes(&json!(sent)));
        let focusable: Vec<_> = tree.nodes.iter().map(|node| node.states.is_focusable()).collect();
        assert_eq!(focusable, [false, false, true, false]);
    }

    #[test]
    fn deep_and_odd_trees_are_read() {
        let deep: Vec<_> =
            (0..12_000).map(|id| node(id, &[id + 1], "generic", "", &none())).collect();
        let tree = read(&nodes(&json!(deep)));
        assert_eq!((tree.nodes.len(), tree.nodes[11_999].depth), (12_000, 11_999));
        // A child that is its own ancestor, one with two parents, and nodes without anything.
        check(
            &[
                node(1, &[2, 3, 3], "RootWebArea", "", &none()),
                node(2, &[1, 3], "group", "", &none()),
                node(3, &[2], "button", "", &none()),
            ],
            &["webarea 1", " group 2", "  button 3"],
        );
        assert_eq!(read(&nodes(&json!([{}, {}]))).nodes.len(), 1);
    }
}
