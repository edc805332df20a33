//! The `DOMStorage` domain: changes of `localStorage` and `sessionStorage`.

use super::domain;
use crate::LossyString;

domain! { "DOMStorage";
    types {
        /// A storage area.
        type StorageId {
            /// Storage key of its origin.
            storage_key: String,
            /// `true` for `localStorage`, `false` for `sessionStorage`.
            is_local_storage: bool,
        }
    }
    methods {
        /// Enables the domain's events.
        fn "enable" Enable {} -> EnableReply {}
    }
    events {
        /// An item was added.
        event "domStorageItemAdded" DomStorageItemAdded {
            /// The storage area.
            storage_id: StorageId,
            /// The item's key.
            key: LossyString,
        }
        /// The value of an item changed.
        event "domStorageItemUpdated" DomStorageItemUpdated {
            /// The storage area.
            storage_id: StorageId,
            /// The item's key.
            key: LossyString,
        }
        /// An item was removed.
        event "domStorageItemRemoved" DomStorageItemRemoved {
            /// The storage area.
            storage_id: StorageId,
            /// The item's key.
            key: LossyString,
        }
        /// All items were removed.
        event "domStorageItemsCleared" DomStorageItemsCleared {
            /// The storage area.
            storage_id: StorageId,
        }
    }
}
