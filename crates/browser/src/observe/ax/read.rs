//! Converts the browser's accessibility nodes of a document into our tree.
//!
//! They include what only the browser knows (closed shadow roots, parts of native controls) and lack the observer's
//! findings: what is visually hidden, which elements have click listeners. Secret fields other than passwords are
//! fetched from the isolated world.

use crate::observe::oracle::NodeFacts;
use cdp::LossyString;
use cdp::protocol::accessibility::{AxName, AxNode, AxText};
use page::ax::{Role, Tree, Tristate};
use page::mask::MASK;
use page::text::{collapse, is_blank};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;

/// Mask characters of password fields: disc, circle, square.
const MASK_CHARS: [char; 3] = ['•', '◦', '■'];

/// Masks the values of secret fields, also inside names and texts.
pub(super) fn mask_secrets(nodes: &mut [AxNode], secrets: &[LossyString]) {
    /// Shorter values would match everywhere.
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
            // As the browser reports the value of a password.
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

/// The position of a document in the page's tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreePosition {
    /// Depth of its root.
    pub(super) depth: u32,
    /// Frame index.
    pub(super) frame: u16,
}

/// A node that is still to be read, and its context.
#[derive(Clone, Copy)]
struct PendingNode {
    node: usize,
    at: TreePosition,
    /// Inside editable content.
    is_edited: bool,
    /// The plain text field that contains it, by index in our tree.
    field: Option<usize>,
}

/// Reads the nodes of one document.
pub(super) struct AxReader<'a> {
    nodes: &'a [AxNode],
    /// Node indexes by AX node id.
    indexes: HashMap<&'a str, usize>,
    is_read: Vec<bool>,
    open: Vec<PendingNode>,
}

/// Starts reading a document. The first node is the root; the others come in no reliable order.
pub(super) fn begin(nodes: &[AxNode], at: TreePosition) -> AxReader<'_> {
    let indexes = nodes
        .iter()
        .enumerate()
        .filter_map(|(index, node)| Some((node.node_id.as_deref()?, index)))
        .collect();
    let root = PendingNode { node: 0, at, is_edited: false, field: None };
    let open = if nodes.is_empty() { Vec::new() } else { vec![root] };
    AxReader { nodes, indexes, is_read: vec![false; nodes.len()], open }
}

impl AxReader<'_> {
    /// Reads on until an element is added: returns its backend node id and the depth of its children. Until the next
    /// call, it is the last node of the tree.
    pub(super) fn next(&mut self, tree: &mut Tree) -> Option<(i64, u32)> {
        // Iterative: a page can be deeper than the stack.
        while let Some(visit) = self.open.pop() {
            if std::mem::replace(&mut self.is_read[visit.node], true) {
                continue;
            }
            let node = &self.nodes[visit.node];
            let before = tree.nodes.len();
            let Some(below) = add_node(tree, node, visit) else { continue };
            let children = node.child_ids.as_deref().unwrap_or_default().iter().rev();
            self.open.extend(
                children
                    .filter_map(|id| self.indexes.get(id.as_str()))
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

/// The backend node id of a node that becomes an element of the tree.
pub(super) fn element(node: &AxNode) -> Option<i64> {
    let is_read = matches!(disposition(node), Disposition::Add(role) if role != Role::Text);
    node.backend_dom_node_id.filter(|_| is_read)
}

/// Adds a node, unless it is skipped or unwrapped. Returns the context of its children; `None` if they are skipped.
fn add_node(tree: &mut Tree, node: &AxNode, visit: PendingNode) -> Option<PendingNode> {
    let is_root = visit.node == 0;
    let role = match disposition(node) {
        _ if is_root => Role::WebArea,
        Disposition::Skip => return None,
        Disposition::Unwrap => return Some(visit),
        Disposition::Add(role) => role,
    };
    match (visit.field, role) {
        // The inner nodes of a text field repeat its value. For a field masked only by CSS, the browser reports the
        // value in clear and masks the inner text.
        (Some(field), Role::Text) => {
            if is_masked_text(&name(node)) {
                mask(tree, field);
            }
            return None;
        }
        (Some(_), Role::Generic) => return Some(visit),
        _ => {}
    }
    if role == Role::Text {
        add_text(tree, node, visit.at);
        return None;
    }
    let element = node.backend_dom_node_id.and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
    let index = tree.push(role, visit.at.depth, element, visit.at.frame);
    let editable = copy_states(tree, node, index, is_root);
    let is_field = editable == Editable::Plain && is_text_field(role);
    let is_edited = editable != Editable::No;
    let is_host = is_edited && !visit.is_edited && !is_field;
    copy_texts(tree, node, index, is_host, is_root);
    let states = tree.nodes[index].states;
    tree.nodes[index].states = states.with_editable(is_host);
    let field = is_field.then_some(index);
    let at = TreePosition { depth: visit.at.depth + 1, ..visit.at };
    Some(PendingNode { at, is_edited, field, ..visit })
}

/// Adds a text node, unless it is empty.
fn add_text(tree: &mut Tree, node: &AxNode, at: TreePosition) {
    let text = name(node);
    // In a list with another role, list markers come as text without a DOM node.
    let is_mark = node.backend_dom_node_id.is_none() && matches!(&*text, "•" | "◦" | "▪");
    if text.is_empty() || is_mark {
        return;
    }
    // Elsewhere these characters may be regular text.
    let is_secret = is_masked_text(&text) && properties(node).any(|(name, _)| name == "editable");
    let index = tree.push(Role::Text, at.depth, 0, at.frame);
    tree.nodes[index].name = tree.intern_masked(if is_secret { MASK } else { &text });
    tree.nodes[index].states = tree.nodes[index].states.with_masked(is_secret);
}

/// Editability of a node's content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Editable {
    No,
    Plain,
    Rich,
}

/// Copies the states of a node: everything that is not a text.
fn copy_states(tree: &mut Tree, node: &AxNode, index: usize, is_root: bool) -> Editable {
    let target = &mut tree.nodes[index];
    let mut editable = Editable::No;
    let mut states = target.states;
    for (name, value) in properties(node) {
        states = match name {
            "disabled" => states.with_disabled(is_true(value)),
            "selected" => states.with_selected(is_true(value)),
            "focusable" => {
                states.with_focusable(is_true(value) && !is_native_option(node, target.role))
            }
            // The root is reported as focused unless an element in it is.
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
            "checked" => target.checked = tristate(value),
            "pressed" => target.pressed = tristate(value),
            "expanded" => target.expanded = Some(is_true(value)),
            "level" => target.level = value.get().parse().unwrap_or(0),
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
    target.states = states;
    editable
}

/// Copies the texts of a node: name, value and rare attributes.
fn copy_texts(tree: &mut Tree, node: &AxNode, index: usize, is_host: bool, is_root: bool) {
    let role = tree.nodes[index].role;
    // A layout table cell is named by its content, which is in the tree anyway.
    if !is_layout(node) {
        tree.nodes[index].name = tree.intern_masked(&name(node));
        let is_given = node.name.as_ref().is_some_and(is_given) && !is_root;
        tree.nodes[index].states = tree.nodes[index].states.with_author_name(is_given);
    }
    let value = node.value.as_ref().and_then(|value| value.value.as_deref()).map(plain);
    let value = value.as_deref().map(collapse).unwrap_or_default();
    if is_masked_text(&value) {
        mask(tree, index);
    } else if !(is_host && role == Role::Generic) {
        // The value of a generic editing host is in the tree as its content.
        tree.nodes[index].value = tree.intern_masked(&value);
    }
    let description = node.description.as_ref().map(text).unwrap_or_default();
    if !description.is_empty() {
        tree.extra_mut(index).description = tree.intern_masked(&description);
    }
    if role_name(node) == "SvgRoot" {
        tree.extra_mut(index).kind = tree.intern_masked("svg");
    }
    // A range without limits is reported as 0 to 0.
    let end =
        |wanted| properties(node).find(|(name, _)| *name == wanted).map(|(_, value)| value.get());
    let has_no_limits = end("valuemin") == Some("0") && end("valuemax") == Some("0");
    for (name, value) in properties(node) {
        let is_wanted = match name {
            "hasPopup" | "invalid" | "roledescription" | "keyshortcuts" | "orientation"
            | "autocomplete" | "valuetext" => true,
            "valuemin" | "valuemax" => !has_no_limits,
            // Images have URLs too, and some are `data:` URLs of the whole image.
            "url" => role == Role::Link,
            _ => false,
        };
        if !is_wanted {
            continue;
        }
        let plain = plain(value);
        let text = collapse(&plain);
        let is_significant = match name {
            "hasPopup" | "invalid" => text != "false",
            "autocomplete" => text != "none",
            "valuetext" => text != tree.value(&tree.nodes[index]),
            _ => true,
        };
        if text.is_empty() || !is_significant {
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

/// Masks the value of a node.
fn mask(tree: &mut Tree, index: usize) {
    tree.nodes[index].value = tree.intern_masked(MASK);
    tree.nodes[index].states = tree.nodes[index].states.with_masked(true);
}

/// The treatment of an accessibility node.
enum Disposition {
    /// Skipped with its descendants.
    Skip,
    /// Replaced by its children.
    Unwrap,
    /// Added with this role.
    Add(Role),
}

fn disposition(node: &AxNode) -> Disposition {
    if node.ignored == Some(true) {
        return Disposition::Unwrap;
    }
    match role_name(node) {
        // Repetitions of each text line; a marker that the list implies; a line break.
        "InlineTextBox" | "ListMarker" | "LineBreak" => Disposition::Skip,
        // The options of a closed select are its direct children, as in the observer's tree.
        "none" | "presentation" | "MenuListPopup" => Disposition::Unwrap,
        name => Disposition::Add(role(name)),
    }
}

/// Facts of the browser's tree about an element, by backend node id; `None` when it is not in the tree.
pub(crate) fn node_facts(node: &AxNode) -> Option<(i64, NodeFacts)> {
    let Disposition::Add(role) = disposition(node) else { return None };
    if role == Role::Text {
        return None;
    }
    let is_focusable = properties(node).any(|(name, value)| name == "focusable" && is_true(value));
    let facts = NodeFacts {
        role: role.name().to_owned(),
        name: name(node).into_owned(),
        is_focusable,
        is_layout: is_layout(node),
        passed_over: superseded_names(node),
    };
    Some((node.backend_dom_node_id?, facts))
}

/// Superseded name sources.
fn superseded_names(node: &AxNode) -> Vec<String> {
    let sources = node.name.iter().flat_map(|name| name.sources.iter().flatten());
    let passed = sources.filter(|source| source.superseded == Some(true));
    let values = passed.filter_map(|source| source.value.as_ref()?.value.as_ref());
    values.filter_map(|value| serde_json::from_str(value.get()).ok()).collect()
}

/// The role for an internal role name of Chromium: that of an ARIA role where there is one, else one of its own.
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

/// True for parts of a layout table.
fn is_layout(node: &AxNode) -> bool {
    role_name(node).starts_with("LayoutTable")
}

/// Roles whose text is their value.
fn is_text_field(role: Role) -> bool {
    matches!(role, Role::TextBox | Role::SearchBox | Role::ComboBox | Role::SpinButton)
}

/// True for an option that the browser draws. It is reported as focusable, although its list has the focus; an option
/// of elements has its text below it.
fn is_native_option(node: &AxNode, role: Role) -> bool {
    role == Role::Option && node.child_ids.as_ref().is_none_or(Vec::is_empty)
}

/// True if the author gave the name, rather than the content. The first source with a value decides.
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

/// The accessible name, on one line.
fn name(node: &AxNode) -> Cow<'_, str> {
    collapse(node.name.as_ref().and_then(|name| name.value.as_deref()).unwrap_or_default())
}

fn text(text: &AxText) -> Cow<'_, str> {
    collapse(text.value.as_deref().unwrap_or_default())
}

/// True if a text consists of mask characters.
fn is_masked_text(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| MASK_CHARS.contains(&c))
}

/// `busy` comes as a number.
fn is_true(value: &RawValue) -> bool {
    matches!(value.get(), "true" | "1" | "\"true\"")
}

fn tristate(value: &RawValue) -> Option<Tristate> {
    match &*plain(value) {
        "true" => Some(Tristate::On),
        "false" => Some(Tristate::Off),
        "mixed" => Some(Tristate::Mixed),
        _ => None,
    }
}

/// A JSON value as plain text.
fn plain(value: &RawValue) -> Cow<'_, str> {
    let json = value.get();
    if json.starts_with('"') {
        return serde_json::from_str(json)
            .map_or_else(|_| "".into(), |text: LossyString| text.into_string().into());
    }
    if !json.contains('.') {
        return json.into();
    }
    // Undo single precision: `0.30000001192092896` was `0.3`.
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
        let mut reader = begin(nodes, TreePosition { depth: 0, frame: 0 });
        while reader.next(&mut tree).is_some() {}
        tree.finish();
        tree
    }

    fn nodes(nodes: &Value) -> Vec<AxNode> {
        serde_json::from_str(&nodes.to_string()).unwrap()
    }

    /// A node as the browser sends it: id and children, role, name, and the rest by keys. Value, description, ignored
    /// and name sources are given among the properties here.
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

    /// One line per node: role, number, name and value, indented by depth.
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

    /// A tree whose second node is the given one.
    fn one(role: &str, name: &str, rest: &Value) -> Tree {
        let sent = [node(1, &[2], "RootWebArea", "T", &none()), node(2, &[], role, name, rest)];
        read(&nodes(&json!(sent)))
    }

    #[test]
    fn full_ax_tree_is_converted() {
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
    fn ignored_nodes_are_replaced_by_their_children() {
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
        // White space alone is no text, and an ignored root is still the root.
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
    fn chromium_role_names_are_mapped() {
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
    fn states_are_read_from_properties() {
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
    fn rare_attributes_are_read() {
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
    fn values_are_plain_text() {
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
    fn masked_values_hide_their_length() {
        let secret =
            one("textbox", "Password", &json!({ "value": "•••", "editable": "plaintext" }));
        assert_eq!(secret.value(&secret.nodes[1]), MASK);
        assert!(secret.nodes[1].states.is_masked());
        // Masked by CSS only: the value is in clear, the inner text masked.
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
    fn inner_nodes_of_a_text_field_are_skipped() {
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
    fn only_the_editing_host_is_editable() {
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
    fn name_source_decides_if_the_author_named_it() {
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
    fn native_options_are_not_focusable() {
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
    fn deep_and_malformed_trees_are_read() {
        let deep: Vec<_> =
            (0..12_000).map(|id| node(id, &[id + 1], "generic", "", &none())).collect();
        let tree = read(&nodes(&json!(deep)));
        assert_eq!((tree.nodes.len(), tree.nodes[11_999].depth), (12_000, 11_999));
        // A child that is its own ancestor, one with two parents, and empty nodes.
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
