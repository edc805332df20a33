//! Scripts in the page.

use crate::bench::{bench, eval};
use agbrowse_browser::{Code, Outcome, Reply};

#[test]
fn values_come_back_as_they_are() {
    bench(async |t| {
        for (script, expected) in [
            ("1 + 1", "2"),
            ("'text'", "\"text\""),
            ("null", "null"),
            ("(() => 1)", "function"),
            ("undefined", "undefined"),
            ("({ a: [1, { b: true }] })", "{\"a\":[1,{\"b\":true}]}"),
            ("NaN", "NaN"),
            ("-0", "-0"),
            ("10n ** 20n", "100000000000000000000n"),
            ("Symbol('x').toString()", "\"Symbol(x)\""),
            ("new Promise(done => setTimeout(() => done([7]), 20))", "[7]"),
            ("await 5", "5"),
            ("const twice = 1; twice", "1"),
            ("const twice = 2; twice", "2"),
            ("[].concat([1], [2])", "[1,2]"),
        ] {
            assert_eq!(t.eval(script).await, expected, "{script}");
        }
        // Another world's characters survive the journey.
        let odd = t.run(eval("'a\\ud800b\\0c'")).await.unwrap();
        assert_eq!(odd.reply.to_string(), "a\u{FFFD}b\0c");
        let long = t.eval("'x'.repeat(3_000_000)").await;
        assert_eq!(long.len(), 3_000_002);
    });
}

#[test]
fn failures_say_what_failed() {
    bench(async |t| {
        for (script, code, part) in [
            ("throw new TypeError('no\\nmore')", Code::EvalThrew, "TypeError: no"),
            ("throw 7", Code::EvalThrew, "7"),
            ("Promise.reject(new Error('later'))", Code::EvalThrew, "Error: later"),
            ("1 +", Code::EvalThrew, "SyntaxError"),
            ("nothing.here", Code::EvalThrew, "ReferenceError"),
            ("window", Code::EvalNotSerializable, "JSON"),
            ("const ring = {}; ring.ring = ring; ring", Code::EvalNotSerializable, "JSON"),
        ] {
            let error = t.run(eval(script)).await.unwrap_err();
            assert_eq!(error.code(), code, "{script}: {error}");
            assert!(error.to_string().contains(part), "{script}: {error}");
        }
    });
}

#[test]
fn an_endless_script_of_ours_is_stopped_and_the_page_lives() {
    bench(async |t| {
        let error = t.run_within(400, eval("while (true) {}")).await.unwrap_err();
        assert_eq!(error.code(), Code::CommandTimeout);
        assert_eq!(t.eval("1").await, "1");
        let error = t.run_within(200, eval("new Promise(() => {})")).await.unwrap_err();
        assert_eq!(error.code(), Code::CommandTimeout, "{error}");
        assert_eq!(t.eval("2").await, "2");
    });
}

#[test]
fn a_dropped_command_is_cancelled() {
    bench(async |t| {
        t.eval("window.count = 0").await;
        let endless = t.run(eval("while (true) { window.count++ }"));
        let moment = tokio::time::sleep(std::time::Duration::from_millis(100));
        tokio::select! {
            done = endless => panic!("it ended: {done:?}"),
            () = moment => {}
        }
        // Its turn is given back and its script has been stopped, long before the deadline of 30 s.
        let outcome = t.run_within(5000, eval("window.count > 0")).await.unwrap();
        let Outcome { reply: Reply::Eval(result), .. } = outcome else { panic!("no result") };
        assert_eq!(result.to_string(), "true");
    });
}
