#![no_main]

#[path = "../bodies/frames.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|chunks: Vec<Vec<u8>>| body::check(&chunks));
