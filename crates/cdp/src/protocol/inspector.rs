//! The `Inspector` domain: crash and reload of a target.

use super::domain;

domain! { "Inspector";
    methods {
        /// Enables the domain's events.
        fn "enable" Enable {} -> EnableReply {}
    }
    events {
        /// The target's process crashed.
        event "targetCrashed" TargetCrashed {}
        /// The target was reloaded after a crash.
        event "targetReloadedAfterCrash" TargetReloadedAfterCrash {}
    }
}
