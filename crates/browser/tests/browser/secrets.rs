//! Secrets: passwords, one-time codes, card numbers and tokens are in no output.

use crate::harness::{TestContext, browser_test, eval, open};
use crate::snapshot::{details, get, open_html, snapshot_text};
use agbrowse_browser::Command;
use agbrowse_browser::command::{
    Answer, Console, DialogCommand, Find, Get, Property, Requests, Snapshot, TabAction, TabCommand,
    Tabs, TreeSource,
};

/// The common part of every secret below.
const SECRET: &str = "S3K";

/// Masked and unmasked texts, shared with the tests of `page::mask`.
const CASES: &str = include_str!("../../../page/tests/secrets.json");

fn ax() -> Snapshot {
    Snapshot { source: TreeSource::Ax, ..Snapshot::default() }
}

/// All outputs about the page, in every form.
async fn all_outputs(t: &TestContext) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for source in [TreeSource::Page, TreeSource::Ax] {
        let loud = || Snapshot {
            source,
            urls: true,
            nodes: true,
            all_refs: true,
            no_interactive: true,
            max_depth: Some(50),
            include_hidden: source == TreeSource::Page,
            ..Snapshot::default()
        };
        all.push((format!("{source:?}"), snapshot_text(t, loud()).await));
        let json = serde_json::to_string(&details(t, loud()).await).unwrap();
        all.push((format!("{source:?} json"), json));
    }
    for what in [Property::Text, Property::Html] {
        let got = t.run(get(what, "css=body")).await.unwrap().reply.to_string();
        all.push((format!("get {what:?}"), got));
    }
    for command in [
        Command::Tabs(Tabs {}),
        Command::Console(Console::default()),
        Command::Requests(Requests::default()),
    ] {
        let outcome = t.run(command).await.unwrap();
        all.push((outcome.reply.to_string(), serde_json::to_string(&outcome.reply).unwrap()));
    }
    all
}

#[test]
fn secret_field_value_is_in_no_output() {
    browser_test(async |t| {
        for field in [
            "<input type=password value='HELD'>",
            "<input autocomplete=current-password value='HELD'>",
            "<input autocomplete=one-time-code value='HELD'>",
            "<input autocomplete='section-a billing cc-csc' value='HELD'>",
            "<input name=pass value='HELD'>",
            "<input name=accessToken value='HELD'>",
            "<input name=client_secret value='HELD'>",
            "<input type=hidden name=csrf_token value='HELD'>",
            "<label>Password <input value='HELD'></label>",
            "<label for=x>Neues Passwort</label><input id=x value='HELD'>",
            "<input aria-label='One-time code' value='HELD'>",
            "<input placeholder='Verification code' value='HELD'>",
            "<b id=l>Security code</b><input aria-labelledby=l value='HELD'>",
            "<input id=otp type=tel value='HELD'>",
            "<input class=dots value='HELD'>",
            "<textarea class=dots>HELD</textarea>",
            "<textarea autocomplete=one-time-code>HELD</textarea>",
            "<label>API key <textarea>HELD</textarea></label>",
            "<div contenteditable role=textbox aria-label=Text class=dots>HELD</div>",
            "<div contenteditable class=dots>HELD</div>",
            "<div contenteditable tabindex=0 class=dots><b>HELD</b></div>",
            "<div contenteditable role=textbox aria-label='Your password'><b>HELD</b> <i>HELD</i></div>",
            "<button>Go <input name=password value='HELD'></button>",
            "<div><template shadowrootmode=open><label>Password <input value='HELD'></label></template></div>",
        ] {
            let field = field.replace("HELD", &format!("{SECRET}-held"));
            let html = format!(
                "<style>.dots {{ -webkit-text-security: disc }}</style><main>{field}</main>"
            );
            open_html(&t, &html, Snapshot::default()).await;
            for (what, text) in all_outputs(&t).await {
                assert!(!text.contains(SECRET), "{what} of {field}:\n{text}");
                assert!(!text.contains("•••••••"), "{what} of {field} reveals its length:\n{text}");
            }
            if field.contains("template") || field.contains("hidden") {
                continue;
            }
            let selector = "css=input, textarea, [contenteditable]";
            let value = t.run(get(Property::Value, selector)).await.unwrap().reply.to_string();
            assert_eq!(value, "••••••", "{field}");
            let attr = Get {
                what: Property::Attr,
                target: selector.parse().unwrap(),
                name: Some("value".into()),
                nth: None,
            };
            let attr = t.run(Command::Get(attr)).await.unwrap().reply.to_string();
            assert!(!attr.contains(SECRET), "{field}: {attr}");
        }
    });
}

#[test]
fn ordinary_field_value_is_shown() {
    browser_test(async |t| {
        for field in [
            "<input name=q value='HELD'>",
            "<label>Search passwords <input value='HELD'></label>",
            "<label>User name <input name=username value='HELD'></label>",
            "<label>Token name <input value='HELD'></label>",
            "<label>Max tokens <input value='HELD'></label>",
            "<input type=search aria-label='Find a token' value='HELD'>",
            "<input type=email aria-label='E-mail for password reset' value='HELD'>",
            "<input name=passenger value='HELD'><input name=compass>",
            "<input name=shipping-code placeholder='Discount code' value='HELD'>",
            "<input id=pinterest value='HELD'>",
            "<textarea aria-label='Message'>HELD</textarea>",
            "<div contenteditable role=textbox id=secret-notes aria-label=Notes>HELD</div>",
        ] {
            let html = field.replace("HELD", "held-1");
            for options in [Snapshot::default(), ax()] {
                let text = open_html(&t, &html, options).await;
                assert!(text.contains("held-1") && !text.contains('•'), "{html}:\n{text}");
            }
        }
    });
}

#[test]
fn password_copied_to_another_field_is_masked() {
    browser_test(async |t| {
        let html = "<div id=box></div><button onclick='draw(\"text\")'>Show</button><script>
            const draw = (type) => { const value = box.firstChild ? box.firstChild.value : '';
              box.innerHTML = `<input aria-label=Field type=${type}>`; box.firstChild.value = value; };
            draw('password')</script>";
        open_html(&t, html, Snapshot::default()).await;
        t.eval("box.firstChild.value = 'S3K-typed'; 1").await;
        snapshot_text(&t, Snapshot { fresh: true, ..Snapshot::default() }).await;
        t.eval("draw('text'); 1").await;
        assert_eq!(t.eval("box.firstChild.type").await, "\"text\"");
        for (what, text) in all_outputs(&t).await {
            assert!(!text.contains("S3K-typed"), "{what}:\n{text}");
        }
        let text = snapshot_text(&t, Snapshot::default()).await;
        assert!(text.contains("textbox \"Field\"") && text.contains("value=\"••••••\""), "{text}");
    });
}

/// Every case of the table, as a text, a name, a value, a URL and an attribute, in every output.
#[test]
fn secrets_are_masked_in_texts_names_and_urls() {
    browser_test(async |t| {
        let cases: Vec<(String, Option<String>)> = serde_json::from_str(CASES).unwrap();
        let escaped = |text: &str| {
            text.replace('&', "&amp;")
                .replace('"', "&quot;")
                .replace('<', "&lt;")
                .replace('\u{a0}', " ")
        };
        let mut html = String::new();
        for (index, (before, _)) in cases.iter().enumerate() {
            let text = escaped(before);
            html += &format!(
                "<section><p id=t{index}>{text}</p><button aria-label=\"{text}\">b</button>\
                 <a id=a{index} href=\"{text}\">a</a><input aria-label=i value=\"{text}\"></section>"
            );
        }
        for (source, format) in [(TreeSource::Page, "page"), (TreeSource::Ax, "ax")] {
            let options = || Snapshot {
                source,
                all_refs: true,
                max_depth: Some(50),
                budget: None,
                ..Snapshot::default()
            };
            open_html(&t, &html, options()).await;
            let json = serde_json::to_value(
                details(&t, Snapshot { nodes: true, no_interactive: true, ..options() }).await,
            );
            let json = json.unwrap();
            let strings = strings(&json);
            // Some of the harmless texts contain a part that would be masked by itself.
            let harmless: Vec<&str> =
                cases.iter().filter(|(_, after)| after.is_none()).map(|(it, _)| &**it).collect();
            let rest: Vec<String> = strings
                .iter()
                .map(|it| harmless.iter().fold(String::clone(it), |it, part| it.replace(part, "")))
                .collect();
            for (before, after) in &cases {
                let plain = |text: &str| text.replace('\u{a0}', " ");
                let (before, after) = (plain(before), after.as_deref().map(plain));
                let expected = after.as_deref().unwrap_or(&before);
                let short = shared_prefix(expected);
                assert!(
                    strings.iter().any(|it| it.starts_with(&short)),
                    "{format}: {expected} is missing"
                );
                if after.is_some() {
                    // A number in a URL may be an article number.
                    let is_card = !before.contains(char::is_alphabetic);
                    let unmasked = rest.iter().filter(|it| !is_card || !it.starts_with("http://"));
                    let unmasked: Vec<_> = unmasked.filter(|it| it.contains(&before)).collect();
                    assert!(unmasked.is_empty(), "{format}: {before} is not masked: {unmasked:#?}");
                }
            }
        }
        for (index, (before, after)) in cases.iter().enumerate() {
            let expected = after.as_ref().unwrap_or(before).replace('\u{a0}', " ");
            let text = t
                .run(get(Property::Text, &format!("css=#t{index}")))
                .await
                .unwrap()
                .reply
                .to_string();
            assert_eq!(text, expected);
            let attr = Get {
                what: Property::Attr,
                target: format!("css=#a{index}").parse().unwrap(),
                name: Some("href".into()),
                nth: None,
            };
            assert_eq!(t.run(Command::Get(attr)).await.unwrap().reply.to_string(), expected);
        }
    });
}

/// The prefix of a text that every output has.
fn shared_prefix(text: &str) -> String {
    text.chars().take(80).collect()
}

fn strings(json: &serde_json::Value) -> Vec<String> {
    match json {
        serde_json::Value::String(text) => vec![text.clone()],
        serde_json::Value::Array(all) => all.iter().flat_map(strings).collect(),
        serde_json::Value::Object(all) => all.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn urls_are_shown_without_tokens() {
    browser_test(async |t| {
        let secret = format!("{SECRET}a1b2");
        t.page("/", format!("<title>Paid with 4111 1111 1111 1111</title><p>There<iframe src='/leaf?accessToken={secret}'></iframe>"));
        t.page("/leaf", "<title>Leaf</title>");
        let address = format!("{}?page=2&clientSecret={secret}", t.url("/"));
        let opened = t.run(open(&address)).await.unwrap();
        let new = TabCommand {
            action: TabAction::New(agbrowse_browser::command::NewTab {
                url: Some(address.clone()),
                ..Default::default()
            }),
        };
        let new = t.run(Command::Tab(new)).await.unwrap();
        let mut all = all_outputs(&t).await;
        for outcome in [opened, new] {
            assert!(
                outcome.reply.to_string().contains("?page=2&clientSecret=••••••"),
                "{}",
                outcome.reply
            );
            all.push(("reply".into(), serde_json::to_string(&outcome.reply).unwrap()));
        }
        for (what, text) in all {
            assert!(!text.contains(SECRET) && !text.contains("4111"), "{what}:\n{text}");
        }
        // The page itself has the tokens.
        assert!(t.eval("location.href").await.contains(&secret));
        t.eval("history.pushState(0, '', '?sessionToken=S3Knav1'); 1").await;
        for (what, text) in all_outputs(&t).await {
            assert!(!text.contains("S3Knav1"), "{what}:\n{text}");
        }
        let redacted = Snapshot { redact: true, ..Snapshot::default() };
        let json = serde_json::to_string(&details(&t, redacted).await).unwrap();
        assert!(
            !json.contains("Paid") && !json.contains("Leaf") && !json.contains("/leaf"),
            "{json}"
        );
    });
}

#[test]
fn console_and_dialog_messages_have_no_secrets() {
    browser_test(async |t| {
        t.page("/", "<title>Says</title>");
        t.open("/").await;
        t.eval("console.log('card 4111111111111111 http://x.test/?token=S3Kc1'); 1").await;
        t.run(eval("alert('Card 4111 1111 1111 1111, see /x?token=S3Kd1')")).await.unwrap_err();
        let tabs = t.run(Command::Tabs(Tabs {})).await.unwrap();
        let dialog = Command::Dialog(DialogCommand { answer: Answer::Accept { text: None } });
        let dialog = t.run(dialog).await.unwrap();
        let console = t.run(Command::Console(Console::default())).await.unwrap();
        assert!(
            console.reply.to_string().contains("card •••••• http://x.test/?token=••••••"),
            "{}",
            console.reply
        );
        assert!(dialog.reply.to_string().contains("Card ••••••, see"), "{}", dialog.reply);
        for outcome in [tabs, dialog, console] {
            let json = serde_json::to_string(&outcome.reply).unwrap();
            assert!(!json.contains(SECRET) && !json.contains("1111"), "{json}");
        }
    });
}

#[test]
fn split_card_number_is_masked_where_joined() {
    browser_test(async |t| {
        let html = "<a href=/>4111<span> 1111</span> 1111 <b>1111</b></a><p tabindex=0>5500<i> 0000</i> 0000 0004</p>";
        open_html(&t, html, Snapshot::default()).await;
        for query in [
            Find { role: Some("link".into()), ..Find::default() },
            Find { role: Some("paragraph".into()), ..Find::default() },
        ] {
            let found = t.run(Command::Find(query)).await.unwrap().reply.to_string();
            assert!(found.contains("••••••") && !found.contains("0000"), "{found}");
        }
        let text = t.run(get(Property::Text, "css=body")).await.unwrap().reply.to_string();
        assert!(!text.contains("1111") && !text.contains("0000"), "{text}");
        // And where the parts are never joined.
        let html = "<p>Card 4111 <b>1111</b> <span>1111</span> 1111</p><div><i>5500</i><i>0000</i><i>0000</i><i>0004</i></div>";
        for snapshot in [Snapshot::default(), ax()] {
            let unmasked = open_html(&t, html, snapshot).await;
            assert!(unmasked.contains("\"Card ••••••\""), "{unmasked}");
            assert!(!unmasked.contains("1111") && !unmasked.contains("0000"), "{unmasked}");
        }
    });
}
