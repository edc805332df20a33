//! The `Emulation` domain: focus and viewport emulation.

use super::domain;

domain! { "Emulation";
    methods {
        /// Emulates focus, so that several tabs can work at the same time.
        fn "setFocusEmulationEnabled" SetFocusEmulationEnabled {
            /// Enable or disable.
            enabled: bool,
        } -> SetFocusEmulationEnabledReply {}
        /// Overrides the viewport size and device metrics.
        fn "setDeviceMetricsOverride" SetDeviceMetricsOverride {
            /// Width in CSS pixels.
            width: u32,
            /// Height in CSS pixels.
            height: u32,
            /// Device pixel ratio; 0 uses the screen's own.
            device_scale_factor: f64,
            /// Emulate a mobile device.
            mobile: bool,
        } -> SetDeviceMetricsOverrideReply {}
    }
}
