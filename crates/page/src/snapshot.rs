//! Snapshots as JSON: the phase-7 `WebAiSnapshot` with additional fields.

use crate::ax::{Bounds, Frame, RefPolicy, Tree};
use crate::hash::{DOM_HASH_MAX_CHARS, dom_hash, field_hash, signature_hash};
use crate::render::{RenderOptions, render_with_refs};
use crate::text::{self, MAX_NAME, MAX_VALUE};
use crate::tokens;
use crate::view::{Omitted, SequentialRefs, View, ViewLine, ViewOptions, view};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

/// Note on a page without content.
pub fn empty_page_note(tree: &Tree) -> String {
    let kind = tree.frames.first().map_or("", |page| &page.kind);
    // These have a DOM like other pages.
    if kind.is_empty() || kind.starts_with("text/") || kind.ends_with("xml") {
        return "the page has no accessible content".into();
    }
    format!("the page has no accessible content: it is {kind}, which `screenshot` can show")
}

/// Version of the format.
pub const FORMAT: u32 = 1;

/// A snapshot of a page: its text, refs and hashes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebAiSnapshot {
    /// Unique id of the snapshot.
    pub snapshot_id: String,
    /// Vendor of the page.
    pub provider: Option<String>,
    /// URL of the page, with secrets masked.
    pub url: Option<String>,
    /// Hash of the document structure.
    pub dom_hash: Option<String>,
    /// Hash of `text`, with refs numbered from 1; for a delta, of the full text.
    pub ax_hash: String,
    /// The page as text.
    pub text: String,
    /// The refs in the text, in order.
    #[serde(with = "as_map")]
    #[schemars(with = "BTreeMap<String, ElementRef>")]
    pub refs: Vec<ElementRef>,
    /// Size of the snapshot.
    pub stats: Stats,
    /// Nodes below the depth limit, not in the text.
    #[serde(default)]
    pub cut: Omitted,
    /// Nodes folded to keep to the token budget.
    #[serde(default)]
    pub folded: Omitted,
    /// There were so many refs that items of lists and grids have none.
    #[serde(default)]
    pub compacted: bool,
    /// Number of lines that match the search text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<u32>,
    /// Number of texts left out because they are invisible; of those marked, when they are included.
    #[serde(default)]
    pub unseen: u32,
    /// The documents; the first is the page itself.
    #[serde(default)]
    pub frames: Vec<Frame>,
    /// Notes on the snapshot.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Each line with the origin of its frame, when requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<SnapshotNode>,
    /// Version of the format.
    #[serde(default)]
    pub format: u32,
}

/// The target of a ref.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ElementRef {
    /// The ref.
    #[serde(rename = "ref")]
    pub ref_name: String,
    /// ARIA role.
    pub role: String,
    /// Accessible name.
    pub name: String,
    /// CSS selector, if one is known.
    pub selector: Option<String>,
    /// The frames that contain it, outermost first, by name or else origin; empty for the page itself.
    pub frame_path: Vec<String>,
    /// Always empty: shadow trees are flattened into their host's position, and refs reach into them.
    pub shadow_path: Vec<String>,
    /// Signature: hash of role, name and position.
    pub signature_hash: String,
    /// Index into the snapshot's frames.
    #[serde(default)]
    pub frame: u16,
    /// Its name comes from invisible text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub name_hidden: bool,
    /// It is focused. Not part of the text, whose hash would change with each click.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub focused: bool,
    /// Its value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Its link address.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// The durable ref of the same element, in a snapshot whose own refs are bound to its hashes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_ref: Option<String>,
    /// Bounding box.
    #[serde(rename = "box", default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
}

/// Size of a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Number of nodes in the text.
    pub node_count: u32,
    /// Number of nodes with a ref.
    pub interactive_count: u32,
    /// Prescribed token estimate: a quarter of the text's length.
    pub token_estimate: u32,
    /// Closer token estimate.
    #[serde(default)]
    pub tokens_calibrated: u32,
    /// Number of elements on the page, shown or not.
    #[serde(default)]
    pub element_count: u32,
}

/// A line of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotNode {
    /// ARIA role.
    pub role: String,
    /// Accessible name; the text itself for text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its only child, a text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Its ref.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub ref_name: Option<String>,
    /// Depth in the tree.
    pub depth: u32,
    /// Origin of its document.
    pub origin: String,
    /// Reason why it is not visible.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hidden: String,
}

/// Options of a snapshot besides tree and view.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuildOptions<'a> {
    /// Unique id of the snapshot.
    pub snapshot_id: &'a str,
    /// Vendor of the page.
    pub provider: Option<&'a str>,
    /// HTML source of the document, for its hash.
    pub html: Option<&'a str>,
    /// Render options.
    pub print: RenderOptions,
    /// Include every line with the origin of its frame.
    pub nodes: bool,
}

/// Builds a snapshot of a view.
pub fn build(tree: &Tree, view: &View, options: &BuildOptions<'_>) -> WebAiSnapshot {
    let rendered = render_with_refs(tree, view, &options.print);
    let ax_hash = rendered.ax_hash();
    let text = rendered.text;
    let mut notes = view.notes();
    let silent = tree.nodes.iter().filter(|node| node.states.is_silent()).count();
    if silent > 0 {
        notes.push(format!("{silent} parts of the page did not answer"));
    }
    if view.is_empty_page() {
        notes.push(empty_page_note(tree));
    }
    let refs = refs(tree, view, &options.print);
    WebAiSnapshot {
        snapshot_id: options.snapshot_id.to_owned(),
        provider: options.provider.map(str::to_owned),
        url: tree
            .frames
            .first()
            .map(|page| redacted(page.url.clone(), &options.print))
            .filter(|url| !url.is_empty()),
        dom_hash: options.html.map(|html| dom_hash(html, DOM_HASH_MAX_CHARS)),
        ax_hash,
        stats: Stats {
            node_count: view.node_count().max(1),
            interactive_count: refs.len() as u32,
            token_estimate: tokens::estimate(&text),
            tokens_calibrated: tokens::calibrated(&text),
            element_count: view.elements,
        },
        refs,
        text,
        cut: view.cut,
        folded: view.folded,
        compacted: view.compacted,
        matches: view.matches,
        unseen: tree.unseen(),
        frames: frames(tree, &options.print),
        notes,
        nodes: if options.nodes {
            nodes(tree, view.lines.iter(), &options.print)
        } else {
            Vec::new()
        },
        format: FORMAT,
    }
}

/// Extracts the refs of a complete tree, numbered from 1 by the phase-7 policy.
pub fn extract_interactive_refs(tree: &Tree) -> Vec<ElementRef> {
    let options = ViewOptions {
        policy: RefPolicy::WebAi,
        interactive: false,
        compact: false,
        max_depth: u32::MAX,
        ..ViewOptions::default()
    };
    let mut numbers = SequentialRefs::default();
    let view = view(tree, &options, &mut |frame, element| numbers.number(frame, element));
    refs(tree, &view, &options.print)
}

/// Summary of a snapshot for reports: hashes and counts, no page text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorSnapshot {
    /// A snapshot was taken.
    pub enabled: bool,
    /// The summary contains no page text.
    pub content_safe: bool,
    /// Id of the snapshot.
    pub snapshot_id: Option<String>,
    /// Hash of the text.
    pub ax_hash: Option<String>,
    /// Hash of the document structure.
    pub dom_hash: Option<String>,
    /// Number of refs.
    pub interactive_count: u32,
    /// Token estimate: a quarter of the text's length.
    pub token_estimate: u32,
    /// The first refs.
    pub top_refs: Vec<DoctorRef>,
}

/// Summary of a ref for reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorRef {
    /// The ref.
    #[serde(rename = "ref")]
    pub ref_name: String,
    /// ARIA role.
    pub role: String,
    /// Hash of the accessible name.
    pub name_hash: Option<String>,
    /// Length of the accessible name, in UTF-16 units.
    pub name_chars: u32,
}

/// Default number of refs in a report.
pub const DOCTOR_REFS: usize = 8;

/// Summarizes a snapshot for reports.
pub fn summarize_for_doctor(snapshot: &WebAiSnapshot, max_refs: usize) -> DoctorSnapshot {
    let top_refs = snapshot.refs.iter().take(max_refs).map(|it| DoctorRef {
        ref_name: it.ref_name.clone(),
        role: it.role.clone(),
        name_hash: (!it.name.is_empty()).then(|| field_hash(&it.name)),
        name_chars: text::utf16_len(&it.name) as u32,
    });
    DoctorSnapshot {
        enabled: true,
        content_safe: true,
        snapshot_id: (!snapshot.snapshot_id.is_empty()).then(|| snapshot.snapshot_id.clone()),
        ax_hash: (!snapshot.ax_hash.is_empty()).then(|| snapshot.ax_hash.clone()),
        dom_hash: snapshot.dom_hash.clone(),
        interactive_count: snapshot.stats.interactive_count,
        token_estimate: snapshot.stats.token_estimate,
        top_refs: top_refs.collect(),
    }
}

/// The refs of a view, each once, by number. Refs of fold markers do not count.
pub fn refs(tree: &Tree, view: &View, print: &RenderOptions) -> Vec<ElementRef> {
    let frame_paths: Vec<_> =
        (0..tree.frames.len()).map(|frame| frame_path(tree, frame, print)).collect();
    let mut numbers = HashSet::new();
    let listed = view.lines.iter().filter(|line| line.folded.is_none());
    let mut lines: Vec<(u32, &ViewLine)> =
        listed.filter_map(|line| Some((line.number?, line))).collect();
    lines.sort_by_key(|(number, _)| *number);
    let once = lines.into_iter().filter(|(number, _)| numbers.insert(*number));
    once.map(|(number, line)| element_ref(tree, view, line, number, &frame_paths, print)).collect()
}

fn element_ref(
    tree: &Tree,
    view: &View,
    line: &ViewLine,
    number: u32,
    frame_paths: &[Vec<String>],
    print: &RenderOptions,
) -> ElementRef {
    let node = &tree.nodes[line.node as usize];
    let extra = tree.extra(node);
    let name = text::cut(tree.name(node), limit(print, MAX_NAME));
    let (depth, path) = view.path(line);
    let url = extra.map_or("", |extra| tree.str(extra.url));
    ElementRef {
        ref_name: format!("@e{number}"),
        role: node.role.name().to_owned(),
        signature_hash: signature_hash(node.role.name(), &name, depth, &path),
        name: redacted(name.into_owned(), print),
        selector: None,
        frame_path: frame_paths.get(node.frame as usize).cloned().unwrap_or_default(),
        focused: node.states.is_focused(),
        shadow_path: Vec::new(),
        live_ref: None,
        frame: node.frame,
        name_hidden: node.states.is_name_hidden(),
        value: redacted(text::cut(tree.value(node), limit(print, MAX_VALUE)).into_owned(), print),
        url: redacted(url.to_owned(), print),
        bounds: extra.and_then(|extra| extra.bounds),
    }
}

/// Serializes lines, each with the origin of its frame.
pub fn nodes<'v>(
    tree: &Tree,
    lines: impl Iterator<Item = &'v ViewLine>,
    print: &RenderOptions,
) -> Vec<SnapshotNode> {
    let listed = lines.filter(|line| line.folded.is_none()).map(|line| {
        let node = &tree.nodes[line.node as usize];
        let name = |index: u32| {
            let name = tree.name(&tree.nodes[index as usize]);
            redacted(text::cut(name, limit(print, MAX_NAME)).into_owned(), print)
        };
        let origin = tree.frames.get(node.frame as usize).map(|frame| frame.origin.clone());
        SnapshotNode {
            role: node.role.name().to_owned(),
            name: name(line.node),
            text: line.text.map(name).unwrap_or_default(),
            ref_name: line.number.map(|number| format!("@e{number}")),
            depth: line.depth,
            origin: origin.unwrap_or_default(),
            hidden: tree.extra(node).map_or("", |extra| tree.str(extra.why_hidden)).to_owned(),
        }
    });
    listed.collect()
}

/// The documents of a tree. Names, titles and addresses are redacted like any other text; origins are not.
fn frames(tree: &Tree, print: &RenderOptions) -> Vec<Frame> {
    let frame = |frame: &Frame| Frame {
        url: redacted(frame.url.clone(), print),
        title: redacted(frame.title.clone(), print),
        name: redacted(frame.name.clone(), print),
        ..frame.clone()
    };
    tree.frames.iter().map(frame).collect()
}

/// The frames on the path to a frame. A cycle of parents has no path.
fn frame_path(tree: &Tree, frame: usize, print: &RenderOptions) -> Vec<String> {
    let mut path = Vec::new();
    let mut at = tree.frames.get(frame);
    while let Some(Frame { name, origin, parent: Some(parent), .. }) = at {
        path.push(match &**name {
            "" => origin.clone(),
            name => redacted(name.to_owned(), print),
        });
        at = tree.frames.get(*parent as usize).filter(|_| path.len() < tree.frames.len());
    }
    path.reverse();
    path
}

fn limit(print: &RenderOptions, limit: usize) -> usize {
    if print.unlimited_names { usize::MAX } else { limit }
}

fn redacted(text: String, print: &RenderOptions) -> String {
    match print.redact && !text.is_empty() {
        true => format!("[redacted:{}]", field_hash(&text)),
        false => text,
    }
}

/// Serializes refs as a map by name, in list order.
mod as_map {
    use super::ElementRef;
    use serde::de::{Deserializer, MapAccess, Visitor};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(
        refs: &[ElementRef],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(refs.iter().map(|it| (&it.ref_name, it)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<ElementRef>, D::Error> {
        struct Refs;

        impl<'de> Visitor<'de> for Refs {
            type Value = Vec<ElementRef>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map of refs")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut refs = Vec::new();
                while let Some((_, it)) = map.next_entry::<serde::de::IgnoredAny, ElementRef>()? {
                    refs.push(it);
                }
                Ok(refs)
            }
        }

        deserializer.deserialize_map(Refs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ax::testing::{golden, tree};

    fn take(tree: &Tree, options: &ViewOptions, build_options: &BuildOptions<'_>) -> WebAiSnapshot {
        let mut numbers = SequentialRefs::default();
        let view = view(tree, options, &mut |frame, element| numbers.number(frame, element));
        build(tree, &view, &BuildOptions { print: options.print, ..*build_options })
    }

    fn golden_snapshot() -> WebAiSnapshot {
        let html = "<body class=\"dark\"><main id=\"m\"><h1>Welcome</h1>\
            <button aria-label=\"Sign In\">Sign In</button></main></body>";
        let options = BuildOptions {
            snapshot_id: "s1",
            provider: Some("chatgpt"),
            html: Some(html),
            ..BuildOptions::default()
        };
        take(&golden(), &ViewOptions::default(), &options)
    }

    #[test]
    fn build_web_ai_snapshot_computes_ax_hash_and_dom_hash() {
        let snapshot = golden_snapshot();
        assert_eq!(snapshot.ax_hash, "sha256:4d3007de19a36b30");
        assert_eq!(snapshot.dom_hash.as_deref(), Some("sha256:5aa20bf9c05ef677"));
        let stats = snapshot.stats;
        assert_eq!((stats.node_count, stats.interactive_count, stats.token_estimate), (7, 4, 66));
        assert_eq!(snapshot.refs[0].signature_hash, "sha256:c1f30ef461fdb506");
        assert_eq!(
            take(&golden(), &ViewOptions::default(), &BuildOptions::default()).dom_hash,
            None
        );
    }

    #[test]
    fn build_web_ai_snapshot_assigns_monotonic_refs_only_to_interactive_elements() {
        let snapshot = golden_snapshot();
        let refs: Vec<_> = snapshot.refs.iter().map(|it| (&*it.ref_name, &*it.role)).collect();
        assert_eq!(
            refs,
            [("@e1", "textbox"), ("@e2", "button"), ("@e3", "link"), ("@e4", "checkbox")]
        );
    }

    #[test]
    fn json_has_the_prescribed_fields_in_order_and_reads_back() {
        let mut page = String::from("webarea 1");
        for button in 0..12 {
            page.push_str(&format!("\n button {} \"b{button}\"", button + 2));
        }
        let options = BuildOptions { snapshot_id: "s", nodes: true, ..BuildOptions::default() };
        let snapshot = take(&tree(&page), &ViewOptions::default(), &options);
        let json = serde_json::to_string(&snapshot).unwrap();
        let positions: Vec<_> = [
            "\"snapshotId\"", "\"provider\":null", "\"url\"", "\"domHash\":null", "\"axHash\"", "\"text\"",
            "\"refs\":{\"@e1\":{\"ref\":\"@e1\",\"role\":\"button\",\"name\":\"b0\",\"selector\":null,\
             \"framePath\":[],\"shadowPath\":[],\"signatureHash\":",
            "\"@e2\":", "\"@e9\":", "\"@e10\":", "\"stats\":{\"nodeCount\":13,\"interactiveCount\":12,",
        ]
        .iter()
        .map(|key| json.find(key).unwrap_or_else(|| panic!("{key} in {json}")))
        .collect();
        assert!(positions.is_sorted(), "{json}");
        assert_eq!(serde_json::from_str::<WebAiSnapshot>(&json).unwrap(), snapshot);
        assert_eq!(snapshot.nodes[1].origin, "https://f0.test");
        let schema = serde_json::to_string(&schemars::schema_for!(WebAiSnapshot)).unwrap();
        assert!(schema.contains("signatureHash"));
    }

    #[test]
    fn build_web_ai_snapshot_supports_a_root() {
        let page = tree("webarea 1\n button 2\n generic 3\n  generic 4\n   button 5 \"in\"");
        let options = ViewOptions { root: Some(2), ..ViewOptions::default() };
        let snapshot = take(&page, &options, &BuildOptions::default());
        assert_eq!(snapshot.text, "- generic:\n  - button \"in\" [ref=@e1]");
    }

    #[test]
    fn extract_interactive_refs_works_on_a_raw_tree() {
        let page = tree(
            "webarea 1\n generic 2\n  button 3 \"a\"\n  generic 4\n   link 5\n    text \"b\"\n    cell 6",
        );
        let refs = extract_interactive_refs(&page);
        let names: Vec<_> = refs.iter().map(|it| (&*it.ref_name, &*it.role, &*it.name)).collect();
        assert_eq!(names, [("@e1", "button", "a"), ("@e2", "link", ""), ("@e3", "cell", "")]);
        assert_eq!(refs[2].signature_hash, signature_hash("cell", "", 4, &[0, 1, 0, 1]));
        let deep: String =
            (0..40).map(|depth| format!("{}button {}\n", " ".repeat(depth), depth + 1)).collect();
        assert_eq!(extract_interactive_refs(&tree(&deep)).len(), 39);
    }

    #[test]
    fn summarize_for_doctor_omits_raw_names_and_includes_name_hash_and_name_chars() {
        let summary = summarize_for_doctor(&golden_snapshot(), DOCTOR_REFS);
        let json = serde_json::to_string(&summary).unwrap();
        assert!(!json.contains("Message") && !json.contains("Attach") && !json.contains("draft"));
        assert!(json.contains(
            "{\"ref\":\"@e1\",\"role\":\"textbox\",\"nameHash\":\"sha256:db3b468279f9\",\"nameChars\":15}"
        ));
        assert!(json.contains("\"nameHash\":null,\"nameChars\":0"));
        assert!(json.starts_with("{\"enabled\":true,\"contentSafe\":true,\"snapshotId\":\"s1\","));
        assert_eq!(summarize_for_doctor(&golden_snapshot(), 2).top_refs.len(), 2);
    }

    #[test]
    fn redaction_covers_refs_and_nodes() {
        let mut options = ViewOptions::default();
        options.print.redact = true;
        let page = tree(
            "webarea 1\n textbox 2 \"secret1\" v=secret2\n link 3 u=https://secret3\n  text \"secret4\"",
        );
        let mut page = page;
        for frame in &mut page.frames {
            frame.url = "https://a.test/secret5".into();
            frame.title = "secret6".into();
        }
        let build_options = BuildOptions { nodes: true, ..BuildOptions::default() };
        let json = serde_json::to_string(&take(&page, &options, &build_options)).unwrap();
        assert!(!json.contains("secret"), "{json}");
    }

    #[test]
    fn refs_in_frames_have_a_frame_path() {
        let page = tree("webarea 1\n iframe 2\n  webarea 1 #1\n   button 2 #1 \"Pay\"");
        let snapshot = take(&page, &ViewOptions::default(), &BuildOptions::default());
        assert_eq!(snapshot.refs[0].frame_path, ["https://f1.test"]);
        assert_eq!((snapshot.refs[0].frame, snapshot.frames.len()), (1, 2));
    }

    #[test]
    fn empty_page_is_a_document() {
        let snapshot = take(&Tree::default(), &ViewOptions::default(), &BuildOptions::default());
        assert_eq!((&*snapshot.text, snapshot.stats.token_estimate), ("- document", 3));
    }
}
