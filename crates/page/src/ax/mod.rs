//! The accessibility tree of a page: roles, names and states in document order.
//!
//! A tree is one list of nodes and one string with all their text, so that a page of three hundred thousand
//! nodes is two allocations. It is built from the observer's report ([`report`]) or from the browser's own
//! tree, and rendering never changes it.

mod interactive;
mod interesting;
pub mod report;
mod roles;
mod split_cards;
#[cfg(test)]
pub(crate) mod testing;

pub use interactive::{MANY_REFS, RefPolicy, RefTiers, Tier, is_control, ref_tiers};
pub use interesting::interesting;
pub use roles::Role;

/// A span of the tree's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextSpan {
    start: u32,
    len: u32,
}

impl TextSpan {
    /// True for an empty span.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// ARIA tristate: on, off or mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tristate {
    /// False.
    Off,
    /// True.
    On,
    /// Mixed.
    Mixed,
}

macro_rules! states {
    ($( $(#[$doc:meta])* $name:ident $set:ident = $bit:literal, )*) => {
        /// Boolean states of a node, as a bit set.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct States(u32);

        impl States {
            $( $(#[$doc])* pub fn $name(self) -> bool { self.0 & (1 << $bit) != 0 } )*
            $( #[doc = concat!("With `", stringify!($name), "` as given.")]
               #[must_use]
               pub fn $set(self, is: bool) -> Self {
                   Self(if is { self.0 | (1 << $bit) } else { self.0 & !(1 << $bit) })
               } )*
        }
    };
}

states! {
    /// Disabled.
    is_disabled with_disabled = 0,
    /// Selected among its siblings.
    is_selected with_selected = 1,
    /// Focusable.
    is_focusable with_focusable = 2,
    /// Focused.
    is_focused with_focused = 3,
    /// Modal: makes the rest of the page inert.
    is_modal with_modal = 4,
    /// Required.
    is_required with_required = 5,
    /// Read-only.
    is_readonly with_readonly = 6,
    /// Multi-line text field.
    is_multiline with_multiline = 7,
    /// Multi-selectable.
    is_multiselectable with_multiselectable = 8,
    /// In the tab order: `tabindex` of 0 or more.
    has_tabindex with_tabindex = 9,
    /// Editing host (`contenteditable`): the element that declares it, not its descendants.
    is_editable with_editable = 10,
    /// Has a pointer cursor that its surroundings do not have.
    has_pointer with_pointer = 11,
    /// Has a click listener.
    has_listener with_listener = 12,
    /// Not visible to a person.
    is_hidden with_hidden = 13,
    /// Accessible name from invisible text.
    is_name_hidden with_name_hidden = 14,
    /// Its value is a secret and masked.
    is_masked with_masked = 15,
    /// Visible proxy of a control that is itself invisible.
    is_visible_proxy with_visible_proxy = 16,
    /// Unresponsive part of the page: a frame, or content that a script blocks.
    is_silent with_silent = 17,
    /// `aria-busy`: being updated.
    is_busy with_busy = 18,
    /// Accessible name supplied by the author, not computed from content.
    has_author_name with_author_name = 19,
    /// Truncated: descendants were left out of the tree.
    is_cut with_cut = 20,
    /// File input, or a proxy of one.
    is_file with_file = 21,
    /// Preceded by a line break.
    is_after_line_break with_line_break = 22,
    /// Preceded by two or more line breaks.
    is_after_blank_line with_blank_line = 23,
}

/// Bounding box in CSS pixels of the main frame's viewport.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[allow(missing_docs, reason = "the words say it")]
pub struct Bounds {
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub height: f32,
}

/// Attributes that few nodes have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RareAttributes {
    /// Accessible description.
    pub description: TextSpan,
    /// Link address.
    pub url: TextSpan,
    /// `aria-valuetext`, where it differs from the value.
    pub value_text: TextSpan,
    /// Element kind where the role does not tell it: `canvas`, `video`, `svg` …
    pub kind: TextSpan,
    /// `aria-haspopup`: `menu`, `dialog` …
    pub popup: TextSpan,
    /// `aria-invalid`: `true`, `spelling` …
    pub invalid: TextSpan,
    /// `aria-roledescription`.
    pub role_description: TextSpan,
    /// `aria-keyshortcuts`.
    pub shortcuts: TextSpan,
    /// `horizontal` or `vertical`.
    pub orientation: TextSpan,
    /// `aria-autocomplete`.
    pub autocomplete: TextSpan,
    /// Minimum value.
    pub min: TextSpan,
    /// Maximum value.
    pub max: TextSpan,
    /// Reason why it is not visible.
    pub why_hidden: TextSpan,
    /// Bounding box.
    pub bounds: Option<Bounds>,
}

/// A node of the tree.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// ARIA role.
    pub role: Role,
    /// Depth in the tree; the root has 0.
    pub depth: u32,
    /// Index after the last descendant.
    pub end: u32,
    /// Element number within its frame; 0 for text.
    pub element: u32,
    /// Index into [`Tree::frames`].
    pub frame: u16,
    /// Level of a heading or an item; 0 when there is none.
    pub level: u16,
    /// Boolean states.
    pub states: States,
    /// `aria-checked`.
    pub checked: Option<Tristate>,
    /// `aria-pressed`.
    pub pressed: Option<Tristate>,
    /// `aria-expanded`.
    pub expanded: Option<bool>,
    /// Accessible name; the text itself for text.
    pub name: TextSpan,
    /// Value.
    pub value: TextSpan,
    extra: u32,
}

impl Node {
    /// True for an editing host whose role does not say that it is editable.
    pub fn is_generic_editor(&self) -> bool {
        self.states.is_editable()
            && !matches!(self.role, Role::TextBox | Role::SearchBox | Role::ComboBox)
    }
}

/// A document: the page itself, or the document of a frame.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct Frame {
    /// Document id, unique among all documents the tab has shown.
    pub document: String,
    /// URL with secrets masked.
    pub url: String,
    /// Origin, such as `https://example.com`; `null` when opaque.
    pub origin: String,
    /// Document title.
    #[serde(default)]
    pub title: String,
    /// Name of the frame, from its owner element.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Index of the parent frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u16>,
    /// The frame is unresponsive: the tree has none of its nodes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
    /// Number of invisible texts that were left out or marked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unseen: u32,
    /// MIME type such as `application/pdf`; empty for HTML.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The accessibility tree of a whole page, with the documents of its frames.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// All nodes in document order, parents before children.
    pub nodes: Vec<Node>,
    /// The documents; the first is the page itself.
    pub frames: Vec<Frame>,
    text: String,
    extras: Vec<RareAttributes>,
    /// Owner nodes of unresponsive frames with the frame's index, in document order.
    silent: Vec<(u32, u16)>,
}

impl Tree {
    /// The tree of an empty page.
    pub fn empty() -> Self {
        let mut tree = Self { frames: vec![Frame::default()], ..Self::default() };
        tree.push(Role::WebArea, 0, 0, 0);
        tree.finish();
        tree
    }

    /// The text of a span.
    pub fn str(&self, span: TextSpan) -> &str {
        let start = span.start as usize;
        self.text.get(start..start + span.len as usize).unwrap_or_default()
    }

    /// The accessible name of a node.
    pub fn name(&self, node: &Node) -> &str {
        self.str(node.name)
    }

    /// The value of a node.
    pub fn value(&self, node: &Node) -> &str {
        self.str(node.value)
    }

    /// The rare attributes of a node.
    pub fn extra(&self, node: &Node) -> Option<&RareAttributes> {
        (node.extra > 0).then(|| &self.extras[node.extra as usize - 1])
    }

    /// The rare attributes of a node, created if absent.
    pub fn extra_mut(&mut self, index: usize) -> &mut RareAttributes {
        if self.nodes[index].extra == 0 {
            self.extras.push(RareAttributes::default());
            self.nodes[index].extra = self.extras.len() as u32;
        }
        let extra = self.nodes[index].extra as usize - 1;
        &mut self.extras[extra]
    }

    /// Translates the bounding boxes of a frame's nodes into the page's viewport.
    pub fn translate_bounds(&mut self, frame: u16, x: f32, y: f32) {
        let inside = self.nodes.iter().filter(|node| node.frame == frame && node.extra > 0);
        for node in inside {
            if let Some(bounds) = &mut self.extras[node.extra as usize - 1].bounds {
                bounds.x += x;
                bounds.y += y;
            }
        }
    }

    /// Indexes of a node's children.
    pub fn children(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let end = self.nodes.get(index).map_or(0, |node| node.end as usize);
        let mut next = index + 1;
        std::iter::from_fn(move || {
            let child = next;
            (child < end).then(|| {
                next = (self.nodes[child].end as usize).max(child + 1);
                child
            })
        })
    }

    /// Index after a node's last descendant; always after the node and within the list.
    pub fn end(&self, index: usize) -> usize {
        let end = self.nodes.get(index).map_or(0, |node| node.end as usize);
        end.clamp(index + 1, self.nodes.len().max(index + 1))
    }

    /// The parent of each node; a root is its own parent.
    pub fn parents(&self) -> Vec<u32> {
        let mut open: Vec<u32> = Vec::new();
        let parents = (0..self.nodes.len()).map(|index| {
            while open.pop_if(|last| self.end(*last as usize) <= index).is_some() {}
            let parent = open.last().copied().unwrap_or(index as u32);
            open.push(index as u32);
            parent
        });
        parents.collect()
    }

    /// The document hosted by a frame's owner node, if it is in the tree or unresponsive.
    pub fn hosted_frame(&self, index: usize) -> Option<&Frame> {
        let node = self.nodes.get(index)?;
        let is_other = |inner: &&Node| inner.depth > node.depth && inner.frame != node.frame;
        let frame = match self.silent.binary_search_by_key(&(index as u32), |(holder, _)| *holder) {
            Ok(at) => self.silent[at].1,
            // An owner node has no other children than its document.
            Err(_) => self.nodes.get(index + 1).filter(is_other)?.frame,
        };
        self.frames.get(usize::from(frame))
    }

    /// Marks the last node as owner of an unresponsive frame.
    pub fn add_silent_frame(&mut self, frame: Frame) {
        let Some(holder) = self.nodes.len().checked_sub(1) else { return };
        self.silent.push((holder as u32, self.frames.len() as u16));
        self.frames.push(Frame { silent: true, ..frame });
        self.nodes[holder].states = self.nodes[holder].states.with_silent(true);
    }

    /// Number of invisible texts that were left out or marked, over all frames.
    pub fn unseen(&self) -> u32 {
        self.frames.iter().map(|frame| frame.unseen).sum()
    }

    /// Names and origins of the unresponsive frames; origins only when redacted.
    pub fn silent_frames(&self, redact: bool) -> Vec<String> {
        let all = self.nodes.iter().enumerate().filter(|(_, node)| node.states.is_silent());
        let labels = all.map(|(index, node)| {
            let frame = self.hosted_frame(index).filter(|frame| !frame.origin.is_empty());
            let origin = frame.map(|frame| &*frame.origin).unwrap_or_default();
            let name = if redact { "" } else { self.name(node) };
            match (name, origin) {
                ("", origin) => origin.to_owned(),
                (name, "") => name.to_owned(),
                (name, origin) => format!("{name} ({origin})"),
            }
        });
        labels.collect()
    }

    /// Masks the secrets in a text and stores it in the tree.
    pub fn intern_masked(&mut self, text: &str) -> TextSpan {
        let text = &*crate::mask::mask(text);
        let start = self.text.len() as u32;
        self.text.push_str(text);
        TextSpan { start, len: text.len() as u32 }
    }

    /// Appends a node in document order at the given depth and returns its index.
    pub fn push(&mut self, role: Role, depth: u32, element: u32, frame: u16) -> usize {
        self.nodes.push(Node {
            role,
            depth,
            end: 0,
            element,
            frame,
            level: 0,
            states: States::default(),
            checked: None,
            pressed: None,
            expanded: None,
            name: TextSpan::default(),
            value: TextSpan::default(),
            extra: 0,
        });
        self.nodes.len() - 1
    }

    /// Completes the tree: sets the end of each node and masks secrets that span several nodes. To be called
    /// once, after the last node was added.
    pub fn finish(&mut self) {
        let mut open: Vec<usize> = Vec::new();
        for index in 0..self.nodes.len() {
            let depth = self.nodes[index].depth;
            while let Some(last) = open.pop_if(|last| self.nodes[*last].depth >= depth) {
                self.nodes[last].end = index as u32;
            }
            open.push(index);
        }
        let end = self.nodes.len() as u32;
        for last in open {
            self.nodes[last].end = end;
        }
        self.mask_split_cards();
    }
}
