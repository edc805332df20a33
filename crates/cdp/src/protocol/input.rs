//! What a hand does: mouse, keys, text, dragged data.

use super::domain;

domain! { "Input";
    types {
        /// Something that is dragged.
        type DragDataItem {
            /// What kind of data it is.
            mime_type: String,
            /// The data.
            data: crate::LossyString,
            /// A link's title.
            title: crate::LossyString,
            /// The address that a fragment of markup belongs to.
            #[serde(rename = "baseURL")]
            base_url: crate::LossyString,
        }
        /// Everything that is dragged together.
        type DragData {
            /// The items.
            items: Vec<DragDataItem>,
            /// Paths of files.
            files: Vec<String>,
            /// Which operations the source allows, as bits.
            drag_operations_mask: i64,
        }
    }
    methods {
        /// Moves, presses, releases or turns the wheel.
        fn "dispatchMouseEvent" DispatchMouseEvent {
            /// `mousePressed`, `mouseReleased`, `mouseMoved` or `mouseWheel`.
            r#type: String,
            /// CSS pixels from the left of the main frame's view.
            x: f64,
            /// CSS pixels from its top.
            y: f64,
            /// Which modifier keys are down, as bits.
            modifiers: Option<i64>,
            /// `none`, `left`, `middle`, `right`.
            button: Option<String>,
            /// Which buttons are down, as bits.
            buttons: Option<i64>,
            /// Which click of several it is.
            click_count: Option<i64>,
            /// How far the wheel turns to the right.
            delta_x: Option<f64>,
            /// How far the wheel turns down.
            delta_y: Option<f64>,
        } -> DispatchMouseEventReply {}
        /// Presses or releases a key.
        fn "dispatchKeyEvent" DispatchKeyEvent {
            /// `keyDown`, `keyUp`, `rawKeyDown` or `char`.
            r#type: String,
            /// Which modifier keys are down, as bits.
            modifiers: Option<i64>,
            /// What it types.
            text: Option<String>,
            /// What it would type without modifiers.
            unmodified_text: Option<String>,
            /// Where it is on the keyboard.
            code: Option<String>,
            /// What it is called.
            key: Option<String>,
            /// Its old number.
            windows_virtual_key_code: Option<i64>,
            /// Where on the keyboard, when there are two: 1 left, 2 right, 3 keypad.
            location: Option<i64>,
            /// What an editor shall do.
            commands: Option<Vec<String>>,
        } -> DispatchKeyEventReply {}
        /// Types a text at once, as an input method does.
        fn "insertText" InsertText {
            /// The text.
            text: String,
        } -> InsertTextReply {}
        /// Tells of drags instead of letting the system have them.
        fn "setInterceptDrags" SetInterceptDrags {
            /// On or off.
            enabled: bool,
        } -> SetInterceptDragsReply {}
        /// Drags data over the page.
        fn "dispatchDragEvent" DispatchDragEvent {
            /// `dragEnter`, `dragOver`, `drop` or `dragCancel`.
            r#type: String,
            /// CSS pixels from the left of the main frame's view.
            x: f64,
            /// CSS pixels from its top.
            y: f64,
            /// What is dragged.
            data: Option<DragData>,
            /// Which modifier keys are down, as bits.
            modifiers: Option<i64>,
        } -> DispatchDragEventReply {}
    }
    events {
        /// A drag began.
        event "dragIntercepted" DragIntercepted {
            /// What is dragged.
            data: DragData,
        }
    }
}
