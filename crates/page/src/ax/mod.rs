//! The accessibility tree of a page: what is on it, for somebody who cannot see it.
//!
//! A tree is one list of nodes in reading order and one string that holds all their text, so that a page of
//! three hundred thousand nodes is two allocations. It comes from the observer's report ([`report`]) or from
//! the browser's own tree, and is never changed by rendering it.

mod interactive;
mod interesting;
pub mod report;
mod roles;
mod split_cards;
#[cfg(test)]
pub(crate) mod testing;

pub use interactive::{MANY_REFS, RefPolicy, RefTiers, Tier, is_control, marks};
pub use interesting::interesting;
pub use roles::Role;

/// A piece of the tree's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextSpan {
    start: u32,
    len: u32,
}

impl TextSpan {
    /// Whether there is nothing in it.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// A state that is on, off or in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tristate {
    /// Not set.
    Off,
    /// Set.
    On,
    /// Neither.
    Mixed,
}

macro_rules! states {
    ($( $(#[$doc:meta])* $name:ident $set:ident = $bit:literal, )*) => {
        /// What is true of a node.
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
    /// It cannot be used now.
    is_disabled with_disabled = 0,
    /// It is chosen among others.
    is_selected with_selected = 1,
    /// It can take the focus.
    is_focusable with_focusable = 2,
    /// It has the focus.
    is_focused with_focused = 3,
    /// The rest of the page waits for it.
    is_modal with_modal = 4,
    /// It must be filled in.
    is_required with_required = 5,
    /// It can be read and not changed.
    is_readonly with_readonly = 6,
    /// It takes several lines.
    is_multiline with_multiline = 7,
    /// Several of its options can be chosen.
    is_multiselectable with_multiselectable = 8,
    /// It asks to be reached by the tab key: `tabindex` of 0 or more.
    has_tabindex with_tabindex = 9,
    /// Its content can be edited: the element that says so, not what is inside.
    is_editable with_editable = 10,
    /// The pointer turns into a hand here and not around it.
    has_pointer with_pointer = 11,
    /// A script listens to clicks on it.
    has_listener with_listener = 12,
    /// A person cannot see it.
    is_hidden with_hidden = 13,
    /// Its name comes from text that a person cannot see.
    is_name_hidden with_name_hidden = 14,
    /// What it holds was a secret and is masked.
    is_masked with_masked = 15,
    /// It stands in for a control that is not shown itself.
    is_stand_in with_stand_in = 16,
    /// A part of the page that did not answer: a frame, or what a script holds back.
    is_silent with_silent = 17,
    /// It is being changed.
    is_busy with_busy = 18,
    /// Its name was given by the author, not collected from what is inside.
    is_name_given with_name_given = 19,
    /// Only part of it is in the tree: something inside was left out.
    is_cut with_cut = 20,
    /// It takes files, or stands in for what does.
    is_file with_file = 21,
    /// A line break stands right before it.
    is_after_line_break with_line_break = 22,
    /// Two line breaks or more stand right before it.
    is_after_blank_line with_blank_line = 23,
}

/// Where a node is drawn, in CSS pixels of the main frame's viewport.
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

/// What only few nodes have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RareAttributes {
    /// What it says about itself besides its name.
    pub description: TextSpan,
    /// Where a link leads.
    pub url: TextSpan,
    /// The value in words, where it differs from the value.
    pub value_text: TextSpan,
    /// `canvas`, `video`, `svg` …: what it is when its role does not tell.
    pub kind: TextSpan,
    /// What opens from it: `menu`, `dialog` …
    pub popup: TextSpan,
    /// What is wrong with its value: `true`, `spelling` …
    pub invalid: TextSpan,
    /// What it is called instead of its role.
    pub role_description: TextSpan,
    /// Keys that reach it.
    pub shortcuts: TextSpan,
    /// `horizontal` or `vertical`.
    pub orientation: TextSpan,
    /// How it completes what is typed.
    pub autocomplete: TextSpan,
    /// The least it takes.
    pub min: TextSpan,
    /// The most it takes.
    pub max: TextSpan,
    /// Why a person cannot see it.
    pub why_hidden: TextSpan,
    /// Where it is.
    pub bounds: Option<Bounds>,
}

/// One thing in the tree.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// What it is.
    pub role: Role,
    /// How deep it is; the root is at 0.
    pub depth: u32,
    /// Where the nodes after its last descendant begin.
    pub end: u32,
    /// The number of its element in its frame; 0 for text.
    pub element: u32,
    /// Which of [`Tree::frames`] it belongs to.
    pub frame: u16,
    /// The level of a heading or an item; 0 when there is none.
    pub level: u16,
    /// What is true of it.
    pub states: States,
    /// A box that is ticked, or not.
    pub checked: Option<Tristate>,
    /// A button that stays down, or not.
    pub pressed: Option<Tristate>,
    /// Something that opens, or not.
    pub expanded: Option<bool>,
    /// What it is called; the text itself for text.
    pub name: TextSpan,
    /// What is in it.
    pub value: TextSpan,
    extra: u32,
}

impl Node {
    /// Whether one can write in it though its role does not say so.
    pub fn is_editor_by_itself(&self) -> bool {
        self.states.is_editable()
            && !matches!(self.role, Role::TextBox | Role::SearchBox | Role::ComboBox)
    }
}

/// A document in the page: the page itself, or one in a frame.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct Frame {
    /// Tells the document apart from every other the tab has shown.
    pub document: String,
    /// Its address, secrets in it masked.
    pub url: String,
    /// Who it belongs to, such as `https://example.com`; `null` for nobody.
    pub origin: String,
    /// Its title.
    #[serde(default)]
    pub title: String,
    /// The name its owner gave it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The frame it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u16>,
    /// It did not answer: nothing of it is in the tree.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
    /// How many of its texts were left out, or marked, because a person cannot see them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unseen: u32,
    /// What kind of document it is, such as `application/pdf`; empty for HTML.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The whole page.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// All nodes, each before its children.
    pub nodes: Vec<Node>,
    /// The documents; the first is the page itself.
    pub frames: Vec<Frame>,
    text: String,
    extras: Vec<RareAttributes>,
    /// Nodes that hold a frame that did not answer, and which frame; in reading order.
    silent: Vec<(u32, u16)>,
}

impl Tree {
    /// A page with nothing on it.
    pub fn empty() -> Self {
        let mut tree = Self { frames: vec![Frame::default()], ..Self::default() };
        tree.push(Role::WebArea, 0, 0, 0);
        tree.close();
        tree
    }

    /// The text of a piece.
    pub fn str(&self, span: TextSpan) -> &str {
        let start = span.start as usize;
        self.text.get(start..start + span.len as usize).unwrap_or_default()
    }

    /// What a node is called.
    pub fn name(&self, node: &Node) -> &str {
        self.str(node.name)
    }

    /// What is in a node.
    pub fn value(&self, node: &Node) -> &str {
        self.str(node.value)
    }

    /// What only few nodes have.
    pub fn extra(&self, node: &Node) -> Option<&RareAttributes> {
        (node.extra > 0).then(|| &self.extras[node.extra as usize - 1])
    }

    /// The same, to be filled in.
    pub fn extra_mut(&mut self, index: usize) -> &mut RareAttributes {
        if self.nodes[index].extra == 0 {
            self.extras.push(RareAttributes::default());
            self.nodes[index].extra = self.extras.len() as u32;
        }
        let extra = self.nodes[index].extra as usize - 1;
        &mut self.extras[extra]
    }

    /// Moves the boxes of what is in a frame, to where they are in the view of the page.
    pub fn shift_boxes(&mut self, frame: u16, x: f32, y: f32) {
        let inside = self.nodes.iter().filter(|node| node.frame == frame && node.extra > 0);
        for node in inside {
            if let Some(bounds) = &mut self.extras[node.extra as usize - 1].bounds {
                bounds.x += x;
                bounds.y += y;
            }
        }
    }

    /// The indexes of a node's children.
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

    /// Where the nodes after a node's last descendant begin; always after the node and within the list.
    pub fn end(&self, index: usize) -> usize {
        let end = self.nodes.get(index).map_or(0, |node| node.end as usize);
        end.clamp(index + 1, self.nodes.len().max(index + 1))
    }

    /// The parent of each node; of a node without one, the node itself.
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

    /// The document that a frame's element shows, if it is in the tree or did not answer.
    pub fn frame_below(&self, index: usize) -> Option<&Frame> {
        let node = self.nodes.get(index)?;
        let is_other = |inner: &&Node| inner.depth > node.depth && inner.frame != node.frame;
        let frame = match self.silent.binary_search_by_key(&(index as u32), |(holder, _)| *holder) {
            Ok(at) => self.silent[at].1,
            // Nothing else is in an element that shows a document.
            Err(_) => self.nodes.get(index + 1).filter(is_other)?.frame,
        };
        self.frames.get(usize::from(frame))
    }

    /// Notes that the last node holds a frame that did not answer.
    pub fn add_silent(&mut self, frame: Frame) {
        let Some(holder) = self.nodes.len().checked_sub(1) else { return };
        self.silent.push((holder as u32, self.frames.len() as u16));
        self.frames.push(Frame { silent: true, ..frame });
        self.nodes[holder].states = self.nodes[holder].states.with_silent(true);
    }

    /// How many texts were left out, or marked, because a person cannot see them.
    pub fn unseen(&self) -> u32 {
        self.frames.iter().map(|frame| frame.unseen).sum()
    }

    /// The names and origins of the frames that did not answer, in words; without the names if they are not to be told.
    pub fn silent_frames(&self, redact: bool) -> Vec<String> {
        let all = self.nodes.iter().enumerate().filter(|(_, node)| node.states.is_silent());
        let told = all.map(|(index, node)| {
            let frame = self.frame_below(index).filter(|frame| !frame.origin.is_empty());
            let origin = frame.map(|frame| &*frame.origin).unwrap_or_default();
            let name = if redact { "" } else { self.name(node) };
            match (name, origin) {
                ("", origin) => origin.to_owned(),
                (name, "") => name.to_owned(),
                (name, origin) => format!("{name} ({origin})"),
            }
        });
        told.collect()
    }

    /// Keeps a text, without the secrets in it.
    pub fn keep(&mut self, text: &str) -> TextSpan {
        let text = &*crate::mask::mask(text);
        let start = self.text.len() as u32;
        self.text.push_str(text);
        TextSpan { start, len: text.len() as u32 }
    }

    /// Adds a node in reading order: after everything that comes before it, at its depth. Returns its index.
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

    /// Sets where each node's descendants end, and masks the secrets that only the whole tells. To be called once, after
    /// the last node was added.
    pub fn close(&mut self) {
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
