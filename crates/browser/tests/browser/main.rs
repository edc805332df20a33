//! Real-browser tests: one Chromium per process, a fresh context per test, pages served on loopback. `./dev test` runs all
//! but those in `alone` in one process, because launching a browser takes longer than most tests.
#![allow(unreachable_pub, reason = "a test binary exports nothing")]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests may fail loudly")]

mod alone;
mod cancellation;
mod corpus;
mod deltas;
mod dialogs;
mod dragging;
mod editors;
mod eval;
mod frames;
mod frameworks;
mod harness;
mod hidden_text;
mod hostile;
mod incremental_walk;
mod labels;
mod launch;
mod layouts;
mod local_files;
mod media;
mod mouse;
mod navigation;
mod outcomes;
mod probes;
mod proxies;
mod receipts;
mod recorder;
mod ref_torture;
mod screenshot_pdf;
mod secrets;
mod snapshot;
mod snapshot_notes;
mod sources;
mod storage;
mod stuck;
mod tabs;
mod warped;
mod widgets;
