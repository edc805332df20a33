//! The splitter, fed with arbitrary chunks, gives what a plain split of all the bytes gives.

use agbrowse_cdp::framing::Splitter;

/// Splits these chunks in both ways.
pub fn check(chunks: &[Vec<u8>]) {
    let mut splitter = Splitter::default();
    let mut messages = Vec::new();
    for chunk in chunks {
        splitter.buffer().extend_from_slice(chunk);
        while let Some(message) = splitter.next_message().expect("far below the limit") {
            messages.push(message.to_vec());
        }
    }

    let wire = chunks.concat();
    let mut pieces: Vec<&[u8]> = wire.split(|byte| *byte == 0).collect();
    let unfinished = pieces.pop().expect("a split has at least one piece");
    pieces.retain(|piece| !piece.is_empty());
    assert_eq!(messages, pieces);
    assert_eq!(splitter.unfinished(), unfinished.len());
}
