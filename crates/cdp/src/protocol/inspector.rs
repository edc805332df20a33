//! The life of a target.

use super::domain;

domain! { "Inspector";
    methods {
        /// Asks to be told of crashes.
        fn "enable" Enable {} -> EnableReply {}
    }
    events {
        /// The process behind the target died.
        event "targetCrashed" TargetCrashed {}
        /// The target lives again after a crash.
        event "targetReloadedAfterCrash" TargetReloadedAfterCrash {}
    }
}
