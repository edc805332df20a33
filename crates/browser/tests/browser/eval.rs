//! Scripts in the page.

use crate::harness::{browser_test, eval};
use agbrowse_browser::command::{Console, Eval, Open, Until};
use agbrowse_browser::{Code, Command, Outcome, Reply};

#[test]
fn values_are_returned_unchanged() {
    browser_test(async |t| {
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
        // Non-ASCII characters are preserved.
        let odd = t.run(eval("'a\\ud800b\\0c'")).await.unwrap();
        assert_eq!(odd.reply.to_string(), "a\u{FFFD}b\0c");
        let long = t.eval("'x'.repeat(3_000_000)").await;
        assert_eq!(long.len(), 3_000_002);
    });
}

#[test]
fn script_failures_are_typed_errors() {
    browser_test(async |t| {
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
fn endless_script_is_stopped_and_page_survives() {
    browser_test(async |t| {
        let error = t.run_within(400, eval("while (true) {}")).await.unwrap_err();
        assert_eq!(error.code(), Code::CommandTimeout);
        assert_eq!(t.eval("1").await, "1");
        let error = t.run_within(200, eval("new Promise(() => {})")).await.unwrap_err();
        assert_eq!(error.code(), Code::CommandTimeout, "{error}");
        assert_eq!(t.eval("2").await, "2");
    });
}

#[test]
fn dropped_command_is_cancelled() {
    browser_test(async |t| {
        let endless = t.run(eval("console.log('under way'); while (true) {}"));
        let under_way = async {
            // The console is read without a call to the page.
            let console = Command::Console(Console::default());
            while !t.run(console.clone()).await.unwrap().reply.to_string().contains("under way") {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            done = endless => panic!("it ended: {done:?}"),
            () = under_way => {}
        }
        // The turn is released and the script stopped long before the deadline of 30 s.
        let outcome = t.run_within(5000, eval("1")).await.unwrap();
        let Outcome { reply: Reply::Eval(result), .. } = outcome else { panic!("no result") };
        assert_eq!(result.to_string(), "1");
    });
}

#[test]
fn endless_element_function_is_stopped_and_page_survives() {
    browser_test(async |t| {
        t.page("/page", "<button>Go</button>");
        t.open("/page").await;
        let on = |script: &str| {
            let on = Some("css=button".parse().unwrap());
            Command::Eval(Eval { script: script.into(), on, ..Eval::default() })
        };
        let error = t.run_within(500, on("() => { while (true) {} }")).await.unwrap_err();
        assert_eq!(error.code(), Code::CommandTimeout, "{error}");
        assert_eq!(t.eval("1").await, "1");
        let error = t.run(on("it => alert(it.textContent)")).await.unwrap_err();
        assert_eq!(error.code(), Code::PageDialogOpen, "{error}");
    });
}

#[test]
fn command_dropped_at_any_time_is_cancelled() {
    browser_test(async |t| {
        // The terminate call may reach the page before the script does.
        for pause in 0..12 {
            let endless = t.run(eval("while (true) {}"));
            let pause = std::time::Duration::from_micros(100 * pause);
            assert!(tokio::time::timeout(pause, endless).await.is_err());
            let outcome = t.run_within(5000, eval("1")).await.unwrap();
            assert_eq!(outcome.reply.to_string(), "1");
        }
    });
}

#[test]
fn script_looping_after_await_is_stopped() {
    browser_test(async |t| {
        let pause = "await new Promise((done) => setTimeout(done, 30)); while (true) {}";
        for script in [pause.to_owned(), format!("(async () => {{ {pause} }})()")] {
            let error = t.run_within(600, eval(&script)).await.unwrap_err();
            assert_eq!(error.code(), Code::CommandTimeout, "{script}: {error}");
            assert_eq!(t.run_within(5000, eval("1")).await.unwrap().reply.to_string(), "1");
        }
        // A page that was busy before is not caused by the script.
        t.page("/loop", "<script>setTimeout(() => { const end = Date.now() + 3000; while (Date.now() < end) {} }, 0)</script>");
        let stuck = Open { url: t.url("/loop"), until: Until::Commit, new_tab: false };
        t.run(Command::Open(stuck)).await.unwrap();
        while t.run_within(100, eval("1")).await.is_ok() {}
        let error = t.run_within(300, eval("await 1")).await.unwrap_err();
        assert_eq!(error.code(), Code::PageUnresponsive, "{error}");
    });
}
