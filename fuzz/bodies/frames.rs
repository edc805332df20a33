//! Fuzzes the splitter with arbitrary chunks: the result equals a plain split of all bytes.

use agbrowse_cdp::framing::Splitter;

/// Splits these chunks in both ways and compares the results.
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
    let mut expected: Vec<&[u8]> = wire.split(|byte| *byte == 0).collect();
    let unfinished = expected.pop().expect("a split has at least one part");
    expected.retain(|message| !message.is_empty());
    assert_eq!(messages, expected);
    assert_eq!(splitter.unfinished(), unfinished.len());
}
