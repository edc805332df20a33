//! Nodes, by the numbers that the browser gives them.

use super::domain;
use super::runtime::RemoteObject;

domain! { "DOM";
    types {
        /// The boxes of an element as quads: four corners, clockwise from the top left, as eight numbers.
        type BoxModel {
            /// Without padding and border.
            content: Vec<f64>,
        }
    }
    methods {
        /// The element that holds a frame.
        fn "getFrameOwner" GetFrameOwner {
            /// The frame.
            frame_id: String,
        } -> GetFrameOwnerReply {
            /// The element.
            backend_node_id: i64,
        }
        /// Where the boxes of an element are drawn.
        fn "getBoxModel" GetBoxModel {
            /// The element.
            backend_node_id: Option<i64>,
        } -> GetBoxModelReply {
            /// Its boxes.
            model: BoxModel,
        }
        /// A handle on a node.
        fn "resolveNode" ResolveNode {
            /// The node.
            backend_node_id: Option<i64>,
            /// What the handle is let go with.
            object_group: Option<String>,
            /// The world it is for.
            execution_context_id: Option<i64>,
        } -> ResolveNodeReply {
            /// The handle.
            object: RemoteObject,
        }
        /// Chooses files for a field.
        fn "setFileInputFiles" SetFileInputFiles {
            /// Their paths.
            files: Vec<String>,
            /// The field.
            backend_node_id: Option<i64>,
        } -> SetFileInputFilesReply {}
    }
}
