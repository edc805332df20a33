//! The browser's own accessibility tree.

use super::domain;
use crate::LossyString;
use serde_json::value::RawValue;

domain! { "Accessibility";
    types {
        /// A value of a node.
        type AxValue {
            /// What kind.
            r#type: String,
            /// The value: a string, a number, a boolean.
            value: Box<RawValue>,
        }
        /// A property of a node.
        type AxProperty {
            /// `focusable`, `level` …
            name: String,
            /// Its value.
            value: AxValue,
        }
        /// A node of the tree.
        type AxNode {
            /// Its number in this tree.
            node_id: String,
            /// Whether it is left out of the tree.
            ignored: bool,
            /// What it is.
            role: AxText,
            /// What it is called.
            name: AxName,
            /// What else it says about itself.
            description: AxText,
            /// What is in it.
            value: AxValue,
            /// The rest.
            properties: Vec<AxProperty>,
            /// Those below it.
            child_ids: Vec<String>,
            /// The element it is about.
            #[serde(rename = "backendDOMNodeId")]
            backend_dom_node_id: i64,
        }
        /// A value that is a string.
        type AxText {
            /// The string.
            value: LossyString,
        }
        /// A name, and where it could have come from.
        type AxName {
            /// The name.
            value: LossyString,
            /// Everything that could have given a name, what counts most first.
            sources: Vec<AxNameSource>,
        }
        /// Something that could have given a name.
        type AxNameSource {
            /// `contents`, `attribute`, `relatedElement` …
            r#type: String,
            /// What it gave; absent when it gave nothing.
            value: AxValue,
            /// Whether one before it gave a name already.
            superseded: bool,
        }
    }
    methods {
        /// The whole tree of a document.
        fn "getFullAXTree" GetFullAxTree {
            /// The frame whose document it is; the main one when absent.
            frame_id: Option<String>,
        } -> GetFullAxTreeReply {
            /// The nodes, the root first.
            nodes: Vec<AxNode>,
        }
    }
}
