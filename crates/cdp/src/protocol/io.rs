//! The `IO` domain: streams that hold large results.

use super::domain;

domain! { "IO";
    methods {
        /// Reads the next chunk of a stream.
        fn "read" Read {
            /// The stream handle.
            handle: String,
            /// Maximum number of bytes to read.
            size: Option<u32>,
        } -> ReadReply {
            /// The chunk.
            data: String,
            /// The chunk is base64.
            base64_encoded: bool,
            /// End of the stream.
            eof: bool,
        }
        /// Closes a stream.
        fn "close" Close {
            /// The stream handle.
            handle: String,
        } -> CloseReply {}
    }
}
