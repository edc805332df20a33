//! What a context keeps for its pages.

use super::domain;
use crate::LossyString;

domain! { "Storage";
    types {
        /// A cookie.
        type Cookie {
            /// Its name.
            name: LossyString,
            /// What it says.
            value: LossyString,
            /// Whose it is; with a dot before it, also that of hosts below.
            domain: LossyString,
            /// Which paths it is sent to.
            path: LossyString,
            /// Until when, in seconds since 1970; -1 when it ends with the browser.
            expires: f64,
            /// Kept from scripts.
            http_only: bool,
            /// Sent over https only.
            secure: bool,
            /// `Strict`, `Lax` or `None`.
            same_site: String,
            /// The site that it is kept apart for.
            partition_key: PartitionKey,
        }
        /// What a cookie is kept apart for.
        type PartitionKey {
            /// The site of the page around it.
            top_level_site: String,
            /// Whether there is another site in between.
            has_cross_site_ancestor: bool,
        }
    }
    methods {
        /// The cookies of a context.
        fn "getCookies" GetCookies {
            /// The context; the default one when absent.
            browser_context_id: Option<String>,
        } -> GetCookiesReply {
            /// All of them.
            cookies: Vec<Cookie>,
        }
        /// Puts cookies into a context: all of them, or none when one is not right.
        fn "setCookies" SetCookies {
            /// Which.
            cookies: Vec<Cookie>,
            /// The context; the default one when absent.
            browser_context_id: Option<String>,
        } -> SetCookiesReply {}
        /// Begins to tell of changes in the databases of an origin.
        fn "trackIndexedDBForOrigin" TrackIndexedDbForOrigin {
            /// The origin.
            origin: String,
        } -> TrackIndexedDbForOriginReply {}
        /// Begins to tell of changes in the caches of an origin.
        fn "trackCacheStorageForOrigin" TrackCacheStorageForOrigin {
            /// The origin.
            origin: String,
        } -> TrackCacheStorageForOriginReply {}
    }
    events {
        /// What is in a database has changed.
        event "indexedDBContentUpdated" IndexedDbContentUpdated {
            /// The database.
            database_name: LossyString,
            /// The store in it.
            object_store_name: LossyString,
        }
        /// What is in a cache has changed.
        event "cacheStorageContentUpdated" CacheStorageContentUpdated {
            /// The cache.
            cache_name: LossyString,
        }
    }
}
