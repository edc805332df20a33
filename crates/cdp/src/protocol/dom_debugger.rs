//! The `DOMDebugger` domain: event listeners of a node.

use super::domain;

domain! { "DOMDebugger";
    types {
        /// An event listener.
        type EventListener {
            /// Event type, such as `click`.
            r#type: String,
            /// Backend id of the node the listener is attached to.
            backend_node_id: i64,
        }
    }
    methods {
        /// Lists the event listeners of a node and its descendants.
        fn "getEventListeners" GetEventListeners {
            /// Remote object id of the node.
            object_id: String,
            /// Depth of the subtree to search; -1 for all of it.
            depth: Option<i64>,
            /// Pierce shadow roots and frames.
            pierce: Option<bool>,
        } -> GetEventListenersReply {
            /// The listeners.
            listeners: Vec<EventListener>,
        }
    }
}
