//! Dialogs: reported at once, not blocking other tabs, answered on request.

use crate::harness::{browser_test, eval, open};
use agbrowse_browser::command::{Answer, DialogCommand, Eval, Snapshot, TreeSource};
use agbrowse_browser::{Code, Command};

fn answer(answer: Answer) -> Command {
    Command::Dialog(DialogCommand { answer })
}

#[test]
fn dialog_is_reported_and_answered() {
    browser_test(async |t| {
        t.page("/", "<title>asks</title>");
        t.open("/").await;
        for (script, reply, expected) in [
            ("confirm('Sure?')", Answer::Accept { text: None }, "true"),
            ("confirm('Sure?')", Answer::Dismiss, "false"),
            ("prompt('Name?')", Answer::Accept { text: Some("Ada".into()) }, "\"Ada\""),
            ("prompt('Name?', 'Bob')", Answer::Accept { text: None }, "\"Bob\""),
            ("prompt('Name?', 'Bob')", Answer::Accept { text: Some(String::new()) }, "\"\""),
            ("prompt('Name?')", Answer::Dismiss, "null"),
            ("alert('Look')", Answer::Accept { text: None }, "null"),
        ] {
            let script = format!("window.said = undefined; window.said = {script} ?? null");
            let error = t.run(eval(&script)).await.unwrap_err();
            assert_eq!(error.code(), Code::PageDialogOpen, "{script}");
            // Still open: every command fails at once instead of waiting for its deadline.
            assert_eq!(t.run(eval("1")).await.unwrap_err().code(), Code::PageDialogOpen);
            assert!(t.tabs().await[0].dialog.is_some());
            t.run(answer(reply)).await.unwrap();
            assert_eq!(t.eval("window.said").await, expected, "{script}");
        }
        assert_eq!(t.run(answer(Answer::Dismiss)).await.unwrap_err().code(), Code::PageNoDialog);
    });
}

#[test]
fn dialog_during_load_is_a_note() {
    browser_test(async |t| {
        t.page("/", "<title>hello</title><script>alert('hello')</script><p>after");
        let outcome = t.open("/").await;
        assert_eq!(outcome.notes.last().unwrap().code, "dialog-open");
        t.run(answer(Answer::Accept { text: None })).await.unwrap();
        t.wait_until("document.readyState === 'complete'").await;
    });
}

#[test]
fn beforeunload_dialog_is_reported() {
    browser_test(async |t| {
        t.page(
            "/",
            "<title>stay</title><script>onbeforeunload = event => event.preventDefault()</script>",
        );
        t.page("/next", "<title>next</title>");
        t.open("/").await;
        // Chromium shows a beforeunload dialog only after a user gesture.
        let used = Eval { script: "1".into(), gesture: true, ..Eval::default() };
        t.run(Command::Eval(used)).await.unwrap();
        assert_eq!(t.run(open(&t.url("/next"))).await.unwrap_err().code(), Code::PageDialogOpen);
        t.run(answer(Answer::Accept { text: None })).await.unwrap();
        t.wait_until("document.title === 'next'").await;
    });
}

#[test]
fn dialog_during_snapshot_is_reported_at_once() {
    browser_test(async |t| {
        t.page("/early", "<p>before<script>alert('hi')</script>");
        t.page("/late", "<body onload=\"confirm('sure?')\"><p>words");
        for (path, source) in
            [("/early", TreeSource::Page), ("/late", TreeSource::Page), ("/early", TreeSource::Ax)]
        {
            let snapshot = Snapshot { url: Some(t.url(path)), source, ..Snapshot::default() };
            let error = t.run(Command::Snapshot(snapshot)).await.unwrap_err();
            assert_eq!(error.code(), Code::PageDialogOpen, "{path}: {error}");
            t.run(answer(Answer::Dismiss)).await.unwrap();
        }
    });
}
