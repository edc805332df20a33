//! The `Accessibility` domain: Chromium's own accessibility tree.

use super::domain;
use crate::LossyString;
use serde_json::value::RawValue;

domain! { "Accessibility";
    types {
        /// `AXValue`: a typed value of an accessibility node.
        type AxValue {
            /// The value type.
            r#type: String,
            /// The value: a string, a number or a boolean.
            value: Box<RawValue>,
        }
        /// `AXProperty`: a named property of an accessibility node.
        type AxProperty {
            /// `focusable`, `level` …
            name: String,
            /// Its value.
            value: AxValue,
        }
        /// `AXNode`: a node of the accessibility tree.
        type AxNode {
            /// Id of the node in this tree.
            node_id: String,
            /// The node is ignored for accessibility.
            ignored: bool,
            /// The role.
            role: AxText,
            /// The accessible name.
            name: AxName,
            /// The accessible description.
            description: AxText,
            /// The value.
            value: AxValue,
            /// All other properties.
            properties: Vec<AxProperty>,
            /// Ids of the child nodes.
            child_ids: Vec<String>,
            /// Backend id of the associated DOM node.
            #[serde(rename = "backendDOMNodeId")]
            backend_dom_node_id: i64,
        }
        /// An `AXValue` that holds a string.
        type AxText {
            /// The string.
            value: LossyString,
        }
        /// An `AXValue` that holds an accessible name and the sources it was computed from.
        type AxName {
            /// The name.
            value: LossyString,
            /// All candidate sources, highest precedence first.
            sources: Vec<AxNameSource>,
        }
        /// `AXValueSource`: a source of an accessible name.
        type AxNameSource {
            /// `contents`, `attribute`, `relatedElement` …
            r#type: String,
            /// The value from this source; absent when it gave none.
            value: AxValue,
            /// A source of higher precedence supplied the name.
            superseded: bool,
        }
    }
    methods {
        /// Fetches the full accessibility tree of a document.
        fn "getFullAXTree" GetFullAxTree {
            /// The frame whose document it is; the main one when absent.
            frame_id: Option<String>,
        } -> GetFullAxTreeReply {
            /// The nodes, the root first.
            nodes: Vec<AxNode>,
        }
    }
}
