//! Framing of the pipe transport: messages separated by a NUL byte.
//!
//! Does no IO, so that the splitter can be fuzzed: bytes in, whole messages out.

use bytes::{Bytes, BytesMut};

/// Longest accepted message. The accessibility tree of a large page is 16 MB; this is far above it, and far
/// below the memory of a machine.
pub const MAX_MESSAGE: usize = 512 << 20;

/// An empty buffer with more capacity than this is released (it grew for one large message).
const MAX_RETAINED: usize = 256 << 10;

/// Splits a stream of bytes into NUL-terminated messages.
#[derive(Debug, Default)]
pub struct Splitter {
    buffer: BytesMut,
    /// Number of leading bytes known to hold no NUL, so that each byte is scanned once.
    scanned: usize,
}

/// A message exceeds [`MAX_MESSAGE`] without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message of more than {MAX_MESSAGE} bytes")]
pub struct MessageTooLong;

impl Splitter {
    /// The buffer to read the next bytes into.
    pub fn buffer(&mut self) -> &mut BytesMut {
        if self.buffer.is_empty() && self.buffer.capacity() > MAX_RETAINED {
            self.buffer = BytesMut::new();
        }
        self.buffer.reserve(16 << 10);
        &mut self.buffer
    }

    /// The next whole message, without its NUL. Empty messages are skipped.
    ///
    /// # Errors
    /// [`MessageTooLong`] when the unfinished message exceeds the limit.
    pub fn next_message(&mut self) -> Result<Option<Bytes>, MessageTooLong> {
        while let Some(found) = memchr::memchr(0, &self.buffer[self.scanned..]) {
            let end = self.scanned + found;
            let mut message = self.buffer.split_to(end + 1);
            message.truncate(end);
            self.scanned = 0;
            if !message.is_empty() {
                return Ok(Some(message.freeze()));
            }
        }
        self.scanned = self.buffer.len();
        if self.scanned > MAX_MESSAGE { Err(MessageTooLong) } else { Ok(None) }
    }

    /// Number of bytes of the unfinished message.
    pub fn unfinished(&self) -> usize {
        self.buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(chunks: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut splitter = Splitter::default();
        let mut out = Vec::new();
        for chunk in chunks {
            splitter.buffer().extend_from_slice(chunk);
            while let Some(message) = splitter.next_message().unwrap() {
                out.push(message.to_vec());
            }
        }
        out
    }

    #[test]
    fn message_split_over_chunks_is_joined() {
        assert_eq!(
            split(&[b"{\"id", b"\":1}", b"\0{}\0{", b"}\0"]),
            [&b"{\"id\":1}"[..], b"{}", b"{}"]
        );
    }

    #[test]
    fn empty_messages_are_skipped() {
        assert_eq!(split(&[b"\0\0a\0\0"]), [b"a"]);
    }

    #[test]
    fn large_empty_buffer_is_released() {
        let mut splitter = Splitter::default();
        splitter.buffer().extend_from_slice(&vec![b'x'; 4 << 20]);
        splitter.buffer().extend_from_slice(b"\0");
        drop(splitter.next_message().unwrap());
        assert!(splitter.buffer().capacity() <= MAX_RETAINED);
    }

    proptest! {
        #[test]
        fn messages_do_not_depend_on_chunk_borders(
            messages in prop::collection::vec(prop::collection::vec(1u8..=255, 1..200), 0..20),
            cuts in prop::collection::vec(1usize..64, 1..40),
        ) {
            let mut wire = Vec::new();
            for message in &messages {
                wire.extend_from_slice(message);
                wire.push(0);
            }
            let (mut chunks, mut rest, mut cuts) = (Vec::new(), &wire[..], cuts.iter().cycle());
            while !rest.is_empty() {
                let (head, tail) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
                chunks.push(head);
                rest = tail;
            }
            prop_assert_eq!(split(&chunks), messages);
        }

        #[test]
        fn splitter_accepts_arbitrary_bytes(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..32)) {
            let chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
            let total: usize = chunks.iter().map(|chunk| chunk.len()).sum();
            let out = split(&chunks);
            prop_assert!(out.iter().map(Vec::len).sum::<usize>() <= total);
            prop_assert!(out.iter().all(|message| !message.contains(&0)));
        }
    }
}
