//! JavaScript in the page.

use super::domain;
use crate::Text;
use serde_json::value::RawValue;

domain! { "Runtime";
    types {
        /// A value in the page.
        type RemoteObject {
            /// `object`, `string`, `undefined` …
            r#type: String,
            /// `null`, `array`, `error`, `node` …
            subtype: String,
            /// The constructor's name.
            class_name: Text,
            /// The value as JSON, when it was asked for.
            value: Box<RawValue>,
            /// `NaN`, `Infinity`, `-0`, `12n`: what JSON cannot say.
            unserializable_value: String,
            /// The value in words.
            description: Text,
            /// A handle on it.
            object_id: String,
        }
        /// What a script threw.
        type ExceptionDetails {
            /// In short, such as `Uncaught`.
            text: Text,
            /// Counted from 0.
            line_number: i64,
            /// Counted from 0.
            column_number: i64,
            /// The thrown value.
            exception: RemoteObject,
        }
    }
    methods {
        /// Runs an expression.
        fn "evaluate" Evaluate {
            /// The source.
            expression: String,
            /// The world to run in; the page's own when absent.
            context_id: Option<i64>,
            /// Answer with the value itself instead of a handle.
            return_by_value: Option<bool>,
            /// Wait for a promise.
            await_promise: Option<bool>,
            /// Let the script do what needs a user's gesture.
            user_gesture: Option<bool>,
            /// Allow top-level `await` and repeated `let`.
            repl_mode: Option<bool>,
            /// Stop the script after so many milliseconds.
            timeout: Option<f64>,
            /// Silence the debugger.
            silent: Option<bool>,
        } -> EvaluateReply {
            /// What came out.
            result: RemoteObject,
            /// What was thrown.
            exception_details: ExceptionDetails,
        }
        /// Waits for a promise.
        fn "awaitPromise" AwaitPromise {
            /// The promise.
            promise_object_id: String,
            /// Answer with the value itself instead of a handle.
            return_by_value: Option<bool>,
        } -> AwaitPromiseReply {
            /// What it was fulfilled with.
            result: RemoteObject,
            /// What it was rejected with.
            exception_details: ExceptionDetails,
        }
        /// Calls a function on a handle.
        fn "callFunctionOn" CallFunctionOn {
            /// The function's source.
            function_declaration: String,
            /// What `this` is in it.
            object_id: Option<String>,
            /// Answer with the value itself instead of a handle.
            return_by_value: Option<bool>,
            /// Silence the debugger.
            silent: Option<bool>,
        } -> CallFunctionOnReply {
            /// What came out.
            result: RemoteObject,
            /// What was thrown.
            exception_details: ExceptionDetails,
        }
        /// Stops whatever script is running.
        fn "terminateExecution" TerminateExecution {} -> TerminateExecutionReply {}
        /// Lets a target that waits for us begin.
        fn "runIfWaitingForDebugger" RunIfWaitingForDebugger {} -> RunIfWaitingForDebuggerReply {}
        /// Lets go of a handle.
        fn "releaseObject" ReleaseObject {
            /// The handle.
            object_id: String,
        } -> ReleaseObjectReply {}
    }
}
