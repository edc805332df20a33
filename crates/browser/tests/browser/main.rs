//! Real-browser tests: one Chromium per process, a fresh context per test, pages served on loopback. `./dev test` runs all
//! but those in `alone` in one process: to start a browser takes more than most tests do.
#![allow(unreachable_pub, reason = "a test binary exports nothing")]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests may fail loudly")]

mod alone;
mod bench;
mod cancellation;
mod changes;
mod corpus;
mod deltas;
mod dialogs;
mod dragging;
mod editors;
mod evaluating;
mod frames;
mod frameworks;
mod hostile;
mod labels;
mod launching;
mod layouts;
mod local_files;
mod meaning;
mod media;
mod mouse;
mod navigation;
mod outcomes;
mod pictures;
mod probes;
mod proxies;
mod receipts;
mod secrets;
mod sight;
mod sources;
mod storage;
mod stuck;
mod tabs;
mod telling;
mod unseen;
mod warped;
mod widgets;
