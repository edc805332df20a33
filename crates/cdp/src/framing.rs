//! Framing of the pipe: messages separated by a NUL byte.
//!
//! No IO here, so that the splitter can be fuzzed: bytes go in as they come, whole messages come out.

use bytes::{Bytes, BytesMut};

/// Longest message we accept. One accessibility tree of a large page is 16 MB; this is far above it, and
/// far below what would bring the machine down.
pub const MAX_MESSAGE: usize = 512 << 20;

/// A buffer that grew past this for one large message is given back when it is empty again.
const KEEP: usize = 256 << 10;

/// Splits a stream of bytes into NUL-terminated messages.
#[derive(Debug, Default)]
pub struct Splitter {
    buffer: BytesMut,
    /// Bytes at the front that are known to hold no NUL, so they are looked at once only.
    scanned: usize,
}

/// A message grew past [`MAX_MESSAGE`] without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message of more than {MAX_MESSAGE} bytes")]
pub struct MessageTooLong;

impl Splitter {
    /// Where the next bytes are to be read into.
    pub fn buffer(&mut self) -> &mut BytesMut {
        if self.buffer.is_empty() && self.buffer.capacity() > KEEP {
            self.buffer = BytesMut::new();
        }
        self.buffer.reserve(16 << 10);
        &mut self.buffer
    }

    /// The next whole message, without its NUL. Empty messages are skipped.
    ///
    /// # Errors
    /// [`MessageTooLong`] when the message under way cannot end within the limit.
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

    /// How many bytes wait for the end of their message.
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
    fn a_message_may_come_in_pieces() {
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
    fn a_large_buffer_is_given_back() {
        let mut splitter = Splitter::default();
        splitter.buffer().extend_from_slice(&vec![b'x'; 4 << 20]);
        splitter.buffer().extend_from_slice(b"\0");
        drop(splitter.next_message().unwrap());
        assert!(splitter.buffer().capacity() <= KEEP);
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_messages(
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
        fn no_input_breaks_the_splitter(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..32)) {
            let chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
            let total: usize = chunks.iter().map(|chunk| chunk.len()).sum();
            let out = split(&chunks);
            prop_assert!(out.iter().map(Vec::len).sum::<usize>() <= total);
            prop_assert!(out.iter().all(|message| !message.contains(&0)));
        }
    }
}
