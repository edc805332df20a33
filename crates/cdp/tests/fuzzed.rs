//! Runs the bodies of the fuzz targets on a few inputs in every test run; long fuzzing needs a compiler of
//! its own.
#![allow(unreachable_pub, reason = "a test binary exports nothing")]

#[path = "../../../fuzz/bodies/envelope.rs"]
mod envelope;
#[path = "../../../fuzz/bodies/frames.rs"]
mod frames;

#[test]
fn fuzzed_splitter_bodies_pass() {
    for chunks in [
        &[][..],
        &["\0"],
        &["\0\0", "", "\0"],
        &["{}\0{}\0"],
        &["{\"a\"", ":1}", "\0{", "}\0", "rest"],
        &["one\0two", "\0\0three\0"],
    ] {
        let chunks: Vec<Vec<u8>> = chunks.iter().map(|chunk| chunk.as_bytes().to_vec()).collect();
        frames::check(&chunks);
    }
}

#[test]
fn fuzzed_envelope_bodies_pass() {
    for bytes in [
        &b""[..],
        b"\0\0\0",
        b"{",
        b"\xff\xfe\0[]\0null\0\"\"",
        b"{\"id\":1,\"result\":{\"product\":\"too early\"}}",
        b"{\"id\":-1}\0{\"id\":18446744073709551616}\0{\"id\":\"1\"}",
        b"{\"method\":\"Fuzz.mark\",\"params\":{}}\0{\"method\":7}",
        b"{\"method\":\"Target.attachedToTarget\",\"sessionId\":\"\\ud800\"}",
    ] {
        envelope::check(bytes);
    }
}

#[test]
fn fuzz_targets_match_their_bodies() {
    let fuzz = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = std::fs::read_to_string(fuzz.join("Cargo.toml")).expect("it is there");
    for name in ["envelope", "frames"] {
        assert!(manifest.contains(&format!("path = \"targets/{name}.rs\"")), "{manifest}");
        let target = std::fs::read_to_string(fuzz.join(format!("targets/{name}.rs")));
        let target = target.expect("it is there");
        assert!(target.contains(&format!("\"../bodies/{name}.rs\"")), "{target}");
    }
    assert_eq!(manifest.matches("[[bin]]").count(), 2, "one that is built by no check");
}
