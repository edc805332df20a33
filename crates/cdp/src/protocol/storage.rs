//! The `Storage` domain: cookies, and changes of IndexedDB and Cache Storage.

use super::domain;
use crate::LossyString;

domain! { "Storage";
    types {
        /// A cookie.
        type Cookie {
            /// Its name.
            name: LossyString,
            /// Its value.
            value: LossyString,
            /// Its domain; a leading dot includes subdomains.
            domain: LossyString,
            /// Its path.
            path: LossyString,
            /// Expiry in seconds since 1970; -1 for a session cookie.
            expires: f64,
            /// HttpOnly: not readable by scripts.
            http_only: bool,
            /// Secure: sent over https only.
            secure: bool,
            /// `Strict`, `Lax` or `None`.
            same_site: String,
            /// Partition key of a partitioned (CHIPS) cookie.
            partition_key: PartitionKey,
        }
        /// The partition key of a cookie.
        type PartitionKey {
            /// The top-level site.
            top_level_site: String,
            /// A cross-site ancestor exists between the frame and the top level.
            has_cross_site_ancestor: bool,
        }
    }
    methods {
        /// Reads the cookies of a browser context.
        fn "getCookies" GetCookies {
            /// The browser context; the default one when absent.
            browser_context_id: Option<String>,
        } -> GetCookiesReply {
            /// All cookies.
            cookies: Vec<Cookie>,
        }
        /// Sets cookies in a browser context: all of them, or none when one is invalid.
        fn "setCookies" SetCookies {
            /// The cookies.
            cookies: Vec<Cookie>,
            /// The browser context; the default one when absent.
            browser_context_id: Option<String>,
        } -> SetCookiesReply {}
        /// Tracks IndexedDB changes of an origin.
        fn "trackIndexedDBForOrigin" TrackIndexedDbForOrigin {
            /// The origin.
            origin: String,
        } -> TrackIndexedDbForOriginReply {}
        /// Tracks Cache Storage changes of an origin.
        fn "trackCacheStorageForOrigin" TrackCacheStorageForOrigin {
            /// The origin.
            origin: String,
        } -> TrackCacheStorageForOriginReply {}
    }
    events {
        /// The content of an IndexedDB object store changed.
        event "indexedDBContentUpdated" IndexedDbContentUpdated {
            /// The database.
            database_name: LossyString,
            /// The object store.
            object_store_name: LossyString,
        }
        /// The content of a cache changed.
        event "cacheStorageContentUpdated" CacheStorageContentUpdated {
            /// The cache.
            cache_name: LossyString,
        }
    }
}
