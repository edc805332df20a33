//! A snapshot as JSON: the phase-7 `WebAiSnapshot`, with more fields beside those it prescribes.

use crate::ax::{Bounds, Frame, RefPolicy, Tree};
use crate::hash::{DOM_HASH_MAX_CHARS, dom_hash, field_hash, signature_hash};
use crate::render::{RenderOptions, printed};
use crate::text::{self, MAX_NAME, MAX_VALUE};
use crate::tokens;
use crate::view::{Omitted, SequentialRefs, View, ViewLine, ViewOptions, view};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

/// What is said of a page with nothing on it.
pub fn bare(tree: &Tree) -> String {
    let kind = tree.frames.first().map_or("", |page| &page.kind);
    // These are pages like others.
    if kind.is_empty() || kind.starts_with("text/") || kind.ends_with("xml") {
        return "the page has no accessible content".into();
    }
    format!("the page has no accessible content: it is {kind}, which `screenshot` can show")
}

/// The version of this format.
pub const FORMAT: u32 = 1;

/// A page as one reads it, and what its refs point at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebAiSnapshot {
    /// Tells this snapshot from every other.
    pub snapshot_id: String,
    /// The vendor whose page it is.
    pub provider: Option<String>,
    /// The address of the page, secrets in it masked.
    pub url: Option<String>,
    /// The hash of what the page is built of.
    pub dom_hash: Option<String>,
    /// The hash of `text`, with refs numbered from 1; of a delta, that of the text it stands for.
    pub ax_hash: String,
    /// The page as text.
    pub text: String,
    /// The refs in the text, in order.
    #[serde(with = "as_map")]
    #[schemars(with = "BTreeMap<String, ElementRef>")]
    pub refs: Vec<ElementRef>,
    /// How much it is.
    pub stats: Stats,
    /// What lies too deep and is not in the text.
    #[serde(default)]
    pub cut: Omitted,
    /// What was folded to keep to a budget.
    #[serde(default)]
    pub folded: Omitted,
    /// There were so many refs that items of lists and grids have none.
    #[serde(default)]
    pub compacted: bool,
    /// How many lines have the text that was searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<u32>,
    /// How many texts were left out because a person cannot see them; with them shown, how many are marked.
    #[serde(default)]
    pub unseen: u32,
    /// The documents; the first is the page itself.
    #[serde(default)]
    pub frames: Vec<Frame>,
    /// What a reader should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Each line with the origin of its frame, when asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<SnapshotNode>,
    /// The version of this format.
    #[serde(default)]
    pub format: u32,
}

/// An element that a ref points at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ElementRef {
    /// The ref.
    #[serde(rename = "ref")]
    pub ref_name: String,
    /// What it is.
    pub role: String,
    /// What it is called.
    pub name: String,
    /// A selector, if one is known.
    pub selector: Option<String>,
    /// The frames it is in, from the outside, by name or else origin; none for the page itself.
    pub frame_path: Vec<String>,
    /// None: what is in a shadow tree is told where its host stands, and found by its ref.
    pub shadow_path: Vec<String>,
    /// The hash of what it is and where.
    pub signature_hash: String,
    /// Which of the snapshot's frames it is in.
    #[serde(default)]
    pub frame: u16,
    /// Its name comes from text that a person cannot see.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub name_hidden: bool,
    /// It has the focus. The text does not say so: a hash of it would change with each click.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub focused: bool,
    /// What is in it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Where it leads.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// Where it is drawn.
    #[serde(rename = "box", default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
}

/// How much a snapshot is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// How many nodes the text shows.
    pub node_count: u32,
    /// How many of them have a ref.
    pub interactive_count: u32,
    /// A quarter of the text's length.
    pub token_estimate: u32,
    /// A closer estimate.
    #[serde(default)]
    pub tokens_calibrated: u32,
    /// How many elements the page has, shown or not.
    #[serde(default)]
    pub element_count: u32,
}

/// A line of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotNode {
    /// What it is.
    pub role: String,
    /// What it is called; the text itself for text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The text that is all there is in it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Its ref.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub ref_name: Option<String>,
    /// How deep it is.
    pub depth: u32,
    /// Who the document belongs to that it is from.
    pub origin: String,
    /// Why a person cannot see it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hidden: String,
}

/// What a snapshot needs besides tree and view.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuildOptions<'a> {
    /// Tells the snapshot from every other.
    pub snapshot_id: &'a str,
    /// The vendor whose page it is.
    pub provider: Option<&'a str>,
    /// The document's source, for its hash.
    pub html: Option<&'a str>,
    /// How it is printed.
    pub print: RenderOptions,
    /// Adds every line with the origin of its frame.
    pub nodes: bool,
}

/// Makes a snapshot of a view.
pub fn build(tree: &Tree, view: &View, options: &BuildOptions<'_>) -> WebAiSnapshot {
    let printed = printed(tree, view, &options.print);
    let ax_hash = printed.ax_hash();
    let text = printed.text;
    let mut notes = view.notes();
    let silent = tree.nodes.iter().filter(|node| node.states.is_silent()).count();
    if silent > 0 {
        notes.push(format!("{silent} parts of the page did not answer"));
    }
    if view.is_bare() {
        notes.push(bare(tree));
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

/// The refs of a whole tree, numbered from 1, as the phase-7 rule gives them to a tree nothing is left out of.
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

/// What a report may say about a snapshot: hashes and counts, no text of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorSnapshot {
    /// A snapshot was taken.
    pub enabled: bool,
    /// Nothing in here is text of the page.
    pub content_safe: bool,
    /// The snapshot.
    pub snapshot_id: Option<String>,
    /// The hash of what the page says.
    pub ax_hash: Option<String>,
    /// The hash of what the page is built of.
    pub dom_hash: Option<String>,
    /// How many refs it has.
    pub interactive_count: u32,
    /// A quarter of its length.
    pub token_estimate: u32,
    /// The first refs.
    pub top_refs: Vec<DoctorRef>,
}

/// What a report may say about a ref.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorRef {
    /// The ref.
    #[serde(rename = "ref")]
    pub ref_name: String,
    /// What it is.
    pub role: String,
    /// The hash of its name.
    pub name_hash: Option<String>,
    /// How long its name is, in UTF-16 units.
    pub name_chars: u32,
}

/// How many refs a report shows unless asked otherwise.
pub const DOCTOR_REFS: usize = 8;

/// What a report may say about a snapshot.
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

/// The refs of a view, each once, by number. Where folded parts can be unfolded is no ref of what is shown.
pub fn refs(tree: &Tree, view: &View, print: &RenderOptions) -> Vec<ElementRef> {
    let frame_paths: Vec<_> =
        (0..tree.frames.len()).map(|frame| frame_path(tree, frame, print)).collect();
    let mut seen = HashSet::new();
    let shown = view.lines.iter().filter(|line| line.folded.is_none());
    let mut lines: Vec<(u32, &ViewLine)> =
        shown.filter_map(|line| Some((line.number?, line))).collect();
    lines.sort_by_key(|(number, _)| *number);
    let once = lines.into_iter().filter(|(number, _)| seen.insert(*number));
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
        frame: node.frame,
        name_hidden: node.states.is_name_hidden(),
        value: redacted(text::cut(tree.value(node), limit(print, MAX_VALUE)).into_owned(), print),
        url: redacted(url.to_owned(), print),
        bounds: extra.and_then(|extra| extra.bounds),
    }
}

/// What some lines show, each with the origin of its frame.
pub fn nodes<'v>(
    tree: &Tree,
    lines: impl Iterator<Item = &'v ViewLine>,
    print: &RenderOptions,
) -> Vec<SnapshotNode> {
    let shown = lines.filter(|line| line.folded.is_none()).map(|line| {
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
    shown.collect()
}

/// The documents. Names, titles and addresses are redacted like any other text; whose they are is not.
fn frames(tree: &Tree, print: &RenderOptions) -> Vec<Frame> {
    let frame = |frame: &Frame| Frame {
        url: redacted(frame.url.clone(), print),
        title: redacted(frame.title.clone(), print),
        name: redacted(frame.name.clone(), print),
        ..frame.clone()
    };
    tree.frames.iter().map(frame).collect()
}

/// The frames that lead to a frame. Frames that are each other's parents lead nowhere.
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

/// Refs are a map by their names, in their own order.
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
    fn refs_in_frames_say_where() {
        let page = tree("webarea 1\n iframe 2\n  webarea 1 #1\n   button 2 #1 \"Pay\"");
        let snapshot = take(&page, &ViewOptions::default(), &BuildOptions::default());
        assert_eq!(snapshot.refs[0].frame_path, ["https://f1.test"]);
        assert_eq!((snapshot.refs[0].frame, snapshot.frames.len()), (1, 2));
    }

    #[test]
    fn nothing_is_a_document() {
        let snapshot = take(&Tree::default(), &ViewOptions::default(), &BuildOptions::default());
        assert_eq!((&*snapshot.text, snapshot.stats.token_estimate), ("- document", 3));
    }
}
