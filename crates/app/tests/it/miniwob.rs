//! MiniWoB++: small tasks on third-party pages, solved by a script that uses only the verbs of the program. Under
//! `./dev soak`, which downloads the pages; the table in `docs/benchmarks.md` is written from here.

use std::path::PathBuf;
use std::process::Command;

#[test]
fn torture_miniwob_tasks_are_solved() {
    let Some(pages) = std::env::var_os("AGBROWSE_MINIWOB") else {
        println!("skipped: `./dev soak` gets the pages and says where they are (AGBROWSE_MINIWOB)");
        return;
    };
    // The directory at run time: the test may have been compiled in another checkout.
    let root = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.md");
    let mut solver = Command::new("python3");
    solver
        .arg(root.join("tests/miniwob/solve.py"))
        .args(["--agbrowse", env!("CARGO_BIN_EXE_agbrowse"), "--pages"])
        .arg(PathBuf::from(pages))
        .arg("--report")
        .arg(&report);
    let status = solver.status().unwrap();
    assert!(status.success(), "{status}: fewer than 40 tasks or 95 % of the episodes were solved");
    let table = std::fs::read_to_string(&report).unwrap();
    let path = root.join("../../docs/benchmarks.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- miniwob: begin -->\n", "<!-- miniwob: end -->");
    let from = text.find(begin).expect("a place for the table") + begin.len();
    let to = text.find(end).expect("its end");
    let text = format!("{}{}\n{}", &text[..from], table.trim_end(), &text[to..]);
    std::fs::write(&path, text).unwrap();
}
