//! Who listens to what.

use super::domain;

domain! { "DOMDebugger";
    types {
        /// A script that listens.
        type EventListener {
            /// To what.
            r#type: String,
            /// At which node.
            backend_node_id: i64,
        }
    }
    methods {
        /// Everything that listens at a node.
        fn "getEventListeners" GetEventListeners {
            /// The node.
            object_id: String,
            /// How far below it; -1 for everything.
            depth: Option<i64>,
            /// Inside shadow trees and frames, too.
            pierce: Option<bool>,
        } -> GetEventListenersReply {
            /// The listeners.
            listeners: Vec<EventListener>,
        }
    }
}
