//! The `Input` domain: mouse, keyboard, text and drag events.

use super::domain;

domain! { "Input";
    types {
        /// An item of drag data.
        type DragDataItem {
            /// MIME type of the data.
            mime_type: String,
            /// The data.
            data: crate::LossyString,
            /// Title of a dragged link.
            title: crate::LossyString,
            /// Base URL of a dragged HTML fragment.
            #[serde(rename = "baseURL")]
            base_url: crate::LossyString,
        }
        /// The data of a drag.
        type DragData {
            /// The items.
            items: Vec<DragDataItem>,
            /// Paths of files.
            files: Vec<String>,
            /// Bit mask of the operations that the drag source allows.
            drag_operations_mask: i64,
        }
    }
    methods {
        /// Dispatches a mouse event: move, press, release or wheel.
        fn "dispatchMouseEvent" DispatchMouseEvent {
            /// `mousePressed`, `mouseReleased`, `mouseMoved` or `mouseWheel`.
            r#type: String,
            /// CSS pixels from the left of the main frame's viewport.
            x: f64,
            /// CSS pixels from the top of the main frame's viewport.
            y: f64,
            /// Bit mask of pressed modifier keys.
            modifiers: Option<i64>,
            /// `none`, `left`, `middle`, `right`.
            button: Option<String>,
            /// Bit mask of pressed buttons.
            buttons: Option<i64>,
            /// Consecutive click count.
            click_count: Option<i64>,
            /// Horizontal wheel delta.
            delta_x: Option<f64>,
            /// Vertical wheel delta.
            delta_y: Option<f64>,
        } -> DispatchMouseEventReply {}
        /// Dispatches a key event.
        fn "dispatchKeyEvent" DispatchKeyEvent {
            /// `keyDown`, `keyUp`, `rawKeyDown` or `char`.
            r#type: String,
            /// Bit mask of pressed modifier keys.
            modifiers: Option<i64>,
            /// Text that the key generates.
            text: Option<String>,
            /// Text that the key would generate without modifiers.
            unmodified_text: Option<String>,
            /// DOM `code`: the physical key.
            code: Option<String>,
            /// DOM `key`: the key value.
            key: Option<String>,
            /// Windows virtual key code.
            windows_virtual_key_code: Option<i64>,
            /// Location of a key that exists twice: 1 left, 2 right, 3 keypad.
            location: Option<i64>,
            /// Editing commands to send with the event.
            commands: Option<Vec<String>>,
        } -> DispatchKeyEventReply {}
        /// Inserts text at once, as an input method does.
        fn "insertText" InsertText {
            /// The text.
            text: String,
        } -> InsertTextReply {}
        /// Intercepts drags: emits `dragIntercepted` instead of starting a system drag.
        fn "setInterceptDrags" SetInterceptDrags {
            /// Enable or disable.
            enabled: bool,
        } -> SetInterceptDragsReply {}
        /// Dispatches a drag event.
        fn "dispatchDragEvent" DispatchDragEvent {
            /// `dragEnter`, `dragOver`, `drop` or `dragCancel`.
            r#type: String,
            /// CSS pixels from the left of the main frame's viewport.
            x: f64,
            /// CSS pixels from the top of the main frame's viewport.
            y: f64,
            /// The drag data.
            data: Option<DragData>,
            /// Bit mask of pressed modifier keys.
            modifiers: Option<i64>,
        } -> DispatchDragEventReply {}
    }
    events {
        /// A drag started.
        event "dragIntercepted" DragIntercepted {
            /// The drag data.
            data: DragData,
        }
    }
}
