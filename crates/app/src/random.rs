//! Random words: tokens and names that cannot be guessed.

/// Eight hexadecimal digits from the system's random source.
pub(crate) fn word() -> String {
    let mut bytes = [0_u8; 4];
    if rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).is_err() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        bytes = now.unwrap_or_default().subsec_nanos().to_le_bytes();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
