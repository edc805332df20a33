//! JavaScript in the page.

use super::domain;
use crate::LossyString;
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
            class_name: LossyString,
            /// The value as JSON, when it was asked for.
            value: Box<RawValue>,
            /// `NaN`, `Infinity`, `-0`, `12n`: what JSON cannot say.
            unserializable_value: String,
            /// The value in words.
            description: LossyString,
            /// A handle on it.
            object_id: String,
            /// The value with everything in it, when it was asked for.
            deep_serialized_value: DeepValue,
        }
        /// A value with everything in it.
        type DeepValue {
            /// `array`, `node` …
            r#type: String,
            /// The value; what it is depends on the type.
            value: Box<RawValue>,
        }
        /// What a function is given.
        type CallArgument {
            /// A handle.
            object_id: String,
        }
        /// How a value comes back.
        type SerializationOptions {
            /// `deep`: with everything in it.
            serialization: String,
            /// How deep.
            max_depth: i64,
            /// What else, by the embedder of V8.
            additional_parameters: Box<RawValue>,
        }
        /// A place in a script.
        type CallFrame {
            /// The script.
            url: LossyString,
            /// The line, from 0.
            line_number: i64,
        }
        /// How a script got where it is.
        type StackTrace {
            /// The innermost first.
            call_frames: Vec<CallFrame>,
        }
        /// What a script threw.
        type ExceptionDetails {
            /// In short, such as `Uncaught`.
            text: LossyString,
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
            /// Answer with more than the value.
            serialization_options: Option<SerializationOptions>,
            /// What the handles that come back are let go with.
            object_group: Option<String>,
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
            /// What it is given.
            arguments: Option<Vec<CallArgument>>,
            /// The world to call it in, without a handle.
            execution_context_id: Option<i64>,
            /// Answer with the value itself instead of a handle.
            return_by_value: Option<bool>,
            /// Wait for a promise.
            await_promise: Option<bool>,
            /// Let the function do what needs a user's gesture.
            user_gesture: Option<bool>,
            /// Answer with more than the value.
            serialization_options: Option<SerializationOptions>,
            /// Silence the debugger.
            silent: Option<bool>,
            /// What the handles that come back are let go with.
            object_group: Option<String>,
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
        /// Lets go of all handles of a group.
        fn "releaseObjectGroup" ReleaseObjectGroup {
            /// The group.
            object_group: String,
        } -> ReleaseObjectGroupReply {}
        /// Lets go of a handle.
        fn "releaseObject" ReleaseObject {
            /// The handle.
            object_id: String,
        } -> ReleaseObjectReply {}
        /// Gives scripts a function by which they hand us a text.
        fn "addBinding" AddBinding {
            /// What it is called.
            name: String,
            /// The worlds that have it.
            execution_context_name: Option<String>,
        } -> AddBindingReply {}
        /// Begins to tell of what scripts say and throw.
        fn "enable" Enable {} -> EnableReply {}
    }
    events {
        /// A script handed us a text.
        event "bindingCalled" BindingCalled {
            /// The function by which.
            name: String,
            /// The text.
            payload: LossyString,
        }
        /// A script wrote to the console.
        event "consoleAPICalled" ConsoleApiCalled {
            /// `log`, `warning`, `error` …
            r#type: String,
            /// What it wrote.
            args: Vec<RemoteObject>,
            /// Where.
            stack_trace: StackTrace,
        }
        /// A script threw something that nobody caught.
        event "exceptionThrown" ExceptionThrown {
            /// What and where.
            exception_details: ExceptionDetails,
        }
    }
}
