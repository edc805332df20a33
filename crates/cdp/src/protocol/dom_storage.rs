//! What scripts keep in `localStorage` and `sessionStorage`.

use super::domain;
use crate::LossyString;

domain! { "DOMStorage";
    types {
        /// A store.
        type StorageId {
            /// Whose it is.
            storage_key: String,
            /// `localStorage`; else `sessionStorage`.
            is_local_storage: bool,
        }
    }
    methods {
        /// Begins to tell of changes.
        fn "enable" Enable {} -> EnableReply {}
    }
    events {
        /// Something new is kept.
        event "domStorageItemAdded" DomStorageItemAdded {
            /// Where.
            storage_id: StorageId,
            /// By this name.
            key: LossyString,
        }
        /// Something else is kept by a name.
        event "domStorageItemUpdated" DomStorageItemUpdated {
            /// Where.
            storage_id: StorageId,
            /// By this name.
            key: LossyString,
        }
        /// Something is not kept any more.
        event "domStorageItemRemoved" DomStorageItemRemoved {
            /// Where.
            storage_id: StorageId,
            /// By this name.
            key: LossyString,
        }
        /// Nothing is kept any more.
        event "domStorageItemsCleared" DomStorageItemsCleared {
            /// Where.
            storage_id: StorageId,
        }
    }
}
