//! The `Runtime` domain: script evaluation, remote objects, bindings and console.

use super::domain;
use crate::LossyString;
use serde_json::value::RawValue;

domain! { "Runtime";
    types {
        /// `RemoteObject`: a handle to a JavaScript value, or the value itself.
        type RemoteObject {
            /// `object`, `string`, `undefined` …
            r#type: String,
            /// `null`, `array`, `error`, `node` …
            subtype: String,
            /// The constructor's name.
            class_name: LossyString,
            /// The JSON value, when requested.
            value: Box<RawValue>,
            /// A primitive that JSON cannot represent: `NaN`, `Infinity`, `-0`, `12n`.
            unserializable_value: String,
            /// String representation of the value.
            description: LossyString,
            /// Remote object id.
            object_id: String,
            /// The deep-serialized value, when requested.
            deep_serialized_value: DeepValue,
        }
        /// A deep-serialized value.
        type DeepValue {
            /// `array`, `node` …
            r#type: String,
            /// The value; its form depends on the type.
            value: Box<RawValue>,
        }
        /// An argument of a function call.
        type CallArgument {
            /// Remote object id.
            object_id: String,
        }
        /// Serialization of a result.
        type SerializationOptions {
            /// `deep`: the value with its contents.
            serialization: String,
            /// Maximum depth.
            max_depth: i64,
            /// Additional parameters of the embedder.
            additional_parameters: Box<RawValue>,
        }
        /// A call frame of a stack trace.
        type CallFrame {
            /// URL of the script.
            url: LossyString,
            /// Line number, 0-based.
            line_number: i64,
        }
        /// A stack trace.
        type StackTrace {
            /// The call frames, innermost first.
            call_frames: Vec<CallFrame>,
        }
        /// Details of an uncaught exception.
        type ExceptionDetails {
            /// Summary, such as `Uncaught`.
            text: LossyString,
            /// Line number, 0-based.
            line_number: i64,
            /// Column number, 0-based.
            column_number: i64,
            /// The thrown value.
            exception: RemoteObject,
        }
    }
    methods {
        /// Evaluates an expression.
        fn "evaluate" Evaluate {
            /// The source of the expression.
            expression: String,
            /// The execution context; the main world when absent.
            context_id: Option<i64>,
            /// Serialization of the result.
            serialization_options: Option<SerializationOptions>,
            /// Object group that releases the returned handles.
            object_group: Option<String>,
            /// Return the result by value instead of a handle.
            return_by_value: Option<bool>,
            /// Await a returned promise.
            await_promise: Option<bool>,
            /// Treat the evaluation as initiated by the user (user activation).
            user_gesture: Option<bool>,
            /// REPL mode: allows top-level `await` and repeated `let`.
            repl_mode: Option<bool>,
            /// Terminate the script after this number of milliseconds.
            timeout: Option<f64>,
            /// Silent mode: no pause on exceptions and no console report.
            silent: Option<bool>,
        } -> EvaluateReply {
            /// The result.
            result: RemoteObject,
            /// Details of the exception, if one was thrown.
            exception_details: ExceptionDetails,
        }
        /// Awaits a promise.
        fn "awaitPromise" AwaitPromise {
            /// Remote object id of the promise.
            promise_object_id: String,
            /// Return the result by value instead of a handle.
            return_by_value: Option<bool>,
        } -> AwaitPromiseReply {
            /// The fulfillment value.
            result: RemoteObject,
            /// Details of the rejection.
            exception_details: ExceptionDetails,
        }
        /// Calls a function on a remote object.
        fn "callFunctionOn" CallFunctionOn {
            /// Source of the function.
            function_declaration: String,
            /// Remote object used as `this`.
            object_id: Option<String>,
            /// The arguments.
            arguments: Option<Vec<CallArgument>>,
            /// Execution context to call in, instead of an object.
            execution_context_id: Option<i64>,
            /// Return the result by value instead of a handle.
            return_by_value: Option<bool>,
            /// Await a returned promise.
            await_promise: Option<bool>,
            /// Treat the call as initiated by the user (user activation).
            user_gesture: Option<bool>,
            /// Serialization of the result.
            serialization_options: Option<SerializationOptions>,
            /// Silent mode: no pause on exceptions and no console report.
            silent: Option<bool>,
            /// Object group that releases the returned handles.
            object_group: Option<String>,
        } -> CallFunctionOnReply {
            /// The result.
            result: RemoteObject,
            /// Details of the exception, if one was thrown.
            exception_details: ExceptionDetails,
        }
        /// Terminates the running script.
        fn "terminateExecution" TerminateExecution {} -> TerminateExecutionReply {}
        /// Resumes a target that waits for the debugger.
        fn "runIfWaitingForDebugger" RunIfWaitingForDebugger {} -> RunIfWaitingForDebuggerReply {}
        /// Releases all remote objects of a group.
        fn "releaseObjectGroup" ReleaseObjectGroup {
            /// The object group.
            object_group: String,
        } -> ReleaseObjectGroupReply {}
        /// Releases a remote object.
        fn "releaseObject" ReleaseObject {
            /// The remote object id.
            object_id: String,
        } -> ReleaseObjectReply {}
        /// Adds a binding: a function by which scripts send a string to the client.
        fn "addBinding" AddBinding {
            /// Name of the function.
            name: String,
            /// Name of the execution contexts that get the binding.
            execution_context_name: Option<String>,
        } -> AddBindingReply {}
        /// Enables the domain's events: console calls and exceptions.
        fn "enable" Enable {} -> EnableReply {}
    }
    events {
        /// A script called a binding.
        event "bindingCalled" BindingCalled {
            /// Name of the binding.
            name: String,
            /// The string it passed.
            payload: LossyString,
        }
        /// A script called the console API.
        event "consoleAPICalled" ConsoleApiCalled {
            /// `log`, `warning`, `error` …
            r#type: String,
            /// The arguments.
            args: Vec<RemoteObject>,
            /// The stack trace.
            stack_trace: StackTrace,
        }
        /// A script threw an uncaught exception.
        event "exceptionThrown" ExceptionThrown {
            /// Details of the exception.
            exception_details: ExceptionDetails,
        }
    }
}
