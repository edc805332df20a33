//! The `DOM` domain: nodes by backend node id.

use super::domain;
use super::runtime::RemoteObject;

domain! { "DOM";
    types {
        /// The boxes of an element as quads: four corners, clockwise from the top left, as eight numbers.
        type BoxModel {
            /// The content quad, without padding and border.
            content: Vec<f64>,
        }
    }
    methods {
        /// Finds the element that owns a frame.
        fn "getFrameOwner" GetFrameOwner {
            /// The frame.
            frame_id: String,
        } -> GetFrameOwnerReply {
            /// Backend id of the frame owner element.
            backend_node_id: i64,
        }
        /// Reads the box model of an element.
        fn "getBoxModel" GetBoxModel {
            /// The element.
            backend_node_id: Option<i64>,
        } -> GetBoxModelReply {
            /// Its boxes.
            model: BoxModel,
        }
        /// Resolves a node to a remote object.
        fn "resolveNode" ResolveNode {
            /// The node.
            backend_node_id: Option<i64>,
            /// Object group that releases the handle.
            object_group: Option<String>,
            /// The execution context to resolve the node in.
            execution_context_id: Option<i64>,
        } -> ResolveNodeReply {
            /// The remote object.
            object: RemoteObject,
        }
        /// Sets the files of a file input.
        fn "setFileInputFiles" SetFileInputFiles {
            /// Absolute file paths.
            files: Vec<String>,
            /// The file input.
            backend_node_id: Option<i64>,
        } -> SetFileInputFilesReply {}
    }
}
