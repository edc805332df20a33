//! What a page is told about its screen and focus.

use super::domain;

domain! { "Emulation";
    methods {
        /// Lets a page believe that it has the focus, so that several tabs can work at the same time.
        fn "setFocusEmulationEnabled" SetFocusEmulationEnabled {
            /// On or off.
            enabled: bool,
        } -> SetFocusEmulationEnabledReply {}
        /// Sets the size of the view.
        fn "setDeviceMetricsOverride" SetDeviceMetricsOverride {
            /// CSS pixels.
            width: u32,
            /// CSS pixels.
            height: u32,
            /// 0 keeps the screen's own.
            device_scale_factor: f64,
            /// Whether the page is told that it is on a phone.
            mobile: bool,
        } -> SetDeviceMetricsOverrideReply {}
    }
}
