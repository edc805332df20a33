//! Streams that the browser hands out for large results.

use super::domain;

domain! { "IO";
    methods {
        /// Reads the next piece of a stream.
        fn "read" Read {
            /// The stream.
            handle: String,
            /// Bytes at most.
            size: Option<u32>,
        } -> ReadReply {
            /// The piece.
            data: String,
            /// Whether the piece is base64.
            base64_encoded: bool,
            /// Whether it was the last.
            eof: bool,
        }
        /// Gives a stream back.
        fn "close" Close {
            /// The stream.
            handle: String,
        } -> CloseReply {}
    }
}
